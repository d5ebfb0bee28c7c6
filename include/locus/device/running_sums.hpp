#pragma once
// Running sums: what a device may do by one pass beside its verbs. Optional: where there is none, maps do it.

#include <locus/device/verbs.hpp>

namespace locus::inline LOCUS_ABI {

/// Running sums on a device; specialize it to add them to one.
template <class D>
struct RunningSums;

/// A device with these.
template <class D>
concept AddsRunningSums = Device<D> && requires(D device, const float* in, float* out, std::int64_t n) {
  RunningSums<D>::add(device, in, out, n, n, n, false);
};

}  // namespace locus::inline LOCUS_ABI
