#pragma once
// The library's functions of operands that are spread over ranks: a line for each, which says how the function relates
// to sums. Nothing of a function is written here, and no header of one is included: include those that a program calls.
//
// Results of several tensors are structs and lists of Over. Left out: allclose, which gives no tensor; call it on
// x.local(). dropout is in generator.hpp.

#include <locus/distributed/spread/over.hpp>
#include <locus/distributed/spread/results.hpp>
#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI {
struct UniqueOptions;
struct VarOptions;
// clang-format off
// Of any number of arguments.
#define LOCUS_OVER(name, kind)                                                                                        \
  template <class... X>                                                                                               \
    requires locus::dist::detail::Sound<locus::dist::Linearity::kind, X...>                                           \
  [[nodiscard]] auto name(X&&... x) {                                                                                 \
    return locus::dist::detail::through<locus::dist::Linearity::kind>(                                                \
        [](auto&&... y) { return name(static_cast<decltype(y)>(y)...); }, static_cast<X&&>(x)...);                    \
  }
#define LOCUS_OVER_BINARY(name, kind)                                                                                 \
  template <class L, class R>                                                                                         \
    requires locus::dist::detail::Sound<locus::dist::Linearity::kind, L, R>                                           \
  [[nodiscard]] auto name(L&& l, R&& r) {                                                                             \
    return locus::dist::detail::through<locus::dist::Linearity::kind>(                                                \
        [](auto&& a, auto&& b) { return name(static_cast<decltype(a)>(a), static_cast<decltype(b)>(b)); },            \
        static_cast<L&&>(l), static_cast<R&&>(r));                                                                    \
  }
#define LOCUS_OVER_UNARY(name, kind)                                                                                  \
  template <class X>                                                                                                  \
    requires locus::dist::detail::Sound<locus::dist::Linearity::kind, X>                                              \
  [[nodiscard]] auto name(X&& x) {                                                                                    \
    return locus::dist::detail::through<locus::dist::Linearity::kind>(                                                \
        [](auto&& y) { return name(static_cast<decltype(y)>(y)); }, static_cast<X&&>(x));                             \
  }
// Of operands behind an argument that is none.
#define LOCUS_OVER_AFTER(name, kind, First)                                                                           \
  template <class... X>                                                                                               \
    requires locus::dist::detail::Sound<locus::dist::Linearity::kind, X...>                                           \
  [[nodiscard]] auto name(First first, X&&... x) {                                                                    \
    return locus::dist::detail::through<locus::dist::Linearity::kind>(                                                \
        [&](auto&&... y) { return name(first, static_cast<decltype(y)>(y)...); }, static_cast<X&&>(x)...);            \
  }
#define LOCUS_UNBRACKET(...) __VA_ARGS__
// With parameters that calls write in braces, which no template deduces.
#define LOCUS_OVER_WITH(name, kind, parameters, arguments)                                                            \
  template <locus::dist::detail::IsOver X>                                                                            \
    requires locus::dist::detail::Sound<locus::dist::Linearity::kind, X>                                              \
  [[nodiscard]] auto name(X&& x, LOCUS_UNBRACKET parameters) {                                                        \
    return locus::dist::detail::through<locus::dist::Linearity::kind>(                                                \
        [&](auto&& y) { return name(static_cast<decltype(y)>(y), LOCUS_UNBRACKET arguments); },                       \
        static_cast<X&&>(x));                                                                                         \
  }
// clang-format on

