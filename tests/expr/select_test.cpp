// Runs on: host, cuda (tensors), reference.
#include <locus/expr/operators.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>

using namespace locus;
using namespace locus_test;

namespace {

/// Small whole numbers of any type: some pairs are equal.
template <class T, class D>
Tensor<T, D> small(std::uint64_t seed) {
  return sample<int, D>({3, 7}, seed, 0, 3).template as<T>();
}

template <class T, class D>
void check_order() {
  CAPTURE(dtype_name<T>());
  const auto x = small<T, D>(1), y = small<T, D>(2);
  const auto a = reference(x), b = reference(y);
  static_assert(std::is_same_v<value_of<decltype(x == y)>, bool>);
  CHECK_CLOSE(x == y, reference_map([](double p, double q) { return p == q ? 1.0 : 0.0; }, a, b));
  CHECK_CLOSE(x < y, reference_map([](double p, double q) { return p < q ? 1.0 : 0.0; }, a, b));
}

template <class T, class D>
void check_comparisons() {
  check_order<T, D>();
  const auto x = small<T, D>(3), y = small<T, D>(4);
  const auto a = reference(x), b = reference(y);
  CHECK_CLOSE(x != y, reference_map([](double p, double q) { return p != q ? 1.0 : 0.0; }, a, b));
  CHECK_CLOSE(x <= y, reference_map([](double p, double q) { return p <= q ? 1.0 : 0.0; }, a, b));
  CHECK_CLOSE(x > y, reference_map([](double p, double q) { return p > q ? 1.0 : 0.0; }, a, b));
  CHECK_CLOSE(x >= y, reference_map([](double p, double q) { return p >= q ? 1.0 : 0.0; }, a, b));
}

template <class T, class D>
void check_selection() {
  CAPTURE(dtype_name<T>());
  const auto x = sample<T, D>({3, 7}, 1, 0, 5), y = sample<T, D>({3, 7}, 2, 0, 5);
  const auto a = reference(x), b = reference(y);
  CHECK_CLOSE(minimum(x, y), reference_map([](double p, double q) { return p < q ? p : q; }, a, b));
  CHECK_CLOSE(maximum(x, y), reference_map([](double p, double q) { return p > q ? p : q; }, a, b));
  CHECK_CLOSE(where(x < y, x, y), reference_map([](double p, double q) { return p < q ? p : q; }, a, b));
  if constexpr (!std::is_same_v<T, bool>) {
    CHECK_CLOSE(clamp(x, 1, 3), reference_map([](double p) { return p < 1 ? 1 : p > 3 ? 3 : p; }, a));
  }
}

}  // namespace

LOCUS_DEVICE_TEST("comparisons give bool", D) {
  check_comparisons<float, D>();
  if constexpr (all_dtypes<D>) {
    check_order<double, D>();
    check_order<half, D>();
    check_order<bfloat16, D>();
    check_order<std::int32_t, D>();
    check_comparisons<std::int64_t, D>();
    check_order<std::uint8_t, D>();
    check_order<bool, D>();
  }
}

LOCUS_DEVICE_TEST("minimum, maximum, where and clamp", D) {
  check_selection<float, D>();
  if constexpr (all_dtypes<D>) {
    check_selection<double, D>();
    check_selection<half, D>();
    check_selection<bfloat16, D>();
    check_selection<std::int32_t, D>();
    check_selection<std::int64_t, D>();
    check_selection<std::uint8_t, D>();
    check_selection<bool, D>();
  }
}

LOCUS_DEVICE_TEST("comparisons with numbers, on either side, and with NaN", D) {
  const auto x = tensor<float, D>({4}, {1, 2, 3, NAN});
  CHECK_CLOSE(x < 2, {1, 0, 0, 0});
  CHECK_CLOSE(2 <= x, {0, 1, 1, 0});
  CHECK_CLOSE(x == x, {1, 1, 1, 0});
  CHECK_CLOSE(x != 2.0, {1, 0, 1, 1});
  CHECK_CLOSE(isfinite(x / tensor<float, D>({4}, {1, 0, 1, 1})), {1, 0, 1, 0});
}

LOCUS_DEVICE_TEST("logic takes any element type: what is not zero is true", D) {
  const auto p = tensor<bool, D>({4}, {0, 0, 1, 1}), q = tensor<bool, D>({4}, {0, 1, 0, 1});
  CHECK_CLOSE(p && q, {0, 0, 0, 1});
  CHECK_CLOSE(p || q, {0, 1, 1, 1});
  CHECK_CLOSE(!p, {1, 1, 0, 0});
  CHECK_CLOSE(p && true, {0, 0, 1, 1});
  const auto x = tensor<float, D>({4}, {0, 0.5, -2, NAN}), y = tensor<float, D>({4}, {1, 0, 1, 1});
  CHECK_CLOSE(x && y, {0, 0, 1, 1});
  CHECK_CLOSE(x || y, {1, 1, 1, 1});
  CHECK_CLOSE(!x, {1, 0, 0, 0});
  CHECK_CLOSE(!(x < y) && x < 1, {0, 1, 0, 0});
}

