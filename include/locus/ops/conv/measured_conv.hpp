#pragma once
// A convolution whose channels a batch norm needs: a device may sum them in the launch of the convolution.

#include <locus/core/std/shared.hpp>
#include <locus/ops/batch_norm.hpp>
#include <locus/ops/conv.hpp>

#include <utility>

namespace locus { inline namespace LOCUS_ABI {
namespace operation {

/// The sums of a convolution's channels, a second result beside its value.
template <class D>
struct ChannelSums : Counted {
  Tensor<float, D> sums;  ///< of each channel and then of its squares. shape: (2, channels). Empty: not computed
};

/// A convolution without a bias that writes the sums of its channels, for 16-bit types, where the device found that
/// faster than BatchNorm's own launch.
template <class D>
struct MeasuredConvolution : Convolution {
  static constexpr const char* name = Convolution::name;
  Shared<ChannelSums<D>> result;  ///< of forward. Shared, because the recorded operation outlives its caller

  template <class T>
  auto forward(const Tensor<T, D>& x, const Tensor<T, D>& w) const {
    detail::require_same_ordinal(request.caller, x, w);
    const ConvShape shape = request.plan(x.shape(), w.shape(), nullptr);
    const Tensor<T, D> y(request.result(x.shape(), shape), format_of(x), x.device());
    const Tensor<float, D> sums({2, shape.out}, x.device());
    const auto measure = [&] { (void)BatchNorm<float, D>{{}, {}, true, {}}.moments_of(y); };
    const bool are_written = detail::ConvPasses<T, D>(shape, x.device())
                                 .forward_with_sums(volumes(y), volumes(x), detail::as_volumes(w, true), sums, measure);
    result->sums = are_written ? sums : Tensor<float, D>();
    return Forwarded{y, Saved<T, D>(x, w, {})};
  }
};

}  // namespace operation

namespace detail {
/// batch_norm(conv2d(x, w), ...) in training, of 16-bit images on a device apart from the host. Elements of float keep
/// the launch that measures them: it is exact beside large means, as sums of squares are not.
template <class X>
inline constexpr bool may_measure_in_convolution = !HostAccessible<device_of<X>> && sizeof(value_of<X>) == 2;

template <class X, class W, class S, class... N>
[[nodiscard]] auto convolve_and_normalize(const X& x, const W& w, const operation::Convolution& convolution,
                                          const S& running, const BatchNormOptions& options,
                                          const SharedBatchOf<S>& whole, const N&... weights) {
  using D = device_of<X>;
  const Shared<operation::ChannelSums<D>> result(new operation::ChannelSums<D>);
  const auto y = apply(operation::MeasuredConvolution<D>{convolution, result}, x, w);
  return normalize_measured(y, std::exchange(result->sums, {}), running, options, whole, weights...);
}
}  // namespace detail
}}  // namespace locus::LOCUS_ABI
