#pragma once
// Differences of neighbours, and integrals by trapezoids. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/reduce.hpp>
#include <locus/ops/scan.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// f of all elements but the last along an axis, and of all but the first.
template <class X, class F>
[[nodiscard]] auto of_neighbours(const X& x, int along, const F& f) {
  return f(slice(x, along, 0, -1), slice(x, along, 1));
}
template <class X>
[[nodiscard]] auto difference_of_neighbours(const X& x, int along) {
  return of_neighbours(x, along, [](const auto& a, const auto& b) {
    if constexpr (std::is_same_v<value_of<X>, bool>) return (b != a).eval();
    else return (b - a).eval();
  });
}
/// The areas of the trapezoids below neighbours at a distance of 1. throws IndexError
template <class Y>
[[nodiscard]] auto trapezoids(const Y& y, int along) {
  using R = compute_t<value_of<Y>>;
  return of_neighbours(y, along, [](const auto& a, const auto& b) { return ((a + b) * R(0.5)).eval(); });
}
/// The distances of the points of a dimension, as a view that broadcasts with y. throws ShapeError
template <class X>
[[nodiscard]] auto distances(const char* name, const X& x, const Shape& y, int along) {
  const bool is_list = x.shape().rank() == 1;
  if (is_list ? x.shape()[0] != y[along] : x.shape() != y)
    fail<ShapeError>({name, ": y of shape ", y, " at points of shape ", x.shape(), "; expected (", y[along],
                      "), or the shape of y"});
  Shape alone = Dims::filled(y.rank(), 1);
  alone[along] = y[along];
  return difference_of_neighbours(reshape(x, is_list ? alone : y), along);
}

}  // namespace detail

/// Differences of neighbours along an axis, x[i + 1] - x[i], taken n times: numpy.diff, torch.diff. Of bool, whether
/// they differ. To begin or end with other elements, concat them. shape: (..., m, ...) -> (..., max(m - n, 0), ...)
/// gradient: differences of g     cost: n launches throws IndexError; ArgumentError for a negative n
template <detail::Operand X>
[[nodiscard]] auto diff(const X& x, int axis = -1, int n = 1) {
  const int along = normalize_axis(axis, x.shape().rank(), "diff");
  if (n < 0) fail<ArgumentError>({"diff: ", n, " times; expected 0 or more"});
  auto result = (slice(x, along, 0)).eval();
  for (int i = 0; i < n && result.size(along) > 0; ++i) result = detail::difference_of_neighbours(result, along);
  return result;
}

/// The integral along an axis, by trapezoids between points at a distance of dx: numpy.trapezoid, torch.trapezoid.
/// shape: (..., m, ...) -> (..., ...)     gradient: g dx, at both ends half of it     cost: two launches
/// throws IndexError
template <detail::FloatingOperand Y>
[[nodiscard]] auto trapezoid(const Y& y, int axis = -1, double dx = 1) {
  const int along = normalize_axis(axis, y.shape().rank(), "trapezoid");
  return (sum(detail::trapezoids(y, along), along) * static_cast<compute_t<value_of<Y>>>(dx)).eval();
}
/// The same between the points x, a list for the axis or one for each element.
/// throws ShapeError unless x has the extent of the axis or the shape of y
template <class Y, class X>
  requires(detail::FloatingOperand<Y> && TensorLike<X> && Combinable<Y, X>)
[[nodiscard]] auto trapezoid(const Y& y, const X& x, int axis = -1) {
  const int along = normalize_axis(axis, y.shape().rank(), "trapezoid");
  return sum((detail::trapezoids(y, along) * detail::distances("trapezoid", x, y.shape(), along)).eval(), along);
}

/// The integral from the first point to each one but the first: torch.cumulative_trapezoid.
/// shape: (..., m, ...) -> (..., m - 1, ...)     gradient: as of cumsum     cost: cumsum and two launches
/// throws as trapezoid
template <detail::FloatingOperand Y>
[[nodiscard]] auto cumulative_trapezoid(const Y& y, int axis = -1, double dx = 1) {
  const int along = normalize_axis(axis, y.shape().rank(), "cumulative_trapezoid");
  return (cumsum(detail::trapezoids(y, along), along) * static_cast<compute_t<value_of<Y>>>(dx)).eval();
}
template <class Y, class X>
  requires(detail::FloatingOperand<Y> && TensorLike<X> && Combinable<Y, X>)
[[nodiscard]] auto cumulative_trapezoid(const Y& y, const X& x, int axis = -1) {
  static constexpr const char* name = "cumulative_trapezoid";
  const int along = normalize_axis(axis, y.shape().rank(), name);
  return cumsum((detail::trapezoids(y, along) * detail::distances(name, x, y.shape(), along)).eval(), along);
}

#include <locus/refuse/ops/differences.inc>

}}  // namespace locus::LOCUS_ABI
