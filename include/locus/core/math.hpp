#pragma once
// Scalar mathematics for host and device: on a GPU, the toolkit's functions. On the host, float functions are
// branch-free, so that loops over them vectorize, and at most 2 ulp off, except gelu and gelu_slope, whose error bounds
// are absolute. Double functions are the standard library's, except exp and functions whose library version would keep
// a loop from vectorizing.

#include <locus/core/config.hpp>
#include <locus/core/math/complex_functions.hpp>
#include <locus/core/math/error_function.hpp>
#include <locus/core/math/exponential.hpp>
#include <locus/core/math/power.hpp>
#include <locus/core/math/rounding.hpp>
#include <locus/core/math/trigonometric.hpp>

#include <cstdint>
#include <type_traits>

#if defined(__GLIBC__)
// Redeclared as functions of their argument alone, since errno is not read after them. Otherwise compilers emit a call
// that sets errno, and no loop with a call vectorizes.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
extern "C" [[gnu::const]] float sqrtf(float) noexcept;
extern "C" [[gnu::const]] double sqrt(double) noexcept;
#pragma GCC diagnostic pop
#endif

namespace locus { inline namespace LOCUS_ABI { namespace math {

[[nodiscard]] LOCUS_FN float sqrt(float x) { return ::sqrtf(x); }
[[nodiscard]] LOCUS_FN double sqrt(double x) { return ::sqrt(x); }

/// 1 / sqrt(x)
[[nodiscard]] LOCUS_FN float rsqrt(float x) {
#if LOCUS_ON_DEVICE
  return ::rsqrtf(x);
#else
  return 1.0f / sqrt(x);
#endif
}
[[nodiscard]] LOCUS_FN double rsqrt(double x) { return 1.0 / sqrt(x); }

/// a * b + c, rounded once. A library call where the host has no FMA instruction: for exact remainders, not for loops.
[[nodiscard]] LOCUS_FN float fma(float a, float b, float c) { return LOCUS_MATH(fmaf)(a, b, c); }
[[nodiscard]] LOCUS_FN double fma(double a, double b, double c) { return LOCUS_MATH(fma)(a, b, c); }

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

}}}  // namespace locus::LOCUS_ABI::math
