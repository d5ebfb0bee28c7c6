#pragma once
// The training loop.

#include <locus/training/advice.hpp>
#include <locus/training/epoch_watch.hpp>
#include <locus/training/fit_options.hpp>
#include <locus/training/metrics.hpp>
#include <locus/training/step.hpp>
#include <locus/training/step_advice.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// The callbacks of each step.
struct AroundStep {
  const FitOptions& options;
  [[nodiscard]] bool reads_gradients() const { return static_cast<bool>(options.before_step); }
  void before() const { options.before_step({}); }
  void after() const { options.after_step({}); }
};

/// throws NumericError for a loss that is NaN or infinite
LOCUS_OUT_OF_LINE inline void require_finite_loss(double loss, int epoch, const char* name = "loss") {
  if (loss - loss == 0) return;
  fail<NumericError>({"training: the ", name, " became ", loss, " in epoch ", epoch,
                      "; try a smaller learning rate, gradient clipping, or look for bad values in the data"});
}
template <class X>
inline constexpr bool is_named_loader =
    std::is_lvalue_reference_v<X> && !std::is_const_v<std::remove_reference_t<X>> && is_loader<std::remove_cvref_t<X>>;

/// Requirements of fit on an optimizer, Locus's or your own.
template <class O>
concept FitsModels = requires(O& optimizer) {
  typename O::value_type;
  typename O::device_type;
  optimizer.parameters();
  optimizer.zero_grad();
  optimizer.step();
  optimizer.lr();
};
template <class M, class Optimizer, class S, class U, class D>
concept Fittable =
    Trainable<M, Optimizer, input_t<S>, D> && Trainable<M, Optimizer, input_t<U>, D> && FitsModels<Optimizer>;

/// Whether the loss of a model's predictions for batches of S on D is a number or a plain tensor, which has no
/// gradient. (Not tested for a model that is a function.)
template <class L, class M, class S, class D>
concept LosesRecord = HasPlace<M> && loses_record<L, Traced<compute_t<value_of<M>>, D>, D, data::detail::fields_t<S>>;
template <class L, class M, class S, class U, class D>
concept TrainsBy = LossFor<L, M, S, D> && LossFor<L, M, U, D> && !LosesRecord<L, M, S, D>;

/// A loader for validation, which may be a temporary.
template <class X>
inline constexpr bool is_loader_to_validate =
    is_loader<std::remove_cvref_t<X>> && !std::is_const_v<std::remove_reference_t<X>>;

/// Mistake of training a model on batches of S on D, or of validating it on batches of U on E.
template <class M, class S, class D, class U, class E>
struct LoadersMistake : FirstMistake<LoaderMistake<M, S, D>, LoaderMistake<M, U, E>> {};

/// Results of training for an epoch.
struct Trained {
  double loss, seconds, samples_per_second, data_seconds;
  MemoryStats memory;
  double utilization, operations, peak;
};

/// The mean of losses that stay on the device until it is asked for.
template <class T, class D>
class MeanLoss {
  using R = compute_t<T>;

 public:
  void add(const Tensor<T, D>& loss, double weight, std::int64_t samples) {
    const auto factor = static_cast<R>(weight);
    if (samples_ == 0) sum_ = loss.template as<R>() * factor;
    else sum_ += loss.template as<R>() * factor;
    samples_ += samples;
  }
  /// Adds a loss that is a mean over counted targets; `counted` may be 0. Not to be mixed with the other add.
  void add(const Tensor<T, D>& loss, const Tensor<R, D>& counted, std::int64_t samples) {
    const Tensor part = where(counted > R(0), loss.template as<R>() * counted, R(0));
    sum_ = samples_ == 0 ? part : Tensor(sum_ + part);
    counted_ = samples_ == 0 ? counted : Tensor(counted_ + counted);
    samples_ += samples;
  }
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  /// Waits for the device.
  [[nodiscard]] double sum() const { return static_cast<double>(sum_.item()); }
  /// Waits for the device. The divisor of sum(): samples, or counted targets.
  [[nodiscard]] double counted() const {
    return counted_.buffer() ? static_cast<double>(counted_.item()) : static_cast<double>(samples_);
  }
  /// Waits for the device. throws NumericError unless it is finite
  [[nodiscard]] double value(int epoch) const {
    const double mean = sum() / counted();
    require_finite_loss(mean, epoch);
    return mean;
  }

 private:
  Tensor<R, D> sum_;      ///< 16 bits are too few for a sum
  Tensor<R, D> counted_;  ///< in place of samples
  std::int64_t samples_ = 0;
};

