#pragma once
// Counts how often numbers occur in a list. The sums are integers, so the order of atomic additions does not show.

#include <locus/cuda/trace.hpp>
#include <locus/cuda/tuning.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
inline constexpr int count_threads = tuning::count_threads;
/// Most bins for which each block first counts in its shared memory: 32 KiB.
inline constexpr int64_t most_bins_of_a_block = tuning::most_bins_of_block;

/// Counts in shared memory, with bin_count counters, if `by_block`; otherwise straight into the result.
template <class Bin, bool by_block>
__global__ void __launch_bounds__(count_threads)
    count_bins(const Bin* bins, int64_t n, unsigned long long* counts, int64_t bin_count) {
  extern __shared__ __align__(16) unsigned char memory[];
  unsigned* const own = reinterpret_cast<unsigned*>(memory);
  if constexpr (by_block) {
    for (int64_t b = threadIdx.x; b < bin_count; b += count_threads) own[b] = 0;
    __syncthreads();
  }
  const int64_t step = static_cast<int64_t>(gridDim.x) * count_threads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * count_threads + threadIdx.x; i < n; i += step) {
    const int64_t bin = bins[i];
    if (bin < 0 || bin >= bin_count) continue;
    if constexpr (by_block) atomicAdd(own + bin, 1u);
    else atomicAdd(counts + bin, 1ull);
  }
  if constexpr (by_block) {
    __syncthreads();
    for (int64_t b = threadIdx.x; b < bin_count; b += count_threads)
      if (own[b] != 0) atomicAdd(counts + b, static_cast<unsigned long long>(own[b]));
  }
}
}  // namespace detail

/// Implements HistogramDevice. Blocks are few, so that they seldom add to the result, but one more per 2^32 numbers
/// keeps the 32-bit counters of a block from overflowing.
template <class Bin>
void count(Context& context, const Bin* bins, int64_t n, int64_t* counts, int64_t bin_count) {
  if (n == 0 || bin_count == 0) return;
  const int64_t needed = (n + detail::count_threads - 1) / detail::count_threads;
  const int64_t most = 4 * static_cast<int64_t>(context.multiprocessors()) + (n >> 32);
  const auto blocks = static_cast<unsigned>(needed < most ? needed : most);
  auto* const target = reinterpret_cast<unsigned long long*>(counts);
  if (streams_are_checked()) [[unlikely]] {
    StreamUses uses({"count", nullptr, Shape{n}});
    uses.read(bins, n * int64_t{sizeof(Bin)});
    uses.write(counts, bin_count * int64_t{sizeof(int64_t)});
    context.check_order(uses);
  }
  LaunchTrace trace(context);
  if (locus::detail::launches_are_observed()) [[unlikely]]
    trace.begin({"count", nullptr, Shape{n}, n * int64_t{sizeof(Bin)}});
  if (bin_count <= detail::most_bins_of_a_block) {
    const std::size_t shared = static_cast<std::size_t>(bin_count) * sizeof(unsigned);
    detail::count_bins<Bin, true>
        <<<blocks, detail::count_threads, shared, context.stream()>>>(bins, n, target, bin_count);
  } else {
    detail::count_bins<Bin, false><<<blocks, detail::count_threads, 0, context.stream()>>>(bins, n, target, bin_count);
  }
  context.launched("count", std::array<std::int64_t, 1>{n});
  trace.end(blocks, detail::count_threads);
}

}}}  // namespace locus::LOCUS_ABI::cuda
