#pragma once
// The memory that captured steps share.

#include <locus/cuda/stream.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// A stream, and its memory, in which the steps called in one other stream, the caller's, run and are captured. The
/// steps share the memory by these rules:
/// - A replay overwrites the blocks that its capture allocated. Those that were free when the capture ended serve later
///   captures, for memory that these free again. Each replay follows the previous one on the GPU: in one stream by its
///   order, else by an event.
/// - Memory that outlives a capture, such as results, lies in blocks that no other step overwrites. The last run or
///   capture of the step predicts which memory that is. A capture that proves the prediction wrong is abandoned and
///   made again. Small blocks are not shared at all.
/// - Memory of an uncaptured run may outlive it unpredictably. So runs take blocks that replays overwrite only if all
///   these replays belong to renewable steps. While a tensor holds such a block, can_replay() is false for those steps:
///   they have to be captured anew, in other blocks, which moves their results. A renewable step is not replayed while
///   another step runs or is captured.
/// - The caller's unused blocks serve runs and captures, too. What a first run needed and the capture does not is
///   released.
class CapturePool {
 public:
  /// A pool of the caller's stream that is not entered. Enters it, for one step more. throws CudaUnavailable
  [[nodiscard]] static CapturePool& join(Context& caller) {
    const Lock lock(registry().mutex);
    for (CapturePool* const pool : registry().pools)
      if (pool->enter(caller)) return ++pool->steps_, *pool;
    registry().pools.reserve(registry().pools.size() + 1);
    auto* const pool = new CapturePool(caller);
    registry().pools.push_back(pool);
    return *pool;
  }
  /// One step less. The last one gives all memory back.
  void leave() noexcept {
    const Lock lock(registry().mutex);
    if (--steps_ > 0) return;
    std::erase(registry().pools, this);
    delete this;
  }
  CapturePool(const CapturePool&) = delete;
  CapturePool& operator=(const CapturePool&) = delete;

  [[nodiscard]] Context& context() { return context_; }
  /// Stream beside the step's, for the capture in progress.
  [[nodiscard]] cudaStream_t& beside() { return beside_; }

  /// Reserves the pool for a run or capture. False if it is another caller's, or already entered.
  [[nodiscard]] bool enter(const Context& caller) {
    const Lock lock(mutex_);
    return &caller == &caller_ && !std::exchange(is_entered_, true);
  }
  void exit() noexcept {
    const Lock lock(mutex_);
    is_entered_ = false;
  }

  /// In the entered pool: begins to allocate for the step; null: for no step. Replays so far come first.
  void begin(CapturedBlocks* step, bool capturing) {
    settle();
    memory().begin_step(context_.memory_, step, capturing);
  }
  /// False if the capture has to be abandoned and made again.
  bool end(bool succeeded) noexcept { return memory().end_step(context_.memory_, succeeded); }

  /// In the entered pool: runs f(), after the caller's earlier work and before its later work.
  template <class F>
  void run(Context& caller, CapturedBlocks* step, const F& f) {
    begin(step, false);
    try {
      order(caller.stream(), context_.stream());
      const CurrentContext current(context_);
      f();
    } catch (...) {  // launches queued before the exception run all the same
      end(false);
      order(context_.stream(), caller.stream());
      throw;
    }
    end(true);
    order(context_.stream(), caller.stream());
  }

  /// Calls replay() to launch the step's graph in `stream`, after the last replay. False, without a call, if a
  /// renewable step has to be captured anew.
  template <class F>
  [[nodiscard]] bool replay(CapturedBlocks& step, cudaStream_t stream, const F& replay) {
    const Lock lock(mutex_);
    if (step.is_renewable && (is_entered_ || !memory().can_replay(context_.memory_, step))) return false;
    if (!is_entered_ && memory().catch_up(context_.memory_)) order(context_.stream(), stream);
    if (last_ && last_ != stream) order(last_, stream);
    last_ = stream;
    replay();
    return true;
  }

  /// Later work in the pool's stream follows all replays so far.
  void settle() noexcept {
    const Lock lock(mutex_);
    try {
      if (last_) order(last_, context_.stream());
    } catch (const Error&) {  // the GPU does not answer: nothing of it is used again
    }
    last_ = nullptr;
  }
  /// Work queued in `second` from now on follows the work queued in `first` so far.
  void order(cudaStream_t first, cudaStream_t second) const {
    const OrdinalGuard guard(caller_.ordinal());
    Event event(caller_.ordinal());
    event.record(first);
    event.block(second);
  }
  /// The step's graph is no longer replayed.
  void forget(CapturedBlocks& step) noexcept { memory().forget(context_.memory_, step); }

 private:
  struct Registry {
    Mutex mutex;
    std::vector<CapturePool*> pools;
  };
  [[nodiscard]] LOCUS_OUT_OF_LINE static Registry& registry() {
    static auto* registry = new Registry;  // outlives steps of static storage
    return *registry;
  }

  explicit CapturePool(Context& caller) : caller_(caller), context_(Context::open(caller.ordinal())) {
    const OrdinalGuard guard(caller.ordinal());
    check(cudaStreamCreateWithFlags(&aside_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaStreamCreateWithFlags(&beside_, cudaStreamNonBlocking), "cudaStreamCreate");
    memory().lend(context_.memory_, caller.memory_, aside_);
  }
  ~CapturePool() {
    try {
      const OrdinalGuard guard(caller_.ordinal());
      memory().end_lending(context_.memory_);
      disregard(cudaStreamDestroy(aside_));
      disregard(cudaStreamDestroy(beside_));
      ContextRegistry::give_back(context_);
    } catch (const Error&) {  // the GPU does not answer: nothing of it is used again
    }
  }

  [[nodiscard]] DeviceMemory& memory() { return context_.device_memory_; }

  Context& caller_;
  Context& context_;
  cudaStream_t aside_ = nullptr, beside_ = nullptr;
  int steps_ = 1;  ///< guarded by the registry's mutex
  Mutex mutex_;
  bool is_entered_ = true;
  cudaStream_t last_ = nullptr;  ///< of the last replay, unless the pool's stream follows it
};

}}}  // namespace locus::LOCUS_ABI::cuda
