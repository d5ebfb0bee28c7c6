#pragma once
// Short-time Fourier transforms, with the options of torch.stft and torch.istft. Not part of locus/locus.hpp.

#include <locus/fft/transforms.hpp>
#include <locus/ops/pad.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/unfold.hpp>
#include <locus/tensor/host_reads.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace fft {

/// Options of stft and istft, of which both take the same.
struct StftOptions {
  std::int64_t n_fft;           ///< elements of a frame
  std::int64_t hop_length = 0;  ///< elements from one frame to the next; 0: n_fft / 4
  bool center = true;           ///< frame t is centred at element t hop_length of the signal, which is padded
  PadMode pad_mode = PadMode::reflect;
  bool normalized = false;         ///< scaled by 1 / sqrt(n_fft)
  bool onesided = true;            ///< bins 0 ... n_fft / 2 alone
  std::int64_t length = as_input;  ///< istft: elements of the signal; by default as many as the frames reach
};

namespace detail {

/// The checked options, with the hop filled in.
[[nodiscard]] LOCUS_OUT_OF_LINE inline StftOptions checked(const char* name, StftOptions options) {
  if (options.n_fft < 1) fail<ArgumentError>({name, ": n_fft is ", options.n_fft, "; expected 1 or more"});
  if (options.hop_length == 0) options.hop_length = options.n_fft < 4 ? 1 : options.n_fft / 4;
  if (options.hop_length < 1)
    fail<ArgumentError>({name, ": hop_length is ", options.hop_length, "; expected 1 or more, or 0 for n_fft / 4"});
  return options;
}
/// A window of win_length elements in the middle of n_fft, zeros beside it. throws ShapeError
template <class W>
[[nodiscard]] auto centred_window(const char* name, const W& window, std::int64_t n_fft) {
  const auto& w = window.eval().value();
  if (w.rank() != 1 || w.size(0) > n_fft || w.size(0) < 1)
    fail<ShapeError>(
        {name, ": a window of shape ", w.shape(), "; expected (win_length,) with 1 to n_fft = ", n_fft, " elements"});
  const std::int64_t left = (n_fft - w.size(0)) / 2;
  return Tensor(pad(w, {left, n_fft - w.size(0) - left}));
}
template <class X, class W>
concept Windowed = RealSpectral<W> && SameDevice<X, W> && std::is_same_v<real_t<value_of<X>>, value_of<W>> &&
                   locus::detail::bare_t<W>::role == Role::plain;

template <class X, class W>
struct WindowTypeMistake : locus::detail::NoMistake {};
template <TensorLike X, TensorLike W>
  requires(!std::is_same_v<real_t<value_of<X>>, value_of<W>>)
struct WindowTypeMistake<X, W> : locus::detail::TypeMistake<real_t<value_of<X>>, value_of<W>> {};
/// The mistake in a window that is elsewhere than the signal, or holds numbers of another type.
template <class X, class W>
struct WindowMistake : locus::detail::FirstMistake<locus::detail::PlaceMistake<X, W>, WindowTypeMistake<X, W>> {};

}  // namespace detail

/// The transforms of overlapping frames, each multiplied by a window of at most n_fft elements, which collects no
/// gradient.
/// shape:    (..., length) -> (..., bins, frames), bins = n_fft / 2 + 1, or n_fft unless onesided
/// gradient: frames of irfft, added up
/// cost:     one launch for the window, one pass of transforms, and one launch if the signal is padded
/// throws ArgumentError for n_fft or a hop below 1; ShapeError for a signal shorter than a frame, and for a reflected
/// border unless it is longer than n_fft / 2
///
///     auto spectrogram = square(abs(fft::stft(signal, window, {.n_fft = 512, .hop_length = 128})));
template <detail::RealSpectral X, class W>
  requires detail::Windowed<X, W>
