#pragma once
// Layers of ops/pool3d.hpp: means of volumes, power means. To move a network that holds such a layer, name it like a
// layer of your own. Not part of locus/locus.hpp.

#include <locus/nn/pool.hpp>
#include <locus/ops/pool3d.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// See locus::avg_pool3d: constructed from its arguments after x, kept as fields: kernel, stride, padding, options.
/// throws ArgumentError
struct AvgPool3d final : detail::PoolLayer<AvgPool3d, Size3d, AvgPoolOptions, &locus::detail::avg_pool3d_request> {
  using PoolLayer::PoolLayer;
  [[nodiscard]] auto forward(const auto& x) const { return avg_pool3d(x, kernel, stride, padding, options); }
};
/// See locus::adaptive_avg_pool3d.
struct AdaptiveAvgPool3d final : Stateless<AdaptiveAvgPool3d> {
  Size3d size;
  /// throws ArgumentError
  explicit AdaptiveAvgPool3d(Size3d wanted) : size(wanted) { (void)locus::detail::adaptive_avg_pool3d_request(size); }
  [[nodiscard]] auto forward(const auto& x) const { return adaptive_avg_pool3d(x, size); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const { return join(size); }
};

namespace detail {
/// Base of a layer of power means.
template <class Derived, class Extent, int dims>
struct LPPool : Stateless<Derived> {
  double p;
  Extent kernel, stride;
  bool ceil_mode;
  /// throws ArgumentError for an order, a kernel or a stride that is not positive
  LPPool(double order, Extent kernel_size, Extent step = same_as_kernel, bool ceils = false)
      : p(order), kernel(kernel_size), stride(step), ceil_mode(ceils) {
    if (!(locus::detail::finite_as<double>(Derived::name, "p", p) > 0))
      fail<ArgumentError>({Derived::name, ": p is ", p, "; expected more than 0"});
    (void)locus::detail::pool_request(Derived::name, dims, kernel, stride, Extent(0), Extent(1), ceil_mode);
  }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join("norm_type=", p, ", kernel_size=", kernel,
                ", stride=", stride == Extent(same_as_kernel) ? kernel : stride,
                ", ceil_mode=", ceil_mode ? "true" : "false");
  }
};
}  // namespace detail

/// See locus::lp_pool1d: nn::LPPool1d{2, 3}, of order 2 and windows of 3.
struct LPPool1d final : detail::LPPool<LPPool1d, std::int64_t, 1> {
  static constexpr const char* name = "LPPool1d";
  using LPPool::LPPool;
  [[nodiscard]] auto forward(const auto& x) const { return lp_pool1d(x, p, kernel, stride, ceil_mode); }
};
/// See locus::lp_pool2d.
struct LPPool2d final : detail::LPPool<LPPool2d, Size2d, 2> {
  static constexpr const char* name = "LPPool2d";
  using LPPool::LPPool;
  [[nodiscard]] auto forward(const auto& x) const { return lp_pool2d(x, p, kernel, stride, ceil_mode); }
};
/// See locus::lp_pool3d.
struct LPPool3d final : detail::LPPool<LPPool3d, Size3d, 3> {
  static constexpr const char* name = "LPPool3d";
  using LPPool::LPPool;
  [[nodiscard]] auto forward(const auto& x) const { return lp_pool3d(x, p, kernel, stride, ceil_mode); }
};

}}}  // namespace locus::LOCUS_ABI::nn
