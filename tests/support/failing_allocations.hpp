#pragma once
// A program in which chosen allocations fail: include it in one source of a program of its own. Without a sanitizer,
// which has an allocator itself, malloc and its kin are replaced, and with them what the C library and zlib ask for;
// with one, operator new alone.

#include <locus/core/config.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace locus_test {

/// What is asked for on this thread while it is `on`.
struct Allocations {
  bool on = false;
  std::int64_t count = 0;         ///< allocations so far
  std::int64_t fails_at = -1;     ///< the number of the one that fails, from 0; none below that
  bool fails_from_there = false;  ///< and all after it
  std::int64_t living = 0;        ///< allocated and not freed, in all times when it was on

  /// Whether the next one is to fail.
  [[nodiscard]] bool next_fails() {
    if (!on) return false;
    const std::int64_t number = count++;
    return fails_at >= 0 && (number == fails_at || (fails_from_there && number > fails_at));
  }
};
inline thread_local Allocations allocations;

}  // namespace locus_test

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || LOCUS_ADDRESS_SANITIZER
#define LOCUS_TEST_MALLOC 0

[[nodiscard]] inline void* allocate_or_fail(std::size_t bytes, std::size_t alignment) {
  if (locus_test::allocations.next_fails()) return nullptr;
  void* const block = alignment ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                                : std::malloc(bytes ? bytes : 1);
  if (locus_test::allocations.on && block) ++locus_test::allocations.living;
  return block;
}
inline void free_counted(void* block) {
  if (locus_test::allocations.on && block) --locus_test::allocations.living;
  std::free(block);
}
void* operator new(std::size_t bytes) {
  if (void* const block = allocate_or_fail(bytes, 0)) return block;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (void* const block = allocate_or_fail(bytes, static_cast<std::size_t>(alignment))) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { free_counted(block); }
void operator delete(void* block, std::size_t) noexcept { free_counted(block); }
void operator delete(void* block, std::align_val_t) noexcept { free_counted(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { free_counted(block); }

#else
#define LOCUS_TEST_MALLOC 1

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

static void* counted(void* block) {
  if (locus_test::allocations.on && block) ++locus_test::allocations.living;
  return block;
}
static bool fails() {
  if (!locus_test::allocations.next_fails()) return false;
  errno = ENOMEM;
  return true;
}
void* malloc(std::size_t bytes) { return fails() ? nullptr : counted(__libc_malloc(bytes)); }
void* calloc(std::size_t count, std::size_t bytes) { return fails() ? nullptr : counted(__libc_calloc(count, bytes)); }
void* realloc(void* block, std::size_t bytes) {
  if (fails()) return nullptr;
  void* const moved = __libc_realloc(block, bytes);
  return block ? moved : counted(moved);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return fails() ? nullptr : counted(__libc_memalign(alignment, bytes));
}
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  if (fails()) return ENOMEM;
  *block = counted(__libc_memalign(alignment, bytes));
  return *block ? 0 : ENOMEM;
}
void free(void* block) {
  if (locus_test::allocations.on && block) --locus_test::allocations.living;
  __libc_free(block);
}
}

#endif
