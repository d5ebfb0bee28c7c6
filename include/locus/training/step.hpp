#pragma once
// One step of training.

#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/optim/optimizer.hpp>
#include <locus/training/metrics.hpp>

namespace locus::inline LOCUS_ABI {

namespace detail {
template <class X>
inline constexpr bool is_batch = false;
template <class T, class D>
inline constexpr bool is_batch<data::Batch<T, D>> = true;

/// What is wrong with an optimizer for a model.
template <class M, class Optimizer>
struct OptimizerMistake
    : PlaceMistake<M, Optimizer, error::model_is_on, error::optimizer_is_on, error::make_the_optimizer_for_the_model> {
};

/// What is wrong with training a model on batches of T on D.
template <class M, class Optimizer, class T, class D>
concept Trainable =
    IsWrong<BatchMistake<M, T, D>, Wrong::nothing> && IsWrong<OptimizerMistake<M, Optimizer>, Wrong::nothing>;
/// The second of two mistakes, where the first is none: never both, so that one refusal answers.
template <class First, class Second>
struct OnlyThen : std::conditional_t<First::wrong == Wrong::nothing, Second, NoMistake> {};
}  // namespace detail

/// One step of training on a batch: forward, backward, update. Returns the loss, on the device.
template <class M, class Optimizer, class T, class D>
  requires detail::Trainable<M, Optimizer, T, D>
Tensor<T, D> train_step(const M& model, Optimizer& optimizer, const data::Batch<T, D>& batch) {
  Traced<T, D> logits;
  if constexpr (nn::detail::HasForward<M>) logits = model.forward(trace(batch.images));  // as in evaluate
  else logits = model(trace(batch.images));
  const auto loss = cross_entropy(logits, batch.labels);
  optimizer.zero_grad();
  loss.backward();
  optimizer.step();
  return loss.value();
}

namespace detail {
LOCUS_OUT_OF_LINE inline void report_not_captured(const char* reason) {
  std::fprintf(stderr, "locus: fit launches every step anew, as with .capture = false: %s\n", reason);
}

/// Training steps. Where D replays them, those on batches of the first one's shape are replays.
template <class M, class Optimizer, class T, class D>
class TrainingStep {
 public:
  /// Only what this library's optimizers do is known to go on in replays.
  TrainingStep(const M& model, Optimizer& optimizer, bool capture)
      : model_(model),
        optimizer_(optimizer),
        replays_(capture && CapturingDevice<D> && std::is_base_of_v<optim::Optimizer<T, D>, Optimizer>) {}

  /// The loss, which the next call may overwrite.
  [[nodiscard]] Tensor<T, D> operator()(const data::Batch<T, D>& batch) {
    if constexpr (CapturingDevice<D>) {
      if (replays_ && !runner_.filled()) begin(batch);
      if (replays_ && batch.images.shape() == batch_.images.shape()) return replay(batch);
    }
    return train_step(model_, optimizer_, batch);
  }

 private:
  void begin(const data::Batch<T, D>& batch) {
    const D device = batch.images.device();
    batch_ = {Tensor<T, D>(batch.images.shape(), device), Tensor<std::int64_t, D>(batch.labels.shape(), device)};
    runner_.set([&] { return StepRunner<D>(device); });
  }
  Tensor<T, D> replay(const data::Batch<T, D>& batch) {
    batch_.images.copy_(batch.images);
    batch_.labels.copy_(batch.labels);
    try {
      runner_.get()([this] { loss_ = train_step(model_, optimizer_, batch_); });
      return loss_;
    } catch (const CaptureError& error) {
      report_not_captured(error.what());
    } catch (const OutOfMemory& error) {  // replays need memory of their own
      report_not_captured(error.what());
    }
    replays_ = false;
    runner_.clear();
    batch_ = {};
    loss_ = {};
    return train_step(model_, optimizer_, batch);
  }

  const M& model_;
  Optimizer& optimizer_;
  bool replays_;
  data::Batch<T, D> batch_;  ///< where replays find theirs
  Tensor<T, D> loss_;
  Slot<StepRunner<D>> runner_;
};
}  // namespace detail

#include <locus/refuse/training/step.inc>

}  // namespace locus::inline LOCUS_ABI
