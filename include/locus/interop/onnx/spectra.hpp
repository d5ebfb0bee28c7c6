#pragma once
// ONNX's Fourier transforms, and the weights of mel spectra. Complex numbers are pairs in the last dimension, of extent
// 2; an extent of 1 stands for real numbers.

#include <locus/fft/transforms.hpp>
#include <locus/interop/onnx/shaping.hpp>
#include <locus/interop/onnx/windows.hpp>
#include <locus/ops/unfold.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// x, numbers of 16 bits as float, of which there are transforms.
template <class F>
[[nodiscard]] auto spectral(const F& x) {
  if constexpr (fft::detail::has_spectrum<value_of<F>>) return x;
  else return x.template as<float>().eval();
}
/// Gives a spectrum as pairs, or real numbers with a last dimension of 1.
template <class F, class Y>
void give_spectrum(const Call<F>& call, const Y& y) {
  const auto pairs = [&] {
    if constexpr (is_complex<value_of<Y>>) return view_as_real(y).eval();
    else return unsqueeze(y, -1).eval();
  }();
  if constexpr (fft::detail::has_spectrum<value_of<F>>) call.give_like(pairs);
  else call.give_like(pairs.template as<value_of<F>>());
}
/// Whether the last dimension of input 0 holds pairs. throws DataError unless it has one or two elements, and others
/// stand before it
template <class F>
[[nodiscard]] bool holds_complex(const Call<F>& call) {
  const Shape& shape = call.numbers(0).shape();
  if (shape.rank() < 2 || (shape[-1] != 1 && shape[-1] != 2))
    call.fail_here({"a signal of shape ", shape, "; expected (..., 1), real numbers, or (..., 2), complex ones"});
  return shape[-1] == 2;
}
/// A length or a step. throws DataError unless it is positive, and fits
template <class F>
[[nodiscard]] std::int64_t length_at(const Call<F>& call, std::size_t i, std::int64_t otherwise) {
  const std::int64_t given = call.has_input(i) ? call.host_integer(i) : otherwise;
  if (given < 1 || given > most_of_window) call.fail_here({"a length of ", given, "; expected 1 to 2^30"});
  return given;
}

/// The transform of real or complex numbers; `onesided`, their bins 0 ... n / 2 alone, or the real signal of these.
template <class F, class Z>
void give_transform(const Call<F>& call, const Z& z, const fft::Options& options) {
  const bool inverse = call.flag("inverse"), onesided = call.flag("onesided");
  if (!onesided) {
    if (inverse) give_spectrum(call, fft::ifft(z, options));
    else give_spectrum(call, fft::fft(z, options));
  } else if (inverse) {
    const auto bins = fft::detail::resized(fft::detail::as_complex(z), options.axis, options.n / 2 + 1);
    give_spectrum(call, fft::irfft(bins, options));
  } else if constexpr (is_complex<value_of<Z>>) {
    call.fail_here({"onesided of a complex signal, of shape ", call.shape(0), "; expected (..., 1)"});
  } else {
    give_spectrum(call, fft::rfft(z, options));
  }
}
template <class F>
void transform_signal(const Call<F>& call) {
  const bool is_complex_signal = holds_complex(call);
  const Shape& shape = call.shape(0);
  const std::int64_t asked =
      call.opset() < 20 ? call.integer("axis", 1) : (call.has_input(2) ? call.host_integer(2) : -2);
  const int axis = call.axis_of(asked, shape.rank());
  if (axis == shape.rank() - 1) call.fail_here({"axis ", asked, " of shape ", shape, "; expected one before the last"});
  const bool is_of_bins = call.flag("inverse") && call.flag("onesided");
  const std::int64_t n = length_at(call, 1, is_of_bins ? 2 * (shape[axis] - 1) : shape[axis]);
  const auto x = spectral(call.numbers(0));
  const auto real = select(x, -1, 0).eval();
  if (is_complex_signal) give_transform(call, complex(real, select(x, -1, 1)).eval(), {.n = n, .axis = axis});
  else give_transform(call, real, {.n = n, .axis = axis});
}

