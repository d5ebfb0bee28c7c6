#pragma once
// The training loop.

#include <locus/core/posix.hpp>
#include <locus/core/shared.hpp>
#include <locus/training/history.hpp>
#include <locus/training/metrics.hpp>
#include <locus/training/step.hpp>

#include <climits>

namespace locus::inline LOCUS_ABI {

/// Where training stands after a batch.
struct Progress {
  int epoch;                    ///< counted from 1
  std::int64_t batch, batches;  ///< done, of the epoch
  double images_per_second;
  double loss;  ///< mean over the samples of the epoch so far; read from the device only every `report_every` batches
};

namespace detail {
template <class Argument>
class CallbackFunction : public Counted {
 public:
  virtual ~CallbackFunction() = default;
  virtual bool call(const Argument& argument) = 0;
};
template <class Argument, class F>
class CallbackFunctionOf final : public CallbackFunction<Argument> {
 public:
  explicit CallbackFunctionOf(F f) : f_(std::move(f)) {}
  bool call(const Argument& argument) override {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, const Argument&>>) return f_(argument), true;
    else return static_cast<bool>(f_(argument));
  }

 private:
  F f_;
};
}  // namespace detail

/// A function that fit calls, if it is not empty: a lambda, for example, which returns nothing, or whether to go on.
/// Copies share it. (<functional> has such a class, with which g++ takes 29 % more memory for locus.hpp.)
template <class Argument>
class Callback {
 public:
  Callback() = default;
  template <class F>
    requires(std::is_invocable_v<F&, const Argument&> && !std::is_same_v<F, Callback>)
  Callback(F f) : function_(new detail::CallbackFunctionOf<Argument, F>(std::move(f))) {}
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(function_); }
  /// Whether to go on: always where there is no function.
  bool operator()(const Argument& argument) const { return !function_ || function_->call(argument); }

 private:
  Shared<detail::CallbackFunction<Argument>> function_;
};

/// How fit trains, and what it calls.
///
///     fit(model, optimizer, train, valid, history,
///         {.epochs = 50, .on_epoch = [&](const EpochRecord& epoch) { return epoch.valid_accuracy < 0.99; }});
struct FitOptions {
  int epochs = 1;
  int first_epoch = 1;  ///< number of the first one, when training goes on: 1 or more
  /// On Cuda, with an optimizer of Locus: replay the step on batches of the first one's shape, see capture(). What the
  /// model's own host code does (counts, prints, chooses) happens at the first two steps only.
  bool capture = true;
  std::int64_t report_every = 50;  ///< batches between two calls of on_progress, each of which waits for the device
  Callback<Progress> on_progress = {};  ///< what it returns does not count
  Callback<EpochRecord> on_epoch = {};  ///< false from it ends the training
};

namespace detail {
/// throws NumericError for a loss that is NaN or infinite
LOCUS_OUT_OF_LINE inline void require_finite_loss(double loss, int epoch, const char* name = "loss") {
  if (loss - loss == 0) return;
  fail<NumericError>({"training: the ", name, " became ", loss, " in epoch ", epoch,
                      "; try a smaller learning rate, gradient clipping, or look for bad values in the data"});
}
/// throws ArgumentError for options out of range
inline void require_valid(const FitOptions& options, std::int64_t batches, std::int64_t valid_batches) {
  if (options.epochs < 0) fail<ArgumentError>({"fit: epochs is ", options.epochs, "; expected 0 or more"});
  if (options.first_epoch < 1 || options.epochs > INT_MAX - options.first_epoch) {
    fail<ArgumentError>({"fit: first_epoch is ", options.first_epoch, ", with ", options.epochs,
                         " epochs; expected 1 or more, and a last epoch below ", INT_MAX});
  }
  if (options.report_every < 1) {
    fail<ArgumentError>({"fit: report_every is ", options.report_every, "; expected 1 or more"});
  }
  if (batches < 1)
    fail<ArgumentError>({"fit: the training loader has no batch; use a smaller batch_size, or no drop_last"});
  if (valid_batches < 1)
    fail<ArgumentError>({"fit: the validation loader has no batch; use a smaller batch_size, or no drop_last"});
}

template <class X>
inline constexpr bool is_named_loader =
    std::is_lvalue_reference_v<X> && !std::is_const_v<std::remove_reference_t<X>> && is_loader<std::remove_cvref_t<X>>;

/// What is wrong with training a model on batches of T on D, and validating it on those of U on E.
template <class M, class T, class D, class U, class E>
struct LoadersMistake : FirstMistake<BatchMistake<M, T, D>, BatchMistake<M, U, E>> {};
}  // namespace detail

