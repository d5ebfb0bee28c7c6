#pragma once
// The cuDNN graph of one convolution pass, alone, with a bias or with sums of channels, the engines that may compute
// it, and entries of the plan file for them.

#include <locus/cuda/cudnn/engines.hpp>
#include <locus/cuda/plan_file.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

/// Names of a pass's operands in the variant pack of a launch.
inline constexpr std::int64_t name_of_x = 'x', name_of_w = 'w', name_of_y = 'y', name_of_bias = 'b';
inline constexpr std::int64_t name_of_sums = 'm', name_of_squares = 'q';

namespace detail {
/// A dense tensor (first, second, rest...). Without memory: one of floats between two operations of a graph.
[[nodiscard]] inline Descriptor tensor(Calls& calls, const ConvCall& call, std::int64_t name, const void* data,
                                       const std::int64_t (&extents)[5], bool channels_last, cudnnDataType_t type) {
  const int rank = call.dims() + 2;
  std::int64_t strides[5], stride = channels_last ? extents[1] : 1;
  for (int d = rank - 1; d >= 2; --d) strides[d] = stride, stride *= extents[d];
  strides[1] = channels_last ? 1 : stride;
  strides[0] = channels_last ? stride : stride * extents[1];
  Descriptor it(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  calls.set(it, CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  calls.set(it, CUDNN_ATTR_TENSOR_DIMENSIONS, extents, rank);
  calls.set(it, CUDNN_ATTR_TENSOR_STRIDES, strides, rank);
  calls.set(it, CUDNN_ATTR_TENSOR_UNIQUE_ID, name);
  calls.set(it, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, data ? alignment_of(data) : std::int64_t{16});
  if (!data) calls.set(it, CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  calls.finalize(it, "cudnnBackendFinalize (a tensor)");
  return it;
}

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

/// Names of a pass's descriptor and attributes.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t alpha, beta, windows, x, w, y;
};
[[nodiscard]] inline OperationNames names_of(Pass pass) {
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
/// The operation y = sum + bias, in float.
[[nodiscard]] inline Descriptor addition(Calls& calls, const Descriptor& sum, const Descriptor& bias,
                                         const Descriptor& y) {
  const Descriptor add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  calls.set(add, CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
  calls.set(add, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  calls.finalize(add, "cudnnBackendFinalize (an addition)");
  Descriptor it(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  calls.set(it, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, add);
  calls.set(it, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, sum);
  calls.set(it, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, bias);
  calls.set(it, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  calls.finalize(it, "cudnnBackendFinalize (an addition of a bias)");
  return it;
}

/// The operation that sums the channels of y, and their squares, in float.
[[nodiscard]] inline Descriptor statistics(Calls& calls, const Descriptor& y, const Descriptor& sums,
                                           const Descriptor& squares) {
  Descriptor it(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
  calls.set(it, CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_GENSTATS_SUM_SQSUM);
  calls.set(it, CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_DATA_FLOAT);
  calls.set(it, CUDNN_ATTR_OPERATION_GENSTATS_XDESC, y);
  calls.set(it, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, sums);
  calls.set(it, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, squares);
  calls.finalize(it, "cudnnBackendFinalize (sums of channels)");
  return it;
}
}  // namespace detail

/// A graph of one or two operations, and the descriptors that it refers to: all must live while cuDNN is queried about
/// the graph.
struct ConvGraph {
  Descriptor windows, x, w, y, pass, graph;
  Descriptor sum{}, bias{};      ///< of a pass with a bias: its sum without
  Descriptor sums{}, squares{};  ///< of the channels
  Descriptor second{};           ///< operation: the addition of the bias, or the sums
};

/// A graph of the pass. Groups follow from the channels of images and weights.
[[nodiscard]] inline ConvGraph graph_of(Calls& calls, const Machine& machine, const ConvCall& call) {
  const ConvShape& shape = call.shape;
  std::int64_t x[5] = {shape.batch, shape.in}, w[5] = {shape.out, shape.group_in()}, y[5] = {shape.batch, shape.out};
  for (int d = 0; d < call.dims(); ++d) {
    const ConvAxis& axis = call.axis(d);
    x[d + 2] = axis.extent, w[d + 2] = axis.kernel, y[d + 2] = axis.outputs;
  }
  const detail::OperationNames names = detail::names_of(call.pass);
  ConvGraph it{detail::windows(calls, call),
               detail::tensor(calls, call, name_of_x, call.x.data, x, call.x.channels_last, call.type),
               detail::tensor(calls, call, name_of_w, call.w, w, call.has_weights_channels_last(), call.type),
               detail::tensor(calls, call, name_of_y, call.y.data, y, call.y.channels_last, call.type),
               Descriptor(names.type),
               Descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)};
  calls.set(it.pass, names.alpha, 1.f);
  calls.set(it.pass, names.beta, call.accumulate ? 1.f : 0.f);
  calls.set(it.pass, names.windows, it.windows);
  calls.set(it.pass, names.x, it.x);
  calls.set(it.pass, names.w, it.w);
  const bool last = call.y.channels_last;
  if (call.bias) it.sum = detail::tensor(calls, call, 's', nullptr, y, last, CUDNN_DATA_FLOAT);
  calls.set(it.pass, names.y, call.bias ? it.sum : it.y);
  calls.finalize(it.pass, "cudnnBackendFinalize (a pass of a convolution)");
  const std::int64_t channels[5] = {1, shape.out, 1, 1, 1};
  if (call.bias) {
    it.bias = detail::tensor(calls, call, name_of_bias, call.bias, channels, last, call.type);
    it.second = detail::addition(calls, it.sum, it.bias, it.y);
  } else if (call.sums) {
    it.sums = detail::tensor(calls, call, name_of_sums, call.sums, channels, last, CUDNN_DATA_FLOAT);
    it.squares = detail::tensor(calls, call, name_of_squares, call.squares(), channels, last, CUDNN_DATA_FLOAT);
    it.second = detail::statistics(calls, it.y, it.sums, it.squares);
  }
  const Descriptor operations[] = {it.pass, it.second};
  if (machine.handle) calls.set(it.graph, graph_handle, machine.handle);
  calls.set(it.graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operations, it.second ? 2 : 1);
  calls.finalize(it.graph, "cudnnBackendFinalize (a graph)");
  return it;
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

/// Knobs that a choice has room for, two in each word after the engine's: the type in 8 bits, the value in 24.
inline constexpr std::int64_t most_knobs = 14;

/// The choice where the verbs were faster than every engine; no engine has this index.
inline constexpr cuda::detail::GemmPlanChoice choice_of_verbs{{~std::uint64_t{0}}};

/// Encodes the engine and its knobs for the plan file. False if they do not fit.
[[nodiscard]] inline bool to_choice(const ConvCall& call, const Descriptor& config,
                                    cuda::detail::GemmPlanChoice& choice) {
  Calls calls(call);
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::vector<Descriptor> knobs;
  for (std::int64_t i = 0; i <= most_knobs; ++i) knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
  std::int64_t index = 0;
  (void)calls.get(config, CUDNN_ATTR_ENGINECFG_ENGINE, &engine, 1);
  (void)calls.get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, &index, 1);
  const std::int64_t count = calls.get(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knobs.data(), most_knobs + 1);
  if (!calls.succeeded() || count > most_knobs || index < 0 || index > INT32_MAX) return false;
  choice = {};
  choice.algorithm[0] = static_cast<std::uint64_t>(index) + (static_cast<std::uint64_t>(count) << 32);
  for (std::int64_t i = 0; i < count; ++i) {
    cudnnBackendKnobType_t type{};
    std::int64_t value = 0;
    (void)calls.get(knobs[static_cast<std::size_t>(i)], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, &type, 1);
    (void)calls.get(knobs[static_cast<std::size_t>(i)], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, &value, 1);
    if (!calls.succeeded() || value < 0 || value >= 1 << 24 || static_cast<int>(type) > 255) return false;
    const std::uint64_t word = (static_cast<std::uint64_t>(type) << 24) + static_cast<std::uint64_t>(value);
    choice.algorithm[static_cast<std::size_t>(1 + i / 2)] += word << (32 * (i % 2));
  }
  return true;
}

/// The engine with its knobs that a choice names.
[[nodiscard]] inline Descriptor from_choice(Calls& calls, const Machine& machine, const ConvGraph& graph,
                                            const cuda::detail::GemmPlanChoice& choice) {
  const auto index = static_cast<std::int64_t>(choice.algorithm[0] & 0xffffffffu);
  const auto count = static_cast<std::int64_t>(choice.algorithm[0] >> 32);
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  Descriptor config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  if (count > most_knobs) calls.refuse(CUDNN_STATUS_NOT_SUPPORTED, "a choice that nobody made");
  calls.set(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.graph);
  calls.set(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index);
  if (machine.properties) calls.set(engine, CUDNN_ATTR_ENGINE_DEVICEPROP, machine.properties);
  calls.finalize(engine, "cudnnBackendFinalize (an engine)");
  std::vector<Descriptor> knobs;
  for (std::int64_t i = 0; i < count && calls.succeeded(); ++i) {
    const std::uint64_t word = choice.algorithm[static_cast<std::size_t>(1 + i / 2)] >> (32 * (i % 2));
    const Descriptor& knob = knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    calls.set(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, static_cast<cudnnBackendKnobType_t>(word >> 24 & 255));
    calls.set(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, static_cast<std::int64_t>(word & 0xffffff));
    calls.finalize(knob, "cudnnBackendFinalize (a knob)");
  }
  calls.set(config, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (count > 0) calls.set(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knobs.data(), count);
  calls.finalize(config, "cudnnBackendFinalize (an engine with knobs)");
  return config;
}

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
