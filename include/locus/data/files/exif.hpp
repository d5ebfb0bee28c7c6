#pragma once
// The orientation that a camera noted in an image (EXIF), and pixels turned by it.

#include <locus/core/std/span.hpp>

#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace data::detail {

/// Orientation, 1 to 8, in the first directory of a block of EXIF data; 1, upright as stored, if there is no valid one.
[[nodiscard]] inline int exif_orientation(Span<const std::uint8_t> block) {
  constexpr std::size_t head = 6, entry_bytes = 12;  // "Exif", two zeros; a tag, a type, a count and a value
  const auto at = [&](std::size_t i) { return i < block.size() ? std::uint32_t{block[i]} : 0u; };
  const bool is_big = at(head) == 'M';
  const auto number = [&](std::size_t i, std::size_t bytes) {
    std::uint32_t result = 0;
    for (std::size_t k = 0; k < bytes; ++k) result = result << 8 | at(is_big ? i + k : i + bytes - 1 - k);
    return result;
  };
  for (std::size_t i = 0; i < head; ++i)
    if (at(i) != static_cast<std::uint32_t>("Exif\0\0"[i])) return 1;
  if (at(head) != at(head + 1) || (!is_big && at(head) != 'I') || number(head + 2, 2) != 42) return 1;
  const std::size_t directory = head + number(head + 4, 4);
  if (directory + 2 > block.size()) return 1;
  for (std::size_t i = 0, count = number(directory, 2); i < count; ++i) {
    const std::size_t entry = directory + 2 + i * entry_bytes;
    if (entry + entry_bytes > block.size()) return 1;
    constexpr std::uint32_t orientation = 0x0112, type_short = 3;
    if (number(entry, 2) != orientation) continue;
    const std::uint32_t value = number(entry + 8, 2);
    return number(entry + 2, 2) == type_short && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

/// Whether the image is turned by a quarter, which swaps height and width.
[[nodiscard]] inline bool turns_by_quarter(int orientation) { return orientation >= 5; }

/// Copies planes of (height, width) to other memory, turned upright.
inline void put_upright(const std::uint8_t* from, std::int64_t planes, std::int64_t height, std::int64_t width,
                        int orientation, std::uint8_t* to) {
  const bool swaps = turns_by_quarter(orientation);
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const std::int64_t rows = swaps ? width : height, columns = swaps ? height : width;
  for (std::int64_t plane = 0; plane < planes; ++plane, from += height * width)
    for (std::int64_t y = 0; y < rows; ++y)
      for (std::int64_t x = 0; x < columns; ++x) {
        const std::int64_t row = swaps ? x : y, column = swaps ? y : x;
        *to++ = from[(from_bottom ? height - 1 - row : row) * width + (from_right ? width - 1 - column : column)];
      }
}

}}}  // namespace locus::LOCUS_ABI::data::detail
