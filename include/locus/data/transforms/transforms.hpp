#pragma once
// Transforms of images: normalization, and random crops, flips and erased squares, to train with. Random values of a
// sample are a function of that sample's random numbers; data/transforms/compose.hpp defines these numbers and runs
// transforms.

#include <locus/core/rng.hpp>
#include <locus/core/size_2d.hpp>
#include <locus/core/std/bounds.hpp>

#include <initializer_list>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// Extents and positions within an image, which has fewer than 2^30 elements.
using PixelIndex = std::int32_t;

struct ImageExtents {
  PixelIndex channels = 0, height = 0, width = 0;
};

namespace detail {
/// A number from 0 to n - 1, with a bias below n / 2^32.
[[nodiscard]] LOCUS_FN PixelIndex pick(std::uint32_t bits, PixelIndex n) {
  return static_cast<PixelIndex>(std::uint64_t{bits} * static_cast<std::uint32_t>(n) >> 32);
}
/// Four random numbers of a sample beside its own, for block 0, 1, ...
[[nodiscard]] LOCUS_FN PhiloxBlock more_numbers(const PhiloxBlock& random, std::uint64_t block) {
  return random_block(std::uint64_t{random.x} << 32 | random.y, block, std::uint64_t{random.z} << 32 | random.w);
}
/// A number from low to high.
[[nodiscard]] LOCUS_FN double between(std::uint32_t bits, double low, double high) {
  return low + (high - low) * static_cast<double>(unit_float(bits));
}
inline void require_probability(const char* transform, double given) {
  if (!(given >= 0 && given <= 1))
    fail<ArgumentError>({transform, ": probability is ", given, "; expected a number from 0 to 1"});
}
inline void require_pixels(const char* transform, const char* option, std::int64_t given, std::int64_t least) {
  constexpr std::int64_t most = 1 << 20;
  if (given < least || given > most)
    fail<ArgumentError>({transform, ": ", option, " is ", given, " pixels; expected ", least, " to ", most});
}
}  // namespace detail

/// A number for each channel, or one for all: {0.5, 0.4, 0.3}, or 0.5.
struct PerChannel {
  static constexpr int most_channels = 16;
  double values[most_channels] = {};
  int count = 0;
  /// throws ArgumentError for none, or more than 16
  PerChannel(std::initializer_list<double> list) : count(static_cast<int>(list.size())) {
    if (list.size() < 1 || list.size() > most_channels)
      fail<ArgumentError>({"Normalize: ", list.size(), " numbers; expected one for each channel, up to ", most_channels,
                           ", or one for all"});
    int i = 0;
    for (const double value : list) values[i++] = value;
  }
  PerChannel(double of_all) : PerChannel({of_all}) {}
};

/// (x - mean) / std, with numbers for each channel, or one for all. Not random.
///
///     data::Normalize{{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}}   // CIFAR-10
class Normalize {
 public:
  /// throws ArgumentError for numbers that are not finite, and a std of 0 or less
  Normalize(const PerChannel& mean, const PerChannel& std) : mean_(mean), std_(std) {
    for (int i = 0; i < mean.count; ++i) locus::detail::require_finite("Normalize", "a mean", mean.values[i]);
    for (int i = 0; i < std.count; ++i)
      if (!locus::detail::is_finite(std.values[i]) || !(std.values[i] > 0))
        fail<ArgumentError>({"Normalize: a std is ", std.values[i], "; expected a finite number above 0"});
  }

  template <class R>
  struct Drawn {};
  /// throws ShapeError unless there is a number for each channel
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const {
    for (const auto* moments : {&mean_, &std_})
      if (moments->count != 1 && moments->count != in.channels)
        fail<ShapeError>({"Normalize: ", moments->count, moments == &mean_ ? " means" : " stds", " for images of ",
                          in.channels, " channels; expected one for each, or one for all"});
    return in;
  }
  template <class R> [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock&, const ImageExtents&) const { return {}; }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>&, const ImageExtents&, PixelIndex c, PixelIndex y,
                                 PixelIndex x) const {
    return (read(c, y, x) - of<R>(mean_, c)) / of<R>(std_, c);
  }

 private:
  template <class R>
  [[nodiscard]] LOCUS_FN static R of(const PerChannel& moments, PixelIndex c) {
    return static_cast<R>(moments.values[moments.count == 1 ? 0 : c]);
  }
  PerChannel mean_, std_;
};

struct RandomCropOptions {
  Size2d size = 0;           ///< height and width of the result; 0: as of the images
  std::int64_t padding = 0;  ///< pixels added on each side before the crop
  double fill = 0;           ///< value of added pixels
};

/// Crops each image at a random place; a padding shifts images by up to `padding` pixels each way.
/// throws ShapeError where the crop is larger than an image with its padding
class RandomCrop {
 public:
  /// throws ArgumentError for a negative size or padding, or a fill that is not finite
  explicit RandomCrop(const RandomCropOptions& options) : options_(options) {
    detail::require_pixels("RandomCrop", "size", options.size.height, 0);
    detail::require_pixels("RandomCrop", "size", options.size.width, 0);
    detail::require_pixels("RandomCrop", "padding", options.padding, 0);
    locus::detail::require_finite("RandomCrop", "fill", options.fill);
  }

