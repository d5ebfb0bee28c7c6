#pragma once
// Reference-counted memory of one device, with the counter that tells when its contents changed.

#include <locus/device/verbs.hpp>

#include <atomic>

namespace locus::inline LOCUS_ABI {

/// A shared handle to a block of memory; the last one gives the block back. Copying is cheap and
/// thread-safe; work that threads have queued on a device is ordered by their synchronize() alone.
template <MemorySpace D>
class Buffer {
 public:
  Buffer() = default;
  Buffer(D device, std::size_t bytes) : block_(new Block{device, bytes}) {
    try {
      block_->data = Backend<D>::allocate(device, bytes);
    } catch (...) {
      delete block_;
      throw;
    }
  }
  Buffer(const Buffer& other) noexcept : block_(other.block_) {
    if (block_) block_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Buffer(Buffer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Buffer() {
    if (block_ && block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) give_back(block_);
  }

  /// A part of this memory that has a version of its own. It keeps the whole alive.
  [[nodiscard]] Buffer part(void* data, std::size_t bytes) const {
    Buffer result;
    result.block_ = new Block{device(), bytes, data, block_};
    if (block_) block_->owners.fetch_add(1, std::memory_order_relaxed);
    return result;
  }

  [[nodiscard]] explicit operator bool() const { return block_ != nullptr; }
  [[nodiscard]] void* data() const { return block_ ? block_->data : nullptr; }
  [[nodiscard]] std::size_t bytes() const { return block_ ? block_->bytes : 0; }
  [[nodiscard]] D device() const { return block_ ? block_->device : D{}; }

  /// Whether this handle is the only one to the memory.
  [[nodiscard]] bool unique() const { return block_ && block_->owners.load(std::memory_order_acquire) == 1; }

  /// How often the contents were changed in place. Copies of the handle see the same number.
  [[nodiscard]] std::uint32_t version() const { return block_ ? block_->version.load(std::memory_order_relaxed) : 0; }
  void changed() const {
    if (block_) block_->version.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] friend bool operator==(const Buffer& a, const Buffer& b) { return a.block_ == b.block_; }

 private:
  struct Block {
    D device;
    std::size_t bytes;
    void* data = nullptr;
    Block* whole = nullptr;  ///< whose part this is
    std::atomic<std::int64_t> owners{1};
    std::atomic<std::uint32_t> version{0};
  };
  [[gnu::noinline]] static void give_back(Block* block) noexcept {
    Buffer whole;
    whole.block_ = block->whole;
    if (!whole) Backend<D>::deallocate(block->device, block->data, block->bytes);
    delete block;
  }

  Block* block_ = nullptr;
};

}  // namespace locus::inline LOCUS_ABI
