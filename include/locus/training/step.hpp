#pragma once
// One step of training.

#include <locus/cuda/step_runner.hpp>
#include <locus/data/batch_tensors.hpp>
#include <locus/device/capture.hpp>
#include <locus/device/trace/phase_trace.hpp>
#include <locus/optim/optimizer.hpp>
#include <locus/training/metrics.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
template <class X>
inline constexpr bool is_batch = false;
template <class T, class D>
inline constexpr bool is_batch<data::Batch<T, D>> = true;

/// Mistake of steps by gradients of an unscaled loss.
template <class Optimizer>
struct StepMistake : NoMistake {};
template <class Optimizer>
  requires(!optim::detail::StepsAlone<value_of<Optimizer>> && !requires(Optimizer& optimizer) { optimizer.step(); })
struct StepMistake<Optimizer>
    : MistakeOf<Wrong::half_unscaled,
                error::not_possible<error::gradients_of_half_need_a_GradScaler,
                                    error::pass_scaler_with_optimizer_in_place_of_the_optimizer>> {};
template <class D>
struct StepMistake<optim::GradScaler<D>>
    : MistakeOf<Wrong::scaler_alone,
                error::not_possible<error::a_scaler_instead_of_an_optimizer, error::pass_scaler_with_optimizer>> {};
/// Mistake of an optimizer for a model.
template <class M, class Optimizer>
struct OptimizerMistake : FirstMistake<PlaceMistake<M, Optimizer, error::model_is_on, error::optimizer_is_on,
                                                    error::make_the_optimizer_for_the_model>,
                                       StepMistake<Optimizer>> {};

/// Whether an optimizer can train a model on batches of T on D.
template <class M, class Optimizer, class T, class D>
concept Trainable =
    IsWrong<BatchMistake<M, T, D>, Wrong::nothing> && IsWrong<OptimizerMistake<M, Optimizer>, Wrong::nothing>;

template <class L, class Prediction, class D, class Fields>
inline constexpr bool loses_record = false;
template <class L, class Prediction, class D, class X>
inline constexpr bool loses_record<L, Prediction, D, data::Fields<X>> =
    requires(const L& loss, const Prediction& prediction, const Tensor<X, D>& target) {
      requires !TracedFloats<decltype(loss(prediction, target))>;
    };
template <class L, class Prediction, class D, class X, class Y, class... Z>
inline constexpr bool loses_record<L, Prediction, D, data::Fields<X, Y, Z...>> =
    requires(const L& loss, const Prediction& prediction) {
      requires !TracedFloats<decltype(loss(prediction, std::declval<const Tensor<Y, D>&>(),
                                           std::declval<const Tensor<Z, D>&>()...))>;
    };

/// The element types and the device of a batch.
template <class Tensors>
struct TypesOfBatch;
template <class X, class... Y, class D>
struct TypesOfBatch<Tuple<Tensor<X, D>, Tensor<Y, D>...>> {
  using Input = X;
  using Device = D;
  using Fields = data::Fields<X, Y...>;
};
template <data::detail::TensorBatch B>
using types_of_batch_t = TypesOfBatch<data::detail::batch_tensors_t<B>>;
template <class M, class B>
struct MistakeOfBatch : NoMistake {};
template <class M, data::detail::TensorBatch B>
struct MistakeOfBatch<M, B>
    : BatchMistake<M, typename types_of_batch_t<B>::Input, typename types_of_batch_t<B>::Device> {};
template <class M, class Optimizer, class B>
concept TrainableOn =
    Trainable<M, Optimizer, typename types_of_batch_t<B>::Input, typename types_of_batch_t<B>::Device>;
/// LossFor and LosesRecord for the targets of a batch.
template <class L, class M, class B>
concept LossForBatch =
    !HasPlace<M> || takes_targets<L, Tensor<value_of<M>, typename types_of_batch_t<B>::Device>,
                                  typename types_of_batch_t<B>::Device, typename types_of_batch_t<B>::Fields>;