  template <class R>
  struct Drawn {
    PixelIndex down, right;  ///< where the part begins in the image
  };
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const {
    const ImageExtents out{in.channels, extent_of(options_.size.height, in.height),
                           extent_of(options_.size.width, in.width)};
    const std::int64_t border = 2 * options_.padding;
    if (out.height > in.height + border || out.width > in.width + border)
      fail<ShapeError>({"RandomCrop: parts of ", out.height, " x ", out.width, " from images of ", in.height, " x ",
                        in.width, " with a padding of ", options_.padding, "; expected at most ", in.height + border,
                        " x ", in.width + border});
    return out;
  }
  template <class R>
  [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock& random, const ImageExtents& in) const {
    const auto padding = static_cast<PixelIndex>(options_.padding);
    return {detail::pick(random.x, in.height + 2 * padding - extent_of(options_.size.height, in.height) + 1) - padding,
            detail::pick(random.y, in.width + 2 * padding - extent_of(options_.size.width, in.width) + 1) - padding};
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents& in, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    const PixelIndex row = y + drawn.down, column = x + drawn.right;
    const bool is_inside = row >= 0 && row < in.height && column >= 0 && column < in.width;
    return is_inside ? read(c, row, column) : static_cast<R>(options_.fill);
  }

 private:
  [[nodiscard]] LOCUS_FN static PixelIndex extent_of(std::int64_t wanted, PixelIndex of_image) {
    return wanted > 0 ? static_cast<PixelIndex>(wanted) : of_image;
  }
  RandomCropOptions options_;
};

struct RandomHorizontalFlipOptions {
  double probability = 0.5;
};

/// Mirrors images left to right, with the given probability.
class RandomHorizontalFlip {
 public:
  /// throws ArgumentError unless the probability is one
  explicit RandomHorizontalFlip(const RandomHorizontalFlipOptions& options = {}) : options_(options) {
    detail::require_probability("RandomHorizontalFlip", options.probability);
  }

  template <class R>
  struct Drawn {
    bool is_flipped;
  };
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const { return in; }
  template <class R>
  [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock& random, const ImageExtents&) const {
    return {static_cast<double>(unit_float(random.x)) < options_.probability};
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents& in, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    return read(c, y, drawn.is_flipped ? in.width - 1 - x : x);
  }

 private:
  RandomHorizontalFlipOptions options_;
};

/// Mirrors images top to bottom, with the given probability.
class RandomVerticalFlip {
 public:
  /// throws ArgumentError unless the probability is one
  explicit RandomVerticalFlip(const RandomHorizontalFlipOptions& options = {}) : options_(options) {
    detail::require_probability("RandomVerticalFlip", options.probability);
  }

  template <class R>
  struct Drawn {
    bool is_flipped;
  };
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const { return in; }
  template <class R>
  [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock& random, const ImageExtents&) const {
    return {static_cast<double>(unit_float(random.x)) < options_.probability};
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents& in, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    return read(c, drawn.is_flipped ? in.height - 1 - y : y, x);
  }

 private:
  RandomHorizontalFlipOptions options_;
};

struct CutoutOptions {
  std::int64_t size = 16;  ///< of the square's sides, in pixels
  double probability = 1;  ///< that an image loses a square
  double value = 0;        ///< of erased pixels: after Normalize, 0 is the mean
};

/// Erases a square of each image. Its centre is a random pixel, so that parts of it may lie outside (DeVries, Taylor:
/// Improved regularization of convolutional neural networks with cutout, 2017).
class Cutout {
 public:
  /// throws ArgumentError for options out of range
  explicit Cutout(const CutoutOptions& options = {}) : options_(options) {
    detail::require_pixels("Cutout", "size", options.size, 1);
    detail::require_probability("Cutout", options.probability);
    locus::detail::require_finite("Cutout", "value", options.value);
  }

  template <class R>
  struct Drawn {
    PixelIndex top, left, size;
  };
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const { return in; }
  template <class R>
  [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock& random, const ImageExtents& in) const {
    const bool is_cut = static_cast<double>(unit_float(random.x)) < options_.probability;
    const auto size = static_cast<PixelIndex>(options_.size);
    return {detail::pick(random.y, in.height) - size / 2, detail::pick(random.z, in.width) - size / 2,
            is_cut ? size : 0};
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents&, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    const bool is_cut = y >= drawn.top && y < drawn.top + drawn.size && x >= drawn.left && x < drawn.left + drawn.size;
    return is_cut ? static_cast<R>(options_.value) : read(c, y, x);
  }

 private:
  CutoutOptions options_;
};

}}}  // namespace locus::LOCUS_ABI::data
