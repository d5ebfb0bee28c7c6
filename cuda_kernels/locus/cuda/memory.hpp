#pragma once
// GPU and page-locked memory: freed blocks serve later requests of the same size class.

#include <locus/core/size_class.hpp>
#include <locus/core/std/posix.hpp>
#include <locus/cuda/system_memory.hpp>
#include <locus/device/verbs.hpp>

#include <cstdint>
#include <new>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// Sizes of blocks on a GPU and in page-locked memory.
using Sizes = SizeClass<512>;

/// Unused blocks by size class.
class FreeBlocks {
 public:
  [[nodiscard]] void* pop(int size_class) {
    const auto index = static_cast<std::size_t>(size_class);
    if (index >= blocks_.size() || blocks_[index].empty()) return nullptr;
    void* block = blocks_[index].back();
    blocks_[index].pop_back();
    return block;
  }
  [[nodiscard]] bool push(int size_class, void* block) noexcept {
    try {
      const auto index = static_cast<std::size_t>(size_class);
      if (index >= blocks_.size()) blocks_.resize(index + 1);
      blocks_[index].push_back(block);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  /// Calls release(block, bytes) for all of them, and forgets them.
  template <class Release>
  void drain(const Release& release) noexcept {
    for (std::size_t index = 0; index < blocks_.size(); ++index) {
      for (void* block : blocks_[index]) release(block, Sizes::bytes(static_cast<int>(index)));
      blocks_[index].clear();
    }
  }

 private:
  std::vector<std::vector<void*>> blocks_;
};

namespace detail {
inline void count_allocation(MemoryStats& stats, std::size_t bytes) {
  stats.requests += 1;
  stats.allocated_bytes += static_cast<std::int64_t>(bytes);
  if (stats.allocated_bytes > stats.peak_bytes) stats.peak_bytes = stats.allocated_bytes;
}
inline void count_growth(MemoryStats& stats, std::size_t bytes) {
  stats.system_allocations += 1;
  stats.reserved_bytes += static_cast<std::int64_t>(bytes);
}
}  // namespace detail

/// A stream and the unused memory whose last use lies in it.
struct StreamMemory {
  /// A freed block.
  struct Held {
    void* block;
    int size_class;
  };

  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;  ///< to order this stream before another one
  FreeBlocks unused;

  // Members of a stream in which steps are captured. Replays use all of its memory, unused blocks too: no other stream
  // gets them.
  cudaStream_t aside = nullptr;  ///< stream for allocations during a capture; null: no step is captured here
  bool capturing = false;
  std::vector<void*> captured;  ///< blocks that the capture allocated; other blocks that it frees are read by replays
  std::vector<Held> held;       ///< blocks freed during a capture that may use them; of this or of other streams
};

/// The owning stream of each block, sorted by address. Blocks are added and erased only with a system allocation, which
/// takes longer than moving the entries behind them.
class BlockOwners {
 public:
  void add(void* block, StreamMemory* owner) {
    const std::size_t at = first_not_below(block);
    entries_.push_back({block, owner});
    for (std::size_t i = entries_.size() - 1; i > at; --i) std::swap(entries_[i], entries_[i - 1]);
  }
  /// Null where the block is not known.
  [[nodiscard]] StreamMemory* find(void* block) const noexcept {
    const std::size_t at = first_not_below(block);
    return at < entries_.size() && entries_[at].block == block ? entries_[at].owner : nullptr;
  }
  void erase(void* block) noexcept {
    if (!find(block)) return;
    for (std::size_t i = first_not_below(block); i + 1 < entries_.size(); ++i) entries_[i] = entries_[i + 1];
    entries_.pop_back();
  }

 private:
  struct Entry {
    void* block;
    StreamMemory* owner;
  };
  [[nodiscard]] std::size_t first_not_below(void* block) const noexcept {
    std::size_t low = 0, high = entries_.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (reinterpret_cast<std::uintptr_t>(entries_[middle].block) < reinterpret_cast<std::uintptr_t>(block))
        low = middle + 1;
      else high = middle;
    }
    return low;
  }
  std::vector<Entry> entries_;
};

/// The memory of one GPU. A block belongs to the stream that allocated it. Freed there, it is reused in stream order
/// without waiting; freed by a thread with another stream, the owning stream first waits for that stream. Only the
/// stream that is current when the last handle is destroyed is known: other streams that use a tensor order their uses
/// by events. With LOCUS_CUDA_POOL=0 no block is reused, and each has exactly the requested size.
class DeviceMemory {
 public:
  [[nodiscard]] static DeviceMemory& of(int ordinal) {
    static Mutex mutex;
    static auto* memories = new std::vector<DeviceMemory*>;  // outlives tensors of static storage
    const Lock lock(mutex);
    const auto index = static_cast<std::size_t>(ordinal);
    if (index >= memories->size()) memories->resize(index + 1);
    if (!(*memories)[index]) (*memories)[index] = new DeviceMemory(ordinal);
    return *(*memories)[index];
  }

