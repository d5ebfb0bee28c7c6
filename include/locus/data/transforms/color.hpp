#pragma once
// Changes of colours, as torchvision's Grayscale, RandomInvert, RandomPosterize, RandomSolarize, RandomAdjustSharpness,
// RandomAutocontrast and RandomEqualize: data/transforms/compose.hpp runs them. Images hold numbers in [0, 1].
// locus.hpp leaves them out.

#include <locus/data/transforms/chain.hpp>
#include <locus/data/transforms/color_jitter.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {
[[nodiscard]] LOCUS_FN bool happens(std::uint32_t bits, double probability) {
  return static_cast<double>(unit_float(bits)) < probability;
}
/// throws ShapeError for images with other than one or three channels
inline ImageExtents require_colours(const char* transform, const ImageExtents& in) {
  if (in.channels != 1 && in.channels != 3)
    fail<ShapeError>({transform, ": images of ", in.channels, " channels; expected 3, red, green and blue, or 1"});
  return in;
}
template <class R, class Read>
[[nodiscard]] LOCUS_FN R grey_of(const Read& read, const ImageExtents& in, PixelIndex y, PixelIndex x) {
  if (in.channels == 1) return read(0, y, x);
  return Rgb<R>{read(0, y, x), read(1, y, x), read(2, y, x)}.grey();
}
template <class R>
[[nodiscard]] LOCUS_FN R posterized(R x, R levels) {
  const R level = static_cast<R>(static_cast<PixelIndex>(within_unit(x) * levels));  // towards 0
  return (level < levels ? level : levels - R(1)) / levels;
}
/// A pixel that moves away from the mean of its neighbours, or towards it; those at the edges stay.
template <class R, class Read>
[[nodiscard]] LOCUS_FN R sharpened(const Read& read, const ImageExtents& in, PixelIndex c, PixelIndex y, PixelIndex x,
                                   R factor) {
  const R value = read(c, y, x);
  if (in.height <= 2 || in.width <= 2) return value;
  if (y == 0 || x == 0 || y == in.height - 1 || x == in.width - 1) return within_unit(value);
  R around = R(4) * value;
  for (PixelIndex i = y - 1; i <= y + 1; ++i)
    for (PixelIndex j = x - 1; j <= x + 1; ++j) around += read(c, i, j);
  return within_unit(value + (R(1) - factor) * (around / R(13) - value));
}

/// The range of each channel, as far as an image has it: stretched to [0, 1].
template <class R>
struct ChannelRanges {
  R low[3] = {}, scale[3] = {R(1), R(1), R(1)};
  template <class Team, class Read>
  LOCUS_FN void observe(Team& team, const Read& read, const ImageExtents& in) {
    for (PixelIndex c = 0; c < in.channels; ++c) {
      const R least =
          -largest_over<R>(team, in, [=](PixelIndex y, PixelIndex x) LOCUS_INLINED { return -read(c, y, x); });
      const R most = largest_over<R>(team, in, [=](PixelIndex y, PixelIndex x) LOCUS_INLINED { return read(c, y, x); });
      low[c] = most == least ? R(0) : least;
      scale[c] = most == least ? R(1) : most - least;
    }
  }
  [[nodiscard]] LOCUS_FN R operator()(R value, PixelIndex c) const { return within_unit((value - low[c]) / scale[c]); }
};

/// Pixels in 256 steps of which each channel has as many of each, as far as possible.
struct Equalized {
  std::uint8_t to[3][256] = {};
  template <class R>
  [[nodiscard]] LOCUS_FN static PixelIndex step_of(R x) {
    return static_cast<PixelIndex>(within_unit(x) * R(255.999));
  }
  template <class R, class Team, class Read>
  LOCUS_FN void observe(Team& team, const Read& read, const ImageExtents& in) {
    for (PixelIndex c = 0; c < in.channels; ++c) set<R>(team, read, in, c);
  }
  template <class R>
  [[nodiscard]] LOCUS_FN R operator()(R value, PixelIndex c) const {
    return static_cast<R>(to[c][step_of(value)]) / R(255);
  }

