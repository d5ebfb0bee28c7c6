#pragma once
// Pooling layers, with PyTorch's arguments: kernel, stride (by default the kernel's), padding, options.

#include <locus/nn/activation.hpp>
#include <locus/ops/pool.hpp>

namespace locus::inline LOCUS_ABI::nn {

/// See locus::max_pool2d.
///
///     nn::Sequential model{nn::MaxPool2d{2}, nn::Flatten{}, nn::Linear<float, D>{196, 10}};
struct MaxPool2d final : Stateless<MaxPool2d> {
  Size2d kernel, stride, padding;
  MaxPool2dOptions options;
  /// throws ArgumentError
  explicit MaxPool2d(Size2d kernel_size, Size2d step = same_as_kernel, Size2d border = 0,
                     const MaxPool2dOptions& further = {})
      : kernel(kernel_size), stride(step), padding(border), options(further) {
    (void)locus::detail::max_pool2d(kernel, stride, padding, options);
  }
  [[nodiscard]] auto forward(const auto& x) const { return max_pool2d(x, kernel, stride, padding, options); }
};
/// See locus::max_pool1d.
struct MaxPool1d final : Stateless<MaxPool1d> {
  std::int64_t kernel, stride, padding;
  MaxPool1dOptions options;
  /// throws ArgumentError
  explicit MaxPool1d(std::int64_t kernel_size, std::int64_t step = same_as_kernel, std::int64_t border = 0,
                     const MaxPool1dOptions& further = {})
      : kernel(kernel_size), stride(step), padding(border), options(further) {
    (void)locus::detail::max_pool1d(kernel, stride, padding, options);
  }
  [[nodiscard]] auto forward(const auto& x) const { return max_pool1d(x, kernel, stride, padding, options); }
};
/// See locus::avg_pool2d.
struct AvgPool2d final : Stateless<AvgPool2d> {
  Size2d kernel, stride, padding;
  AvgPoolOptions options;
  /// throws ArgumentError
  explicit AvgPool2d(Size2d kernel_size, Size2d step = same_as_kernel, Size2d border = 0,
                     const AvgPoolOptions& further = {})
      : kernel(kernel_size), stride(step), padding(border), options(further) {
    (void)locus::detail::avg_pool2d(kernel, stride, padding, options);
  }
  [[nodiscard]] auto forward(const auto& x) const { return avg_pool2d(x, kernel, stride, padding, options); }
};
/// See locus::avg_pool1d.
struct AvgPool1d final : Stateless<AvgPool1d> {
  std::int64_t kernel, stride, padding;
  AvgPoolOptions options;
  /// throws ArgumentError
  explicit AvgPool1d(std::int64_t kernel_size, std::int64_t step = same_as_kernel, std::int64_t border = 0,
                     const AvgPoolOptions& further = {})
      : kernel(kernel_size), stride(step), padding(border), options(further) {
    (void)locus::detail::avg_pool1d(kernel, stride, padding, options);
  }
  [[nodiscard]] auto forward(const auto& x) const { return avg_pool1d(x, kernel, stride, padding, options); }
};
/// See locus::adaptive_avg_pool2d.
struct AdaptiveAvgPool2d final : Stateless<AdaptiveAvgPool2d> {
  Size2d size;
  /// throws ArgumentError
  explicit AdaptiveAvgPool2d(Size2d wanted) : size(locus::detail::require_adaptive_size(wanted)) {}
  [[nodiscard]] auto forward(const auto& x) const { return adaptive_avg_pool2d(x, size); }
};

}  // namespace locus::inline LOCUS_ABI::nn
