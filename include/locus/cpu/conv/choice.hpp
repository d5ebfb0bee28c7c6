#pragma once
// Which way a pass of a convolution is computed on the host. The choice is here, not in device/convolution.hpp, because
// it depends on the processor; the last three ways are common to all devices, and conv_verbs chooses among them.

#include <locus/core/element_type.hpp>
#include <locus/device/convolution.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

/// The ways, in the order in which they are tried.
enum class ConvWay {
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

/// The way that is tried after one; columns are the last.
[[nodiscard]] constexpr ConvWay next(ConvWay way) { return static_cast<ConvWay>(static_cast<int>(way) + 1); }

/// How a processor multiplies bfloat16: as floats, by pairs (Isa::avx512_bf16), or by tiles (Isa::amx_bf16).
enum class Products16 { floats, pairs, tiles };

/// All that the choice depends on.
struct ConvCase {
  ConvPass pass;
  ElementType type;
  const ConvShape& shape;
  bool has_lanes = true;       ///< strides: channels can be brought side by side a row at a time, or lie so already
  bool has_one_stride = true;  ///< strides: the elements of a channel have one
  Products16 products = Products16::floats;
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
[[nodiscard]] inline bool has_dense_taps(const ConvCase& of) {
  return of.pass != ConvPass::input_gradient || (of.shape.axis[1].dilation == 1 && of.shape.axis[2].dilation == 1);
}
/// Whether Winograd's convolution is right for a shape, and faster: from about eight tiles and sixteen channels.
[[nodiscard]] inline bool suits_winograd(const ConvCase& of) {
  const ConvShape& shape = of.shape;
  const ConvAxis &rows = shape.axis[1], &cols = shape.axis[2];
  const auto fits = [](const ConvAxis& axis) {
    return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1 && axis.before <= 2;
  };
  const std::int64_t tiles = shape.batch * ((rows.outputs + 3) / 4) * ((cols.outputs + 3) / 4);
  return !shape.exact && of.allows_winograd && shape.groups == 1 && is_flat(shape) && fits(rows) && fits(cols) &&
         tiles >= 8 && shape.in >= 16 && shape.out >= 16;
}
/// Whether the direct convolution suits a shape: channels fill lanes. With fewer, columns are small. A pointwise
/// convolution is left to the matrix product. In the gradient of the input, each empty lane of 32 results costs as many
/// multiply-adds as channels are summed, and an element of columns about 128.
[[nodiscard]] inline bool suits_direct(const ConvCase& of) {
  const ConvShape& shape = of.shape;
  if (shape.groups != 1 || !is_flat(shape) || shape.in * shape.out < 16) return false;
  if (of.pass == ConvPass::weight_gradient) return true;
  return !shape.is_pointwise() && has_dense_taps(of) &&
         (of.pass == ConvPass::value || shape.out * (32 - shape.in) < 128 * shape.in);
}
/// Whether products of windows of bfloat16 suit a shape: shapes that fill less than half of the tiles are left to
/// columns.
[[nodiscard]] inline bool suits_windows(const ConvShape& shape) {
  return is_flat(shape) && shape.group_in() * shape.taps() >= 16 && shape.group_out() >= 8 && shape.outputs() >= 8;
}
/// Whether bfloat16 is faster as float: without instructions for it, and where Winograd's transforms save more than
/// pairs do.
[[nodiscard]] inline bool is_faster_widened(const ConvCase& of) {
  if (of.products == Products16::floats) return true;
  return of.products == Products16::pairs && of.shape.in >= 32 && of.shape.out >= 32 && suits_winograd(of);
}

/// Whether a way may compute a pass. docs/performance.md has the rows of this table, which
/// tests/docs/convolution_table.py copies.
[[nodiscard]] inline bool suits(ConvWay way, const ConvCase& of) {
  const bool is_float = of.type == ElementType::float32, is_bfloat16 = of.type == ElementType::bfloat16;
  const auto by = [&](ConvVerbs verbs) { return conv_verbs(of.pass, of.shape, of.has_one_stride) == verbs; };
  switch (way) {
    // sixteen groups side by side | float, bfloat16 | from eight groups of one channel in and one to four out, in two
    //   dimensions; for the gradient of the input without dilation
    case ConvWay::depthwise_lanes:
      return (is_float || is_bfloat16) && is_depthwise(of.shape) && of.shape.groups >= 8 && has_dense_taps(of);
    // planes of a group | float, bfloat16 | groups of one channel in and one to four out, in two dimensions
    case ConvWay::depthwise_planes: return (is_float || is_bfloat16) && is_depthwise(of.shape);
    // operands become float | half; bfloat16 | half: all; bfloat16: all without `Isa::avx512_bf16`; without
    //   `Isa::amx_bf16`, from 32 channels in and out, where Winograd's algorithm applies
    case ConvWay::widened: return of.type == ElementType::float16 || (is_bfloat16 && is_faster_widened(of));
    // Winograd's algorithm | float | one group, kernels of 3 x 3, stride 1, no dilation, padding of at most 2, from
    //   eight tiles of 4 x 4 results and 16 channels in and out; not with `.exact` or `LOCUS_WINOGRAD=0`
    case ConvWay::winograd: return is_float && of.has_lanes && suits_winograd(of);
    // direct products of windows | float | one group in two dimensions, from 16 products of a channel in and one out;
    //   windows of one element with stride 1 for the gradient of the weights alone; for the gradient of the input
    //   without dilation, and if out (32 - in) < 128 in
    case ConvWay::direct: return is_float && of.has_lanes && suits_direct(of);
    // products of windows of bfloat16 | bfloat16 | two dimensions, from 8 channels out in a group, 16 elements in a
    //   window and 8 windows in an image
    case ConvWay::windows: return is_bfloat16 && of.products != Products16::floats && suits_windows(of.shape);
    // each result by itself | all | several groups of at most four channels in and out
    case ConvWay::each: return by(ConvVerbs::each);
    // one product of channels | all | windows of one element with stride 1; not for the gradient of the weights
    case ConvWay::product: return by(ConvVerbs::product);
    // products over columns of windows | all | everything else
    case ConvWay::columns: return true;
  }
  return false;
}
}  // namespace detail

/// The first way, from `first` on, that may compute a pass. Where it would take more memory than most_scratch, the next
/// one is asked for.
[[nodiscard]] inline ConvWay conv_way(const ConvCase& of, ConvWay first = ConvWay::depthwise_lanes) {
  while (!detail::suits(first, of)) first = next(first);
  return first;
}

}}}  // namespace locus::LOCUS_ABI::cpu
