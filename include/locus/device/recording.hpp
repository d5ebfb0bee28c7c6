#pragma once
// What a captured step does again on the host before each of its replays. A replay repeats the launches of one run with
// the arguments of that run; a value that the host advances from step to step (the position in a seed's random numbers,
// the number of an optimizer's step) is made anew here.

#include <locus/core/shared.hpp>
#include <locus/device/verbs.hpp>

namespace locus::inline LOCUS_ABI::detail {

/// Done on the host before each replay, in the order of the run that was recorded.
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

/// A step that is being recorded.
class Recording {
 public:
  virtual void at_replay(Shared<ReplayAction> action) = 0;
  /// Done where the recording is given up, the last first.
  virtual void at_drop(Shared<ReplayAction> action) = 0;

 protected:
  ~Recording() = default;
};
/// The one of the calling thread; null: there is none.
inline thread_local Recording* recording = nullptr;

/// Whether the calling thread records a step. Never without Cuda, which alone records: programs without it are spared
/// the compilation of what only replays do.
[[nodiscard]] inline bool is_recording() { return LOCUS_CUDA && recording; }

/// Where a step is being recorded, f() is called before each of its replays.
template <class F>
void at_replay([[maybe_unused]] const F& f) {
  if constexpr (LOCUS_CUDA)
    if (is_recording()) [[unlikely]]
      recording->at_replay(Shared<ReplayAction>(new ReplayActionOf<F>(f)));
}

/// Where a step is being recorded, what is about to change on the host becomes what it is now if the recording is given
/// up: then what was to count as done was not done. `place` lives as long as the step.
template <class V>
void restore_if_dropped([[maybe_unused]] V& place) {
  if constexpr (LOCUS_CUDA)
    if (is_recording()) [[unlikely]]
      recording->at_drop(Shared<ReplayAction>(new ReplayActionOf([&place, value = place] { place = value; })));
}

/// map with the functor that make() returns. Where a step is being recorded, each of its replays calls a copy of `make`
/// for a functor of its own: what that refers to must live as long as the recorded step.
template <class D, int n, class Make, class... I, class... O>
void map_anew(D device, const Plan<n>& plan, const Make& make, const Pack<I...>& inputs, const Pack<O*...>& outputs) {
  if constexpr (requires { Backend<D>::map_anew(device, plan, make, inputs, outputs); }) {
    Backend<D>::map_anew(device, plan, make, inputs, outputs);
  } else {
    Backend<D>::map(device, plan, make(), inputs, outputs);
  }
}

}  // namespace locus::inline LOCUS_ABI::detail
