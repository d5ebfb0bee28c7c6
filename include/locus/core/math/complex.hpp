#pragma once
// Functions of complex numbers: principal values, with the branch cuts of C++ and NumPy. They call the functions of
// real numbers, so that they run on every device.

#include <locus/core/math.hpp>
#include <locus/core/math/hyperbolic.hpp>
#include <locus/core/math/inverse_trigonometric.hpp>
#include <locus/core/math/logarithms.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace math {

template <class R>
LOCUS_FN R abs(const Complex<R>& z) {
  return hypot(z.real, z.imag);
}
template <class R>
LOCUS_FN R angle(const Complex<R>& z) {
  return atan2(z.imag, z.real);
}

/// Where e^real(z) overflows, its root is multiplied twice, as a part of the result may be finite.
template <class R>
LOCUS_FN Complex<R> exp(const Complex<R>& z) {
  const R growth = exp(z.real);
  if (z.imag == R(0)) return {growth, z.imag};
  if (growth == R(0)) return {R(0), R(0)};
  const R c = cos(z.imag), s = sin(z.imag);
  if (growth - growth == R(0)) return {growth * c, growth * s};
  const R root = exp(R(0.5) * z.real);
  return {root * c * root, root * s * root};
}
/// Near the unit circle, the logarithm of the distance is computed from its difference to 1.
template <class R>
LOCUS_FN Complex<R> log(const Complex<R>& z) {
  const R x = z.real < R(0) ? -z.real : z.real, y = z.imag < R(0) ? -z.imag : z.imag;
  const R larger = x > y ? x : y, smaller = x > y ? y : x, distance = hypot(x, y);
  const bool is_near = distance > R(0.5) && distance < R(2);
  const R real = is_near ? R(0.5) * log1p((larger - R(1)) * (larger + R(1)) + smaller * smaller) : log(distance);
  return {real, angle(z)};
}
namespace detail {
/// x with the sign of y, which may be -0.
template <class R>
LOCUS_FN R with_sign_of(R x, R y) {
  const bool is_negative = y < R(0) || (y == R(0) && R(1) / y < R(0));
  const R size = x < R(0) ? -x : x;
  return is_negative ? -size : size;
}
}  // namespace detail

/// The part of larger magnitude is the root of half of |z| + |real(z)|, in which nothing cancels; the other one is
/// imag(z) divided by twice that root. Large numbers are scaled, so that |z| does not overflow.
template <class R>
LOCUS_FN Complex<R> sqrt(const Complex<R>& z) {
  if (z.real == R(0) && z.imag == R(0)) return {R(0), z.imag};
  if (z.imag == z.imag && z.imag - z.imag != R(0)) return {z.imag < R(0) ? -z.imag : z.imag, z.imag};  // infinite
  const R x = z.real < R(0) ? -z.real : z.real;
  const bool is_large = x > R(1e30) || z.imag > R(1e30) || z.imag < R(-1e30);
  const R scale = is_large ? R(0.25) : R(1), root_of_scale = is_large ? R(2) : R(1);
  const R larger = sqrt(R(0.5) * (hypot(x * scale, z.imag * scale) + x * scale));
  const R other = R(0.5) * (z.imag * scale) / larger;
  if (z.real >= R(0)) return {root_of_scale * larger, root_of_scale * other};
  return {root_of_scale * detail::with_sign_of(other, R(1)), root_of_scale * detail::with_sign_of(larger, z.imag)};
}
template <class R>
LOCUS_FN Complex<R> rsqrt(const Complex<R>& z) {
  return Complex<R>(1) / sqrt(z);
}

/// 0^y is 1 for y = 0, and 0 for y of a positive real part.
template <class R>
LOCUS_FN Complex<R> pow(const Complex<R>& x, const Complex<R>& y) {
  if (y == Complex<R>(0)) return {R(1), R(0)};
  if (x == Complex<R>(0) && y.real > R(0)) return {R(0), R(0)};
  return exp(y * log(x));
}

namespace detail {
/// x * y, and 0 for y = 0 also where x is infinite.
template <class R>
LOCUS_FN R product_or_zero(R x, R y) {
  if (y == R(0)) return x < R(0) ? -y : y;
  return x * y;
}
}  // namespace detail

template <class R>
LOCUS_FN Complex<R> sinh(const Complex<R>& z) {
  return {sinh(z.real) * cos(z.imag), detail::product_or_zero(cosh(z.real), sin(z.imag))};
}
template <class R>
LOCUS_FN Complex<R> cosh(const Complex<R>& z) {
  return {cosh(z.real) * cos(z.imag), detail::product_or_zero(sinh(z.real), sin(z.imag))};
}
/// Kahan's formula (1987); beyond 20 the real part is 1, and sinh squared would overflow.
template <class R>
LOCUS_FN Complex<R> tanh(const Complex<R>& z) {
  const R x = z.real < R(0) ? -z.real : z.real;
  if (x > R(20)) {
    const R decay = exp(R(-2) * x);
    return {z.real < R(0) ? R(-1) : R(1), R(4) * sin(z.imag) * cos(z.imag) * decay};
  }
  const R t = tan(z.imag), beta = R(1) + t * t, s = sinh(z.real), rho = sqrt(R(1) + s * s);
  const R denominator = R(1) + beta * s * s;
  return {beta * rho * s / denominator, t / denominator};
}

// sin(z) = -i sinh(i z), cos(z) = cosh(i z), tan(z) = -i tanh(i z)

template <class R>
LOCUS_FN Complex<R> sin(const Complex<R>& z) {
  const Complex<R> y = sinh(Complex<R>(-z.imag, z.real));
  return {y.imag, -y.real};
}
template <class R>
LOCUS_FN Complex<R> cos(const Complex<R>& z) {
  return cosh(Complex<R>(-z.imag, z.real));
}
template <class R>
LOCUS_FN Complex<R> tan(const Complex<R>& z) {
  const Complex<R> y = tanh(Complex<R>(-z.imag, z.real));
  return {y.imag, -y.real};
}

}}}  // namespace locus::LOCUS_ABI::math