template <class L, class M, class B>
concept LosesRecordOnBatch =
    HasPlace<M> && loses_record<L, Traced<compute_t<value_of<M>>, typename types_of_batch_t<B>::Device>,
                                typename types_of_batch_t<B>::Device, typename types_of_batch_t<B>::Fields>;
}  // namespace detail

namespace detail {
/// An optimizer that is stepped through a scaler: scaler.with(optimizer).
template <class Optimizer>
concept StepsByScaler = requires { typename std::remove_const_t<Optimizer>::IsScaledOptimizer; };

/// The recorded loss of a batch; predictions and targets of 16 bits become float, as in evaluate().
template <class M, class L, class X, class D, class... Y>
[[nodiscard]] auto recorded_loss(const M& model, const L& loss, const Tuple<Tensor<X, D>, Tensor<Y, D>...>& batch) {
  using Prediction = decltype(predict(model, trace(get<0>(batch))));
  const Traced<value_of<Prediction>, D> prediction = predict(model, trace(get<0>(batch)));
  return with_targets(batch,
                      [&](const auto&... target) { return loss(widened(prediction), widened(target)...).eval(); });
}
/// Element type of the losses.
template <class M, class L, class Batch>
using loss_t =
    value_of<decltype(recorded_loss(std::declval<const M&>(), std::declval<const L&>(), std::declval<const Batch&>()))>;

struct DoNothing {
  void operator()() const {}
};

/// Returns a guard: while it lives, gradients of a distributed model are accumulated on this rank alone.
template <class M>
[[nodiscard]] auto on_this_rank(const M& model) {
  if constexpr (requires { model.no_sync(); }) return model.no_sync();
  else return DoNothing{};
}

/// Callbacks around each step of an optimizer that do nothing.
struct NothingAround {
  [[nodiscard]] static bool reads_gradients() { return false; }
  void before() const {}
  void after() const {}
};

template <class Optimizer, class Loss>
void backward_for(Optimizer& optimizer, const Loss& loss) {
  if constexpr (StepsByScaler<Optimizer>) optimizer.backward(loss);
  else loss.backward();
}
/// Backward pass of a loss weighted by a share.
template <class Optimizer, class Loss, class T, class D>
void backward_for(Optimizer& optimizer, const Loss& loss, const Tensor<T, D>& share) {
  if constexpr (StepsByScaler<Optimizer>) optimizer.backward(loss * share);
  else loss.backward(share);
}
/// Scaled gradients are divided in memory only if the callback before the step reads them.
template <class Optimizer, class Around>
void make_step(Optimizer& optimizer, const Around& around) {
  if constexpr (StepsByScaler<Optimizer>)
    if (around.reads_gradients()) optimizer.unscale();
  around.before();
  optimizer.step();
  around.after();
}

template <class M, class Optimizer, class L, class Batch, class Around = NothingAround>
auto train_step_on(const M& model, Optimizer& optimizer, const L& loss, const Batch& batch, const Around& around = {}) {
  DevicePhases phases(get<0>(batch).device());
  phases.next("forward");
  const auto recorded = recorded_loss(model, loss, batch);
  phases.next("backward");
  optimizer.zero_grad();
  backward_for(optimizer, recorded);
  phases.next("step");
  make_step(optimizer, around);
  return recorded.value();
}
}  // namespace detail

/// One step of training of a classifier on a batch: forward, backward, update. Returns the loss, on the device: float
/// for logits of 16 bits, and unscaled with scaler.with(optimizer).
template <class M, class Optimizer, class T, class D>
  requires detail::Trainable<M, Optimizer, T, D>
Tensor<compute_t<T>, D> train_step(const M& model, Optimizer& optimizer, const data::Batch<T, D>& batch) {
  return detail::train_step_on(model, optimizer, detail::ClassifierLoss{}, Tuple(batch.images, batch.labels));
}

