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

/// One rank of NCCL. What it does is queued in the current stream of its GPU. NCCL is asked to return at once; while it
/// is not done, `waits(is_own)` is called again and again, and may throw. is_own: whether only this rank's GPU is
/// waited for, not others. After a failure it is of no use, and what it queued ends without its elements.
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
  template <class Waits>
  NcclRank(Cuda device, int rank, int size, const Id& id, Waits waits) : device_(device) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const cuda::OrdinalGuard guard(device.ordinal);
    or_abort([&] { settle(ncclCommInitRankConfig(&rank_, size, id, rank, &config), "ncclCommInitRankConfig", waits); });
  }
  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;
  /// Does not wait for other ranks, which may have failed.
  ~NcclRank() { abort(); }

  /// f(), whose sends and receives are made together: none waits for another. Returns when they are done. throws
  /// CudaError
  template <class F, class Waits>
  void together(const F& f, Waits waits) {
    const cuda::OrdinalGuard guard(device_.ordinal);
    const auto stream = Stream<Cuda>::current(device_);
    or_abort([&] {
      const auto before = stream.record();
      check(ncclGroupStart(), "ncclGroupStart");
      try {
        f();
      } catch (...) {
        (void)ncclGroupEnd();
        throw;
      }
      settle(ncclGroupEnd(), "ncclGroupEnd", waits);
      const auto after = stream.record();
      for (ncclResult_t status = ncclSuccess; !after.done(); waits(!before.done())) {
        check(ncclCommGetAsyncError(rank_, &status), "ncclCommGetAsyncError");
        check(status, "NCCL");
      }
    });
  }
  void send(const void* data, std::int64_t bytes, int peer) const {
    if (bytes > 0)
      grouped(ncclSend(data, static_cast<std::size_t>(bytes), ncclInt8, peer, rank_, stream()), "ncclSend");
  }
  void receive(void* data, std::int64_t bytes, int peer) const {
    if (bytes > 0)
      grouped(ncclRecv(data, static_cast<std::size_t>(bytes), ncclInt8, peer, rank_, stream()), "ncclRecv");
  }

 private:
  [[nodiscard]] cudaStream_t stream() const { return cuda::Context::current(device_.ordinal).stream(); }
  static void check(ncclResult_t status, const char* call) {
    if (status != ncclSuccess) fail<CudaError>({call, ": ", ncclGetErrorString(status)});
  }
  static void grouped(ncclResult_t status, const char* call) {
    if (status != ncclInProgress) check(status, call);
  }
  /// Waits until a call that returned at once has an answer.
  template <class Waits>
  void settle(ncclResult_t status, const char* call, Waits& waits) const {
    for (; status == ncclInProgress; waits(false))
      check(ncclCommGetAsyncError(rank_, &status), "ncclCommGetAsyncError");
    check(status, call);
  }
  template <class F>
  void or_abort(const F& f) {
    try {
      f();
    } catch (...) {
      abort();
      throw;
    }
  }
  void abort() noexcept {
    if (rank_) (void)ncclCommAbort(std::exchange(rank_, nullptr));
  }
  Cuda device_;
  ncclComm_t rank_ = nullptr;
};

}  // namespace locus::inline LOCUS_ABI
#endif