 private:
  /// Pillow's table: counts of the pixels below, divided by a 255th of the pixels below the highest step.
  template <class R, class Team, class Read>
  LOCUS_FN void set(Team& team, const Read& read, const ImageExtents& in, PixelIndex c) {
    const PixelIndex count = in.height * in.width;
    PixelIndex up_to[256] = {};
    count_steps(team, read, in, c, up_to);
    PixelIndex below_most = 0;
    for (PixelIndex k = 0; k < 256; ++k) below_most = up_to[k] < count ? up_to[k] : below_most;
    const PixelIndex step = below_most / 255;
    for (PixelIndex k = 0; k < 256; ++k) {
      const PixelIndex below = k > 0 ? up_to[k - 1] : 0;
      const PixelIndex level = step > 0 ? (below + step / 2) / step : k;
      to[c][k] = static_cast<std::uint8_t>(level > 255 ? 255 : level);
    }
  }
  /// The number of pixels up to each step.
  template <class Team, class Read>
  LOCUS_FN static void count_steps(Team& team, const Read& read, const ImageExtents& in, PixelIndex c,
                                   PixelIndex (&up_to)[256]) {
    if constexpr (IsOneThread<Team>) {
      for (PixelIndex y = 0; y < in.height; ++y)
        for (PixelIndex x = 0; x < in.width; ++x) ++up_to[step_of(read(c, y, x))];
      for (PixelIndex k = 1; k < 256; ++k) up_to[k] += up_to[k - 1];
    } else {
      const PixelIndex width = in.width, count = in.height * width;
      const auto columns = static_cast<PixelIndex>(team.cols());
      for (PixelIndex k = 0; k < 256; ++k)
        up_to[k] =
            static_cast<PixelIndex>(team.reduce(fold::Sum<std::int32_t>{}, [=](std::int64_t column) LOCUS_INLINED {
              std::int32_t part = 0;
              for (auto i = static_cast<PixelIndex>(column); i < count; i += columns)
                part += step_of(read(c, i / width, i % width)) <= k ? 1 : 0;
              return part;
            }));
    }
  }
};
}  // namespace detail

struct GrayscaleOptions {
  std::int64_t channels = 1;  ///< of the result, 1 or 3 equal ones
};
/// The grey of red, green and blue: 0.2989 r + 0.587 g + 0.114 b. Not random.
class Grayscale {
 public:
  /// throws ArgumentError unless there are 1 or 3 channels
  explicit Grayscale(const GrayscaleOptions& options = {}) : channels_(static_cast<PixelIndex>(options.channels)) {
    if (options.channels != 1 && options.channels != 3)
      fail<ArgumentError>({"Grayscale: ", options.channels, " channels; expected 1 or 3"});
  }
  template <class R>
  struct Drawn {};
  /// throws ShapeError for images with other than one or three channels
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const {
    return {channels_, detail::require_colours("Grayscale", in).height, in.width};
  }
  template <class R> [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock&, const ImageExtents&) const { return {}; }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>&, const ImageExtents& in, PixelIndex, PixelIndex y,
                                 PixelIndex x) const {
    return detail::grey_of<R>(read, in, y, x);
  }

 private:
  PixelIndex channels_;
};

struct RandomColorOptions {
  double probability = 0.5;
};
namespace detail {
/// Base of transforms of colours that happen with a probability.
class RandomColor {
 public:
  template <class R>
  struct Drawn {
    bool happens;
  };
  template <class R>
  [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock& random, const ImageExtents&) const {
    return {detail::happens(random.x, probability_)};
  }
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const { return in; }

 protected:
  RandomColor(const char* transform, double probability) : probability_(probability) {
    require_probability(transform, probability);
  }
  double probability_;
};
}  // namespace detail

/// Makes some images grey, in three equal channels; by default a tenth of them.
class RandomGrayscale : public detail::RandomColor {
 public:
  /// throws ArgumentError unless the probability is one, as the transforms below do
  explicit RandomGrayscale(const RandomColorOptions& options = {.probability = 0.1})
      : RandomColor("RandomGrayscale", options.probability) {}
  /// throws ShapeError for images with other than one or three channels
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const {
    return detail::require_colours("RandomGrayscale", in);
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents& in, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    return drawn.happens ? detail::grey_of<R>(read, in, y, x) : read(c, y, x);
  }
};

/// 1 - x, of some images.
class RandomInvert : public detail::RandomColor {
 public:
  explicit RandomInvert(const RandomColorOptions& options = {}) : RandomColor("RandomInvert", options.probability) {}
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents&, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    const R value = read(c, y, x);
    return drawn.happens ? R(1) - value : value;
  }
};

