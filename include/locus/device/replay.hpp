#pragma once
// Actions of the host before each replay of a captured step. A replay repeats the captured launches with their
// arguments; the actions update values that advance from step to step (the offset of random numbers, the number of an
// optimizer's step).

#include <locus/core/std/atomic.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Run on the host before each replay except the first, which follows the capture at once: all checks, then the other
/// actions, each in the order of the captured run.
class ReplayAction : public Counted {
 public:
  virtual ~ReplayAction() = default;
  virtual void run() = 0;
};
template <class F>
class ReplayActionOf final : public ReplayAction {
 public:
  explicit ReplayActionOf(const F& f) : f_(f) {}
  void run() override { f_(); }

 private:
  F f_;
};

/// Called on the host around each launch of a captured step, the first included, where the stream of the launch is the
/// thread's current one. If before() throws, the step is not launched.
class LaunchObserver : public Counted {
 public:
  virtual ~LaunchObserver() = default;
  virtual void before() = 0;
  virtual void after() = 0;
};

/// A step that is being captured.
class StepCapture {
 public:
  /// Checks run before all actions, so that a replay refused by an exception has changed nothing.
  virtual void check_at_replay(Shared<ReplayAction> check) = 0;
  virtual void at_replay(Shared<ReplayAction> action) = 0;
  /// These actions run if the capture is abandoned, the last first.
  virtual void at_abandon(Shared<ReplayAction> action) = 0;
  virtual void at_launch(Shared<LaunchObserver> observer) = 0;
  /// Work queued until end_beside() follows the step's work so far, and is captured beside its later work. It allocates
  /// and frees no memory of the step.
  virtual void begin_beside() = 0;
  /// Returns a ticket for join_beside(), never 0.
  virtual std::uint64_t end_beside() = 0;
  /// In place of end_beside(), if the work beside the step failed.
  virtual void abandon_beside() noexcept = 0;
  /// The step's later work follows the work of the ticket.
  virtual void join_beside(std::uint64_t ticket) = 0;
  /// A unique number of this capture; never 0.
  [[nodiscard]] std::uint64_t number() const { return number_; }

 protected:
  ~StepCapture() = default;
  /// Assigns a new number when a capture begins.
  void renumber() { number_ = next_number.fetch_add(1, Order::relaxed); }

 private:
  inline static Atomic<std::uint64_t> next_number{1};
  std::uint64_t number_ = 0;
};
/// The capture of the calling thread; null if it captures no step.
inline thread_local StepCapture* step_capture = nullptr;

/// Whether the calling thread captures a step. Constant false without CUDA, as only Cuda captures; such programs do not
/// compile replay code.
[[nodiscard]] inline bool is_capturing() { return LOCUS_CUDA && step_capture; }

/// Work that was captured beside a step.
class BesideStep {
 public:
  BesideStep() = default;
  /// During a capture: captures f()'s work beside the step's later work.
  template <class F>
  explicit BesideStep(const F& f) : capture_(step_capture->number()) {
    step_capture->begin_beside();
    try {
      f();
    } catch (...) {
      step_capture->abandon_beside();
      throw;
    }
    ticket_ = step_capture->end_beside();
  }
  /// Orders the step's later work after this work. No-op after the capture, whose end waits for all work.
  void join() const {
    if constexpr (LOCUS_CUDA)
      if (is_capturing() && ticket_ != 0 && step_capture->number() == capture_) step_capture->join_beside(ticket_);
  }

 private:
  std::uint64_t capture_ = 0, ticket_ = 0;
};

/// During a capture: registers f() to be called before each replay.
template <class F>
void at_replay([[maybe_unused]] const F& f) {
  if constexpr (LOCUS_CUDA)
    if (is_capturing()) [[unlikely]]
      step_capture->at_replay(Shared<ReplayAction>(new ReplayActionOf<F>(f)));
}

/// During a capture: registers f() to be called before each replay, ahead of all functions from at_replay(). f must
/// change nothing, and throws if the step cannot be replayed.
template <class F>
void check_at_replay([[maybe_unused]] const F& f) {
  if constexpr (LOCUS_CUDA)
    if (is_capturing()) [[unlikely]]
      step_capture->check_at_replay(Shared<ReplayAction>(new ReplayActionOf<F>(f)));
}

/// During a capture: registers f() to be called if the capture is abandoned, ahead of all functions registered before.
template <class F>
void at_abandon([[maybe_unused]] const F& f) {
  if constexpr (LOCUS_CUDA)
    if (is_capturing()) [[unlikely]]
      step_capture->at_abandon(Shared<ReplayAction>(new ReplayActionOf<F>(f)));
}
/// During a capture: snapshots `place`, and restores it if the capture is abandoned. `place` has to live as long as the
/// step.
template <class V>
void restore_if_abandoned([[maybe_unused]] V& place) {
  if constexpr (LOCUS_CUDA)
    if (is_capturing()) [[unlikely]]
      at_abandon([&place, value = place]() mutable { place = std::move(value); });
}

/// map with the functor that make() returns. During a capture, a copy of `make` is kept, and each replay calls it for a
/// new functor: objects that it refers to must live as long as the captured step.
template <class D, int n, class Make, class... I, class... O>
void map_anew(D device, const Plan<n>& plan, const Make& make, const Pack<I...>& inputs, const Pack<O*...>& outputs) {
  if constexpr (requires { Backend<D>::map_anew(device, plan, make, inputs, outputs); }) {
    Backend<D>::map_anew(device, plan, make, inputs, outputs);
  } else {
    Backend<D>::map(device, plan, make(), inputs, outputs);
  }
}

}}}  // namespace locus::LOCUS_ABI::detail
