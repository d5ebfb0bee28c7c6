#pragma once
// Allocations that fail on purpose. Include it in one source of a program. Without a sanitizer it defines malloc and
// related functions by the C library's own, so that the failures reach operator new, containers, threads, zlib and the
// C library itself. A sanitizer has its own allocator: there it defines operator new alone.

#include <locus/core/config.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

/// Whether malloc fails, too.
#if defined(__GLIBC__) && !LOCUS_ADDRESS_SANITIZER && !defined(__SANITIZE_THREAD__)
#define LOCUS_TEST_FAILING_MALLOC 1
#else
#define LOCUS_TEST_FAILING_MALLOC 0
#endif

namespace locus_test {

/// Controls which allocations fail, counted over all threads.
struct FailingMemory {
  std::atomic<std::int64_t> left{INT64_MAX};  ///< allocations until the first that fails
  std::atomic<bool> once{true};               ///< whether only that one fails, or all from there on
  std::atomic<std::int64_t> failed{0};        ///< failures so far
  std::atomic<std::int64_t> alive{0};         ///< blocks that are allocated

  [[nodiscard]] bool fails() noexcept {
    if (left.load(std::memory_order_relaxed) == INT64_MAX) return false;
    const std::int64_t before = left.fetch_sub(1);
    if (before > 0 || (once.load() && before < 0)) return false;
    failed.fetch_add(1);
    return true;
  }
};
inline FailingMemory failing_memory;

/// During its life, the allocation after `successes` more fails: alone if `once`, else with all after it.
class MemoryFailure {
 public:
  MemoryFailure(std::int64_t successes, bool once) {
    failing_memory.failed.store(0);
    failing_memory.once.store(once);
    failing_memory.left.store(successes);
  }
  MemoryFailure(const MemoryFailure&) = delete;
  MemoryFailure& operator=(const MemoryFailure&) = delete;
  ~MemoryFailure() { end(); }
  /// Whether an allocation failed.
  static bool happened() { return failing_memory.failed.load() > 0; }
  static void end() { failing_memory.left.store(INT64_MAX); }
};

/// Number of allocations that f makes, on all threads together.
template <class F>
std::int64_t allocations_of(const F& f) {
  const MemoryFailure counting(INT64_MAX / 2, true);
  f();
  return INT64_MAX / 2 - failing_memory.left.load();
}

inline void* counted(void* block) noexcept {
  if (block) failing_memory.alive.fetch_add(1, std::memory_order_relaxed);
  else errno = ENOMEM;
  return block;
}
inline void uncounted(const void* block) noexcept {
  if (block) failing_memory.alive.fetch_sub(1, std::memory_order_relaxed);
}
/// allocate(), or null if it is to fail
template <class Allocate>
void* allocate_or_fail(const Allocate& allocate) noexcept {
  return counted(failing_memory.fails() ? nullptr : allocate());
}
}  // namespace locus_test

#if LOCUS_TEST_FAILING_MALLOC
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t bytes) noexcept {
  return locus_test::allocate_or_fail([&] { return __libc_malloc(bytes); });
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return locus_test::allocate_or_fail([&] { return __libc_calloc(count, bytes); });
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return locus_test::allocate_or_fail([&] { return __libc_memalign(alignment, bytes); });
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept { return memalign(alignment, bytes); }
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  *block = memalign(alignment, bytes);
  return *block ? 0 : ENOMEM;
}
void* realloc(void* block, std::size_t bytes) noexcept {
  if (!block) return malloc(bytes);
  if (locus_test::failing_memory.fails()) return errno = ENOMEM, nullptr;
  return __libc_realloc(block, bytes);
}
void free(void* block) noexcept {
  locus_test::uncounted(block);
  __libc_free(block);
}
}

#else
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return locus_test::allocate_or_fail([&] { return std::malloc(bytes ? bytes : 1); });
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  const auto unit = static_cast<std::size_t>(alignment);
  return locus_test::allocate_or_fail([&] { return std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit); });
}
void* operator new(std::size_t bytes) {
  if (void* const block = operator new(bytes, std::nothrow)) return block;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (void* const block = operator new(bytes, alignment, std::nothrow)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept {
  locus_test::uncounted(block);
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
void operator delete(void* block, std::align_val_t) noexcept { operator delete(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { operator delete(block); }
#endif
