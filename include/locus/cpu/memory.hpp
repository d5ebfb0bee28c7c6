#pragma once
// Host memory from a pool: freed blocks serve later requests of the same size class.

#include <locus/core/size_class.hpp>
#include <locus/core/std/posix.hpp>
#include <locus/device/memory.hpp>
#include <locus/device/memory_limit.hpp>

#include <sys/mman.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <new>

#if LOCUS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

namespace detail {
// Tells the address sanitizer which memory of the pool belongs to no tensor.
inline void forbid([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if LOCUS_ADDRESS_SANITIZER
  __asan_poison_memory_region(begin, bytes);
#endif
}
inline void allow([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if LOCUS_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

/// Asks the system for huge pages: fewer page faults and TLB misses.
inline void use_large_pages([[maybe_unused]] void* block, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr std::size_t worth = std::size_t{8} << 20;
  constexpr std::uintptr_t page = 4096;
  if (bytes < worth) return;
  std::byte* const begin =
      static_cast<std::byte*>(block) + (page - reinterpret_cast<std::uintptr_t>(block) % page) % page;
  (void)madvise(begin, bytes - page, MADV_HUGEPAGE);  // if refused, pages stay small
#endif
}
}  // namespace detail

/// Caching allocator over 64-byte aligned blocks. Keeps freed blocks up to `cache_limit` bytes in all; further blocks
/// return to the system.
class MemoryPool {
 public:
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t cache_limit = std::size_t{2} << 30;

  [[nodiscard]] LOCUS_OUT_OF_LINE static MemoryPool& instance() {
    // Never destroyed: otherwise tensors of static storage duration would outlive it.
    static auto* pool = [] {
      auto* const made = new MemoryPool;
      locus::detail::wait_at_fork<&mutex_of_instance>();
      return made;
    }();
    return *pool;
  }

  /// throws OutOfMemory naming the request, the bytes that the pool holds, and the limit if that is the cause
  [[nodiscard]] void* allocate(std::size_t bytes) {
    const int size_class = Sizes::of(bytes);
    const std::size_t rounded = Sizes::bytes(size_class);
    const Lock lock(mutex_);
    void* block = pop(size_class);
    if (!block) block = from_system(bytes, rounded);
    detail::forbid(static_cast<std::byte*>(block) + bytes, rounded - bytes);
    stats_.requests += 1;
    stats_.allocated_bytes += static_cast<std::int64_t>(rounded);
    if (stats_.allocated_bytes > stats_.peak_bytes) stats_.peak_bytes = stats_.allocated_bytes;
    return block;
  }

  LOCUS_OUT_OF_LINE void deallocate(void* block, std::size_t bytes) noexcept {
    const int size_class = Sizes::of(bytes);
    const std::size_t rounded = Sizes::bytes(size_class);
    const Lock lock(mutex_);
    detail::allow(block, rounded);
    stats_.allocated_bytes -= static_cast<std::int64_t>(rounded);
    if (cached_ + rounded <= cache_limit) return push(size_class, block);
    stats_.reserved_bytes -= static_cast<std::int64_t>(rounded);
    std::free(block);
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
    limit_.set(stats_, bytes, [&] { free_unused(); });
  }
  /// Gives unused blocks back to the system; returns their bytes.
  LOCUS_COLD std::int64_t release_unused() noexcept {
    const Lock lock(mutex_);
    const auto released = static_cast<std::int64_t>(cached_);
    free_unused();
#if defined(__GLIBC__)
    (void)malloc_trim(0);  // or else free pages below a block in use stay resident
#endif
    return released;
  }

 private:
  using Sizes = SizeClass<alignment>;

  [[nodiscard]] static Mutex& mutex_of_instance() { return instance().mutex_; }

  [[nodiscard]] void* pop(int size_class) {
    void* const block = unused_[size_class];
    if (!block) return nullptr;
    detail::allow(block, Sizes::bytes(size_class));
    unused_[size_class] = next_of(block, size_class);
    cached_ -= Sizes::bytes(size_class);
    return block;
  }

  void push(int size_class, void* block) {
    next_of(block, size_class) = unused_[size_class];
    unused_[size_class] = block;
    cached_ += Sizes::bytes(size_class);
    detail::forbid(
        block,
        Sizes::bytes(size_class) - sizeof(void*));  // the pointer behind leads leak checkers to the next block
  }

  /// An unused block ends with the address of the next one of its class.
  [[nodiscard]] static void*& next_of(void* block, int size_class) {
    return *reinterpret_cast<void**>(static_cast<std::byte*>(block) + Sizes::bytes(size_class) - sizeof(void*));
  }

  [[nodiscard]] void* from_system(std::size_t bytes, std::size_t rounded) {
    limit_.make_room(stats_, bytes, rounded, [&] { free_unused(); });
    void* block = rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
    if (!block && rounded >= bytes) {
      free_unused();
      block = std::aligned_alloc(alignment, rounded);
    }
    if (!block) {
      fail<OutOfMemory>({"out of host memory: ", bytes, " bytes were asked for, tensors hold ", stats_.allocated_bytes,
                         " bytes and the pool ", stats_.reserved_bytes - stats_.allocated_bytes,
                         " more; use smaller batches or free tensors"});
    }
    detail::use_large_pages(block, rounded);
    stats_.system_allocations += 1;
    stats_.reserved_bytes += static_cast<std::int64_t>(rounded);
    return block;
  }

  void free_unused() noexcept {
    stats_.reserved_bytes -= static_cast<std::int64_t>(cached_);
    for (int size_class = 0; size_class < Sizes::classes; ++size_class)
      while (void* const block = pop(size_class)) std::free(block);
  }

  Mutex mutex_;
  void* unused_[Sizes::classes] = {};  ///< the first unused block of each class
  std::size_t cached_ = 0;             ///< bytes of unused blocks
  MemoryStats stats_;
  locus::detail::MemoryLimit limit_{to_string(Cpu{})};
};

/// Memory of the pool for as long as this object lives.
class PoolMemory {
 public:
  explicit PoolMemory(std::size_t bytes)
      : bytes_(bytes), data_(static_cast<std::byte*>(MemoryPool::instance().allocate(bytes))) {}
  PoolMemory(const PoolMemory&) = delete;
  PoolMemory& operator=(const PoolMemory&) = delete;
  ~PoolMemory() { MemoryPool::instance().deallocate(data_, bytes_); }
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

}}}  // namespace locus::LOCUS_ABI::cpu
