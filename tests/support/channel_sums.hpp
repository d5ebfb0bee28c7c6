#pragma once
// Makes a GPU with cuDNN sum the channels of a convolution in its launch, wherever an engine does so.

#include <locus/ops/conv.hpp>

#include <doctest/doctest.h>

#include <support/reference.hpp>

namespace locus_test {

/// y = conv2d(x, w, {.padding = 1}) of channels-last images and weights, with the sums of its channels, beside launches
/// that take several times as long, so that autotuning keeps this form. Whether cuDNN computed it; the sums are
/// checked. before() is called before the slow launches, each time.
template <class T, class F = void (*)()>
[[nodiscard]] bool chooses_channel_sums(
    const locus::Tensor<T, locus::Cuda>& x, const locus::Tensor<T, locus::Cuda>& w, const F& before = [] {}) {
  using namespace locus;
  using locus::detail::as_volumes;
  const auto conv = [&] { return conv2d(x, w, {.padding = 1}); };
  const Tensor<T, Cuda> y = conv();
  const Tensor<float, Cuda> sums({2, w.size(0)}, x.device());
  const ConvShape shape = locus::detail::conv2d({.padding = 1}).request.plan(x.shape(), w.shape(), nullptr);
  const auto slow = [&] {
    before();
    for (int i = 0; i < 8; ++i) (void)conv();
  };
  if (!Convolution<Cuda>::forward_with_sums(x.device(), shape, locus::detail::images_of(as_volumes(x, true)), w.data(),
                                            locus::detail::results_of(as_volumes(y, true)), sums.data(),
                                            ConvLaunches(slow)))
    return false;
  const auto channels = static_cast<std::size_t>(w.size(0));
  const Reference values = reference(y.contiguous()), found = reference(sums);
  const std::size_t elements = static_cast<std::size_t>(y.size(2) * y.size(3));
  std::vector<double> expected(2 * channels);
  for (std::size_t i = 0; i < values.values.size(); ++i) {
    const std::size_t channel = i / elements % channels;
    expected[channel] += values.values[i], expected[channels + channel] += values.values[i] * values.values[i];
  }
  const double count = static_cast<double>(x.size(0)) * static_cast<double>(elements);
  for (std::size_t i = 0; i < expected.size(); ++i)  // means of elements of about 1
    CHECK(std::abs(found.values[i] - expected[i]) <= 1e-2 * count);
  return true;
}

}  // namespace locus_test
