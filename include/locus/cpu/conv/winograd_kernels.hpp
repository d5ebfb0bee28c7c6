#pragma once
// The transforms of Winograd's convolution, chosen at run time for the processor.

#include <locus/cpu/gemm/kernels.hpp>

#include <locus/cpu/unroll_begin.inc>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// The points 0, +-p, +-q and infinity amplify rounding up to 752 times in values, 1,096 times in gradients of weights;
/// 0, +-1, +-2 and infinity 2,304 and 2,844 times.
inline constexpr float winograd_p = 0.75f, winograd_q = 1.5f, winograd_pp = winograd_p * winograd_p,
                       winograd_qq = winograd_q * winograd_q;
/// Factors of the weights at each point.
inline constexpr float winograd_of_0 = 1 / (winograd_pp * winograd_qq),
                       winograd_of_p = 1 / (2 * winograd_pp * (winograd_pp - winograd_qq)),
                       winograd_of_q = 1 / (2 * winograd_qq * (winograd_qq - winograd_pp));

/// A tile has winograd_side^2 elements of the result and winograd_tile^2 of the input: as many products as the latter.
inline constexpr int winograd_side = 4, winograd_tile = 6, winograd_points = winograd_tile * winograd_tile;

/// Each transforms a square of vectors of channels, side by side in memory. Planes are `plane` elements apart.
struct WinogradKernels {
  /// 36 elements of the input, each of so many channels -> planes
  void (*input_tile)(const float* const* from, std::int64_t lanes, float* to, std::int64_t plane);
  /// 16 elements of the result's gradient -> planes
  void (*cotangent_tile)(const float* const* from, std::int64_t lanes, float* to, std::int64_t plane);
  /// planes -> 16 elements of the result, + bias
  void (*output_tile)(const float* from, std::int64_t plane, std::int64_t lanes, const float* bias, float* const* to);
  /// 9 taps, of one vector each, `tap` apart -> planes
  void (*weight_tile)(const float* from, std::int64_t tap, float* to, std::int64_t plane);
  /// planes -> 9 taps
  void (*gradient_tile)(const float* from, std::int64_t plane, float* to, std::int64_t tap);
};

#define LOCUS_KERNEL_FILE <locus/cpu/conv/winograd_kernel.inc>
#include <locus/cpu/kernel_sets.inc>

/// The transforms that go with kernels of products.
[[nodiscard]] inline const WinogradKernels& winograd_kernels(const KernelSet<float>& products) {
  return of_lanes<WinogradKernels>(products.lanes);
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail

#include <locus/cpu/unroll_end.inc>
