#pragma once
// Memory of a GPU: freed blocks serve later requests of the same size class.

#include <locus/core/std/posix.hpp>
#include <locus/cuda/step_blocks.hpp>
#include <locus/cuda/stream_order.hpp>
#include <locus/cuda/system_memory.hpp>
#include <locus/device/memory_limit.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

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

  /// throws OutOfMemory naming the request, the bytes that tensors hold, and the GPU's memory, or the limit if that is
  /// the cause
  [[nodiscard]] void* allocate(StreamMemory& home, std::size_t bytes) {
    const int size_class = Sizes::of(bytes);
    const Lock lock(mutex_);
    if (home.step) home.step->reserve();
    void* block = home.lender ? steps_.unused(home, size_class, [&] { return borrow(home, size_class); })
                              : home.unused.pop(size_class);
    if (!block) block = from_system(home, bytes, size_class);
    if (home.lender) steps_.count(home, block, size_class);
    detail::count_allocation(stats_, Sizes::bytes(size_class));
    if (streams_are_checked()) [[unlikely]]
      StreamOrder::instance().allocated(block, reuses_blocks_ ? Sizes::bytes(size_class) : bytes, home.stream);
    return block;
  }

  /// `current` is the stream memory of the calling thread; null where it never used this GPU.
  void deallocate(void* address, std::size_t bytes, StreamMemory* current) noexcept {
    const Lock lock(mutex_);
    stats_.allocated_bytes -= static_cast<std::int64_t>(Sizes::bytes(Sizes::of(bytes)));
    MemoryBlock* const block = blocks_.find(address);
    if (!block) return;
    block->allocation = 0;
    StreamMemory& home = *block->owner;
    if (streams_are_checked()) [[unlikely]]
      check_release(*block, reuses_blocks_ ? Sizes::bytes(block->size_class) : bytes, current);
    if (current && current != &home) {
      if (current->capturing) return (void)hold(*current->step, *block);
      if (!home.capturing || hold(*home.step, *block)) give_back_after(*current, *block);
    } else if (home.capturing && block->captured != home.step) {
      (void)hold(*home.step, *block);
    } else {
      give_back(*block);
    }
  }

  /// A block by a plain cudaMalloc: CUDA IPC shares it with other processes, and refuses blocks of pools. throws
  /// OutOfMemory
  [[nodiscard]] void* allocate_shareable(std::size_t bytes) {
    const Lock lock(mutex_);
    void* const block = ask([&](void** made) { return cudaMalloc(made, bytes); }, bytes, bytes);
    detail::count_growth(stats_, bytes);
    detail::count_allocation(stats_, bytes);
    return block;
  }
  /// Of so many bytes. No queued work uses the block any more.
  void free_shareable(void* block, std::size_t bytes) noexcept {
    const Lock lock(mutex_);
    stats_.allocated_bytes -= static_cast<std::int64_t>(bytes);
    stats_.reserved_bytes -= static_cast<std::int64_t>(bytes);
    try {
      const OrdinalGuard guard(ordinal_);
      const UncapturedCalls anything_goes;
      disregard(cudaFree(block));
    } catch (const Error&) {  // the GPU does not answer
    }
  }

  /// From now on the stream's memory serves captured steps, which are called in the lender's stream. `aside` is another
  /// stream, not captured.
  void lend(StreamMemory& home, StreamMemory& lender, cudaStream_t aside) {
    const Lock lock(mutex_);
    home.lender = &lender;
    home.aside = aside;
    home.is_ahead = false;
  }
  /// The stream's memory serves no captured step any more: unused blocks go back to the lender.
  void end_lending(StreamMemory& home) noexcept {
    const Lock lock(mutex_);
    return_unused(home);
    home.lender = nullptr;
    home.aside = nullptr;
  }

  /// Allocations in the stream are now those of a step that runs or, with `capturing`, is captured; null: no step's.
  void begin_step(StreamMemory& home, CapturedBlocks* step, bool capturing) noexcept {
    const Lock lock(mutex_);
    home.step = step;
    home.capturing = capturing;
    home.is_ahead = true;
    if (step) step->begin();
  }
  void end_step(StreamMemory& home, bool succeeded) noexcept {
    const Lock lock(mutex_);
    CapturedBlocks* const step = std::exchange(home.step, nullptr);
    const bool is_capture = std::exchange(home.capturing, false);
    if (step && succeeded) steps_.end(home, *step);
    if (is_capture) give_back_delayed();
    if (!step) return_unused(home);
    else if (is_capture && succeeded) release_unshared(home);
  }
  /// Whether a replay of the step would overwrite no tensor but the step's own results.
  [[nodiscard]] bool can_replay(const StreamMemory& home, CapturedBlocks& step) noexcept {
    const Lock lock(mutex_);
    return steps_.can_replay(home, step);
  }
  /// Orders the stream after the lender's work, if its memory may have been used outside replays since the last call.
  /// Returns whether replays have to wait for the stream.
  [[nodiscard]] bool catch_up(StreamMemory& home) noexcept {
    const Lock lock(mutex_);
    if (!home.is_ahead) return false;
    if (lends(*home.lender) && !wait_for(*home.lender, home)) return true;
    home.is_ahead = false;
    return true;
  }
  /// No replay of the step uses its blocks after the work queued in the stream so far.
  void forget(StreamMemory& home, CapturedBlocks& step) noexcept {
    const Lock lock(mutex_);
    if (step.overwritten.empty() && step.read.empty()) return;
    for (const auto& [address, kept] : step.overwritten) {
      MemoryBlock& block = *blocks_.find(address);
      if (block.captured == &step) block.captured = nullptr;
      --block.overwriters;
      block.fixed_overwriters -= step.is_renewable ? 0 : 1;
      if (!reuses_blocks_ && block.allocation == 0) give_back_after(home, block);
    }
    step.overwritten.clear();
    for (void* const address : step.read) {
      MemoryBlock& block = *blocks_.find(address);
      --block.readers;
      give_back_after(home, block);
    }
    step.read.clear();
    if (!home.capturing) return_unused(home);
  }

  [[nodiscard]] MemoryStats stats() {
    const Lock lock(mutex_);
    return stats_;
  }
  void restart_peak(std::int64_t least) {
    const Lock lock(mutex_);
    stats_.restart_peak(least);
  }
  [[nodiscard]] std::int64_t limit() {
    const Lock lock(mutex_);
    return limit_.bytes();
  }
  /// See set_memory_limit. throws ArgumentError
  void set_limit(std::int64_t bytes) {
    const Lock lock(mutex_);
    const OrdinalGuard guard(ordinal_);
    const UncapturedCalls anything_goes;
    limit_.set(stats_, bytes, [&] { free_unused(); });
    system_.keep(limit_.bytes());
  }
  /// Bytes that allocations may still take: free ones of the GPU and unused ones of the pool, within the limit. Queries
  /// the GPU, without waiting for it.
  [[nodiscard]] std::int64_t available_bytes() {
    const Lock lock(mutex_);
    const OrdinalGuard guard(ordinal_);
    std::size_t unused = 0, total = 0;
    check(cudaMemGetInfo(&unused, &total), "cudaMemGetInfo");
    return limit_.available(stats_, static_cast<std::int64_t>(unused) + stats_.reserved_bytes - stats_.allocated_bytes);
  }
  /// Gives unused blocks that no captured step uses back to the system, after the work queued so far; returns their
  /// bytes.
  std::int64_t release_unused() {
    const Lock lock(mutex_);
    const OrdinalGuard guard(ordinal_);
    const UncapturedCalls anything_goes;
    const std::int64_t before = stats_.reserved_bytes;
    free_unused();
    return before - stats_.reserved_bytes;
  }

 private:
  explicit DeviceMemory(int ordinal)
      : ordinal_(ordinal),
        reuses_blocks_(detail::pools_memory()),
        limit_(to_string(Cuda{ordinal})),
        system_(ordinal, reuses_blocks_) {
    const OrdinalGuard guard(ordinal);
    system_.keep(limit_.bytes());
  }

  /// The later stream waits, by an event, for the work now queued in the earlier one. False if that failed.
  [[nodiscard]] bool wait_for(StreamMemory& earlier, StreamMemory& later) noexcept {
    try {
      const OrdinalGuard guard(ordinal_);
      check(cudaEventRecord(earlier.event, earlier.stream), "cudaEventRecord");
      check(cudaStreamWaitEvent(later.stream, earlier.event, 0), "cudaStreamWaitEvent");
      later.is_ahead = true;
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  /// For the checker of stream order. Memory released during a capture is used again by replays, which follow the work
  /// of the stream that calls them.
  static void check_release(const MemoryBlock& block, std::size_t bytes, const StreamMemory* current) noexcept {
    StreamOrder& order = StreamOrder::instance();
    const StreamMemory& home = *block.owner;
    if (home.capturing || (current && current->capturing)) order.forget(block.address, bytes);
    else order.released(block.address, bytes, home.stream, current ? current->stream : nullptr);
  }

  /// Keeps a freed block while the step lives. If it returns false, the block must never be reused.
  [[nodiscard]] static bool hold(CapturedBlocks& step, MemoryBlock& block) noexcept {
    try {
      step.read.push_back(block.address);
    } catch (const std::bad_alloc&) {
      return false;
    }
    ++block.readers;
    return true;
  }

  /// A block, counted as read until it is given back, whose last use is queued in the stream `user`.
  struct Delayed {
    void* block;
    StreamMemory* user;
  };
  /// Whether a capture in progress forbids that the block goes from `user` to its owner: events must not order other
  /// streams before or after a capture, and no memory is released within it.
  [[nodiscard]] bool is_delayed(const StreamMemory& user, const MemoryBlock& block) const noexcept {
    return block.owner == &user ? user.capturing && !reuses_blocks_ : user.capturing || block.owner->capturing;
  }
  /// give_back() of a block whose last use is queued in the stream `user`; at the end of a capture that forbids it.
  void give_back_after(StreamMemory& user, MemoryBlock& block) noexcept {
    if (!is_delayed(user, block)) {
      if (block.owner == &user || wait_for(user, *block.owner)) give_back(block);
      return;  // else never reused: the GPU does not answer
    }
    ++block.readers;
    try {
      delayed_.push_back({block.address, &user});
    } catch (const std::bad_alloc&) {  // never reused
    }
  }
  void give_back_delayed() noexcept {
    std::size_t stay = 0;
    for (const Delayed& each : delayed_) {
      MemoryBlock& block = *blocks_.find(each.block);
      if (is_delayed(*each.user, block)) {
        delayed_[stay++] = each;
        continue;
      }
      --block.readers;
      give_back_after(*each.user, block);
    }
    delayed_.resize(stay);
  }

  /// Takes a block that no tensor holds and that its own stream may use: for the next request, or for the system.
  /// Blocks that captured steps use stay while the steps live.
  void give_back(MemoryBlock& block) noexcept {
    if (block.readers > 0 || (!reuses_blocks_ && block.overwriters > 0)) return;
    StreamMemory& home = *block.owner;
    if (reuses_blocks_ && home.unused.push(block.size_class, block.address)) return;
    if (block.overwriters == 0 && !home.capturing) release(block);
  }

  /// Whether the lender's unused blocks are any stream's to use. Not if it serves captured steps itself.
  [[nodiscard]] static bool lends(const StreamMemory& lender) noexcept { return !lender.lender && !lender.capturing; }
  /// An unused block of the lender; null: none. A capture's replays are ordered after the lender's work by is_ahead.
  [[nodiscard]] void* borrow(StreamMemory& home, int size_class) noexcept {
    StreamMemory& lender = *home.lender;
    void* const address = lends(lender) ? lender.unused.pop(size_class) : nullptr;
    if (!address || (!home.capturing && !wait_for(lender, home))) return nullptr;
    blocks_.find(address)->owner = &home;
    return address;
  }
  /// Releases the unused blocks that no captured step overwrites: a first run's, which its capture may not need.
  void release_unshared(StreamMemory& home) noexcept {
    home.unused.drain_if([&](void* address) { return !steps_.is_overwritten(address); },
                         [&](void* address, int) { release(*blocks_.find(address)); });
  }
  /// Gives the lender the unused blocks that no captured step overwrites.
  void return_unused(StreamMemory& home) noexcept {
    StreamMemory& lender = *home.lender;
    if (!lends(lender)) return;
    bool is_ordered = false;
    const auto is_free = [&](void* address) { return !steps_.is_overwritten(address); };
    home.unused.drain_if(is_free, [&](void* address, int) {
      if (!is_ordered && !wait_for(home, lender)) return;  // never reused: the GPU does not answer
      is_ordered = true;
      MemoryBlock& block = *blocks_.find(address);
      block.owner = &lender;
      give_back(block);
    });
  }

  /// Captured work does not run yet, so memory for it is allocated in the stream `aside`, and the host waits for it.
  [[nodiscard]] cudaError_t ask_system(void** block, std::size_t bytes, const StreamMemory& home) {
    if (!home.capturing) return system_.allocate(block, bytes, home.stream);
    const cudaError_t error = system_.allocate(block, bytes, home.aside);
    return error == cudaSuccess ? cudaStreamSynchronize(home.aside) : error;
  }

  /// The block, of `size` bytes in the statistics, that allocate(&block) makes, if necessary after a release of unused
  /// memory. `bytes`: the request, for the error
  template <class F>
  [[nodiscard]] void* ask(const F& allocate, std::size_t bytes, std::size_t size) {
    const OrdinalGuard guard(ordinal_);
    const UncapturedCalls anything_goes;
    limit_.make_room(stats_, bytes, size, [&] { free_unused(); });
    void* block = nullptr;
    cudaError_t error = allocate(&block);
    if (detail::means_out_of_memory(error)) {
      (void)cudaGetLastError();
      free_unused();
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
    void* const block = ask([&](void** made) { return ask_system(made, size, home); }, bytes, rounded);
    try {
      blocks_.add({.address = block, .owner = &home, .size_class = size_class});
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

  void release(MemoryBlock block) noexcept {
    system_.free(block.address, block.owner->stream);
    stats_.reserved_bytes -= static_cast<std::int64_t>(Sizes::bytes(block.size_class));
    blocks_.erase(block.address);
  }
  void free_unused() noexcept {
    for (StreamMemory* home : homes_) {
      if (home->capturing) continue;
      release_unshared(*home);
      disregard(cudaStreamSynchronize(home->stream));
    }
    system_.trim();
    (void)cudaGetLastError();
  }

  int ordinal_;
  bool reuses_blocks_;
  locus::detail::MemoryLimit limit_;
  SystemMemory system_;
  Mutex mutex_;
  BlockTable blocks_;
  StepBlocks steps_{blocks_};
  std::vector<StreamMemory*> homes_;
  std::vector<Delayed> delayed_;
  MemoryStats stats_;
};

}}}  // namespace locus::LOCUS_ABI::cuda
