#pragma once
// Linear interpolation between given points. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/expr/elementwise.hpp>
#include <locus/expr/functions.hpp>
#include <locus/ops/scatter.hpp>
#include <locus/ops/search.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// The position of x between left and right, 0 to 1, also if distances are not representable. 0 or 1 if both are equal.
struct PlaceBetween {
  static constexpr unsigned reads(int) { return 7u; }
  template <class R>
  LOCUS_FN R operator()(R x, R left, R right) const {
    const R scale = scale_of(left, right), width = right * scale - left * scale;
    return functor::Clamp{}((x * scale - left * scale) / (width > R(0) ? width : R(1)), R(0), R(1));
  }
  template <class R>
  LOCUS_FN Pack<R, R, R> by_inputs(R x, R left, R right) const {
    const R scale = scale_of(left, right), width = right * scale - left * scale;
    return {kept_if((x >= left) & (x <= right), scale / (width > R(0) ? width : R(1))), R(0), R(0)};
  }

 private:
  template <class R>
  LOCUS_FN static R scale_of(R left, R right) {
    return functor::IsFinite{}(right - left) ? R(1) : R(0.25);
  }
};
template <class X, class P, class F>
concept Interpolated =
    FloatingOperand<X> && FloatingOperand<P> && FloatingOperand<F> && CombinablePair<X, P> && CombinablePair<X, F>;
}  // namespace detail

/// The piecewise linear function through the points (points[k], values[k]), at each x: numpy.interp. Before the first
/// point it is the first value, after the last point the last value. The points must ascend; this is not checked.
/// Distances between points, and between values, may exceed the type. Beside an infinite value the result may be NaN.
///
/// shape: (...), (n,), (n,) -> (...)
/// gradient: to x the slope of its piece, 0 outside; to the values their shares; none to the points
/// cost: eight launches; backward six on Cpu
/// throws ShapeError unless points and values are lists of one length, and not empty
///
///     auto y = interp(from({0.5, 9}), from({0, 1, 2}), from({10, 20, 40}));   // 15 40
template <class X, class P, class F>
  requires detail::Interpolated<X, P, F>
[[nodiscard]] auto interp(const X& x, const P& points, const F& values) {
  const auto& at = x.eval();
  const auto& of = values.eval();
  const auto& from = points.eval().value();
  const std::int64_t count = from.elements();
  if (from.rank() != 1 || count == 0 || !(of.shape() == from.shape())) {
    fail<ShapeError>({"interp: points of shape ", from.shape(), " and values of shape ", of.shape(),
                      "; expected two lists of one length, of one or more"});
  }
  const auto before = clamp(searchsorted(from, at.value(), true) - 1, 0, count - 1).eval();
  const auto after = minimum(before + 1, count - 1).eval();
  return lerp(take(of, before), take(of, after),
              elementwise(detail::PlaceBetween{}, at, take(from, before), take(from, after)))
      .eval();
}

#include <locus/refuse/ops/interp.inc>

}}  // namespace locus::LOCUS_ABI