  /// Registers the stream's memory, to be released when memory runs short.
  void add(StreamMemory* home) {
    const Lock lock(mutex_);
    homes_.push_back(home);
  }

  /// See SystemMemory::open_to.
  void open_to(int reader) const { system_.open_to(reader); }

  /// throws OutOfMemory naming the request, the bytes that tensors hold, and the GPU's memory
  [[nodiscard]] void* allocate(StreamMemory& home, std::size_t bytes) {
    const int size_class = Sizes::of(bytes);
    const Lock lock(mutex_);
    void* block = home.unused.pop(size_class);
    if (!block) block = from_system(home, bytes, size_class);
    if (home.capturing) home.captured.push_back(block);
    detail::count_allocation(stats_, Sizes::bytes(size_class));
    return block;
  }

  /// `current` is the stream memory of the calling thread; null where it never used this GPU.
  void deallocate(void* block, std::size_t bytes, StreamMemory* current) noexcept {
    const int size_class = Sizes::of(bytes);
    const Lock lock(mutex_);
    stats_.allocated_bytes -= static_cast<std::int64_t>(Sizes::bytes(size_class));
    StreamMemory* const home = owners_.find(block);
    if (!home) return;
    if (current && current != home) {
      if (current->capturing || home->capturing) return hold(current->capturing ? *current : *home, block, size_class);
      if (!wait_for(*current, *home)) return;  // never reused: the GPU does not answer
    } else if (home->capturing && !is_captured(*home, block)) {
      return hold(*home, block, size_class);
    }
    give_back(*home, block, size_class);
  }

  /// A block by a plain cudaMalloc: CUDA IPC shares it with other processes, and refuses blocks of pools. throws
  /// OutOfMemory
  [[nodiscard]] void* allocate_shareable(std::size_t bytes) {
    const Lock lock(mutex_);
    return ask([&](void** block) { return cudaMalloc(block, bytes); }, bytes);
  }
  /// No queued work uses the block any more.
  void free_shareable(void* block) const noexcept {
    try {
      const OrdinalGuard guard(ordinal_);
      const UncapturedCalls anything_goes;
      disregard(cudaFree(block));
    } catch (const Error&) {  // the GPU does not answer
    }
  }

  /// From now on the stream's memory belongs to captured steps. `aside` is another stream, not captured.
  void keep_for_capture(StreamMemory& home, cudaStream_t aside) {
    const Lock lock(mutex_);
    home.aside = aside;
  }
  void set_capturing(StreamMemory& home, bool capturing) noexcept {
    const Lock lock(mutex_);
    home.capturing = capturing;
    home.captured.clear();
  }
  /// No captured step uses the stream's memory after the work queued in the stream so far.
  void release_from_capture(StreamMemory& home) noexcept {
    const Lock lock(mutex_);
    home.aside = nullptr;
    for (const auto& [block, size_class] : home.held) {
      StreamMemory* const owner = owners_.find(block);
      if (owner && owner != &home && owner->capturing) hold(*owner, block, size_class);
      if (!owner || (owner != &home && (owner->capturing || !wait_for(home, *owner)))) continue;
      give_back(*owner, block, size_class);
    }
    home.held.clear();
  }

  [[nodiscard]] MemoryStats stats() {
    const Lock lock(mutex_);
    return stats_;
  }

 private:
  explicit DeviceMemory(int ordinal)
      : ordinal_(ordinal), reuses_blocks_(detail::pools_memory()), system_(ordinal, reuses_blocks_) {}

