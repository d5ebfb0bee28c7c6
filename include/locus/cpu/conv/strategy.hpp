#pragma once
// How a pass of a convolution is computed on the host. The choice is here, not in device/convolution.hpp, because it
// depends on the processor; the last three strategies are common to all devices, and conv_verbs chooses among them.

#include <locus/core/element_type.hpp>
#include <locus/device/convolution.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

/// The strategies, in the order in which they are tried.
enum class ConvStrategy {
  depthwise_lanes,
  depthwise_planes,
  widened,
  winograd,
  direct,
  windows,
  each,
  product,
  columns,
};

/// The strategy that is tried next; columns are the last.
[[nodiscard]] constexpr ConvStrategy next(ConvStrategy strategy) {
  return static_cast<ConvStrategy>(static_cast<int>(strategy) + 1);
}

/// How a processor multiplies bfloat16: as floats, by pairs (Isa::avx512_bf16), or by tiles (Isa::amx_bf16).
enum class Bfloat16Products { floats, pairs, tiles };

/// All that the choice depends on.
struct ConvCase {
  ConvPass pass;
  ElementType type;
  const ConvShape& shape;
  bool has_lanes = true;       ///< strides: channels can be brought side by side a row at a time, or lie so already
  bool has_one_stride = true;  ///< strides: the elements of a channel have one
  Bfloat16Products products = Bfloat16Products::floats;
  bool allows_winograd = true;  ///< winograd_is_allowed()
};

