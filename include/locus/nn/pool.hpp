#pragma once
// Pooling layers, with PyTorch's arguments: kernel, stride (by default the kernel's), padding, options.
// A move of a network does not look for AdaptiveAvgPool1d.
// To move a network that holds such a layer, name it like a layer of your own.

#include <locus/nn/activation.hpp>
#include <locus/ops/pool.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

namespace detail {
/// Base of a layer that pools windows: it keeps the arguments and validates them by `check`, the operation's own.
template <class Derived, class Extent, class Options, auto check>
struct PoolLayer : Stateless<Derived> {
  Extent kernel, stride, padding;
  Options options;
  /// throws ArgumentError
  explicit PoolLayer(Extent kernel_size, Extent step = same_as_kernel, Extent border = 0, const Options& further = {})
      : kernel(kernel_size), stride(step), padding(border), options(further) {
    (void)check(kernel, stride, padding, options);
  }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(kernel, ", stride=", stride == Extent(same_as_kernel) ? kernel : stride,
                option_text("padding", padding, Extent(0)));
  }
};
}  // namespace detail

/// See locus::max_pool2d: constructed from its arguments after x, kept as fields: kernel, stride, padding, options.
/// throws ArgumentError
///
///     nn::Sequential model{nn::MaxPool2d{2}, nn::Flatten{}, nn::Linear<float, D>{196, 10}};
struct MaxPool2d final : detail::PoolLayer<MaxPool2d, Size2d, MaxPool2dOptions, &locus::detail::max_pool2d> {
  using PoolLayer::PoolLayer;
#include <locus/refuse/nn/max_pool2d_class.inc>
  [[nodiscard]] auto forward(const auto& x) const { return max_pool2d(x, kernel, stride, padding, options); }
  /// See locus::max_pool2d_with_indices, of ops/pool_indices.hpp.
  [[nodiscard]] auto with_indices(const auto& x) const {
    return max_pool2d_with_indices(x, kernel, stride, padding, options);
  }
};
/// See locus::max_pool1d: constructed from its arguments after x, kept as fields: kernel, stride, padding, options.
/// throws ArgumentError
struct MaxPool1d final : detail::PoolLayer<MaxPool1d, std::int64_t, MaxPool1dOptions, &locus::detail::max_pool1d> {
  using PoolLayer::PoolLayer;
#include <locus/refuse/nn/max_pool1d_class.inc>
  [[nodiscard]] auto forward(const auto& x) const { return max_pool1d(x, kernel, stride, padding, options); }
  /// See locus::max_pool1d_with_indices, of ops/pool_indices.hpp.
  [[nodiscard]] auto with_indices(const auto& x) const {
    return max_pool1d_with_indices(x, kernel, stride, padding, options);
  }
};
/// See locus::avg_pool2d: constructed from its arguments after x, kept as fields: kernel, stride, padding, options.
/// throws ArgumentError
struct AvgPool2d final : detail::PoolLayer<AvgPool2d, Size2d, AvgPoolOptions, &locus::detail::avg_pool2d> {
  using PoolLayer::PoolLayer;
#include <locus/refuse/nn/avg_pool2d_class.inc>
  [[nodiscard]] auto forward(const auto& x) const { return avg_pool2d(x, kernel, stride, padding, options); }
};
/// See locus::avg_pool1d: constructed from its arguments after x, kept as fields: kernel, stride, padding, options.
/// throws ArgumentError
struct AvgPool1d final : detail::PoolLayer<AvgPool1d, std::int64_t, AvgPoolOptions, &locus::detail::avg_pool1d> {
  using PoolLayer::PoolLayer;
#include <locus/refuse/nn/avg_pool1d_class.inc>
  [[nodiscard]] auto forward(const auto& x) const { return avg_pool1d(x, kernel, stride, padding, options); }
};
/// See locus::adaptive_avg_pool2d.
struct AdaptiveAvgPool2d final : Stateless<AdaptiveAvgPool2d> {
  Size2d size;
  /// throws ArgumentError
  explicit AdaptiveAvgPool2d(Size2d wanted) : size(wanted) { (void)locus::detail::adaptive_avg_pool2d(size); }
  [[nodiscard]] auto forward(const auto& x) const { return adaptive_avg_pool2d(x, size); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return to_string(size); }
};
/// See locus::adaptive_avg_pool1d.
struct AdaptiveAvgPool1d final : Stateless<AdaptiveAvgPool1d> {
  std::int64_t size;
  /// throws ArgumentError
  explicit AdaptiveAvgPool1d(std::int64_t wanted) : size(wanted) { (void)locus::detail::adaptive_avg_pool1d(size); }
  [[nodiscard]] auto forward(const auto& x) const { return adaptive_avg_pool1d(x, size); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join(size); }
};

}}}  // namespace locus::LOCUS_ABI::nn
