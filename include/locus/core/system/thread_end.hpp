#pragma once
// What is to happen when a thread ends.

#include <locus/core/config.hpp>

#include <pthread.h>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Calls end(object) at the end of each thread that noted an object. Not for the main thread's, which ends with the
/// program; and for no thread where the program uses all keys of thread-specific data that the system has: then objects
/// outlive their threads. (A thread_local object with a destructor does that, too. But the C library aborts the program
/// where it has no memory to remember the destructor.)
class ThreadEnd {
 public:
  explicit ThreadEnd(void (*end)(void* object)) : has_key_(pthread_key_create(&key_, end) == 0) {}

  /// From now on, this object is the calling thread's. False where there is no memory to remember it.
  [[nodiscard]] bool note(void* object) const { return !has_key_ || pthread_setspecific(key_, object) == 0; }

 private:
  pthread_key_t key_{};
  bool has_key_;
};

}}}  // namespace locus::LOCUS_ABI::detail