namespace detail {
/// Whether images have two dimensions.
[[nodiscard]] inline bool is_flat(const ConvShape& shape) {
  return shape.axis[0].extent == 1 && shape.axis[0].is_plain();
}
/// Whether groups have one input channel and one to four output channels, in images of two dimensions.
[[nodiscard]] inline bool is_depthwise(const ConvShape& shape) {
  return shape.groups > 1 && shape.group_in() == 1 && shape.group_out() >= 1 && shape.group_out() <= 4 &&
         is_flat(shape);
}
/// Whether windows of the gradient of an input can be convolved densely: other passes may have any dilation.
[[nodiscard]] inline bool has_dense_taps(const ConvCase& conv) {
  return conv.pass != ConvPass::input_gradient ||
         (conv.shape.axis[1].dilation == 1 && conv.shape.axis[2].dilation == 1);
}
/// Whether Winograd's convolution is right for a shape, and faster: from about eight tiles and sixteen channels.
[[nodiscard]] inline bool suits_winograd(const ConvCase& conv) {
  const ConvShape& shape = conv.shape;
  const ConvAxis &rows = shape.axis[1], &cols = shape.axis[2];
  const auto fits = [](const ConvAxis& axis) {
    return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1 && axis.before <= 2;
  };
  const std::int64_t tiles = shape.batch * ((rows.outputs + 3) / 4) * ((cols.outputs + 3) / 4);
  return !shape.exact && conv.allows_winograd && shape.groups == 1 && is_flat(shape) && fits(rows) && fits(cols) &&
         tiles >= 8 && shape.in >= 16 && shape.out >= 16;
}
/// Whether the direct convolution suits a shape: channels fill lanes. With fewer, columns are small. A pointwise
/// convolution is left to the matrix product. In the gradient of the input, each empty lane of 32 results costs as many
/// multiply-adds as channels are summed, and an element of columns about 128.
[[nodiscard]] inline bool suits_direct(const ConvCase& conv) {
  const ConvShape& shape = conv.shape;
  if (shape.groups != 1 || !is_flat(shape) || shape.in * shape.out < 16) return false;
  if (conv.pass == ConvPass::weight_gradient) return true;
  return !shape.is_pointwise() && has_dense_taps(conv) &&
         (conv.pass == ConvPass::value || shape.out * (32 - shape.in) < 128 * shape.in);
}
/// Whether products of windows of bfloat16 suit a shape: shapes that fill less than half of the tiles are left to
/// columns.
[[nodiscard]] inline bool suits_windows(const ConvShape& shape) {
  return is_flat(shape) && shape.group_in() * shape.taps() >= 16 && shape.group_out() >= 8 && shape.outputs() >= 8;
}
/// Whether bfloat16 is faster as float: without instructions for it, and where Winograd's transforms save more than
/// pairs do.
[[nodiscard]] inline bool is_faster_widened(const ConvCase& conv) {
  if (conv.products == Bfloat16Products::floats) return true;
  return conv.products == Bfloat16Products::pairs && conv.shape.in >= 32 && conv.shape.out >= 32 &&
         suits_winograd(conv);
}

/// Whether a strategy may compute a pass. docs/performance.md has the rows of this table, which
/// tests/docs/convolution_table.py copies.
[[nodiscard]] inline bool suits(ConvStrategy strategy, const ConvCase& conv) {
  const bool is_float = conv.type == ElementType::float32, is_bfloat16 = conv.type == ElementType::bfloat16;
  const auto by = [&](ConvVerbs verbs) { return conv_verbs(conv.pass, conv.shape, conv.has_one_stride) == verbs; };
  switch (strategy) {
    // sixteen groups side by side | float, bfloat16 | from eight groups of one channel in and one to four out, in two
    //   dimensions; for the gradient of the input without dilation; in place where floats are channels-last, of as many
    //   channels in as out, a multiple of 16
    case ConvStrategy::depthwise_lanes:
      return (is_float || is_bfloat16) && is_depthwise(conv.shape) && conv.shape.groups >= 8 && has_dense_taps(conv);
    // planes of a group | float, bfloat16 | groups of one channel in and one to four out, in two dimensions
    case ConvStrategy::depthwise_planes: return (is_float || is_bfloat16) && is_depthwise(conv.shape);
    // operands become float | half; bfloat16 | half: all; bfloat16: all without `Isa::avx512_bf16`; without
    //   `Isa::amx_bf16`, from 32 channels in and out, where Winograd's algorithm applies
    case ConvStrategy::widened: return conv.type == ElementType::float16 || (is_bfloat16 && is_faster_widened(conv));
    // Winograd's algorithm | float | one group, kernels of 3 x 3, stride 1, no dilation, padding of at most 2, from
    //   eight tiles of 4 x 4 results and 16 channels in and out; not with `.exact` or `LOCUS_WINOGRAD=0`
    case ConvStrategy::winograd: return is_float && conv.has_lanes && suits_winograd(conv);
    // direct products of windows | float | one group in two dimensions, from 16 products of a channel in and one out;
    //   windows of one element with stride 1 for the gradient of the weights alone; for the gradient of the input
    //   without dilation, and if out (32 - in) < 128 in
    case ConvStrategy::direct: return is_float && conv.has_lanes && suits_direct(conv);
    // products of windows of bfloat16 | bfloat16 | two dimensions, from 8 channels out in a group, 16 elements in a
    //   window and 8 windows in an image
    case ConvStrategy::windows:
      return is_bfloat16 && conv.products != Bfloat16Products::floats && suits_windows(conv.shape);
    // each result by itself | all | several groups of at most four channels in and out
    case ConvStrategy::each: return by(ConvVerbs::each);
    // one product of channels | all | windows of one element with stride 1; not for the gradient of the weights
    case ConvStrategy::product: return by(ConvVerbs::product);
    // products over columns of windows | all | everything else
    case ConvStrategy::columns: return true;
  }
  return false;
}
}  // namespace detail

/// The first strategy, from `first` on, that may compute a pass. If it would take more memory than most_scratch, the
/// caller asks for the next one.
[[nodiscard]] inline ConvStrategy conv_strategy(const ConvCase& conv,
                                                ConvStrategy first = ConvStrategy::depthwise_lanes) {
  while (!detail::suits(first, conv)) first = next(first);
  return first;
}

}}}  // namespace locus::LOCUS_ABI::cpu
