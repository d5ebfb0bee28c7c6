#pragma once
// A value that is computed at its first use and remembered, also where several threads use it first at once.

#include <locus/core/std/atomic.hpp>
#include <locus/core/std/posix.hpp>

#include <sched.h>
#include <unistd.h>

#include <cstdint>
#include <new>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The state of a value: unknown, being computed by a thread, or known. Not a template, so that it is compiled once.
class MemoState {
 public:
  /// Scope of a computation. Unless done() was called, its end makes the value unknown again.
  class Turn {
   public:
    explicit Turn(MemoState& state) : state_(state), mine_(state.begin()) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      if (mine_) state_.state_.store(unknown, Order::release);
    }
    /// False if another thread computed the value meanwhile.
    [[nodiscard]] explicit operator bool() const { return mine_; }
    void done() {
      state_.state_.store(computed, Order::release);
      mine_ = false;
    }

   private:
    MemoState& state_;
    bool mine_;
  };

  [[nodiscard]] bool known() const { return state_.load(Order::acquire) == computed; }
  /// For a state that only this thread can reach.
  void set_known(bool known) { state_.store(known ? computed : unknown, Order::relaxed); }

 private:
  /// While a thread computes, the state is `computing` plus the fork count of its process.
  static constexpr std::uint32_t unknown = 0, computed = 1, computing = std::uint32_t{1} << 31;

  [[nodiscard]] static std::uint32_t computing_here() { return computing + fork_count(); }
  [[nodiscard]] bool begin() { return state_.replace(unknown, computing_here()) || wait(); }
  /// Polls with short sleeps. Waking waiters would cost the computing thread, which almost always is the only one. A
  /// child of fork() takes over from a thread of its parent.
  [[gnu::cold]] LOCUS_OUT_OF_LINE bool wait() {
    for (int rounds = 0;; ++rounds) {
      const std::uint32_t state = state_.load(Order::acquire), here = computing_here();
      if (state == computed) return false;
      // Unknown again: the other thread's attempt threw.
      if (state != here && state_.replace(state, here)) return true;
      if (rounds < 100) sched_yield();
      else usleep(50);
    }
  }

  Atomic<std::uint32_t> state_{unknown};
};

/// Storage for an R that is constructed when it is known. A copy made while the value is being computed is unknown.
template <class R>
class Memo {
 public:
  Memo() {}
  Memo(const Memo& other) { copy(other); }
  Memo(Memo&& other) noexcept { move(other); }
  Memo& operator=(const Memo& other) {
    if (this == &other) return *this;
    clear();
    copy(other);
    return *this;
  }
  Memo& operator=(Memo&& other) noexcept {
    if (this == &other) return *this;
    clear();
    move(other);
    return *this;
  }
  ~Memo() { clear(); }

  [[nodiscard]] bool known() const { return state_.known(); }
  /// The value, from compute() at the first call. Of several threads one computes and the others wait. An exception of
  /// compute() propagates, and the next call computes again.
  template <class Compute>
  [[nodiscard]] R& get(const Compute& compute) {
    if (!known()) {
      if (MemoState::Turn turn{state_}; turn) new (&value_) R(compute()), turn.done();
    }
    return value_;
  }
  /// Moves the value out, which must be known and is unknown afterwards.
  [[nodiscard]] R take() {
    R value(static_cast<R&&>(value_));
    clear();
    return value;
  }

 private:
  void copy(const Memo& other) {
    if (other.known()) new (&value_) R(other.value_), state_.set_known(true);
  }
  void move(Memo& other) noexcept {
    if (other.known()) new (&value_) R(other.take()), state_.set_known(true);
  }
  void clear() {
    if (known()) state_.set_known(false), value_.~R();
  }

  MemoState state_;
  union {
    R value_;
  };
};

}}}  // namespace locus::LOCUS_ABI::detail
