#pragma once
// Errors of floats in units in the last place (ulp) of the exact result, and results of the wrong kind.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace accuracy {

inline constexpr double smallest_normal = 0x1p-126, past_largest = 0x1p128;

/// Infinity counts as one ulp above the largest float, as it does in rounding.
[[nodiscard]] inline double bounded(double x) {
  const double below = x > past_largest ? past_largest : x;
  return below < -past_largest ? -past_largest : below;
}

/// The distance of consecutive floats at x: 2^-149 below the smallest normal number.
[[nodiscard]] inline double ulp_of(double x) {
  const double power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000u) * 0x1p-23;
  return power < 0x1p-149 ? 0x1p-149 : power;
}

/// An error, and where it is. A result that is the nearest float, which is up to 0.5 ulp off, is no worst one.
struct Worst {
  double ulp = 0.5;
  float x = 0, y = 0, given = 0;
  double exact = 0;
};

/// Errors of one function in one library. Arguments and results below the smallest normal number are apart: libraries
/// that flush them to zero are otherwise exact.
struct Errors {
  Worst normal, subnormal;
  std::uint64_t inputs = 0;
  std::uint64_t nan = 0;       ///< NaN instead of a number, or a number instead of NaN
  std::uint64_t infinity = 0;  ///< not infinite where the exact result is
  std::uint64_t zero = 0;      ///< zero of the wrong sign
  std::uint64_t rounded = 0;   ///< the nearest float, or NaN as expected
};

/// The error of one result; of a result of the wrong kind, 0.
struct Measured {
  double ulp;
  bool is_subnormal, wrong_nan, wrong_infinity, wrong_zero;
};
[[nodiscard]] inline Measured measured(float x, float y, float given, double exact) {
  const auto is_small = [](double v) { return v != 0 && std::abs(v) < smallest_normal; };
  const auto z = static_cast<double>(given), at = bounded(exact);
  Measured m{0, is_small(x) || is_small(y) || is_small(exact), std::isnan(exact) != std::isnan(given), false, false};
  if (std::isnan(exact) || std::isnan(given)) return m;
  m.wrong_infinity = std::isinf(exact) && z != exact;
  m.wrong_zero = z == 0 && static_cast<float>(exact) == 0 && std::signbit(z) != std::signbit(exact);
  if (!std::isinf(exact)) m.ulp = std::abs(bounded(z) - at) / ulp_of(at);
  return m;
}

/// Adds a block of n results. nearest: the floats nearest to the exact results. y is not null.
inline void add(Errors& errors, const float* x, const float* y, const float* given, const double* exact,
                const float* nearest, std::size_t n) {
  constexpr std::size_t step = 16;
  errors.inputs += n;
  errors.rounded += n;
  for (std::size_t begin = 0; begin < n; begin += step) {
    const std::size_t count = n - begin < step ? n - begin : step;
    if (std::memcmp(given + begin, nearest + begin, count * sizeof *given) == 0) continue;
    for (std::size_t k = begin; k < begin + count; ++k) {
      if (std::bit_cast<std::uint32_t>(given[k]) == std::bit_cast<std::uint32_t>(nearest[k])) continue;
      if (std::isnan(given[k]) && std::isnan(nearest[k])) continue;
      const Measured m = measured(x[k], y[k], given[k], exact[k]);
      errors.rounded -= 1;
      errors.nan += m.wrong_nan;
      errors.infinity += m.wrong_infinity;
      errors.zero += m.wrong_zero;
      Worst& worst = m.is_subnormal ? errors.subnormal : errors.normal;
      if (m.ulp > worst.ulp) worst = {m.ulp, x[k], y[k], given[k], exact[k]};
    }
  }
}

}  // namespace accuracy
