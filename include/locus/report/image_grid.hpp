#pragma once
// Images side by side, each with words below it, as one SVG file.

#include <locus/io/png.hpp>
#include <locus/report/plot_canvas.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace io {

/// An image with a caption and a note below it. A grid without any caption, or any note, has no line for it.
struct CaptionedImage {
  Tensor<std::uint8_t, Cpu> image;  ///< (channels, height, width), of one channel or three
  std::string caption = {};
  std::string note = {};  ///< below the caption, in another colour
};

struct ImageGridOptions {
  std::string title = {}, subtitle = {};
  std::int64_t columns = 8;
  std::int64_t size = 96;  ///< width of each image in the drawing
};

namespace detail {
[[nodiscard]] inline std::string base64(const std::string& bytes) {
  static constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i + k])) : 0u;
    };
    const unsigned bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (std::size_t k = 0; k < 4; ++k) text += i + k <= bytes.size() ? digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}
}  // namespace detail

/// The images in rows, as SVG; the pixels are part of it. Images of different extents are as wide as each other, and
/// rows as high as the highest image needs.
/// throws ArgumentError for no images, fewer than one column, or a size that is not 1 to 4,096; ShapeError for a tensor
/// that is no image
[[nodiscard]] inline std::string image_grid(const std::vector<CaptionedImage>& images,
                                            const ImageGridOptions& options = {}) {
  using plot::detail::Box;
  if (images.empty()) fail<ArgumentError>({"image_grid: there are no images; expected at least one"});
  if (options.columns < 1) fail<ArgumentError>({"image_grid: columns is ", options.columns, "; expected 1 or more"});
  if (options.size < 1 || options.size > 4096)
    fail<ArgumentError>({"image_grid: size is ", options.size, "; expected 1 to 4096"});
  const auto size = static_cast<double>(options.size);
  std::vector<std::string> files;
  double height = 0, captions = 0, notes = 0;
  for (const CaptionedImage& each : images) {
    files.push_back(encode_png(each.image));
    height = locus::detail::larger(
        height, size * static_cast<double>(each.image.size(1)) / static_cast<double>(each.image.size(2)));
    captions = each.caption.empty() ? captions : 16;
    notes = each.note.empty() ? notes : 15;
  }
  constexpr double side = 24, gap = 14;
  const auto count = static_cast<std::int64_t>(images.size());
  const std::int64_t columns = locus::detail::smaller(options.columns, count), rows = (count + columns - 1) / columns;
  const double head = options.title.empty() ? side : options.subtitle.empty() ? 60 : 82;
  const double row = height + captions + notes + gap;
  const double words = locus::detail::larger(plot::detail::text_width(options.title, 20),
                                             plot::detail::text_width(options.subtitle, 13));
  const double width = static_cast<double>(columns) * (size + gap) - gap;
  plot::detail::Canvas canvas(2 * side + locus::detail::larger(width, words),
                              head + static_cast<double>(rows) * row - gap + side, options.title);
  if (!options.title.empty()) canvas.label(side, 36, "title", options.title);
  if (!options.title.empty() && !options.subtitle.empty()) canvas.label(side, 58, "subtitle", options.subtitle);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const CaptionedImage& each = images[at];
    const std::int64_t line = i / columns;
    const double left = side + static_cast<double>(i - line * columns) * (size + gap);
    const double top = head + static_cast<double>(line) * row;
    const double own = size * static_cast<double>(each.image.size(1)) / static_cast<double>(each.image.size(2));
    canvas.image({left, top, size, own}, "data:image/png;base64," + detail::base64(files[at]),
                 join(each.caption, each.note.empty() ? "" : ", ", each.note));
    if (!each.caption.empty()) canvas.label(left, top + height + 14, "alarm", each.caption);
    if (!each.note.empty()) canvas.label(left, top + height + captions + 13, "quiet", each.note);
  }
  return canvas.finished();
}

/// Writes the grid to a file. throws as image_grid(); DataError if the file cannot be written
///
///     io::write_image_grid("mistakes.svg", {{image, "cat", "is a dog"}, ...}, {.title = "Mistakes"});
inline void write_image_grid(const std::string& path, const std::vector<CaptionedImage>& images,
                             const ImageGridOptions& options = {}) {
  write_file_atomically(path, image_grid(images, options));
}

}}}  // namespace locus::LOCUS_ABI::io
