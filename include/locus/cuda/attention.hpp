#pragma once
// Attention on NVIDIA GPUs by kernels that never store scores; device/attention.hpp specifies them. Only nvcc sees
// them, because it alone compiles their callers.

#include <locus/device/attention.hpp>

#if LOCUS_NVCC
#include <locus/cuda/attention.cuh>
#include <locus/cuda/backend.hpp>

namespace locus { inline namespace LOCUS_ABI {

template <>
struct FusedAttention<Cuda> {
  template <class T, class Drop>
  [[nodiscard]] static bool forward(Cuda device, const AttentionCall<T>& call, const Drop& drop,
                                    const AttentionHeads<T>& y, const AttentionNumbers<compute_t<T>>& numbers) {
    const cuda::OrdinalGuard guard(device.ordinal);
    return cuda::attend(cuda::Context::current(device.ordinal), call, drop, y, numbers);
  }
  template <class T, class Drop>
  [[nodiscard]] static bool backward(Cuda device, const AttentionCall<T>& call, const Drop& drop,
                                     const AttentionHeads<const T>& y, const AttentionNumbers<compute_t<T>>& numbers,
                                     const AttentionHeads<const T>& g, const AttentionGradientHeads<T>& dq,
                                     const AttentionGradientHeads<T>& dk, const AttentionGradientHeads<T>& dv) {
    const cuda::OrdinalGuard guard(device.ordinal);
    return cuda::attend_backward(cuda::Context::current(device.ordinal), call, drop, y, numbers, g, dq, dk, dv);
  }
};
static_assert(AttendingDevice<Cuda, float> && AttendingDevice<Cuda, bfloat16>);

}}  // namespace locus::LOCUS_ABI
#endif
