#pragma once
// A pass of a convolution in cuDNN's terms.

#include <locus/core/shape.hpp>
#include <locus/cuda/cudnn/switches.hpp>
#include <locus/cuda/cudnn/types.hpp>
#include <locus/cuda/gemm_product.hpp>
#include <locus/device/convolution.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

enum class Pass { forward, input_gradient, weight_gradient };

/// Element types that cuDNN convolves, adding up in float. (Its engines of double are few, and slow.)
template <class T>
inline constexpr bool is_convolved = std::is_same_v<T, float> || std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

/// Dense images of a pass: channel after channel, or channels-last, with the channels of an element side by side.
struct Images {
  void* data = nullptr;
  bool channels_last = false;
};

/// One pass. It writes y (forward), x (input gradient) or w (weight gradient), and reads the other two. Weights are
/// (out, in / groups, taps), or (out, taps, in / groups) if images and results are channels-last.
struct ConvCall {
  Pass pass = Pass::forward;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  ConvShape shape;
  Images x, y;
  void* w = nullptr;
  bool accumulate = false;
  /// The epilogue of a value that is not accumulated, computed before rounding: an element of bias is added to each
  /// channel, and then relu applied. cuDNN's relu may turn NaN into 0.
  void* bias = nullptr;
  bool relu = false;
  /// An epilogue that is a launch of its own after this one, and belongs to the form because it is timed with it: 1 for
  /// a bias, 2 for relu, 3 for both.
  int finish = 0;
  /// Of a value that is neither accumulated nor has a bias: the sum of each channel of y, and after them the sums of
  /// squares. Null: not wanted.
  float* sums = nullptr;

  /// Whether floats may be rounded to TF32.
  [[nodiscard]] bool rounds_to_tf32() const { return tf32_convolutions_allowed() && !shape.exact; }
  [[nodiscard]] bool has_weights_channels_last() const { return x.channels_last && y.channels_last; }
  /// Spatial dimensions: 2 if ConvShape's first axis is plain and of extent 1, else 3.
  [[nodiscard]] int dims() const { return shape.axis[0].extent == 1 && shape.axis[0].is_plain() ? 2 : 3; }
  [[nodiscard]] const ConvAxis& axis(int d) const { return shape.axis[3 - dims() + d]; }
  [[nodiscard]] std::int64_t element() const { return type == CUDNN_DATA_FLOAT ? 4 : 2; }
  [[nodiscard]] std::int64_t x_elements() const { return shape.batch * shape.in * shape.inputs(); }
  [[nodiscard]] std::int64_t y_elements() const { return shape.batch * shape.out * shape.outputs(); }
  [[nodiscard]] std::int64_t w_elements() const { return shape.out * shape.group_in() * shape.taps(); }
  [[nodiscard]] bool has_epilogue() const { return bias || relu; }
  /// Whether the form serves only where timing chose it: sums and relu are less exact than by launches of their own.
  [[nodiscard]] bool must_be_timed() const { return sums || relu; }
  [[nodiscard]] float* squares() const { return sums + shape.out; }
  [[nodiscard]] void* result() const {
    return pass == Pass::forward ? y.data : pass == Pass::input_gradient ? x.data : w;
  }
  [[nodiscard]] std::int64_t result_bytes() const {
    return element() * (pass == Pass::forward          ? y_elements()
                        : pass == Pass::input_gradient ? x_elements()
                                                       : w_elements());
  }
  void set_result(void* data) { (pass == Pass::forward ? y.data : pass == Pass::input_gradient ? x.data : w) = data; }
  /// Workspace that the pass may take, in bytes, of so many that are free.
  [[nodiscard]] std::int64_t most_workspace(std::int64_t free) const {
    return locus::detail::smaller(locus::detail::larger(element() * w_elements(), cudnn_workspace_limit()), free);
  }
  /// Whether the batch may be processed in parts. Weight gradients of 16 bits may not: each part would round the sums.
  /// Neither may sums of channels.
  [[nodiscard]] bool is_divisible() const {
    return shape.batch > 1 && !sums && (pass != Pass::weight_gradient || type == CUDNN_DATA_FLOAT);
  }
  /// The same pass over `most` images from `first` on, or over the rest if fewer.
  [[nodiscard]] ConvCall part(std::int64_t first, std::int64_t most) const {
    ConvCall some = *this;
    some.shape.batch = locus::detail::smaller(most, shape.batch - first);
    some.x.data = static_cast<char*>(x.data) + element() * first * (x_elements() / shape.batch);
    some.y.data = static_cast<char*>(y.data) + element() * first * (y_elements() / shape.batch);
    some.accumulate |= first > 0 && pass == Pass::weight_gradient;
    return some;
  }
};

