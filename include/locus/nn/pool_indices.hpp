#pragma once
// Layers of ops/pool_indices.hpp: max pooling of volumes, adaptive max pooling, unpooling. To move a network that holds
// such a layer, name it like a layer of your own: std::move(model).to<Cuda, nn::MaxPool3d>(). Not part of
// locus/locus.hpp.

#include <locus/nn/pool.hpp>
#include <locus/ops/pool_indices.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// See locus::max_pool3d: constructed from its arguments after x, kept as fields: kernel, stride, padding, options.
/// throws ArgumentError
struct MaxPool3d final : detail::PoolLayer<MaxPool3d, Size3d, MaxPool3dOptions, &locus::detail::max_pool3d_request> {
  using PoolLayer::PoolLayer;
  [[nodiscard]] auto forward(const auto& x) const { return max_pool3d(x, kernel, stride, padding, options); }
  /// See locus::max_pool3d_with_indices.
  [[nodiscard]] auto with_indices(const auto& x) const {
    return max_pool3d_with_indices(x, kernel, stride, padding, options);
  }
};

namespace detail {
/// Base of a layer that pools to a size of `dims` dimensions.
template <class Derived, class Extent, int dims>
struct AdaptiveMaxPool : Stateless<Derived> {
  Extent size;
  /// throws ArgumentError unless each extent is 1 or more
  explicit AdaptiveMaxPool(Extent wanted) : size(wanted) {
    (void)locus::detail::adaptive_request(Derived::name, dims, size);
  }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join(size); }
};
}  // namespace detail

/// See locus::adaptive_max_pool1d.
struct AdaptiveMaxPool1d final : detail::AdaptiveMaxPool<AdaptiveMaxPool1d, std::int64_t, 1> {
  static constexpr const char* name = "AdaptiveMaxPool1d";
  using AdaptiveMaxPool::AdaptiveMaxPool;
  [[nodiscard]] auto forward(const auto& x) const { return adaptive_max_pool1d(x, size); }
  /// See locus::adaptive_max_pool1d_with_indices.
  [[nodiscard]] auto with_indices(const auto& x) const { return adaptive_max_pool1d_with_indices(x, size); }
};
/// See locus::adaptive_max_pool2d.
struct AdaptiveMaxPool2d final : detail::AdaptiveMaxPool<AdaptiveMaxPool2d, Size2d, 2> {
  static constexpr const char* name = "AdaptiveMaxPool2d";
  using AdaptiveMaxPool::AdaptiveMaxPool;
  [[nodiscard]] auto forward(const auto& x) const { return adaptive_max_pool2d(x, size); }
  /// See locus::adaptive_max_pool2d_with_indices.
  [[nodiscard]] auto with_indices(const auto& x) const { return adaptive_max_pool2d_with_indices(x, size); }
};
/// See locus::adaptive_max_pool3d.
struct AdaptiveMaxPool3d final : detail::AdaptiveMaxPool<AdaptiveMaxPool3d, Size3d, 3> {
  static constexpr const char* name = "AdaptiveMaxPool3d";
  using AdaptiveMaxPool::AdaptiveMaxPool;
  [[nodiscard]] auto forward(const auto& x) const { return adaptive_max_pool3d(x, size); }
  /// See locus::adaptive_max_pool3d_with_indices.
  [[nodiscard]] auto with_indices(const auto& x) const { return adaptive_max_pool3d_with_indices(x, size); }
};

namespace detail {
/// Base of a layer that puts elements back to their positions.
template <class Derived, class Extent, int dims>
struct MaxUnpool : Stateless<Derived> {
  Extent kernel, stride, padding;
  /// throws ArgumentError unless kernel and stride are 1 or more, and the border 0 or more
  explicit MaxUnpool(Extent kernel_size, Extent step = same_as_kernel, Extent border = 0)
      : kernel(kernel_size), stride(step), padding(border) {
    (void)locus::detail::unpool_request(Derived::name, dims, kernel, stride, padding);
  }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(kernel, ", stride=", stride == Extent(same_as_kernel) ? kernel : stride,
                option_text("padding", padding, Extent(0)));
  }
};
}  // namespace detail

/// See locus::max_unpool1d: nn::MaxUnpool1d{2}(values, indices).
struct MaxUnpool1d final : detail::MaxUnpool<MaxUnpool1d, std::int64_t, 1> {
  static constexpr const char* name = "MaxUnpool1d";
  using MaxUnpool::MaxUnpool;
  [[nodiscard]] auto forward(const auto& x, const auto& indices, const Shape& output_size = {}) const {
    return max_unpool1d(x, indices, kernel, stride, padding, output_size);
  }
};
/// See locus::max_unpool2d: nn::MaxUnpool2d{2}(values, indices).
struct MaxUnpool2d final : detail::MaxUnpool<MaxUnpool2d, Size2d, 2> {
  static constexpr const char* name = "MaxUnpool2d";
  using MaxUnpool::MaxUnpool;
  [[nodiscard]] auto forward(const auto& x, const auto& indices, const Shape& output_size = {}) const {
    return max_unpool2d(x, indices, kernel, stride, padding, output_size);
  }
};
/// See locus::max_unpool3d: nn::MaxUnpool3d{2}(values, indices).
struct MaxUnpool3d final : detail::MaxUnpool<MaxUnpool3d, Size3d, 3> {
  static constexpr const char* name = "MaxUnpool3d";
  using MaxUnpool::MaxUnpool;
  [[nodiscard]] auto forward(const auto& x, const auto& indices, const Shape& output_size = {}) const {
    return max_unpool3d(x, indices, kernel, stride, padding, output_size);
  }
};

}}}  // namespace locus::LOCUS_ABI::nn
