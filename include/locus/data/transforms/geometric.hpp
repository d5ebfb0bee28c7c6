#pragma once
// Parts and movements of images, as torchvision's CenterCrop, RandomRotation, RandomAffine and RandomPerspective:
// data/transforms/compose.hpp runs them. locus.hpp leaves them out.

#include <locus/core/math.hpp>
#include <locus/data/transforms/random_resized_crop.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// The part of this height and width in the middle of an image, one number or {height, width}; smaller images are
/// surrounded by zeros. Not random.
class CenterCrop {
 public:
  /// throws ArgumentError for a size below 1 or above 2^20
  explicit CenterCrop(const Size2d& size) : size_(size) {
    detail::require_pixels("CenterCrop", "height", size.height, 1);
    detail::require_pixels("CenterCrop", "width", size.width, 1);
  }

  template <class R>
  struct Drawn {
    PixelIndex down, right;  ///< where the part begins in the image
  };
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const {
    return {in.channels, static_cast<PixelIndex>(size_.height), static_cast<PixelIndex>(size_.width)};
  }
  template <class R>
  [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock&, const ImageExtents& in) const {
    return {begin(in.height, size_.height), begin(in.width, size_.width)};
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents& in, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    const PixelIndex row = y + drawn.down, column = x + drawn.right;
    const bool is_inside = row >= 0 && row < in.height && column >= 0 && column < in.width;
    return is_inside ? read(c, row, column) : R(0);
  }

 private:
  /// Half of the difference: to the nearest even number where the image is larger, as Python rounds.
  [[nodiscard]] LOCUS_FN static PixelIndex begin(PixelIndex extent, std::int64_t size) {
    const PixelIndex left = extent - static_cast<PixelIndex>(size);
    return left < 0 ? -(-left / 2) : left / 2 + (left % 4 == 3 ? 1 : 0);
  }
  Size2d size_;
};

/// How a moved image is read between pixels: the nearest pixel, or a mean of four.
enum class Interpolation : std::uint8_t { nearest, bilinear };

namespace detail {
/// Of a point of an image, in pixels.
template <class R>
struct Position {
  R down, right;
};
/// The image at a position between pixels; beyond the image there is `fill`.
template <class R, class Read>
[[nodiscard]] LOCUS_FN R pixel_at(const Read& read, const ImageExtents& in, PixelIndex c, const Position<R>& position,
                                  Interpolation by, R fill) {
  const auto within = [](R at, PixelIndex extent) LOCUS_INLINED {  // as far outside as matters, NaN included
    const R most = static_cast<R>(extent) + R(1);
    return at > R(-2) ? at < most ? at : most : R(-2);
  };
  const auto pixel = [&](PixelIndex row, PixelIndex column) LOCUS_INLINED {
    const bool is_inside = row >= 0 && row < in.height && column >= 0 && column < in.width;
    return is_inside ? read(c, row, column) : fill;
  };
  const auto below = [](R at) LOCUS_INLINED { return static_cast<PixelIndex>(at + R(4)) - 4; };
  const R down = within(position.down, in.height), right = within(position.right, in.width);
  if (by == Interpolation::nearest) {
    const auto nearest = [&below](R at) LOCUS_INLINED {  // halves to the even number
      const PixelIndex least = below(at);
      const R rest = at - static_cast<R>(least);
      return least + (rest > R(0.5) || (rest == R(0.5) && least % 2 != 0) ? 1 : 0);
    };
    return pixel(nearest(down), nearest(right));
  }
  const PixelIndex row = below(down), column = below(right);
  const R lower = down - static_cast<R>(row), later = right - static_cast<R>(column);
  const R upper = (R(1) - later) * pixel(row, column) + later * pixel(row, column + 1);
  const R under = (R(1) - later) * pixel(row + 1, column) + later * pixel(row + 1, column + 1);
  return (R(1) - lower) * upper + lower * under;
}

/// Where a pixel of the result comes from: a projective map of its centre, relative to the middle of the image.
template <class R>
struct PixelMap {
  R of_x[3], of_y[3], divisor[3];
  [[nodiscard]] LOCUS_FN Position<R> operator()(const ImageExtents& in, PixelIndex y, PixelIndex x) const {
    const R half = R(0.5), down = static_cast<R>(in.height) * half, right = static_cast<R>(in.width) * half;
    const R py = static_cast<R>(y) + half - down, px = static_cast<R>(x) + half - right;
    const auto along = [=](const R(&row)[3]) LOCUS_INLINED { return row[0] * px + row[1] * py + row[2]; };
    const R scale = along(divisor);
    return {along(of_y) / scale + down - half, along(of_x) / scale + right - half};
  }
};
/// Turns the image by `angle` degrees clockwise, scales it, shears it by degrees along both axes, and moves it.
struct AffineChange {
  double angle = 0, down = 0, right = 0, scale = 1, shear_x = 0, shear_y = 0;
  template <class R>
  [[nodiscard]] LOCUS_FN PixelMap<R> inverse() const {
    constexpr double degree = 3.141592653589793 / 180;
    const double turn = angle * degree, sx = shear_x * degree, sy = shear_y * degree;
    const double a = math::cos(turn - sy) / math::cos(sy), c = math::sin(turn - sy) / math::cos(sy);
    const double slope = math::sin(sx) / math::cos(sx);
    const double b = -a * slope - math::sin(turn), d = -c * slope + math::cos(turn);
    const double m[4] = {d / scale, -b / scale, -c / scale, a / scale};
    const auto number = [](double x) LOCUS_INLINED { return static_cast<R>(x); };
    return {{number(m[0]), number(m[1]), number(-m[0] * right - m[1] * down)},
            {number(m[2]), number(m[3]), number(-m[2] * right - m[3] * down)},
            {R(0), R(0), R(1)}};
  }
};
template <class R>
[[nodiscard]] LOCUS_FN PixelMap<R> unmoved() {
  return {{R(1), R(0), R(0)}, {R(0), R(1), R(0)}, {R(0), R(0), R(1)}};
}

/// Base of transforms that draw a map of pixels.
class MovesImages {
 public:
  template <class R>
  using Drawn = PixelMap<R>;
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const { return in; }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const PixelMap<R>& map, const ImageExtents& in, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    return pixel_at(read, in, c, map(in, y, x), interpolation_, static_cast<R>(fill_));
  }

