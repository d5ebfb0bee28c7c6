#pragma once
// Convolution layers. A move of a network does not look for ConvTranspose1d.
// To move a network that holds such a layer, name it like a layer of your own.

#include <locus/nn/init.hpp>
#include <locus/nn/module.hpp>
#include <locus/ops/conv.hpp>
#include <locus/ops/pad.hpp>

#include <optional>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// PyTorch's, with its defaults: nn::Conv2d<float, D>{3, 64, 3, {.stride = 2, .padding = 1, .bias = false}}.
struct Conv1dOptions {
  std::int64_t stride = 1;
  ConvPadding<std::int64_t> padding = 0;  ///< a number or "same"
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  PadMode padding_mode = PadMode::constant;  ///< fill of the border; constant: zeros
};
struct Conv2dOptions {
  Size2d stride = 1;
  ConvPadding<Size2d> padding = 0;  ///< a number, {height, width}, or "same"
  Size2d dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  PadMode padding_mode = PadMode::constant;  ///< fill of the border; constant: zeros
  /// Whether by sums of products of full precision: see cpu::allow_winograd, cuda::allow_tf32_convolutions.
  bool exact = false;
};
struct ConvTranspose1dOptions {
  std::int64_t stride = 1, padding = 0, output_padding = 0;
  std::int64_t groups = 1;
  bool bias = true;
  std::int64_t dilation = 1;
};
struct ConvTranspose2dOptions {
  Size2d stride = 1, padding = 0, output_padding = 0;
  std::int64_t groups = 1;
  bool bias = true;
  Size2d dilation = 1;
  /// Whether by sums of products of full precision: see cpu::allow_winograd, cuda::allow_tf32_convolutions.
  bool exact = false;
};

namespace detail {

/// throws ArgumentError unless channels and kernel extents are at least 1, and the groups divide both channel counts
LOCUS_OUT_OF_LINE inline void require_channels(const char* layer, std::int64_t in, std::int64_t out,
                                               const locus::detail::ConvExtents& kernel, std::int64_t groups) {
  if (in < 1 || out < 1)
    fail<ArgumentError>({layer, ": ", in, " channels in and ", out, " out; expected at least 1 of each"});
  for (const std::int64_t extent : kernel.of)
    if (extent < 1) fail<ArgumentError>({layer, ": a kernel of ", extent, "; expected 1 or more"});
  if (in % groups != 0 || out % groups != 0)
    fail<ArgumentError>(
        {layer, ": ", groups, " groups of ", in, " channels in and ", out, " out; expected a divisor of both"});
}

/// Base of convolution layers: weight and bias, both initialized uniformly in +-1/sqrt(k), where k is the number of
/// elements of a window in a group.
template <class Derived, class T, class D>
class ConvLayer : public Layer<Derived, T, D> {
 public:
  using input_type = T;

  Parameter<T, D> weight;
  Parameter<T, D> bias;  ///< empty if the layer has none

  void members(const auto& visit) const {
    visit("weight", weight);
    visit("bias", bias);
  }

 protected:
  ConvLayer() = default;
  ConvLayer(const Shape& shape, std::int64_t results, bool with_bias, D device) {
    const double bound = 1.0 / math::sqrt(static_cast<double>(init::fans(shape).in));
    weight = Parameter<T, D>(init::uniform_(Tensor<T, D>(shape, device), -bound, bound));
    if (with_bias) bias = Parameter<T, D>(init::uniform_(Tensor<T, D>({results}, device), -bound, bound));
  }
};

/// "3, 64, (3, 3)", and the options that are not PyTorch's defaults.
template <class Extent, class Options>
[[nodiscard]] std::string conv_text(std::int64_t in, std::int64_t out, const Extent& kernel, const Options& options) {
  const Options usual{};
  std::string text = join(in, ", ", out, ", ", kernel, option_text("stride", options.stride, usual.stride));
  if constexpr (requires { options.padding.same; }) {
    text += options.padding.same ? ", padding=same" : option_text("padding", options.padding.size, usual.padding.size);
  } else {
    text += option_text("padding", options.padding, usual.padding) +
            option_text("output_padding", options.output_padding, usual.output_padding);
  }
  return text + option_text("dilation", options.dilation, usual.dilation) +
         option_text("groups", options.groups, usual.groups) + option_text("bias", options.bias, usual.bias);
}

[[nodiscard]] constexpr bool is_none_or_relu(Activation next) {
  return next == Activation::none || next == Activation::relu;
}
/// throws ArgumentError for other activations than relu and none
[[nodiscard]] inline bool is_relu(Activation next) {
  if (!is_none_or_relu(next))
    fail<ArgumentError>({"a convolution: forward_with(x, tanh or sigmoid); expected none or relu"});
  return next == Activation::relu;
}
/// Options of a layer's operation, with the activation after it; without padding if the layer pads itself, with a
/// border other than zeros. throws ArgumentError for other activations than relu
template <class Options>
[[nodiscard]] auto functional(const Options& options, Activation next = Activation::none) {
  using Functional =
      std::conditional_t<std::is_same_v<Options, Conv1dOptions>, locus::Conv1dOptions, locus::Conv2dOptions>;
  Functional result{options.stride, options.padding, options.dilation, options.groups};
  if constexpr (requires { options.exact; }) result.exact = options.exact;
  result.relu = is_relu(next);
  if (options.padding_mode != PadMode::constant) result.padding = 0;
  return result;
}

}  // namespace detail

