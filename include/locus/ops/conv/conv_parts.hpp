#pragma once
// The windows of a convolution in parts, whose columns fit a bound.

#include <locus/core/std/bounds.hpp>
#include <locus/ops/conv/conv_rows.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Windows in parts of nearly equal size, whose columns have at most so many elements, or one window.
class ConvParts {
 public:
  /// per_window: elements that a window needs
  ConvParts(const ConvShape& shape, std::int64_t per_window, std::int64_t most) : batch_(shape.batch) {
    std::int64_t left = larger(most / larger(per_window, std::int64_t{1}), std::int64_t{1});
    for (int d = 2; d >= 0; --d) {
      outputs_[d] = shape.axis[d].outputs;
      extent_[d] = equal_part(outputs_[d], left);
      left = extent_[d] < outputs_[d] ? 1 : left / extent_[d];
      per_image_ *= pieces(d);
    }
    images_ = equal_part(batch_, left);
  }
  /// Calls f(part, is_first of its images) for each.
  template <class F>
  void for_each(const F& f) const {
    for (std::int64_t image = 0; image < batch_; image += images_) {
      for (std::int64_t i = 0; i < per_image_; ++i) {
        ConvPart part{image, smaller(images_, batch_ - image)};
        std::int64_t rest = i;
        for (int d = 2; d >= 0; --d, rest /= pieces(d + 1)) {
          part.first[d] = static_cast<ConvIndex>(rest % pieces(d) * extent_[d]);
          part.end[d] = static_cast<ConvIndex>(smaller(part.first[d] + extent_[d], outputs_[d]));
        }
        f(part, i == 0);
      }
    }
  }
  [[nodiscard]] std::int64_t count() const { return ((batch_ - 1) / images_ + 1) * per_image_; }
  /// The windows of the largest part, over all its images.
  [[nodiscard]] std::int64_t most_windows() const { return images_ * extent_[0] * extent_[1] * extent_[2]; }

 private:
  [[nodiscard]] std::int64_t pieces(int d) const { return (outputs_[d] - 1) / extent_[d] + 1; }

  std::int64_t batch_, outputs_[3], extent_[3], images_ = 1, per_image_ = 1;
};

}}}  // namespace locus::LOCUS_ABI::detail
