#pragma once
// Running sums: what a device may do by one pass beside its verbs. Optional: where there is none, maps do it.

#include <locus/cpu/backend.hpp>
#include <locus/cpu/reduce/running_sums.hpp>

namespace locus::inline LOCUS_ABI {

/// Running sums on a device; specialize it to add them to one.
template <class D>
struct RunningSums;

template <>
struct RunningSums<Cpu> {
  /// out = the running sums of in along the second extent of (outer, cols, inner), both dense; from the end in reverse.
  template <class T>
  static void add(Cpu, const T* in, T* out, std::int64_t outer, std::int64_t cols, std::int64_t inner, bool reverse) {
    ++detail::launches.rows;
    detail::HostTrace trace;
    if (detail::launches_are_observed()) [[unlikely]]
      trace.begin(detail::describe_rows("running sums", outer * inner, cols, 2 * sizeof(T)));
    cpu::running_sums(in, out, outer, cols, inner, reverse);
  }
};

/// A device with these.
template <class D>
concept AddsRunningSums = Device<D> && requires(D device, const float* in, float* out, std::int64_t n) {
  RunningSums<D>::add(device, in, out, n, n, n, false);
};
static_assert(AddsRunningSums<Cpu>);

}  // namespace locus::inline LOCUS_ABI
