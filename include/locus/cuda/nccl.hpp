#pragma once
// NCCL's communicators, as messages between GPUs. Type-checks everywhere, as cuda/backend.hpp.
//
// Used in programs with CUDA where <nccl.h> is found, unless LOCUS_NCCL is defined as 0; they link with -lnccl.

#include <locus/core/std/posix.hpp>
#include <locus/core/std/shared.hpp>
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

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <new>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// The pause between two looks at work in flight, which take locks of the driver: yields the core for 50 us, then
/// sleeps, for 25 us at first and up to 100 us.
class Backoff {
 public:
  void operator()() {
    if (watch_.seconds() < 50e-6) {
      sched_yield();
      return;
    }
    usleep(microseconds_);
    if (microseconds_ < 100) microseconds_ *= 2;
  }

 private:
  Stopwatch watch_{};
  useconds_t microseconds_ = 25;
};
}  // namespace detail

/// One rank of NCCL. Operations are queued in the current stream of its GPU. NCCL calls return at once; until they
/// complete, `waits(is_own)` is called again and again, and may throw. is_own: whether this rank's GPU has not yet
/// reached the operation. A failing rank tells the other ranks, and only then calls abort(): NCCL may wait for theirs.
class NcclRank {
 public:
  using Id = ncclUniqueId;
  /// Sends and receives that each version of NCCL takes in a group.
  static constexpr int most_operations = 2048;

  /// Made by rank 0, and needed by all ranks.
  [[nodiscard]] static Id make_id() {
    Id id;
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    return id;
  }
  explicit NcclRank(Cuda device) : device_(device) {}
  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;
  ~NcclRank() { abort(); }

  /// All ranks call it at the same time. throws CudaError
  template <class Waits>
  void start(int rank, int size, const Id& id, Waits waits) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const cuda::OrdinalGuard guard(device_.ordinal);
    settle(ncclCommInitRankConfig(&rank_, size, id, rank, &config), "ncclCommInitRankConfig", waits);
  }
  /// Ends queued work; this object is of no use afterwards. For use after a failure, or when all ranks are done. NCCL
  /// may wait for other ranks to abort: after five seconds this returns, and a thread of its own continues to wait.
  void abort() noexcept {
    if (rank_) Ending::of(std::exchange(rank_, nullptr), 5);
  }

  /// Calls f() and makes its sends and receives together, at most `most_operations`: none waits for another. Returns
  /// when they are done. throws CudaError
  template <class F, class Waits>
  void together(const F& f, Waits waits) const {
    const cuda::OrdinalGuard guard(device_.ordinal);
    const auto stream = Stream<Cuda>::current(device_);
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
    bool is_own = true;
    detail::Backoff pause;
    for (ncclResult_t status = ncclSuccess; !after.done(); pause()) {
      check(ncclCommGetAsyncError(rank_, &status), "ncclCommGetAsyncError");
      unless_in_progress(status, "NCCL");
      is_own = is_own && !before.done();
      waits(is_own);
    }
  }
  void send(const void* data, std::int64_t bytes, int peer) const {
    if (bytes > 0)
      unless_in_progress(ncclSend(data, static_cast<std::size_t>(bytes), ncclInt8, peer, rank_, stream()), "ncclSend");
  }
  void receive(void* data, std::int64_t bytes, int peer) const {
    if (bytes > 0)
      unless_in_progress(ncclRecv(data, static_cast<std::size_t>(bytes), ncclInt8, peer, rank_, stream()), "ncclRecv");
  }

 private:
  [[nodiscard]] cudaStream_t stream() const { return cuda::Context::current(device_.ordinal).stream(); }
  static void check(ncclResult_t status, const char* call) {
    if (status != ncclSuccess) fail<CudaError>({call, ": ", ncclGetErrorString(status)});
  }
  static void unless_in_progress(ncclResult_t status, const char* call) {
    if (status != ncclInProgress) check(status, call);
  }
  /// Waits until a call that returned at once has completed.
  template <class Waits>
  void settle(ncclResult_t status, const char* call, Waits& waits) const {
    for (detail::Backoff pause; status == ncclInProgress; pause()) {
      check(ncclCommGetAsyncError(rank_, &status), "ncclCommGetAsyncError");
      waits(false);
    }
    check(status, call);
  }
  /// Runs ncclCommAbort, which may wait for other ranks for ever, in a thread of its own.
  class Ending final : public Counted {
   public:
    explicit Ending(ncclComm_t rank) : rank_(rank) {}
    /// Returns when it is done, or after so many seconds.
    static void of(ncclComm_t rank, double seconds) noexcept {
      const Shared<Ending> ending(new (std::nothrow) Ending(rank));
      if (!ending) return;
      ending->retain();  // for the thread
      pthread_t thread{};
      if (pthread_create(&thread, nullptr, &Ending::run, ending.get()) != 0) return (void)run(ending.get());
      (void)pthread_detach(thread);
      for (const Stopwatch watch; ending->done_.load() == 0 && watch.seconds() < seconds;)
        ending->done_.wait_at_most(0, 100);
    }

   private:
    static void* run(void* self) {
      const Shared<Ending> ending(static_cast<Ending*>(self));
      (void)ending->release();
      (void)ncclCommAbort(ending->rank_);
      ending->done_.store(1, Order::release);
      ending->done_.notify();
      return nullptr;
    }
    ncclComm_t rank_;
    Signal done_{0};
  };
  Cuda device_;
  ncclComm_t rank_ = nullptr;
};

}}  // namespace locus::LOCUS_ABI
#endif
