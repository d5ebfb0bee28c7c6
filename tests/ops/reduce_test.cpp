// Runs on: host, cuda (products), reference; loops.
// Sums, means, products, all and any against float64, PyTorch and finite differences, with their promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>

using namespace locus;
using locus_test::Reference;
using locus_test::sample;

namespace {

/// Folds a reference the obvious way.
template <class F>
Reference folded(const Reference& x, const std::vector<int>& axes, double start, const F& f) {
  Shape shape = *x.shape;
  for (int axis : axes) shape[axis] = 1;
  std::vector<double> out(static_cast<std::size_t>(elements(shape)), start);
  const Strides strides = broadcast_strides(shape, row_major(shape), *x.shape);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), at = 0;
    for (int d = x.shape->rank() - 1; d >= 0; --d) {
      at += rest % (*x.shape)[d] * strides[d];
      rest /= (*x.shape)[d];
    }
    auto& total = out[static_cast<std::size_t>(at)];
    total = f(total, x.values[i]);
  }
  return {shape, out};
}

template <class T, class D>
void check_sums_of() {
  const auto x = sample<T, D>({3, 17, 2, 5}, 1, -3, 4);
  const auto add = [](double a, double b) { return a + b; };
  for (const auto& [given, axes] : std::vector<std::pair<ReduceAxes, std::vector<int>>>{
           {{}, {0, 1, 2, 3}}, {0, {0}}, {3, {3}}, {{0, 2}, {0, 2}}, {{-1, 1}, {1, 3}}, {{0, 1, 2}, {0, 1, 2}}}) {
    CHECK_CLOSE(sum(x, given, true), folded(locus_test::reference(x), axes, 0, add), locus_test::tolerance<T> * 20);
    const auto view = x.permute({2, 0, 3, 1}).slice(3, 1, 17, 3);
    CHECK_CLOSE(sum(view, given, true), folded(locus_test::reference(view), axes, 0, add),
                locus_test::tolerance<T> * 20);
  }
}

}  // namespace

LOCUS_DEVICE_TEST("sums over any axes, of views too, in every element type", D) {
  check_sums_of<float, D>();
  check_sums_of<std::int32_t, D>();
  if constexpr (locus_test::all_dtypes<D>) {
    check_sums_of<double, D>();
    check_sums_of<std::int64_t, D>();
    check_sums_of<std::uint8_t, D>();
    check_sums_of<bool, D>();
    check_sums_of<bfloat16, D>();
  }
  static_assert(std::is_same_v<decltype(sum(Tensor<bool, D>())), Tensor<std::int64_t, D>>);
  static_assert(std::is_same_v<decltype(prod(Tensor<std::uint8_t, D>())), Tensor<std::int64_t, D>>);
  static_assert(std::is_same_v<decltype(sum(Tensor<half, D>())), Tensor<half, D>>);
  CHECK(sum(Tensor<std::uint8_t, D>({1000}).fill_(255)).item() == 255000);
  CHECK_CLOSE(sum(Tensor<half, D>({3000}).fill_(half(1.f))), 3000);
}

LOCUS_DEVICE_TEST("axes are one number, a list, or all; they disappear or stay as ones", D) {
  const auto x = sample<float, D>({2, 3, 4}, 1);
  CHECK(sum(x).shape() == Shape{});
  CHECK(sum(x, {}, true).shape() == Shape{1, 1, 1});
  CHECK(sum(x, 1).shape() == Shape{2, 4});
  CHECK(sum(x, -1, true).shape() == Shape{2, 3, 1});
  CHECK(sum(x, {0, 2}).shape() == Shape{3});
  CHECK(sum(x, Axes{0, -1}, true).shape() == Shape{1, 3, 1});
  CHECK(sum(Tensor<float, D>(Shape{}).fill_(3)).item() == 3);
  CHECK_THROWS_AS((void)sum(x, 3), IndexError);
  CHECK_THROWS_AS((void)mean(x, {0, 0}), ArgumentError);
  CHECK_THROWS_AS((void)prod(x, {1, -2}), ArgumentError);
}

LOCUS_DEVICE_TEST("results and gradients agree with PyTorch", D) {
  const auto check = [](const char* name, const auto& f) {
    const auto x = variable(golden::tensor<double, D>("reduce_x"));
    CHECK_GOLDEN(name, f(x), ({"x"}), x);
  };
  check("sum_02", [](const auto& x) { return sum(x, {0, 2}); });
  check("mean_1", [](const auto& x) { return mean(x, 1, true); });
  check("prod_2", [](const auto& x) { return prod(x, 2); });
  const auto zeros = variable(golden::tensor<double, D>("zeros_x"));
  CHECK_GOLDEN("prod_zeros", prod(zeros, 1), ({"x"}), zeros);
}

LOCUS_DEVICE_TEST("a temporary expression is fused; a reduction is one launch", D) {
  const auto a = sample<float, D>({6, 7}, 1), b = sample<float, D>({7}, 2);
  LaunchLog log;
  const auto fused = sum(a * b + 1.f, 1);
  CHECK(log.launches() == 1);
  const auto named = a * b + 1.f;
  CHECK_CLOSE(fused, locus_test::reference(sum(named.eval(), 1)), 1e-5);
  LaunchLog used;
  (void)mean(square(a), {0, 1});
  (void)all(a > b);
  (void)any(a > 100.f, 0);
  (void)prod(a, 0);
  CHECK(used.launches() == 4);
}

