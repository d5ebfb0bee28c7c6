// Runs on: host, cuda (layers).
#include <locus/nn/embedding.hpp>

#include <locus/nn/activation.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/ops/moments.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("rows and gradients are PyTorch's, also beside padding", D) {
  const auto table = variable(golden::tensor<double, D>("padded_table"));
  const auto indices = golden::tensor<std::int64_t, D>("padded_indices");
  CHECK_GOLDEN("padded_embedding", embedding(table, indices, {.padding_idx = 2}), ({"table"}), table);
  table.zero_grad();
  CHECK_GOLDEN("padded_embedding", embedding(table, indices, {.padding_idx = -3}), ({"table"}), table);

  const nn::Embedding<double, D> layer{5, 3, {.padding_idx = 2}};
  layer.weight.value().copy_(table.value());
  CHECK_GOLDEN("padded_embedding", layer(trace(indices)), ({"table"}), layer.weight);
}

LOCUS_DEVICE_TEST("an Embedding begins as N(0, 1) with a row of zeros, and records where its indices are traced", D) {
  manual_seed(4);
  const nn::Embedding<float, D> layer{200, 50, {.padding_idx = 7}};
  CHECK(layer.weight.shape() == Shape{200, 50});
  CHECK(nn::state_dict(layer).contains("weight"));
  CHECK_CLOSE(layer.weight.value().select(0, 7), Reference({50}, std::vector<double>(50)));
  CHECK_CLOSE(mean(layer.weight.value()), Reference(Shape{}, {0}), 0.03);
  CHECK_CLOSE(var(layer.weight.value()), Reference(Shape{}, {1}), 0.05);
  const auto indices = tensor<std::int64_t, D>({2}, {7, 3});
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(layer(indices))>, Tensor<float, D>>);
  CHECK(layer(indices).shape() == Shape{2, 50});
  sum(layer(trace(indices))).backward();
  CHECK_CLOSE(sum(layer.weight.grad(), 1).slice(0, 3, 8), {50, 0, 0, 0, 0});  // row 3, and not the padding, row 7
  if constexpr (HostAccessible<D>) {
    CHECK_THROWS_WITH_AS((void)layer(tensor<std::int64_t, D>({1}, {200})),
                         "embedding: index 200 at position 0 is out of range; expected 0 to 199", IndexError);
    CHECK_THROWS_AS((void)layer(tensor<std::int64_t, D>({1}, {-1})), IndexError);
  }
  CHECK_THROWS_WITH_AS((nn::Embedding<float, D>{4, 2, {.padding_idx = 4}}),
                       "Embedding: padding_idx is 4; expected -4 to 3, the rows of the table", ArgumentError);
  CHECK_THROWS_AS((nn::Embedding<float, D>{4, 2, {.padding_idx = -5}}), ArgumentError);
  CHECK_THROWS_AS((nn::Embedding<float, D>{0, 2}), ArgumentError);
}

LOCUS_DEVICE_TEST("a Sequential that begins with an Embedding maps int64 to float", D) {
  const nn::Sequential model{nn::Embedding<float, D>{5, 4}, nn::Flatten{}, nn::Linear<float, D>{12, 6}, nn::ReLU{},
                             nn::Linear<float, D>{6, 5}};
  static_assert(std::is_same_v<decltype(model), const nn::Sequential<float, D, std::int64_t>>);
  CHECK(model.size() == 5);
  CHECK(model.parameters().size() == 5);
  CHECK(model.named_parameters()[0].name == "0.weight");
  CHECK(model.named_parameters()[1].name == "2.weight");
  CHECK(model.first().template target<nn::Embedding<float, D>>() != nullptr);
  CHECK(model[2].template target<nn::Linear<float, D>>() != nullptr);
  CHECK_THROWS_WITH_AS((void)model[0], "Sequential: module 0 takes int64; say first()", IndexError);
  const auto words = tensor<std::int64_t, D>({2, 3}, {0, 1, 2, 4, 4, 4});
  CHECK(model(words).shape() == Shape{2, 5});
  sum(model(trace(words))).backward();
  for (const auto& parameter : model.parameters()) CHECK(parameter.has_grad());

  // By hand, and inside other networks.
  const auto& table = *model.first().template target<nn::Embedding<float, D>>();
  const auto hidden = relu(model[2](table(words).reshape({2, 12})));
  CHECK_CLOSE(model(words), reference(model[4](hidden.eval())), 1e-5);
  const nn::Sequential outer{model, nn::Linear<float, D>{5, 2}};
  static_assert(std::is_same_v<decltype(outer), const nn::Sequential<float, D, std::int64_t>>);
  CHECK(outer(words).shape() == Shape{2, 2});
  CHECK(outer.named_parameters()[0].name == "0.0.weight");
  const nn::Module<float, D, std::int64_t> erased = model;
  CHECK_CLOSE(erased(words), reference(model(words)), 0);

  CHECK(model.children().size() == 5);
  CHECK(model.children()[0].second.parameters().size() == 1);
  CHECK_THROWS_WITH_AS((void)model.children()[0].second(ones<float, D>({2})),
                       doctest::Contains("does not map one tensor of float32 to one of float32"), ArgumentError);
  const nn::Sequential<float, D, std::int64_t> empty;
  CHECK_THROWS_AS((void)empty(words), ArgumentError);
}

namespace {
/// A layer of three arguments, and a number.
template <Device D>
struct Attention : nn::Layer<Attention<D>, float, D> {
  nn::Linear<float, D> project{4, 4};
  auto forward(const auto& query, const auto& key, const auto& value, float scale = 1) const {
    return project(query) * key * scale + value;
  }
  void members(const auto& visit) const { visit("project", project); }
};
/// A layer that contains an Attention.
template <Device D>
struct Block : nn::Layer<Block<D>, float, D> {
  Attention<D> attention;
  auto forward(const auto& x) const { return attention(x, x, x); }
  void members(const auto& visit) const { visit("attention", attention); }
};
}  // namespace

LOCUS_DEVICE_TEST("a layer takes any number of arguments, some of them traced", D) {
  const Attention<D> layer;
  const auto q = sample<float, D>({2, 4}, 1), k = sample<float, D>({2, 4}, 2), v = sample<float, D>({2, 4}, 3);
  const auto expected = reference((layer.project(q) * k * 2.f + v).eval());
  CHECK_CLOSE(layer(q, k, v, 2.f), expected, 1e-6);
  CHECK_CLOSE(layer(q, k * 1.f, v + 0.f, 2.f), expected, 1e-6);  // pending expressions
  const auto traced = layer(trace(q), k, v, 2.f);
  CHECK_CLOSE(traced, expected, 1e-6);
  sum(traced).backward();
  CHECK(layer.project.weight.has_grad());
  static_assert(!requires { layer(q); });
  static_assert(!requires { layer(q, k, v, 1.f, 1.f); });
  const nn::Sequential<float, D> model{Block<D>{}, nn::ReLU{}};
  CHECK(model(q).shape() == Shape{2, 4});
  CHECK(model.children()[0].second.children()[0].second.parameters().size() ==
        2);  // of a layer that cannot be called as a module
}
