#pragma once
// Normalizations that also return their moments: layer_norm_and_moments, group_norm_and_moments. Not part of
// locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/group_norm.hpp>
#include <locus/ops/layer_norm.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI {

/// A normalized tensor, with the mean and 1 / sqrt(variance + eps) of each row or group. These moments are plain
/// tensors, in float for half and bfloat16, through which nothing is differentiated.
template <class Y, class R, class D>
struct NormalizedWithMoments {
  Y values;
  Tensor<R, D> mean, rstd;
};

namespace operation {

/// A normalization that hands out the moments it saves.
template <class Base, class R, class D>
struct WithMoments : Base {
  Tensor<R, D>*mean, *rstd;  ///< written by forward
  /// The operation that a recorded gradient computes again: its caller has the moments.
  [[nodiscard]] const Base& on_duals() const { return *this; }

  template <class T, class... W>
  auto forward(const Tensor<T, D>& x, const W&... w) const {
    auto result = Base::forward(x, w...);
    const Tensor<T, D>& rows = get<0>(result.saved);
    const Tensor<R, D>& moments = get<2>(result.saved);
    const std::int64_t count = moments.buffer() ? moments.size(1) : 0;
    if (count > 0) {
      const Tensor<R, D> first = rows.reshape({count, rows.elements() / count}).select(1, 0).template as<R>();
      *mean = first + moments.select(0, 1).reshape({count});
      *rstd = moments.select(0, 0).reshape({count});
    }
    return result;
  }
};

}  // namespace operation

namespace detail {
template <class Base, class X, class... W>
[[nodiscard]] auto normalized_with_moments(const Base& base, const Shape& shape, const X& x, const W&... w) {
  using R = compute_t<value_of<X>>;
  using D = device_of<X>;
  Tensor<R, D> mean, rstd;
  auto values = apply(operation::WithMoments<Base, R, D>{base, &mean, &rstd}, x, w...);
  if (!mean.buffer()) {  // empty rows have no moments
    mean = Tensor<R, D>(shape, x.device());
    mean.fill_(std::numeric_limits<R>::quiet_NaN());
    rstd = mean.clone();
  }
  return NormalizedWithMoments<decltype(values), R, D>{values, mean.reshape(shape), rstd.reshape(shape)};
}
/// All dimensions but the normalized ones.
[[nodiscard]] inline Shape before_normalized(const Shape& shape, const Shape& normalized) {
  Shape leading;
  for (int d = 0; d < shape.rank() - normalized.rank(); ++d) leading.push_back(shape[d]);
  return leading;
}
[[nodiscard]] inline Shape groups_of(const Shape& shape, std::int64_t groups) {
  return {shape.empty() ? 0 : shape[0], groups};
}
}  // namespace detail

/// layer_norm, with the moments of each row: torch.native_layer_norm.
/// shape: as layer_norm; the moments have the dimensions of x before the normalized ones
/// cost:  as layer_norm, and a launch of the size of the mean     gradient, errors: as layer_norm
///
///     auto [y, mean, rstd] = layer_norm_and_moments(x, {64}, weight, bias);
template <detail::FloatingOperand X>
[[nodiscard]] auto layer_norm_and_moments(const X& x, const Shape& normalized_shape, double eps = 1e-5) {
  return detail::normalized_with_moments(operation::LayerNorm<true>{normalized_shape, eps},
                                         detail::before_normalized(x.value().shape(), normalized_shape), x);
}
template <class X, class W, class B>
  requires detail::NormalizedWith<X, W, B>
[[nodiscard]] auto layer_norm_and_moments(const X& x, const Shape& normalized_shape, const W& weight, const B& bias,
                                          double eps = 1e-5) {
  return detail::normalized_with_moments(operation::LayerNorm<true>{normalized_shape, eps},
                                         detail::before_normalized(x.value().shape(), normalized_shape), x, weight,
                                         bias);
}

/// group_norm, with the moments of each group: torch.native_group_norm.
/// shape: as group_norm; the moments (batch, groups)
/// cost:  as group_norm, and a launch of the size of the mean     gradient, errors: as group_norm
template <detail::FloatingOperand X>
[[nodiscard]] auto group_norm_and_moments(const X& x, std::int64_t groups, double eps = 1e-5) {
  return detail::normalized_with_moments(detail::group_norm(groups, eps), detail::groups_of(x.value().shape(), groups),
                                         x);
}
template <class X, class W, class B>
  requires detail::NormalizedWith<X, W, B>
[[nodiscard]] auto group_norm_and_moments(const X& x, std::int64_t groups, const W& weight, const B& bias,
                                          double eps = 1e-5) {
  return detail::normalized_with_moments(detail::group_norm(groups, eps), detail::groups_of(x.value().shape(), groups),
                                         x, weight, bias);
}

#include <locus/refuse/ops/norm_moments.inc>

}}  // namespace locus::LOCUS_ABI
