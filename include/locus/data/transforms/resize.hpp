#pragma once
// Images scaled to one size, as torchvision's Resize: data/transforms/compose.hpp runs it.

#include <locus/data/transforms/transforms.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {
/// The elements of an axis that contribute to one element of the scaled axis. Weights form a triangle around its centre
/// that reaches one element of the input, or of the result, whichever is wider.
template <class R>
struct ScaledElement {
  R centre, reach;
  PixelIndex begin, end;
  LOCUS_FN ScaledElement(PixelIndex element, PixelIndex in, PixelIndex out) {
    const R scale = static_cast<R>(in) / static_cast<R>(out);
    centre = (static_cast<R>(element) + R(0.5)) * scale;
    reach = scale > R(1) ? scale : R(1);
    const auto low = static_cast<PixelIndex>(centre - reach + R(0.5));  // towards 0
    const auto high = static_cast<PixelIndex>(centre + reach + R(0.5));
    begin = low > 0 ? low : 0;
    end = high < in ? high : in;
  }
  [[nodiscard]] LOCUS_FN R weight(PixelIndex i) const {
    const R distance = static_cast<R>(i) + R(0.5) - centre;
    const R weight = R(1) - (distance < R(0) ? -distance : distance) / reach;
    return weight > R(0) ? weight : R(0);
  }
};
}  // namespace detail

/// Images scaled to this height and width, one number or {height, width}: bilinear, antialiased along a dimension that
/// shrinks, as torchvision's Resize((height, width)). Not random. Height and width are scaled independently:
/// torchvision's Resize(n), which keeps the proportions, is the same for square images alone.
/// cost: a pixel reads about 4 ab pixels of the transform before, of an image that shrinks by a and b (at least 1
/// each);
///       place it before random changes
///
///     data::compose(data::Resize{224}, data::Normalize{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}})
class Resize {
 public:
  /// throws ArgumentError for a size below 1 or above 2^20
  explicit Resize(const Size2d& size) : size_(size) {
    detail::require_pixels("Resize", "height", size.height, 1);
    detail::require_pixels("Resize", "width", size.width, 1);
  }

  template <class R>
  struct Drawn {};
  /// throws ShapeError for images without pixels
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const {
    if (in.height < 1 || in.width < 1)
      fail<ShapeError>({"Resize: images of ", in.height, " x ", in.width, "; expected at least one pixel"});
    return {in.channels, static_cast<PixelIndex>(size_.height), static_cast<PixelIndex>(size_.width)};
  }
  template <class R> [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock&, const ImageExtents&) const { return {}; }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>&, const ImageExtents& in, PixelIndex c, PixelIndex y,
                                 PixelIndex x) const {
    const detail::ScaledElement<R> row(y, in.height, static_cast<PixelIndex>(size_.height)),
        column(x, in.width, static_cast<PixelIndex>(size_.width));
    R sum = 0, weights = 0;
    for (PixelIndex i = row.begin; i < row.end; ++i) {
      for (PixelIndex j = column.begin; j < column.end; ++j) {
        const R weight = row.weight(i) * column.weight(j);
        sum += weight * read(c, i, j);
        weights += weight;
      }
    }
    return sum / weights;
  }

 private:
  Size2d size_;
};

}}}  // namespace locus::LOCUS_ABI::data
