// Runs on: host, cuda (spectra).
// Fourier transforms against PyTorch's numbers, and transforms of every kind of length against their definition.

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu
#endif

#include <locus/autograd/parameter.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/fft/fft.hpp>
#include <locus/ops/close.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/matmul.hpp>

#include <vector>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/thrown.hpp>

using namespace locus;
using locus_test::contains;
using locus_test::message_of;

namespace {

/// A golden tensor, complex if it is named as such: the file holds complex numbers as pairs.
template <class D>
auto complex_leaf(const std::string& name) {
  return variable(Tensor(view_as_complex(golden::tensor<double, D>("spectrum_" + name))));
}
template <class D>
auto real_leaf(const std::string& name) {
  return variable(golden::tensor<double, D>("spectrum_" + name));
}
template <class X>
auto spectrum_pairs(const X& x) {
  if constexpr (is_complex<value_of<X>>) return Tensor(view_as_real(x.eval().value().contiguous()));
  else return Tensor(x.eval().value());
}
template <class Y>
void check_spectrum_equal(const Y& y, const std::string& name, const char* file, int line) {
  locus_test::check_empty(locus_test::difference(spectrum_pairs(y), golden::reference(name), 1e-11), file, line);
}
/// Compares a result with NAME, and the gradient of its input for the cotangent NAME_cotangent with NAME_dINPUT.
template <class Y, class X>
void check_spectrum(const std::string& name, const Y& result, const std::string& input, const X& x, const char* file,
                    int line) {
  using D = device_of<Y>;
  const auto& y = result.eval();
  check_spectrum_equal(y, name, file, line);
  x.zero_grad();
  const auto cotangent = golden::tensor<double, D>(name + "_cotangent");
  if constexpr (is_complex<value_of<Y>>) y.backward(view_as_complex(cotangent));
  else y.backward(cotangent);
  check_spectrum_equal(x.grad(), name + "_d" + input, file, line);
}
#define CHECK_SPECTRUM(name, result, x) check_spectrum(name, result, #x, x, __FILE__, __LINE__)

/// The matrix of the transform.
template <class R, class D>
Tensor<Complex<R>, D> transform_matrix(std::int64_t n, bool inverse) {
  const auto k = arange<double>(n, D{}).reshape({n, 1});
  const auto turns = (k * k.transpose()) % static_cast<double>(n) *
                     ((inverse ? 2 : -2) * 3.14159265358979323846 / static_cast<double>(n));
  return polar(1.0, turns).eval().template as<Complex<R>>();
}

/// The largest distance, relative to the largest magnitude.
template <class T, class D>
double error_of(const Tensor<T, D>& given, const Tensor<T, D>& expected) {
  return static_cast<double>((max(abs(given - expected)) / max(abs(expected))).eval().item());
}

}  // namespace

LOCUS_DEVICE_TEST("transforms along an axis, with PyTorch's values and gradients", D) {
  const auto z = complex_leaf<D>("z");
  const auto x = real_leaf<D>("x");
  for (const auto& named_norm :
       {std::pair{"backward", fft::Norm::backward}, {"ortho", fft::Norm::ortho}, {"forward", fft::Norm::forward}}) {
    const fft::Norm norm = named_norm.second;
    const auto named = [suffix = std::string("_") + named_norm.first](const char* function) {
      return function + suffix;
    };
    CHECK_SPECTRUM(named("fft"), fft::fft(z, {.norm = norm}), z);
    CHECK_SPECTRUM(named("ifft"), fft::ifft(z, {.norm = norm}), z);
    CHECK_SPECTRUM(named("rfft"), fft::rfft(x, {.norm = norm}), x);
    CHECK_SPECTRUM(named("irfft"), fft::irfft(z, {.norm = norm}), z);
    CHECK_SPECTRUM(named("hfft"), fft::hfft(z, {.n = 11, .norm = norm}), z);
    CHECK_SPECTRUM(named("ihfft"), fft::ihfft(x, {.norm = norm}), x);
  }
  CHECK_SPECTRUM("fft_cut", fft::fft(z, {.n = 4}), z);
  CHECK_SPECTRUM("fft_padded", fft::fft(x, {.n = 9, .axis = 1}), x);
  CHECK_SPECTRUM("fft_axis", fft::fft(z, {.axis = 0}), z);
  CHECK_SPECTRUM("rfft_axis", fft::rfft(x, {.axis = 0}), x);
  CHECK_SPECTRUM("irfft_odd", fft::irfft(z, {.n = 11}), z);
}

