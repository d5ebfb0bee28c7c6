#pragma once
// Working memory of a thread, kept from one launch to the next.

#include <locus/core/check.hpp>
#include <locus/core/std/atomic.hpp>
#include <locus/core/system/thread_end.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

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
    if (!room && count > 0) refuse(count, sizeof(T));
    return room;
  }
  /// The same; null if there is no memory.
  template <class T>
  [[nodiscard]] T* try_reserve(std::int64_t count) {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &bytes)) return nullptr;
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
  [[noreturn]] LOCUS_COLD static void refuse(std::int64_t count, std::size_t size) {
    fail<OutOfMemory>({"out of host memory: working memory for ", count, " elements of ", size,
                       " bytes was asked for; free tensors"});
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// This thread's object of class S, freed at the thread's end; null if there is no memory for it. Code that runs later,
/// at the end of the same thread, gets a new object, which is freed too.
template <class S>
[[nodiscard]] S* try_of_this_thread() {
  static thread_local S* kept = nullptr;
  if (kept) [[likely]]
    return kept;
  static const locus::detail::ThreadEnd at_thread_end([](void* object) {
    kept = nullptr;
    delete static_cast<S*>(object);
  });
  S* const made = new (std::nothrow) S;
  if (made && !at_thread_end.note(made)) delete made;
  else kept = made;
  return kept;
}

/// The same. throws OutOfMemory
template <class S>
[[nodiscard]] S& of_this_thread() {
  if (S* const kept = try_of_this_thread<S>()) [[likely]]
    return *kept;
  fail<OutOfMemory>(
      {"out of host memory: none for the working memory of a thread; free tensors, or use fewer threads"});
}

}  // namespace detail

/// How often launches had to allocate working memory, in all threads so far.
[[nodiscard]] inline std::int64_t scratch_allocations() {
  return detail::scratch_allocation_count.load(Order::relaxed);
}

}}}  // namespace locus::LOCUS_ABI::cpu
