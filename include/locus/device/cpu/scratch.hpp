#pragma once
// Working memory of a thread, kept from one launch to the next.

#include <locus/core/config.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace locus::inline LOCUS_ABI {
namespace cpu {

namespace detail {
inline std::atomic<std::int64_t> scratch_allocation_count{0};

/// Aligned memory that grows to the largest request and is kept for the next one.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { release(); }

  /// Room for `count` elements, with undefined content; valid until the next call.
  template <class T>
  [[nodiscard]] T* reserve(std::int64_t count) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (bytes > bytes_) grow(bytes);
    return static_cast<T*>(data_);
  }

 private:
  static constexpr std::align_val_t alignment{64};

  void release() {
    if (data_) ::operator delete(data_, alignment);
  }
  void grow(std::size_t bytes) {
    release();
    data_ = nullptr;
    bytes_ = 0;
    data_ = ::operator new(bytes, alignment);
    bytes_ = bytes;
    scratch_allocation_count.fetch_add(1, std::memory_order_relaxed);
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace detail

/// How often launches had to allocate working memory, in all threads so far.
[[nodiscard]] inline std::int64_t scratch_allocations() {
  return detail::scratch_allocation_count.load(std::memory_order_relaxed);
}

}  // namespace cpu
}  // namespace locus::inline LOCUS_ABI