LOCUS_DEVICE_TEST("transforms along several axes, with PyTorch's values and gradients", D) {
  const auto z = complex_leaf<D>("cube");
  const auto x = real_leaf<D>("solid");
  CHECK_SPECTRUM("fftn", fft::fftn(z), z);
  CHECK_SPECTRUM("ifftn_axes", fft::ifftn(z, {.sizes = {3, 4}, .axes = {2, 0}, .norm = fft::Norm::ortho}), z);
  CHECK_SPECTRUM("fft2", fft::fft2(z), z);
  CHECK_SPECTRUM("rfftn", fft::rfftn(x), x);
  CHECK_SPECTRUM("irfftn", fft::irfftn(z), z);
  check_spectrum_equal(fft::fftshift(z.value()), "fftshift", __FILE__, __LINE__);
  check_spectrum_equal(fft::ifftshift(z.value(), 1), "ifftshift", __FILE__, __LINE__);
  for (const int n : {5, 6}) {
    CHECK_CLOSE((fft::fftfreq<double>(n, 0.5, D{})), golden::reference("fftfreq_" + std::to_string(n)), 1e-11);
    CHECK_CLOSE((fft::rfftfreq<double>(n, 0.5, D{})), golden::reference("rfftfreq_" + std::to_string(n)), 1e-11);
  }
  CHECK(allclose(fft::irfft2(fft::rfft2(x.value())), x.value()));
  CHECK(allclose(fft::ifft2(fft::fft2(x.value())), x.value().template as<complex128>()));
}

LOCUS_DEVICE_TEST("short-time transforms, with PyTorch's values and gradients", D) {
  const auto x = real_leaf<D>("signal");
  const auto z = complex_leaf<D>("frames");
  const auto window = golden::tensor<double, D>("spectrum_window");
  CHECK_SPECTRUM("stft", fft::stft(x, window, {.n_fft = 8, .hop_length = 3}), x);
  CHECK_SPECTRUM("stft_plain",
                 fft::stft(x, {.n_fft = 8, .hop_length = 4, .center = false, .normalized = true, .onesided = false}),
                 x);
  CHECK_SPECTRUM("istft", fft::istft(z, window, {.n_fft = 8, .hop_length = 3, .length = 20}), z);
  const auto signal = randn<double>({2, 3, 37}, D{});
  for (const bool onesided : {true, false}) {
    const fft::StftOptions options{.n_fft = 8, .hop_length = 3, .normalized = true, .onesided = onesided, .length = 37};
    CHECK(allclose(fft::istft(fft::stft(signal, window, options), window, options), signal));
  }
}

// Lengths of every way: blocks of each radix, two steps, and convolutions; alone, in batches, and between other axes.
LOCUS_DEVICE_TEST("transforms of every kind of length are products with the matrix of roots", D) {
  manual_seed(7);
  const auto compare = [](auto real, std::int64_t n, double allowed) {
    using R = decltype(real);
    for (const bool inverse : {false, true}) {
      const auto matrix = transform_matrix<R, D>(n, inverse);
      for (const auto& around : {std::pair{1, 1}, {20, 1}, {2, 3}, {1, 17}}) {
        const int outer = around.first, inner = around.second;
        const auto x = randn<Complex<R>>({outer, n, inner}, D{});
        const fft::Options along{.axis = 1, .norm = inverse ? fft::Norm::forward : fft::Norm::backward};
        const Tensor y = inverse ? fft::ifft(x, along) : fft::fft(x, along);
        CAPTURE(n);
        CAPTURE(outer);
        CAPTURE(inner);
        CHECK(error_of(y, matmul(matrix, x)) < allowed);
      }
    }
    const auto x = randn<R>({3, n}, D{});
    const auto bins = fft::fft(x).slice(1, 0, n / 2 + 1);
    CHECK(error_of(fft::rfft(x), bins) < allowed);
    CHECK(error_of(fft::irfft(bins, {.n = n}), x) < allowed);
    const auto row = randn<R>({n + 1}, D{}).slice(0, 1, n + 1);  // not aligned as complex numbers are
    CHECK(error_of(fft::rfft(row), fft::fft(row).slice(0, 0, n / 2 + 1)) < allowed);
  };
  // Which way a length takes is decided on Cpu alone; on a GPU cuFFT decides.
  using Lengths = std::vector<int>;
  constexpr bool is_host = std::is_same_v<D, Cpu>;
  for (const int n : is_host ? Lengths{1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 17, 30, 49, 64, 97, 128, 210, 243, 289, 300}
                             : Lengths{1, 2, 5, 30})
    compare(double(), n, 2e-14);
  for (const int n : is_host ? Lengths{16, 77, 101, 256, 512} : Lengths{16, 77}) compare(float(), n, 2e-6);
}