/// See locus::conv2d. Parameters: weight (out, in / groups, kh, kw), bias (out), both initialized as in PyTorch.
/// cost: conv2d, and pad if padding_mode is not constant
///
///     nn::Sequential model{nn::Conv2d<float, D>{1, 16, 3, {.padding = 1}}, nn::ReLU{}, nn::MaxPool2d{2}, ...};
template <class T, class D>
class Conv2d final : public detail::ConvLayer<Conv2d<T, D>, T, D> {
 public:
  /// throws ArgumentError for no channels, groups that do not divide them, and options that conv2d refuses
  Conv2d(std::int64_t in, std::int64_t out, Size2d kernel, const Conv2dOptions& options = {}, D device = {})
      : detail::ConvLayer<Conv2d, T, D>(checked(in, out, kernel, options), out, options.bias, device),
        kernel_(kernel),
        options_(options) {}
#include <locus/refuse/nn/conv2d_class.inc>

  template <TensorLike X> [[nodiscard]] auto forward(const X& x) const { return forward_with(x, Activation::none); }

  /// Activations that forward_with computes.
  [[nodiscard]] static constexpr bool absorbs(Activation next) { return detail::is_none_or_relu(next); }
  /// relu(forward(x)), or forward(x) if `next` is none: option `relu` of conv2d. throws ArgumentError for other
  /// activations
  template <TensorLike X>
  [[nodiscard]] auto forward_with(const X& x, Activation next) const {
    return convolve(x, this->weight, next);
  }
  /// The layer's operation by another weight.
  template <TensorLike X, TensorLike W>
  [[nodiscard]] auto forward_by(const X& x, const W& w) const {
    return convolve(x, w, Activation::none);
  }

  /// The layer's operation, for a batch norm that measures its result; nothing if there is more to it, a bias or a
  /// border other than zeros.
  [[nodiscard]] std::optional<operation::Convolution> alone() const {
    if (options_.bias || options_.padding_mode != PadMode::constant) return std::nullopt;
    return locus::detail::conv2d(detail::functional(options_));
  }
  [[nodiscard]] detail::WeightUse weight_use() const { return {.groups = options_.groups}; }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return detail::conv_text(this->weight.size(1) * options_.groups, this->weight.size(0), kernel_, options_);
  }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E> [[nodiscard]] auto twin() const { return Conv2d<U, E>(kernel_, options_); }

 private:
  template <class, class>
  friend class Conv2d;
  Conv2d(const Size2d& kernel, const Conv2dOptions& options) : kernel_(kernel), options_(options) {}

  static Shape checked(std::int64_t in, std::int64_t out, const Size2d& kernel, const Conv2dOptions& options) {
    (void)locus::detail::conv2d({options.stride, options.padding, options.dilation, options.groups});
    detail::require_channels("Conv2d", in, out, {kernel, 1}, options.groups);
    return {out, in / options.groups, kernel.height, kernel.width};
  }
  template <class X, class W>
  [[nodiscard]] auto convolve(const X& x, const W& w, Activation next) const {
    if (options_.padding_mode == PadMode::constant) return convolve_padded(x, w, next);
    const auto request = locus::detail::conv2d({1, options_.padding, options_.dilation, 1}).request;
    const auto rows = request.sides(1, kernel_.height), cols = request.sides(2, kernel_.width);
    return convolve_padded(pad(x, {cols.before, cols.after, rows.before, rows.after}, options_.padding_mode), w, next);
  }
  template <class X, class W>
  [[nodiscard]] auto convolve_padded(const X& x, const W& w, Activation next) const {
    const detail::ObservedCall call({this, &typeid(Conv2d)}, x);
    auto y = conv2d(x, w, this->bias, detail::functional(options_, next));
    call.end(y);
    return y;
  }

  Size2d kernel_;
  Conv2dOptions options_;
};
#define LOCUS_REFUSED_LAYER Conv2d
#include <locus/refuse/nn/no_types.inc>

