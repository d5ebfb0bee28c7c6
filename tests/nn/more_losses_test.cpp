// Runs on: host, cuda (layers); counting.
// Likelihoods, margins of classes and sets of labels, similarities, bags of rows, the adaptive softmax: PyTorch's.

#include <locus/nn/adaptive_log_softmax.hpp>
#include <locus/nn/bilinear.hpp>
#include <locus/nn/embedding_bag.hpp>
#include <locus/nn/likelihood_loss.hpp>
#include <locus/nn/multi_margin_loss.hpp>
#include <locus/nn/similarity.hpp>

#include <locus/locus.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus_test::Counting
#endif
#include <golden/golden.hpp>
#include <support/device_list.hpp>

#include <string>

using namespace locus;
using namespace locus_test;

namespace {
template <class D>
auto leaf(const std::string& name) {
  return variable(golden::tensor<double, D>(name));
}
template <class D>
auto integers(const std::string& name) {
  return golden::tensor<std::int64_t, D>(name);
}
template <class Y, class... X>
void check(const std::string& name, std::initializer_list<const char*> inputs, const Y& y, const X&... x) {
  CAPTURE(name);
  (x.zero_grad(), ...);
  golden::check(name, y, __FILE__, __LINE__, inputs, x...);
}
}  // namespace

LOCUS_DEVICE_TEST("likelihoods and margins of classes are PyTorch's, with every reduction", D) {
  const auto x = leaf<D>("ls_x"), y = leaf<D>("ls_y"), z = leaf<D>("ls_z"), positive = leaf<D>("ls_positive"),
             variance = leaf<D>("ls_variance");
  const auto counts = golden::tensor<double, D>("ls_counts"), signs = golden::tensor<double, D>("ls_signs"),
             sets = golden::tensor<double, D>("ls_sets"), weights = golden::tensor<double, D>("ls_weights");
  const auto labels = integers<D>("ls_labels"), lists = integers<D>("ls_lists");
  for (const auto& [r, suffix] :
       {std::pair(Reduction::mean, "mean"), {Reduction::sum, "sum"}, {Reduction::none, "none"}}) {
    const auto named = [end = suffix](const char* name) { return name + std::string("_") + end; };
    check(named("poisson_loss"), {"x"}, nn::PoissonNLLLoss{{.reduction = r}}(x, counts), x);
    check(named("poisson_loss_of_rates"), {"x"},
          nn::poisson_nll_loss(positive, counts, {.log_input = false, .full = true, .reduction = r}), positive);
    check(named("gaussian"), {"x", "y", "v"},
          nn::GaussianNLLLoss{{.full = true, .eps = 1e-3, .reduction = r}}(x, y, variance), x, y, variance);
    check(named("bce_probability"), {"x"}, nn::BCELoss{{r}}(positive, sets), positive);
    check(named("bce_weighted"), {"x"}, nn::BCELoss{weights, {r}}(positive, sets), positive);
    check(named("soft_margin"), {"x"}, nn::SoftMarginLoss{{r}}(x, signs), x);
    check(named("ranking"), {"x", "y"}, nn::MarginRankingLoss{{.margin = 0.3, .reduction = r}}(x, y, signs), x, y);
    check(named("multi_margin"), {"x"}, nn::MultiMarginLoss{{.reduction = r}}(x, labels), x);
    check(named("multi_margin_2"), {"x"},
          nn::MultiMarginLoss{weights, {.p = 2, .margin = 0.5, .reduction = r}}(x, labels), x);
    check(named("multilabel_margin"), {"x"}, nn::MultiLabelMarginLoss{{r}}(x, lists), x);
    check(named("multilabel_soft"), {"x"}, nn::MultiLabelSoftMarginLoss{{r}}(x, sets), x);
  }
  const auto apart = [](const auto& a, const auto& b) { return 1.0 - cosine_similarity(a, b); };
  const nn::TripletMarginWithDistanceLoss loss{apart, {.margin = 0.5, .swap = true}};
  check("triplet_distance", {"x", "y", "z"}, loss(x, y, z), x, y, z);
}

