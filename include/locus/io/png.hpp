#pragma once
// Writing images as PNG (https://www.w3.org/TR/png), uncompressed: no library is needed.

#include <locus/core/system/file.hpp>
#include <locus/io/zip.hpp>
#include <locus/tensor/copy.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace io {

namespace detail {

inline void append_big_endian(std::string& text, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(number >> shift & 0xff);
}
inline void append_png_chunk(std::string& png, const char* type, const std::string& content) {
  append_big_endian(png, static_cast<std::uint32_t>(content.size()));
  const std::string checked = type + content;
  png += checked;
  append_big_endian(png, crc32_of(checked.data(), checked.size()));
}

/// Bytes as a zlib stream (RFC 1950) of blocks that are stored as they are.
[[nodiscard]] inline std::string stored_zlib(const std::string& bytes) {
  constexpr std::size_t most = 0xffff;
  std::string stream("\x78\x01");
  for (std::size_t at = 0; at < bytes.size(); at += most) {
    const std::size_t count = bytes.size() - at < most ? bytes.size() - at : most;
    stream += at + count == bytes.size() ? '\1' : '\0';
    append_number(stream, count, 2);
    append_number(stream, ~count, 2);
    stream.append(bytes, at, count);
  }
  std::uint32_t a = 1, b = 0;  // Adler-32
  for (const char byte : bytes) {
    a = (a + static_cast<unsigned char>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  append_big_endian(stream, b << 16 | a);
  return stream;
}

}  // namespace detail

/// The bytes of a PNG file of an image, (channels, height, width), of one channel, grey, or three: red, green, blue.
/// throws ShapeError for another shape, no pixels, or more than 2^28 bytes
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string encode_png(const Tensor<std::uint8_t, Cpu>& image) {
  const bool fits = image.rank() == 3 && (image.size(0) == 1 || image.size(0) == 3) && image.elements() > 0 &&
                    image.elements() <= 1 << 28;
  if (!fits)
    fail<ShapeError>(
        {"encode_png: an image of shape ", image.shape(), "; expected (1 or 3, height, width), of 1 to 2^28 bytes"});
  const std::int64_t channels = image.size(0), height = image.size(1), width = image.size(2), plane = height * width;
  const Tensor<std::uint8_t, Cpu> planes = image.contiguous();
  std::string rows;
  rows.reserve(static_cast<std::size_t>(height * (1 + width * channels)));
  for (std::int64_t y = 0; y < height; ++y) {
    rows += '\0';  // no filter
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t c = 0; c < channels; ++c) rows += static_cast<char>(planes.data()[c * plane + y * width + x]);
  }
  std::string header;
  detail::append_big_endian(header, static_cast<std::uint32_t>(width));
  detail::append_big_endian(header, static_cast<std::uint32_t>(height));
  header += {'\x08', channels == 3 ? '\2' : '\0', '\0', '\0', '\0'};  // 8 bits, colours or grey
  std::string png("\x89PNG\r\n\x1a\n");
  detail::append_png_chunk(png, "IHDR", header);
  detail::append_png_chunk(png, "IDAT", detail::stored_zlib(rows));
  detail::append_png_chunk(png, "IEND", "");
  return png;
}

/// Writes an image, (1 or 3, height, width), as a PNG file. throws ShapeError as encode_png(); DataError if the file
/// cannot be written
///
///     io::write_png("first.png", images.select(0, 0));
inline void write_png(const std::string& path, const Tensor<std::uint8_t, Cpu>& image) {
  write_file_atomically(path, encode_png(image));
}

}}}  // namespace locus::LOCUS_ABI::io
