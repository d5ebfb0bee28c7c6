#pragma once
// Convolutions on the host that are faster than products over columns of windows. device/convolution.hpp has the
// contract of Convolution.

#include <locus/core/std/atomic.hpp>
#include <locus/core/system/environment.hpp>
#include <locus/cpu/backend.hpp>
#include <locus/cpu/conv/strategy.hpp>
#include <locus/device/convolution.hpp>

#if !LOCUS_DEVICE_PASS
#include <locus/cpu/conv/depthwise.hpp>
#include <locus/cpu/conv/depthwise_in_place.hpp>
#include <locus/cpu/conv/depthwise_lanes.hpp>
#include <locus/cpu/conv/direct.hpp>
#include <locus/cpu/conv/direct_gradient.hpp>
#if defined(__x86_64__)
#include <locus/cpu/conv/window_gradient.hpp>
#endif
#include <locus/cpu/conv/winograd.hpp>
#include <locus/cpu/conv/winograd_gradient.hpp>
#endif

namespace locus { inline namespace LOCUS_ABI {
namespace cpu {

namespace detail {
LOCUS_OUT_OF_LINE inline Atomic<bool>& winograd_flag() {
  static Atomic<bool> allowed{locus::detail::switch_from_environment("LOCUS_WINOGRAD", true)};
  return allowed;
}
}  // namespace detail

/// Whether float convolutions with kernels of 3 x 3 and stride 1 may use Winograd's algorithm, about twice as fast as
/// others. Its rounding scales with tiles of 6 x 6 elements, not with windows: small elements beside a large one lose
/// digits, and an element that is not finite spoils the results of all tiles that contain it. Let S be the sum, over n
/// channels, of the largest |x| in a tile times the largest |w|; for a gradient of weights, over n tiles, times the
/// largest |g|. The error is at most 6.6e-5 (n + 32) S. For normal random numbers it is below 4e-6 S, and the root
/// mean square error of values is 2 to 5 times as large as with other algorithms.
/// Initially true, unless the environment variable LOCUS_WINOGRAD is 0. `exact` in the options of a convolution turns
/// it off there.
[[nodiscard]] inline bool winograd_is_allowed() { return detail::winograd_flag().load(Order::relaxed); }
inline void allow_winograd(bool allowed) { detail::winograd_flag().store(allowed, Order::relaxed); }

namespace detail {
/// Whether channels can be brought side by side a row at a time, or lie so already.
template <class T>
[[nodiscard]] bool has_lanes(const ConvImages<const T>& x, std::int64_t width) {
  return x.stride[4] == 1 || width == 1 || x.stride[1] == 1;
}
/// The choice for T on this processor, with the kernels in use.
template <class T>
[[nodiscard]] ConvCase conv_case(ConvPass pass, const ConvShape& shape, bool has_lanes = true) {
  ConvCase conv{pass, element_type<T>, shape, has_lanes};
  conv.allows_winograd = winograd_is_allowed();
#if !LOCUS_DEVICE_PASS
  const auto& products = *kernels_in_use<bfloat16>();
  if (products.pack_pairs) conv.products = products.depth_unit > 2 ? Bfloat16Products::tiles : Bfloat16Products::pairs;
#endif
  return conv;
}
}  // namespace detail

}  // namespace cpu

/// cpu::conv_strategy chooses the algorithm. Those for bfloat16 count elements and sums below 2^-126 as zeros.
template <>
struct Convolution<Cpu> {
  template <class T>
    requires std::same_as<T, float> || std::same_as<T, bfloat16>
  static bool forward(Cpu, const ConvShape& shape, const ConvImages<const T>& x, const T* w, const T* bias,
                      const ConvImages<T>& y, bool accumulate) {
    const bool has_lanes = cpu::detail::has_lanes(x, shape.axis[2].extent);
    return run<ConvPass::value, T>(shape, has_lanes, x, w, bias, y, accumulate);
  }
  template <class T>
    requires std::same_as<T, float> || std::same_as<T, bfloat16>
  static bool input_gradient(Cpu, const ConvShape& shape, const ConvImages<const T>& g, const T* w, const T* bias,
                             const ConvImages<T>& dx, bool accumulate) {
    const bool has_lanes = cpu::detail::has_lanes(g, shape.axis[2].outputs);
    return run<ConvPass::input_gradient, T>(shape, has_lanes, g, w, bias, dx, accumulate);
  }
  template <class T>
    requires std::same_as<T, float> || std::same_as<T, bfloat16>
  static bool weight_gradient(Cpu, const ConvShape& shape, const ConvImages<const T>& g, const ConvImages<const T>& x,
                              T* dw, bool accumulate) {
    const bool has_lanes =
        cpu::detail::has_lanes(x, shape.axis[2].extent) && cpu::detail::has_lanes(g, shape.axis[2].outputs);
    return run<ConvPass::weight_gradient, T>(shape, has_lanes, g, x, dw, accumulate);
  }
  /// Whether convolutions of bfloat16 are faster if operands are converted to float.
  [[nodiscard]] static bool is_faster_widened(const ConvShape& shape) {
    return cpu::conv_strategy(cpu::detail::conv_case<bfloat16>(ConvPass::value, shape)) == cpu::ConvStrategy::widened;
  }