/// The transforms of frames of a signal (batch, length, 1 or 2), each multiplied by a window.
template <class F>
void transform_frames(const Call<F>& call) {
  const bool is_complex_signal = holds_complex(call), onesided = call.flag("onesided", true);
  const Shape& shape = call.shape(0);
  if (shape.rank() != 3) call.fail_here({"a signal of shape ", shape, "; expected (batch, length, 1 or 2)"});
  if (is_complex_signal && onesided)
    call.fail_here({"onesided of a complex signal, of shape ", shape, "; expected (..., 1)"});
  const std::int64_t step = length_at(call, 1, 0);
  const bool has_window = call.has_input(2);
  const std::int64_t n = length_at(call, 3, has_window ? elements(call.shape(2)) : shape[1]);
  if (n > shape[1]) call.fail_here({"frames of ", n, " elements of a signal of shape ", shape});
  if (has_window && !(call.shape(2) == Shape{n}))
    call.fail_here({"a window of shape ", call.shape(2), " for frames of ", n, " elements"});
  const auto x = spectral(call.numbers(0));
  const auto frames = [&](std::int64_t part) {
    const auto cut = unfold(select(x, -1, part), 1, n, step);
    return has_window ? (cut * spectral(call.numbers(2))).eval() : cut;
  };
  if (is_complex_signal) give_spectrum(call, fft::fft(complex(frames(0), frames(1))));
  else if (onesided) give_spectrum(call, fft::rfft(frames(0)));
  else give_spectrum(call, fft::fft(frames(0)));
}

/// Triangles over the bins of a spectrum, at equal distances on the mel scale, 2595 log10(1 + f / 700).
template <class F>
void mel_weights(const Call<F>& call) {
  const std::int64_t count = length_at(call, 0, 0), n = length_at(call, 1, 0), rate = length_at(call, 2, 0),
                     bins = n / 2 + 1;
  const double lowest = call.host_number(3), highest = call.host_number(4);
  if (!(lowest >= 0 && lowest <= highest && 2 * highest <= static_cast<double>(rate)))
    call.fail_here({"frequencies from ", lowest, " to ", highest, " at a rate of ", rate,
                    "; expected 0 or more, in order, up to half of the rate"});
  const auto mel = [](double f) { return 2595 * math::log10(1 + f / 700); };
  const double first = mel(lowest), width = (mel(highest) - first) / static_cast<double>(count + 2);
  const auto edge = [&](std::int64_t i) {
    const double f = 700 * (math::exp((first + static_cast<double>(i) * width) / 2595 * math::log(10.0)) - 1);
    return static_cast<std::int64_t>(static_cast<double>(n + 1) * f / static_cast<double>(rate));
  };
  const Tensor<float, Cpu> weights = zeros<float>({bins, count});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t left = edge(i), middle = edge(i + 1), right = edge(i + 2);
    const auto weigh = [&](std::int64_t bin, double weight) {
      if (bin < bins) weights.data()[bin * count + i] = static_cast<float>(weight);
    };
    const auto share = [](std::int64_t part, std::int64_t whole) {
      return static_cast<double>(part) / static_cast<double>(whole);
    };
    for (std::int64_t bin = left; bin < middle; ++bin) weigh(bin, share(bin - left, middle - left));
    weigh(middle, 1);
    for (std::int64_t bin = middle + 1; bin < right; ++bin) weigh(bin, share(right - bin, right - middle));
  }
  const auto type = static_cast<DataType>(call.integer("output_datatype", 1));
  if (!is_floating(type)) call.fail_here({"output_datatype ", to_string(type), "; expected floating-point numbers"});
  call.give_as(type,
               Call<F>::handle(weights.template to<device_of<F>>(call.device()).template as<value_of<F>>().eval()));
}

template <class F>
inline constexpr Operation<F> spectra[] = {
    {"DFT", &transform_signal<F>}, {"MelWeightMatrix", &mel_weights<F>}, {"STFT", &transform_frames<F>}};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
