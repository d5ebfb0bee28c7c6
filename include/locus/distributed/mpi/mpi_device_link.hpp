#pragma once
// Passes memory of GPUs to a CUDA-aware MPI.

#include <locus/core/system/environment.hpp>
#include <locus/distributed/engine/device_engine.hpp>
#include <locus/distributed/mpi/mpi_engine.hpp>

#if LOCUS_MPI
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// Whether MPI is CUDA-aware, by its own account. LOCUS_MPI_CUDA_AWARE in the environment, 1 or 0, overrides it.
[[nodiscard]] inline bool mpi_takes_gpu_memory() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  const bool says_so = MPIX_Query_cuda_support() == 1;
#else
  const bool says_so = false;
#endif
  return locus::detail::switch_from_environment("LOCUS_MPI_CUDA_AWARE", says_so);
}

/// See DeviceEngine. MPI knows no streams: the host waits for work queued before it passes memory to MPI.
class MpiDeviceLink {
 public:
  MpiDeviceLink(const Shared<MpiEngine<Cpu>>& host, Cuda device) : host_(host), device_(device) {}

  template <class F>
  void run(const Collective<Cuda>& call, const F& f) {
    call_ = {};
    call_.what = call.what;
    call_.sequence = call.sequence;
    call_.owner = call.owner;
    host_->collective(call_, f);
  }
  void meet() { host_->barrier(call_); }
  template <class F>
  void together(const Owner* owner, const F& f) {
    Stream<Cuda>::current(device_).record().wait();
    auto& peers = host_->peers();
    try {
      MpiLink::Transfers transfers(peers.link, host_->tag_of(call_));
      transfers_ = &transfers;
      f();
      peers.wait(transfers, call_.what, call_.sequence);
    } catch (...) {
      if (owner && peers.link.has_open_transfers()) MpiLink::keep(*owner);
      throw;
    }
  }
  void send(const void* data, std::int64_t bytes, int peer) { transfers_->send(peer, data, bytes); }
  void receive(void* data, std::int64_t bytes, int peer) { transfers_->receive(peer, data, bytes); }

 private:
  Shared<MpiEngine<Cpu>> host_;
  Cuda device_;
  Collective<Cpu> call_{};
  MpiLink::Transfers* transfers_ = nullptr;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
#endif
