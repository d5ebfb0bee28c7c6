#pragma once
// Fourier transforms as operations: each gradient is another transform.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/cpu/fourier.hpp>
#include <locus/cuda/fourier.hpp>
#include <locus/fft/options.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace fft::operation {

/// The dimensions around one axis of a dense tensor.
[[nodiscard]] inline FourierLayout layout_along(const Shape& shape, int axis) {
  FourierLayout layout;
  for (int d = 0; d < axis; ++d) layout.outer *= shape[d];
  layout.n = shape[axis];
  for (int d = axis + 1; d < shape.rank(); ++d) layout.inner *= shape[d];
  return layout;
}

/// Complex numbers along several axes, from which the scale is counted once.
struct Transform {
  static constexpr const char* name = "fft";
  static constexpr bool linear = true;
  Axes axes;
  bool inverse;
  double scale;

  template <class R, class D>
  [[nodiscard]] Tensor<Complex<R>, D> compute(const Tensor<Complex<R>, D>& x, bool backwards) const {
    const auto dense = x.contiguous();
    const Tensor<Complex<R>, D> y(x.shape(), x.device());
    const Complex<R>* from = dense.data();
    for (int i = 0; i < axes.rank(); ++i) {
      const R factor = i + 1 == axes.rank() ? static_cast<R>(scale) : R(1);
      const FourierLayout layout = layout_along(x.shape(), static_cast<int>(axes[i]));
      if (!layout.is_empty()) Fourier<D>::transform(x.device(), layout, from, y.data(), backwards, factor);
      from = y.data();
    }
    return y;
  }
  template <class R, class D>
  auto forward(const Tensor<Complex<R>, D>& x) const {
    return Forwarded{compute(x, inverse), Tuple<>()};
  }
  template <class R, class D>
  void backward(const Tuple<>&, const Tensor<Complex<R>, D>& g, Gradient<Complex<R>, D>& dx) const {
    dx.give(compute(g, !inverse));
  }
};

/// x in dense memory that begins where a complex number may: engines read pairs.
template <class R, class D>
[[nodiscard]] Tensor<R, D> dense_pairs(const Tensor<R, D>& x) {
  const auto dense = x.contiguous();
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(dense.data()) % alignof(Complex<R>) == 0;
  return is_aligned ? dense : dense.clone();
}
/// The last axis, of dense memory, of real numbers to bins and back.
template <class R, class D>
[[nodiscard]] Tensor<Complex<R>, D> bins_of(const Tensor<R, D>& x, double scale) {
  const auto dense = dense_pairs(x);
  const std::int64_t n = x.size(-1);
  Shape shape = x.shape();
  shape[-1] = n / 2 + 1;
  const Tensor<Complex<R>, D> bins(shape, x.device());
  if (!x.empty())
    Fourier<D>::real_to_bins(x.device(), x.elements() / n, n, dense.data(), bins.data(), static_cast<R>(scale));
  return bins;
}
template <class R, class D>
[[nodiscard]] Tensor<R, D> real_of(const Tensor<Complex<R>, D>& bins, std::int64_t n, double scale) {
  const auto dense = bins.contiguous();
  Shape shape = bins.shape();
  shape[-1] = n;
  const Tensor<R, D> x(shape, bins.device());
  if (!x.empty())
    Fourier<D>::bins_to_real(x.device(), x.elements() / n, n, dense.data(), x.data(), static_cast<R>(scale));
  return x;
}
/// Multiplies the bins that stand for two, all but the first and, for even n, the last.
template <class R, class D>
void weigh_pairs(const Tensor<Complex<R>, D>& bins, std::int64_t n, R factor) {
  const Tensor<Complex<R>, D> pairs = bins.slice(-1, 1, (n + 1) / 2);
  if (!pairs.empty()) pairs *= factor;
}

/// Real numbers along one axis to bins 0 ... n / 2. Of the gradient, bins that stand for two count half, as
/// bins_to_real takes them twice.
struct RealToBins {
  static constexpr const char* name = "rfft";
  static constexpr bool linear = true;
  int axis;
  double scale;
  template <class R, class D>
  auto forward(const Tensor<R, D>& x) const {
    return Forwarded{bins_of(x.transpose(axis, -1), scale).transpose(axis, -1), Tuple(x.size(axis))};
  }
  template <class R, class D>
  void backward(const Tuple<std::int64_t>& saved, const Tensor<Complex<R>, D>& g, Gradient<R, D>& dx) const {
    const std::int64_t n = get<0>(saved);
    const auto bins = g.transpose(axis, -1).clone();
    weigh_pairs(bins, n, R(0.5));
    dx.give(real_of(bins, n, scale).transpose(axis, -1));
  }
};
/// Bins 0 ... n / 2 along one axis to n real numbers.
struct BinsToReal {
  static constexpr const char* name = "irfft";
  static constexpr bool linear = true;
  int axis;
  std::int64_t n;
  double scale;
  template <class R, class D>
  auto forward(const Tensor<Complex<R>, D>& x) const {
    return Forwarded{real_of(x.transpose(axis, -1), n, scale).transpose(axis, -1), Tuple<>()};
  }
  template <class R, class D>
  void backward(const Tuple<>&, const Tensor<R, D>& g, Gradient<Complex<R>, D>& dx) const {
    const auto bins = bins_of(g.transpose(axis, -1), scale);
    weigh_pairs(bins, n, R(2));
    dx.give(bins.transpose(axis, -1));
  }
};

}}}  // namespace locus::LOCUS_ABI::fft::operation
