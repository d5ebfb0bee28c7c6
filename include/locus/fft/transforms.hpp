#pragma once
// Discrete Fourier transforms, with the names, options and norms of numpy.fft and torch.fft. Not part of
// locus/locus.hpp.
//
//     fft   out[k] = sum over j of x[j] e^(-2 pi i j k / n)             ifft the inverse, divided by n
//
// Elements are float, double, complex64 or complex128. A transform along several axes is one pass over the tensor for
// each axis. On Cuda, cuFFT computes; such programs link with -lcufft.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/fft/operations.hpp>
#include <locus/ops/complex.hpp>
#include <locus/ops/join.hpp>
#include <locus/tensor/factory.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace fft {

namespace detail {

template <class T>
inline constexpr bool has_spectrum = std::is_same_v<real_t<T>, float> || std::is_same_v<real_t<T>, double>;
/// Float, double, or complex numbers, on a device that transforms.
template <class X>
concept Spectral = locus::detail::Operand<X> && has_spectrum<value_of<X>> && FourierDevice<device_of<X>>;
template <class X>
concept RealSpectral = Spectral<X> && !is_complex<value_of<X>>;

/// Numbers that no transform takes: of 16 bits, and duals.
template <class X>
struct SpectralTypeMistake : locus::detail::NoMistake {};
template <TensorLike X>
  requires(DifferentiableDType<value_of<X>> && !has_spectrum<value_of<X>>)
struct SpectralTypeMistake<X>
    : locus::detail::MistakeOf<locus::detail::Wrong::types,
                               error::dtype_mismatch<error::tensor_holds<value_of<X>>, error::convert_with_as_float>,
                               value_of<X>, float> {};
template <class X>
struct SpectralMistake : locus::detail::FirstMistake<locus::detail::DifferentiableMistake<X>, SpectralTypeMistake<X>> {
};
template <class X>
struct RealSpectralMistake : locus::detail::FirstMistake<locus::detail::FloatingMistake<X>, SpectralTypeMistake<X>> {};

/// x as complex numbers, computed.
template <class X>
[[nodiscard]] auto as_complex(const X& x) {
  if constexpr (is_complex<value_of<X>>) return x.eval();
  else return x.eval().template as<Complex<value_of<X>>>().eval();
}
/// x cut, or padded with zeros, to n elements along an axis.
template <class Y>
[[nodiscard]] Y resized(const Y& y, int axis, std::int64_t n) {
  const Shape& shape = y.shape();
  if (n == shape[axis]) return y;
  if (n < shape[axis]) return slice(y, axis, 0, n);
  Shape rest = shape;
  rest[axis] = n - shape[axis];
  return concat(axis, y, zeros<value_of<Y>>(rest, y.device()));
}
template <class Y>
[[nodiscard]] auto transformed(const char* name, Y y, const AxesOptions& options, bool inverse) {
  AxesAndLengths along = axes_of(name, y.shape(), options);
  for (int i = 0; i < along.axes.rank(); ++i) {
    const int axis = static_cast<int>(along.axes[i]);
    along.lengths[i] = length_of(name, y.shape(), axis, along.lengths[i]);
    y = resized(y, axis, along.lengths[i]);
  }
  return apply(operation::Transform{along.axes, inverse, scale_of(options.norm, inverse, along.elements())}, y);
}
/// The options of one axis as those of several.
[[nodiscard]] inline AxesOptions along_one(const Options& options) {
  return {options.n == as_input ? Shape{} : Shape(Dims::filled(1, options.n)), {options.axis}, options.norm};
}
template <class Y>
[[nodiscard]] auto bins_along(const char* name, const Y& y, const Options& options) {
  const int axis = normalize_axis(options.axis, y.shape().rank(), name);
  const std::int64_t n = length_of(name, y.shape(), axis, options.n);
  return apply(operation::RealToBins{axis, scale_of(options.norm, false, static_cast<double>(n))}, resized(y, axis, n));
}
template <class Y>
[[nodiscard]] auto real_along(const char* name, const Y& y, const Options& options) {
  const int axis = normalize_axis(options.axis, y.shape().rank(), name);
  const std::int64_t n = length_from_bins(name, y.shape(), axis, options.n);
  return apply(operation::BinsToReal{axis, n, scale_of(options.norm, true, static_cast<double>(n))}, y);
}
/// The last of several axes, and the others.
struct LastAxis {
  Options last;
  AxesOptions others;
};
[[nodiscard]] inline LastAxis split_last(const char* name, const Shape& shape, const AxesOptions& options) {
  AxesAndLengths along = axes_of(name, shape, options);
  const int count = along.axes.rank();
  LastAxis result{{along.lengths[count - 1], static_cast<int>(along.axes[count - 1]), options.norm}, {}};
  for (int i = 0; i + 1 < count; ++i) {
    const int axis = static_cast<int>(along.axes[i]);
    result.others.axes.push_back(axis);
    result.others.sizes.push_back(length_of(name, shape, axis, along.lengths[i]));
  }
  result.others.norm = options.norm;
  return result;
}
template <class Y>
[[nodiscard]] auto bins_along_all(const char* name, const Y& y, const AxesOptions& options) {
  const LastAxis along = split_last(name, y.shape(), options);
  auto bins = bins_along(name, y, along.last);
  if (along.others.axes.empty()) return bins;
  return transformed(name, std::move(bins), along.others, false);
}
template <class Y>
[[nodiscard]] auto real_along_all(const char* name, Y bins, const AxesOptions& options) {
  const LastAxis along = split_last(name, bins.shape(), options);
  if (!along.others.axes.empty()) bins = transformed(name, std::move(bins), along.others, true);
  return real_along(name, bins, along.last);
}
[[nodiscard]] inline AxesOptions of_two(const AxesOptions& options) {
  AxesOptions result = options;
  if (result.axes.empty()) result.axes = {-2, -1};
  return result;
}

}  // namespace detail

