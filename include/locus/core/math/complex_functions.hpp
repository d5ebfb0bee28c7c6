#pragma once
// Declares the functions of complex numbers, so that scalar functions find them beside those of float and double;
// core/math/complex.hpp defines them.

#include <locus/core/complex.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace math {

template <class R>
[[nodiscard]] LOCUS_FN Complex<R> exp(const Complex<R>& z);
template <class R>
[[nodiscard]] LOCUS_FN Complex<R> log(const Complex<R>& z);
template <class R>
[[nodiscard]] LOCUS_FN Complex<R> sqrt(const Complex<R>& z);
template <class R>
[[nodiscard]] LOCUS_FN Complex<R> rsqrt(const Complex<R>& z);
template <class R>
[[nodiscard]] LOCUS_FN Complex<R> pow(const Complex<R>& x, const Complex<R>& y);
template <class R>
[[nodiscard]] LOCUS_FN Complex<R> sin(const Complex<R>& z);
template <class R>
[[nodiscard]] LOCUS_FN Complex<R> cos(const Complex<R>& z);
template <class R>
[[nodiscard]] LOCUS_FN Complex<R> tan(const Complex<R>& z);
template <class R>
[[nodiscard]] LOCUS_FN Complex<R> sinh(const Complex<R>& z);
template <class R>
[[nodiscard]] LOCUS_FN Complex<R> cosh(const Complex<R>& z);
template <class R>
[[nodiscard]] LOCUS_FN Complex<R> tanh(const Complex<R>& z);
/// The distance from 0.
template <class R>
[[nodiscard]] LOCUS_FN R abs(const Complex<R>& z);
/// The angle from the positive real axis, from -pi to pi.
template <class R>
[[nodiscard]] LOCUS_FN R angle(const Complex<R>& z);

}}}  // namespace locus::LOCUS_ABI::math
