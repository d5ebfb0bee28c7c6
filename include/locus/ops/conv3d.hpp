#pragma once
// Convolutions of volumes (batch, channels, depth, height, width). Not part of locus/locus.hpp.

#include <locus/ops/conv.hpp>

namespace locus { inline namespace LOCUS_ABI {

struct Conv3dOptions {
  Size3d stride = 1;
  ConvPadding<Size3d> padding = 0;  ///< a number, {depth, height, width}, or "same"
  Size3d dilation = 1;              ///< from one tap to the next
  std::int64_t groups = 1;
  bool relu = false;  ///< max(0, the result), computed with it
};

struct ConvTranspose3dOptions {
  Size3d stride = 1, padding = 0;
  Size3d output_padding = 0;  ///< extra planes, rows and columns at the end of the result
  std::int64_t groups = 1;
  Size3d dilation = 1;
};

namespace detail {
/// throws ArgumentError
[[nodiscard]] inline operation::Convolution conv3d(const Conv3dOptions& options) {
  return {ConvRequest::plain("conv3d", 3, options.stride, options.padding, options.dilation, options.groups),
          options.relu};
}
[[nodiscard]] inline operation::Convolution conv_transpose3d(const ConvTranspose3dOptions& options) {
  return transposed_convolution("conv_transpose3d", 3, options);
}
}  // namespace detail

/// The windows of volumes times weights, as F.conv3d: conv2d with one dimension more.
/// shape:    x (batch, in, d, h, w), w (out, in / groups, kd, kh, kw), b (out,) or an empty handle for none
///           -> (batch, out, planes, rows, cols), with or without the batch; extents as of conv2d
/// gradient: as of conv2d
/// cost:     as conv2d through columns, on every device. On Cpu a volume of depth 1 with a kernel of depth 1 is
///           computed as by conv2d
/// throws as conv2d
///
///     auto y = conv3d(scans, w, b, {.stride = {1, 2, 2}, .padding = 1});
template <class X, class W, class B>
  requires detail::ConvOperands<X, W, B>
[[nodiscard]] auto conv3d(const X& x, const W& w, const B& b, const Conv3dOptions& options = {}) {
  return apply(detail::conv3d(options), x, w, b);
}
/// The same without a bias.
template <class X, class W>
  requires detail::ConvOperands<X, W>
[[nodiscard]] auto conv3d(const X& x, const W& w, const Conv3dOptions& options = {}) {
  return apply(detail::conv3d(options), x, w);
}

/// The adjoint of conv3d in its input, as F.conv_transpose3d: conv_transpose2d with one dimension more.
/// shape:    x (batch, in, d, h, w), w (in, out / groups, kd, kh, kw), b (out,) or an empty handle for none
///           -> (batch, out, planes, rows, cols), with or without the batch; extents as of conv_transpose2d
/// gradient: as of conv_transpose2d     cost: as the gradient of conv3d     throws as conv_transpose2d
template <class X, class W, class B>
  requires detail::ConvOperands<X, W, B>
[[nodiscard]] auto conv_transpose3d(const X& x, const W& w, const B& b, const ConvTranspose3dOptions& options = {}) {
  return apply(detail::conv_transpose3d(options), x, w, b);
}
/// The same without a bias.
template <class X, class W>
  requires detail::ConvOperands<X, W>
[[nodiscard]] auto conv_transpose3d(const X& x, const W& w, const ConvTranspose3dOptions& options = {}) {
  return apply(detail::conv_transpose3d(options), x, w);
}

#include <locus/refuse/ops/conv3d.inc>

}}  // namespace locus::LOCUS_ABI
