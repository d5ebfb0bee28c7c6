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
/// The pause between two looks at a call that NCCL has not taken yet: yields the core for 50 us, then sleeps, for 25 us
/// at first and up to 100 us.
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

/// One rank of NCCL, for several threads. Operations are queued in the calling thread's current stream of its GPU. NCCL
/// calls return at once; until NCCL has taken them, `waits()` is called again and again, and may throw. A failing rank
/// tells the other ranks, and only then calls abort(): NCCL may wait for theirs.
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
  void start(int rank, int size, const Id& id, const Waits& waits) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const cuda::OrdinalGuard guard(device_.ordinal);
    ncclResult_t status = ncclSuccess;
    {
      const Lock lock(mutex_);
      status = ncclCommInitRankConfig(&rank_, size, id, rank, &config);
    }
    settle(status, "ncclCommInitRankConfig", waits);
  }
  /// Ends queued work, and this object is of no use afterwards. For use after a failure. NCCL may wait for other ranks
  /// to abort: after five seconds this returns, and a thread of its own continues to wait.
  void abort() noexcept { end(true); }
  /// The same where all queued work is done. NCCL waits for the other ranks to end.
  void finish() noexcept { end(false); }

  /// throws CudaError if NCCL has failed, or was aborted
  void require_sound() const { (void)state("NCCL"); }

  /// Calls f(), which queues operations as one group, at most `most_operations` of send() and receive(): none waits for
  /// another. Returns when NCCL has queued them. throws CudaError
  template <class F, class Waits>
  void queue(const F& f, const Waits& waits) const {
    const cuda::OrdinalGuard guard(device_.ordinal);
    ncclResult_t status = ncclSuccess;
    {
      const Lock lock(mutex_);
      require_started();
      check(ncclGroupStart(), "ncclGroupStart");
      try {
        f();
      } catch (...) {
        (void)ncclGroupEnd();
        throw;
      }
      status = ncclGroupEnd();
    }
    settle(status, "ncclGroupEnd", waits);
  }

  // Within queue().

  void send(const void* data, std::int64_t bytes, int peer) const {
    check_order("send", data, bytes, nullptr, 0);
    if (bytes > 0)
      unless_in_progress(ncclSend(data, static_cast<std::size_t>(bytes), ncclInt8, peer, rank_, stream()), "ncclSend");
  }
  void receive(void* data, std::int64_t bytes, int peer) const {
    check_order("receive", nullptr, 0, data, bytes);
    if (bytes > 0)
      unless_in_progress(ncclRecv(data, static_cast<std::size_t>(bytes), ncclInt8, peer, rank_, stream()), "ncclRecv");
  }
  /// Elements of a type, and how NCCL combines them.
  struct Reduction {
    ncclDataType_t type;
    ncclRedOp_t op;
  };
  void all_reduce(const void* source, void* target, std::int64_t count, Reduction by) const {
    check_order("all_reduce", source, 1, target, 1);
    unless_in_progress(ncclAllReduce(source, target, size(count), by.type, by.op, rank_, stream()), "ncclAllReduce");
  }
  /// `target` is null on ranks other than the root.
  void reduce(const void* source, void* target, std::int64_t count, Reduction by, int root) const {
    check_order("reduce", source, 1, target, 1);
    unless_in_progress(ncclReduce(source, target, size(count), by.type, by.op, root, rank_, stream()), "ncclReduce");
  }
  void reduce_scatter(const void* source, void* target, std::int64_t count, Reduction by) const {
    check_order("reduce_scatter", source, 1, target, 1);
    unless_in_progress(ncclReduceScatter(source, target, size(count), by.type, by.op, rank_, stream()),
                       "ncclReduceScatter");
  }
  void broadcast(const void* source, void* target, std::int64_t bytes, int root) const {
    check_order("broadcast", source, bytes, target, bytes);
    unless_in_progress(ncclBroadcast(source, target, size(bytes), ncclInt8, root, rank_, stream()), "ncclBroadcast");
  }
  void all_gather(const void* source, void* target, std::int64_t bytes) const {
    check_order("all_gather", source, bytes, target, bytes);
    unless_in_progress(ncclAllGather(source, target, size(bytes), ncclInt8, rank_, stream()), "ncclAllGather");
  }

 private:
  /// Of sums, the first byte stands for all.
  void check_order(const char* call, const void* source, std::int64_t read, void* target, std::int64_t written) const {
    if (!cuda::streams_are_checked()) [[likely]]
      return;
    cuda::StreamUses uses({call});
    uses.read(source, read);
    uses.write(target, written);
    cuda::Context::current(device_.ordinal).check_order(uses);
  }
  [[nodiscard]] cudaStream_t stream() const { return cuda::Context::current(device_.ordinal).stream(); }
  static void check(ncclResult_t status, const char* call) {
    if (status != ncclSuccess) fail<CudaError>({call, ": ", ncclGetErrorString(status)});
  }
  static void unless_in_progress(ncclResult_t status, const char* call) {
    if (status != ncclInProgress) check(status, call);
  }
  [[nodiscard]] static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }
  void require_started() const {
    if (!rank_) fail<CudaError>({"NCCL was aborted after a failure; make another communicator"});
  }
  /// ncclSuccess or ncclInProgress.
  [[nodiscard]] ncclResult_t state(const char* call) const {
    const Lock lock(mutex_);
    require_started();
    ncclResult_t status = ncclSuccess;
    check(ncclCommGetAsyncError(rank_, &status), "ncclCommGetAsyncError");
    unless_in_progress(status, call);
    return status;
  }
  /// Waits until NCCL has taken a call that returned at once.
  template <class Waits>
  void settle(ncclResult_t status, const char* call, const Waits& waits) const {
    for (detail::Backoff pause; status == ncclInProgress; pause()) {
      status = state(call);
      waits();
    }
    check(status, call);
  }
  void end(bool aborts) noexcept {
    ncclComm_t rank = nullptr;
    {
      const Lock lock(mutex_);
      rank = std::exchange(rank_, nullptr);
    }
    if (rank) Ending::of(rank, device_, aborts, 5);
  }
  /// Ends NCCL, which may wait for other ranks for ever, in a thread of its own.
  class Ending final : public Counted {
   public:
    Ending(ncclComm_t rank, Cuda device, bool aborts) : rank_(rank), device_(device), aborts_(aborts) {}
    /// Returns when it is done, or after so many seconds.
    static void of(ncclComm_t rank, Cuda device, bool aborts, double seconds) noexcept {
      const Shared<Ending> ending(new (std::nothrow) Ending(rank, device, aborts));
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
      if (ending->aborts_ || !ending->has_finished()) (void)ncclCommAbort(ending->rank_);
      ending->done_.store(1, Order::release);
      ending->done_.notify();
      return nullptr;
    }
    /// Whether NCCL has ended in order: what it still sends has arrived.
    [[nodiscard]] bool has_finished() const noexcept {
      try {
        const cuda::OrdinalGuard guard(device_.ordinal);
        ncclResult_t status = ncclCommFinalize(rank_);
        for (detail::Backoff pause; status == ncclInProgress; pause())
          if (ncclCommGetAsyncError(rank_, &status) != ncclSuccess) return false;
        return status == ncclSuccess && ncclCommDestroy(rank_) == ncclSuccess;
      } catch (const Error&) {  // the GPU does not answer
        return false;
      }
    }
    ncclComm_t rank_;
    Cuda device_;
    bool aborts_;
    Signal done_{0};
  };
  Cuda device_;
  mutable Mutex mutex_{};
  ncclComm_t rank_ = nullptr;  ///< null: not started, or ended
};

}}  // namespace locus::LOCUS_ABI
#endif