  /// The later stream waits, by an event, for the work now queued in the earlier one. False if that failed.
  [[nodiscard]] bool wait_for(StreamMemory& earlier, StreamMemory& later) noexcept {
    try {
      const OrdinalGuard guard(ordinal_);
      check(cudaEventRecord(earlier.event, earlier.stream), "cudaEventRecord");
      check(cudaStreamWaitEvent(later.stream, earlier.event, 0), "cudaStreamWaitEvent");
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  [[nodiscard]] static bool is_captured(const StreamMemory& home, const void* block) noexcept {
    for (const void* const captured : home.captured)
      if (captured == block) return true;
    return false;
  }
  static void hold(StreamMemory& home, void* block, int size_class) noexcept {
    try {
      home.held.push_back({block, size_class});
    } catch (const std::bad_alloc&) {  // never reused
    }
  }

  /// Takes a block that no tensor holds and that its own stream may use: for the next request, or for the system.
  /// Blocks that captured steps use stay while the steps live.
  void give_back(StreamMemory& home, void* block, int size_class) noexcept {
    if (!reuses_blocks_ && home.aside) return hold(home, block, size_class);
    if (reuses_blocks_ && (home.unused.push(size_class, block) || home.capturing)) return;
    release(home, block, Sizes::bytes(size_class));
  }

  /// Captured work does not run yet, so memory for it is allocated in the stream `aside`, and the host waits for it.
  [[nodiscard]] cudaError_t ask_system(void** block, std::size_t bytes, const StreamMemory& home) {
    if (!home.capturing) return system_.allocate(block, bytes, home.stream);
    const cudaError_t error = system_.allocate(block, bytes, home.aside);
    return error == cudaSuccess ? cudaStreamSynchronize(home.aside) : error;
  }

  /// The block that allocate(&block) makes, if necessary after a release of unused memory. `bytes`: for the error
  template <class F>
  [[nodiscard]] void* ask(const F& allocate, std::size_t bytes) {
    const OrdinalGuard guard(ordinal_);
    const UncapturedCalls anything_goes;
    void* block = nullptr;
    cudaError_t error = allocate(&block);
    if (detail::means_out_of_memory(error)) {
      (void)cudaGetLastError();
      release_unused();
      error = allocate(&block);
    }
    if (detail::means_out_of_memory(error)) out_of_memory(bytes);
    check(error, "memory of a GPU");
    return block;
  }
  [[nodiscard]] void* from_system(StreamMemory& home, std::size_t bytes, int size_class) {
    const std::size_t rounded = Sizes::bytes(size_class);
    if (rounded < bytes) out_of_memory(bytes);
    const std::size_t size = reuses_blocks_ ? rounded : bytes > 0 ? bytes : 1;
    const OrdinalGuard guard(ordinal_);
    const UncapturedCalls anything_goes;
    void* const block = ask([&](void** made) { return ask_system(made, size, home); }, bytes);
    try {
      owners_.add(block, &home);
    } catch (...) {
      system_.free(block, home.capturing ? home.aside : home.stream);
      throw;
    }
    detail::count_growth(stats_, rounded);
    return block;
  }

  [[noreturn]] void out_of_memory(std::size_t bytes) {
    (void)cudaGetLastError();
    std::size_t unused = 0, total = 0;
    const OrdinalGuard guard(ordinal_);
    disregard(cudaMemGetInfo(&unused, &total));
    fail<OutOfMemory>({"out of memory on cuda:", ordinal_, ": ", bytes, " bytes were asked for, tensors hold ",
                       stats_.allocated_bytes, " bytes, the pool keeps ",
                       stats_.reserved_bytes - stats_.allocated_bytes, " more, and ", unused, " of ", total,
                       " bytes are free; use smaller batches or free tensors"});
  }

  void release(StreamMemory& home, void* block, std::size_t bytes) noexcept {
    system_.free(block, home.stream);
    owners_.erase(block);
    stats_.reserved_bytes -= static_cast<std::int64_t>(bytes);
  }
  void release_unused() noexcept {
    for (StreamMemory* home : homes_) {
      if (home->aside) continue;
      home->unused.drain([&](void* block, std::size_t bytes) { release(*home, block, bytes); });
      disregard(cudaStreamSynchronize(home->stream));
    }
    system_.trim();
    (void)cudaGetLastError();
  }

  int ordinal_;
  bool reuses_blocks_;
  SystemMemory system_;
  Mutex mutex_;
  BlockOwners owners_;
  std::vector<StreamMemory*> homes_;
  MemoryStats stats_;
};

/// Page-locked host memory. Locking pages costs milliseconds, so blocks are kept.
class PinnedMemory {
 public:
  [[nodiscard]] LOCUS_OUT_OF_LINE static PinnedMemory& instance() {
    static auto* memory = new PinnedMemory;  // never destroyed: tensors of static storage duration outlive it otherwise
    return *memory;
  }

  /// throws CudaUnavailable, OutOfMemory
  [[nodiscard]] void* allocate(std::size_t bytes) {
    const int size_class = Sizes::of(bytes);
    const std::size_t rounded = Sizes::bytes(size_class);
    const Lock lock(mutex_);
    collect();
    void* block = unused_.pop(size_class);
    if (!block) block = from_system(bytes, rounded);
    detail::count_allocation(stats_, rounded);
    return block;
  }

  /// A copy from or to the block completes at this event: until then the block is not reused, even if freed.
  void used_until(void* block, Shared<const Event> moment) {
    const Lock lock(mutex_);
    collect();
    waiting_.reserve(uses_.size() + 1);  // at most one entry per use waits: deallocate() allocates no memory
    uses_.push_back({block, std::move(moment)});
  }

  /// Reused when the copies registered by used_until() are done.
  void deallocate(void* block, std::size_t bytes) noexcept {
    const int size_class = Sizes::of(bytes);
    const Lock lock(mutex_);
    stats_.allocated_bytes -= static_cast<std::int64_t>(Sizes::bytes(size_class));
    if (is_in_use(block)) waiting_.push_back({block, size_class});
    else make_unused(block, size_class);
  }

  [[nodiscard]] MemoryStats stats() {
    const Lock lock(mutex_);
    return stats_;
  }

 private:
  [[nodiscard]] void* from_system(std::size_t bytes, std::size_t rounded) {
    if (!is_available()) fail<CudaUnavailable>({"page-locked memory: ", unavailable_reason()});
    const OrdinalGuard guard(detail::any_in_use());
    const UncapturedCalls anything_goes;
    void* block = nullptr;
    cudaError_t error =
        rounded < bytes ? cudaErrorMemoryAllocation : cudaHostAlloc(&block, rounded, cudaHostAllocPortable);
    if (detail::means_out_of_memory(error) && rounded >= bytes) {
      (void)cudaGetLastError();
      unused_.drain([&](void* cached, std::size_t cached_bytes) { release(cached, cached_bytes); });
      error = cudaHostAlloc(&block, rounded, cudaHostAllocPortable);
    }
    if (detail::means_out_of_memory(error)) {
      (void)cudaGetLastError();
      fail<OutOfMemory>({"out of page-locked memory: ", bytes, " bytes were asked for, tensors hold ",
                         stats_.allocated_bytes, "; use Cpu tensors, smaller batches, or raise the limit (ulimit -l)"});
    }
    check(error, "cudaHostAlloc");
    detail::count_growth(stats_, rounded);
    return block;
  }

  void release(void* block, std::size_t bytes) noexcept {
    disregard(cudaFreeHost(block));
    stats_.reserved_bytes -= static_cast<std::int64_t>(bytes);
  }

  /// A copy that was in flight at the last check.
  struct Use {
    void* block;
    Shared<const Event> end;
  };
  /// A freed block while copies from or to it are in flight.
  struct Waiting {
    void* block;
    int size_class;
  };

  [[nodiscard]] bool is_in_use(void* block) const noexcept {
    for (const Use& use : uses_)
      if (use.block == block && !use.end->done()) return true;
    return false;
  }
  void make_unused(void* block, int size_class) noexcept {
    if (!unused_.push(size_class, block)) release(block, Sizes::bytes(size_class));
  }
  /// Drops copies that have completed, and frees the blocks that waited for them.
  void collect() noexcept {
    for (std::size_t i = uses_.size(); i-- > 0;) {
      if (!uses_[i].end->done()) continue;
      std::swap(uses_[i], uses_.back());
      uses_.pop_back();
    }
    for (std::size_t i = waiting_.size(); i-- > 0;) {
      if (is_in_use(waiting_[i].block)) continue;
      make_unused(waiting_[i].block, waiting_[i].size_class);
      waiting_[i] = waiting_.back();
      waiting_.pop_back();
    }
  }

  Mutex mutex_;
  FreeBlocks unused_;
  std::vector<Use> uses_;
  std::vector<Waiting> waiting_;
  MemoryStats stats_;
};

}}}  // namespace locus::LOCUS_ABI::cuda