/// Zero padding after the end of an axis, in elements. -1 if windows leave out elements at the end: that would be
/// negative padding, which cuDNN does not take.
[[nodiscard]] inline std::int64_t padding_after(const ConvAxis& axis) {
  const std::int64_t reach = std::int64_t{axis.kernel - 1} * axis.dilation + 1;
  const std::int64_t span = std::int64_t{axis.extent} + 2 * std::int64_t{axis.before} - reach;
  if (span >= 0 && span / axis.stride + 1 == axis.outputs) return axis.before;
  const std::int64_t least = std::int64_t{axis.outputs - 1} * axis.stride + reach - axis.extent - axis.before;
  return least < 0 ? -1 : least;
}

/// As pass, operands and options: gradient of weights (8, 3, 3, 3) by images (2, 3, 5, 5) of float32, stride (1, 1) ...
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string text_of(const ConvCall& call) {
  const ConvShape& shape = call.shape;
  Shape x{shape.batch, shape.in}, w{shape.out, shape.group_in()}, stride, padding, dilation;
  for (int d = 0; d < call.dims(); ++d) {
    const ConvAxis& axis = call.axis(d);
    x.push_back(axis.extent), w.push_back(axis.kernel), stride.push_back(axis.stride), padding.push_back(axis.before);
    dilation.push_back(axis.dilation);
  }
  return join(call.pass == Pass::forward          ? "convolution"
              : call.pass == Pass::input_gradient ? "input gradient of a convolution"
                                                  : "weight gradient of a convolution",
              call.bias && call.relu ? " with bias and relu"
              : call.bias            ? " with bias"
              : call.relu            ? " with relu"
              : call.sums            ? " with sums of its channels"
                                     : "",
              " of images ", x, " by weights ", w, " of ", name_of(call.type), ", stride ", stride, ", padding ",
              padding, ", dilation ", dilation, ", ", shape.groups, shape.groups == 1 ? " group" : " groups");
}

/// Alignment of an address in bytes, at most 16: the most that cuDNN's engines ask for.
[[nodiscard]] inline std::int64_t alignment_of(const void* data) {
  const std::int64_t alignment = cuda::detail::alignment_of(data, 0);
  return alignment < 16 ? alignment : 16;
}

/// All inputs of cuDNN's choice of an engine, besides its version and the GPU.
[[nodiscard]] inline cuda::detail::GemmPlanKey key_of(const ConvCall& call) {
  const ConvShape& shape = call.shape;
  const std::int64_t flags = call.x.channels_last + 2 * call.y.channels_last + 4 * call.accumulate + 8 * shape.exact +
                             16 * call.rounds_to_tf32() + 32 * nondeterministic_cudnn_allowed() +
                             64 * (call.sums != nullptr) + 128 * call.relu + 256 * call.finish;
  const std::int64_t of_bias = call.bias ? alignment_of(call.bias) : 0;  // 0: the pass alone
  const std::int64_t alignments =
      ((of_bias * 32 + alignment_of(call.x.data)) * 32 + alignment_of(call.y.data)) * 32 + alignment_of(call.w);
  cuda::detail::GemmPlanKey key{
      {static_cast<int>(call.pass), call.type, flags, alignments, shape.batch, shape.in, shape.out, shape.groups}};
  std::size_t at = 8;
  for (const ConvAxis& axis : shape.axis) {
    constexpr std::int64_t high = std::int64_t{1} << 32;
    key.values[at++] = axis.extent * high + axis.kernel;
    key.values[at++] = axis.stride * high + axis.dilation;
    key.values[at++] = axis.before * high + axis.outputs;
  }
  key.values[at] = cudnn_workspace_limit();
  return key;
}

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
