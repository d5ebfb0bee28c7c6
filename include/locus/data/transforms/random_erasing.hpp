#pragma once
// Erased rectangles, as torchvision's RandomErasing: data/transforms/compose.hpp runs it. locus.hpp leaves it out.

#include <locus/data/transforms/random_resized_crop.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

struct RandomErasingOptions {
  double probability = 0.5;
  DrawnFrom scale = {0.02, 0.33};  ///< the share of the image's area
  DrawnFrom ratio = {0.3, 3.3};    ///< height by width
  double value = 0;                ///< of erased pixels: after Normalize, 0 is the mean
  bool random_values = false;      ///< a standard normal number for each erased pixel instead
};

namespace detail {
/// A part that is erased, and the key of its random values.
struct ErasedPart : ImagePart {
  std::uint64_t key;
};
}  // namespace detail

/// Erases a random rectangle of some images (Zhong et al., 2020), as torchvision's: up to ten sizes are drawn until one
/// is smaller than the image; otherwise nothing is erased. Cutout erases squares.
class RandomErasing {
 public:
  /// throws ArgumentError for options out of range
  explicit RandomErasing(const RandomErasingOptions& options = {}) : options_(options) {
    detail::require_probability("RandomErasing", options.probability);
    detail::require_range("RandomErasing", "scale", options.scale, 0, 1);
    detail::require_range("RandomErasing", "ratio", options.ratio, 1e-3, 1e3);
    locus::detail::require_finite("RandomErasing", "value", options.value);
  }

  template <class R>
  using Drawn = detail::ErasedPart;
  [[nodiscard]] ImageExtents extents_of(const ImageExtents& in) const { return in; }
  template <class R>
  [[nodiscard]] LOCUS_FN detail::ErasedPart draw(const PhiloxBlock& random, const ImageExtents& in) const {
    const detail::RandomArea area{options_.scale, options_.ratio};
    const bool erases = static_cast<double>(unit_float(random.x)) < options_.probability;
    for (std::uint64_t attempt = 0; erases && attempt < 10; ++attempt) {
      const PhiloxBlock numbers = detail::more_numbers(random, attempt);
      const detail::ImagePart turned = area.draw(numbers.x, numbers.y, in);  // its ratio is of width by height
      detail::ErasedPart part{{0, 0, turned.width, turned.height}, key_of(random)};
      if (part.height >= in.height || part.width >= in.width) continue;
      part.top = detail::pick(numbers.z, in.height - part.height + 1);
      part.left = detail::pick(numbers.w, in.width - part.width + 1);
      return part;
    }
    return {};
  }
  template <class R, class Read>
  [[nodiscard]] LOCUS_FN R pixel(const Read& read, const detail::ErasedPart& part, const ImageExtents& in, PixelIndex c,
                                 PixelIndex y, PixelIndex x) const {
    const bool is_erased = y >= part.top && y < part.top + part.height && x >= part.left && x < part.left + part.width;
    if (!is_erased) return read(c, y, x);
    if (!options_.random_values) return static_cast<R>(options_.value);
    const std::int64_t number = (std::int64_t{c} * in.height + y) * in.width + x;
    return static_cast<R>(standard_normal(part.key, static_cast<std::uint64_t>(number)));
  }

 private:
  /// The key of the values, beside the numbers of more_numbers().
  [[nodiscard]] LOCUS_FN static std::uint64_t key_of(const PhiloxBlock& random) {
    return std::uint64_t{random.z} << 32 | random.w;
  }
  RandomErasingOptions options_;
};

}}}  // namespace locus::LOCUS_ABI::data
