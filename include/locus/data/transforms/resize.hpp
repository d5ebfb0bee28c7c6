#pragma once
// Images scaled, as torchvision's Resize: data/transforms/compose.hpp runs it.

#include <locus/data/transforms/passes.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// How an image is scaled: by weights that fall along a line, or along a cubic that is sharper. Both are antialiased
/// along a dimension that shrinks, as torchvision's antialias = True.
enum class Resampling : std::uint8_t { bilinear, bicubic };

namespace detail {
/// The elements of an axis that contribute to one element of the scaled axis: of elements [first, first + in), scaled
/// to `out`. Weights reach one element of the input, or of the result, whichever is wider; two if bicubic.
template <class R>
struct ScaledElement {
  R centre, width;
  PixelIndex begin, end;
  Resampling resampling;
  LOCUS_FN ScaledElement(Resampling by, PixelIndex element, PixelIndex first, PixelIndex in, PixelIndex out)
      : resampling(by) {
    const R scale = static_cast<R>(in) / static_cast<R>(out);
    centre = (static_cast<R>(element) + R(0.5)) * scale;
    width = scale > R(1) ? scale : R(1);
    const R reach = by == Resampling::bicubic ? R(2) * width : width;
    const auto low = static_cast<PixelIndex>(centre - reach + R(0.5));  // towards 0
    const auto high = static_cast<PixelIndex>(centre + reach + R(0.5));
    begin = first + (low > 0 ? low : 0);
    end = first + (high < in ? high : in);
    centre += static_cast<R>(first);
  }
  [[nodiscard]] LOCUS_FN R weight(PixelIndex i) const {
    const R away = (static_cast<R>(i) + R(0.5) - centre) / width, x = away < R(0) ? -away : away;
    if (resampling == Resampling::bilinear) return x < R(1) ? R(1) - x : R(0);
    const R near = (R(1.5) * x - R(2.5)) * x * x + R(1);  // of the cubic with slope -0.5 at 1
    const R far = ((R(-0.5) * x + R(2.5)) * x - R(4)) * x + R(2);
    return x < R(1) ? near : x < R(2) ? far : R(0);
  }
  /// Bounds the number of elements for an axis of `in` elements, or part of it.
  [[nodiscard]] static PixelIndex most(Resampling by, PixelIndex in, PixelIndex out) {
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    const double reach = (by == Resampling::bicubic ? 2 : 1) * (scale > 1 ? scale : 1);
    return static_cast<PixelIndex>(2 * reach) + 2;
  }
};
}  // namespace detail

struct ResizeOptions {
  Resampling resampling = Resampling::bilinear;
  /// The size is that of the shorter side, and the other keeps the proportions, as torchvision's Resize(n).
  bool shorter_side = false;
  std::int64_t max_size = 0;  ///< with shorter_side: of the longer side, for which the shorter one may shrink; 0: any
};

/// Images scaled to this height and width, one number or {height, width}: bilinear or bicubic, antialiased along a
/// dimension that shrinks, as torchvision's Resize((height, width)). Not random. Height and width are scaled
/// independently; with .shorter_side, one number scales both alike.
/// cost: three launches, into the last of which the transforms after it are fused; one more if transforms stand before
///       it
/// throws ShapeError for images without pixels
///
///     data::compose(data::Resize{224}, data::Normalize{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}})
///     data::compose(data::Resize{256, {.shorter_side = true}}, data::CenterCrop{224})
class Resize {
 public:
  /// throws ArgumentError for a size below 1 or above 2^20, two different sizes of a shorter side, or a max_size
  /// without a shorter side, or not above it
  explicit Resize(const Size2d& size, const ResizeOptions& options = {}) : size_(size), options_(options) {
    detail::require_pixels("Resize", "height", size.height, 1);
    detail::require_pixels("Resize", "width", size.width, 1);
    if (options.shorter_side && size.height != size.width)
      fail<ArgumentError>({"Resize: a shorter side of ", size, "; expected one number"});
    if (options.max_size != 0 && (!options.shorter_side || options.max_size <= size.height))
      fail<ArgumentError>({"Resize: max_size is ", options.max_size, " beside a size of ", size,
                           "; expected .shorter_side, and a max_size above the size"});
  }

  template <class R>
  struct Drawn {};
  /// throws ShapeError for images without pixels
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const {
    if (in.height < 1 || in.width < 1)
      fail<ShapeError>({"Resize: images of ", in.height, " x ", in.width, "; expected at least one pixel"});
    const auto [height, width] = size_for(in);
    return {in.channels, height, width};
  }
  template <class R> [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock&, const ImageExtents&) const { return {}; }
  template <class R>
  [[nodiscard]] LOCUS_FN detail::ScaledElement<R> row(const Drawn<R>&, const ImageExtents& in, PixelIndex y) const {
    return {options_.resampling, y, 0, in.height, size_for(in).height};
  }
  template <class R>
  [[nodiscard]] LOCUS_FN detail::ScaledElement<R> column(const Drawn<R>&, const ImageExtents& in, PixelIndex x) const {
    return {options_.resampling, x, 0, in.width, size_for(in).width};
  }
  [[nodiscard]] PixelIndex most_taps(const ImageExtents& in) const {
    return detail::ScaledElement<double>::most(options_.resampling, in.width, size_for(in).width);
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents& in, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    return detail::separable_pixel<R>(*this, read, drawn, in, c, y, x);
  }

 private:
  struct Sides {
    PixelIndex height, width;
  };
  [[nodiscard]] LOCUS_FN Sides size_for(const ImageExtents& in) const {
    if (!options_.shorter_side) return {static_cast<PixelIndex>(size_.height), static_cast<PixelIndex>(size_.width)};
    const bool is_tall = in.width <= in.height;
    const std::int64_t near = is_tall ? in.width : in.height, far = is_tall ? in.height : in.width;
    std::int64_t side = size_.height, other = side * far / near;
    if (options_.max_size > 0 && other > options_.max_size) {
      side = options_.max_size * side / other;
      other = options_.max_size;
    }
    const auto shorter = static_cast<PixelIndex>(side > 0 ? side : 1), longer = static_cast<PixelIndex>(other);
    return is_tall ? Sides{longer, shorter} : Sides{shorter, longer};
  }
  Size2d size_;
  ResizeOptions options_;
};

}}}  // namespace locus::LOCUS_ABI::data
