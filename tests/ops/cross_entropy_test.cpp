// Runs on: host, cuda (rows), reference.
// cross_entropy against PyTorch, finite differences, and its promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/ops/cross_entropy.hpp>
#include <locus/ops/softmax.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>

using namespace locus;
using locus_test::sample;

namespace {
template <class D>
auto labels(const std::vector<double>& values) {
  return locus_test::tensor<std::int64_t, D>({static_cast<std::int64_t>(values.size())}, values);
}
}  // namespace

LOCUS_DEVICE_TEST("every reduction, weighting and smoothing agrees with PyTorch", D) {
  const std::pair<const char*, Reduction> reductions[] = {
      {"ce_mean", Reduction::mean}, {"ce_sum", Reduction::sum}, {"ce_none", Reduction::none}};
  const auto y = golden::tensor<std::int64_t, D>("ce_labels");
  const auto weights = golden::tensor<double, D>("ce_weights");
  for (const auto& [prefix, reduction] : reductions) {
    for (const double smoothing : {0.0, 0.1}) {
      const CrossEntropyOptions options{.reduction = reduction, .label_smoothing = smoothing};
      const std::string ending = smoothing > 0 ? "_smooth" : "", plain = prefix + ending,
                        weighted = prefix + ("_weighted" + ending);
      CAPTURE(plain);
      const auto a = variable(golden::tensor<double, D>(plain + "_logits"));
      CHECK_GOLDEN(plain, cross_entropy(a, y, options), ({"x"}), a);
      const auto b = variable(golden::tensor<double, D>(weighted + "_logits"));
      CHECK_GOLDEN(weighted, cross_entropy(b, y, weights, options), ({"x"}), b);
    }
  }
  const auto x = variable(golden::tensor<double, D>("ce_image_logits"));
  const auto image = golden::tensor<std::int64_t, D>("ce_image_labels");
  CHECK_GOLDEN("ce_image", cross_entropy(x, image, {.ignore_index = 7, .label_smoothing = 0.2}), ({"x"}), x);
}

LOCUS_DEVICE_TEST("two launches forward, one backward", D) {
  const auto x = variable(sample<float, D>({6, 10}, 1));
  const auto y = labels<D>({0, 9, 3, 3, 5, 1});
  const auto one = Tensor<float, D>(Shape{}).fill_(1.f);
  LaunchLog forward;
  const auto loss = cross_entropy(x, y);
  CHECK(forward.launches() == 2);
  LaunchLog backward;
  loss.backward(one);
  CHECK(backward.launches() == 1);
  LaunchLog single;
  (void)cross_entropy(x, y, {.reduction = Reduction::none});
  CHECK(single.launches() == 1);
}

LOCUS_DEVICE_TEST("gradients agree with finite differences, of views and of several uses", D) {
  const auto y = labels<D>({2, 0, 1, -100});
  const auto weights = locus_test::tensor<double, D>({3}, {0.2, 2, 1});
  const auto f = [&](const auto& x) {
    return cross_entropy(transpose(x), y, weights, {.label_smoothing = 0.3}) +
           cross_entropy(slice(reshape(x, {4, 3}), 0, 0, 4), y, {.reduction = Reduction::none});
  };
  const auto found = gradcheck(f, sample<double, D>({3, 4}, 3));
  CHECK_MESSAGE(found, found.what());
}

LOCUS_DEVICE_TEST("one example without a batch, in float, half and with many classes", D) {
  const auto x = sample<float, D>({300}, 1);
  const auto y = Tensor<std::int64_t, D>(Shape{}).fill_(17);
  const double expected =
      locus_test::reference(logsumexp(x.template as<double>(), 0)).values[0] - locus_test::reference(x).values[17];
  CHECK_CLOSE(cross_entropy(x, y), expected, 1e-5);
  CHECK_CLOSE(cross_entropy(x.template as<half>(), y), expected, 5e-3);
  CHECK(cross_entropy(x, y).shape() == Shape{});
}

LOCUS_DEVICE_TEST("nothing to average is NaN, as in PyTorch; a sum of nothing is 0", D) {
  const auto x = variable(sample<float, D>({2, 3}, 1));
  const auto ignored = labels<D>({-100, -100});
  CHECK(std::isnan(cross_entropy(x, ignored).item()));
  CHECK(cross_entropy(x, ignored, {.reduction = Reduction::sum}).item() == 0);
  cross_entropy(x, ignored).backward();
  CHECK_CLOSE(x.grad(), {{2, 3}, {0, 0, 0, 0, 0, 0}});
  CHECK(std::isnan(cross_entropy(Tensor<float, D>({0, 3}), Tensor<std::int64_t, D>(Shape{0})).item()));
}

LOCUS_DEVICE_TEST("large logits do not overflow", D) {
  const auto x = variable(locus_test::tensor<float, D>({1, 3}, {5000, 0, -5000}));
  const auto loss = cross_entropy(x, labels<D>({1}));
  CHECK_CLOSE(loss, 5000);
  loss.backward();
  CHECK_CLOSE(x.grad(), {{1, 3}, {1, -1, 0}});
}

