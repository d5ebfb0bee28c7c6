#pragma once
// Types in cuDNN's terms: of elements, and of attributes of its descriptors.

#include <locus/core/dtype.hpp>

#include <cudnn_graph.h>

#if CUDNN_MAJOR < 9
#error "Locus needs cuDNN 9 or newer: install it, or compile with -DLOCUS_CUDNN=0 (with Meson, -Dcudnn=disabled)"
#endif

namespace locus { inline namespace LOCUS_ABI { namespace cuda::dnn {

/// cuDNN's element type for float, half or bfloat16.
template <class T>
[[nodiscard]] constexpr cudnnDataType_t type_of() {
  if constexpr (std::is_same_v<T, float>) return CUDNN_DATA_FLOAT;
  else if constexpr (std::is_same_v<T, half>) return CUDNN_DATA_HALF;
  else {
    static_assert(std::is_same_v<T, bfloat16>);
    return CUDNN_DATA_BFLOAT16;
  }
}
/// The name of such a type.
[[nodiscard]] inline auto name_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT  ? dtype_name<float>()
         : type == CUDNN_DATA_HALF ? dtype_name<half>()
                                   : dtype_name<bfloat16>();
}

/// cuDNN's attribute type for T.
template <class T>
[[nodiscard]] constexpr cudnnBackendAttributeType_t attribute_type() {
  if constexpr (std::is_same_v<T, std::int64_t>) return CUDNN_TYPE_INT64;
  else if constexpr (std::is_same_v<T, bool>) return CUDNN_TYPE_BOOLEAN;
  else if constexpr (std::is_same_v<T, float>) return CUDNN_TYPE_FLOAT;
  else if constexpr (std::is_same_v<T, cudnnDataType_t>) return CUDNN_TYPE_DATA_TYPE;
  else if constexpr (std::is_same_v<T, cudnnConvolutionMode_t>) return CUDNN_TYPE_CONVOLUTION_MODE;
  else if constexpr (std::is_same_v<T, cudnnPointwiseMode_t>) return CUDNN_TYPE_POINTWISE_MODE;
  else if constexpr (std::is_same_v<T, cudnnGenStatsMode_t>) return CUDNN_TYPE_GENSTATS_MODE;
  else if constexpr (std::is_same_v<T, cudnnBackendHeurMode_t>) return CUDNN_TYPE_HEUR_MODE;
  else if constexpr (std::is_same_v<T, cudnnBackendKnobType_t>) return CUDNN_TYPE_KNOB_TYPE;
  else if constexpr (std::is_same_v<T, cudnnBackendNumericalNote_t>) return CUDNN_TYPE_NUMERICAL_NOTE;
  else if constexpr (std::is_same_v<T, cudnnReduceTensorOp_t>) return CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
  else if constexpr (std::is_same_v<T, cudnnHandle_t>) return CUDNN_TYPE_HANDLE;
  else {
    static_assert(std::is_same_v<T, void*>);
    return CUDNN_TYPE_VOID_PTR;
  }
}

}}}  // namespace locus::LOCUS_ABI::cuda::dnn
