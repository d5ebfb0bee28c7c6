#pragma once
// Steps that are captured in a CUDA graph and replayed. Type-checks everywhere, as cuda/backend.hpp.

#include <locus/cuda/backend.hpp>
#include <locus/device/capture.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

#if LOCUS_CUDA
/// The first call runs the step uncaptured: it allocates the step's memory and makes everything that is made at a first
/// use. The second call captures the step; it and all later calls replay it. A later call captures a renewable step
/// anew if a tensor holds memory that the replay would overwrite.
template <>
class StepRunner<Cuda> {
 public:
  static constexpr bool captures = true;
  explicit StepRunner(Cuda device, bool renewable = false) : step_(device.ordinal, renewable) {}
  template <class F>
  void operator()(const F& step) {
    if (!ran_) {
      step_.run(step);
      ran_ = true;
      return;
    }
    if (!step_.captured() || !step_.replay()) capture(step);
  }
  /// Runs f() in the memory of captured steps, without capturing it.
  template <class F> void beside(const F& f) { step_.run_beside(f); }

 private:
  template <class F>
  void capture(const F& step) {
    step_.capture([&] {
      at_abandon([numbers = default_generator<Cuda>()] { restore_default_generator(numbers); });
      step();
    });
  }

  cuda::CapturedStep step_;
  bool ran_ = false;
};
#else
template <>
class StepRunner<Cuda> {
 public:
  static constexpr bool captures = false;
  explicit StepRunner(Cuda device, bool = false) { cuda::require_device(device.ordinal); }
  template <class F>
  void operator()(const F&) {}
  template <class F>
  void beside(const F&) {}
};
#endif

}}}  // namespace locus::LOCUS_ABI::detail
