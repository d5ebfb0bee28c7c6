#pragma once
// Passes memory of GPUs to a CUDA-aware MPI.

#include <locus/core/system/environment.hpp>
#include <locus/distributed/engine/device_engine.hpp>
#include <locus/distributed/mpi/mpi_engine.hpp>
#include <locus/distributed/mpi/mpi_staging.hpp>

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

/// See DeviceEngine. MPI gets memory of MpiStaging, to and from which elements are copied, a piece of each message at a
/// time. MPI knows no streams: the host waits for the copies before it passes memory to MPI.
class MpiDeviceLink {
 public:
  static constexpr const char* name = "mpi";
  static constexpr int most_distances = 1 << 20;  ///< MPI has no groups

  MpiDeviceLink(const Shared<MpiEngine<Cpu>>& host, Cuda device)
      : MpiDeviceLink(host, device, piece_of(host->size())) {}
  /// `piece`: bytes of each message that are staged at a time, the same on all ranks.
  MpiDeviceLink(const Shared<MpiEngine<Cpu>>& host, Cuda device, std::int64_t piece)
      : host_(host), device_(device), piece_(piece), staging_(new MpiStaging(device)) {}

  template <class F>
  void run(const Collective<Cuda>& call, const F& f) {
    call_ = {};
    call_.what = call.what;
    call_.sequence = call.sequence;
    call_.owner = call.owner;
    host_->collective(call_, f);
  }
  void meet() { host_->barrier(call_); }
  [[nodiscard]] Shared<MpiEngine<Cpu>> split(GroupChoice choice, std::int64_t sequence) {
    return host_->divided(choice, sequence);
  }
  template <class F>
  void together(const F& f) {
    sends_.clear();
    receives_.clear();
    f();
    std::int64_t most = 0;
    for (const auto* const transfers : {&sends_, &receives_})
      for (const Staged& transfer : *transfers) most = transfer.bytes > most ? transfer.bytes : most;
    for (std::int64_t at = 0; at < most; at += piece_) move(at);
  }
  void send(const void* data, std::int64_t bytes, int peer) {
    sends_.push_back({static_cast<unsigned char*>(const_cast<void*>(data)), bytes, peer, 0});
  }
  void receive(void* data, std::int64_t bytes, int peer) {
    receives_.push_back({static_cast<unsigned char*>(data), bytes, peer, 0});
  }

 private:
  /// A message; `slot`: where its current piece begins in staging memory.
  struct Staged {
    unsigned char* data;
    std::int64_t bytes;
    int peer;
    std::int64_t slot;
  };

  /// Up to 1,024 ranks, the sends of a group have 64 MiB of staging memory at most, and so have its receives.
  [[nodiscard]] static std::int64_t piece_of(int ranks) {
    constexpr std::int64_t all = 64 << 20, least = 64 << 10;
    const std::int64_t share = all / ranks / least * least;
    return share > least ? share : least;
  }
  [[nodiscard]] std::int64_t size_at(const Staged& transfer, std::int64_t at) const {
    const std::int64_t left = transfer.bytes - at;
    return left < 0 ? 0 : left < piece_ ? left : piece_;
  }
  /// Gives each transfer a slot. Consecutive sends of the same elements share one. Returns the bytes of all.
  std::int64_t lay_out(std::int64_t at) {
    constexpr std::int64_t alignment = 256;
    std::int64_t end = 0;
    const auto take = [&](Staged& transfer) {
      transfer.slot = end;
      end += (size_at(transfer, at) + alignment - 1) / alignment * alignment;
    };
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      if (repeats(i)) sends_[i].slot = sends_[i - 1].slot;
      else take(sends_[i]);
    }
    for (Staged& transfer : receives_) take(transfer);
    return end;
  }
  [[nodiscard]] bool repeats(std::size_t i) const {
    return i > 0 && sends_[i].data == sends_[i - 1].data && sends_[i].bytes == sends_[i - 1].bytes;
  }
  /// Sends and receives the pieces that begin `at` bytes from the begin of each message.
  void move(std::int64_t at) {
    unsigned char* const block = staging_->at_least(lay_out(at));
    for (std::size_t i = 0; i < sends_.size(); ++i)
      if (!repeats(i)) copy(block + sends_[i].slot, sends_[i].data + at, size_at(sends_[i], at));
    Stream<Cuda>::current(device_).record().wait();
    auto& peers = host_->peers();
    try {
      MpiLink::Transfers transfers(peers.link, host_->tag_of(call_));
      for (const Staged& one : receives_) transfers.receive(one.peer, block + one.slot, size_at(one, at));
      for (const Staged& one : sends_) transfers.send(one.peer, block + one.slot, size_at(one, at));
      peers.wait(transfers, call_.what, call_.sequence);
    } catch (...) {
      if (peers.link.has_open_transfers()) MpiLink::keep(*staging_);
      throw;
    }
    for (const Staged& one : receives_) copy(one.data + at, block + one.slot, size_at(one, at));
    staging_->used();
  }
  void copy(void* target, const void* source, std::int64_t bytes) const {
    PeerMemory::copy(device_, target, device_, source, bytes);
  }

  Shared<MpiEngine<Cpu>> host_;
  Cuda device_;
  Collective<Cpu> call_{};
  std::int64_t piece_;
  Shared<MpiStaging> staging_;
  std::vector<Staged> sends_{}, receives_{};
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
#endif