/// The best weights so far, buffers included, and how long they have been the best.
template <class M, class Optimizer>
class BestWeights {
  using T = value_of<Optimizer>;
  using D = device_of<Optimizer>;

 public:
  BestWeights(const M& model, const Optimizer& optimizer, const EarlyStopping& options)
      : model_(model), optimizer_(optimizer), options_(options) {}

  /// Records the score of an epoch; returns whether to go on.
  [[nodiscard]] bool goes_on(const Evaluation& score) {
    if (options_.patience == 0) return true;
    const double value = options_.metric.empty() ? score.loss : score.metric(options_.metric);
    const bool improves = options_.maximize ? value > best_ + options_.min_delta : value < best_ - options_.min_delta;
    const bool better = has_best_ ? improves : value == value;  // NaN, as of 0 / 0, is never the best
    if (!better) return ++waited_ < options_.patience;
    waited_ = 0;
    best_ = value;
    has_best_ = true;
    if (options_.restore_best) save();
    return true;
  }
  void restore() const {
    if (!has_best_ || !options_.restore_best || waited_ == 0) return;
    std::size_t i = 0, j = 0;
    for (const auto& parameter : optimizer_.parameters()) parameter.value().copy_(values_[i++]);
    if constexpr (requires { model_.buffers(); })
      for (const auto& buffer : model_.buffers()) buffer.bytes().copy_(buffers_[j++]);
  }

 private:
  void save() {
    values_.clear();
    buffers_.clear();
    for (const auto& parameter : optimizer_.parameters()) values_.push_back(parameter.value().clone());
    if constexpr (requires { model_.buffers(); })
      for (const auto& buffer : model_.buffers()) buffers_.push_back(buffer.bytes().clone());
  }

  const M& model_;
  const Optimizer& optimizer_;
  const EarlyStopping& options_;
  std::vector<Tensor<T, D>> values_;
  std::vector<Tensor<std::uint8_t, D>> buffers_;
  double best_ = 0;
  bool has_best_ = false;
  int waited_ = 0;  ///< epochs since the best one
};

/// The share of batch number i of an epoch, which has `size` samples; a step takes `most` batches.
template <class L, class Loader>
[[nodiscard]] Share share_of(const L& loss, const Loader& train, std::int64_t i, std::int64_t size, std::int64_t most) {
  const std::int64_t accumulate = locus::detail::smaller(most, train.size());
  const std::int64_t first = i / accumulate * accumulate * train.batch_size();
  const std::int64_t together = locus::detail::smaller(accumulate * train.batch_size(), train.samples() - first);
  return {weight_of_loss(loss, size) / weight_of_loss(loss, together), i % accumulate == 0,
          i % accumulate == accumulate - 1 || i + 1 == train.size()};
}

/// Combines the results of an epoch of all ranks: the largest times, memory and utilization; the sums of operations and
/// peaks. Identical on all ranks. throws NumericError, on all, unless the loss is finite
template <class M, class D>
[[nodiscard]] Trained trained_by_ranks(const M& model, int epoch, double sum, double counted, std::int64_t samples,
                                       const EpochWatch<D>& watch, double peak) {
  const MemoryStats memory = watch.memory();
  const double busy = watch.utilization();
  std::vector<double> mine{sum,
                           counted,
                           static_cast<double>(samples),
                           watch.seconds(),
                           watch.data_seconds(),
                           busy == busy ? busy : -1,
                           watch.operations(),
                           peak};
  for (const std::int64_t number :
       {memory.requests, memory.system_allocations, memory.allocated_bytes, memory.peak_bytes, memory.reserved_bytes})
    mine.push_back(static_cast<double>(number));
  const std::size_t count = mine.size();
  const std::vector<double> all = numbers_of_ranks(model, std::move(mine));
  std::vector<double> sums(count), most(count, -1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    sums[i % count] += all[i];
    most[i % count] = locus::detail::larger(most[i % count], all[i]);
  }
  const double loss = sums[0] / sums[1];
  require_finite_loss(loss, epoch);
  const auto bytes = [&](std::size_t i) { return static_cast<std::int64_t>(most[i]); };
  return {loss,
          most[3],
          sums[2] / most[3],
          most[4],
          {bytes(8), bytes(9), bytes(10), bytes(11), bytes(12)},
          most[5] < 0 ? __builtin_nan("") : most[5],
          sums[6],
          sums[7]};
}

