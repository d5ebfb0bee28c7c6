#pragma once
// JPEG and PNG images that tests make. Needs LOCUS_JPEG and LOCUS_PNG.

#include <locus/data/files/image_file.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace locus_test {

using Pixels = std::vector<std::uint8_t>;

#if LOCUS_JPEG
struct JpegOptions {
  int components = 3;
  J_COLOR_SPACE space = JCS_RGB;
  bool progressive = false;
  int quality = 95;
};
/// Encodes pixels with interleaved components as a JPEG.
[[nodiscard]] inline std::string jpeg(const Pixels& pixels, unsigned width, unsigned height,
                                      const JpegOptions& options = {}) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = width;
  info.image_height = height;
  info.input_components = options.components;
  info.in_color_space = options.space;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, options.quality, TRUE);
  if (options.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < height) {
    JSAMPROW row = const_cast<std::uint8_t*>(pixels.data()) +
                   std::size_t{info.next_scanline} * width * static_cast<unsigned>(options.components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string text(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return text;
}
#endif

#if LOCUS_PNG
struct PngOptions {
  int type = PNG_COLOR_TYPE_RGB, depth = 8;
  bool interlaced = false;
  std::vector<png_color> palette = {};
};
/// Encodes stored rows of an image as a PNG.
[[nodiscard]] inline std::string png(const std::vector<Pixels>& rows, unsigned width, const PngOptions& options = {}) {
  std::string text;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &text,
      [](png_structp to, png_bytep bytes, std::size_t count) {
        static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<const char*>(bytes), count);
      },
      nullptr);
  png_set_IHDR(png, info, width, static_cast<unsigned>(rows.size()), options.depth, options.type,
               options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (!options.palette.empty())
    png_set_PLTE(png, info, options.palette.data(), static_cast<int>(options.palette.size()));
  png_write_info(png, info);
  std::vector<png_bytep> pointers;
  for (const auto& row : rows) pointers.push_back(const_cast<std::uint8_t*>(row.data()));
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return text;
}
#endif

[[nodiscard]] inline locus::Tensor<std::uint8_t, locus::Cpu> decoded(const std::string& text,
                                                                     const locus::data::ImageOptions& options = {}) {
  return locus::data::decode_image(
      locus::Span<const std::uint8_t>(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()), options);
}

}  // namespace locus_test
