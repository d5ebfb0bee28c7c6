#pragma once
// A step that is captured once and then replayed as one launch. What a step of a small model costs is the host's time
// for each of its launches, most of which a replay saves.

#include <locus/core/generator.hpp>
#include <locus/device/capabilities.hpp>
#include <locus/device/replay.hpp>
#include <locus/device/stream.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// How a captured step runs on D. By default each call runs it anew: on the host there is nothing to capture.
template <class D>
class StepRunner {
  static_assert(!std::is_same_v<D, Cuda>, "capture on Cuda needs #include <locus/cuda/step_runner.hpp>");

 public:
  static constexpr bool captures = false;
  explicit StepRunner(D) {}
  template <class F>
  void operator()(const F& step) {
    step();
  }
};

/// Memory for one R, which need not be there.
template <class R>
class Slot {
 public:
  Slot() = default;
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() { delete value_; }
  /// What make() returns, in the place of what was there.
  template <class F>
  void set(const F& make) {
    R* const value = new R(make());
    delete std::exchange(value_, value);
  }
  void clear() { delete std::exchange(value_, nullptr); }
  [[nodiscard]] bool filled() const { return value_ != nullptr; }
  [[nodiscard]] R& get() const { return *value_; }

 private:
  R* value_ = nullptr;
};
template <>
class Slot<void> {
 public:
  template <class F>
  void set(const F& make) {
    make();
  }
  void get() const {}
};

template <class Step>
using step_result_t = std::remove_cvref_t<std::invoke_result_t<Step&>>;
template <class Step>
concept StepWithPlace =
    requires { typename step_result_t<Step>; } && HasPlace<step_result_t<Step>> && !ReturnsExpression<Step&>;
template <class Step>
concept PlainStep = requires { typename step_result_t<Step>; } && !ReturnsExpression<Step&>;
}  // namespace detail

/// A captured step; see capture(). For one thread at a time.
template <class D, class Step>
class Captured {
 public:
  Captured(Step step, D device) : step_(std::move(step)), runner_(device) {}
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  /// The step, once more. The result is what the step returned; the next call writes to the same memory.
  /// throws what the step throws; CaptureError if it cannot be captured, and then nothing was computed, no random
  /// numbers are used up and optimizers count no step, though the step's host code ran
  std::add_lvalue_reference_t<const detail::step_result_t<Step>> operator()() {
    runner_([this] { result_.set(step_); });
    if constexpr (requires { result_.get().changed(); }) result_.get().changed();
    return result_.get();
  }

 private:
  Step step_;
  detail::StepRunner<D> runner_;
  detail::Slot<detail::step_result_t<Step>> result_;
};

/// The step, for being called again and again. On Cuda, its second call captures what it launches in a CUDA graph, and
/// every later one replays that: one launch, to the same memory, of the same shapes, with the same results bit for bit.
/// What advances from step to step does so in replays too: random numbers, the steps and learning rates of optimizers.
/// On Cpu every call runs the step.
///
///     Tensor<float, Cuda> images({128, 784});          // each batch is copied to the same place
///     Tensor<std::int64_t, Cuda> labels({128});
///     auto step = capture([&] {
///       const auto loss = nn::cross_entropy(model(trace(images)), labels);
///       optimizer.zero_grad();
///       loss.backward();
///       optimizer.step();
///       return loss.value();
///     });
///     for (const auto& batch : loader) {
///       images.copy_(batch.images);
///       labels.copy_(batch.labels);
///       total += step();
///     }
///
/// A step cannot be captured that waits for the GPU (item, copies to the host), copies from the host, makes random
/// orders (randperm), or uses another stream or GPU: these throw CaptureError saying so. Host code in it runs at the
/// first two calls only, and so do, unseen, kernels that you launch into a stream taken outside: they belong in the one
/// that cuda::stream() gives within the step. So what a step keeps for the next one is changed in place (h.copy_(...),
/// x += y), and gradients are cleared in it, or before each call. The tensors, generators and optimizers that it uses
/// must live, and stay where they are, as long as it is called. cost: the memory that one run of the step needs is kept
/// for it
template <Device D, class Step>
  requires detail::PlainStep<Step>
[[nodiscard]] Captured<D, Step> capture(Step step, D device = {}) {
  return {std::move(step), device};
}
/// The same for a step that returns a tensor, on the first GPU where that is on Cuda.
template <class Step>
  requires detail::StepWithPlace<Step>
[[nodiscard]] auto capture(Step step) {
  return Captured<device_of<detail::step_result_t<Step>>, Step>(std::move(step), {});
}

#include <locus/refuse/device/capture.inc>

}}  // namespace locus::LOCUS_ABI