template <class M, class Optimizer, class Step, class L, class S, class D>
Trained train_epoch(const M& model, int epoch, Optimizer& optimizer, Step& step, const L& loss,
                    data::Loader<S, D>& train, const FitOptions& options) {
  using T = value_of<decltype(step(data::detail::tensors_of<data::detail::fields_t<S>::size>(*train.begin())))>;
  EpochWatch<D> watch(train.device());
  MeanLoss<T, D> mean;
  std::int64_t batches = 0;
  auto next = watch.waiting([&] { return train.begin(); });
  for (; next != train.end(); watch.waiting([&] { ++next; })) {
    const auto batch = data::detail::tensors_of<data::detail::fields_t<S>::size>(*next);
    const std::int64_t size = get<0>(batch).size(0);
    advise_memory_once(model, optimizer, loss, batch);
    batches = train.position().batch;  // a training resumed within an epoch does not start at batch 1
    const double lr = optimizer.lr();
    const Share share =
        options.accumulate == 1 ? Share{} : share_of(loss, train, batches - 1, size, options.accumulate);
    const Tensor<T, D> of_batch = options.accumulate == 1 ? step(batch) : step.add(batch, share);
    if (step.counted().buffer()) mean.add(of_batch, step.counted(), size);
    else mean.add(of_batch, weight_of_loss(loss, size), size);
    if (share.is_last && options.scheduler && options.schedule_every == Every::step) {
      optim::Scheduler scheduler = options.scheduler;
      scheduler.step();
    }
    if (batches % options.report_every != 0 && batches != train.size()) continue;
    const double busy = watch.sample_utilization();
    if (options.on_progress && is_first_rank(model)) {
      // Of several ranks, all throw at the end of the epoch.
      const double loss_so_far = OfRanks<M> ? mean.sum() / mean.counted() : mean.value(epoch);
      const double seconds = watch.seconds();
      options.on_progress({epoch, batches, train.size(), static_cast<double>(mean.samples()) / seconds, loss_so_far, lr,
                           seconds, watch.data_seconds(), watch.memory(), busy, watch.operations(), options.peak});
    }
  }
  const double sum = mean.sum(), counted = mean.counted();
  return trained_by_ranks(model, epoch, sum, counted, mean.samples(), watch, options.peak);
}

template <class M, class Optimizer, class L, class S, class U, class D, class Score>
void train(const M& model, Optimizer& optimizer, const L& loss, data::Loader<S, D>& batches, data::Loader<U, D>& valid,
           History& history, const FitOptions& options, const Score& score_of,
           std::initializer_list<std::string_view> metrics) {
  require_valid(options, batches.size(), valid.size());
  require_valid(options.early_stopping, metrics);
  require_each_once(valid);
  require_same_batches(model, batches.size());
  (void)weight_of_loss(loss, 1);
  advise_once(model, batches.batch_size());
  const AroundStep around{options};
  using Batch = data::detail::tensors_t<S, D>;
  TrainingStep<M, Optimizer, L, D, Batch, AroundStep> step(model, optimizer, loss, around,
                                                           options.capture && is_capturable(model, options.accumulate));
  BestWeights<M, Optimizer> best(model, optimizer, options.early_stopping);
  optim::Scheduler scheduler = options.scheduler;
  for (int epoch = options.first_epoch; epoch < options.first_epoch + options.epochs; ++epoch) {
    const Trained trained = train_epoch(model, epoch, optimizer, step, loss, batches, options);
    if constexpr (StepsByScaler<Optimizer>) (void)optimizer.scaler().scale_factor();  // throws if no scale helps
    Evaluation score;
    step.beside([&] {
      const Phase phase("validation");
      score = score_of(valid);
    });
    require_finite_loss(score.loss, epoch, "validation loss");
    history.add({epoch, optimizer.lr(), trained.loss, score.loss, score.accuracy, trained.seconds,
                 trained.samples_per_second, score.metrics, batches.size(), trained.data_seconds, trained.memory,
                 trained.utilization, trained.operations, trained.peak});
    if (scheduler && options.schedule_every == Every::epoch) scheduler.step(score.loss);
    const bool goes_on = best.goes_on(score);
    if (!on_all_ranks(model, options.on_epoch(history.last())) || !goes_on) break;
  }
  best.restore();
}
}  // namespace detail