 protected:
  MovesImages(const char* transform, Interpolation interpolation, double fill)
      : interpolation_(interpolation), fill_(fill) {
    locus::detail::require_finite(transform, "fill", fill);
  }

 private:
  Interpolation interpolation_;
  double fill_;
};
}  // namespace detail

struct RandomRotationOptions {
  Interpolation interpolation = Interpolation::nearest;
  double fill = 0;  ///< value of pixels that come from outside
};
/// Turns each image around its middle by a random number of degrees between two, counter-clockwise, or up to one number
/// either way. Its extents stay.
class RandomRotation : public detail::MovesImages {
 public:
  explicit RandomRotation(double degrees, const RandomRotationOptions& options = {})
      : RandomRotation(DrawnFrom{-degrees, degrees}, options) {}
  /// throws ArgumentError for degrees that are not finite, or a larger one first
  explicit RandomRotation(const DrawnFrom& degrees, const RandomRotationOptions& options = {})
      : MovesImages("RandomRotation", options.interpolation, options.fill), degrees_(degrees) {
    detail::require_range("RandomRotation", "degrees", degrees, -3600, 3600);
  }
  template <class R>
  [[nodiscard]] LOCUS_FN detail::PixelMap<R> draw(const PhiloxBlock& random, const ImageExtents&) const {
    const detail::AffineChange turn{.angle = -detail::between(random.x, degrees_.low, degrees_.high)};
    return turn.inverse<R>();
  }

 private:
  DrawnFrom degrees_;
};

struct RandomAffineOptions {
  DrawnFrom degrees = {0, 0};               ///< of a rotation, clockwise
  double translate_x = 0, translate_y = 0;  ///< up to these shares of width and height, either way
  DrawnFrom scale = {1, 1};
  DrawnFrom shear_x = {0, 0}, shear_y = {0, 0};  ///< in degrees
  Interpolation interpolation = Interpolation::nearest;
  double fill = 0;  ///< value of pixels that come from outside
};
/// Turns, moves, scales and shears each image around its middle, by random numbers, as torchvision's RandomAffine. Its
/// extents stay.
class RandomAffine : public detail::MovesImages {
 public:
  /// throws ArgumentError for options out of range
  explicit RandomAffine(const RandomAffineOptions& options)
      : MovesImages("RandomAffine", options.interpolation, options.fill), options_(options) {
    detail::require_range("RandomAffine", "degrees", options.degrees, -3600, 3600);
    for (const double share : {options.translate_x, options.translate_y})
      if (!(share >= 0 && share <= 1))
        fail<ArgumentError>({"RandomAffine: translate is ", share, "; expected a share from 0 to 1"});
    detail::require_range("RandomAffine", "scale", options.scale, 1e-3, 1e3);
    detail::require_range("RandomAffine", "shear_x", options.shear_x, -89, 89);
    detail::require_range("RandomAffine", "shear_y", options.shear_y, -89, 89);
  }
  template <class R>
  [[nodiscard]] LOCUS_FN detail::PixelMap<R> draw(const PhiloxBlock& random, const ImageExtents& in) const {
    const auto from = [](std::uint32_t bits, const DrawnFrom& range)
                          LOCUS_INLINED { return detail::between(bits, range.low, range.high); };
    const PhiloxBlock more = detail::more_numbers(random, 0);
    const double right = options_.translate_x * in.width, down = options_.translate_y * in.height;
    const detail::AffineChange change{.angle = from(random.x, options_.degrees),
                                      .down = math::round(detail::between(random.z, -down, down)),
                                      .right = math::round(detail::between(random.y, -right, right)),
                                      .scale = from(random.w, options_.scale),
                                      .shear_x = from(more.x, options_.shear_x),
                                      .shear_y = from(more.y, options_.shear_y)};
    return change.inverse<R>();
  }

