#pragma once
// NCCL's communicators, as messages between GPUs. Type-checks everywhere, as cuda/backend.hpp.
//
// Used in programs with CUDA where <nccl.h> is found, unless LOCUS_NCCL is defined as 0; they link with -lnccl.

#include <locus/cuda/streams.hpp>

#ifndef LOCUS_NCCL
#if LOCUS_CUDA && __has_include(<nccl.h>)
#define LOCUS_NCCL 1
#else
#define LOCUS_NCCL 0
#endif
#endif

#if LOCUS_NCCL
#include <nccl.h>

namespace locus::inline LOCUS_ABI {

/// One rank of NCCL. What it does is queued in the current stream of its GPU.
class NcclRank {
 public:
  using Id = ncclUniqueId;

  /// Rank 0 makes one, which all need.
  [[nodiscard]] static Id make_id() {
    Id id;
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    return id;
  }
  /// All ranks make theirs at the same time. throws CudaError
  NcclRank(Cuda device, int rank, int size, const Id& id) : device_(device) {
    const cuda::OrdinalGuard guard(device.ordinal);
    check(ncclCommInitRank(&rank_, size, id, rank), "ncclCommInitRank");
  }
  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;
  /// Does not wait for other ranks, which may have failed.
  ~NcclRank() { (void)ncclCommAbort(rank_); }

  /// f(), whose sends and receives are made together: none waits for another.
  template <class F>
  void together(const F& f) const {
    const cuda::OrdinalGuard guard(device_.ordinal);
    check(ncclGroupStart(), "ncclGroupStart");
    f();
    check(ncclGroupEnd(), "ncclGroupEnd");
  }
  void send(const void* data, std::int64_t bytes, int peer) const {
    if (bytes > 0) check(ncclSend(data, static_cast<std::size_t>(bytes), ncclInt8, peer, rank_, stream()), "ncclSend");
  }
  void receive(void* data, std::int64_t bytes, int peer) const {
    if (bytes > 0) check(ncclRecv(data, static_cast<std::size_t>(bytes), ncclInt8, peer, rank_, stream()), "ncclRecv");
  }

 private:
  [[nodiscard]] cudaStream_t stream() const { return cuda::Context::current(device_.ordinal).stream(); }
  static void check(ncclResult_t status, const char* call) {
    if (status != ncclSuccess) fail<CudaError>({call, ": ", ncclGetErrorString(status)});
  }
  Cuda device_;
  ncclComm_t rank_ = nullptr;
};

}  // namespace locus::inline LOCUS_ABI
#endif
