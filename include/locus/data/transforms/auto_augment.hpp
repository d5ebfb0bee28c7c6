#pragma once
// Random operations of a fixed list, as torchvision's RandAugment and TrivialAugmentWide: data/transforms/compose.hpp
// runs them. locus.hpp leaves them out.

#include <locus/data/transforms/color.hpp>
#include <locus/data/transforms/compose.hpp>
#include <locus/data/transforms/geometric.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

struct AugmentOptions {
  Interpolation interpolation = Interpolation::nearest;  ///< of moved images
  double fill = 0;                                       ///< value of pixels that come from outside
};

namespace detail {
/// The operations, in torchvision's order.
enum class Augmentation : std::uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  auto_contrast,
  equalize
};
inline constexpr int augmentations = 14;

/// Strength of each operation at the highest magnitude.
struct AugmentationSpace {
  double shear, translate_x, translate_y;  ///< translations: shares of the extents, or, above 1, pixels
  double rotate, factor;
  int bits;  ///< that posterize loses
};

template <class R>
struct DrawnAugmentation {
  Augmentation kind = Augmentation::identity;
  R magnitude = 0;  ///< factor, levels or threshold
  R mean = 0;       ///< of the grey
  PixelMap<R> map = unmoved<R>();
  ChannelRanges<R> ranges{};
  Equalized table{};
};

/// An operation of `kind` with a magnitude of torchvision's units.
template <class R>
[[nodiscard]] LOCUS_FN DrawnAugmentation<R> augmentation(Augmentation kind, double magnitude, const ImageExtents& in) {
  DrawnAugmentation<R> drawn{.kind = kind, .magnitude = static_cast<R>(magnitude)};
  AffineChange change{};
  switch (kind) {
    // Around the corner: the middle moves by half the extent.
    case Augmentation::shear_x:
      drawn.map.of_x[1] = drawn.magnitude, drawn.map.of_x[2] = static_cast<R>(magnitude * 0.5 * in.height);
      break;
    case Augmentation::shear_y:
      drawn.map.of_y[0] = drawn.magnitude, drawn.map.of_y[2] = static_cast<R>(magnitude * 0.5 * in.width);
      break;
    case Augmentation::translate_x: change.right = static_cast<PixelIndex>(magnitude); break;
    case Augmentation::translate_y: change.down = static_cast<PixelIndex>(magnitude); break;
    case Augmentation::rotate: change.angle = -magnitude; break;
    case Augmentation::brightness:
    case Augmentation::color:
    case Augmentation::contrast:
    case Augmentation::sharpness: drawn.magnitude = static_cast<R>(1 + magnitude); break;
    case Augmentation::posterize: drawn.magnitude = static_cast<R>(1 << static_cast<int>(magnitude)); break;
    default: break;
  }
  if (kind >= Augmentation::translate_x && kind <= Augmentation::rotate) drawn.map = change.inverse<R>();
  return drawn;
}

/// One random operation.
class RandomOperation {
 public:
  static constexpr bool observes = true, rereads = true;
  /// magnitude: of `bins`, or below 0 a random one
  RandomOperation(const char* name, const AugmentationSpace& space, int magnitude, int bins,
                  const AugmentOptions& options)
      : name_(name), space_(space), magnitude_(magnitude), bins_(bins), options_(options) {
    if (bins < 2 || bins > 1000) fail<ArgumentError>({name, ": num_magnitude_bins is ", bins, "; expected 2 to 1000"});
    if (magnitude >= bins) fail<ArgumentError>({name, ": magnitude is ", magnitude, "; expected 0 to ", bins - 1});
    locus::detail::require_finite(name, "fill", options.fill);
  }

