#pragma once
// Reference-counted memory of one device, with a version counter of its contents.

#include <locus/core/check.hpp>
#include <locus/core/std/atomic.hpp>
#include <locus/core/std/posix.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/device/replay.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// The owner of memory that no Backend allocated, such as a mapped file, or that is lent to several tensors in turn.
/// Its destructor releases the memory.
struct MemoryOwner : Counted {
  virtual ~MemoryOwner() = default;
  /// Called before an operation, or the backward pass of one, uses a tensor in this memory, and once more for all
  /// operands (`again`) where one of them returned true: it had to bring the elements, perhaps in place of others.
  virtual bool before_use(bool /*again*/) const { return false; }
  /// throws if the memory cannot be read any more
  virtual void require_readable() const {}
};

namespace detail {
/// The version of an empty handle. Real memory reaches it after 2^32 - 1 changes.
inline constexpr std::uint32_t version_of_nothing = ~std::uint32_t{0};
/// The number of owners' models whose memory is lent to several tensors in turn: see MemoryOwner::before_use.
inline Atomic<int> lenders{0};
}  // namespace detail

/// A shared handle to a block of memory; the last handle releases the block. Copying is cheap and thread-safe. Only
/// events order the work of several streams on the block.
template <MemorySpace D>
class Buffer {
 public:
  Buffer() = default;
  /// throws OutOfMemory, CudaUnavailable
  LOCUS_OUT_OF_LINE Buffer(D device, std::size_t bytes) : block_(new Block(device, bytes)) {}

  /// Memory of an owner; the owner lives as long as a handle to the memory.
  Buffer(D device, void* data, std::size_t bytes, const Shared<const MemoryOwner>& owner)
      : block_(new Block(device, bytes, data, {}, owner)) {}

