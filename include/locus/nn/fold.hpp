#pragma once
// Images as columns of their windows, and back. Not part of locus/locus.hpp.

#include <locus/nn/activation.hpp>
#include <locus/ops/im2col.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

namespace detail {
/// throws ArgumentError unless kernel, dilation and step are 1 or more, and the border 0 or more
LOCUS_OUT_OF_LINE inline void require_windows(const char* layer, const Size2d& kernel, const Size2d& dilation,
                                              const Size2d& padding, const Size2d& stride) {
  for (const Size2d& size : {kernel, dilation, stride})
    if (size.height < 1 || size.width < 1)
      fail<ArgumentError>({layer, ": a kernel of ", kernel, ", a dilation of ", dilation, " and a stride of ", stride,
                           "; expected 1 or more of each"});
  locus::detail::require_padding(layer, padding);
}
}  // namespace detail

/// See locus::im2col: torch.nn.Unfold, with its order of arguments.
/// shape: (batch, c, h, w) -> (batch, c kh kw, windows)     throws ArgumentError
struct Unfold final : Stateless<Unfold> {
  Size2d kernel, dilation, padding, stride;
  explicit Unfold(Size2d kernel_size, Size2d apart = 1, Size2d border = 0, Size2d step = 1)
      : kernel(kernel_size), dilation(apart), padding(border), stride(step) {
    detail::require_windows("Unfold", kernel, dilation, padding, stride);
  }
  [[nodiscard]] auto forward(const auto& x) const { return im2col(x, kernel, dilation, padding, stride); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join("kernel_size=", kernel, ", dilation=", dilation, ", padding=", padding, ", stride=", stride);
  }
};
/// See locus::col2im: torch.nn.Fold, with its order of arguments.
/// shape: (batch, c kh kw, windows) -> (batch, c, size)     throws ArgumentError
struct Fold final : Stateless<Fold> {
  Size2d size, kernel, dilation, padding, stride;
  Fold(Size2d output_size, Size2d kernel_size, Size2d apart = 1, Size2d border = 0, Size2d step = 1)
      : size(output_size), kernel(kernel_size), dilation(apart), padding(border), stride(step) {
    detail::require_windows("Fold", kernel, dilation, padding, stride);
  }
  [[nodiscard]] auto forward(const auto& x) const { return col2im(x, size, kernel, dilation, padding, stride); }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join("output_size=", size, ", kernel_size=", kernel, ", dilation=", dilation, ", padding=", padding,
                ", stride=", stride);
  }
};

}}}  // namespace locus::LOCUS_ABI::nn
