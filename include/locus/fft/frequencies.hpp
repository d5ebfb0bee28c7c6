#pragma once
// The frequencies of a transform's bins, and their order. Not part of locus/locus.hpp.

#include <locus/core/check.hpp>
#include <locus/ops/flip.hpp>
#include <locus/tensor/factory.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace fft {

namespace detail {

/// Bin k stands for k, or from `negative_from` on for k - n, times the step.
template <class T>
struct FrequencyElement {
  std::int64_t n, negative_from;
  double step;
  LOCUS_FN void operator()(std::int64_t k, compute_t<T>& out) const {
    out = register_of<T>(static_cast<double>(k < negative_from ? k : k - n) * step);
  }
};
template <class T, class D>
[[nodiscard]] Tensor<T, D> frequencies(const char* name, std::int64_t n, std::int64_t bins, std::int64_t negative_from,
                                       double spacing, D device) {
  if (n < 1) fail<ArgumentError>({name, ": n is ", n, "; expected a length of 1 or more"});
  if (!(spacing > 0 || spacing < 0) || spacing - spacing != 0)
    fail<ArgumentError>({name, ": a spacing of ", spacing, "; expected a finite number other than 0"});
  const double step = 1 / (static_cast<double>(n) * spacing);
  return locus::detail::from_indices<T>({bins}, device, FrequencyElement<T>{n, negative_from, step});
}

/// Half of each extent along the axes, rounded down, with a sign; all axes by default.
struct HalfShifts {
  Axes shifts, axes;
  HalfShifts(const char* name, const Shape& shape, const ReduceAxes& given, int sign) {
    if (given.list().empty())
      for (int d = 0; d < shape.rank(); ++d) axes.push_back(d);
    else axes = given.list();
    for (const std::int64_t axis : axes) shifts.push_back(sign * (shape[normalize_axis(axis, shape.rank(), name)] / 2));
  }
};

}  // namespace detail

/// The frequencies of fft's bins in cycles per unit of `spacing`: 0, 1, ..., (n - 1) / 2, -(n / 2), ..., -1, divided by
/// n spacing.
/// shape: (n,)     throws ArgumentError for n below 1, or a spacing of 0
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> fftfreq(std::int64_t n, double spacing = 1, D device = {}) {
  return detail::frequencies<T>("fftfreq", n, n, (n + 1) / 2, spacing, device);
}
/// The frequencies of rfft's bins: 0, 1, ..., n / 2, divided by n spacing.
/// shape: (n / 2 + 1,)     throws as fftfreq
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> rfftfreq(std::int64_t n, double spacing = 1, D device = {}) {
  return detail::frequencies<T>("rfftfreq", n, n / 2 + 1, n, spacing, device);
}

/// Moves frequency 0 to the middle of the axes, all of them by default. gradient, cost: as of roll
template <locus::detail::Operand X>
[[nodiscard]] auto fftshift(const X& x, const ReduceAxes& axes = {}) {
  const detail::HalfShifts by("fftshift", x.shape(), axes, 1);
  return roll(x, by.shifts, by.axes);
}
/// The inverse of fftshift, also for odd extents.
template <locus::detail::Operand X>
[[nodiscard]] auto ifftshift(const X& x, const ReduceAxes& axes = {}) {
  const detail::HalfShifts by("ifftshift", x.shape(), axes, -1);
  return roll(x, by.shifts, by.axes);
}

}}}  // namespace locus::LOCUS_ABI::fft