  /// A part of this memory with its own version: a change of the part counts for the whole, and a change through the
  /// whole counts for each part, but a change of one part does not count for another. It keeps the whole alive.
  [[nodiscard]] Buffer part(void* data, std::size_t bytes) const {
    Buffer result;
    result.block_ = Shared(new Block(device(), bytes, data, block_->whole ? block_->whole : block_));
    return result;
  }

  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(block_); }
  [[nodiscard]] void* data() const { return block_ ? block_->data : nullptr; }
  /// The start of the allocation; for a part, of the whole.
  [[nodiscard]] void* whole() const { return !block_ ? nullptr : block_->whole ? block_->whole->data : block_->data; }
  [[nodiscard]] std::size_t bytes() const { return block_ ? block_->bytes : 0; }
  [[nodiscard]] D device() const { return block_ ? block_->device : D{}; }

  /// Whether this is the only handle to the memory, as far as Locus knows: false for parts and for memory of an owner.
  [[nodiscard]] bool unique() const { return block_ && block_->has_one_owner() && !block_->whole && !block_->owner; }

  /// throws DataError for memory of a file that was truncated since it was mapped
  void require_readable() const {
    const Block* const whole = block_ && block_->whole ? block_->whole.get() : block_.get();
    if (whole && whole->owner) whole->owner->require_readable();
  }
  /// Tells the owner of the memory, if it has one. Returns whether it had to bring the elements.
  bool before_use(bool again = false) const {
    const Block* const whole = block_ && block_->whole ? block_->whole.get() : block_.get();
    return whole && whole->owner && whole->owner->before_use(again);
  }

  /// Number of changes in place. Copies of the handle share it.
  [[nodiscard]] std::uint32_t version() const { return block_ ? block_->all_changes() : detail::version_of_nothing; }
  void changed() const {
    if (block_) block_->changed();
  }
  /// As changed(); during a capture, also registers a change for each replay after the first.
  void changed_by_step() const {
    changed();
    if (detail::is_capturing()) [[unlikely]]
      count_in_replays();
  }
  [[nodiscard]] friend bool operator==(const Buffer& a, const Buffer& b) { return a.block_ == b.block_; }

 private:
  struct Block;
  /// A reference that does not keep its block alive, to a block that a capture made.
  struct Watch : Counted {
    Watch(Block* made, std::uint64_t number) : block(made), capture(number) {}
    /// Counts a change; false if the block is gone.
    bool changed() {
      if (!lives.load(Order::relaxed)) return false;
      const Lock lock(mutex);
      if (block) block->changed();
      return block != nullptr;
    }
    void changed_by_part() {
      const Lock lock(mutex);
      if (block) block->changes_of_parts.fetch_add(1, Order::relaxed);
    }
    void end() {
      const Lock lock(mutex);
      block = nullptr;
      lives.store(false, Order::relaxed);
    }

    Mutex mutex;
    Block* block;
    Atomic<bool> lives{true};
    std::uint64_t capture;
  };

  struct Block : Counted {
    Block(D place, std::size_t size) : device(place), bytes(size), data(Backend<D>::allocate(place, size)) {
      watch_in_capture();
    }
    Block(D place, std::size_t size, void* begin, const Shared<Block>& parent,
          const Shared<const MemoryOwner>& owned_by = {})
        : device(place), bytes(size), data(begin), whole(parent), owner(owned_by) {
      watch_in_capture();
    }
    ~Block() {
      if (watch) watch->end();
      if (!whole && !owner) Backend<D>::deallocate(device, data, bytes);
    }
    void watch_in_capture() {
      if (detail::is_capturing()) [[unlikely]]
        watch = Shared(new Watch(this, detail::step_capture->number()));
    }
    void changed() {
      changes.fetch_add(1, Order::relaxed);
      if (whole) whole->changes_of_parts.fetch_add(1, Order::relaxed);
    }
    [[nodiscard]] std::uint32_t all_changes() const {
      return changes.load(Order::relaxed) + (whole ? whole->changes : changes_of_parts).load(Order::relaxed);
    }
    D device;
    std::size_t bytes;
    void* data;
    Shared<Block> whole;               ///< the block that this is a part of
    Shared<const MemoryOwner> owner;   ///< owner of memory that Backend<D> did not allocate
    Atomic<std::uint32_t> changes{0};  ///< through handles to this block itself
    Atomic<std::uint32_t> changes_of_parts{0};
    Shared<Watch> watch;  ///< of a block made in a capture
  };

  /// Registers a change for each replay. Keeps the memory alive, unless the capture in progress made it: then only
  /// what outlives the capture is changed by replays.
  LOCUS_COLD void count_in_replays() const {
    if (!block_) return;
    const Shared<Watch>& of_whole = (block_->whole ? block_->whole : block_)->watch;
    if (!of_whole || of_whole->capture != detail::step_capture->number())
      return detail::at_replay([buffer = *this] { buffer.changed(); });
    detail::at_replay([watch = block_->watch, of_whole] {
      if (!watch->changed() && watch != of_whole) of_whole->changed_by_part();
    });
  }

  Shared<Block> block_;
};

namespace detail {
template <class X>
[[nodiscard]] bool had_to_bring(const X& x, bool again) {
  if constexpr (requires { x.buffer().before_use(again); }) return x.buffer().before_use(again);
  else return false;
}
template <class... X>
LOCUS_COLD void bring_lent(const X&... x) {
  for ([[maybe_unused]] const bool again : {false, true, true})
    if ((int{had_to_bring(x, again)} + ... + 0) == 0) return;
  fail<GraphError>(
      {"an operation uses parameters of a sharded model whose units share memory; evaluate it in parts, "
       ".eval(), raise .ahead, or name the units alike in .unit_of"});
}
/// Brings the elements of operands that are in lent memory. Called before they are read. throws GraphError if they
/// cannot be there at once
template <class... X>
void bring(const X&... x) {
  if (lenders.load(Order::relaxed) > 0) [[unlikely]]
    bring_lent(x...);
}
}  // namespace detail

}}  // namespace locus::LOCUS_ABI