LOCUS_DEVICE_TEST("similarities, bilinear forms and local response norms are PyTorch's", D) {
  const auto a = leaf<D>("sim_a"), b = leaf<D>("sim_b"), x = leaf<D>("lrn_x");
  check("cosine_similarity", {"a", "b"}, nn::CosineSimilarity{-1}(a, b), a, b);
  check("pairwise_distance", {"a", "b"}, nn::PairwiseDistance{3, 1e-3, true}(a.slice(0, 0, 2).select(1, 0), b), a, b);
  check("pdist", {"a"}, pdist(a.select(1, 0)), a);
  check("normalize", {"a"}, normalize(a, 3, 2), a);
  check("lrn", {"x"}, nn::LocalResponseNorm{4, {.alpha = 0.7, .beta = 0.6, .k = 1.5}}(x), x);
  check("lrn_line", {"x"}, local_response_norm(x.select(2, 0), 3), x);
  const nn::Bilinear<double, D> form{2, 4, 5};
  form.weight.value().copy_(golden::tensor<double, D>("bi_weight"));
  form.bias.value().copy_(golden::tensor<double, D>("bi_bias"));
  const auto first = leaf<D>("bi_x"), second = leaf<D>("bi_y");
  check("bilinear_layer", {"x", "y", "weight", "bias"}, form(first, second), first, second, form.weight, form.bias);
  CHECK_CLOSE(cosine_similarity(full<half, D>({1, 2}, 300), full<half, D>({1, 2}, 200)), Reference({1}, {1}), 1e-3);
}

LOCUS_DEVICE_TEST("bags of rows are PyTorch's", D) {
  const auto table = leaf<D>("bag_table"), weights = leaf<D>("bag_weights");
  const auto lists = integers<D>("bag_lists"), line = integers<D>("bag_line"), offsets = integers<D>("bag_offsets");
  for (const auto& [mode, word] : {std::pair(BagMode::sum, "sum"), {BagMode::mean, "mean"}, {BagMode::max, "max"}}) {
    const std::string name = std::string("bag_") + word;
    check(name, {"table"}, embedding_bag(table, lists, {.mode = mode}), table);
    check(name + "_padded", {"table"}, embedding_bag(table, lists, {.mode = mode, .padding_idx = -6}), table);
    check(name + "_offsets", {"table"}, embedding_bag(table, line, offsets, {.mode = mode}), table);
  }
  check("bag_weighted", {"table", "weights"},
        embedding_bag(table, line, offsets, weights, {.mode = BagMode::sum, .padding_idx = 1}), table, weights);
  const auto bounds = concat({offsets, full<std::int64_t, D>({1}, 7)}, 0);
  CHECK_CLOSE(embedding_bag(table, line, bounds, {.include_last_offset = true}), golden::reference("bag_mean_offsets"),
              1e-10);
  const auto ones_of = variable(ones<double, D>({3, 4}));
  CHECK_CLOSE(embedding_bag(table, lists, ones_of, {.mode = BagMode::sum}), golden::reference("bag_sum"), 1e-10);

  const nn::EmbeddingBag<double, D> layer{6, 3, {.mode = BagMode::sum, .padding_idx = 0}};
  CHECK(reference(layer.weight.value().select(0, 0)).values == std::vector<double>{0, 0, 0});
  layer.weight.value().copy_(table.value());
  const auto y = layer(trace(lists));
  y.backward(ones<double, D>({3, 3}));
  CHECK_CLOSE(layer.weight.grad().select(1, 0), Reference({6}, {0, 2, 1, 0, 2, 1}));
  CHECK_CLOSE(layer(line, offsets), reference(embedding_bag(table, line, offsets, layer.options())));
}

LOCUS_DEVICE_TEST("the adaptive softmax is PyTorch's", D) {
  const nn::AdaptiveLogSoftmaxWithLoss<double, D> layer{8, 9, {2, 5}, {.div_value = 2, .head_bias = true}};
  for (const auto& [name, parameter] : layer.named_parameters())
    parameter.value().copy_(golden::tensor<double, D>("als_" + name));
  const auto x = leaf<D>("als_x");
  const auto labels = integers<D>("als_labels");
  const auto [output, loss] = layer(x, labels);
  CHECK_CLOSE(output, golden::reference("als_output"), 1e-10);
  check("als_loss", {"x", "head", "tail"}, loss, x, layer.head.weight, layer.named_parameters()[4].parameter);
  CHECK_CLOSE(layer.log_prob(x.value()), golden::reference("als_log_prob"), 1e-10);
  CHECK(layer.predict(x.value()).shape() == Shape{6});
}

