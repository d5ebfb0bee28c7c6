#pragma once
// Decoding PNG images with libpng.

#include <locus/data/files/jpeg_decoder.hpp>

/// LOCUS_PNG: 1 to decode PNG, with -lpng on the link line; by default where <png.h> is found.
#ifndef LOCUS_PNG
#if __has_include(<png.h>)
#define LOCUS_PNG 1
#else
#define LOCUS_PNG 0
#endif
#endif

#if LOCUS_PNG
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <png.h>
#endif

namespace locus { inline namespace LOCUS_ABI { namespace data::detail {

#if LOCUS_PNG

/// Decodes one image: palettes become colours, 16 bits become 8, and transparency is dropped. Errors jump back, as in
/// JpegDecoder.
class PngDecoder {
 public:
  PngDecoder() = default;
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }

  /// Reads the header; false where it is damaged, or there is no memory.
  [[nodiscard]] bool open(Span<const std::uint8_t> bytes) {
    bytes_ = bytes;
    if (setjmp(back_)) return false;
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &jump_back, &ignore);
    if (png_) info_ = png_create_info_struct(png_);
    ran_out_of_memory_ = !info_;
    if (!info_) return false;
    png_set_read_fn(png_, this, &read);
#if defined(PNG_SET_UNKNOWN_CHUNKS_SUPPORTED)
    // Skips texts and profiles: a thousand of 8 MB each, compressed, fit into a few megabytes.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
#endif
    png_read_info(png_, info_);
    stored_row_bytes_ = png_get_rowbytes(png_, info_);
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    else if (png_get_bit_depth(png_, info_) < 8) png_set_expand_gray_1_2_4_to_8(png_);
    if (png_get_bit_depth(png_, info_) == 16) png_set_scale_16(png_);
    png_set_strip_alpha(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  [[nodiscard]] DecodedExtents extents() const {
    return {png_get_image_height(png_, info_), png_get_image_width(png_, info_), png_get_channels(png_, info_)};
  }
  /// Most pixels that so many bytes can hold: deflate shrinks a byte to no less than 1/1032.
  [[nodiscard]] double most_pixels(std::size_t bytes) const {
    const auto width = static_cast<double>(png_get_image_width(png_, info_));
    return 1032.0 * static_cast<double>(bytes) * width / static_cast<double>(stored_row_bytes_);
  }

  /// Decodes to room for extents(); false where the image is damaged.
  [[nodiscard]] bool decode(std::uint8_t* to) {
    const DecodedExtents out = extents();
    const auto row_bytes = static_cast<std::size_t>(out.width * out.channels);
    if (png_get_rowbytes(png_, info_) != row_bytes) return false;
    if (setjmp(back_)) return false;
    for (int pass = 0; pass < passes_; ++pass)
      for (std::int64_t row = 0; row < out.height; ++row)
        png_read_row(png_, to + static_cast<std::size_t>(row) * row_bytes, nullptr);
    png_read_end(png_, nullptr);
    return true;
  }
  [[nodiscard]] const char* message() const { return message_; }
  [[nodiscard]] bool ran_out_of_memory() const { return ran_out_of_memory_; }

 private:
  [[noreturn]] static void jump_back(png_structp png, png_const_charp message) {
    auto& self = *static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::snprintf(self.message_, sizeof self.message_, "%s", message);
    self.ran_out_of_memory_ = std::strstr(message, "memory");  // libpng has no codes
    longjmp(self.back_, 1);
  }
  static void ignore(png_structp, png_const_charp) {}
  static void read(png_structp png, png_bytep to, std::size_t count) {
    auto& self = *static_cast<PngDecoder*>(png_get_io_ptr(png));
    if (count > self.bytes_.size()) png_error(png, "it ends early");
    std::memcpy(to, self.bytes_.data(), count);
    self.bytes_ = self.bytes_.from(count);
  }

  Span<const std::uint8_t> bytes_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf back_{};
  char message_[200] = "its header is incomplete";
  std::size_t stored_row_bytes_ = 1;
  int passes_ = 1;
  bool ran_out_of_memory_ = false;
};

#endif

}}}  // namespace locus::LOCUS_ABI::data::detail
