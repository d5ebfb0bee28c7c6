#pragma once
// Depth, height and width, of kernels, strides and borders.

#include <locus/core/shape.hpp>

#include <concepts>

namespace locus { inline namespace LOCUS_ABI {

/// One number for all, or {depth, height, width}.
struct Size3d {
  std::int64_t depth = 1, height = 1, width = 1;
  constexpr Size3d() = default;
  template <std::integral I>
  constexpr Size3d(I all) : depth(all), height(all), width(all) {}
  constexpr Size3d(std::int64_t d, std::int64_t h, std::int64_t w) : depth(d), height(h), width(w) {}
  [[nodiscard]] friend constexpr bool operator==(const Size3d&, const Size3d&) = default;
  [[nodiscard]] friend std::string to_string(const Size3d& size) {
    return to_string(Dims{size.depth, size.height, size.width});
  }
};

}}  // namespace locus::LOCUS_ABI