namespace detail {
/// What training for an epoch gave.
struct Trained {
  double loss, seconds, images_per_second;
};
template <class Step, class T, class D>
Trained train_epoch(int epoch, Step& step, data::Loader<T, D>& train, const FitOptions& options) {
  const Stopwatch watch;
  Tensor<compute_t<T>, D> loss_sum;  // 16 bits are too few for a sum
  std::int64_t images = 0, batches = 0;
  const auto mean_loss = [&] {
    const double mean = static_cast<double>(loss_sum.item()) / static_cast<double>(images);
    require_finite_loss(mean, epoch);
    return mean;
  };
  for (const auto& batch : train) {
    const std::int64_t size = batch.labels.elements();
    const auto loss = step(batch);
    if (batches == 0) loss_sum = loss.template as<compute_t<T>>() * static_cast<compute_t<T>>(size);
    else loss_sum += loss.template as<compute_t<T>>() * static_cast<compute_t<T>>(size);
    ++batches;
    images += size;
    if (options.on_progress && (batches % options.report_every == 0 || batches == train.size())) {
      const double mean = mean_loss();
      options.on_progress({epoch, batches, train.size(), static_cast<double>(images) / watch.seconds(), mean});
    }
  }
  const double mean = mean_loss(), seconds = watch.seconds();
  return {mean, seconds, static_cast<double>(images) / seconds};
}
template <class M, class Optimizer, class T, class D>
void train(const M& model, Optimizer& optimizer, data::Loader<T, D>& batches, data::Loader<T, D>& valid,
           History& history, const FitOptions& options) {
  require_valid(options, batches.size(), valid.size());
  TrainingStep<M, Optimizer, T, D> step(model, optimizer, options.capture);
  for (int epoch = options.first_epoch; epoch < options.first_epoch + options.epochs; ++epoch) {
    const Trained trained = train_epoch(epoch, step, batches, options);
    const Evaluation score = evaluate(model, valid);
    require_finite_loss(score.loss, epoch, "validation loss");
    history.add(
        {epoch, optimizer.lr(), trained.loss, score.loss, score.accuracy, trained.seconds, trained.images_per_second});
    if (!options.on_epoch(history.last())) return;
  }
}
}  // namespace detail

/// Trains a classifier, a layer or a function, by cross-entropy and validates it after every epoch; records are added
/// to `history`. throws ArgumentError for options out of range or loaders without a batch; NumericError when the loss
/// becomes NaN or infinite (noticed where progress is reported, and at epoch ends)
template <class M, class Optimizer, class T, class D>
  requires detail::Trainable<M, Optimizer, T, D>
void fit(const M& model, Optimizer& optimizer, data::Loader<T, D>& train, data::Loader<T, D>& valid, History& history,
         const FitOptions& options = {}) {
  if constexpr (nn::detail::HasForward<M>) {
    // Named here, the compiler's path from your program to a mistake in its forward is short.
    using Recorded [[maybe_unused]] = decltype(model.forward(std::declval<const Traced<T, D>&>()));
    if constexpr (nn::detail::Forwards<M, Traced<T, D>>) {
      using Output [[maybe_unused]] = decltype(model.forward(std::declval<const Tensor<T, D>&>()));
      detail::train(model, optimizer, train, valid, history, options);
    }
  } else {
    detail::train(model, optimizer, train, valid, history, options);
  }
}

#include <locus/refuse/training/fit.inc>

}  // namespace locus::inline LOCUS_ABI
