#pragma once
// Windows of signals, for spectra and filters. Not part of locus/locus.hpp.

#include <locus/core/math/bessel.hpp>
#include <locus/tensor/from.hpp>

#include <cstdint>
#include <vector>

namespace locus { inline namespace LOCUS_ABI {

struct WindowOptions {
  bool periodic = true;  ///< for spectra: the first n of n + 1 points; else symmetric, for filters
};
struct HammingOptions {
  bool periodic = true;
  double alpha = 0.54, beta = 0.46;
};
struct KaiserOptions {
  bool periodic = true;
  double beta = 12;  ///< the larger, the wider the main lobe and the lower the others
};

namespace detail {

/// f of positions -1 to 1 of n points. throws ArgumentError for a negative number
template <class T, class D, class F>
[[nodiscard]] Tensor<T, D> window_of(const char* name, std::int64_t n, bool periodic, D device, const F& f) {
  if (n < 0) fail<ArgumentError>({name, ": a window of ", n, " elements; expected 0 or more"});
  const double distance = static_cast<double>(periodic ? n : n - 1) / 2;
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)  // one point alone is the middle
    values.push_back(convert<T>(n == 1 ? 1. : f((static_cast<double>(i) - distance) / distance)));
  return from(values, {n}, device);
}

}  // namespace detail

/// (1 + cos(pi t)) / 2 at n points t from -1 to 1: torch.hann_window, scipy.signal.windows.hann.
/// shape: (n)     cost: the host computes n numbers; a copy to another device
/// throws ArgumentError for a negative n
///
///     auto window = hann_window(400);   // {.periodic = false}: symmetric
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> hann_window(std::int64_t n, const WindowOptions& options = {}, D device = {}) {
  return detail::window_of<T>("hann_window", n, options.periodic, device,
                              [](double t) { return 0.5 + 0.5 * math::cos(3.141592653589793 * t); });
}

/// alpha + beta cos(pi t): torch.hamming_window. As hann_window otherwise.
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> hamming_window(std::int64_t n, const HammingOptions& options = {}, D device = {}) {
  return detail::window_of<T>("hamming_window", n, options.periodic, device, [&](double t) {
    return options.alpha + options.beta * math::cos(3.141592653589793 * t);
  });
}

/// 0.42 + 0.5 cos(pi t) + 0.08 cos(2 pi t): torch.blackman_window. As hann_window otherwise.
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> blackman_window(std::int64_t n, const WindowOptions& options = {}, D device = {}) {
  return detail::window_of<T>("blackman_window", n, options.periodic, device, [](double t) {
    return 0.42 + 0.5 * math::cos(3.141592653589793 * t) + 0.08 * math::cos(2 * 3.141592653589793 * t);
  });
}

/// 1 - |t|, a triangle: torch.bartlett_window. As hann_window otherwise.
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> bartlett_window(std::int64_t n, const WindowOptions& options = {}, D device = {}) {
  return detail::window_of<T>("bartlett_window", n, options.periodic, device,
                              [](double t) { return t < 0 ? 1 + t : 1 - t; });
}

/// I0(beta sqrt(1 - t^2)) / I0(beta), where I0 is the modified Bessel function: torch.kaiser_window. As hann_window
/// otherwise.
/// throws ArgumentError unless beta is finite and 0 or more
template <FloatingDType T = float, Device D = Cpu>
[[nodiscard]] Tensor<T, D> kaiser_window(std::int64_t n, const KaiserOptions& options = {}, D device = {}) {
  const double beta = options.beta;
  if (!(beta >= 0 && beta < 1e300))
    fail<ArgumentError>({"kaiser_window: beta ", beta, "; expected a finite number, 0 or more"});
  return detail::window_of<T>("kaiser_window", n, options.periodic, device, [&](double t) {
    const double x = beta * math::sqrt(t * t < 1 ? 1 - t * t : 0);
    return math::i0e(x) / math::i0e(beta) * math::exp(x - beta);
  });
}

}}  // namespace locus::LOCUS_ABI
