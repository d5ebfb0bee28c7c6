#pragma once
// Scalar mathematics for both sides: on a GPU the toolkit's functions, on the host the standard library's, except where
// those keep a loop from vectorizing.

#include <locus/core/config.hpp>

#include <cmath>
#include <cstdint>
#include <type_traits>

#if defined(__GLIBC__) && !LOCUS_NVCC
// Without this, compilers believe that the square root of a negative number sets errno, and keep loops scalar.
extern "C" float sqrtf(float) noexcept __attribute__((const));
extern "C" double sqrt(double) noexcept __attribute__((const));
#endif

namespace locus::inline LOCUS_ABI::math {

/// e^x. On the host branch-free, so that loops over it vectorize; error below 2 ulp.
/// Reduction x = n ln 2 + r with |r| <= ln 2 / 2, and the minimax polynomial of Cephes' expf (S. Moshier, 1992).
[[nodiscard]] LOCUS_FN float exp(float x) {
#if LOCUS_ON_DEVICE
  return ::expf(x);
#else
  const float bounded = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;  // e^-104 is 0, e^89 infinite; NaN stays
  const float shifted = bounded * 1.44269504f + 12582912.0f;            // 1.5 * 2^23: the low bits hold n
  const float n = shifted - 12582912.0f;
  const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float mantissa = (p * r) * r + r + 1.0f;
  const std::uint32_t exponent = __builtin_bit_cast(std::uint32_t, shifted) - 0x4b400000u;
  const std::uint32_t first = static_cast<std::uint32_t>(static_cast<std::int32_t>(exponent) >> 1);
  const float scale = __builtin_bit_cast(float, (first + 127u) << 23);  // in two steps: subnormals and infinity
  const float rest = __builtin_bit_cast(float, (exponent - first + 127u) << 23);
  return mantissa * scale * rest;
#endif
}
[[nodiscard]] LOCUS_FN double exp(double x) { return std::exp(x); }

[[nodiscard]] LOCUS_FN float sqrt(float x) { return ::sqrtf(x); }
[[nodiscard]] LOCUS_FN double sqrt(double x) { return ::sqrt(x); }

/// 1 / (1 + e^-x), to the last digit where e^-x would overflow too
template <class T>
[[nodiscard]] LOCUS_FN T sigmoid(T x) {
  const T e = exp(x < T(0) ? x : -x);
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}

/// log(1 + e^x) without overflow
template <class T>
[[nodiscard]] LOCUS_FN T softplus(T x) {
  const T magnitude = x < T(0) ? -x : x;
  return (x > T(0) ? x : T(0)) + std::log1p(exp(-magnitude));
}

/// Integer arithmetic wraps around, as it does in NumPy and on a GPU; overflow of a signed type is undefined in C++.
template <class T>
struct Wrapping {
  using type = T;
};
template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
struct Wrapping<T> {
  using type = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
};
template <class T>
using wrapping_t = typename Wrapping<T>::type;

}  // namespace locus::inline LOCUS_ABI::math
