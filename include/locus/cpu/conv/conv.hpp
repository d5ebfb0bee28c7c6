#pragma once
// Convolutions on the host that are faster than products over columns of windows. device/convolution.hpp has the
// contract of Convolution.

#include <locus/core/std/atomic.hpp>
#include <locus/core/system/environment.hpp>
#include <locus/cpu/backend.hpp>
#include <locus/device/convolution.hpp>

#if !LOCUS_DEVICE_PASS
#include <locus/cpu/conv/depthwise.hpp>
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
/// Whether Winograd's convolution is right for a shape, and faster: from about eight tiles and sixteen channels.
[[nodiscard]] inline bool suits_winograd(const ConvShape& shape) {
  const ConvAxis &depth = shape.axis[0], &rows = shape.axis[1], &cols = shape.axis[2];
  const auto fits = [](const ConvAxis& axis) {
    return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1 && axis.before <= 2;
  };
  const std::int64_t tiles = shape.batch * ((rows.outputs + 3) / 4) * ((cols.outputs + 3) / 4);
  return !shape.exact && winograd_is_allowed() && shape.groups == 1 && depth.extent == 1 && depth.is_plain() &&
         fits(rows) && fits(cols) && tiles >= 8 && shape.in >= 16 && shape.out >= 16;
}
/// Whether images have two dimensions, one group, and enough channels to fill lanes: with fewer, columns are small.
[[nodiscard]] inline bool fills_lanes(const ConvShape& shape) {
  const ConvAxis& depth = shape.axis[0];
  return shape.groups == 1 && depth.extent == 1 && depth.is_plain() && shape.in * shape.out >= 16;
}
/// Whether the direct convolution, which multiplies windows in place, suits a shape. A pointwise convolution is left to
/// the matrix product. In the adjoint, each empty lane of 32 results costs as many multiply-adds as channels are
/// summed, and an element of columns about 128.
[[nodiscard]] inline bool suits_direct(const ConvShape& shape, bool adjoint) {
  if (!fills_lanes(shape) || shape.is_pointwise()) return false;
  const bool is_dense = shape.axis[1].dilation == 1 && shape.axis[2].dilation == 1;
  return !adjoint || (is_dense && shape.out * (32 - shape.in) < 128 * shape.in);
}
/// Whether channels can be brought side by side a row at a time, or lie so already.
[[nodiscard]] inline bool has_lanes(const ConvImages<const float>& x, std::int64_t width) {
  return x.stride[4] == 1 || width == 1 || x.stride[1] == 1;
}
/// Whether groups have one input channel and one to four output channels, in images of two dimensions.
[[nodiscard]] inline bool is_depthwise(const ConvShape& shape) {
  const ConvAxis& depth = shape.axis[0];
  return shape.groups > 1 && shape.group_in() == 1 && shape.group_out() >= 1 && shape.group_out() <= 4 &&
         depth.extent == 1 && depth.is_plain();
}
/// Whether a depthwise convolution has enough groups for the lanes of vectors.
[[nodiscard]] inline bool suits_depthwise_lanes(const ConvShape& shape, bool adjoint) {
  return shape.groups >= 8 && (!adjoint || (shape.axis[1].dilation == 1 && shape.axis[2].dilation == 1));
}
/// Whether products of windows of bfloat16, by tiles or pairs, suit a shape: shapes that fill less than half of the
/// tiles are left to columns.
[[nodiscard]] inline bool suits_windows(const ConvShape& shape) {
  const ConvAxis& depth = shape.axis[0];
  if (depth.extent != 1 || !depth.is_plain() || shape.group_in() == 0) return false;
  return shape.group_in() * shape.taps() >= 16 && shape.group_out() >= 8 && shape.outputs() >= 8;
}
}  // namespace detail

}  // namespace cpu

