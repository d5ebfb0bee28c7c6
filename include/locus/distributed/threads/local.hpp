#pragma once
// The ranks of one process, on each device.

#include <locus/distributed/threads/cuda_engine.hpp>
#include <locus/distributed/threads/thread_engine.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// Makes the ranks of this process: `static std::vector<Shared<Engine<D>>> engines(int ranks, const Options&)`, one
/// engine for each rank, which one thread then uses.
template <class D>
struct LocalRanks;

template <HostAccessible D>
struct LocalRanks<D> {
  [[nodiscard]] static std::vector<Shared<Engine<D>>> engines(int ranks, const Options& options) {
    const Shared group(new detail::HostGroup(ranks, options.timeout, ranks));
    std::vector<Shared<Engine<D>>> result;
    for (int rank = 0; rank < ranks; ++rank)
      result.push_back(Shared<Engine<D>>(new ThreadEngine<D>(group, rank, D{}, options)));
    return result;
  }
};

/// Rank r is on GPU r modulo the number of GPUs.
template <>
struct LocalRanks<Cuda> {
  /// throws CudaUnavailable if there is no GPU
  [[nodiscard]] static std::vector<Shared<Engine<Cuda>>> engines(int ranks, const Options& options) {
    const int gpus = cuda::device_count();
    if (gpus == 0) cuda::require_device(0);
    std::vector<Cuda> devices;
    devices.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) devices.push_back({rank % gpus});
    const Shared group(new detail::CudaGroup(devices, options.timeout, ranks));
    std::vector<Shared<Engine<Cuda>>> result;
    result.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank)
      result.push_back(Shared<Engine<Cuda>>(new CudaEngine(group, rank, options)));
    return result;
  }
};

}}}  // namespace locus::LOCUS_ABI::dist
