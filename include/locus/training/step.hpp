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

namespace detail {
/// The loss of a batch, recorded.
template <class M, class L, class X, class D, class... Y>
[[nodiscard]] auto recorded_loss(const M& model, const L& loss, const Tuple<Tensor<X, D>, Tensor<Y, D>...>& batch) {
  using Prediction = decltype(predict(model, trace(get<0>(batch))));
  const Traced<value_of<Prediction>, D> prediction = predict(model, trace(get<0>(batch)));
  return with_targets(batch, [&](const auto&... target) { return loss(prediction, target...).eval(); });
}
/// Element type of the losses.
template <class M, class L, class Batch>
using loss_t =
    value_of<decltype(recorded_loss(std::declval<const M&>(), std::declval<const L&>(), std::declval<const Batch&>()))>;

struct DoNothing {
  void operator()() const {}
};

/// While it lives, gradients of a model that ranks share are added up on this rank alone.
template <class M>
[[nodiscard]] auto on_this_rank(const M& model) {
  if constexpr (requires { model.no_sync(); }) return model.no_sync();
  else return DoNothing{};
}

template <class M, class Optimizer, class L, class Batch, class BeforeStep = DoNothing>
auto train_step_on(const M& model, Optimizer& optimizer, const L& loss, const Batch& batch,
                   const BeforeStep& before_step = {}) {
  const auto recorded = recorded_loss(model, loss, batch);
  optimizer.zero_grad();
  recorded.backward();
  before_step();
  optimizer.step();
  return recorded.value();
}
}  // namespace detail

/// One step of training of a classifier on a batch: forward, backward, update. Returns the loss, on the device.
template <class M, class Optimizer, class T, class D>
  requires detail::Trainable<M, Optimizer, T, D>
Tensor<T, D> train_step(const M& model, Optimizer& optimizer, const data::Batch<T, D>& batch) {
  return detail::train_step_on(model, optimizer, nn::CrossEntropyLoss{}, Tuple(batch.images, batch.labels));
}

namespace detail {
LOCUS_OUT_OF_LINE inline void report_not_captured(const char* reason) {
  std::fprintf(stderr, "locus: fit launches every step anew, as with .capture = false: %s\n", reason);
}

template <class Optimizer>
concept OfLocus = std::is_base_of_v<optim::Optimizer<value_of<Optimizer>, device_of<Optimizer>>, Optimizer>;

/// Training steps. Where D replays them, those on batches of the first one's shape are replays.
template <class M, class Optimizer, class L, class D, class Batch, class BeforeStep>
class TrainingStep {
  using T = loss_t<M, L, Batch>;

 public:
  /// Only what this library's optimizers do is known to go on in replays.
  TrainingStep(const M& model, Optimizer& optimizer, const L& loss, const BeforeStep& before_step, bool capture)
      : model_(model),
        optimizer_(optimizer),
        function_(loss),
        before_step_(before_step),
        replays_(capture && CapturingDevice<D> && OfLocus<Optimizer>) {}

  /// The loss, which the next call may overwrite.
  [[nodiscard]] Tensor<T, D> operator()(const Batch& batch) {
    if constexpr (CapturingDevice<D>) {
      if (replays_ && !runner_.filled()) begin(batch);
      if (replays_ && has_shapes_of(batch)) return replay(batch);
    }
    return train_step_on(model_, optimizer_, function_, batch, before_step_);
  }

  /// A part of a step: the gradients of so many batches, times their weights, are added before the step.
  [[nodiscard]] Tensor<T, D> add(const Batch& batch, double weight, bool is_first, bool is_last) {
    const auto loss = recorded_loss(model_, function_, batch);
    const Tensor<T, D> cotangent(loss.shape(), loss.device());
    cotangent.fill_(convert<T>(static_cast<compute_t<T>>(weight)));
    if (is_first) optimizer_.zero_grad();
    if (!is_last) {
      [[maybe_unused]] const auto guard = on_this_rank(model_);
      loss.backward(cotangent);
      return loss.value();
    }
    loss.backward(cotangent);
    before_step_();
    optimizer_.step();
    return loss.value();
  }

 private:
  template <class F>
  void for_each_tensor(const Batch& batch, const F& f) {
    static_for<Batch::size>([&]<int I>() { f(get<I>(batch_), get<I>(batch)); });
  }
  [[nodiscard]] bool has_shapes_of(const Batch& batch) {
    bool same = true;
    for_each_tensor(batch, [&](const auto& mine, const auto& given) { same &= mine.shape() == given.shape(); });
    return same;
  }
  void begin(const Batch& batch) {
    for_each_tensor(batch, [](auto& mine, const auto& given) {
      mine = std::remove_cvref_t<decltype(mine)>(given.shape(), given.device());
    });
    runner_.set([&] { return StepRunner<D>(get<0>(batch).device()); });
  }
  Tensor<T, D> replay(const Batch& batch) {
    for_each_tensor(batch, [](const auto& mine, const auto& given) { mine.copy_(given); });
    try {
      runner_.get()([this] { loss_ = train_step_on(model_, optimizer_, function_, batch_, before_step_); });
      return loss_;
    } catch (const CaptureError& error) {
      report_not_captured(error.what());
    } catch (const OutOfMemory& error) {  // replays need memory of their own
      report_not_captured(error.what());
    }
    replays_ = false;
    runner_.clear();
    batch_ = Batch{};
    loss_ = {};
    return train_step_on(model_, optimizer_, function_, batch, before_step_);
  }

  const M& model_;
  Optimizer& optimizer_;
  const L& function_;
  const BeforeStep& before_step_;
  bool replays_;
  Batch batch_;  ///< where replays find theirs
  Tensor<T, D> loss_;
  Slot<StepRunner<D>> runner_;
};
}  // namespace detail

#include <locus/refuse/training/step.inc>

}  // namespace locus::inline LOCUS_ABI