  template <class R>
  using Drawn = DrawnAugmentation<R>;
  /// throws ShapeError for images with other than one or three channels
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const { return require_colours(name_, in); }
  template <class R>
  [[nodiscard]] LOCUS_FN Drawn<R> draw(const PhiloxBlock& random, const ImageExtents& in) const {
    const auto kind = static_cast<Augmentation>(pick(random.x, augmentations));
    const double bin = magnitude_ >= 0 ? magnitude_ : pick(random.y, bins_), share = bin / (bins_ - 1);
    const bool is_signed = kind >= Augmentation::shear_x && kind <= Augmentation::sharpness;
    const double sign = is_signed && random.z < 0x80000000u ? -1 : 1;
    return augmentation<R>(kind, sign * strength(kind, share, in), in);
  }
  template <class R, class Team, class Read>
  LOCUS_FN void observe(Team& team, const Read& read, Drawn<R>& drawn, const ImageExtents& in) const {
    if (drawn.kind == Augmentation::contrast)
      drawn.mean =
          mean_over<R>(team, in, [=](PixelIndex y, PixelIndex x) LOCUS_INLINED { return grey_of<R>(read, in, y, x); });
    if (drawn.kind == Augmentation::auto_contrast) drawn.ranges.observe(team, read, in);
    if (drawn.kind == Augmentation::equalize) drawn.table.template observe<R>(team, read, in);
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const Drawn<R>& drawn, const ImageExtents& in, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    if (drawn.kind >= Augmentation::shear_x && drawn.kind <= Augmentation::rotate)
      return pixel_at(read, in, c, drawn.map(in, y, x), options_.interpolation, static_cast<R>(options_.fill));
    if (drawn.kind == Augmentation::sharpness) return sharpened(read, in, c, y, x, drawn.magnitude);
    const R value = read(c, y, x);
    switch (drawn.kind) {
      case Augmentation::brightness: return within_unit(value * drawn.magnitude);
      case Augmentation::color: return blended(value, grey_of<R>(read, in, y, x), drawn.magnitude);
      case Augmentation::contrast: return blended(value, drawn.mean, drawn.magnitude);
      case Augmentation::posterize: return posterized(value, drawn.magnitude);
      case Augmentation::solarize: return value >= drawn.magnitude ? R(1) - value : value;
      case Augmentation::auto_contrast: return drawn.ranges(value, c);
      case Augmentation::equalize: return drawn.table(value, c);
      default: return value;
    }
  }

 private:
  [[nodiscard]] LOCUS_FN double strength(Augmentation kind, double share, const ImageExtents& in) const {
    switch (kind) {
      case Augmentation::shear_x:
      case Augmentation::shear_y: return share * space_.shear;
      case Augmentation::translate_x: return share * space_.translate_x * (space_.translate_x > 1 ? 1 : in.width);
      case Augmentation::translate_y: return share * space_.translate_y * (space_.translate_y > 1 ? 1 : in.height);
      case Augmentation::rotate: return share * space_.rotate;
      case Augmentation::posterize: return RandomArea::rounded(8 - share * space_.bits);
      case Augmentation::solarize: return 1 - share;
      default: return share * space_.factor;
    }
  }
  const char* name_;
  AugmentationSpace space_;
  int magnitude_, bins_;
  AugmentOptions options_;
};

template <class Operation, int... i>
[[nodiscard]] auto repeated(const Operation& operation, std::integer_sequence<int, i...>) {
  const auto same = [&](int) { return operation; };
  return compose(same(i)...);
}
}  // namespace detail

struct RandAugmentOptions {
  int magnitude = 9;  ///< of the bins
  int num_magnitude_bins = 31;
  AugmentOptions images = {};
};
/// `operations` random operations of fourteen, one after another, with one magnitude for all (Cubuk et al., 2020):
/// moves, colours, sharpness, contrast. Images hold numbers in [0, 1]: place it before Normalize. A composition, for
/// compose().
/// cost: a launch for each operation, and one for transforms before them; a GPU reads an equalized image 256 times
/// throws ArgumentError for a magnitude that is none of the bins
///
///     data::compose(data::RandomResizedCrop{224}, data::rand_augment(), data::Normalize{0.5, 0.25})
template <int operations = 2>
  requires(operations > 0 && operations < 17)
[[nodiscard]] auto rand_augment(const RandAugmentOptions& options = {}) {
  constexpr detail::AugmentationSpace space{0.3, 150.0 / 331.0, 150.0 / 331.0, 30, 0.9, 4};
  if (options.magnitude < 0)
    fail<ArgumentError>({"rand_augment: magnitude is ", options.magnitude, "; expected 0 or more"});
  const detail::RandomOperation operation("rand_augment", space, options.magnitude, options.num_magnitude_bins,
                                          options.images);
  return detail::repeated(operation, std::make_integer_sequence<int, operations>{});
}

struct TrivialAugmentWideOptions {
  int num_magnitude_bins = 31;
  AugmentOptions images = {};
};
/// One random operation of fourteen with a random magnitude (Mueller and Hutter, 2021), up to strong ones. Images hold
/// numbers in [0, 1]: place it before Normalize. A composition, for compose(). cost: as rand_augment<1>()
[[nodiscard]] inline auto trivial_augment_wide(const TrivialAugmentWideOptions& options = {}) {
  constexpr detail::AugmentationSpace space{0.99, 32, 32, 135, 0.99, 6};
  return compose(
      detail::RandomOperation("trivial_augment_wide", space, -1, options.num_magnitude_bins, options.images));
}

}}}  // namespace locus::LOCUS_ABI::data
