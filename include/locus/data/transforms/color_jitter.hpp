#pragma once
// Random changes of colours, as torchvision's ColorJitter: data/transforms/compose.hpp runs them.

#include <locus/data/transforms/transforms.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {
template <class R>
[[nodiscard]] LOCUS_FN R within_unit(R x) {
  return x < R(0) ? R(0) : x > R(1) ? R(1) : x;
}

/// Red, green and blue.
template <class R>
struct Rgb {
  R red, green, blue;
  [[nodiscard]] LOCUS_FN R operator[](PixelIndex c) const { return c == 0 ? red : c == 1 ? green : blue; }
  [[nodiscard]] LOCUS_FN R grey() const { return R(0.2989) * red + R(0.587) * green + R(0.114) * blue; }
};
/// Blend factor * value + (1 - factor) * other, clamped to [0, 1].
template <class R>
[[nodiscard]] LOCUS_FN R blended(R value, R other, R factor) {
  return within_unit(factor * value + (R(1) - factor) * other);
}
/// A channel of a colour whose hue is `sixths` sixths of the circle: `largest` less a share of the chroma that grows
/// with the distance from the channel's own hue. base: 5 for red, 3 for green, 1 for blue.
template <class R>
[[nodiscard]] LOCUS_FN R channel_of_hue(R largest, R chroma, R sixths, R base) {
  R k = base + sixths;  // in [-3, 13]
  k += k < R(0) ? R(6) : R(0);
  k -= k >= R(6) ? R(6) : R(0);
  k -= k >= R(6) ? R(6) : R(0);
  const R distance = k < R(4) - k ? k : R(4) - k;
  return largest - chroma * within_unit(distance);
}
/// The colour with its hue turned by a share of the circle in [-0.5, 0.5], of equal value and chroma.
template <class R>
[[nodiscard]] LOCUS_FN Rgb<R> hue_turned(const Rgb<R>& x, R by) {
  const R larger = x.green > x.blue ? x.green : x.blue, smaller = x.green > x.blue ? x.blue : x.green;
  const R largest = x.red > larger ? x.red : larger, chroma = largest - (x.red < smaller ? x.red : smaller);
  if (!(chroma > R(0))) return x;
  const R sixths = largest == x.red     ? (x.green - x.blue) / chroma
                   : largest == x.green ? R(2) + (x.blue - x.red) / chroma
                                        : R(4) + (x.red - x.green) / chroma;
  const R turned = sixths + R(6) * by;
  return {channel_of_hue(largest, chroma, turned, R(5)), channel_of_hue(largest, chroma, turned, R(3)),
          channel_of_hue(largest, chroma, turned, R(1))};
}

/// Permutation number 0 to 23 of four items: item (result >> 2 k & 3) is at place k.
[[nodiscard]] LOCUS_FN std::uint32_t order_of_four(std::uint32_t number) {
  std::uint32_t order = 0, left = 0x3210, things = 4;  // left: an item in each hexadecimal digit
  for (std::uint32_t place = 0; place < 4; ++place) {
    const std::uint32_t at = 4 * (number % things);
    number /= things--;
    order |= (left >> at & 3) << 2 * place;
    left = (left & ((1u << at) - 1)) | (left >> (at + 4) << at);
  }
  return order;
}
}  // namespace detail

struct ColorJitterOptions {
  double brightness = 0, contrast = 0, saturation = 0;  ///< a factor from max(0, 1 - x) to 1 + x is drawn of each
  double hue = 0;  ///< up to 0.5: hues are turned by a share of the circle from -x to x
};

/// Brightness, contrast, saturation and hue changed by random factors in random order, as torchvision does it. Images
/// hold numbers in [0, 1], and so do the results: place it before Normalize. Contrast blends with the mean of the
/// image's grey, saturation with the grey of the pixel; hues turn at constant value and chroma. Images with one channel
/// have neither saturation nor hue. throws ShapeError for images with other than one or three channels
class ColorJitter {
  enum : std::uint32_t { brightness, contrast, saturation, hue };

 public:
  /// throws ArgumentError for options that are negative or not finite, and a hue above 0.5
  explicit ColorJitter(const ColorJitterOptions& options) : options_(options) {
    locus::detail::require_not_negative("ColorJitter", "brightness", options.brightness);
    locus::detail::require_not_negative("ColorJitter", "contrast", options.contrast);
    locus::detail::require_not_negative("ColorJitter", "saturation", options.saturation);
    if (!(options.hue >= 0 && options.hue <= 0.5))
      fail<ArgumentError>({"ColorJitter: hue is ", options.hue, "; expected a number from 0 to 0.5"});
  }

