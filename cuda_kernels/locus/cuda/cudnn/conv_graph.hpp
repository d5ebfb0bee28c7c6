#pragma once
// The cuDNN graph of one convolution pass, alone, with bias and relu or with sums of channels, and the engines that may
// compute it.

#include <locus/cuda/cudnn/conv_call.hpp>
#include <locus/cuda/cudnn/launch.hpp>
#include <locus/cuda/cudnn/operation_graph.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

/// Names of a pass's operands in the variant pack of a launch.
inline constexpr std::int64_t name_of_x = 'x', name_of_w = 'w', name_of_y = 'y', name_of_bias = 'b';
inline constexpr std::int64_t name_of_sums = 'm', name_of_squares = 'q';

namespace detail {
[[nodiscard]] inline Descriptor windows(Calls& calls, const ConvCall& call) {
  const std::int64_t dims = call.dims();
  std::int64_t stride[3], dilation[3], before[3], after[3];
  for (int d = 0; d < dims; ++d) {
    const ConvAxis& axis = call.axis(d);
    stride[d] = axis.stride, dilation[d] = axis.dilation, before[d] = axis.before, after[d] = padding_after(axis);
    if (after[d] < 0) calls.refuse(CUDNN_STATUS_NOT_SUPPORTED_PADDING, "windows that leave out the end of an image");
  }
  Descriptor it(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  calls.set(it, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  calls.set(it, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  calls.set(it, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, dims);
  calls.set(it, CUDNN_ATTR_CONVOLUTION_DILATIONS, dilation, dims);
  calls.set(it, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, stride, dims);
  calls.set(it, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, before, dims);
  calls.set(it, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, after, dims);
  calls.finalize(it, "cudnnBackendFinalize (a convolution)");
  return it;
}

[[nodiscard]] inline ConvolutionNames names_of(Pass pass) {
  if (pass == Pass::forward)
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
  if (pass == Pass::input_gradient)
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};
}
}  // namespace detail

/// The graph of a pass. Groups follow from the channels of images and weights.
class ConvGraph {
 public:
  ConvGraph(Calls& calls, const ConvCall& call)
      : graph_(calls), call_(call), windows_(detail::windows(calls, call)), extents_(extents_of(call)) {
    const T x = operand(name_of_x, call.x.data, extents_.x, call.x.channels_last);
    const T w = operand(name_of_w, call.w, extents_.w, call.has_weights_channels_last());
    const T y = operand(name_of_y, call.y.data, extents_.y, call.y.channels_last);
    const auto float_or_last = [&](bool is_last) {
      return is_last ? y : graph_.value(extents_.y, y.strides, CUDNN_DATA_FLOAT);
    };
    T sum = float_or_last(!call.has_epilogue());
    graph_.convolution(detail::names_of(call.pass), windows_, x, w, sum, call.accumulate);
    if (call.bias)
      sum = graph_.pointwise(CUDNN_POINTWISE_ADD, sum, of_channels(name_of_bias, call.bias, call.type),
                             float_or_last(!call.relu));
    if (call.relu) graph_.pointwise(CUDNN_POINTWISE_RELU_FWD, sum, y);
    if (call.sums)
      graph_.channel_sums(y, of_channels(name_of_sums, call.sums, CUDNN_DATA_FLOAT),
                          of_channels(name_of_squares, call.squares(), CUDNN_DATA_FLOAT));
  }
  /// This object must live while cuDNN is queried about the graph.
  [[nodiscard]] Descriptor finish(const Machine& machine) { return graph_.finish(machine); }

 private:
  using T = GraphTensor;
  struct Extents {
    Shape x, w, y, channels;
  };
  [[nodiscard]] static Extents extents_of(const ConvCall& call) {
    const ConvShape& shape = call.shape;
    Extents it{{shape.batch, shape.in}, {shape.out, shape.group_in()}, {shape.batch, shape.out}, {1, shape.out}};
    for (int d = 0; d < call.dims(); ++d) {
      const ConvAxis& axis = call.axis(d);
      it.x.push_back(axis.extent), it.w.push_back(axis.kernel), it.y.push_back(axis.outputs), it.channels.push_back(1);
    }
    return it;
  }
  /// Strides of a dense tensor (first, second, rest...).
  [[nodiscard]] static Strides dense(const Shape& extents, bool channels_last) {
    Strides strides = row_major(extents);
    if (!channels_last) return strides;
    std::int64_t stride = extents[1];
    for (int d = extents.rank() - 1; d >= 2; --d) strides[d] = stride, stride *= extents[d];
    strides[0] = stride, strides[1] = 1;
    return strides;
  }
  [[nodiscard]] T operand(std::int64_t name, const void* data, const Shape& extents, bool channels_last) {
    return graph_.operand(name, call_.type, extents, dense(extents, channels_last), alignment_of(data));
  }
  /// An element for each channel of the result.
  [[nodiscard]] T of_channels(std::int64_t name, const void* data, cudnnDataType_t type) {
    return graph_.operand(name, type, extents_.channels, dense(extents_.channels, call_.y.channels_last),
                          alignment_of(data));
  }

  OperationGraph graph_;
  const ConvCall& call_;
  Descriptor windows_;
  Extents extents_;
};

[[nodiscard]] inline Operands operands_of(const ConvCall& call) {
  Operands it;
  it.add(name_of_x, call.x.data, call.pass == Pass::input_gradient);
  it.add(name_of_w, call.w, call.pass == Pass::weight_gradient);
  it.add(name_of_y, call.y.data, call.pass == Pass::forward);
  if (call.bias) it.add(name_of_bias, call.bias);
  if (call.sums) it.add(name_of_sums, call.sums, true), it.add(name_of_squares, call.squares(), true);
  return it;
}
[[nodiscard]] inline LaunchName launch_name(const ConvCall& call) {
  return {"convolution", {call.shape.batch, call.shape.in, call.shape.out, call.shape.outputs()}};
}
[[nodiscard]] LOCUS_COLD inline locus::detail::LaunchDescription description_of(const ConvCall& call) {
  const ConvShape& shape = call.shape;
  const std::int64_t depth = shape.group_in() * shape.taps();
  const char* const verb = call.bias && call.relu              ? "convolution with bias and relu by cuDNN"
                           : call.bias                         ? "convolution with bias by cuDNN"
                           : call.relu                         ? "convolution with relu by cuDNN"
                           : call.sums                         ? "convolution with sums of its channels by cuDNN"
                           : call.pass == Pass::forward        ? "convolution by cuDNN"
                           : call.pass == Pass::input_gradient ? "convolution's input gradient by cuDNN"
                                                               : "convolution's weight gradient by cuDNN";
  return {verb, nullptr, Shape{shape.batch, shape.out, shape.outputs(), depth},
          call.element() * (call.x_elements() + call.y_elements() + call.w_elements()),
          2. * static_cast<double>(call.y_elements()) * static_cast<double>(depth)};
}

/// Whether an engine keeps Locus's promises: sums in float, deterministic unless the program allows otherwise; where
/// the convolution must be exact, neither TF32 nor transforms.
[[nodiscard]] inline bool is_allowed(const ConvCall& call, const cudnnBackendNumericalNote_t* notes,
                                     std::int64_t count) {
  const bool is_float = call.type == CUDNN_DATA_FLOAT;
  for (std::int64_t i = 0; i < count; ++i) {
    switch (notes[i]) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        if (is_float && !call.rounds_to_tf32()) return false;
        break;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION: return false;
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        if (!nondeterministic_cudnn_allowed()) return false;
        break;
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        if (call.shape.exact) return false;
        break;
      default: break;
    }
  }
  return true;
}

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
