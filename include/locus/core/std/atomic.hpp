#pragma once
// Values that several threads share. (<atomic> costs every program 0.1 s with g++: its wait() brings mutexes and error
// categories.)

#include <locus/core/config.hpp>

#include <cstdint>
#include <ctime>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#endif
#include <unistd.h>

namespace locus { inline namespace LOCUS_ABI {

/// Memory orders, as std::memory_order.
enum class Order : int {
  relaxed = __ATOMIC_RELAXED,
  acquire = __ATOMIC_ACQUIRE,
  release = __ATOMIC_RELEASE,
  acq_rel = __ATOMIC_ACQ_REL,
  seq_cst = __ATOMIC_SEQ_CST
};

/// A number or a pointer, as std::atomic<T>.
template <class T>
class Atomic {
 public:
  constexpr explicit Atomic(T value) : value_(value) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  [[nodiscard]] T load(Order order = Order::seq_cst) const { return __atomic_load_n(&value_, static_cast<int>(order)); }
  void store(T value, Order order = Order::seq_cst) { __atomic_store_n(&value_, value, static_cast<int>(order)); }
  T exchange(T value, Order order = Order::seq_cst) {
    return __atomic_exchange_n(&value_, value, static_cast<int>(order));
  }
  /// Returns the previous value.
  T fetch_add(T number, Order order = Order::seq_cst) {
    return __atomic_fetch_add(&value_, number, static_cast<int>(order));
  }
  T fetch_sub(T number, Order order = Order::seq_cst) {
    return __atomic_fetch_sub(&value_, number, static_cast<int>(order));
  }
  /// Compare-and-swap, strong: becomes `wanted` if it is `expected`.
  [[nodiscard]] bool replace(T expected, T wanted) {
    return __atomic_compare_exchange_n(&value_, &expected, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }

 protected:
  T value_;
};

/// An atomic number that threads can wait on (a futex). Call notify() after changing it.
class Signal : public Atomic<std::uint32_t> {
 public:
  using Atomic::Atomic;

  /// Sleeps until the number differs from the argument. Acquires the writes released with the change.
  LOCUS_OUT_OF_LINE void wait(std::uint32_t number) {
    while (load() == number) {
      sleepers_.fetch_add(1);
      sleep(number);
      sleepers_.fetch_sub(1);
    }
  }

  /// The same for at most `milliseconds`; may return early, so that the caller checks again.
  LOCUS_OUT_OF_LINE void wait_at_most(std::uint32_t number, int milliseconds) {
    sleepers_.fetch_add(1);
    if (load() == number) sleep_at_most(number, milliseconds);
    sleepers_.fetch_sub(1);
  }

  /// Wakes all waiters. Without waiters it makes no system call.
  void notify() {
    // A waiter registers before it reads the number: either this call sees the waiter, or the waiter sees the new
    // number.
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (sleepers_.load() > 0) wake();
  }
  /// For a child of fork(), which has no other threads.
  void forget_sleepers() { sleepers_.store(0); }

 private:
#if defined(__linux__)
  void sleep(std::uint32_t number) { syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, number, nullptr, nullptr, 0); }
  void sleep_at_most(std::uint32_t number, int milliseconds) {
    const timespec time{milliseconds / 1000, milliseconds % 1000 * 1000000L};
    syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, number, &time, nullptr, 0);
  }
  LOCUS_OUT_OF_LINE void wake() { syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0); }
#else
  void sleep(std::uint32_t) { usleep(50); }
  void sleep_at_most(std::uint32_t, int) { usleep(50); }
  void wake() {}
#endif

  Atomic<int> sleepers_{0};
};

}}  // namespace locus::LOCUS_ABI
