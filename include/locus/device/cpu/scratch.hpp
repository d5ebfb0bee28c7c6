#pragma once
// Working memory of a thread, kept from one launch to the next.

#include <locus/core/atomic.hpp>
#include <locus/core/check.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace locus::inline LOCUS_ABI {
namespace cpu {

namespace detail {
inline Atomic<std::int64_t> scratch_allocation_count{0};

/// Aligned memory that grows to the largest request and is kept for the next one.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { release(); }

  /// Room for `count` elements, with undefined content; valid until the next call. throws OutOfMemory
  template <class T>
  [[nodiscard]] T* reserve(std::int64_t count) {
    T* const room = try_reserve<T>(count);
    if (!room && count > 0) refuse(static_cast<std::size_t>(count) * sizeof(T));
    return room;
  }
  /// The same; null where there is no memory.
  template <class T>
  [[nodiscard]] T* try_reserve(std::int64_t count) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (bytes > bytes_) grow(bytes);
    return static_cast<T*>(data_);
  }

 private:
  static constexpr std::align_val_t alignment{64};

  void release() {
    if (data_) ::operator delete(data_, alignment);
  }
  LOCUS_OUT_OF_LINE void grow(std::size_t bytes) {
    release();
    bytes_ = 0;
    data_ = ::operator new(bytes, alignment, std::nothrow);
    if (!data_) return;
    bytes_ = bytes;
    scratch_allocation_count.fetch_add(1, Order::relaxed);
  }
  [[noreturn]] LOCUS_COLD static void refuse(std::size_t bytes) {
    fail<OutOfMemory>({"out of host memory: ", bytes, " bytes of working memory were asked for; free tensors"});
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// This thread's object of class S, freed at the thread's end. Destructors of static objects, which run later, get
/// another one, which stays.
template <class S>
[[nodiscard]] S& of_this_thread() {
  static thread_local S* kept = nullptr;  // has no destructor: it can be read until the process is gone
  if (kept) return *kept;
  struct ThreadEnd {
    ~ThreadEnd() {
      S* const last = kept;
      kept = nullptr;
      delete last;
    }
  };
  static thread_local ThreadEnd at_thread_end;
  (void)at_thread_end;
  kept = new S;
  return *kept;
}

}  // namespace detail

/// How often launches had to allocate working memory, in all threads so far.
[[nodiscard]] inline std::int64_t scratch_allocations() {
  return detail::scratch_allocation_count.load(Order::relaxed);
}

}  // namespace cpu
}  // namespace locus::inline LOCUS_ABI
