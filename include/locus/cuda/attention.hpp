#pragma once
// Attention on NVIDIA GPUs by kernels that never store scores, ours or cuDNN's (see cuda/convolution.hpp);
// device/attention.hpp specifies them. Only nvcc sees them, because it alone compiles their callers.

#include <locus/device/attention.hpp>

#if LOCUS_NVCC
#include <locus/cuda/attention.cuh>
#include <locus/cuda/backend.hpp>
#if LOCUS_CUDNN
#include <locus/cuda/cudnn/attention.cuh>
#endif

namespace locus { inline namespace LOCUS_ABI {

template <>
struct FusedAttention<Cuda> {
  template <class T, class Drop>
  [[nodiscard]] static bool forward(Cuda device, const AttentionCall<T>& call, const Drop& drop,
                                    const AttentionHeads<T>& y, const AttentionNumbers<compute_t<T>>& numbers) {
    const cuda::OrdinalGuard guard(device.ordinal);
    auto& context = cuda::Context::current(device.ordinal);
    if (cuda::attend(context, call, drop, y, numbers)) return true;
#if LOCUS_CUDNN
    return cuda::dnn::attend(context, call, drop, y, numbers);
#else
    return false;
#endif
  }
  template <class T, class Drop>
  [[nodiscard]] static bool backward(Cuda device, const AttentionCall<T>& call, const Drop& drop,
                                     const AttentionHeads<const T>& y, const AttentionNumbers<compute_t<T>>& numbers,
                                     const AttentionHeads<const T>& g, const AttentionGradientHeads<T>& dq,
                                     const AttentionGradientHeads<T>& dk, const AttentionGradientHeads<T>& dv) {
    const cuda::OrdinalGuard guard(device.ordinal);
    auto& context = cuda::Context::current(device.ordinal);
    if (cuda::attend_backward(context, call, drop, y, numbers, g, dq, dk, dv)) return true;
#if LOCUS_CUDNN
    return cuda::dnn::attend_backward(context, call, drop, y, numbers, g, dq, dk, dv);
#else
    return false;
#endif
  }
};
static_assert(AttendingDevice<Cuda, float> && AttendingDevice<Cuda, bfloat16>);

}}  // namespace locus::LOCUS_ABI
#endif
