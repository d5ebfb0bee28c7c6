#pragma once
// The memory that captured steps share.

#include <locus/cuda/stream.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// A stream, and its memory, in which the steps called in one other stream, the caller's, run and are captured. The
/// steps share the memory by these rules:
/// - A replay overwrites the blocks that its capture allocated. Each replay follows the previous one on the GPU: in one
///   stream by its order, else by an event.
/// - Blocks that only renewable steps overwrite, and that no tensor holds, serve uncaptured runs and the captures of
///   other steps. While a tensor holds such a block, can_replay() is false for those steps: they have to be captured
///   anew, in other blocks, which moves their results. A renewable step is not replayed while another step runs or is
///   captured.
/// - Blocks that a non-renewable step overwrites serve no other step: a tensor that outlives a run or capture
///   could not be protected from its replays. A capture that succeeded always stands: to make it again in other memory
///   would run the step's host code twice, and only the program knows which state that changes.
/// - Memory that outlives a capture, such as results, should lie in blocks that no other step overwrites; otherwise
///   those steps have to be captured anew. The last run or capture of the step predicts which memory that is. Small
///   blocks are not shared at all.
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
    const Lock lock(mutex_);
    follow_replays();
    if (capturing) before_capture_.record(context_.stream());
    is_capturing_ = capturing;
    memory().begin_step(context_.memory_, step, capturing);
  }
  void end(bool succeeded) noexcept {
    const Lock lock(mutex_);
    if (std::exchange(is_capturing_, false)) follow_replays();
    memory().end_step(context_.memory_, succeeded);
  }

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

  /// Calls launch() to launch the step's graph in `stream`, after the last replay. False, without a call, if a
  /// renewable step has to be captured anew. Of other steps, any thread may call it while the pool is entered.
  template <class F>
  [[nodiscard]] bool replay(CapturedBlocks& step, cudaStream_t stream, const F& launch) {
    const Lock lock(mutex_);
    if (step.is_renewable && (is_entered_ || !memory().can_replay(context_.memory_, step))) return false;
    if (is_capturing_) before_capture_.block(stream);
    else if (is_entered_ || memory().catch_up(context_.memory_)) order(context_.stream(), stream);
    launch_after_last(stream, launch);
    return true;
  }
  /// In the entered pool, after the end of a capture: replays the step.
  template <class F>
  void replay_captured(cudaStream_t stream, const F& launch) {
    const Lock lock(mutex_);
    if (memory().catch_up(context_.memory_)) order(context_.stream(), stream);
    launch_after_last(stream, launch);
  }

  /// Later work in the pool's stream follows all replays so far; during a capture, the work after its end does.
  void settle() noexcept {
    const Lock lock(mutex_);
    if (!is_capturing_) follow_replays();
  }
  /// Work queued in `second` from now on follows the work queued in `first` so far.
  void order(cudaStream_t first, cudaStream_t second) const {
    try {
      order_streams(caller_.ordinal(), first, second);
    } catch (...) {  // a caller that goes on must find the work done
      cuda::settle(first);
      throw;
    }
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

  explicit CapturePool(Context& caller)
      : caller_(caller), context_(Context::open(caller.ordinal())), before_capture_(caller.ordinal()) {
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

  template <class F>
  void launch_after_last(cudaStream_t stream, const F& launch) {
    if (last_ && last_ != stream) order(last_, stream);
    last_ = stream;
    is_followed_ = false;
    launch();
  }
  void follow_replays() noexcept {
    if (!last_ || is_followed_) return;
    try {
      order(last_, context_.stream());
      is_followed_ = true;
    } catch (const Error&) {  // the GPU does not answer: nothing of it is used again
    }
  }

  Context& caller_;
  Context& context_;
  cudaStream_t aside_ = nullptr, beside_ = nullptr;
  int steps_ = 1;  ///< guarded by the registry's mutex
  Mutex mutex_;
  bool is_entered_ = true;
  bool is_capturing_ = false;    ///< since before the pool's stream is captured, until after
  Event before_capture_;         ///< follows the work in the pool's stream before the last capture
  cudaStream_t last_ = nullptr;  ///< of the last replay
  bool is_followed_ = false;     ///< whether the pool's stream follows it
};

}}}  // namespace locus::LOCUS_ABI::cuda