/// The same with any loss, and any batch: a Tuple, a pair or an aggregate of plain tensors. As in fit, the first tensor
/// is the model's input, the others are targets: loss(model(input), targets...); a batch of one tensor is its own
/// target. The model may be a function, which may capture further inputs; predictions and targets of 16 bits become
/// float before the loss. Returns the loss, on the device. throws as loss.backward() for a loss that is no number
///
///     for (const auto& batch : data::loader<D>(data::TensorDataset{x, y}, {.shuffle = true}))
///       last = train_step(model, optimizer, nn::MSELoss{}, batch);
template <class M, class Optimizer, class L, data::detail::TensorBatch B>
  requires(detail::TrainableOn<M, Optimizer, B> && detail::LossForBatch<L, M, B> &&
           !detail::LosesRecordOnBatch<L, M, B>)
auto train_step(const M& model, Optimizer& optimizer, const L& loss, const B& batch) {
  return detail::train_step_on(model, optimizer, loss, data::detail::elements_of_batch(batch));
}

namespace detail {
LOCUS_OUT_OF_LINE inline void report_not_captured(const char* reason) {
  std::fprintf(stderr, "locus: fit launches every step anew, as with .capture = false: %s\n", reason);
}

template <class Optimizer>
concept OfLocus = std::is_base_of_v<optim::Optimizer<value_of<Optimizer>, device_of<Optimizer>>, Optimizer> ||
                  StepsByScaler<Optimizer>;

/// One micro-batch, or part, of an accumulated step; `weight` is its fraction of the step's samples.
struct Share {
  double weight = 1;
  bool is_first = true, is_last = true;
};

/// Divides an accumulated gradient by the sum of its micro-batches' shares. Zeros stay zero, even if no target counted.
template <class R>
struct DivideByShares {
  LOCUS_FN R operator()(R gradient, R shares) const { return gradient == R(0) ? gradient : gradient / shares; }
};

/// Training steps. If D captures, steps on batches of the first batch's shape are replays.
template <class M, class Optimizer, class L, class D, class Batch, class Around>
class TrainingStep {
  using T = loss_t<M, L, Batch>;
  using R = compute_t<T>;

 public:
  /// Captures only with this library's optimizers: others may not continue correctly in replays.
  TrainingStep(const M& model, Optimizer& optimizer, const L& loss, const Around& around, bool capture)
      : model_(model),
        optimizer_(optimizer),
        function_(loss),
        around_(around),
        replays_(capture && CapturingDevice<D> && OfLocus<Optimizer> && !phases_are_traced()) {}

  /// The loss, which the next call may overwrite.
  [[nodiscard]] Tensor<T, D> operator()(const Batch& batch) { return add(batch, {}); }

  /// One micro-batch of a step: gradients are accumulated, weighted by their shares, as if all micro-batches were one
  /// batch.
  [[nodiscard]] Tensor<T, D> add(const Batch& batch, const Share& share) {
    set_share(batch, share);
    return run(batch, share.is_first, share.is_last);
  }
  /// Runs f(): in the memory of the captured steps, if there are any.
  template <class F>
  void beside(const F& f) {
    if constexpr (CapturingDevice<D>) {
      for (Captured& each : captured_)
        if (each.runner.filled()) return each.runner.get().beside(f);
    }
    f();
  }
  /// Divisor of the last batch's loss; an undefined tensor if it is the number of samples.
  [[nodiscard]] const Tensor<R, D>& counted() const { return counted_; }

