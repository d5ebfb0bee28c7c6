#pragma once
// Convolutions of images (batch, channels, height, width) and of lines (batch, channels, length), and their adjoints.
// Values and both gradients are matrix products over columns of windows. detail::column_bytes bounds the columns at
// once: of several images, or of some windows of a large one. Groups of at most four channels in and out, such as
// depthwise ones, compute each output by itself.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/expr/activation_backward.hpp>
#include <locus/ops/conv/conv_duals.hpp>
#include <locus/ops/conv/conv_passes.hpp>
#include <locus/ops/conv/conv_request.hpp>

namespace locus { inline namespace LOCUS_ABI {

struct Conv1dOptions {
  std::int64_t stride = 1;
  ConvPadding<std::int64_t> padding = 0;  ///< a number or "same"
  std::int64_t dilation = 1;              ///< from one tap to the next
  std::int64_t groups = 1;
  bool relu = false;  ///< max(0, the result), computed with it
};
struct Conv2dOptions {
  Size2d stride = 1;
  ConvPadding<Size2d> padding = 0;  ///< a number, {height, width}, or "same"
  Size2d dilation = 1;              ///< from one tap to the next
  std::int64_t groups = 1;
  /// Whether by sums of products of full precision: see cpu::allow_winograd, cuda::allow_tf32_convolutions.
  bool exact = false;
  bool relu = false;  ///< max(0, the result), computed with it
};
struct ConvTranspose1dOptions {
  std::int64_t stride = 1, padding = 0;
  std::int64_t output_padding = 0;  ///< extra elements at the end of the result
  std::int64_t groups = 1;
  std::int64_t dilation = 1;
};
struct ConvTranspose2dOptions {
  Size2d stride = 1, padding = 0;
  Size2d output_padding = 0;  ///< extra rows and columns at the end of the result
  std::int64_t groups = 1;
  Size2d dilation = 1;
  /// Whether by sums of products of full precision: see cpu::allow_winograd, cuda::allow_tf32_convolutions.
  bool exact = false;
};

namespace detail {
/// Views images as (batch, channels, 1, height, width), lines as (batch, channels, 1, 1, length); volumes stay as they
/// are.
template <class T, class D>
[[nodiscard]] Tensor<T, D> as_volumes(const Tensor<T, D>& x, bool has_batch) {
  Tensor<T, D> volumes = has_batch ? x : x.unsqueeze(0);
  while (volumes.rank() < 5) volumes = volumes.unsqueeze(2);
  return volumes;
}
/// The bias, or null for an empty handle.
template <class T, class D>
[[nodiscard]] const Tensor<T, D>* bias_of(const Tensor<T, D>& b) {
  return b.buffer() ? &b : nullptr;
}
}  // namespace detail

namespace operation {

struct Convolution {
  static constexpr const char* name = "convolution";
  static constexpr bool runs_on_duals = true;
  detail::ConvRequest request;
  bool relu = false;  ///< not of a transposed convolution
  [[nodiscard]] bool is_bilinear() const { return !relu; }

  /// For backward x, w, and y if relu was applied.
  template <class T, class D>
  using Saved = Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>>;

  template <class T, class D, class... B>
  auto forward(const Tensor<T, D>& x, const Tensor<T, D>& w, const B&... b) const {
    detail::require_same_ordinal(request.caller, x, w, b...);
    const Tensor<T, D>* bias = nullptr;
    ((bias = detail::bias_of(b)), ...);
    const ConvShape shape = request.plan(x.shape(), w.shape(), bias ? &bias->shape() : nullptr);
    const Tensor<T, D> y(request.result(x.shape(), shape), format_of(x), x.device());
    const Tensor<T, D> weights = detail::as_volumes(w, true), shift = bias ? bias->contiguous() : Tensor<T, D>();
    const detail::ConvPasses<T, D> passes(shape, x.device());
    const T* const shifts = bias ? shift.data() : nullptr;
    const auto from = volumes(x), to = volumes(y);
    if (request.transposed) passes.input_gradient(to, false, from, weights, shifts);
    else passes.forward(to, false, from, weights, shifts, relu);
    return Forwarded{y, Saved<T, D>(x, w, relu ? y : Tensor<T, D>())};
  }

