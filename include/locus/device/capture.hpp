#pragma once
// A step that is captured once and then replayed as one launch. A step of a small model is bound by the host's launch
// overhead, most of which a replay saves.

#include <locus/core/generator.hpp>
#include <locus/device/capabilities.hpp>
#include <locus/device/replay.hpp>
#include <locus/device/stream.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// Runs a captured step on D. By default each call runs the step: the host has nothing to capture.
template <class D>
class StepRunner {
  static_assert(!std::is_same_v<D, Cuda>, "capture on Cuda needs #include <locus/cuda/step_runner.hpp>");

 public:
  static constexpr bool captures = false;
  explicit StepRunner(D) {}
  template <class F> void operator()(const F& step) { step(); }
};

/// Holds one R, or none.
template <class R>
class Slot {
 public:
  Slot() = default;
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() { delete value_; }
  /// Replaces the value by the result of make().
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
  template <class F> void set(const F& make) { make(); }
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

  /// Runs or replays the step and returns its result; the next call writes to the same memory.
  /// throws as the step does; CaptureError if it cannot be captured. If the second call throws, nothing was computed:
  /// no random numbers are used up, optimizers count no step, and gradients are as before, though the step's host code
  /// ran
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

/// The step as an object for repeated calls. On Cuda, the second call captures the step's launches in a CUDA graph, and
/// every later call replays the graph: one launch, on the same memory and shapes, with bitwise the same results. State
/// that advances from step to step advances in replays, too: random numbers, the steps and learning rates of
/// optimizers. On Cpu every call runs the step.
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
/// A captured step must not wait for the GPU (item, copies to the host), copy from the host, make random orders
/// (randperm), or use another stream or GPU, and only ranks over NCCL may call collectives: each throws CaptureError
/// with the reason. Its host code runs once in each of the first two calls, and in no later one; a call that throws
/// does not count. Kernels that you launch into a stream obtained outside the step run in those calls only, too,
/// without an error: launch them into cuda::stream() as called within the step. State for the next step has to be
/// changed in place (h.copy_(...), x += y), and gradients cleared within the step or before each call. The tensors,
/// generators and optimizers that the step uses must live, at the same address, as long as the step is called. cost:
/// keeps the memory that one run of the step needs
template <Device D, class Step>
  requires detail::PlainStep<Step>
[[nodiscard]] Captured<D, Step> capture(Step step, D device = {}) {
  return {std::move(step), device};
}
/// As above, for a step that returns a tensor; for Cuda, on the first GPU.
template <class Step>
  requires detail::StepWithPlace<Step>
[[nodiscard]] auto capture(Step step) {
  return Captured<device_of<detail::step_result_t<Step>>, Step>(std::move(step), {});
}

#include <locus/refuse/device/capture.inc>

}}  // namespace locus::LOCUS_ABI