// Elementwise
LOCUS_OVER_BINARY(operator+, additive)
LOCUS_OVER_BINARY(operator-, additive)
LOCUS_OVER_UNARY(operator-, additive)
LOCUS_OVER_BINARY(operator*, bilinear)
LOCUS_OVER_BINARY(operator/, linear)
LOCUS_OVER_BINARY(operator%, any)
LOCUS_OVER_BINARY(operator==, any)
LOCUS_OVER_BINARY(operator!=, any)
LOCUS_OVER_BINARY(operator<, any)
LOCUS_OVER_BINARY(operator<=, any)
LOCUS_OVER_BINARY(operator>, any)
LOCUS_OVER_BINARY(operator>=, any)
LOCUS_OVER_BINARY(operator&&, any)
LOCUS_OVER_BINARY(operator||, any)
LOCUS_OVER_UNARY(operator!, any)
LOCUS_OVER(abs, any)
LOCUS_OVER(acos, any)
LOCUS_OVER(acosh, any)
LOCUS_OVER(addcdiv, any)
LOCUS_OVER(addcmul, any)
LOCUS_OVER(asin, any)
LOCUS_OVER(asinh, any)
LOCUS_OVER(atan, any)
LOCUS_OVER(atan2, any)
LOCUS_OVER(atanh, any)
LOCUS_OVER(betainc, any)
LOCUS_OVER(cbrt, any)
LOCUS_OVER(ceil, any)
LOCUS_OVER(celu, any)
LOCUS_OVER(clamp, any)
LOCUS_OVER(copysign, any)
LOCUS_OVER(cos, any)
LOCUS_OVER(cosh, any)
LOCUS_OVER(digamma, any)
LOCUS_OVER(elu, any)
LOCUS_OVER(entr, any)
LOCUS_OVER(erf, any)
LOCUS_OVER(erfc, any)
LOCUS_OVER(erfcx, any)
LOCUS_OVER(erfinv, any)
LOCUS_OVER(exp, any)
LOCUS_OVER(exp2, any)
LOCUS_OVER(expm1, any)
LOCUS_OVER(floor, any)
LOCUS_OVER(fmod, any)
LOCUS_OVER(gammainc, any)
LOCUS_OVER(gammaincc, any)
LOCUS_OVER(gelu, any)
LOCUS_OVER(glu, any)
LOCUS_OVER(hardshrink, any)
LOCUS_OVER(hardsigmoid, any)
LOCUS_OVER(hardswish, any)
LOCUS_OVER(hardtanh, any)
LOCUS_OVER(hypot, any)
LOCUS_OVER(i0, any)
LOCUS_OVER(i0e, any)
LOCUS_OVER(i1, any)
LOCUS_OVER(i1e, any)
LOCUS_OVER(isfinite, any)
LOCUS_OVER(isinf, any)
LOCUS_OVER(isnan, any)
LOCUS_OVER(lbeta, any)
LOCUS_OVER(leaky_relu, any)
LOCUS_OVER(lerp, any)
LOCUS_OVER(lgamma, any)
LOCUS_OVER(log, any)
LOCUS_OVER(log10, any)
LOCUS_OVER(log1p, any)
LOCUS_OVER(log2, any)
LOCUS_OVER(log_ndtr, any)
LOCUS_OVER(logit, any)
LOCUS_OVER(logsigmoid, any)
LOCUS_OVER(maximum, any)
LOCUS_OVER(minimum, any)
LOCUS_OVER(mish, any)
LOCUS_OVER(mvlgamma, any)
LOCUS_OVER(nan_to_num, any)
LOCUS_OVER(ndtr, any)
LOCUS_OVER(ndtri, any)
LOCUS_OVER(pow, any)
LOCUS_OVER(prelu, any)
LOCUS_OVER(reciprocal, any)
LOCUS_OVER(relu, any)
LOCUS_OVER(relu6, any)
LOCUS_OVER(round, any)
LOCUS_OVER(rsqrt, any)
LOCUS_OVER(selu, any)
LOCUS_OVER(sigmoid, any)
LOCUS_OVER(sign, any)
LOCUS_OVER(silu, any)
LOCUS_OVER(sin, any)
LOCUS_OVER(sinc, any)
LOCUS_OVER(sinh, any)
LOCUS_OVER(softplus, any)
LOCUS_OVER(softshrink, any)
LOCUS_OVER(softsign, any)
LOCUS_OVER(sqrt, any)
LOCUS_OVER(square, any)
LOCUS_OVER(swiglu, any)
LOCUS_OVER(tan, any)
LOCUS_OVER(tanh, any)
LOCUS_OVER(tanhshrink, any)
LOCUS_OVER(threshold, any)
LOCUS_OVER(trunc, any)
LOCUS_OVER(where, any)
LOCUS_OVER(xlog1py, any)
LOCUS_OVER(xlogy, any)
LOCUS_OVER(zeta, any)
LOCUS_OVER(max, any)
LOCUS_OVER(min, any)
LOCUS_OVER_AFTER(polygamma, any, int)

// Products
LOCUS_OVER(cross, bilinear)
LOCUS_OVER(kron, bilinear)
LOCUS_OVER(matmul, bilinear)
LOCUS_OVER(outer, bilinear)
LOCUS_OVER(tensordot, bilinear)
LOCUS_OVER(conv1d, affine)
LOCUS_OVER(conv2d, affine)
LOCUS_OVER(conv3d, affine)
LOCUS_OVER(conv_transpose1d, affine)
LOCUS_OVER(conv_transpose2d, affine)
LOCUS_OVER(conv_transpose3d, affine)
LOCUS_OVER(linear, affine)