  template <class T, class D, class... B>
  void backward(const Saved<T, D>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx, Gradient<T, D>& dw,
                B&... db) const {
    const auto& [x, w, y] = saved;
    const detail::ConvPasses<T, D> passes(request.plan(x.shape(), w.shape(), nullptr), x.device());
    const auto gradient = volumes(before_relu(g, y)), images = volumes(x);
    if (dx) {
      const auto [out, accumulate] = is_batched(x) ? dx.open_in_format() : dx.open();
      const auto weights = detail::as_volumes(w, true);
      if (request.transposed) passes.forward(volumes(out), accumulate, gradient, weights, nullptr);
      else passes.input_gradient(volumes(out), accumulate, gradient, weights, nullptr);
    }
    if (dw) {
      const auto [out, accumulate] = dw.open_in_format();
      const auto to = detail::as_volumes(out, true);
      if (request.transposed) passes.weight_gradient(to, accumulate, images, gradient);
      else passes.weight_gradient(to, accumulate, gradient, images);
    }
    (sum_channels(gradient, db), ...);
  }

 protected:
  template <class T, class D>
  [[nodiscard]] bool is_batched(const Tensor<T, D>& x) const {
    return x.rank() == request.dims + 2;
  }
  /// The result's format: row-major for one image without a batch, whose dimensions are not a format's.
  template <class T, class D>
  [[nodiscard]] MemoryFormat format_of(const Tensor<T, D>& x) const {
    return is_batched(x) ? x.layout().format() : MemoryFormat::row_major;
  }
  template <class T, class D>
  [[nodiscard]] Tensor<T, D> volumes(const Tensor<T, D>& x) const {
    return detail::as_volumes(x, is_batched(x));
  }
  /// The gradient of the sum that relu was applied to, g where y > 0.
  template <class T, class D>
  [[nodiscard]] Tensor<T, D> before_relu(const Tensor<T, D>& g, const Tensor<T, D>& y) const {
    if (!relu) return g;
    const Tensor<T, D> gradient(y.shape(), format_of(y), y.device());
    detail::map_into(gradient, detail::ActivationBackward<functor::Relu>{}, g, y);
    return gradient;
  }
  /// The gradient of the bias.
  template <class T, class D>
  static void sum_channels(const Tensor<T, D>& g, Gradient<T, D>& db) {
    if (!db) return;
    const auto [out, accumulate] = db.open();
    detail::reduce_into(out, accumulate, g.shape(), detail::FoldedAxes(name, g.shape(), {0, 2, 3, 4}), Symbol<0>{},
                        fold::Sum<T>{}, g);
  }
};

}  // namespace operation

namespace detail {
template <class X, class... W>
concept ConvOperands = TensorLike<X> && (TensorLike<W> && ...) && FloatingDType<value_of<X>> &&
                       (CombinablePair<X, W> && ...) && NotParametersAlone<X, W...>;

/// throws ArgumentError
[[nodiscard]] inline operation::Convolution conv1d(const Conv1dOptions& options) {
  return {ConvRequest::plain("conv1d", 1, options.stride, options.padding, options.dilation, options.groups),
          options.relu};
}
[[nodiscard]] inline operation::Convolution conv2d(const Conv2dOptions& options) {
  auto request = ConvRequest::plain("conv2d", 2, options.stride, options.padding, options.dilation, options.groups);
  request.exact = options.exact;
  return {request, options.relu};
}
/// The adjoint of a convolution. throws ArgumentError
template <class Options>
[[nodiscard]] operation::Convolution transposed_convolution(const char* caller, int dims, const Options& options) {
  ConvRequest request{caller, dims, {options.stride, 1}, {options.padding, 0}, {options.dilation, 1}, options.groups};
  request.transposed = true;
  if constexpr (requires { options.exact; }) request.exact = options.exact;
  request.output_padding = {options.output_padding, 0};
  return {request.checked()};
}
[[nodiscard]] inline operation::Convolution conv_transpose1d(const ConvTranspose1dOptions& options) {
  return transposed_convolution("conv_transpose1d", 1, options);
}
[[nodiscard]] inline operation::Convolution conv_transpose2d(const ConvTranspose2dOptions& options) {
  return transposed_convolution("conv_transpose2d", 2, options);
}
}  // namespace detail

/// The windows of images times weights, as F.conv2d: y(n, o, ...) = b(o) + sum over c and taps of x w.
/// shape:    x (batch, in, h, w), w (out, in / groups, kh, kw), b (out,) or an empty handle for none
///           -> (batch, out, rows, cols), with or without the batch, where rows, likewise cols, is
///           (h + 2 padding - dilation (kh - 1) - 1) / stride + 1
/// gradient: the adjoint convolution of g for x, windows of x times g for w, the sum of g's channels for b; with option
///           `relu`, g counts as 0 where the result is 0
/// cost:     on Cpu one launch for most shapes, see cpu::conv_strategy for the choice; one or two with cuDNN, see
///           cuda::allow_cudnn; otherwise matrix products over columns of windows, see detail::ConvPasses. Saves x and
///           w; copies w and, for gradients, g if not dense. With cuDNN and channels-last images, a launch more for
///           each pass unless w is channels-last, too: see nn::channels_last_
/// Option `relu` gives relu(conv2d(...)) with less memory. With cuDNN it is one launch after the convolution's, which
/// adds the bias, too; part of the convolution's after cuda::allow_fused_relu(true) where autotuning found that faster.
/// Backward takes a launch more, as relu's. Saves the result, too.
/// throws ShapeError where a kernel is larger than the padded input, groups do not divide the channels, or w has
/// another number of channels; ArgumentError for strides, dilations or groups below 1, negative padding, "same" with a
/// stride
///
///     auto y = conv2d(images, w, b, {.stride = 2, .padding = 1});
///     auto z = conv2d(y, depthwise, {.padding = "same", .groups = y.size(1), .relu = true});
template <class X, class W, class B>
  requires detail::ConvOperands<X, W, B>
[[nodiscard]] auto conv2d(const X& x, const W& w, const B& b, const Conv2dOptions& options = {}) {
  return apply(detail::conv2d(options), x, w, b);
}
/// The same without a bias.
template <class X, class W>
  requires detail::ConvOperands<X, W>
[[nodiscard]] auto conv2d(const X& x, const W& w, const Conv2dOptions& options = {}) {
  return apply(detail::conv2d(options), x, w);
}
/// The same along one dimension.
/// shape: x (batch, in, length), w (out, in / groups, k), b (out,) -> (batch, out, windows), with or without the batch
template <class X, class W, class B>
  requires detail::ConvOperands<X, W, B>
[[nodiscard]] auto conv1d(const X& x, const W& w, const B& b, const Conv1dOptions& options = {}) {
  return apply(detail::conv1d(options), x, w, b);
}
/// The same without a bias.
template <class X, class W>
  requires detail::ConvOperands<X, W>
[[nodiscard]] auto conv1d(const X& x, const W& w, const Conv1dOptions& options = {}) {
  return apply(detail::conv1d(options), x, w);
}

/// The adjoint of conv2d in its input, as F.conv_transpose2d: each element of x adds a window of weights to the result.
/// shape:    x (batch, in, h, w), w (in, out / groups, kh, kw), b (out,) or an empty handle for none
///           -> (batch, out, rows, cols), with or without the batch, where rows, likewise cols, is
///           (h - 1) stride - 2 padding + dilation (kh - 1) + output_padding + 1
/// gradient: conv2d of g for x, windows of g times x for w, the sum of g's channels for b
/// cost:     as the gradient of conv2d; its gradient as conv2d
/// throws as conv2d, and ShapeError where padding leaves no element; ArgumentError for output padding that is at least
/// the larger of stride and dilation
template <class X, class W, class B>
  requires detail::ConvOperands<X, W, B>
[[nodiscard]] auto conv_transpose2d(const X& x, const W& w, const B& b, const ConvTranspose2dOptions& options = {}) {
  return apply(detail::conv_transpose2d(options), x, w, b);
}
/// The same without a bias.
template <class X, class W>
  requires detail::ConvOperands<X, W>
[[nodiscard]] auto conv_transpose2d(const X& x, const W& w, const ConvTranspose2dOptions& options = {}) {
  return apply(detail::conv_transpose2d(options), x, w);
}
/// The same along one dimension.
/// shape: x (batch, in, length), w (in, out / groups, k), b (out,) -> (batch, out, windows), with or without the batch
template <class X, class W, class B>
  requires detail::ConvOperands<X, W, B>
[[nodiscard]] auto conv_transpose1d(const X& x, const W& w, const B& b, const ConvTranspose1dOptions& options = {}) {
  return apply(detail::conv_transpose1d(options), x, w, b);
}
/// The same without a bias.
template <class X, class W>
  requires detail::ConvOperands<X, W>
[[nodiscard]] auto conv_transpose1d(const X& x, const W& w, const ConvTranspose1dOptions& options = {}) {
  return apply(detail::conv_transpose1d(options), x, w);
}

#include <locus/refuse/ops/conv.inc>

}}  // namespace locus::LOCUS_ABI