/// The transform along one axis; of real numbers, too, for which rfft takes half the time.
/// shape: (..., n, ...) -> (..., options.n or n, ...)     gradient: the backward transform of g, with the same scale
/// cost:  one pass of 5 n log2(n) operations for n with prime factors up to 13, two to three times as much for others;
///        one launch more where x is cut, padded or not dense
/// throws ArgumentError for a length below 1, ShapeError for an axis without elements, IndexError
///
///     auto spectrum = fft::fft(signal, {.n = 1024, .norm = fft::Norm::ortho});
template <detail::Spectral X>
[[nodiscard]] auto fft(const X& x, const Options& options = {}) {
  return detail::transformed("fft", detail::as_complex(x), detail::along_one(options), false);
}
/// The inverse of fft.
template <detail::Spectral X>
[[nodiscard]] auto ifft(const X& x, const Options& options = {}) {
  return detail::transformed("ifft", detail::as_complex(x), detail::along_one(options), true);
}

/// Bins 0 ... n / 2 of the transform of real numbers; the others are their conjugates.
/// shape: (..., n, ...) -> (..., n / 2 + 1, ...)     gradient: irfft of g, whose bins between the ends count half
/// cost:  half of fft for even n     throws as fft
template <detail::RealSpectral X>
[[nodiscard]] auto rfft(const X& x, const Options& options = {}) {
  return detail::bins_along("rfft", x.eval(), options);
}
/// The inverse of rfft. Its length is options.n, or the even 2 (bins - 1): an odd length is given. NumPy and PyTorch
/// cut or pad bins that do not fit the length; here they are refused.
/// shape: (..., n / 2 + 1, ...) -> (..., n, ...)     gradient: rfft of g, whose bins between the ends count twice
/// throws ArgumentError for a length below 1; ShapeError unless there are n / 2 + 1 bins; IndexError
///
///     auto again = fft::irfft(fft::rfft(x), {.n = x.size(-1)});
template <detail::Spectral X>
[[nodiscard]] auto irfft(const X& x, const Options& options = {}) {
  return detail::real_along("irfft", detail::as_complex(x), options);
}

/// The transform, real, of a signal whose second half is the conjugate of its first n / 2 + 1 elements.
/// throws as irfft
template <detail::Spectral X>
[[nodiscard]] auto hfft(const X& x, const Options& options = {}) {
  return detail::real_along("hfft", conj(detail::as_complex(x)).eval(),
                            {options.n, options.axis, detail::opposite(options.norm)});
}
/// The inverse of hfft. throws as rfft
template <detail::RealSpectral X>
[[nodiscard]] auto ihfft(const X& x, const Options& options = {}) {
  return conj(detail::bins_along("ihfft", x.eval(), {options.n, options.axis, detail::opposite(options.norm)}));
}

/// The transform along several axes: all of them, or the last ones if only sizes are given.
/// gradient: the backward transform of g, with the same scale     cost: as of fft, one pass for each axis
/// throws ArgumentError also for an axis named twice, or as many sizes as axes
///
///     auto spectrum = fft::fftn(volume, {.axes = {0, 2}});
template <detail::Spectral X>
[[nodiscard]] auto fftn(const X& x, const AxesOptions& options = {}) {
  return detail::transformed("fftn", detail::as_complex(x), options, false);
}
template <detail::Spectral X>
[[nodiscard]] auto ifftn(const X& x, const AxesOptions& options = {}) {
  return detail::transformed("ifftn", detail::as_complex(x), options, true);
}
/// rfft along the last of the axes, fft along the others.
template <detail::RealSpectral X>
[[nodiscard]] auto rfftn(const X& x, const AxesOptions& options = {}) {
  return detail::bins_along_all("rfftn", x.eval(), options);
}
/// The inverse of rfftn: ifft along all axes but the last, irfft along the last.
template <detail::Spectral X>
[[nodiscard]] auto irfftn(const X& x, const AxesOptions& options = {}) {
  return detail::real_along_all("irfftn", detail::as_complex(x), options);
}

/// The same along two axes, the last two by default.
template <detail::Spectral X>
[[nodiscard]] auto fft2(const X& x, const AxesOptions& options = {}) {
  return detail::transformed("fft2", detail::as_complex(x), detail::of_two(options), false);
}
template <detail::Spectral X>
[[nodiscard]] auto ifft2(const X& x, const AxesOptions& options = {}) {
  return detail::transformed("ifft2", detail::as_complex(x), detail::of_two(options), true);
}
template <detail::RealSpectral X>
[[nodiscard]] auto rfft2(const X& x, const AxesOptions& options = {}) {
  return detail::bins_along_all("rfft2", x.eval(), detail::of_two(options));
}
template <detail::Spectral X>
[[nodiscard]] auto irfft2(const X& x, const AxesOptions& options = {}) {
  return detail::real_along_all("irfft2", detail::as_complex(x), detail::of_two(options));
}

#include <locus/refuse/fft/transforms.inc>

}}}  // namespace locus::LOCUS_ABI::fft