// Reductions
LOCUS_OVER(all, any)
LOCUS_OVER(any, any)
LOCUS_OVER(argmax, any)
LOCUS_OVER(argmin, any)
LOCUS_OVER(count_nonzero, any)
LOCUS_OVER(cov, any)
LOCUS_OVER(corrcoef, any)
LOCUS_OVER(cummax, any)
LOCUS_OVER(cummin, any)
LOCUS_OVER(cumprod, any)
LOCUS_OVER(histogram, any)
LOCUS_OVER(isclose, any)
LOCUS_OVER(kthvalue, any)
LOCUS_OVER(logcumsumexp, any)
LOCUS_OVER(max_with_indices, any)
LOCUS_OVER(median, any)
LOCUS_OVER(min_with_indices, any)
LOCUS_OVER(mode, any)
LOCUS_OVER(norm, any)
LOCUS_OVER(prod, any)
LOCUS_OVER(quantile, any)
LOCUS_OVER(stddev, any)
LOCUS_OVER(var, any)
LOCUS_OVER(var_mean, any)

// Normalization, attention and losses
LOCUS_OVER(batch_norm, any)
LOCUS_OVER(cross_entropy, any)
LOCUS_OVER(document_mask, any)
LOCUS_OVER(group_norm, any)
LOCUS_OVER(group_norm_and_moments, any)
LOCUS_OVER(instance_norm, any)
LOCUS_OVER(layer_norm, any)
LOCUS_OVER(layer_norm_and_moments, any)
LOCUS_OVER(linear_cross_entropy, any)
LOCUS_OVER(local_response_norm, any)
LOCUS_OVER(log_softmax, any)
LOCUS_OVER(logsumexp, any)
LOCUS_OVER(normalize, any)
LOCUS_OVER(packed_attention, any)
LOCUS_OVER(rms_norm, any)
LOCUS_OVER(scaled_dot_product_attention, any)
LOCUS_OVER(softmax, any)
LOCUS_OVER(softmin, any)

// Lookups and others
LOCUS_OVER(adaptive_max_pool1d, any)
LOCUS_OVER(adaptive_max_pool1d_with_indices, any)
LOCUS_OVER(adaptive_max_pool2d, any)
LOCUS_OVER(adaptive_max_pool2d_with_indices, any)
LOCUS_OVER(adaptive_max_pool3d, any)
LOCUS_OVER(adaptive_max_pool3d_with_indices, any)
LOCUS_OVER(argsort, any)
LOCUS_OVER(bilinear, any)
LOCUS_OVER(bincount, any)
LOCUS_OVER(bucketize, any)
LOCUS_OVER(cdist, any)
LOCUS_OVER(cosine_similarity, any)
LOCUS_OVER(embedding_bag, any)
LOCUS_OVER(index_add, any)
LOCUS_OVER(index_copy, any)
LOCUS_OVER(index_put, any)
LOCUS_OVER(interp, any)
LOCUS_OVER(isin, any)
LOCUS_OVER(lp_pool1d, any)
LOCUS_OVER(lp_pool2d, any)
LOCUS_OVER(lp_pool3d, any)
LOCUS_OVER(masked_fill, any)
LOCUS_OVER(max_pool1d, any)
LOCUS_OVER(max_pool1d_with_indices, any)
LOCUS_OVER(max_pool2d, any)
LOCUS_OVER(max_pool2d_with_indices, any)
LOCUS_OVER(max_pool3d, any)
LOCUS_OVER(max_pool3d_with_indices, any)
LOCUS_OVER(cartesian_prod, any)
LOCUS_OVER(meshgrid, any)
LOCUS_OVER(nonzero, any)
LOCUS_OVER(one_hot, any)
LOCUS_OVER(pairwise_distance, any)
LOCUS_OVER(pdist, any)
LOCUS_OVER(renorm, any)
LOCUS_OVER(scatter, any)
LOCUS_OVER(scatter_add, any)
LOCUS_OVER(searchsorted, any)
LOCUS_OVER(sort, any)
LOCUS_OVER(topk, any)
LOCUS_OVER(unique, any)