LOCUS_DEVICE_TEST("NaN wins in minimum, maximum, clamp, relu and its kin", D) {
  const auto x = tensor<float, D>({3}, {NAN, 1, 1}), y = tensor<float, D>({3}, {2, NAN, 2});
  CHECK_CLOSE(minimum(x, y), {NAN, NAN, 1});
  CHECK_CLOSE(maximum(x, y), {NAN, NAN, 2});
  CHECK_CLOSE(minimum(y, x), {NAN, NAN, 1});
  CHECK_CLOSE(max(x, 0.5f), {NAN, 1, 1});
  CHECK_CLOSE(max(0.5f, x), {NAN, 1, 1});
  CHECK_CLOSE(min(0.5f, x), {NAN, 0.5, 0.5});
  CHECK_CLOSE(min(x, 0.5f), {NAN, 0.5, 0.5});
  CHECK_CLOSE(relu(x - 2), {NAN, 0, 0});
  CHECK_CLOSE(clamp(x, 0, 0.5), {NAN, 0.5, 0.5});
  CHECK_CLOSE(leaky_relu(-x), {NAN, -0.01, -0.01});
  CHECK_CLOSE(hardswish(x + 2), {NAN, 3, 3});
  CHECK_CLOSE(elementwise(functor::Prelu{}, -x, 0.25f), {NAN, -0.25, -0.25});
}

LOCUS_DEVICE_TEST("min and max of two tensors are elementwise", D) {
  const auto x = tensor<std::int32_t, D>({2}, {1, 5}), y = tensor<std::int32_t, D>({2}, {3, 4});
  CHECK_CLOSE(min(x, y), {1, 4});
  CHECK_CLOSE(max(x, y), {3, 5});
  CHECK_CLOSE(maximum(x, 2), {2, 5});
  CHECK_CLOSE(minimum(2, x), {1, 2});
}

LOCUS_DEVICE_TEST("bounds of clamp are numbers or tensors; the upper one wins", D) {
  const auto x = tensor<float, D>({2, 3}, {-3, 0, 3, -3, 0, 3});
  const auto low = tensor<float, D>({3}, {-1, 1, -1}), high = tensor<float, D>({2, 1}, {2, 0.5});
  CHECK_CLOSE(clamp(x, low, high), {{2, 3}, {-1, 1, 2, -1, 0.5, 0.5}});
  CHECK_CLOSE(clamp(x, low, 2), {{2, 3}, {-1, 1, 2, -1, 1, 2}});
  CHECK_CLOSE(clamp(x, -1, high), {{2, 3}, {-1, 0, 2, -1, 0, 0.5}});
  CHECK_CLOSE(clamp(x, 2, 1), {{2, 3}, {1, 1, 1, 1, 1, 1}});
}

LOCUS_DEVICE_TEST("where broadcasts its condition and takes numbers", D) {
  const auto condition = tensor<bool, D>({2, 1}, {1, 0});
  const auto x = tensor<float, D>({3}, {1, 2, 3});
  CHECK_CLOSE(where(condition, x, 0), Reference({2, 3}, {1, 2, 3, 0, 0, 0}));
  CHECK_CLOSE(where(condition, 0.5, x), {{2, 3}, {0.5, 0.5, 0.5, 1, 2, 3}});
  CHECK_CLOSE(where(x > 1 && x < 3, x * 10, -x), {-1, 20, -3});
  const auto n = tensor<std::int64_t, D>({3}, {7, 8, 9});
  static_assert(std::is_same_v<value_of<decltype(where(x > 1, n, 0))>, std::int64_t>);
  CHECK_CLOSE(where(x > 1, n, 0), {0, 8, 9});
  const auto whole = where(x > 1, 1, 0);  // of two numbers
  static_assert(std::is_same_v<value_of<decltype(whole)>, std::int64_t>);
  CHECK_CLOSE(whole, {0, 1, 1});
  static_assert(std::is_same_v<value_of<decltype(where(x > 1, 0.5, 1))>, float>);
  CHECK_CLOSE(where(condition, 0.5, -1) + x, {{2, 3}, {1.5, 2.5, 3.5, 0, 1, 2}});
  static_assert(std::is_same_v<value_of<decltype(where(x > 1, true, false))>, bool>);
  CHECK_CLOSE(where(condition, false, true), Reference({2, 1}, {0, 1}));
  CHECK_THROWS_WITH_AS((void)where(condition, 18446744073709551615u, 0),
                       doctest::Contains("where: 18446744073709551615 is no value of int64"), ArgumentError);
}
