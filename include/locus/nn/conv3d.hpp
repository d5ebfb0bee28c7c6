#pragma once
// The convolution layers of volumes. Not part of locus/locus.hpp.

#include <locus/nn/conv.hpp>
#include <locus/ops/conv3d.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// PyTorch's, with its defaults.
struct Conv3dOptions {
  Size3d stride = 1;
  ConvPadding<Size3d> padding = 0;  ///< a number, {depth, height, width}, or "same"
  Size3d dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  PadMode padding_mode = PadMode::constant;  ///< fill of the border; constant: zeros
};

/// See locus::conv3d. Parameters: weight (out, in / groups, kd, kh, kw), bias (out), both initialized as in PyTorch.
/// cost: conv3d, and pad if padding_mode is not constant
///
///     nn::Conv3d<float, D> conv{1, 16, {1, 3, 3}, {.padding = {0, 1, 1}}};
template <class T, class D>
class Conv3d final : public detail::ConvLayer<Conv3d<T, D>, T, D> {
 public:
  /// throws ArgumentError for no channels, groups that do not divide them, and options that conv3d refuses
  Conv3d(std::int64_t in, std::int64_t out, Size3d kernel, const Conv3dOptions& options = {}, D device = {})
      : detail::ConvLayer<Conv3d, T, D>(checked(in, out, kernel, options), out, options.bias, device),
        kernel_(kernel),
        options_(options) {}

  template <TensorLike X> [[nodiscard]] auto forward(const X& x) const { return forward_with(x, Activation::none); }

  /// Activations that forward_with computes.
  [[nodiscard]] static constexpr bool absorbs(Activation next) { return detail::is_none_or_relu(next); }
  /// relu(forward(x)), or forward(x) if `next` is none: option `relu` of conv3d. throws ArgumentError for other
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
  template <class U, class E> [[nodiscard]] auto twin() const { return Conv3d<U, E>(kernel_, options_); }

 private:
  template <class, class>
  friend class Conv3d;
  Conv3d(const Size3d& kernel, const Conv3dOptions& options) : kernel_(kernel), options_(options) {}

  template <class X, class W>
  [[nodiscard]] auto convolve(const X& x, const W& w, Activation next) const {
    locus::Conv3dOptions options{options_.stride, options_.padding, options_.dilation, options_.groups,
                                 detail::is_relu(next)};
    if (options_.padding_mode == PadMode::constant) return conv3d(x, w, this->bias, options);
    const auto request = locus::detail::conv3d({1, options_.padding, options_.dilation, 1}).request;
    const auto planes = request.sides(0, kernel_.depth), rows = request.sides(1, kernel_.height),
               cols = request.sides(2, kernel_.width);
    const auto padded =
        pad(x, {cols.before, cols.after, rows.before, rows.after, planes.before, planes.after}, options_.padding_mode);
    options.padding = 0;
    return conv3d(padded, w, this->bias, options);
  }

  static Shape checked(std::int64_t in, std::int64_t out, const Size3d& kernel, const Conv3dOptions& options) {
    (void)locus::detail::conv3d({options.stride, options.padding, options.dilation, options.groups});
    detail::require_channels("Conv3d", in, out, {kernel, 1}, options.groups);
    return {out, in / options.groups, kernel.depth, kernel.height, kernel.width};
  }

  Size3d kernel_;
  Conv3dOptions options_;
};

struct ConvTranspose3dOptions {
  Size3d stride = 1, padding = 0, output_padding = 0;
  std::int64_t groups = 1;
  bool bias = true;
  Size3d dilation = 1;
};

/// See locus::conv_transpose3d. Parameters: weight (in, out / groups, kd, kh, kw), bias (out), both initialized as in
/// PyTorch. cost: as conv_transpose3d
template <class T, class D>
class ConvTranspose3d final : public detail::ConvLayer<ConvTranspose3d<T, D>, T, D> {
 public:
  /// throws ArgumentError for no channels, groups that do not divide them, and options that conv_transpose3d refuses
  ConvTranspose3d(std::int64_t in, std::int64_t out, Size3d kernel, const ConvTranspose3dOptions& options = {},
                  D device = {})
      : detail::ConvLayer<ConvTranspose3d, T, D>(checked(in, out, kernel, options), out, options.bias, device),
        options_(options) {}

  template <TensorLike X> [[nodiscard]] auto forward(const X& x) const { return forward_by(x, this->weight); }
  /// The layer's operation by another weight.
  template <TensorLike X, TensorLike W>
  [[nodiscard]] auto forward_by(const X& x, const W& w) const {
    return conv_transpose3d(x, w, this->bias, functional(options_));
  }

  [[nodiscard]] detail::WeightUse weight_use() const { return {.transposed = true, .groups = options_.groups}; }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    const Shape& shape = this->weight.shape();
    return detail::conv_text(shape[0], shape[1] * options_.groups, Size3d(shape[2], shape[3], shape[4]), options_);
  }
  /// A layer of the same configuration for U on E, without memory.
  template <class U, class E> [[nodiscard]] auto twin() const { return ConvTranspose3d<U, E>(options_); }

 private:
  template <class, class>
  friend class ConvTranspose3d;
  explicit ConvTranspose3d(const ConvTranspose3dOptions& options) : options_(options) {}

  static locus::ConvTranspose3dOptions functional(const ConvTranspose3dOptions& options) {
    return {options.stride, options.padding, options.output_padding, options.groups, options.dilation};
  }
  static Shape checked(std::int64_t in, std::int64_t out, const Size3d& kernel, const ConvTranspose3dOptions& options) {
    (void)locus::detail::conv_transpose3d(functional(options));
    detail::require_channels("ConvTranspose3d", in, out, {kernel, 1}, options.groups);
    return {in, out / options.groups, kernel.depth, kernel.height, kernel.width};
  }

  ConvTranspose3dOptions options_;
};

}}}  // namespace locus::LOCUS_ABI::nn
