#pragma once
// Convolutions on the host: what is faster than products over columns of windows. What a device may have,
// device/convolution.hpp says.

#include <locus/core/atomic.hpp>
#include <locus/cpu/backend.hpp>
#include <locus/device/convolution.hpp>

#if !LOCUS_DEVICE_PASS
#include <locus/cpu/conv/winograd.hpp>
#endif

#include <cstdlib>

namespace locus::inline LOCUS_ABI {
namespace cpu {

namespace detail {
LOCUS_OUT_OF_LINE inline Atomic<bool>& winograd_flag() {
  static Atomic<bool> allowed{[] {
    const char* const text = std::getenv("LOCUS_WINOGRAD");
    return !text || *text != '0';
  }()};
  return allowed;
}
}  // namespace detail

/// Whether convolutions of float by kernels of 3 x 3 and stride 1 may be Winograd's, about twice as fast as others.
/// Their error is at most 1e-5 of the largest sum of |x w| over a window, and mostly 2 to 3 times that of others. At
/// first true, unless the environment variable LOCUS_WINOGRAD is 0. `exact` in the options of a convolution turns it
/// off there.
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
/// Whether images lie so that channels come side by side by whole rows, or do already.
[[nodiscard]] inline bool has_lanes(const ConvImages<const float>& x, std::int64_t channels, std::int64_t width) {
  return x.stride[4] == 1 || width == 1 || (x.stride[1] == 1 && channels % 16 == 0);
}
}  // namespace detail

}  // namespace cpu

template <>
struct Convolution<Cpu> {
  static bool forward(Cpu, const ConvShape& shape, const ConvImages<const float>& x, const float* w, const float* bias,
                      float* y, bool accumulate) {
    if (!cpu::detail::suits_winograd(shape) || !cpu::detail::has_lanes(x, shape.in, shape.axis[2].extent)) return false;
    run(shape, x, {w, shape.in, shape.out, 9, shape.in * 9, false}, {bias, y, accumulate});
    return true;
  }
  static bool input_gradient(Cpu, const ConvShape& shape, const ConvImages<const float>& g, const float* w,
                             const float* bias, float* dx, bool accumulate) {
    if (!cpu::detail::suits_winograd(shape) || !cpu::detail::has_lanes(g, shape.out, shape.axis[2].outputs))
      return false;
    ConvShape adjoint = shape;
    adjoint.in = shape.out, adjoint.out = shape.in;
    for (int d = 1; d < 3; ++d) {
      ConvAxis& axis = adjoint.axis[d];
      axis.extent = shape.axis[d].outputs, axis.outputs = shape.axis[d].extent, axis.before = 2 - axis.before;
    }
    run(adjoint, g, {w, shape.out, shape.in, shape.in * 9, 9, true}, {bias, dx, accumulate});
    return true;
  }
  static bool weight_gradient(Cpu, const ConvShape& shape, const ConvImages<const float>& g,
                              const ConvImages<const float>& x, float* dw, bool accumulate) {
    if (!cpu::detail::suits_winograd(shape) || !cpu::detail::has_lanes(x, shape.in, shape.axis[2].extent) ||
        !cpu::detail::has_lanes(g, shape.out, shape.axis[2].outputs))
      return false;
    ++detail::launches.rows;
#if !LOCUS_DEVICE_PASS
    cpu::detail::WinogradGradient(shape, g, x, dw, accumulate).run();
#else
    (void)dw, (void)accumulate;
#endif
    return true;
  }

 private:
#if !LOCUS_DEVICE_PASS
  static void run(const ConvShape& shape, const ConvImages<const float>& x, const cpu::detail::WinogradWeights& w,
                  const cpu::detail::WinogradResult& result) {
    ++detail::launches.rows;
    cpu::detail::WinogradPass(shape, x, w, result).run();
  }
#else
  struct Anything {
    template <class... X>
    Anything(const X&...) {}
  };
  static void run(const ConvShape&, const ConvImages<const float>&, const Anything&, const Anything&) {}
#endif
};

}  // namespace locus::inline LOCUS_ABI