 private:
  RandomAffineOptions options_;
};

struct RandomPerspectiveOptions {
  double distortion_scale = 0.5;  ///< share of half the width and height by which corners move inwards at most
  double probability = 0.5;
  Interpolation interpolation = Interpolation::bilinear;
  double fill = 0;  ///< value of pixels that come from outside
};
/// Shows some images in perspective: each corner moves to a random place nearby, inwards, as torchvision's.
class RandomPerspective : public detail::MovesImages {
 public:
  /// throws ArgumentError for options out of range
  explicit RandomPerspective(const RandomPerspectiveOptions& options = {})
      : MovesImages("RandomPerspective", options.interpolation, options.fill), options_(options) {
    if (!(options.distortion_scale >= 0 && options.distortion_scale < 1))
      fail<ArgumentError>(
          {"RandomPerspective: distortion_scale is ", options.distortion_scale, "; expected 0 or more, below 1"});
    detail::require_probability("RandomPerspective", options.probability);
  }
  template <class R>
  [[nodiscard]] LOCUS_FN detail::PixelMap<R> draw(const PhiloxBlock& random, const ImageExtents& in) const {
    const bool is_shown = static_cast<double>(unit_float(random.x)) < options_.probability;
    if (!is_shown || in.height < 2 || in.width < 2) return detail::unmoved<R>();
    const PixelIndex half_width = in.width / 2, half_height = in.height / 2;
    const auto right = static_cast<PixelIndex>(options_.distortion_scale * half_width);
    const auto down = static_cast<PixelIndex>(options_.distortion_scale * half_height);
    const PhiloxBlock a = detail::more_numbers(random, 0), b = detail::more_numbers(random, 1);
    const auto of = [](std::uint32_t bits, PixelIndex most)
                        LOCUS_INLINED { return static_cast<double>(detail::pick(bits, most + 1)); };
    const double last_x = in.width - 1, last_y = in.height - 1;
    const double xs[4] = {of(a.x, right), last_x - of(a.z, right), last_x - of(b.x, right), of(b.z, right)};
    const double ys[4] = {of(a.y, down), of(a.w, down), last_y - of(b.y, down), last_y - of(b.w, down)};
    return map_to<R>(xs, ys, in);
  }
  /// The map of an image whose corners, clockwise from the top left, move to these points.
  template <class R>
  [[nodiscard]] LOCUS_FN static detail::PixelMap<R> map_to(const double (&x)[4], const double (&y)[4],
                                                           const ImageExtents& in) {
    // The unit square to the points (Heckbert, 1989), inverted: adjugate of [a b c; d e f; g h 1].
    const double dx1 = x[1] - x[2], dx2 = x[3] - x[2], sx = x[0] - x[1] + x[2] - x[3];
    const double dy1 = y[1] - y[2], dy2 = y[3] - y[2], sy = y[0] - y[1] + y[2] - y[3], det = dx1 * dy2 - dx2 * dy1;
    const double g = (sx * dy2 - dx2 * sy) / det, h = (dx1 * sy - sx * dy1) / det;
    const double a = x[1] - x[0] + g * x[1], b = x[3] - x[0] + h * x[3], c = x[0];
    const double d = y[1] - y[0] + g * y[1], e = y[3] - y[0] + h * y[3], f = y[0];
    const double width = in.width - 1, height = in.height - 1;
    const double u[3] = {(e - f * h) * width, (c * h - b) * width, (b * f - c * e) * width};
    const double v[3] = {(f * g - d) * height, (a - c * g) * height, (c * d - a * f) * height};
    const double w[3] = {d * h - e * g, b * g - a * h, a * e - b * d};
    // Their arguments are pixels from the corner of the image, and PixelMap's from its middle.
    const double right = 0.5 * in.width, down = 0.5 * in.height;
    detail::PixelMap<R> map{};
    const auto set = [&](R(&row)[3], const double(&numbers)[3], double middle) LOCUS_INLINED {
      double moved[3];
      for (int k = 0; k < 3; ++k) moved[k] = numbers[k] - middle * w[k];
      row[0] = static_cast<R>(moved[0]), row[1] = static_cast<R>(moved[1]);
      row[2] = static_cast<R>(moved[2] + moved[0] * right + moved[1] * down);
    };
    set(map.of_x, u, right), set(map.of_y, v, down), set(map.divisor, w, 0);
    return map;
  }

 private:
  RandomPerspectiveOptions options_;
};

}}}  // namespace locus::LOCUS_ABI::data
