#pragma once
// Counting on the host.

#include <locus/cpu/backend.hpp>
#include <locus/device/capabilities.hpp>

namespace locus { inline namespace LOCUS_ABI {

template <>
struct Histogram<Cpu> {
  template <class Bin>
  static void count(Cpu, const Bin* bins, std::int64_t n, std::int64_t* counts, std::int64_t bin_count) {
    for (std::int64_t i = 0; i < n; ++i)
      if (bins[i] >= 0 && bins[i] < bin_count) ++counts[bins[i]];
  }
};

static_assert(HistogramDevice<Cpu>);

}}  // namespace locus::LOCUS_ABI
