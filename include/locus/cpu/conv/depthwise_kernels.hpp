#pragma once
// The sums of depthwise convolutions over windows, chosen at run time for the processor.

#include <locus/cpu/gemm/kernels.hpp>

#include <locus/cpu/unroll_begin.inc>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Groups that lie side by side.
inline constexpr std::int64_t depthwise_lanes = 16;

/// A tap of a kernel: offsets of its elements and of its weights.
struct LaneTap {
  std::int64_t element, weight;
};

/// Rows and columns of windows, with strides in floats between windows and between results.
struct LaneWindows {
  const LaneTap* taps;
  std::int64_t tap_count, rows, cols, row_step, col_step, result_row, result_col;
  std::int64_t strips = 1, strip_weights = 0;  ///< neighbouring strips of 16 groups, and the stride of their weights
  bool in_order = false;  ///< one window at a time, with all strips: for rows that do not stay in the nearest cache
};

/// Elements of 16 groups lie side by side, aligned.
struct DepthwiseKernels {
  int lanes;
  /// sums of each window: the bias or, without, the sums so far, plus x of each tap times the tap's weights
  void (*add_windows)(const LaneWindows& windows, const float* x, const float* weights, const float* bias, float* sums);
  /// sums of each tap, over all windows of one strip: g times x
  void (*sum_products)(const LaneWindows& windows, const float* g, const float* x, float* sums);
};

#if defined(__x86_64__)
#define LOCUS_KERNEL_SET avx512
#define LOCUS_KERNEL_TARGET LOCUS_AVX512
#define LOCUS_KERNEL_BYTES 64
#include <locus/cpu/conv/depthwise_kernel.inc>

#if !(defined(__AVX512F__) && defined(__AVX512DQ__))
#define LOCUS_KERNEL_SET avx2
#define LOCUS_KERNEL_TARGET LOCUS_AVX2
#define LOCUS_KERNEL_BYTES 32
#include <locus/cpu/conv/depthwise_kernel.inc>
#endif
#endif

#if !(defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__))
#define LOCUS_KERNEL_SET portable
#define LOCUS_KERNEL_TARGET
#define LOCUS_KERNEL_BYTES 16
#include <locus/cpu/conv/depthwise_kernel.inc>
#endif

/// The sums that go with kernels of products.
[[nodiscard]] inline const DepthwiseKernels& depthwise_kernels(const KernelSet<float>& products) {
#if defined(__x86_64__)
  if (products.lanes == avx512::depthwise.lanes) return avx512::depthwise;
#if !(defined(__AVX512F__) && defined(__AVX512DQ__))
  if (products.lanes == avx2::depthwise.lanes) return avx2::depthwise;
#endif
#endif
#if !(defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__))
  return portable::depthwise;
#else
  return avx512::depthwise;
#endif
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail

#include <locus/cpu/unroll_end.inc>