LOCUS_DEVICE_TEST("long transforms are undone by their inverse", D) {
  for (const std::int64_t n : {4096, 6561, 10007, 1 << 15}) {
    const auto x = randn<complex128>({2, n}, D{});
    CHECK(error_of(fft::ifft(fft::fft(x)), x) < 1e-13);
    // The transform of a unit at element 1 is the powers of a root.
    const auto unit = zeros<complex128>({n}, D{});
    real(unit.slice(0, 1, 2)).fill_(1);
    const auto turns = arange<double>(n, D{}) * (-2 * 3.14159265358979323846 / static_cast<double>(n));
    CHECK(error_of(fft::fft(unit), polar(1.0, turns).eval()) < 1e-12);
  }
  CHECK(fft::fft(ones<complex64>({0, 4}, D{})).shape() == Shape{0, 4});
  CHECK(fft::rfft(ones({0, 4}, D{})).shape() == Shape{0, 3});
}

LOCUS_DEVICE_TEST("lengths, axes and bins that do not fit are named", D) {
  const auto z = ones<complex64>({2, 5}, D{});
  const auto x = ones({2, 5}, D{});
  CHECK(contains(message_of<ShapeError>([&] { (void)fft::irfft(z, {.n = 12}); }),
                 "irfft: 5 bins along axis 1 of shape (2, 5) for a length of 12, which has 7"));
  CHECK(contains(message_of<ShapeError>([&] { (void)fft::irfft(z.slice(1, 0, 1)); }), "1 bins along axis 1"));
  CHECK(
      contains(message_of<ArgumentError>([&] { (void)fft::fft(z, {.n = 0}); }), "fft: n is 0; expected a length of 1"));
  CHECK(contains(message_of<ArgumentError>([&] { (void)fft::irfft(z, {.n = -2}); }), "irfft: n is -2"));
  CHECK(contains(message_of<ShapeError>([&] { (void)fft::rfft(x.slice(1, 0, 0)); }),
                 "rfft: axis 1 of shape (2, 0) has no elements"));
  CHECK(contains(message_of<IndexError>([&] { (void)fft::fft(z, {.axis = 2}); }), "axis 2"));
  CHECK_THROWS_AS((void)fft::fftn(z, {.axes = {0, -2}}), ArgumentError);
  CHECK_THROWS_AS((void)fft::fftn(z, {.sizes = {3}, .axes = {0, 1}}), ArgumentError);
  CHECK_THROWS_AS((void)fft::fftn(z, {.sizes = {1, 1, 1}}), ArgumentError);
  CHECK_THROWS_AS((void)fft::fftn(z.select(0, 0).select(0, 0)), ShapeError);
  CHECK_THROWS_AS((void)fft::fftfreq(0), ArgumentError);
  CHECK_THROWS_AS((void)fft::rfftfreq(4, 0), ArgumentError);
  CHECK(
      contains(message_of<ShapeError>([&] { (void)fft::stft(x, {.n_fft = 8, .center = false}); }), "stft: 5 elements"));
  CHECK(contains(message_of<ShapeError>([&] { (void)fft::stft(x, {.n_fft = 10}); }),
                 "stft: a signal of 5 elements, and a reflected border of 5"));
  CHECK(contains(message_of<IndexError>([&] { (void)fft::rfft2(x.select(0, 0)); }), "rfft2: axis -2"));
  CHECK_THROWS_AS((void)fft::stft(x, {.n_fft = 0}), ArgumentError);
  CHECK_THROWS_AS((void)fft::stft(x, {.n_fft = 4, .hop_length = -1}), ArgumentError);
  CHECK_THROWS_AS((void)fft::stft(x, ones({5}, D{}), {.n_fft = 4}), ShapeError);
  CHECK(contains(message_of<ShapeError>([&] { (void)fft::istft(z, {.n_fft = 8}); }),
                 "istft: shape (2, 5); expected (..., 5, frames)"));
  CHECK_THROWS_AS((void)fft::istft(z.transpose(), {.n_fft = 8, .length = 99}), ShapeError);
  CHECK_THROWS_AS((void)fft::istft(z.transpose(), {.n_fft = 8, .length = INT64_MAX}), ShapeError);
  CHECK(contains(
      message_of<ArgumentError>([&] { (void)fft::istft(z.transpose(), {.n_fft = 8, .hop_length = INT64_MAX}); }),
      "istft: no window of 8 elements reaches element 8"));
  if constexpr (std::is_same_v<D, Cpu>)
    CHECK(contains(message_of<ArgumentError>([&] { (void)fft::istft(z.transpose(), zeros({8}), {.n_fft = 8}); }),
                   "no window reaches element 0"));
}
