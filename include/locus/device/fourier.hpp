#pragma once
// Discrete Fourier transforms, an optional capability of a device: the contract between fft and its engines. Operations
// require FourierDevice<D>, and do not compile on a device without it.

#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// Transforms of length n along one dimension of a dense tensor: `outer` times `inner` of them. Element j of one of
/// them lies at (outer index * n + j) * inner + inner index.
struct FourierLayout {
  std::int64_t outer = 1, n = 1, inner = 1;
  [[nodiscard]] bool is_empty() const { return outer * inner == 0; }
};

/// Transforms on a device, of float and double; specialize it to add them. Numbers of transforms may be 0, n is at
/// least 1. Calls are queued: the host does not wait.
///
///     Fourier<D>::transform(device, layout, in, out, inverse, scale)
///
/// computes out[k] = scale * sum over j of in[j] e^(-2 pi i j k / n), with `inverse` of e^(+2 pi i j k / n). in and out
/// may be the same memory.
///
///     Fourier<D>::real_to_bins(device, rows, n, in, out, scale)
///
/// computes bins 0 ... n / 2 of the transform of each row of n real numbers. `in` is aligned as complex numbers are.
///
///     Fourier<D>::bins_to_real(device, rows, n, in, out, scale)
///
/// computes, of rows of n / 2 + 1 bins, whose conjugates are the other bins, the backward transform, which is real.
/// Imaginary parts of bin 0, and for even n of the last bin, do not count. `in` is not changed.
template <class D>
struct Fourier;

template <class D>
concept FourierDevice = Device<D> && requires(D device, const FourierLayout& layout, double* x, complex128* z) {
  Fourier<D>::transform(device, layout, z, z, true, 1.0);
  Fourier<D>::real_to_bins(device, std::int64_t{}, std::int64_t{}, x, z, 1.0);
  Fourier<D>::bins_to_real(device, std::int64_t{}, std::int64_t{}, z, x, 1.0);
};

}}  // namespace locus::LOCUS_ABI
