#pragma once
// Random parts of images, scaled to one size, as torchvision's RandomResizedCrop: data/transforms/compose.hpp runs it.

#include <locus/core/math.hpp>
#include <locus/data/transforms/resize.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// Two numbers between which one is drawn.
struct DrawnFrom {
  double low = 0, high = 0;
};
namespace detail {
/// throws ArgumentError unless least <= low <= high <= most
inline void require_range(const char* transform, const char* option, const DrawnFrom& range, double least,
                          double most) {
  if (!(range.low >= least && range.low <= range.high && range.high <= most))
    fail<ArgumentError>({transform, ": ", option, " is from ", range.low, " to ", range.high, "; expected ", least,
                         " to ", most, ", the smaller number first"});
}
/// A rectangle within an image.
struct ImagePart {
  PixelIndex top, left, height, width;
};
/// Height and width of a random share of an image's area, with a random ratio whose logarithm is uniform.
struct RandomArea {
  DrawnFrom scale, ratio;
  [[nodiscard]] LOCUS_FN ImagePart draw(std::uint32_t of_scale, std::uint32_t of_ratio, const ImageExtents& in) const {
    const double area = static_cast<double>(in.height) * static_cast<double>(in.width);
    const double wanted = area * between(of_scale, scale.low, scale.high);
    const double drawn = math::exp(between(of_ratio, math::log(ratio.low), math::log(ratio.high)));
    return {0, 0, rounded(math::sqrt(wanted / drawn)), rounded(math::sqrt(wanted * drawn))};
  }
  /// To the nearest number, halves to the even one.
  [[nodiscard]] LOCUS_FN static PixelIndex rounded(double x) {
    const auto below = static_cast<PixelIndex>(x);
    const double rest = x - static_cast<double>(below);
    return below + (rest > 0.5 || (rest == 0.5 && below % 2 != 0) ? 1 : 0);
  }
};
}  // namespace detail

struct RandomResizedCropOptions {
  DrawnFrom scale = {0.08, 1};               ///< the share of the image's area
  DrawnFrom ratio = {3.0 / 4.0, 4.0 / 3.0};  ///< width by height, before it is scaled
  Resampling resampling = Resampling::bilinear;
};

/// A random part of each image, scaled to this height and width, antialiased, as torchvision's: up to ten sizes are
/// drawn until one fits the image; then the largest part in the middle with an allowed ratio is taken.
/// cost: three launches, into the last of which the transforms after it are fused; one more if transforms stand before
///       it
/// throws ShapeError for images without pixels
///
///     data::compose(data::RandomResizedCrop{224}, data::RandomHorizontalFlip{},
///                   data::Normalize{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}})
class RandomResizedCrop {
 public:
  /// throws ArgumentError for a size below 1 or above 2^20, a scale outside 0 to 1, or a ratio outside 1/1000 to 1000
  explicit RandomResizedCrop(const Size2d& size, const RandomResizedCropOptions& options = {})
      : size_(size), options_(options) {
    detail::require_pixels("RandomResizedCrop", "height", size.height, 1);
    detail::require_pixels("RandomResizedCrop", "width", size.width, 1);
    detail::require_range("RandomResizedCrop", "scale", options.scale, 0, 1);
    detail::require_range("RandomResizedCrop", "ratio", options.ratio, 1e-3, 1e3);
  }

  template <class R>
  using Drawn = detail::ImagePart;
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const {
    if (in.height < 1 || in.width < 1)
      fail<ShapeError>({"RandomResizedCrop: images of ", in.height, " x ", in.width, "; expected at least one pixel"});
    return {in.channels, static_cast<PixelIndex>(size_.height), static_cast<PixelIndex>(size_.width)};
  }
  template <class R>
  [[nodiscard]] LOCUS_FN detail::ImagePart draw(const PhiloxBlock& random, const ImageExtents& in) const {
    const detail::RandomArea area{options_.scale, options_.ratio};
    for (std::uint64_t attempt = 0; attempt < 10; ++attempt) {
      const PhiloxBlock numbers = attempt == 0 ? random : detail::more_numbers(random, attempt);
      detail::ImagePart part = area.draw(numbers.x, numbers.y, in);
      if (part.width < 1 || part.width > in.width || part.height < 1 || part.height > in.height) continue;
      part.top = detail::pick(numbers.z, in.height - part.height + 1);
      part.left = detail::pick(numbers.w, in.width - part.width + 1);
      return part;
    }
    return middle_of(in);
  }
  template <class R>
  [[nodiscard]] LOCUS_FN detail::ScaledElement<R> row(const detail::ImagePart& part, const ImageExtents&,
                                                      PixelIndex y) const {
    return {options_.resampling, y, part.top, part.height, static_cast<PixelIndex>(size_.height)};
  }
  template <class R>
  [[nodiscard]] LOCUS_FN detail::ScaledElement<R> column(const detail::ImagePart& part, const ImageExtents&,
                                                         PixelIndex x) const {
    return {options_.resampling, x, part.left, part.width, static_cast<PixelIndex>(size_.width)};
  }
  [[nodiscard]] PixelIndex most_taps(const ImageExtents& in) const {
    return detail::ScaledElement<double>::most(options_.resampling, in.width, static_cast<PixelIndex>(size_.width));
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const detail::ImagePart& part, const ImageExtents& in, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    return detail::separable_pixel<R>(*this, read, part, in, c, y, x);
  }

 private:
  [[nodiscard]] LOCUS_FN detail::ImagePart middle_of(const ImageExtents& in) const {
    const double height = in.height, width = in.width, ratio = width / height;
    detail::ImagePart part{0, 0, in.height, in.width};
    if (ratio < options_.ratio.low) part.height = detail::RandomArea::rounded(width / options_.ratio.low);
    else if (ratio > options_.ratio.high) part.width = detail::RandomArea::rounded(height * options_.ratio.high);
    part.height = part.height < 1 ? 1 : part.height > in.height ? in.height : part.height;
    part.width = part.width < 1 ? 1 : part.width > in.width ? in.width : part.width;
    part.top = (in.height - part.height) / 2;
    part.left = (in.width - part.width) / 2;
    return part;
  }
  Size2d size_;
  RandomResizedCropOptions options_;
};

}}}  // namespace locus::LOCUS_ABI::data
