#pragma once
// The engine of processes that MPI started.

#include <locus/cuda/backend.hpp>
#include <locus/dist/message_engine.hpp>
#include <locus/dist/mpi_link.hpp>

#if LOCUS_MPI

namespace locus::inline LOCUS_ABI::dist {

template <HostAccessible D>
class MpiEngine final : public MessageEngine<D, detail::MpiLink> {
  using Peers = detail::MessagePeers<detail::MpiLink>;

 public:
  /// All ranks of `parent` make one at the same time. `most_bytes`: of one message of MPI. throws EngineUnavailable
  MpiEngine(MPI_Comm parent, D device, const Options& options, std::int64_t most_bytes = 1 << 30)
      : MessageEngine<D, detail::MpiLink>(
            Shared<Peers>(new Peers(options.timeout, parent, options.timeout, most_bytes)), device, options) {}

  /// The GPU of this process: those of its machine in turn. throws CudaUnavailable
  [[nodiscard]] Cuda gpu() const {
    const int gpus = cuda::device_count();
    if (gpus == 0) cuda::require_device(0);
    return {this->peers().link.rank_on_machine() % (gpus > 0 ? gpus : 1)};
  }
};

}  // namespace locus::inline LOCUS_ABI::dist
#endif
