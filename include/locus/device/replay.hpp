#pragma once
// What the host does before each replay of a captured step. A replay repeats the launches of one run with the arguments
// of that run; values that the host advances from step to step (the position in a seed's random numbers, the number of
// an optimizer's step) are updated here.

#include <locus/core/std/atomic.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Run on the host before each replay, in the order of the run that was captured: checks first, then all else.
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

/// A step that is being captured.
class StepCapture {
 public:
  /// Run before all actions, so that a replay that it refuses, by an exception, has changed nothing.
  virtual void check_at_replay(Shared<ReplayAction> check) = 0;
  virtual void at_replay(Shared<ReplayAction> action) = 0;
  /// Run if the capture is abandoned, the last first.
  virtual void at_abandon(Shared<ReplayAction> action) = 0;
  /// Of this capture, unlike that of any other; never 0.
  [[nodiscard]] std::uint64_t number() const { return number_; }

 protected:
  ~StepCapture() = default;
  /// Another capture begins.
  void renumber() { number_ = next_number.fetch_add(1, Order::relaxed); }

 private:
  inline static Atomic<std::uint64_t> next_number{1};
  std::uint64_t number_ = 0;
};
/// That of the calling thread; null: it captures none.
inline thread_local StepCapture* step_capture = nullptr;

/// Whether the calling thread captures a step. Never without CUDA: only Cuda captures, and programs without it need not
/// compile what only replays do.
[[nodiscard]] inline bool is_capturing() { return LOCUS_CUDA && step_capture; }

/// Where a step is being captured, f() is called before each of its replays.
template <class F>
void at_replay([[maybe_unused]] const F& f) {
  if constexpr (LOCUS_CUDA)
    if (is_capturing()) [[unlikely]]
      step_capture->at_replay(Shared<ReplayAction>(new ReplayActionOf<F>(f)));
}

/// Where a step is being captured, f() is called before each of its replays, and before all that at_replay() was given.
/// It changes nothing, and throws where the step cannot be replayed.
template <class F>
void check_at_replay([[maybe_unused]] const F& f) {
  if constexpr (LOCUS_CUDA)
    if (is_capturing()) [[unlikely]]
      step_capture->check_at_replay(Shared<ReplayAction>(new ReplayActionOf<F>(f)));
}

/// Where a step is being captured: snapshots `place`, and restores it if the capture is abandoned. `place` lives as
/// long as the step.
template <class V>
void restore_if_abandoned([[maybe_unused]] V& place) {
  if constexpr (LOCUS_CUDA)
    if (is_capturing()) [[unlikely]]
      step_capture->at_abandon(Shared<ReplayAction>(new ReplayActionOf([&place, value = place] { place = value; })));
}

/// map with the functor that make() returns. Where a step is being captured, each of its replays calls a copy of `make`
/// for a functor of its own: what that refers to must live as long as the captured step.
template <class D, int n, class Make, class... I, class... O>
void map_anew(D device, const Plan<n>& plan, const Make& make, const Pack<I...>& inputs, const Pack<O*...>& outputs) {
  if constexpr (requires { Backend<D>::map_anew(device, plan, make, inputs, outputs); }) {
    Backend<D>::map_anew(device, plan, make, inputs, outputs);
  } else {
    Backend<D>::map(device, plan, make(), inputs, outputs);
  }
}

}}}  // namespace locus::LOCUS_ABI::detail
