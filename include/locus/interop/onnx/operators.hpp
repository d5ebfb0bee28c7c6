#pragma once
// The operators of ONNX that Locus runs, and the attributes of each that it reads.

#include <locus/core/check.hpp>

#include <cstdint>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

inline constexpr int any_number = 255;
inline constexpr std::int64_t oldest_opset = 7, newest_opset = 28;  ///< of the operators in domain ai.onnx

/// How many inputs and outputs an operator has, and its attributes, separated by spaces.
struct OperatorSpec {
  std::string_view name;
  int least_inputs, most_inputs, most_outputs;
  std::string_view attributes = {};

  [[nodiscard]] constexpr bool has_attribute(std::string_view wanted) const {
    for (std::size_t begin = 0; begin < attributes.size();) {
      const std::size_t end =
          attributes.find(' ', begin) < attributes.size() ? attributes.find(' ', begin) : attributes.size();
      if (attributes.substr(begin, end - begin) == wanted) return true;
      begin = end + 1;
    }
    return false;
  }
};

inline constexpr std::string_view reduction_attributes = "axes keepdims noop_with_empty_axes";

/// Sorted by name.
inline constexpr OperatorSpec operator_specs[] = {
    {"Abs", 1, 1, 1},
    {"Acos", 1, 1, 1},
    {"Acosh", 1, 1, 1},
    {"Add", 2, 2, 1},
    {"AffineGrid", 2, 2, 1, "align_corners"},
    {"And", 2, 2, 1},
    {"ArgMax", 1, 1, 1, "axis keepdims select_last_index"},
    {"ArgMin", 1, 1, 1, "axis keepdims select_last_index"},
    {"Asin", 1, 1, 1},
    {"Asinh", 1, 1, 1},
    {"Atan", 1, 1, 1},
    {"Atanh", 1, 1, 1},
    {"Attention", 3, 7, 4,
     "is_causal kv_num_heads left_window_size q_num_heads qk_matmul_output_mode right_window_size scale softcap "
     "softmax_precision"},
    {"AveragePool", 1, 1, 1, "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"},
    {"BatchNormalization", 5, 5, 5, "epsilon momentum spatial training_mode"},
    {"Bernoulli", 1, 1, 1, "dtype seed"},
    {"BitCast", 1, 1, 1, "to"},
    {"BitShift", 2, 2, 1, "direction"},
    {"BitwiseAnd", 2, 2, 1},
    {"BitwiseNot", 1, 1, 1},
    {"BitwiseOr", 2, 2, 1},
    {"BitwiseXor", 2, 2, 1},
    {"BlackmanWindow", 1, 1, 1, "output_datatype periodic"},
    {"Cast", 1, 1, 1, "round_mode saturate to"},
    {"CastLike", 2, 2, 1, "round_mode saturate"},
    {"CausalConvWithState", 2, 4, 2, "activation"},
    {"Ceil", 1, 1, 1},
    {"Celu", 1, 1, 1, "alpha"},
    {"CenterCropPad", 2, 2, 1, "axes"},
    {"Clip", 1, 3, 1, "max min"},
    {"Col2Im", 3, 3, 1, "dilations pads strides"},
    {"Compress", 2, 2, 1, "axis"},
    {"Concat", 1, any_number, 1, "axis"},
    {"Constant", 0, 0, 1, "value value_float value_floats value_int value_ints"},
    {"ConstantOfShape", 1, 1, 1, "value"},
    {"Conv", 2, 3, 1, "auto_pad dilations group kernel_shape pads strides"},
    {"ConvInteger", 2, 4, 1, "auto_pad dilations group kernel_shape pads strides"},
    {"ConvTranspose", 2, 3, 1, "auto_pad dilations group kernel_shape output_padding output_shape pads strides"},
    {"Cos", 1, 1, 1},
    {"Cosh", 1, 1, 1},
    {"CumProd", 2, 2, 1, "exclusive reverse"},
    {"CumSum", 2, 2, 1, "exclusive reverse"},
    {"DFT", 1, 3, 1, "axis inverse onesided"},
    {"DeformConv", 3, 5, 1, "dilations group kernel_shape offset_group pads strides"},
    {"DepthToSpace", 1, 1, 1, "blocksize mode"},
    {"DequantizeLinear", 2, 3, 1, "axis block_size output_dtype"},
    {"Det", 1, 1, 1},
    {"Div", 2, 2, 1},
    {"Dropout", 1, 3, 2, "ratio seed"},
    {"DynamicQuantizeLinear", 1, 1, 3},
    {"Einsum", 1, 3, 1, "equation"},
    {"Elu", 1, 1, 1, "alpha"},
    {"Equal", 2, 2, 1},
    {"Erf", 1, 1, 1},
    {"Exp", 1, 1, 1},
    {"Expand", 2, 2, 1},
    {"EyeLike", 1, 1, 1, "dtype k"},
    {"Flatten", 1, 1, 1, "axis"},
    {"Floor", 1, 1, 1},
    {"GRU", 3, 6, 2,
     "activation_alpha activation_beta activations clip direction hidden_size layout linear_before_reset"},
    {"Gather", 2, 2, 1, "axis"},
    {"GatherElements", 2, 2, 1, "axis"},
    {"GatherND", 2, 2, 1, "batch_dims"},
    {"Gelu", 1, 1, 1, "approximate"},
    {"Gemm", 2, 3, 1, "alpha beta transA transB"},
    {"GlobalAveragePool", 1, 1, 1},
    {"GlobalLpPool", 1, 1, 1, "p"},
    {"GlobalMaxPool", 1, 1, 1},
    {"Greater", 2, 2, 1},
    {"GreaterOrEqual", 2, 2, 1},
    {"GridSample", 2, 2, 1, "align_corners mode padding_mode"},
    {"GroupNormalization", 3, 3, 1, "epsilon num_groups stash_type"},
    {"HammingWindow", 1, 1, 1, "output_datatype periodic"},
    {"HannWindow", 1, 1, 1, "output_datatype periodic"},
    {"HardSigmoid", 1, 1, 1, "alpha beta"},
    {"HardSwish", 1, 1, 1},
    {"Hardmax", 1, 1, 1, "axis"},
    {"Identity", 1, 1, 1},
    {"If", 1, 1, any_number, "else_branch then_branch"},
    {"InstanceNormalization", 3, 3, 1, "epsilon"},
    {"IsInf", 1, 1, 1, "detect_negative detect_positive"},
    {"IsNaN", 1, 1, 1},
    {"LRN", 1, 1, 1, "alpha beta bias size"},
    {"LSTM", 3, 8, 3, "activation_alpha activation_beta activations clip direction hidden_size input_forget layout"},
    {"LayerNormalization", 2, 3, 3, "axis epsilon stash_type"},
    {"LeakyRelu", 1, 1, 1, "alpha"},
    {"Less", 2, 2, 1},
    {"LessOrEqual", 2, 2, 1},
    {"LinearAttention", 3, 6, 2, "chunk_size kv_num_heads q_num_heads scale update_rule"},
    {"Log", 1, 1, 1},
    {"LogSoftmax", 1, 1, 1, "axis"},
    {"Loop", 0, any_number, any_number, "body"},
    {"LpNormalization", 1, 1, 1, "axis p"},
    {"LpPool", 1, 1, 1, "auto_pad ceil_mode dilations kernel_shape p pads strides"},
    {"MatMul", 2, 2, 1},
    {"MatMulInteger", 2, 4, 1},
    {"Max", 1, any_number, 1},
    {"MaxPool", 1, 1, 2, "auto_pad ceil_mode dilations kernel_shape pads storage_order strides"},
    {"MaxUnpool", 2, 3, 1, "kernel_shape pads strides"},
    {"Mean", 1, any_number, 1},
    {"MeanVarianceNormalization", 1, 1, 1, "axes"},
    {"MelWeightMatrix", 5, 5, 1, "output_datatype"},
    {"Min", 1, any_number, 1},
    {"Mish", 1, 1, 1},
    {"Mod", 2, 2, 1, "fmod"},
    {"Mul", 2, 2, 1},
    {"Neg", 1, 1, 1},
    {"NegativeLogLikelihoodLoss", 2, 3, 1, "ignore_index reduction"},
    {"NonMaxSuppression", 2, 5, 1, "center_point_box"},
    {"NonZero", 1, 1, 1},
    {"Not", 1, 1, 1},
    {"OneHot", 3, 3, 1, "axis"},
    {"Or", 2, 2, 1},
    {"PRelu", 2, 2, 1},
    {"Pad", 1, 4, 1, "mode pads value"},
    {"Pow", 2, 2, 1},
    {"QLinearConv", 8, 9, 1, "auto_pad dilations group kernel_shape pads strides"},
    {"QLinearMatMul", 8, 8, 1},
    {"QuantizeLinear", 2, 3, 1, "axis block_size output_dtype precision saturate"},
    {"RMSNormalization", 2, 2, 1, "axis epsilon stash_type"},
    {"RNN", 3, 6, 2, "activation_alpha activation_beta activations clip direction hidden_size layout"},
    {"RandomNormal", 0, 0, 1, "dtype mean scale seed shape"},
    {"RandomNormalLike", 1, 1, 1, "dtype mean scale seed"},
    {"RandomUniform", 0, 0, 1, "dtype high low seed shape"},
    {"RandomUniformLike", 1, 1, 1, "dtype high low seed"},
    {"Range", 3, 3, 1, "stash_type"},
    {"Reciprocal", 1, 1, 1},
    {"ReduceL1", 1, 2, 1, reduction_attributes},
    {"ReduceL2", 1, 2, 1, reduction_attributes},
    {"ReduceLogSum", 1, 2, 1, reduction_attributes},
    {"ReduceLogSumExp", 1, 2, 1, reduction_attributes},
    {"ReduceMax", 1, 2, 1, reduction_attributes},
    {"ReduceMean", 1, 2, 1, reduction_attributes},
    {"ReduceMin", 1, 2, 1, reduction_attributes},
    {"ReduceProd", 1, 2, 1, reduction_attributes},
    {"ReduceSum", 1, 2, 1, reduction_attributes},
    {"ReduceSumSquare", 1, 2, 1, reduction_attributes},
    {"Relu", 1, 1, 1},
    {"Reshape", 2, 2, 1, "allowzero"},
    {"Resize", 1, 4, 1,
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value "
     "keep_aspect_ratio_policy mode nearest_mode"},
    {"ReverseSequence", 2, 2, 1, "batch_axis time_axis"},
    {"RoiAlign", 3, 3, 1,
     "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale"},
    {"RotaryEmbedding", 3, 4, 1, "interleaved num_heads rotary_embedding_dim"},
    {"Round", 1, 1, 1},
    {"STFT", 2, 4, 1, "onesided"},
    {"Scan", 1, any_number, any_number,
     "body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes scan_output_directions"},
    {"Scatter", 3, 3, 1, "axis"},
    {"ScatterElements", 3, 3, 1, "axis reduction"},
    {"ScatterND", 3, 3, 1, "reduction"},
    {"Selu", 1, 1, 1, "alpha gamma"},
    {"Shape", 1, 1, 1, "end start"},
    {"Shrink", 1, 1, 1, "bias lambd"},
    {"Sigmoid", 1, 1, 1},
    {"Sign", 1, 1, 1},
    {"Sin", 1, 1, 1},
    {"Sinh", 1, 1, 1},
    {"Size", 1, 1, 1},
    {"Slice", 1, 5, 1, "axes ends starts"},
    {"Softmax", 1, 1, 1, "axis"},
    {"SoftmaxCrossEntropyLoss", 2, 3, 2, "ignore_index reduction"},
    {"Softplus", 1, 1, 1},
    {"Softsign", 1, 1, 1},
    {"SpaceToDepth", 1, 1, 1, "blocksize mode"},
    {"Split", 1, 2, any_number, "axis num_outputs split"},
    {"Sqrt", 1, 1, 1},
    {"Squeeze", 1, 2, 1, "axes"},
    {"Sub", 2, 2, 1},
    {"Sum", 1, any_number, 1},
    {"SwiGLU", 2, 2, 1, "alpha"},
    {"Swish", 1, 1, 1, "alpha"},
    {"Tan", 1, 1, 1},
    {"Tanh", 1, 1, 1},
    {"TensorScatter", 2, 3, 1, "axis mode"},
    {"TfIdfVectorizer", 1, 1, 1,
     "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s pool_strings weights"},
    {"ThresholdedRelu", 1, 1, 1, "alpha"},
    {"Tile", 2, 2, 1},
    {"TopK", 2, 2, 2, "axis largest sorted"},
    {"Transpose", 1, 1, 1, "perm"},
    {"Trilu", 1, 2, 1, "upper"},
    {"Unique", 1, 1, 4, "axis sorted"},
    {"Unsqueeze", 1, 2, 1, "axes"},
    {"Upsample", 2, 2, 1, "mode"},
    {"Where", 3, 3, 1},
    {"Xor", 2, 2, 1}};

inline constexpr int operator_count = static_cast<int>(sizeof operator_specs / sizeof operator_specs[0]);

/// The number of an operator of domain ai.onnx in operator_specs; -1 if Locus does not run it.
[[nodiscard]] constexpr int find_operator(std::string_view name) {
  int low = 0, high = operator_count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (operator_specs[middle].name < name) low = middle + 1;
    else high = middle;
  }
  return low < operator_count && operator_specs[low].name == name ? low : -1;
}

[[nodiscard]] consteval bool operators_are_sorted() {
  for (int i = 1; i < operator_count; ++i)
    if (!(operator_specs[i - 1].name < operator_specs[i].name)) return false;
  return true;
}
static_assert(operators_are_sorted());

}}}  // namespace locus::LOCUS_ABI::onnx::detail