LOCUS_DEVICE_TEST("the gradient of a sum is a view, that of a mean one small launch; a leaf keeps a copy", D) {
  const auto x = variable(sample<float, D>({6, 7}, 1));
  const auto g = sample<float, D>({6}, 2);
  const auto s = sum(x, 1);
  LaunchLog log;
  s.backward(g);
  CHECK(log.launches() == 1);
  const auto y = variable(sample<float, D>({6, 7}, 1));
  const auto m = mean(y, 1);
  LaunchLog mean_log;
  m.backward(g);
  CHECK(mean_log.launches() == 2);
}

LOCUS_DEVICE_TEST("gradients agree with finite differences, also where they are added to others", D) {
  const auto f = [](const auto& x) { return sum(x * x, {0, 2}) * mean(x) + prod(x, {1, 2}, true); };
  const auto found = gradcheck(f, sample<double, D>({2, 2, 2}, 3));
  CHECK_MESSAGE(found, found.what());
  const auto zeros = gradcheck([](const auto& x) { return prod(x) + prod(x, 0) + sum(x); },
                               locus_test::tensor<double, D>({2, 3}, {0, 1, 2, 0, 3, 4}));
  CHECK_MESSAGE(zeros, zeros.what());
}

LOCUS_DEVICE_TEST("all and any hold for every element type", D) {
  CHECK_CLOSE(all(locus_test::tensor<bool, D>({2, 2}, {1, 1, 1, 0}), 1), {1, 0});
  CHECK_CLOSE(any(locus_test::tensor<bool, D>({2, 2}, {0, 1, 0, 0}), 1), {1, 0});
  CHECK(all(locus_test::tensor<float, D>({2}, {0.5, -1})).item());
  CHECK_FALSE(any(locus_test::tensor<std::int32_t, D>({2}, {0, 0})).item());
  static_assert(std::is_same_v<decltype(all(Tensor<float, D>())), Tensor<bool, D>>);
}

LOCUS_DEVICE_TEST("folds of nothing: a sum is 0, a mean NaN, a product 1", D) {
  const Tensor<float, D> nothing({2, 0});
  CHECK_CLOSE(sum(nothing, 1), {0, 0});
  CHECK(std::isnan(mean(nothing).item()));
  CHECK_CLOSE(prod(nothing, 1), {1, 1});
  CHECK(all(nothing).item());
  CHECK_FALSE(any(nothing).item());
  CHECK(sum(nothing, 0).shape() == Shape{0});
  CHECK(sum(Tensor<float, D>()).item() == 0);
  const auto x = variable(nothing);
  mean(x).backward();
  CHECK(x.grad().shape() == Shape{2, 0});
}

LOCUS_DEVICE_TEST("a sum of many numbers keeps its digits", D) {
  const auto x = Tensor<float, D>({1 << 20}).fill_(0.1f);
  CHECK(sum(x).item() == doctest::Approx(104857.6).epsilon(1e-5));
  CHECK(mean(x).item() == doctest::Approx(0.1).epsilon(1e-5));
}

LOCUS_DEVICE_TEST("a pending expression whose operand changed is refused", D) {
  const auto x = sample<float, D>({3}, 1);
  const auto pending = x * 2.f;
  x += 1.f;
  CHECK_THROWS_AS((void)sum(pending), StaleError);
}

LOCUS_DEVICE_TEST("a named expression is computed once, also by a reduction", D) {
  const auto x = sample<float, D>({3, 4}, 1);
  const auto named = x * 2.f;
  LaunchLog log;
  const auto total = sum(named);
  const auto average = mean(named);
  const Tensor again = named + 1.f;
  CHECK(log.counts().map == 2);
  CHECK(log.counts().reduce == 2);
}

LOCUS_DEVICE_TEST("an expression that is traced sums in the order of one that is named, bit for bit", D) {
  const auto x = sample<double, D>({7, 33, 129}, 1);
  const Tensor<double, D> named = x.permute({2, 1, 0}) * 1.0;
  const auto equal = [](const Tensor<double, D>& a, const Tensor<double, D>& b) { return all(a == b).item(); };
  CHECK(equal(mean(trace(x).permute({2, 1, 0}) * 1.0).value(), mean(named)));
  CHECK(equal(mean(trace(x).permute({2, 1, 0}) * 1.0, 0).value(), mean(named, 0)));
  CHECK_CLOSE(mean(x.permute({2, 1, 0}) * 1.0), locus_test::reference(mean(named)), 1e-14);
}

LOCUS_DEVICE_TEST("the mean of ones is one", D) {
  for (const std::int64_t count : {41, 47, 49, 55, 61, 1000}) {
    CHECK(mean(locus::ones<double, D>({count})).item() == 1);
    CHECK(mean(locus::ones<float, D>({count})).item() == 1);
  }
}