/// See locus::conv1d. Parameters: weight (out, in / groups, k), bias (out), both initialized as in PyTorch.
/// cost: conv1d, and pad if padding_mode is not constant
template <class T, class D>
class Conv1d final : public detail::ConvLayer<Conv1d<T, D>, T, D> {
 public:
  /// throws ArgumentError for no channels, groups that do not divide them, and options that conv1d refuses
  Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel, const Conv1dOptions& options = {}, D device = {})
      : detail::ConvLayer<Conv1d, T, D>(checked(in, out, kernel, options), out, options.bias, device),
        kernel_(kernel),
        options_(options) {}
#include <locus/refuse/nn/conv1d_class.inc>

  template <TensorLike X> [[nodiscard]] auto forward(const X& x) const { return forward_with(x, Activation::none); }

  /// Activations that forward_with computes.
  [[nodiscard]] static constexpr bool absorbs(Activation next) { return detail::is_none_or_relu(next); }
  /// relu(forward(x)), or forward(x) if `next` is none: option `relu` of conv1d. throws ArgumentError for other
  /// activations
  template <TensorLike X>
  [[nodiscard]] auto forward_with(const X& x, Activation next) const {
    return convolve(x, this->weight, next);
  }
  /// The layer's operation by another weight.
  template <TensorLike X, TensorLike W>
  [[nodiscard]] auto forward_by(const X& x, const W& w) const {
    return convolve(x, w, Activation::none);
  }

  [[nodiscard]] detail::WeightUse weight_use() const { return {.groups = options_.groups}; }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return detail::conv_text(this->weight.size(1) * options_.groups, this->weight.size(0), kernel_, options_);
  }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E> [[nodiscard]] auto twin() const { return Conv1d<U, E>(kernel_, options_); }

 private:
  template <class, class>
  friend class Conv1d;
  Conv1d(std::int64_t kernel, const Conv1dOptions& options) : kernel_(kernel), options_(options) {}

  static Shape checked(std::int64_t in, std::int64_t out, std::int64_t kernel, const Conv1dOptions& options) {
    (void)locus::detail::conv1d({options.stride, options.padding, options.dilation, options.groups});
    detail::require_channels("Conv1d", in, out, {kernel, 1}, options.groups);
    return {out, in / options.groups, kernel};
  }
  template <class X, class W>
  [[nodiscard]] auto convolve(const X& x, const W& w, Activation next) const {
    if (options_.padding_mode == PadMode::constant) return convolve_padded(x, w, next);
    const auto request = locus::detail::conv1d({1, options_.padding, options_.dilation, 1}).request;
    const auto border = request.sides(2, kernel_);
    return convolve_padded(pad(x, {border.before, border.after}, options_.padding_mode), w, next);
  }
  template <class X, class W>
  [[nodiscard]] auto convolve_padded(const X& x, const W& w, Activation next) const {
    const detail::ObservedCall call({this, &typeid(Conv1d)}, x);
    auto y = conv1d(x, w, this->bias, detail::functional(options_, next));
    call.end(y);
    return y;
  }

  std::int64_t kernel_;
  Conv1dOptions options_;
};
#define LOCUS_REFUSED_LAYER Conv1d
#include <locus/refuse/nn/no_types.inc>

/// See locus::conv_transpose2d. Parameters: weight (in, out / groups, kh, kw), bias (out), both initialized as in
/// PyTorch. cost: as conv_transpose2d
template <class T, class D>
class ConvTranspose2d final : public detail::ConvLayer<ConvTranspose2d<T, D>, T, D> {
 public:
  /// throws ArgumentError for no channels, groups that do not divide them, and options that conv_transpose2d refuses
  ConvTranspose2d(std::int64_t in, std::int64_t out, Size2d kernel, const ConvTranspose2dOptions& options = {},
                  D device = {})
      : detail::ConvLayer<ConvTranspose2d, T, D>(checked(in, out, kernel, options), out, options.bias, device),
        options_(options) {}
#include <locus/refuse/nn/conv_transpose2d_class.inc>