// Linear in the first operand
LOCUS_OVER(adaptive_avg_pool1d, linear)
LOCUS_OVER(adaptive_avg_pool2d, linear)
LOCUS_OVER(adaptive_avg_pool3d, linear)
LOCUS_OVER(affine_grid, linear)
LOCUS_OVER(as_strided, linear)
LOCUS_OVER(atleast_1d, linear)
LOCUS_OVER(atleast_2d, linear)
LOCUS_OVER(atleast_3d, linear)
LOCUS_OVER(avg_pool1d, linear)
LOCUS_OVER(avg_pool2d, linear)
LOCUS_OVER(avg_pool3d, linear)
LOCUS_OVER(broadcast_to, linear)
LOCUS_OVER(channel_shuffle, linear)
LOCUS_OVER(channels_last, linear)
LOCUS_OVER(chunk, linear)
LOCUS_OVER(col2im, linear)
LOCUS_OVER(combinations, linear)
LOCUS_OVER(cumsum, linear)
LOCUS_OVER(cumulative_trapezoid, linear)
LOCUS_OVER(diag, linear)
LOCUS_OVER(diag_embed, linear)
LOCUS_OVER(diagonal, linear)
LOCUS_OVER(diff, linear)
LOCUS_OVER(embedding, linear)
LOCUS_OVER(expand, linear)
LOCUS_OVER(flatten, linear)
LOCUS_OVER(flip, linear)
LOCUS_OVER(fold_windows, linear)
LOCUS_OVER(gather, linear)
LOCUS_OVER(grid_sample, linear)
LOCUS_OVER(im2col, linear)
LOCUS_OVER(index_select, linear)
LOCUS_OVER(interpolate, linear)
LOCUS_OVER(masked_select, linear)
LOCUS_OVER(max_unpool1d, linear)
LOCUS_OVER(max_unpool2d, linear)
LOCUS_OVER(max_unpool3d, linear)
LOCUS_OVER(mean, linear)
LOCUS_OVER(movedim, linear)
LOCUS_OVER(permute, linear)
LOCUS_OVER(pixel_shuffle, linear)
LOCUS_OVER(pixel_unshuffle, linear)
LOCUS_OVER(repeat, linear)
LOCUS_OVER(repeat_interleave, linear)
LOCUS_OVER(reshape, linear)
LOCUS_OVER(roll, linear)
LOCUS_OVER(rot90, linear)
LOCUS_OVER(rotary, linear)
LOCUS_OVER(select, linear)
LOCUS_OVER(slice, linear)
LOCUS_OVER(split, linear)
LOCUS_OVER(squeeze, linear)
LOCUS_OVER(sum, linear)
LOCUS_OVER(swapaxes, linear)
LOCUS_OVER(take, linear)
LOCUS_OVER(take_along_axis, linear)
LOCUS_OVER(tile, linear)
LOCUS_OVER(transpose, linear)
LOCUS_OVER(trapezoid, linear)
LOCUS_OVER(tril, linear)
LOCUS_OVER(triu, linear)
LOCUS_OVER(unbind, linear)
LOCUS_OVER(unflatten, linear)
LOCUS_OVER(unfold, linear)
LOCUS_OVER(unsqueeze, linear)

#define LOCUS_OVER_AXES(name, kind) \
  LOCUS_OVER_WITH(name, kind, (const ReduceAxes& axes, bool keepdim = false), (axes, keepdim))
