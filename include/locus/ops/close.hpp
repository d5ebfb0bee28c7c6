#pragma once
// Whether numbers are equal up to rounding: isclose, allclose.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/expr/elementwise.hpp>
#include <locus/ops/reduce.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// How far two numbers may be apart: |x - y| <= absolute + relative |y|, as in NumPy and PyTorch.
struct CloseOptions {
  double relative = 1e-5, absolute = 1e-8;
  bool equal_nan = false;  ///< whether NaN is close to NaN
};

namespace detail {
struct IsClose {
  double relative, absolute;
  bool equal_nan;
  static constexpr bool gives_bool = true, differentiable = false;
  template <class R>
  LOCUS_FN bool operator()(R x, R y) const {
    if (x == y) return true;  // infinities, too
    if (x != x || y != y) return equal_nan && x != x && y != y;
    const double apart = distance(x, y), size = distance(y, R(0));
    return size - size == 0 && apart <= absolute + relative * size;
  }

 private:
  template <class R>
  LOCUS_FN static double distance(R x, R y) {
    if constexpr (is_complex<R>) return math::abs(complex128(x) - complex128(y));
    else return functor::Abs{}(static_cast<double>(x) - static_cast<double>(y));
  }
};
}  // namespace detail

/// Whether elements are close, pending, as ==.
template <class X, class Y>
  requires(Combinable<X, Y> && TensorLike<X> && TensorLike<Y>)
[[nodiscard]] auto isclose(const X& x, const Y& y, const CloseOptions& options = {}) {
  return elementwise(detail::IsClose{options.relative, options.absolute, options.equal_nan}, x, y);
}
/// Whether all elements are close. cost: one launch; waits for the device
///
///     if (!allclose(y, expected, {.relative = 1e-3})) ...
template <class X, class Y>
  requires(Combinable<X, Y> && TensorLike<X> && TensorLike<Y>)
[[nodiscard]] bool allclose(const X& x, const Y& y, const CloseOptions& options = {}) {
  return all(isclose(x, y, options)).item();
}

#include <locus/refuse/ops/close.inc>

}}  // namespace locus::LOCUS_ABI