[[nodiscard]] auto stft(const X& signal, const W& window, const StftOptions& given) {
  const StftOptions options = detail::checked("stft", given);
  const std::int64_t n = options.n_fft, border = options.center ? n / 2 : 0;
  const Tensor w = detail::centred_window("stft", window, n);
  auto x = signal.eval();
  if (x.shape().rank() == 0) fail<ShapeError>({"stft: a signal without dimensions; expected (..., length)"});
  if (border >= x.shape()[-1] && options.pad_mode == PadMode::reflect && border > 0)
    fail<ShapeError>({"stft: a signal of ", x.shape()[-1], " elements, and a reflected border of ", border,
                      "; expected a longer signal than the border, another pad_mode, or .center = false"});
  if (border > 0) {  // borders other than zeros are of signals with a batch
    const Shape shape = x.shape();
    Shape padded = shape;
    padded[-1] += 2 * border;
    x = reshape(pad(reshape(x, {1, inferred, shape[-1]}), {border, border}, options.pad_mode), padded);
  }
  if (x.shape()[-1] < n)
    fail<ShapeError>({"stft: ", x.shape()[-1], " elements, borders included, for frames of n_fft = ", n,
                      "; expected at least one frame"});
  const auto frames = (unfold(x, -1, n, options.hop_length) * w).eval();
  const Norm norm = options.normalized ? Norm::ortho : Norm::backward;
  if (options.onesided) return transpose(rfft(frames, {.norm = norm}));
  return transpose(fft::fft(frames, {.norm = norm}));
}
/// The same with a window of ones.
template <detail::RealSpectral X>
[[nodiscard]] auto stft(const X& signal, const StftOptions& options) {
  const StftOptions valid = detail::checked("stft", options);
  return fft::stft(signal, ones<value_of<X>>({valid.n_fft}, signal.device()), valid);
}

/// The signal whose frames have these transforms, or are nearest to them: frames times the window are added up and
/// divided by the sum of the windows' squares.
/// shape: (..., bins, frames) -> (..., length)
/// throws as stft; ShapeError unless there are as many bins as n_fft has; ArgumentError where the host reads the
/// windows, unless they reach every element
///
///     auto again = fft::istft(fft::stft(x, window, options), window, options);
template <detail::Spectral Z, class W>
  requires(is_complex<value_of<Z>> && detail::Windowed<Z, W>)
[[nodiscard]] auto istft(const Z& spectrum, const W& window, const StftOptions& given) {
  const StftOptions options = detail::checked("istft", given);
  const std::int64_t n = options.n_fft, hop = options.hop_length;
  const Tensor w = detail::centred_window("istft", window, n);
  const Shape shape = spectrum.shape();
  const std::int64_t expected = options.onesided ? n / 2 + 1 : n;
  if (shape.rank() < 2 || shape[-2] != expected || shape[-1] < 1)
    fail<ShapeError>({"istft: shape ", shape, "; expected (..., ", expected, ", frames) for n_fft = ", n,
                      " and at least one frame"});
  if (hop > n && shape[-1] > 1)
    fail<ArgumentError>({"istft: no window of ", n, " elements reaches element ", n,
                         "; expected a hop_length of at most ", n, ", not ", hop});
  const std::int64_t frames = shape[-1], reach = n + (frames == 1 ? 0 : hop * (frames - 1)),
                     border = options.center ? n / 2 : 0;
  const bool is_whole = options.length == as_input;
  const std::int64_t end = is_whole || options.length > reach - border ? reach - border : border + options.length;
  if (end <= border || (!is_whole && options.length > reach - border))
    fail<ShapeError>({"istft: a length of ", options.length, "; expected 1 to ", reach - border, ", as far as ", frames,
                      " frames reach"});
  const Norm norm = options.normalized ? Norm::ortho : Norm::backward;
  const auto bins = transpose(spectrum);
  const auto parts = options.onesided ? irfft(bins, {.n = n, .norm = norm}) : real(ifft(bins, {.norm = norm}));
  const int axis = shape.rank() - 2;
  const auto added = fold_windows((parts * w).eval(), axis, reach, hop);
  const Tensor squares = fold_windows(Tensor(square(w)).expand({frames, n}).contiguous(), 0, reach, hop);
  const Tensor sum = squares.slice(0, border, end);
  locus::detail::check_elements(sum, [](auto value, std::int64_t at) {
    if (value < 1e-11)
      fail<ArgumentError>({"istft: no window reaches element ", at,
                           "; expected windows that overlap, without zeros where they do not"});
  });
  return slice(added, axis, border, end) / sum;
}
template <detail::Spectral Z>
  requires is_complex<value_of<Z>>
[[nodiscard]] auto istft(const Z& spectrum, const StftOptions& options) {
  const StftOptions valid = detail::checked("istft", options);
  return fft::istft(spectrum, ones<real_t<value_of<Z>>>({valid.n_fft}, spectrum.device()), valid);
}

#include <locus/refuse/fft/stft.inc>

}}}  // namespace locus::LOCUS_ABI::fft