LOCUS_OVER_AXES(sum, linear)
LOCUS_OVER_AXES(mean, linear)
LOCUS_OVER_AXES(prod, any)
LOCUS_OVER_AXES(max, any)
LOCUS_OVER_AXES(min, any)
LOCUS_OVER_AXES(any, any)
LOCUS_OVER_AXES(all, any)
#undef LOCUS_OVER_AXES
LOCUS_OVER_WITH(softmax, any, (const Axes& axes), (axes))
LOCUS_OVER_WITH(log_softmax, any, (const Axes& axes), (axes))
LOCUS_OVER_WITH(logsumexp, any, (const Axes& axes, bool keepdim = false), (axes, keepdim))
LOCUS_OVER_WITH(stddev, any, (const ReduceAxes& axes, const VarOptions& options), (axes, options))
LOCUS_OVER_WITH(unique, any, (const UniqueOptions& options), (options))
LOCUS_OVER_WITH(var, any, (const ReduceAxes& axes, const VarOptions& options), (axes, options))
LOCUS_OVER_WITH(var_mean, any, (const ReduceAxes& axes, const VarOptions& options), (axes, options))
LOCUS_OVER_WITH(permute, linear, (const Axes& order), (order))
LOCUS_OVER_WITH(flip, linear, (const Axes& axes), (axes))
LOCUS_OVER_WITH(squeeze, linear, (const Axes& axes), (axes))
LOCUS_OVER_WITH(unsqueeze, linear, (const Axes& axes), (axes))
LOCUS_OVER_WITH(reshape, linear, (const Shape& shape), (shape))
LOCUS_OVER_WITH(expand, linear, (const Shape& shape), (shape))
LOCUS_OVER_WITH(broadcast_to, linear, (const Shape& shape), (shape))
// clang-format off
#define LOCUS_OVER_SHAPED(name)                                                                                       \
  template <locus::dist::detail::IsOver X, class... W>                                                                \
    requires locus::dist::detail::Sound<locus::dist::Linearity::any, X, W...>                                         \
  [[nodiscard]] auto name(X&& x, const Shape& normalized_shape, W&&... w) {                                           \
    return locus::dist::detail::through<locus::dist::Linearity::any>(                                                 \
        [&](auto&& y, auto&&... v) {                                                                                  \
          return name(static_cast<decltype(y)>(y), normalized_shape, static_cast<decltype(v)>(v)...);                 \
        },                                                                                                            \
        static_cast<X&&>(x), static_cast<W&&>(w)...);                                                                 \
  }
// clang-format on
LOCUS_OVER_SHAPED(layer_norm)
LOCUS_OVER_SHAPED(rms_norm)
#undef LOCUS_OVER_SHAPED

LOCUS_OVER_AFTER(concat, additive, int)
LOCUS_OVER_AFTER(stack, additive, int)
LOCUS_OVER_AFTER(einsum, bilinear, std::string_view)
#include <locus/refuse/distributed/spread/functions.inc>

namespace nn {
using locus::cross_entropy;  // with the overloads above
using locus::linear_cross_entropy;
LOCUS_OVER(binary_cross_entropy, any)
LOCUS_OVER(binary_cross_entropy_with_logits, any)
LOCUS_OVER(cosine_embedding_loss, any)
LOCUS_OVER(ctc_loss, any)
LOCUS_OVER(gaussian_nll_loss, any)
LOCUS_OVER(hinge_embedding_loss, any)
LOCUS_OVER(huber_loss, any)
LOCUS_OVER(kl_div, any)
LOCUS_OVER(l1_loss, any)
LOCUS_OVER(margin_ranking_loss, any)
LOCUS_OVER(mse_loss, any)
LOCUS_OVER(multi_margin_loss, any)
LOCUS_OVER(multilabel_margin_loss, any)
LOCUS_OVER(multilabel_soft_margin_loss, any)
LOCUS_OVER(nll_loss, any)
LOCUS_OVER(poisson_nll_loss, any)
LOCUS_OVER(smooth_l1_loss, any)
LOCUS_OVER(soft_margin_loss, any)
LOCUS_OVER(triplet_margin_loss, any)
#include <locus/refuse/distributed/spread/nn_functions.inc>
}  // namespace nn

// In place: the target's states stay.
// clang-format off
#define LOCUS_OVER_UPDATE(name, kind)                                                                                 \
  template <class T, class D, class... S, class Y>                                                                    \
    requires dist::detail::Updates<dist::Linearity::kind, Over<Tensor<T, D>, S...>, Y>                                \
  const Over<Tensor<T, D>, S...>& name(const Over<Tensor<T, D>, S...>& target, Y&& y) {                               \
    (void)name(target.local(), dist::detail::bare(static_cast<Y&&>(y)));                                              \
    return target;                                                                                                    \
  }
// clang-format on
LOCUS_OVER_UPDATE(operator+=, additive)
LOCUS_OVER_UPDATE(operator-=, additive)
LOCUS_OVER_UPDATE(operator*=, bilinear)
LOCUS_OVER_UPDATE(operator/=, linear)
#include <locus/refuse/distributed/spread/updates.inc>

#undef LOCUS_OVER
#undef LOCUS_OVER_BINARY
#undef LOCUS_OVER_UNARY
#undef LOCUS_OVER_AFTER
#undef LOCUS_UNBRACKET
#undef LOCUS_OVER_WITH
#undef LOCUS_OVER_UPDATE
}}  // namespace locus::LOCUS_ABI
