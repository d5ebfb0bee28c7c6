#pragma once
// A convolution whose channels a batch norm needs: a device may sum them in the launch of the convolution.

#include <locus/ops/batch_norm.hpp>
#include <locus/ops/conv.hpp>

namespace locus { inline namespace LOCUS_ABI {
namespace operation {

/// A convolution without a bias that writes the sums of its channels, for 16-bit types, where the device found that
/// faster than BatchNorm's own launch.
template <class D>
struct MeasuredConvolution : Convolution {
  static constexpr const char* name = Convolution::name;
  Tensor<float, D> sums;  ///< of each channel and then of its squares. shape: (2, channels)
  bool* are_written;      ///< result of forward: whether sums were computed

  template <class T>
  auto forward(const Tensor<T, D>& x, const Tensor<T, D>& w) const {
    detail::require_same_ordinal(request.caller, x, w);
    const ConvShape shape = request.plan(x.shape(), w.shape(), nullptr);
    const Tensor<T, D> y(request.result(x.shape(), shape), format_of(x), x.device());
    const auto measure = [&] { (void)BatchNorm<float, D>{{}, {}, true, {}}.moments_of(y); };
    *are_written = detail::ConvPasses<T, D>(shape, x.device())
                       .forward_with_sums(volumes(y), volumes(x), detail::as_volumes(w, true), sums, measure);
    return Forwarded{y, Tuple(x, w)};
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
  bool are_written = false;
  operation::MeasuredConvolution<D> op{
      {convolution.request}, Tensor<float, D>({2, w.size(0)}, x.device()), &are_written};
  const auto y = apply(op, x, w);
  return normalize_measured(y, are_written ? op.sums : Tensor<float, D>{}, running, options, whole, weights...);
}
}  // namespace detail
}}  // namespace locus::LOCUS_ABI
