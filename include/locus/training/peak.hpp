#pragma once
// Measures the speed of a matrix product on a device, as a reference for training.

#include <locus/core/std/posix.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/tensor/factory.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// Operations per second of a product of two square matrices of T, two for each multiply-add: the fastest of those that
/// fit into a quarter of a second, by all threads on Cpu. For FitOptions::peak.
/// cost: the quarter of a second, or four products; memory for three matrices until it returns
/// throws ArgumentError for a side below 1; OutOfMemory
///
///     fit(model, optimizer, train, valid, history, {.peak = measured_peak<float>(Cpu{})});
template <class T, Device D>
[[nodiscard]] double measured_peak(D device, std::int64_t side = std::is_same_v<D, Cpu> ? 1024 : 4096) {
  if (side < 1) fail<ArgumentError>({"measured_peak: side is ", side, "; expected 1 or more rows and columns"});
  const auto left = full<T>({side, side}, T(1.f), device), right = full<T>({side, side}, T(0.5f), device);
  const double operations = detail::launches.operations;
  double best = 0;
  const Stopwatch all;
  for (int i = 0; i < 4 || all.seconds() < 0.25; ++i) {
    Backend<D>::synchronize(device);
    const Stopwatch watch;
    (void)matmul(left, right).eval();
    Backend<D>::synchronize(device);
    const double seconds = watch.seconds();
    best = seconds > 0
               ? detail::larger(best, 2. * static_cast<double>(side * side) * static_cast<double>(side) / seconds)
               : best;
  }
  detail::launches.operations = operations;  // training counts its own
  return best;
}

}}  // namespace locus::LOCUS_ABI
