#pragma once
// Options and callbacks of fit.

#include <locus/core/std/bounds.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/optim/scheduler.hpp>
#include <locus/training/history.hpp>
#include <locus/training/progress.hpp>

#include <climits>
#include <initializer_list>
#include <type_traits>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// Replaces std::function: <functional> takes 29 % more memory of g++ for locus.hpp.
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
    if constexpr (!std::is_invocable_v<F&, const Argument&>) return goes_on([&] { return f_(); });
    else return goes_on([&] { return f_(argument); });
  }

 private:
  template <class G>
  static bool goes_on(const G& call) {
    if constexpr (std::is_void_v<decltype(call())>) return call(), true;
    else return static_cast<bool>(call());
  }

  F f_;
};
}  // namespace detail

/// A function that fit calls, or empty: a lambda, for example, with or without the argument, that returns nothing or
/// whether to go on. Copies share the function.
template <class Argument>
class Callback {
 public:
  Callback() = default;
  template <class F>
    requires((std::is_invocable_v<F&, const Argument&> || std::is_invocable_v<F&>) && !std::is_same_v<F, Callback>)
  Callback(F f) : function_(new detail::CallbackFunctionOf<Argument, F>(std::move(f))) {}
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(function_); }
  /// Returns whether to go on; true without a function.
  bool operator()(const Argument& argument) const { return !function_ || function_->call(argument); }

 private:
  Shared<detail::CallbackFunction<Argument>> function_;
};

/// Arguments of callbacks that need no information.
struct BeforeStep {};
struct AfterStep {};

/// When fit moves a learning-rate schedule on.
enum class Every { epoch, step };

/// When fit ends before its last epoch. Other options than restore_best need a patience. When the loss becomes NaN or
/// infinite, fit throws: the weights stay as the last step left them, and the best epoch's weights are not restored.
struct EarlyStopping {
  int patience = 0;          ///< epochs without an improvement after which training ends; 0: nothing is watched
  double min_delta = 0;      ///< an improvement must exceed this
  std::string metric = {};   ///< name of the watched metric; by default the validation loss
  bool maximize = false;     ///< whether a larger metric is better
  bool restore_best = true;  ///< with a patience, the model is left with the weights of the best epoch
};

/// Options and callbacks of fit.
///
///     fit(model, optimizer, train, valid, history,
///         {.epochs = 50, .on_epoch = [&](const EpochRecord& epoch) { return epoch.valid_accuracy < 0.99; }});
struct FitOptions {
  int epochs = 1;
  int first_epoch = 1;  ///< number of the first epoch of this call, for resumed training: 1 or more
  /// On Cuda, with an optimizer of Locus: replay the step on batches of the first batch's shape, see capture(). The
  /// model's own host code (counting, printing, choosing) runs in the first two steps only. With `accumulate`, it runs
  /// in the first two parts of each kind (first, middle, last). It runs once more where a tensor, such as one that a
  /// metric keeps, holds memory that the replay would overwrite. No capture while phases are traced, see
  /// trace_to().
  bool capture = true;
  std::int64_t report_every = 50;  ///< batches between two calls of on_progress, each of which waits for the device
  /// Batches whose gradients are accumulated for one step, as if they were one batch; the last step of an epoch takes
  /// the rest. If the loss ignores or weights targets, each batch is weighted by its counted targets.
  std::int64_t accumulate = 1;
  /// Called after the backward pass, before each step of the optimizer, to change gradients:
  ///
  ///     .before_step = [&] { optim::clip_grad_norm_(model.parameters(), 1.0); }
  ///
  /// Replays of a captured step repeat the callback's launches, not its host code. Its return value is ignored.
  Callback<BeforeStep> before_step = {};
  /// Called likewise after each step of the optimizer, to average the weights, for example.
  Callback<AfterStep> after_step = {};
  /// Peak operations per second of the device, for share_of_peak() of records and progress: from its data sheet, or
  /// measured_peak() of training/peak.hpp. Each rank gives its own device's. 0: unknown.
  double peak = 0;
  optim::Scheduler scheduler = {};      ///< of the learning rate; gets the validation loss after an epoch
  Every schedule_every = Every::epoch;  ///< ReduceLROnPlateau moves by epoch
  EarlyStopping early_stopping = {};
  /// Its return value is ignored; of several ranks, only rank 0 calls it. It may save the run by io::save_training,
  /// except after the last batch of an epoch, which is not validated yet: save from on_epoch then.
  Callback<Progress> on_progress = {};
  Callback<EpochRecord> on_epoch = {};  ///< called on every rank; false from any rank ends the training on all
};

namespace detail {
/// throws ArgumentError for early-stopping options that are out of range or would be ignored, and for a metric that is
/// not measured
LOCUS_OUT_OF_LINE inline void require_valid(const EarlyStopping& options,
                                            std::initializer_list<std::string_view> metrics) {
  locus::detail::require_not_negative("fit", "early_stopping.min_delta", options.min_delta);
  if (options.patience < 0)
    fail<ArgumentError>({"fit: early_stopping.patience is ", options.patience, "; expected 0 or more"});
  const char* const ignored = !options.metric.empty() ? "metric" : options.maximize ? "maximize" : "min_delta";
  if (options.patience == 0 && (!options.metric.empty() || options.maximize || options.min_delta > 0)) {
    fail<ArgumentError>({"fit: early_stopping.", ignored,
                         " is given, but the patience is 0, and nothing is watched; "
                         "expected a patience of 1 or more epochs"});
  }
  std::string names;
  for (const std::string_view name : metrics) {
    if (name == options.metric) return;
    names += join(names.empty() ? "" : ", ", name);
  }
  if (options.metric.empty()) return;
  fail<ArgumentError>({"fit: early_stopping.metric is '", options.metric,
                       "'; expected one that is measured: ", names.empty() ? "there is none" : names});
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
  if (options.accumulate < 1)
    fail<ArgumentError>({"fit: accumulate is ", options.accumulate, "; expected 1 or more batches"});
  if (!(options.peak >= 0 && options.peak <= 1e30)) {
    fail<ArgumentError>(
        {"fit: peak is ", options.peak,
         "; expected operations per second, as measured_peak() gives them, or 0 where they are not known"});
  }
  if (options.scheduler && options.schedule_every == Every::step && options.scheduler.watches_metric()) {
    fail<ArgumentError>(
        {"fit: schedule_every is Every::step, but ReduceLROnPlateau watches the validation loss, which "
         "is known after an epoch; expected Every::epoch"});
  }
  if (batches < 1)
    fail<ArgumentError>({"fit: the training loader has no batch; use a smaller batch_size, or no drop_last"});
  if (valid_batches < 1)
    fail<ArgumentError>({"fit: the validation loader has no batch; use a smaller batch_size, or no drop_last"});
}
}  // namespace detail

}}  // namespace locus::LOCUS_ABI