/// Trains a model, a layer or a function, with any loss, and validates it after every epoch; records are added to
/// `history`. The first tensor of a batch is the model's input, the others are targets: loss(model(input), targets...).
/// A batch of one tensor is its own target. Losses with Reduction::sum are added up as they are.
///
/// A distributed model trains and validates on each rank's own batches; records cover the samples of all ranks and are
/// identical on each. All ranks must have equally many training batches; their numbers of validation batches may
/// differ.
///
/// Predictions and targets of 16 bits become float before the loss, as in evaluate(). A model of half needs
/// scaler.with(optimizer) in place of the optimizer, any other model may use it: each loss is scaled, gradients are
/// unscaled before options.before_step, if there is one; a step whose gradients overflowed is skipped. Records and
/// callbacks get unscaled losses. LOCUS_ADVISE=1 in the environment prints nn::advise() and, unless there are several
/// ranks, step_memory() on stderr before the first step, once in a process.
///
/// throws ArgumentError, before it trains, for an invalid LOCUS_ADVISE, options out of range or without effect, a
/// metric that is not measured, loaders without a batch, numbers of batches that differ between ranks, or a sampler
/// that repeats samples of the validation; NumericError when the loss becomes NaN or infinite (noticed where progress
/// is reported, and at epoch ends; of several ranks, by all, at epoch ends), or the scale fell to its minimum (at epoch
/// ends)
///
///     fit(model, optimizer, nn::MSELoss{}, train, valid, history, {.epochs = 50, .early_stopping = {.patience = 5}},
///         Metric{"mean error", nn::L1Loss{}});
template <class M, class Optimizer, class L, class S, class U, class D, class... F>
  requires(detail::Fittable<M, Optimizer, S, U, D> && detail::TrainsBy<L, M, S, U, D>)
void fit(const M& model, Optimizer& optimizer, const L& loss, data::Loader<S, D>& train, data::Loader<U, D>& valid,
         History& history, const FitOptions& options = {}, const Metric<F>&... metrics) {
  const auto score_of = [&](auto& batches) {
    return detail::evaluate_all(detail::model_of_rank(model), loss, batches, metrics...);
  };
  if constexpr (nn::detail::HasForward<M>) {
    // Named here, the compiler's path from your program to a mistake in its forward is short.
    using Recorded [[maybe_unused]] = decltype(model.forward(std::declval<const Traced<detail::input_t<S>, D>&>()));
    if constexpr (nn::detail::Forwards<M, Traced<detail::input_t<S>, D>>) {
      using Output [[maybe_unused]] = decltype(model.forward(std::declval<const Tensor<detail::input_t<S>, D>&>()));
      detail::train(detail::model_of_rank(model), optimizer, loss, train, valid, history, options, score_of,
                    {metrics.name...});
    }
  } else {
    detail::train(detail::model_of_rank(model), optimizer, loss, train, valid, history, options, score_of,
                  {metrics.name...});
  }
}

template <class M, class Optimizer, class L, class S, class U, class D, class... F>
  requires(detail::Fittable<M, Optimizer, S, U, D> && detail::TrainsBy<L, M, S, U, D>)
void fit(const M& model, Optimizer& optimizer, const L& loss, data::Loader<S, D>& train, data::Loader<U, D>&& valid,
         History& history, const FitOptions& options = {}, const Metric<F>&... metrics) {
  fit(model, optimizer, loss, train, valid, history, options, metrics...);
}

/// fit for a classifier, by cross-entropy: batches of inputs and labels; the accuracy is recorded.
template <class M, class Optimizer, class S, class U, class D>
  requires detail::Fittable<M, Optimizer, S, U, D>
void fit(const M& model, Optimizer& optimizer, data::Loader<S, D>& train, data::Loader<U, D>& valid, History& history,
         const FitOptions& options = {}) {
  const detail::ClassifierLoss loss;
  const auto score_of = [&](auto& batches) { return evaluate(model, batches); };
  if constexpr (nn::detail::HasForward<M>) {
    // Named here, the compiler's path from your program to a mistake in its forward is short.
    using Recorded [[maybe_unused]] = decltype(model.forward(std::declval<const Traced<detail::input_t<S>, D>&>()));
    if constexpr (nn::detail::Forwards<M, Traced<detail::input_t<S>, D>>) {
      using Output [[maybe_unused]] = decltype(model.forward(std::declval<const Tensor<detail::input_t<S>, D>&>()));
      detail::train(detail::model_of_rank(model), optimizer, loss, train, valid, history, options, score_of,
                    {"accuracy"});
    }
  } else {
    detail::train(detail::model_of_rank(model), optimizer, loss, train, valid, history, options, score_of,
                  {"accuracy"});
  }
}

template <class M, class Optimizer, class S, class U, class D>
  requires detail::Fittable<M, Optimizer, S, U, D>
void fit(const M& model, Optimizer& optimizer, data::Loader<S, D>& train, data::Loader<U, D>&& valid, History& history,
         const FitOptions& options = {}) {
  fit(model, optimizer, train, valid, history, options);
}

#include <locus/refuse/training/fit.inc>

}}  // namespace locus::LOCUS_ABI
