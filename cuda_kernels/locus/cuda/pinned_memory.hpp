#pragma once
// Page-locked memory of the host.

#include <locus/cuda/blocks.hpp>
#include <locus/cuda/system_memory.hpp>
#include <locus/device/memory_limit.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

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
    const UncapturedCalls anything_goes;
    collect();
    limit_.set(stats_, bytes, [&] { free_unused(); });
  }
  /// Unlocks unused blocks and gives them back to the system; returns their bytes.
  std::int64_t release_unused() {
    const Lock lock(mutex_);
    const UncapturedCalls anything_goes;
    collect();
    const std::int64_t before = stats_.reserved_bytes;
    free_unused();
    return before - stats_.reserved_bytes;
  }

 private:
  [[nodiscard]] void* from_system(std::size_t bytes, std::size_t rounded) {
    if (!is_available()) fail<CudaUnavailable>({"page-locked memory: ", unavailable_reason()});
    const OrdinalGuard guard(detail::any_in_use());
    const UncapturedCalls anything_goes;
    limit_.make_room(stats_, bytes, rounded, [&] { free_unused(); });
    void* block = nullptr;
    cudaError_t error =
        rounded < bytes ? cudaErrorMemoryAllocation : cudaHostAlloc(&block, rounded, cudaHostAllocPortable);
    if (detail::means_out_of_memory(error) && rounded >= bytes) {
      (void)cudaGetLastError();
      free_unused();
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

  void free_unused() noexcept {
    unused_.drain([&](void* block, std::size_t bytes) { release(block, bytes); });
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
  locus::detail::MemoryLimit limit_{to_string(Pinned{})};
};

}}}  // namespace locus::LOCUS_ABI::cuda