template <>
struct Convolution<Cpu> {
  static bool forward(Cpu, const ConvShape& shape, const ConvImages<const float>& x, const float* w, const float* bias,
                      const ConvImages<float>& y, bool accumulate) {
    if (cpu::detail::is_depthwise(shape)) return run_depthwise(shape, false, x, w, bias, y, accumulate);
    if (!cpu::detail::has_lanes(x, shape.axis[2].extent)) return false;
    if (cpu::detail::suits_winograd(shape) && run<Way::winograd>(shape, x, w, bias, y, accumulate, false)) return true;
    return cpu::detail::suits_direct(shape, false) && run<Way::direct>(shape, x, w, bias, y, accumulate, false);
  }
  static bool input_gradient(Cpu, const ConvShape& shape, const ConvImages<const float>& g, const float* w,
                             const float* bias, const ConvImages<float>& dx, bool accumulate) {
    if (cpu::detail::is_depthwise(shape)) return run_depthwise(shape, true, g, w, bias, dx, accumulate);
    if (!cpu::detail::has_lanes(g, shape.axis[2].outputs)) return false;
    if (cpu::detail::suits_winograd(shape) && run<Way::winograd>(shape, g, w, bias, dx, accumulate, true)) return true;
    return cpu::detail::suits_direct(shape, true) && run<Way::direct>(shape, g, w, bias, dx, accumulate, true);
  }
  static bool weight_gradient(Cpu, const ConvShape& shape, const ConvImages<const float>& g,
                              const ConvImages<const float>& x, float* dw, bool accumulate) {
    if (cpu::detail::is_depthwise(shape)) return run_depthwise(shape, false, g, x, dw, accumulate);
    if (!cpu::detail::has_lanes(x, shape.axis[2].extent) || !cpu::detail::has_lanes(g, shape.axis[2].outputs))
      return false;
    if (cpu::detail::suits_winograd(shape) && run<Way::winograd_gradient>(shape, g, x, dw, accumulate)) return true;
    return cpu::detail::fills_lanes(shape) && run<Way::direct_gradient>(shape, g, x, dw, accumulate);
  }
  /// Whether convolutions of bfloat16 are faster if operands are converted to float: without instructions for bfloat16,
  /// and where Winograd's transforms save more than pairs of bfloat16 do.
  [[nodiscard]] static bool is_faster_widened([[maybe_unused]] const ConvShape& shape) {
#if !LOCUS_DEVICE_PASS
    const auto& products = *cpu::detail::kernels_in_use<bfloat16>();
    if (cpu::detail::is_depthwise(shape)) return false;
    if (!products.pack_pairs) return true;
    const bool by_tiles = products.depth_unit > 2;  // Isa::amx_bf16
    return !by_tiles && shape.in >= 32 && shape.out >= 32 && cpu::detail::suits_winograd(shape);
#else
    return false;
#endif
  }
  // bfloat16: with Isa::avx512_bf16 and later, by products of windows; elements and sums below 2^-126 count as zeros.
  static bool forward(Cpu, const ConvShape& shape, const ConvImages<const bfloat16>& x, const bfloat16* w,
                      const bfloat16* bias, const ConvImages<bfloat16>& y, bool accumulate) {
    if (cpu::detail::is_depthwise(shape)) return run_depthwise(shape, false, x, w, bias, y, accumulate);
    return cpu::detail::suits_windows(shape) && run_windows(shape, x, w, bias, y, accumulate, false);
  }
  static bool input_gradient(Cpu, const ConvShape& shape, const ConvImages<const bfloat16>& g, const bfloat16* w,
                             const bfloat16* bias, const ConvImages<bfloat16>& dx, bool accumulate) {
    if (cpu::detail::is_depthwise(shape)) return run_depthwise(shape, true, g, w, bias, dx, accumulate);
    return cpu::detail::suits_windows(shape) && run_windows(shape, g, w, bias, dx, accumulate, true);
  }
  static bool weight_gradient(Cpu, const ConvShape& shape, const ConvImages<const bfloat16>& g,
                              const ConvImages<const bfloat16>& x, bfloat16* dw, bool accumulate) {
    if (cpu::detail::is_depthwise(shape)) return run_depthwise(shape, false, g, x, dw, accumulate);
    return cpu::detail::suits_windows(shape) && run_windows(shape, g, x, dw, accumulate);
  }

 private:
  enum class Way { winograd, direct, winograd_gradient, direct_gradient };
  /// False, without effect, where a pass would take much memory.
  template <Way way>
  static bool run([[maybe_unused]] const ConvShape& shape, [[maybe_unused]] const auto&... operands) {
#if !LOCUS_DEVICE_PASS  // nvcc's device pass throws host code away
    const auto pass = [&] {
      if constexpr (way == Way::winograd) return cpu::detail::winograd_pass(shape, operands...);
      else if constexpr (way == Way::winograd_gradient) return cpu::detail::WinogradGradient(shape, operands...);
      else if constexpr (way == Way::direct) return cpu::detail::DirectPass(shape, operands...);
      else return cpu::detail::DirectGradient(shape, operands...);
    }();
    return launch(shape, pass);
#else
    return true;
#endif
  }
  /// Five operands: the value or the gradient of the input. Four: the gradient of the weights.
  static bool run_depthwise([[maybe_unused]] const ConvShape& shape, [[maybe_unused]] bool adjoint,
                            [[maybe_unused]] const auto&... operands) {
#if !LOCUS_DEVICE_PASS
    const bool by_lanes = cpu::detail::suits_depthwise_lanes(shape, adjoint);
    if constexpr (sizeof...(operands) == 4)
      return (by_lanes && launch(shape, cpu::detail::DepthwiseLanesGradient(shape, operands...))) ||
             launch(shape, cpu::detail::DepthwiseGradient(shape, operands...));
    else
      return (by_lanes && launch(shape, cpu::detail::DepthwiseLanesPass(shape, operands..., adjoint))) ||
             launch(shape, cpu::detail::DepthwisePass(shape, operands..., adjoint));
#else
    return true;
#endif
  }
  /// The same for bfloat16. False also where the processor cannot multiply pairs of bfloat16.
  static bool run_windows([[maybe_unused]] const ConvShape& shape, [[maybe_unused]] const auto&... operands) {
#if !LOCUS_DEVICE_PASS && defined(__x86_64__)
    const cpu::detail::WindowKernels* const kernels =
        cpu::detail::window_kernels(*cpu::detail::kernels_in_use<bfloat16>());
    if (!kernels) return false;
    if constexpr (sizeof...(operands) == 4)
      return launch(shape, cpu::detail::WindowGradient(*kernels, shape, operands...));
    else return launch(shape, cpu::detail::WindowPass(*kernels, shape, operands...));
#else
    return false;
#endif
  }
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