 private:
  /// Runs before a part and is not captured with it, because the shares of parts differ.
  void set_share(const Batch& batch, const Share& share) {
    counted_ = targets_counted<R>(function_, batch);
    if (is_whole(share.is_first, share.is_last)) return;
    if (!share_.buffer()) {
      share_ = Tensor<T, D>(Shape{}, get<0>(batch).device());
      shares_ = Tensor<R, D>(Shape{}, get<0>(batch).device());
    }
    if (!counted_.buffer()) {
      share_.fill_(static_cast<T>(static_cast<R>(share.weight)));
      return;
    }
    const double samples = static_cast<double>(get<0>(batch).size(0));
    // Rounded like the gradients that it weights.
    share_.copy_(
        (counted_ * static_cast<R>(share.weight / samples)).template as<value_of<Optimizer>>().template as<T>());
    const auto as_used = share_.template as<R>();
    if (share.is_first) shares_.copy_(as_used);
    else shares_ += as_used;
    samples_ = (share.is_first ? 0 : samples_) + samples;
  }
  /// Whether a part is a whole step, whose gradients need no share. Not if several ranks count targets: counts differ
  /// between ranks.
  [[nodiscard]] bool is_whole(bool is_first, bool is_last) const {
    return is_first && is_last && !(OfRanks<M> && counted_.buffer());
  }
  [[nodiscard]] Tensor<T, D> run(const Batch& batch, bool is_first, bool is_last) {
    if constexpr (CapturingDevice<D>) {
      if (replays_ && !get<0>(batch_).buffer()) begin(batch);
      if (replays_ && has_shapes_of(batch)) return replay(batch, is_first, is_last);
    }
    Tensor<T, D> loss;
    beside([&] { loss = launch(batch, is_first, is_last); });
    return loss;
  }
  [[nodiscard]] Tensor<T, D> launch(const Batch& batch, bool is_first, bool is_last) {
    if (is_whole(is_first, is_last)) return train_step_on(model_, optimizer_, function_, batch, around_);
    DevicePhases phases(get<0>(batch).device());
    phases.next("forward");
    const auto loss = recorded_loss(model_, function_, batch);
    phases.next("backward");
    if (is_first) optimizer_.zero_grad();
    if (!is_last) {
      [[maybe_unused]] const auto guard = on_this_rank(model_);
      backward_for(optimizer_, loss, share_);
      return loss.value();
    }
    backward_for(optimizer_, loss, share_);
    phases.next("step");
    if (counted_.buffer()) divide_by_shares();
    make_step(optimizer_, around_);
    return loss.value();
  }
  /// Divides gradients by the sum of shares; with several ranks, by the mean of their sums, because gradients are by
  /// now means over ranks with the same weights.
  void divide_by_shares() {
    if constexpr (OfRanks<M>) {
      const R weight = static_cast<R>(weight_of_rank(model_, samples_));
      const Tensor<R, D> sums({2}, shares_.device());
      sums.select(0, 0).copy_(shares_ * weight);
      sums.select(0, 1).fill_(weight);
      model_.communicator().all_reduce(sums);
      shares_.copy_(sums.select(0, 0) / sums.select(0, 1));
    }
    const auto& parameters = optimizer_.parameters();
    for (const auto& gradients : gradient_runs(parameters))
      map_into(gradients, DivideByShares<R>{}, gradients, shares_);
    gradients_changed(parameters);
  }

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
  }
  Tensor<T, D> replay(const Batch& batch, bool is_first, bool is_last) {
    Captured& captured = captured_[is_first + 2 * is_last];
    for_each_tensor(batch, [](const auto& mine, const auto& given) { mine.copy_(given); });
    try {
      if (!captured.runner.filled()) captured.runner.set([&] { return StepRunner<D>(get<0>(batch).device(), true); });
      captured.runner.get()([&] { captured.loss = launch(batch_, is_first, is_last); });
      return captured.loss;
    } catch (const CaptureError& error) {
      report_not_captured(error.what());
    } catch (const OutOfMemory& error) {  // replays need additional memory
      report_not_captured(error.what());
    }
    replays_ = false;
    for (Captured& each : captured_) {
      each.runner.clear();
      each.loss = {};
    }
    batch_ = Batch{};
    return launch(batch, is_first, is_last);
  }

  const M& model_;
  Optimizer& optimizer_;
  const L& function_;
  const Around& around_;
  bool replays_;
  Batch batch_;          ///< input of replays
  Tensor<T, D> share_;   ///< of this part
  Tensor<R, D> shares_;  ///< sum over the parts so far, if it is not known beforehand
  Tensor<R, D> counted_;
  double samples_ = 0;  ///< of this rank, of all parts so far
  struct Captured {
    Slot<StepRunner<D>> runner;
    Tensor<T, D> loss;
  } captured_[4];  ///< whole steps, and their first, middle and last parts
};
}  // namespace detail

#include <locus/refuse/training/step.inc>

}}  // namespace locus::LOCUS_ABI
