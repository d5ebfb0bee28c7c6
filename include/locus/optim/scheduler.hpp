#pragma once
// Applies a schedule to an optimizer, step by step or epoch by epoch.

#include <locus/optim/schedule.hpp>
#include <locus/refuse/mistake.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

/// Multiplies the rate by `factor` if a metric has not improved for more than `patience` steps: for step(metric). Each
/// group's rate is reduced by itself, subject to `min_lr` and `eps`.
struct ReduceLROnPlateau {
  bool maximize = false;  ///< whether more is better, as of accuracy
  double factor = 0.1;
  std::int64_t patience = 10;
  double threshold = 1e-4;          ///< least improvement that counts
  bool absolute_threshold = false;  ///< threshold is a difference, not a fraction of the best metric
  std::int64_t cooldown = 0;        ///< steps after a change during which bad steps do not count
  double min_lr = 0;                ///< of each group
  double eps = 1e-8;                ///< changes of a rate up to this are not made

  /// throws ArgumentError for options out of range
  void check() const {
    if (!(factor >= 0 && factor < 1))
      fail<ArgumentError>({"ReduceLROnPlateau: factor is ", factor, "; expected 0 or more, below 1"});
    if (patience < 0 || cooldown < 0)
      fail<ArgumentError>({"ReduceLROnPlateau: patience is ", patience, " and cooldown ", cooldown,
                           "; expected numbers of steps, 0 or more"});
    for (const double number : {threshold, min_lr, eps})
      locus::detail::require_not_negative("ReduceLROnPlateau", "threshold, min_lr or eps", number);
  }
  [[nodiscard]] bool is_better(double metric, double best) const {
    if (maximize) return metric > (absolute_threshold ? best + threshold : best * (1 + threshold));
    return metric < (absolute_threshold ? best - threshold : best * (1 - threshold));
  }
  /// The reduced rate.
  [[nodiscard]] double reduced(double lr) const {
    const double less = locus::detail::larger(lr * factor, min_lr);
    return lr - less > eps ? less : lr;
  }
};

/// Changes the learning rate of an optimizer as a schedule says. Errors name the schedule. A handle: copies share their
/// position. The scheduler refers to the optimizer, which must outlive it and must not move.
///
///     optim::Scheduler scheduler{optimizer, optim::CosineAnnealingLR{.t_max = 50}};
///     scheduler.step();   // after every epoch, or every step of training, whatever the schedule counts
class Scheduler {
  /// The learning rate, and the momentum if there is one, of an optimizer of any type.
  struct LearningRate : Counted {
    virtual ~LearningRate() = default;
    [[nodiscard]] virtual double lr() const = 0;
    virtual void set_lr(double lr) = 0;
    [[nodiscard]] virtual double momentum() const = 0;
    virtual void set_momentum(double momentum) = 0;
    /// Reduces the optimizer's rate and each group's rate, each by itself.
    virtual void reduce(const ReduceLROnPlateau& plateau) = 0;
  };
  template <class Optimizer>
  struct LearningRateOf final : LearningRate {
    explicit LearningRateOf(Optimizer& given) : optimizer(given) {}
    [[nodiscard]] double lr() const override { return optimizer.lr(); }
    void set_lr(double lr) override { optimizer.set_lr(lr); }
    [[nodiscard]] double momentum() const override {
      if constexpr (has_momentum) return optimizer.momentum();
      else return 0;
    }
    void set_momentum([[maybe_unused]] double momentum) override {
      if constexpr (has_momentum) optimizer.set_momentum(momentum);
    }
    void reduce(const ReduceLROnPlateau& plateau) override {
      std::vector<double> rates;  // first, since set_lr changes them in proportion
      if constexpr (has_groups)
        for (const auto& group : optimizer.groups()) rates.push_back(plateau.reduced(group.lr()));
      optimizer.set_lr(plateau.reduced(optimizer.lr()));
      if constexpr (has_groups)
        for (std::size_t i = 0; i < rates.size(); ++i) optimizer.groups()[i].set_lr(rates[i]);
    }
    static constexpr bool has_momentum = requires(Optimizer& any) { any.set_momentum(any.momentum()); };
    static constexpr bool has_groups = requires(Optimizer& any) { any.groups()[0].set_lr(any.groups()[0].lr()); };
    Optimizer& optimizer;
  };
  struct Position : Counted {
    Shared<LearningRate> optimizer;
    Schedule schedule;
    ReduceLROnPlateau plateau = {};
    bool watches_metric = false;
    std::int64_t step = 0;
    double base = 0;
    double best = 0;
    std::int64_t bad = 0, cooling = 0;  ///< steps without an improvement; steps that do not count
    Position(Shared<LearningRate> of, Schedule given) : optimizer(std::move(of)), schedule(std::move(given)) {}
    /// Sets the rate of step `at`. throws ArgumentError naming the schedule for an invalid rate
    void set_lr(std::int64_t at, double lr) const {
      if (!locus::detail::is_finite(lr) || lr < 0)
        fail<ArgumentError>({schedule.name(), ": the learning rate of step ", at, " is ", lr,
                             "; expected a finite number of 0 or more"});
      optimizer->set_lr(lr);
    }
    void set_momentum() const {
      if (schedule.cycles_momentum()) optimizer->set_momentum(schedule.momentum(step, optimizer->momentum()));
    }
  };

