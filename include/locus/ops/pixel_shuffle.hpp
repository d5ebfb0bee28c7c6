#pragma once
// Channels exchanged for pixels, and back, as torch.nn.functional.pixel_shuffle; channels in another order.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// Channels, rows and columns of images, and the images before them, as one dimension.
struct ShuffledImages {
  Shape shape;
  std::int64_t images = 1, channels, rows, cols, factor;

  /// throws ShapeError for fewer than three dimensions, ArgumentError for a factor below 1
  LOCUS_OUT_OF_LINE ShuffledImages(const char* caller, const Shape& given, std::int64_t by) : shape(given), factor(by) {
    if (shape.rank() < 3)
      fail<ShapeError>({caller, ": the images have shape ", shape, "; expected (..., channels, rows, cols)"});
    if (factor < 1) fail<ArgumentError>({caller, ": the factor is ", factor, "; expected 1 or more"});
    for (int d = 0; d < shape.rank() - 3; ++d) images *= shape[d];
    channels = shape[-3], rows = shape[-2], cols = shape[-1];
  }
  /// The shape of images with other channels, rows and columns.
  [[nodiscard]] Shape with(std::int64_t c, std::int64_t h, std::int64_t w) const {
    Shape result = shape;
    result[-3] = c, result[-2] = h, result[-1] = w;
    return result;
  }
};
}  // namespace detail

/// Images of more pixels from images of more channels: channel c factor^2 + i factor + j becomes pixel (i, j) of each
/// block of factor x factor pixels of channel c (Shi et al., 2016).
/// shape: (..., c factor^2, h, w) -> (..., c, h factor, w factor)     gradient: pixel_unshuffle(g)
/// cost:  one launch; backward one
/// throws ShapeError unless factor^2 divides the channels; ArgumentError for a factor below 1
template <detail::Viewable X>
[[nodiscard]] auto pixel_shuffle(const X& x, std::int64_t factor) {
  const detail::ShuffledImages of("pixel_shuffle", x.shape(), factor);
  if (of.channels / factor % factor != 0 || of.channels % factor != 0)
    fail<ShapeError>({"pixel_shuffle: ", of.channels, " channels of shape ", of.shape, "; expected a multiple of ",
                      factor, " * ", factor});
  const std::int64_t c = of.channels / factor / factor;
  const auto blocks = reshape(x, {of.images, c, factor, factor, of.rows, of.cols});
  return reshape(permute(blocks, {0, 1, 4, 2, 5, 3}), of.with(c, of.rows * factor, of.cols * factor));
}

/// The inverse of pixel_shuffle.
/// shape: (..., c, h factor, w factor) -> (..., c factor^2, h, w)     gradient: pixel_shuffle(g)     cost: as its
/// inverse throws ShapeError unless the factor divides rows and columns; ArgumentError for a factor below 1
template <detail::Viewable X>
[[nodiscard]] auto pixel_unshuffle(const X& x, std::int64_t factor) {
  const detail::ShuffledImages of("pixel_unshuffle", x.shape(), factor);
  if (of.rows % factor != 0 || of.cols % factor != 0)
    fail<ShapeError>(
        {"pixel_unshuffle: images of shape ", of.shape, "; expected rows and columns that are multiples of ", factor});
  const std::int64_t h = of.rows / factor, w = of.cols / factor;
  const auto blocks = reshape(x, {of.images, of.channels, h, factor, w, factor});
  return reshape(permute(blocks, {0, 1, 3, 5, 2, 4}), of.with(of.channels * factor * factor, h, w));
}

/// Channels of several groups in turns: channel g n + i, of n in group g, becomes channel i groups + g (Zhang et al.,
/// 2017).
/// shape: as x, (batch, channels, ...)     gradient: channel_shuffle(g, channels / groups)
/// cost:  one launch; backward one
/// throws ShapeError for fewer than two dimensions, and unless the groups divide the channels; ArgumentError for groups
/// below 1
template <detail::Viewable X>
[[nodiscard]] auto channel_shuffle(const X& x, std::int64_t groups) {
  const Shape shape = x.shape();
  if (groups < 1) fail<ArgumentError>({"channel_shuffle: ", groups, " groups; expected 1 or more"});
  if (shape.rank() < 2 || shape[1] % groups != 0)
    fail<ShapeError>({"channel_shuffle: ", groups, " groups of an input of shape ", shape,
                      "; expected (batch, channels, ...), and a number that divides the channels"});
  std::int64_t elements = 1;
  for (int d = 2; d < shape.rank(); ++d) elements *= shape[d];
  const auto parts = reshape(x, {shape[0], groups, shape[1] / groups, elements});
  return reshape(permute(parts, {0, 2, 1, 3}), shape);
}

#include <locus/refuse/ops/pixel_shuffle.inc>

}}  // namespace locus::LOCUS_ABI
