#pragma once
// Which unused blocks of a GPU serve a captured step, and which blocks its replays overwrite.

#include <locus/cuda/blocks.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// The blocks of captured steps among those of a GPU, whose mutex guards the calls.
class StepBlocks {
 public:
  explicit StepBlocks(BlockTable& blocks) : blocks_(blocks) {}

  /// An unused block for a step that runs or is captured; null: none. A capture prefers blocks that replays overwrite
  /// already, a run any other. Memory that is expected to outlive a capture, and small blocks, which cost little, come
  /// from blocks that no other step overwrites. borrow(): an unused block of the lender, or null
  template <class Borrow>
  [[nodiscard]] void* unused(StreamMemory& home, int size_class, const Borrow& borrow) {
    constexpr std::size_t least_shared = 64 * 1024;
    const bool outlives = home.capturing && home.step->predicts_outliving(size_class);
    const bool shares = !outlives && Sizes::bytes(size_class) >= least_shared;
    void* block = nullptr;
    if (home.capturing) block = home.unused.pop_if(size_class, [&](void* each) { return is_own(home, each); });
    if (!block && home.capturing && shares) block = shared(home, size_class);
    if (!block) block = home.unused.pop_if(size_class, [&](void* each) { return !is_overwritten(each); });
    if (!block) block = borrow();
    if (!block && !home.capturing && shares) block = shared(home, size_class);
    return block;
  }
  /// Whether replays of a captured step overwrite the block.
  [[nodiscard]] bool is_overwritten(void* address) noexcept { return blocks_.find(address)->overwriters > 0; }

  /// The stream's step allocates the block. After CapturedBlocks::reserve().
  void count(StreamMemory& home, void* address, int size_class) noexcept {
    MemoryBlock& block = *blocks_.find(address);
    block.allocation = ++home.allocations;
    const bool is_again = home.capturing && block.captured == home.step;
    if (block.overwriters > (is_again ? 1 : 0)) ++home.overlaps;
    if (home.step) home.step->log.push_back({address, size_class, block.allocation});
    if (!home.capturing || is_again) return;
    home.step->overwritten.push_back({address, 0});
    block.captured = home.step;
    ++block.overwriters;
    block.fixed_overwriters += home.step->is_renewable ? 0 : 1;
  }
  /// The run or capture of the step has ended well.
  void end(const StreamMemory& home, CapturedBlocks& step) noexcept {
    step.end([&](const CapturedBlocks::Allocation& each) {
      const MemoryBlock* const block = blocks_.find(each.block);
      return block && block->allocation == each.number;
    });
    for (auto& [address, kept] : step.overwritten) kept = blocks_.find(address)->allocation;
    step.checked = home.overlaps;
  }
  /// Whether a replay of the step would overwrite no tensor but the step's own results.
  [[nodiscard]] bool can_replay(const StreamMemory& home, CapturedBlocks& step) noexcept {
    if (step.checked == home.overlaps) return true;
    for (const auto& [address, kept] : step.overwritten)
      if (const std::uint64_t now = blocks_.find(address)->allocation; now != 0 && now != kept) return false;
    step.checked = home.overlaps;
    return true;
  }

 private:
  /// Whether the capture in progress, and no other, has allocated the block.
  [[nodiscard]] bool is_own(const StreamMemory& home, void* address) noexcept {
    const MemoryBlock& block = *blocks_.find(address);
    return block.captured == home.step && block.overwriters == 1;
  }
  /// An unused block, of at most eight times the size, that other steps overwrite, all of them renewable.
  [[nodiscard]] void* shared(StreamMemory& home, int size_class) {
    const auto is_fit = [&](void* address) {
      const MemoryBlock& block = *blocks_.find(address);
      const bool is_mine = home.capturing && block.captured == home.step;
      return block.overwriters > (is_mine ? 1 : 0) &&
             block.fixed_overwriters == (is_mine && !home.step->is_renewable ? 1 : 0);
    };
    for (int larger = size_class; larger <= size_class + 3 * Sizes::steps; ++larger)
      if (void* const block = home.unused.pop_if(larger, is_fit)) return block;
    return nullptr;
  }

  BlockTable& blocks_;
};

}}}  // namespace locus::LOCUS_ABI::cuda
