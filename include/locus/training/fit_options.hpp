#pragma once
// How fit trains, and what it calls.

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
/// What std::function would hold; <functional> takes 29 % more memory of g++ for locus.hpp.
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

/// A function that fit calls, if it is not empty: a lambda, for example, with the argument or without, which returns
/// nothing, or whether to go on. Copies share it.
template <class Argument>
class Callback {
 public:
  Callback() = default;
  template <class F>
    requires((std::is_invocable_v<F&, const Argument&> || std::is_invocable_v<F&>) && !std::is_same_v<F, Callback>)
  Callback(F f) : function_(new detail::CallbackFunctionOf<Argument, F>(std::move(f))) {}
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(function_); }
  /// Whether to go on: always where there is no function.
  bool operator()(const Argument& argument) const { return !function_ || function_->call(argument); }

 private:
  Shared<detail::CallbackFunction<Argument>> function_;
};

/// What callbacks get that are called where there is nothing to tell.
struct BeforeStep {};
struct AfterStep {};

/// When fit moves a learning-rate schedule on.
enum class Every { epoch, step };

/// When fit ends before its last epoch. Other options than restore_best need a patience. When the loss becomes NaN or
/// infinite, fit throws: the weights stay as the last step left them, and those of the best epoch are not restored.
struct EarlyStopping {
  int patience = 0;          ///< epochs without an improvement after which training ends; 0: nothing is watched
  double min_delta = 0;      ///< by how much a better one is better
  std::string metric = {};   ///< name of what is watched; by default the validation loss
  bool maximize = false;     ///< whether more of it is better
  bool restore_best = true;  ///< with a patience, the model is left with the weights of the best epoch
};

/// How fit trains, and what it calls.
///
///     fit(model, optimizer, train, valid, history,
///         {.epochs = 50, .on_epoch = [&](const EpochRecord& epoch) { return epoch.valid_accuracy < 0.99; }});
struct FitOptions {
  int epochs = 1;
  int first_epoch = 1;  ///< number of the first one, when training goes on: 1 or more
  /// On Cuda, with an optimizer of Locus: replay the step on batches of the first one's shape, see capture(). What the
  /// model's own host code does (counts, prints, chooses) happens at the first two steps only (with `accumulate`, at
  /// the first two parts of a kind: first, last, and those in between, each of which keeps the memory of its run).
  /// Not while phases are traced, see trace_phases().
  bool capture = true;
  std::int64_t report_every = 50;  ///< batches between two calls of on_progress, each of which waits for the device
  /// Batches whose gradients one step takes together, as if they were one batch; at the end of an epoch, those left.
  /// Of a loss that ignores targets or weighs them, each batch has the share that counts.
  std::int64_t accumulate = 1;
  /// Called after the backward pass, before each step of the optimizer, for what changes gradients:
  ///
  ///     .before_step = [&] { optim::clip_grad_norm_(model.parameters(), 1.0); }
  ///
  /// Replays of a captured step repeat what it launches, not its host code. What it returns does not count.
  Callback<BeforeStep> before_step = {};
  /// The same after each step of the optimizer, for what follows the weights: an average of them, for example.
  Callback<AfterStep> after_step = {};
  /// Operations per second that the device reaches at best, of which records and progress have the share: from its data
  /// sheet, or measured_peak() of training/peak.hpp; of several ranks, of each one's device. 0: it is not known.
  double peak = 0;
  optim::Scheduler scheduler = {};      ///< of the learning rate; after an epoch it is given the validation loss
  Every schedule_every = Every::epoch;  ///< ReduceLROnPlateau moves by epoch
  EarlyStopping early_stopping = {};
  /// What it returns does not count; of several ranks, rank 0 alone calls it. It may save the run, io::save_training,
  /// but not after the last batch of an epoch, which is not validated yet: there on_epoch does.
  Callback<Progress> on_progress = {};
  Callback<EpochRecord> on_epoch = {};  ///< false from it ends the training, on all ranks; each calls it
};

namespace detail {
/// throws ArgumentError for options of early stopping out of range, those that would be ignored, and a metric that is
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