/// Keeps the upper `bits` bits of each pixel of some images: 2^bits levels.
class RandomPosterize : public detail::RandomColor {
 public:
  /// throws ArgumentError unless there are 1 to 8 bits
  explicit RandomPosterize(int bits, const RandomColorOptions& options = {})
      : RandomColor("RandomPosterize", options.probability), levels_(0) {
    if (bits < 1 || bits > 8) fail<ArgumentError>({"RandomPosterize: ", bits, " bits; expected 1 to 8"});
    levels_ = 1 << bits;
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents&, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    const R value = read(c, y, x);
    return drawn.happens ? detail::posterized(value, static_cast<R>(levels_)) : value;
  }

 private:
  int levels_;
};

/// 1 - x of the pixels from a threshold on, of some images.
class RandomSolarize : public detail::RandomColor {
 public:
  /// throws ArgumentError for a threshold that is not finite
  explicit RandomSolarize(double threshold, const RandomColorOptions& options = {})
      : RandomColor("RandomSolarize", options.probability), threshold_(threshold) {
    locus::detail::require_finite("RandomSolarize", "threshold", threshold);
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents&, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    const R value = read(c, y, x);
    return drawn.happens && value >= static_cast<R>(threshold_) ? R(1) - value : value;
  }

 private:
  double threshold_;
};

/// Makes some images sharper by a factor above 1, smoother by one below 1.
class RandomAdjustSharpness : public detail::RandomColor {
 public:
  static constexpr bool rereads = true;
  /// throws ArgumentError unless factor >= 0 and finite
  explicit RandomAdjustSharpness(double factor, const RandomColorOptions& options = {})
      : RandomColor("RandomAdjustSharpness", options.probability), factor_(factor) {
    locus::detail::require_not_negative("RandomAdjustSharpness", "factor", factor);
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents& in, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    return drawn.happens ? detail::sharpened(read, in, c, y, x, static_cast<R>(factor_)) : read(c, y, x);
  }

 private:
  double factor_;
};

/// Stretches each channel of some images to the range from 0 to 1.
class RandomAutocontrast : public detail::RandomColor {
 public:
  static constexpr bool observes = true, rereads = true;
  explicit RandomAutocontrast(const RandomColorOptions& options = {})
      : RandomColor("RandomAutocontrast", options.probability) {}
  template <class R>
  struct Drawn {
    bool happens;
    detail::ChannelRanges<R> ranges;
  };
  /// throws ShapeError for images with other than one or three channels
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const {
    return detail::require_colours("RandomAutocontrast", in);
  }
  template <class R>
  [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock& random, const ImageExtents&) const {
    return {detail::happens(random.x, probability_), {}};
  }
  template <class R, class Team, class Read>
  LOCUS_FN void observe(Team& team, const Read& read, Drawn<R>& drawn, const ImageExtents& in) const {
    if (drawn.happens) drawn.ranges.observe(team, read, in);
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents&, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    const R value = read(c, y, x);
    return drawn.happens ? drawn.ranges(value, c) : value;
  }
};

/// Spreads the pixels of each channel of some images evenly over 256 steps, by Pillow's formula.
/// cost: a GPU counts the pixels of each step by reading the image 256 times
class RandomEqualize : public detail::RandomColor {
 public:
  static constexpr bool observes = true, rereads = true;
  explicit RandomEqualize(const RandomColorOptions& options = {})
      : RandomColor("RandomEqualize", options.probability) {}
  template <class R>
  struct Drawn {
    bool happens;
    detail::Equalized table;
  };
  /// throws ShapeError for images with other than one or three channels
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const {
    return detail::require_colours("RandomEqualize", in);
  }
  template <class R>
  [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock& random, const ImageExtents&) const {
    return {detail::happens(random.x, probability_), {}};
  }
  template <class R, class Team, class Read>
  LOCUS_FN void observe(Team& team, const Read& read, Drawn<R>& drawn, const ImageExtents& in) const {
    if (drawn.happens) drawn.table.template observe<R>(team, read, in);
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents&, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    const R value = read(c, y, x);
    return drawn.happens ? drawn.table(value, c) : value;
  }
};

}}}  // namespace locus::LOCUS_ABI::data
