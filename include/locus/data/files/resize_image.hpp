#pragma once
// Resizing of images of bytes: bilinear, antialiased when the result is smaller.

#include <locus/core/size_2d.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/core/system/out_of_memory.hpp>
#include <locus/tensor/copy.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace data {

namespace detail {

/// Resizing along one dimension: for each element of the result, the contributing elements of the image and their
/// weights. Weights form a triangle as wide as two elements of the result, or two of the image, whichever are wider.
class ResizedAxis {
 public:
  /// Scales `extent` elements by `scale`, and keeps the middle `wanted` elements of the result.
  ResizedAxis(std::int64_t extent, double scale, std::int64_t wanted) {
    const double reach = scale < 1 ? 1 / scale : 1;
    const double skipped = (static_cast<double>(extent) * scale - static_cast<double>(wanted)) / 2;
    width_ = static_cast<std::int64_t>(2 * reach) + 2;
    first_ = locus::detail::vector_of<std::int64_t>(wanted, "resize", "positions");
    weights_ = locus::detail::vector_of<float>(wanted * width_, "resize", "weights");
    for (std::int64_t o = 0; o < wanted; ++o) {
      const double centre = (static_cast<double>(o) + skipped + 0.5) / scale - 0.5;
      const auto low = static_cast<std::int64_t>(__builtin_floor(centre - reach)) + 1;
      const std::int64_t first = locus::detail::within<std::int64_t>(low, 0, extent - 1);
      first_[static_cast<std::size_t>(o)] = first;
      float* const weights = weights_.data() + o * width_;
      double sum = 0;
      for (std::int64_t k = 0; k < width_; ++k) sum += weight(first + k, extent, centre, reach);
      if (sum > 0)
        for (std::int64_t k = 0; k < width_; ++k)
          weights[k] = static_cast<float>(weight(first + k, extent, centre, reach) / sum);
      else weights[0] = 1;
    }
  }

  /// Range [begin, end) of the elements of the image that the result needs.
  [[nodiscard]] std::int64_t begin() const { return first_.front(); }
  [[nodiscard]] std::int64_t end(std::int64_t extent) const {
    return locus::detail::smaller(first_.back() + width_, extent);
  }
  /// Element o of the result. `from` points to element number `skipped` of the image; elements are `stride` apart, and
  /// end before `extent`.
  template <class T>
  [[nodiscard]] float at(std::int64_t o, const T* from, std::int64_t stride, std::int64_t extent,
                         std::int64_t skipped = 0) const {
    const std::int64_t first = first_[static_cast<std::size_t>(o)];
    const std::int64_t count = locus::detail::smaller(width_, extent - first);
    const float* const weights = weights_.data() + o * width_;
    float sum = 0;
    for (std::int64_t k = 0; k < count; ++k)
      sum += weights[k] * static_cast<float>(from[(first - skipped + k) * stride]);
    return sum;
  }

 private:
  [[nodiscard]] static double weight(std::int64_t element, std::int64_t extent, double centre, double reach) {
    const double distance = __builtin_fabs(static_cast<double>(element) - centre);
    return element < extent && distance < reach ? 1 - distance / reach : 0;
  }

  std::int64_t width_ = 0;  ///< weights for each element of the result
  std::vector<std::int64_t> first_;
  std::vector<float> weights_;
};

/// throws ArgumentError for a size out of range
inline void require_resizable(const char* caller, const Size2d& size) {
  constexpr std::int64_t most = 1 << 20;
  if (size.height < 1 || size.width < 1 || size.height > most || size.width > most)
    fail<ArgumentError>({caller, ": a size of ", size, "; expected 1 to ", most, " each"});
}

/// resize_to_cover() with checked arguments.
[[nodiscard]] inline Tensor<std::uint8_t, Cpu> resized(const Tensor<std::uint8_t, Cpu>& image, const Size2d& size) {
  const std::int64_t channels = image.size(0), height = image.size(1), width = image.size(2);
  Tensor<std::uint8_t, Cpu> dense = image.contiguous();
  if (height == size.height && width == size.width) return dense;
  const double scale = locus::detail::larger(static_cast<double>(size.height) / static_cast<double>(height),
                                             static_cast<double>(size.width) / static_cast<double>(width));
  const ResizedAxis down(height, scale, size.height), right(width, scale, size.width);
  Tensor<std::uint8_t, Cpu> result({channels, size.height, size.width});
  const std::int64_t top = down.begin(), bottom = down.end(height);
  const Tensor<float, Cpu> rows({bottom - top, size.width});  // of one channel, scaled along their width
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t y = top; y < bottom; ++y)
      for (std::int64_t x = 0; x < size.width; ++x)
        rows.data()[(y - top) * size.width + x] = right.at(x, dense.data() + (c * height + y) * width, 1, width);
    for (std::int64_t y = 0; y < size.height; ++y)
      for (std::int64_t x = 0; x < size.width; ++x)
        result.data()[(c * size.height + y) * size.width + x] = static_cast<std::uint8_t>(
            locus::detail::within(down.at(y, rows.data() + x, size.width, bottom, top) + 0.5f, 0.f, 255.f));
  }
  return result;
}

}  // namespace detail

/// An image of bytes, (channels, height, width), scaled until it covers the size, in proportion, and cut to it around
/// the middle: bilinear and antialiased, as torchvision's Resize with CenterCrop of one square size. Same size: the
/// image itself. throws ShapeError for an image without pixels; ArgumentError for a size below 1 or above 2^20
///
///     auto square = data::resize_to_cover(data::read_image("cat.jpg"), 224);
[[nodiscard]] inline Tensor<std::uint8_t, Cpu> resize_to_cover(const Tensor<std::uint8_t, Cpu>& image,
                                                               const Size2d& size) {
  detail::require_resizable("resize_to_cover", size);
  if (image.rank() != 3 || image.elements() == 0)
    fail<ShapeError>(
        {"resize_to_cover: an image of shape ", image.shape(), "; expected (channels, height, width), none of them 0"});
  return locus::detail::or_out_of_memory({"resize_to_cover: out of memory for an image of ", size},
                                         [&] { return detail::resized(image, size); });
}

}}}  // namespace locus::LOCUS_ABI::data