LOCUS_DEVICE_TEST("an example that the model excludes has an infinite loss, and so has the mean", D) {
  const auto x = locus_test::tensor<float, D>({3, 2}, {0, 0, -INFINITY, 0, 0, 0});
  CHECK_CLOSE(cross_entropy(x, locus_test::tensor<std::int64_t, D>({3}, {0, 0, 1})), INFINITY);
}

LOCUS_DEVICE_TEST("a label out of range is an IndexError where the host reads it, NaN elsewhere", D) {
  const auto x = variable(sample<float, D>({3, 4}, 1));
  for (const double bad : {4., -1., 1e15}) {
    const auto y = labels<D>({1, bad, 2});
    if constexpr (HostAccessible<D>) {
      CHECK_THROWS_AS((void)cross_entropy(x, y), IndexError);
    } else {
      x.zero_grad();
      const auto losses = cross_entropy(x, y, {.reduction = Reduction::none});
      losses.backward(Tensor<float, D>({3}).fill_(1.f));
      const auto values = locus_test::reference(losses).values, gradient = locus_test::reference(x.grad()).values;
      for (std::size_t i = 0; i < 3; ++i) CHECK(std::isnan(values[i]) == (i == 1));
      for (std::size_t i = 0; i < 12; ++i) CHECK(std::isnan(gradient[i]) == (i / 4 == 1));
    }
  }
}

LOCUS_DEVICE_TEST("shapes and options that do not fit are refused", D) {
  const Tensor<float, D> x({2, 3});
  CHECK_THROWS_AS((void)cross_entropy(x, Tensor<std::int64_t, D>({3})), ShapeError);
  CHECK_THROWS_AS((void)cross_entropy(x, Tensor<std::int64_t, D>({2, 3})), ShapeError);
  CHECK_THROWS_AS((void)cross_entropy(Tensor<float, D>(Shape{}), Tensor<std::int64_t, D>(Shape{})), ShapeError);
  CHECK_THROWS_AS((void)cross_entropy(x, labels<D>({0, 1}), Tensor<float, D>({2})), ShapeError);
  CHECK_THROWS_AS((void)cross_entropy(x, labels<D>({0, 1}), {.label_smoothing = 1.5}), ArgumentError);
}

TEST_CASE("labels and weights of another place or type are refused at compile time") {
  const auto refused = []<class... X>(const X&...) { return !requires(const X&... x) { cross_entropy(x...); }; };
  const Tensor<float> x;
  const Tensor<std::int64_t> y;
  const Tensor<std::int64_t, locus_test::Counting> elsewhere;
  const Tensor<float, locus_test::Counting> weights;
  CHECK_FALSE(refused(x, y));
  CHECK_FALSE(refused(x, y, CrossEntropyOptions{}));
  CHECK(refused(x, elsewhere));
  CHECK(refused(x, elsewhere, CrossEntropyOptions{}));
  CHECK(refused(x, y, weights));
  CHECK(refused(x, Tensor<std::int32_t>()));
  CHECK(refused(Tensor<std::int64_t>(), y));
}

LOCUS_DEVICE_TEST("loss and gradient keep their digits beside large logits", D) {
  const auto labels = locus_test::tensor<std::int64_t, D>({1}, {1});
  for (const double shift : {1e4, 1e6, 1e8}) {
    for (const double smoothing : {0.0, 0.1}) {
      const auto x = variable(locus_test::tensor<float, D>({1, 2}, {shift, shift}));
      const auto loss = cross_entropy(x, labels, {.label_smoothing = smoothing});
      CHECK_CLOSE(loss, std::log(2.0));
      loss.backward();
      CHECK_CLOSE(x.grad(), (locus_test::Reference{Shape{1, 2}, {0.5 - smoothing / 2, -0.5 + smoothing / 2}}));
    }
  }
}

namespace {
template <class W>
concept Weighs = requires(Tensor<float> x, Tensor<std::int64_t> y, W w) { cross_entropy(x, y, w); };
}  // namespace

LOCUS_DEVICE_TEST("a weighted mean over many examples is as exact as one without weights", D) {
  const std::int64_t n = 20000;
  const auto x = sample<float, D>({n, 3}, 1), weights = locus_test::tensor<float, D>({3}, {0.1, 0.7, 1.3});
  std::vector<double> labels;
  for (std::int64_t i = 0; i < n; ++i) labels.push_back(double(i * i % 3));
  const auto y = locus_test::tensor<std::int64_t, D>({n}, labels);
  const double exact = cross_entropy(x.template as<double>(), y, weights.template as<double>()).item();
  CHECK(std::abs(cross_entropy(x, y, weights).item() - exact) < 1e-7 * exact);
}

TEST_CASE("class weights that would lose a gradient are refused") {
  static_assert(Weighs<Tensor<float>>);
  static_assert(!Weighs<Traced<float>>);
}

TEST_CASE("a label that is no class is refused with the ignore_index, also where that is a class") {
  const Tensor<float> logits({2, 3});
  logits.fill_(0);
  const auto refuses = [&](std::int64_t ignored, const char* words) {
    CHECK_THROWS_WITH_AS((void)cross_entropy(logits, from<std::int64_t>({0, 5}), {.ignore_index = ignored}),
                         doctest::Contains(words), IndexError);
  };
  refuses(-100, "expected 0 to 2, or ignore_index -100");
  refuses(1, "expected 0 to 2, or ignore_index 1");
}
