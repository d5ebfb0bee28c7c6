#pragma once
// Height and width, of kernels, strides and borders.

#include <locus/core/shape.hpp>

#include <concepts>

namespace locus { inline namespace LOCUS_ABI {

/// One number for both, or {height, width}.
struct Size2d {
  std::int64_t height = 1, width = 1;
  constexpr Size2d() = default;
  template <std::integral I>
  constexpr Size2d(I both) : height(both), width(both) {}
  constexpr Size2d(std::int64_t h, std::int64_t w) : height(h), width(w) {}
  [[nodiscard]] friend constexpr bool operator==(const Size2d&, const Size2d&) = default;
  [[nodiscard]] friend std::string to_string(const Size2d& size) { return to_string(Dims{size.height, size.width}); }
};

}}  // namespace locus::LOCUS_ABI