  /// Factors, the turn of hues, and the order of the four changes; see order_of_four.
  template <class R>
  struct Drawn {
    R brightness, contrast, saturation, hue;
    std::uint32_t order;
    R mean;  ///< of averaged()
  };
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const {
    if (in.channels != 1 && in.channels != 3)
      fail<ShapeError>({"ColorJitter: images of ", in.channels, " channels; expected 3, red, green and blue, or 1"});
    return in;
  }
  /// The order uses the lowest bytes, on which the factors do not depend.
  template <class R>
  [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock& random, const ImageExtents&) const {
    const std::uint32_t bits = random.x << 24 | (random.y & 0xff) << 16 | (random.z & 0xff) << 8;
    const auto number = static_cast<std::uint32_t>(detail::pick(bits, 24));
    return {factor<R>(random.x, options_.brightness),
            factor<R>(random.y, options_.contrast),
            factor<R>(random.z, options_.saturation),
            static_cast<R>(options_.hue) * (R(2) * static_cast<R>(unit_float(random.w)) - R(1)),
            detail::order_of_four(number),
            R(0)};
  }
  [[nodiscard]] LOCUS_FN bool averages() const { return options_.contrast > 0; }
  /// Grey of a pixel after the changes before contrast; contrast needs its mean over the image.
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R averaged(const Read& read, const Drawn<R>& drawn, const ImageExtents& in, PixelIndex y,
                                    PixelIndex x) const {
    if (in.channels == 1) return changed_alone(read(0, y, x), drawn, true);
    return changed(detail::Rgb<R>{read(0, y, x), read(1, y, x), read(2, y, x)}, drawn, true).grey();
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents& in, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    const bool is_alone = in.channels == 1 || (options_.saturation == 0 && options_.hue == 0);
    if (is_alone) return changed_alone(read(c, y, x), drawn, false);
    return changed(detail::Rgb<R>{read(0, y, x), read(1, y, x), read(2, y, x)}, drawn, false)[c];
  }

 private:
  /// Exactly 1 where the option is 0.
  template <class R>
  [[nodiscard]] LOCUS_FN static R factor(std::uint32_t bits, double spread) {
    const R high = static_cast<R>(1 + spread), low = static_cast<R>(spread < 1 ? 1 - spread : 0);
    return low + (high - low) * static_cast<R>(unit_float(bits));
  }
  /// A channel after brightness and contrast, or after the changes before contrast.
  template <class R>
  [[nodiscard]] LOCUS_FN static R changed_alone(R value, const Drawn<R>& drawn, bool before_contrast) {
    for (std::uint32_t place = 0; place < 8; place += 2) {
      const std::uint32_t kind = drawn.order >> place & 3;
      if (kind == contrast && before_contrast) return value;
      if (kind == brightness && drawn.brightness != R(1)) value = detail::within_unit(value * drawn.brightness);
      if (kind == contrast && drawn.contrast != R(1)) value = detail::blended(value, drawn.mean, drawn.contrast);
    }
    return value;
  }
  /// A pixel after all changes, or after those before contrast.
  template <class R>
  [[nodiscard]] LOCUS_FN static detail::Rgb<R> changed(detail::Rgb<R> value, const Drawn<R>& drawn,
                                                       bool before_contrast) {
    for (std::uint32_t place = 0; place < 8; place += 2) {
      const std::uint32_t kind = drawn.order >> place & 3;
      if (kind == contrast && before_contrast) return value;
      if (kind == hue) {
        if (drawn.hue != R(0)) value = detail::hue_turned(value, drawn.hue);
        continue;
      }
      const R by = kind == brightness ? drawn.brightness : kind == contrast ? drawn.contrast : drawn.saturation;
      if (by == R(1)) continue;
      const R other = kind == brightness ? R(0) : kind == contrast ? drawn.mean : value.grey();
      value = {detail::blended(value.red, other, by), detail::blended(value.green, other, by),
               detail::blended(value.blue, other, by)};
    }
    return value;
  }
  ColorJitterOptions options_;
};

}}}  // namespace locus::LOCUS_ABI::data