 public:
  /// Empty.
  Scheduler() = default;
  /// Sets the learning rate of step 0, and the momentum where the schedule changes it. throws ArgumentError for options
  /// out of range, and for a schedule of momentum if the optimizer has none
  template <class Optimizer>
    requires requires(Optimizer& optimizer) { optimizer.set_lr(optimizer.lr()); }
  Scheduler(Optimizer& optimizer, Schedule schedule) : Scheduler(optimizer, std::move(schedule), {}) {
    if (at_->schedule.cycles_momentum() && at_->optimizer->momentum() == 0)
      fail<ArgumentError>({at_->schedule.name(),
                           ": the optimizer has no momentum; expected one that is made with momentum, or "
                           ".cycle_momentum = false"});
    at_->set_lr(0, at_->schedule.first(at_->base, at_->base));
    at_->set_momentum();
  }
  template <class Optimizer>
    requires requires(Optimizer& optimizer) { optimizer.set_lr(optimizer.lr()); }
  Scheduler(Optimizer& optimizer, const ReduceLROnPlateau& plateau) : Scheduler(optimizer, ExponentialLR{1}, plateau) {
    plateau.check();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    at_->watches_metric = true;
    at_->best = plateau.maximize ? -infinity : infinity;
  }
#include <locus/refuse/optim/scheduler_class.inc>

  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(at_); }
  [[nodiscard]] double lr() const { return position().optimizer->lr(); }
  /// Number of calls of step().
  [[nodiscard]] std::int64_t steps() const { return position().step; }

  /// Whether the schedule is ReduceLROnPlateau, which needs a metric at each step.
  [[nodiscard]] bool watches_metric() const { return position().watches_metric; }

  /// Sets the learning rate of the next step. throws ArgumentError where it depends on a metric
  void step() {
    Position& at = position();
    if (at.watches_metric)
      fail<ArgumentError>({"ReduceLROnPlateau: step() without a metric; say step(validation loss)"});
    at.set_lr(at.step + 1, at.schedule.next(at.step + 1, at.optimizer->lr(), at.base));
    ++at.step;  // not if one of these throws
    at.set_momentum();
  }
  /// step() with the metric that ReduceLROnPlateau watches; other schedules ignore it.
  void step(double metric) {
    Position& at = position();
    if (!at.watches_metric) return step();
    ++at.step;
    const bool better = at.plateau.is_better(metric, at.best);
    if (better) at.best = metric;
    at.bad = better ? 0 : at.bad + 1;
    if (at.cooling > 0) --at.cooling, at.bad = 0;
    if (at.bad <= at.plateau.patience) return;
    at.optimizer->reduce(at.plateau);
    at.cooling = at.plateau.cooldown;
    at.bad = 0;
  }

  /// The position, as numbers to be saved, without the schedule and its options.
  [[nodiscard]] std::vector<double> state() const {
    const Position& at = position();
    return {static_cast<double>(at.step),   at.base, at.optimizer->lr(), at.best, static_cast<double>(at.bad),
            static_cast<double>(at.cooling)};
  }
  /// Resumes from a state, with its learning rate. Groups keep their ratio to that rate; if the optimizer has it
  /// already, because it was restored before, groups keep their own rates. throws ArgumentError for an invalid state;
  /// then nothing changed
  void load_state(const std::vector<double>& state) {
    check_state(state);
    Position& at = position();
    if (at.optimizer->lr() != state[2]) at.optimizer->set_lr(state[2]);
    at.step = static_cast<std::int64_t>(state[0]);
    at.base = state[1];
    at.best = state[3];
    at.bad = static_cast<std::int64_t>(state[4]);
    at.cooling = static_cast<std::int64_t>(state[5]);
    at.set_momentum();
  }
  /// throws ArgumentError where load_state() would
  void check_state(const std::vector<double>& state) const {
    const Position& at = position();
    if (state.size() != 6)
      fail<ArgumentError>({"Scheduler: a state of ", state.size(), " numbers; expected the six of state()"});
    const std::int64_t step = count_of(state[0], "steps");
    (void)count_of(state[4], "steps without an improvement");
    (void)count_of(state[5], "steps of the cooldown");
    locus::detail::require_not_negative("Scheduler", "the base learning rate of a state", state[1]);
    locus::detail::require_not_negative("Scheduler", "the learning rate of a state", state[2]);
    if (state[3] != state[3]) fail<ArgumentError>({"Scheduler: the best metric of a state is ", state[3]});
    if (at.schedule.cycles_momentum())
      locus::detail::require_factor("Scheduler", "the momentum at the step of a state",
                                    at.schedule.momentum(step, at.optimizer->momentum()));
  }

 private:
  /// throws ArgumentError unless it is a whole number from 0 to 2^53
  [[nodiscard]] static std::int64_t count_of(double number, const char* what) {
    constexpr double most = 9007199254740992;  // 2^53
    const bool fits = number >= 0 && number <= most;
    if (!fits || static_cast<double>(static_cast<std::int64_t>(number)) != number)
      fail<ArgumentError>({"Scheduler: a state of ", number, " ", what, "; expected a whole number of 0 or more"});
    return static_cast<std::int64_t>(number);
  }
  template <class Optimizer>
  Scheduler(Optimizer& optimizer, Schedule schedule, const ReduceLROnPlateau& plateau)
      : at_(new Position(Shared<LearningRate>(new LearningRateOf<Optimizer>(optimizer)), std::move(schedule))) {
    at_->plateau = plateau;
    at_->base = optimizer.lr();
  }
  [[nodiscard]] Position& position() const {
    if (!at_) fail<ArgumentError>({"Scheduler: an empty one; make it of an optimizer and a schedule"});
    return *at_;
  }

  Shared<Position> at_;
};

}}}  // namespace locus::LOCUS_ABI::optim