 private:
  /// False, without effect, where the verbs are left. A strategy that would take much memory is replaced by the next
  /// one.
  template <ConvPass pass, class T>
  static bool run([[maybe_unused]] const ConvShape& shape, [[maybe_unused]] bool has_lanes,
                  [[maybe_unused]] const auto&... operands) {
#if !LOCUS_DEVICE_PASS  // nvcc's device pass throws host code away
    using cpu::ConvStrategy;
    const cpu::ConvCase conv = cpu::detail::conv_case<T>(pass, shape, has_lanes);
    for (ConvStrategy strategy = cpu::conv_strategy(conv); strategy < ConvStrategy::each;
         strategy = cpu::conv_strategy(conv, cpu::next(strategy)))
      if (run_strategy<pass, T>(strategy, shape, operands...)) return true;
    return false;
#else
    return true;
#endif
  }
#if !LOCUS_DEVICE_PASS
  template <ConvPass pass, class T>
  static bool run_strategy(cpu::ConvStrategy strategy, const ConvShape& shape, const auto&... operands) {
    using namespace cpu::detail;
    using cpu::ConvStrategy;
    constexpr bool sums = pass == ConvPass::weight_gradient, adjoint = pass == ConvPass::input_gradient;
    switch (strategy) {
      case ConvStrategy::depthwise_lanes:
        if constexpr (std::is_same_v<T, float>) {
          if constexpr (sums) {
            if (launch(shape, DepthwiseInPlaceGradient(shape, operands...))) return true;
          } else {
            if (launch(shape, DepthwiseInPlace(shape, operands..., adjoint))) return true;
          }
        }
        if constexpr (sums) return launch(shape, DepthwiseLanesGradient(shape, operands...));
        else return launch(shape, DepthwiseLanesPass(shape, operands..., adjoint));
      case ConvStrategy::depthwise_planes:
        if constexpr (sums) return launch(shape, DepthwiseGradient(shape, operands...));
        else return launch(shape, DepthwisePass(shape, operands..., adjoint));
      case ConvStrategy::winograd:
        if constexpr (!std::is_same_v<T, float>) return false;
        else if constexpr (sums) return launch(shape, WinogradGradient(shape, operands...));
        else return launch(shape, winograd_pass(shape, operands..., adjoint));
      case ConvStrategy::direct:
        if constexpr (!std::is_same_v<T, float>) return false;
        else if constexpr (sums) return launch(shape, DirectGradient(shape, operands...));
        else return launch(shape, DirectPass(shape, operands..., adjoint));
      case ConvStrategy::windows:
#if defined(__x86_64__)
        if constexpr (std::is_same_v<T, bfloat16>) {
          const WindowKernels& kernels = *window_kernels(*kernels_in_use<bfloat16>());
          if constexpr (sums) return launch(shape, WindowGradient(kernels, shape, operands...));
          else return launch(shape, WindowPass(kernels, shape, operands..., adjoint));
        }
#endif
        return false;
      // ops/conv computes these.
      case ConvStrategy::widened:
      case ConvStrategy::each:
      case ConvStrategy::product:
      case ConvStrategy::columns: return false;
    }
    return false;
  }
#endif
  static bool launch(const ConvShape& shape, const auto& pass) {
    if (!pass.fits()) return false;
    ++detail::launches.rows;
    detail::HostTrace trace;
    if (detail::launches_are_observed()) [[unlikely]]
      trace.begin(description(shape));
    pass.run();
    return true;
  }
  [[nodiscard]] LOCUS_COLD static detail::LaunchDescription description(const ConvShape& shape) {
    const std::int64_t depth = shape.in * shape.taps();
    return {"convolution", nullptr, Shape{shape.batch, shape.out, shape.outputs(), depth}, 0,
            2. * static_cast<double>(shape.batch * shape.outputs()) * static_cast<double>(shape.out * depth)};
  }
};

static_assert(ConvolvingDevice<Cpu, float> && ConvolvingDevice<Cpu, bfloat16> && !ConvolvingDevice<Cpu, double>);

}}  // namespace locus::LOCUS_ABI
