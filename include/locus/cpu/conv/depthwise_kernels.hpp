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
  /// sums of each window: the bias or, without, the sums so far, plus x of each tap times the tap's weights
  void (*add_windows)(const LaneWindows& windows, const float* x, const float* weights, const float* bias, float* sums);
  /// sums of each tap, over all windows of one strip: g times x
  void (*sum_products)(const LaneWindows& windows, const float* g, const float* x, float* sums);
};

#define LOCUS_KERNEL_FILE <locus/cpu/conv/depthwise_kernel.inc>
#include <locus/cpu/kernel_sets.inc>

/// The sums that go with kernels of products.
[[nodiscard]] inline const DepthwiseKernels& depthwise_kernels(const KernelSet<float>& products) {
  return of_lanes<DepthwiseKernels>(products.lanes);
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail

#include <locus/cpu/unroll_end.inc>
