#pragma once
// Callbacks at the end of a thread.

#include <locus/core/config.hpp>

#include <pthread.h>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Calls end(object) at the end of each thread that noted an object, except the main thread, which ends with the
/// program. If the program has used up the system's keys of thread-specific data, no thread calls it, and objects
/// outlive their threads. (A thread_local object with a destructor would do, but the C library aborts the program if it
/// has no memory to register the destructor.)
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