TEST_CASE("losses, bags and similarities refuse what does not fit") {
  const auto x = randn({4, 3}), y = randn({4, 3});
  CHECK_THROWS_AS((void)nn::poisson_nll_loss(x, y.slice(0, 0, 2)), ShapeError);
  CHECK_THROWS_WITH_AS((void)nn::gaussian_nll_loss(x, y, ones({4})), doctest::Contains("an extent of 1"), ShapeError);
  CHECK_THROWS_WITH_AS((void)nn::gaussian_nll_loss(x, y, full({4, 1}, -0.5f)),
                       doctest::Contains("variance -0.5 at position 0"), ArgumentError);
  CHECK_THROWS_AS((void)nn::gaussian_nll_loss(x, y, ones({4, 3}), {.eps = 0}), ArgumentError);
  CHECK_THROWS_WITH_AS((void)nn::binary_cross_entropy(full({2}, 1.5f), ones({2})),
                       doctest::Contains("a prediction of 1.5 at position 0"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)nn::binary_cross_entropy(full({4, 3}, 0.5f), y, ones({4})),
                       doctest::Contains("weights of shape (4,) for predictions of shape (4, 3)"), ShapeError);
  const auto labels = from(std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK_THROWS_AS((void)nn::multi_margin_loss(x, labels), IndexError);
  CHECK_THROWS_WITH_AS((void)nn::multi_margin_loss(x, zeros<std::int64_t>({4}), {.p = 3}),
                       doctest::Contains("p is 3; expected 1 or 2"), ArgumentError);
  CHECK_THROWS_AS((void)nn::multi_margin_loss(x, zeros<std::int64_t>({3})), ShapeError);
  CHECK_THROWS_AS((void)nn::multi_margin_loss(x, zeros<std::int64_t>({4}), ones({2})), ShapeError);
  CHECK_THROWS_AS((void)nn::multilabel_margin_loss(x, full<std::int64_t>({4, 3}, 3)), IndexError);
  CHECK_THROWS_AS((void)cosine_similarity(x, randn({4, 2})), ShapeError);
  CHECK_THROWS_AS((void)local_response_norm(x, 0), ArgumentError);
  const auto indices = zeros<std::int64_t>({4});
  CHECK_THROWS_WITH_AS((void)embedding_bag(x, indices), doctest::Contains("(n,) with offsets"), ShapeError);
  CHECK_THROWS_WITH_AS((void)embedding_bag(x, indices, from(std::vector<std::int64_t>{0, 5})),
                       doctest::Contains("offset 5 at position 1 of 4 indices"), IndexError);
  CHECK_THROWS_AS((void)embedding_bag(x, indices, from(std::vector<std::int64_t>{1, 2})), IndexError);
  CHECK_THROWS_AS((void)embedding_bag(x, full<std::int64_t>({2, 2}, 4)), IndexError);
  CHECK_THROWS_WITH_AS((void)embedding_bag(x, full<std::int64_t>({2, 2}, 1), ones({2, 2}), {.mode = BagMode::max}),
                       doctest::Contains("weights with BagMode::max"), ArgumentError);
  CHECK_THROWS_AS((nn::EmbeddingBag<float, Cpu>{4, 3, {.padding_idx = 4}}), ArgumentError);
  CHECK_THROWS_AS((nn::AdaptiveLogSoftmaxWithLoss<float, Cpu>{8, 9, {5, 2}}), ArgumentError);
  CHECK_THROWS_WITH_AS((nn::AdaptiveLogSoftmaxWithLoss<float, Cpu>{8, 9, {2, 5}}), doctest::Contains("a width of 8"),
                       ArgumentError);
  const nn::AdaptiveLogSoftmaxWithLoss<float, Cpu> softmax{8, 9, {5}};
  CHECK_THROWS_AS((void)softmax(randn({1, 8}), full<std::int64_t>({1}, 9)), IndexError);
}
