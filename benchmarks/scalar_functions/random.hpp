#pragma once
// Random floats, the same in each run.

#include "reference.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace accuracy {

inline float float_of(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }

/// A random number for each number (the finalizer of SplitMix64; Steele, Lea and Flood, 2014).
inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The second argument for x. A NaN is a quiet one.
inline float second_for(float x, Second kind) {
  const std::uint64_t random = mixed(std::bit_cast<std::uint32_t>(x) + (std::uint64_t{1} << 40));
  const float drawn = float_of(random >> 32), any = std::isnan(drawn) ? std::numeric_limits<float>::quiet_NaN() : drawn;
  if (kind == Second::none) return 1;
  if (kind == Second::any || random % 4 == 0) return any;
  const double target = static_cast<double>(random % 282000) / 1000 - 152;  // x^y from 2^-152 to 2^130
  const auto y = static_cast<float>(target / std::log2(std::abs(static_cast<double>(x))));
  return x < 0 ? std::rint(y) : y;
}

}  // namespace accuracy
