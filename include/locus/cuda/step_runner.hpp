#pragma once
// Steps that are captured in a CUDA graph and replayed. Type-checks everywhere, as cuda/backend.hpp.

#include <locus/cuda/backend.hpp>
#include <locus/device/capture.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

#if LOCUS_CUDA
/// The first call runs the step uncaptured: it allocates the step's memory and makes everything that is made at a first
/// use. The second call captures the step; it and all later calls replay it.
template <>
class StepRunner<Cuda> {
 public:
  static constexpr bool captures = true;
  explicit StepRunner(Cuda device) : step_(device.ordinal) {}
  template <class F>
  void operator()(const F& step) {
    if (!ran_) {
      step_.run(step);
      ran_ = true;
      return;
    }
    if (!step_.captured()) capture(step);
    step_.replay();
  }

 private:
  template <class F>
  void capture(const F& step) {
    const auto numbers = default_generator<Cuda>();
    try {
      step_.capture(step);
    } catch (...) {  // an abandoned step uses up no random numbers
      restore_default_generator(numbers);
      throw;
    }
  }

  cuda::CapturedStep step_;
  bool ran_ = false;
};
#else
template <>
class StepRunner<Cuda> {
 public:
  static constexpr bool captures = false;
  explicit StepRunner(Cuda device) { cuda::require_device(device.ordinal); }
  template <class F>
  void operator()(const F&) {}
};
#endif

}}}  // namespace locus::LOCUS_ABI::detail
