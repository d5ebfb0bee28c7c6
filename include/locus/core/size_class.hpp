#pragma once
// Sizes of blocks in memory pools.

#include <locus/core/config.hpp>

#include <bit>
#include <cstddef>

namespace locus { inline namespace LOCUS_ABI {

/// Block sizes: multiples of the granule (a power of two) up to eight granules, then steps of an eighth of the power of
/// two below, so that at most 12.5 % is lost.
template <std::size_t granule>
struct SizeClass {
  static constexpr int steps = 8;             ///< per power of two
  static constexpr int classes = 64 * steps;  ///< more than there are

  [[nodiscard]] static constexpr int of(std::size_t bytes) {
    if (bytes <= granule * steps) return static_cast<int>((bytes + granule - 1) / granule);
    const int power = static_cast<int>(std::bit_width(bytes - 1)) - 1;  // 2^power < bytes <= 2^(power + 1)
    const std::size_t step = (std::size_t{1} << power) / steps;
    return (power - first_power + 1) * steps + static_cast<int>((bytes - (std::size_t{1} << power) + step - 1) / step);
  }
  /// Block size of a class; less than the request if the request exceeds 2^63.
  [[nodiscard]] static constexpr std::size_t bytes(int size_class) {
    if (size_class <= steps) return granule * static_cast<std::size_t>(size_class ? size_class : 1);
    const int power = (size_class - 1) / steps + first_power - 1;
    const auto step = static_cast<std::size_t>((size_class - 1) % steps + 1);
    return (std::size_t{1} << power) + (std::size_t{1} << power) / steps * step;
  }

 private:
  static constexpr int first_power = static_cast<int>(std::bit_width(granule * steps)) - 1;
};

}}  // namespace locus::LOCUS_ABI
