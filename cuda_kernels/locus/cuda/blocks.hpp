#pragma once
// The bookkeeping of memory pools: unused blocks, the owner of each block, and the blocks of captured steps.

#include <locus/core/size_class.hpp>
#include <locus/device/verbs.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// Sizes of blocks on a GPU and in page-locked memory.
using Sizes = SizeClass<512>;

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
/// Makes room for one element more, in amortized constant time. throws bad_alloc
template <class V>
void reserve_one(std::vector<V>& list) {
  if (list.size() == list.capacity()) list.reserve(2 * list.size() + 1);
}
}  // namespace detail

/// Unused blocks by size class.
class FreeBlocks {
 public:
  [[nodiscard]] void* pop(int size_class) {
    return pop_if(size_class, [](void*) { return true; });
  }
  /// The block freed last that `is_fit` accepts; null: none.
  template <class F>
  [[nodiscard]] void* pop_if(int size_class, const F& is_fit) {
    const auto index = static_cast<std::size_t>(size_class);
    if (index >= blocks_.size()) return nullptr;
    std::vector<void*>& blocks = blocks_[index];
    for (std::size_t i = blocks.size(); i-- > 0;) {
      void* const block = blocks[i];
      if (!is_fit(block)) continue;
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
      return block;
    }
    return nullptr;
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
  /// Calls release(block, size class) for all blocks that `is_fit` accepts, and forgets them.
  template <class Fit, class Release>
  void drain_if(const Fit& is_fit, const Release& release) noexcept {
    for (std::size_t index = 0; index < blocks_.size(); ++index) {
      std::size_t stay = 0;
      for (void* block : blocks_[index]) {
        if (is_fit(block)) release(block, static_cast<int>(index));
        else blocks_[index][stay++] = block;
      }
      blocks_[index].resize(stay);
    }
  }
  /// Calls release(block, bytes) for all of them, and forgets them.
  template <class Release>
  void drain(const Release& release) noexcept {
    drain_if([](void*) { return true; },
             [&](void* block, int size_class) { release(block, Sizes::bytes(size_class)); });
  }

 private:
  std::vector<std::vector<void*>> blocks_;
};

/// The blocks of one captured step. Allocations have numbers, which are never 0, in the memory of captured steps.
struct CapturedBlocks {
  /// A block that the capture allocated: replays overwrite it.
  struct Overwritten {
    void* block;
    std::uint64_t kept;  ///< the allocation that held it when the capture ended; 0: none
  };
  struct Allocation {
    void* block;
    int size_class;
    std::uint64_t number;
  };

  bool is_renewable = false;  ///< whether the step may be captured anew, which moves its results
  std::vector<Overwritten> overwritten;
  std::vector<void*> read;      ///< blocks that the capture freed, and had not allocated: replays access them
  std::vector<Allocation> log;  ///< of the run or capture in progress
  std::uint64_t checked = 0;    ///< StreamMemory::overlaps when overwritten blocks were last found free

  /// Whether the next allocation of a size will outlive the capture, if it goes as in the last run or capture; true if
  /// there is none to go by.
  [[nodiscard]] bool predicts_outliving(int size_class) {
    if (!has_lifetimes_) return true;
    const auto index = static_cast<std::size_t>(size_class);
    if (index >= outlived_.size()) return false;
    Lifetimes& of_size = outlived_[index];
    return of_size.next < of_size.outlived.size() && of_size.outlived[of_size.next++];
  }
  void begin() {
    log.clear();
    for (Lifetimes& each : outlived_) each.next = 0;
  }
  /// Makes room for one allocation more in `log` and `overwritten`. throws bad_alloc
  void reserve() {
    detail::reserve_one(log);
    detail::reserve_one(overwritten);
  }
  /// Remembers which allocations of the log outlive the run or capture that ends; none, for want of host memory.
  template <class F>
  void end(const F& outlives) noexcept {
    outlived_.clear();
    try {
      for (const Allocation& each : log) {
        const auto index = static_cast<std::size_t>(each.size_class);
        if (index >= outlived_.size()) outlived_.resize(index + 1);
        outlived_[index].outlived.push_back(outlives(each));
      }
      has_lifetimes_ = true;
    } catch (const std::bad_alloc&) {
      outlived_.clear();
      has_lifetimes_ = false;
    }
    log.clear();
  }

 private:
  struct Lifetimes {
    std::vector<bool> outlived;  ///< in the order of allocations
    std::size_t next = 0;
  };
  std::vector<Lifetimes> outlived_;  ///< by size class
  bool has_lifetimes_ = false;       ///< whether `outlived_` tells of a run or capture
};

/// A stream and the unused memory whose last use lies in it.
struct StreamMemory {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;  ///< to order this stream before another one
  FreeBlocks unused;

  // Members of a stream in which steps are captured; see CapturePool.
  StreamMemory* lender = nullptr;  ///< memory of the stream that calls the steps; null: no step is captured here
  cudaStream_t aside = nullptr;    ///< stream for allocations during a capture
  CapturedBlocks* step = nullptr;  ///< the step that runs or is captured
  bool capturing = false;
  bool is_ahead = false;          ///< whether replays have to wait for this stream
  std::uint64_t allocations = 0;  ///< counted from 1
  std::uint64_t overlaps = 0;     ///< how many allocations took a block that another step overwrites
};

/// A block of a GPU's memory.
struct MemoryBlock {
  void* address;
  StreamMemory* owner;
  int size_class = 0;
  std::uint64_t allocation = 0;              ///< that holds it, in the memory of captured steps; 0: none
  const CapturedBlocks* captured = nullptr;  ///< the last step whose capture allocated it
  int overwriters = 0;                       ///< captured steps that overwrite it
  int fixed_overwriters = 0;                 ///< of these, steps that are not renewable
  int readers = 0;                           ///< captured steps that access it though it was freed, and its delays
};

/// The blocks of a GPU, sorted by address. Blocks are added and erased only with a system allocation, which takes
/// longer than moving the entries behind them.
class BlockTable {
 public:
  void add(const MemoryBlock& block) {
    const std::size_t at = first_not_below(block.address);
    entries_.push_back(block);
    for (std::size_t i = entries_.size() - 1; i > at; --i) std::swap(entries_[i], entries_[i - 1]);
  }
  /// Null where the block is not known. Valid until add() or erase().
  [[nodiscard]] MemoryBlock* find(void* address) noexcept {
    const std::size_t at = first_not_below(address);
    return at < entries_.size() && entries_[at].address == address ? &entries_[at] : nullptr;
  }
  void erase(void* address) noexcept {
    if (!find(address)) return;
    for (std::size_t i = first_not_below(address); i + 1 < entries_.size(); ++i) entries_[i] = entries_[i + 1];
    entries_.pop_back();
  }

 private:
  [[nodiscard]] std::size_t first_not_below(void* address) const noexcept {
    std::size_t low = 0, high = entries_.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (reinterpret_cast<std::uintptr_t>(entries_[middle].address) < reinterpret_cast<std::uintptr_t>(address))
        low = middle + 1;
      else high = middle;
    }
    return low;
  }
  std::vector<MemoryBlock> entries_;
};

}}}  // namespace locus::LOCUS_ABI::cuda