  template <TensorLike X> [[nodiscard]] auto forward(const X& x) const { return forward_by(x, this->weight); }
  /// The layer's operation by another weight.
  template <TensorLike X, TensorLike W>
  [[nodiscard]] auto forward_by(const X& x, const W& w) const {
    return conv_transpose2d(x, w, this->bias, functional(options_));
  }

  [[nodiscard]] detail::WeightUse weight_use() const { return {.transposed = true, .groups = options_.groups}; }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    const Shape& shape = this->weight.shape();
    return detail::conv_text(shape[0], shape[1] * options_.groups, Size2d(shape[2], shape[3]), options_);
  }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E> [[nodiscard]] auto twin() const { return ConvTranspose2d<U, E>(options_); }

 private:
  template <class, class>
  friend class ConvTranspose2d;
  explicit ConvTranspose2d(const ConvTranspose2dOptions& options) : options_(options) {}

  static locus::ConvTranspose2dOptions functional(const ConvTranspose2dOptions& options) {
    return {options.stride, options.padding, options.output_padding, options.groups, options.dilation, options.exact};
  }
  static Shape checked(std::int64_t in, std::int64_t out, const Size2d& kernel, const ConvTranspose2dOptions& options) {
    (void)locus::detail::conv_transpose2d(functional(options));
    detail::require_channels("ConvTranspose2d", in, out, {kernel, 1}, options.groups);
    return {in, out / options.groups, kernel.height, kernel.width};
  }

  ConvTranspose2dOptions options_;
};
#define LOCUS_REFUSED_LAYER ConvTranspose2d
#include <locus/refuse/nn/no_types.inc>

/// See locus::conv_transpose1d. Parameters: weight (in, out / groups, k), bias (out), both initialized as in PyTorch.
/// cost: as conv_transpose1d
template <class T, class D>
class ConvTranspose1d final : public detail::ConvLayer<ConvTranspose1d<T, D>, T, D> {
 public:
  /// throws ArgumentError for no channels, groups that do not divide them, and options that conv_transpose1d refuses
  ConvTranspose1d(std::int64_t in, std::int64_t out, std::int64_t kernel, const ConvTranspose1dOptions& options = {},
                  D device = {})
      : detail::ConvLayer<ConvTranspose1d, T, D>(checked(in, out, kernel, options), out, options.bias, device),
        options_(options) {}
#include <locus/refuse/nn/conv_transpose1d_class.inc>

  template <TensorLike X> [[nodiscard]] auto forward(const X& x) const { return forward_by(x, this->weight); }
  /// The layer's operation by another weight.
  template <TensorLike X, TensorLike W>
  [[nodiscard]] auto forward_by(const X& x, const W& w) const {
    return conv_transpose1d(x, w, this->bias, functional(options_));
  }

  [[nodiscard]] detail::WeightUse weight_use() const { return {.transposed = true, .groups = options_.groups}; }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    const Shape& shape = this->weight.shape();
    return detail::conv_text(shape[0], shape[1] * options_.groups, shape[2], options_);
  }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E> [[nodiscard]] auto twin() const { return ConvTranspose1d<U, E>(options_); }

 private:
  template <class, class>
  friend class ConvTranspose1d;
  explicit ConvTranspose1d(const ConvTranspose1dOptions& options) : options_(options) {}

  static locus::ConvTranspose1dOptions functional(const ConvTranspose1dOptions& options) {
    return {options.stride, options.padding, options.output_padding, options.groups, options.dilation};
  }
  static Shape checked(std::int64_t in, std::int64_t out, std::int64_t kernel, const ConvTranspose1dOptions& options) {
    (void)locus::detail::conv_transpose1d(functional(options));
    detail::require_channels("ConvTranspose1d", in, out, {kernel, 1}, options.groups);
    return {in, out / options.groups, kernel};
  }

  ConvTranspose1dOptions options_;
};
#define LOCUS_REFUSED_LAYER ConvTranspose1d
#include <locus/refuse/nn/no_types.inc>

}}}  // namespace locus::LOCUS_ABI::nn
