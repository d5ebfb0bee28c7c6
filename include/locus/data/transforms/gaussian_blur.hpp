#pragma once
// Blurred images, as torchvision's GaussianBlur: data/transforms/compose.hpp runs it. locus.hpp leaves it out.

#include <locus/core/math.hpp>
#include <locus/data/transforms/random_resized_crop.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {
/// Weights of a Gaussian around one element of an axis. The image goes on beyond its edges as if mirrored there, so
/// that elements near an edge also have the weights of their mirror images.
template <class R>
struct BlurredElement {
  PixelIndex begin, end;
  PixelIndex element, half, last;
  R factor;  ///< -1 / (2 sigma^2)
  LOCUS_FN BlurredElement(PixelIndex at, PixelIndex reach, PixelIndex extent, R of_square)
      : begin(at > reach ? at - reach : 0),
        end(at + reach < extent ? at + reach + 1 : extent),
        element(at),
        half(reach),
        last(extent - 1),
        factor(of_square) {}
  [[nodiscard]] LOCUS_FN R weight(PixelIndex i) const {
    const R mirrored = i > 0 ? of(-i) : R(0), other = i < last ? of(2 * last - i) : R(0);
    return of(i) + mirrored + other;
  }

 private:
  [[nodiscard]] LOCUS_FN R of(PixelIndex i) const {
    const PixelIndex away = i - element;
    const auto x = static_cast<R>(away);
    return away >= -half && away <= half ? math::exp(x * x * factor) : R(0);
  }
};
}  // namespace detail

struct GaussianBlurOptions {
  DrawnFrom sigma = {0.1, 2};  ///< standard deviation, in pixels
};

/// Blurs each image by a Gaussian of a random width within a kernel of this odd height and width, one number or
/// {height, width}; beyond its edges, the image is mirrored. cost: three launches, and one for transforms before it;
/// transforms after it are fused throws ShapeError for images that are not larger than half of the kernel
class GaussianBlur {
 public:
  /// throws ArgumentError for an even size, and unless sigma is above 0
  explicit GaussianBlur(const Size2d& kernel_size, const GaussianBlurOptions& options = {})
      : size_(kernel_size), options_(options) {
    if (kernel_size.height % 2 != 1 || kernel_size.width % 2 != 1 || kernel_size.height < 1 || kernel_size.width < 1 ||
        kernel_size.height > 1023 || kernel_size.width > 1023)
      fail<ArgumentError>({"GaussianBlur: a kernel of ", kernel_size, "; expected odd numbers from 1 to 1023"});
    detail::require_range("GaussianBlur", "sigma", options.sigma, 1e-3, 1e3);
  }

  template <class R>
  struct Drawn {
    R factor;
  };
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const {
    if (in.height <= size_.height / 2 || in.width <= size_.width / 2)
      fail<ShapeError>({"GaussianBlur: images of ", in.height, " x ", in.width, " for a kernel of ", size_,
                        "; expected more than half of the kernel each way"});
    return in;
  }
  template <class R>
  [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock& random, const ImageExtents&) const {
    return of<R>(detail::between(random.x, options_.sigma.low, options_.sigma.high));
  }
  /// Of a given standard deviation.
  template <class R>
  [[nodiscard]] LOCUS_FN static Drawn<R> of(double sigma) {
    return {static_cast<R>(-0.5 / (sigma * sigma))};
  }
  template <class R>
  [[nodiscard]] LOCUS_FN detail::BlurredElement<R> row(const Drawn<R>& drawn, const ImageExtents& in,
                                                       PixelIndex y) const {
    return {y, static_cast<PixelIndex>(size_.height / 2), in.height, drawn.factor};
  }
  template <class R>
  [[nodiscard]] LOCUS_FN detail::BlurredElement<R> column(const Drawn<R>& drawn, const ImageExtents& in,
                                                          PixelIndex x) const {
    return {x, static_cast<PixelIndex>(size_.width / 2), in.width, drawn.factor};
  }
  [[nodiscard]] PixelIndex most_taps(const ImageExtents&) const { return static_cast<PixelIndex>(size_.width); }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents& in, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    return detail::separable_pixel<R>(*this, read, drawn, in, c, y, x);
  }

 private:
  Size2d size_;
  GaussianBlurOptions options_;
};

}}}  // namespace locus::LOCUS_ABI::data
