#pragma once
// How learning rates change over epochs or steps: the schedules of torch.optim.lr_scheduler, as values with options.
//
// A schedule is a class with two functions. first(lr, base) returns the learning rate of step 0, and
// next(step, lr, base) the learning rate of step 1, 2, ...; lr is the previous rate, and base the optimizer's initial
// rate. Errors name the schedule by its static member `name`, if it has one.

#include <locus/core/check.hpp>
#include <locus/core/math.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/core/std/shared.hpp>

#include <concepts>
#include <cstdint>
#include <vector>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
LOCUS_OUT_OF_LINE inline void require_steps(const char* schedule, const char* option, std::int64_t given) {
  if (given < 1) fail<ArgumentError>({schedule, ": ", option, " is ", given, "; expected 1 or more"});
}
LOCUS_OUT_OF_LINE inline void require_factor(const char* schedule, const char* option, double given) {
  if (!(given >= 0 && given <= 1)) fail<ArgumentError>({schedule, ": ", option, " is ", given, "; expected 0 to 1"});
}
/// 1 + cos(pi x): from 2 for x = 0 to 0 for x = 1.
[[nodiscard]] inline double raised_cosine(double x) { return 1 + __builtin_cos(3.141592653589793 * x); }
}  // namespace detail

namespace optim {

/// Multiplied by gamma every step_size steps.
struct StepLR {
  static constexpr const char* name = "StepLR";
  std::int64_t step_size = 0;
  double gamma = 0.1;

  /// throws ArgumentError for options out of range, as all schedules do
  void check() const {
    locus::detail::require_steps("StepLR", "step_size", step_size);
    locus::detail::require_not_negative("StepLR", "gamma", gamma);
  }
  [[nodiscard]] double first(double lr, double) const { return lr; }
  [[nodiscard]] double next(std::int64_t step, double lr, double) const {
    return step % step_size == 0 ? lr * gamma : lr;
  }
};

/// Multiplied by gamma at each of the milestones, which are steps.
struct MultiStepLR {
  static constexpr const char* name = "MultiStepLR";
  std::vector<std::int64_t> milestones = {};
  double gamma = 0.1;

  void check() const {
    for (const std::int64_t milestone : milestones)
      locus::detail::require_steps("MultiStepLR", "a milestone", milestone);
    locus::detail::require_not_negative("MultiStepLR", "gamma", gamma);
  }
  [[nodiscard]] double first(double lr, double) const { return lr; }
  [[nodiscard]] double next(std::int64_t step, double lr, double) const {
    for (const std::int64_t milestone : milestones)
      if (milestone == step) lr *= gamma;
    return lr;
  }
};

/// Multiplied by gamma at every step.
struct ExponentialLR {
  static constexpr const char* name = "ExponentialLR";
  double gamma = 0.95;

  void check() const { locus::detail::require_not_negative("ExponentialLR", "gamma", gamma); }
  [[nodiscard]] double first(double lr, double) const { return lr; }
  [[nodiscard]] double next(std::int64_t, double lr, double) const { return lr * gamma; }
};

/// Multiplies the rate by a factor that goes from start_factor to end_factor within total_iters steps: a warm-up.
struct LinearLR {
  static constexpr const char* name = "LinearLR";
  double start_factor = 1.0 / 3;
  double end_factor = 1.0;
  std::int64_t total_iters = 5;

  void check() const {
    locus::detail::require_factor("LinearLR", "start_factor", start_factor);
    locus::detail::require_factor("LinearLR", "end_factor", end_factor);
    if (start_factor == 0) fail<ArgumentError>({"LinearLR: start_factor is 0; expected more, for example 0.01"});
    locus::detail::require_steps("LinearLR", "total_iters", total_iters);
  }
  [[nodiscard]] double first(double lr, double) const { return lr * start_factor; }
  [[nodiscard]] double next(std::int64_t step, double lr, double) const {
    if (step > total_iters) return lr;
    const double rise = end_factor - start_factor;
    const double before = static_cast<double>(total_iters) * start_factor + static_cast<double>(step - 1) * rise;
    return lr * locus::detail::larger(1 + rise / before, 0.);  // rounding may pass an end_factor of 0
  }
};

/// Multiplies the rate by `factor` for total_iters steps, then by 1.
struct ConstantLR {
  static constexpr const char* name = "ConstantLR";
  double factor = 1.0 / 3;
  std::int64_t total_iters = 5;

  void check() const {
    locus::detail::require_factor("ConstantLR", "factor", factor);
    if (factor == 0) fail<ArgumentError>({"ConstantLR: factor is 0; expected more, for example 0.01"});
    locus::detail::require_steps("ConstantLR", "total_iters", total_iters);
  }
  [[nodiscard]] double first(double lr, double) const { return lr * factor; }
  [[nodiscard]] double next(std::int64_t step, double lr, double) const {
    return step == total_iters ? lr * (1 / factor) : lr;
  }
};

/// Falls from the base to 0 within total_iters steps, as (1 - step / total_iters)^power.
struct PolynomialLR {
  static constexpr const char* name = "PolynomialLR";
  std::int64_t total_iters = 5;
  double power = 1;

  void check() const {
    locus::detail::require_steps("PolynomialLR", "total_iters", total_iters);
    locus::detail::require_not_negative("PolynomialLR", "power", power);
  }
  [[nodiscard]] double first(double lr, double) const { return lr; }
  [[nodiscard]] double next(std::int64_t step, double lr, double) const {
    if (step > total_iters) return lr;
    const auto left = static_cast<double>(total_iters - step);
    return lr * __builtin_pow(left / (left + 1), power);
  }
};

/// Half a cosine from the base to eta_min within t_max steps, then back (Loshchilov and Hutter, 2017, without
/// restarts).
struct CosineAnnealingLR {
  static constexpr const char* name = "CosineAnnealingLR";
  std::int64_t t_max = 0;
  double eta_min = 0;

  void check() const {
    locus::detail::require_steps("CosineAnnealingLR", "t_max", t_max);
    locus::detail::require_not_negative("CosineAnnealingLR", "eta_min", eta_min);
  }
  [[nodiscard]] double first(double lr, double) const { return lr; }
  [[nodiscard]] double next(std::int64_t step, double lr, double base) const {
    const auto share = [this](std::int64_t i) { return static_cast<double>(i) / static_cast<double>(t_max); };
    if ((step - 1 - t_max) % (2 * t_max) == 0)
      return lr + (base - eta_min) * (2 - locus::detail::raised_cosine(share(1))) / 2;
    return locus::detail::raised_cosine(share(step)) / locus::detail::raised_cosine(share(step - 1)) * (lr - eta_min) +
           eta_min;
  }
};

/// Half a cosine from the base to eta_min within t_0 steps, then again, each time within t_mult times as many
/// (Loshchilov and Hutter, 2017).
struct CosineAnnealingWarmRestarts {
  static constexpr const char* name = "CosineAnnealingWarmRestarts";
  std::int64_t t_0 = 0;
  std::int64_t t_mult = 1;
  double eta_min = 0;

  void check() const {
    locus::detail::require_steps("CosineAnnealingWarmRestarts", "t_0", t_0);
    locus::detail::require_steps("CosineAnnealingWarmRestarts", "t_mult", t_mult);
    locus::detail::require_not_negative("CosineAnnealingWarmRestarts", "eta_min", eta_min);
  }
  [[nodiscard]] double first(double, double base) const { return next(0, base, base); }
  [[nodiscard]] double next(std::int64_t step, double, double base) const {
    std::int64_t length = t_0;
    if (t_mult == 1) step %= t_0;
    else
      for (; step >= length; length *= t_mult) step -= length;
    return eta_min +
           (base - eta_min) * locus::detail::raised_cosine(static_cast<double>(step) / static_cast<double>(length)) / 2;
  }
};

/// Up from max_lr / div_factor to max_lr in the first pct_start of the steps, then down to the first rate divided by
/// final_div_factor (Smith and Topin, 2017): made for steps rather than epochs. Meanwhile the momentum of the optimizer
/// (beta1 of Adam) falls from max_momentum to base_momentum, and rises again. The last rate is reached at step
/// total_steps - 1 and kept at step total_steps, which a loop of total_steps calls reaches at its end. (PyTorch
/// continues its curve there, and the rate rises.) One step more throws ArgumentError, and so does an optimizer without
/// momentum, unless cycle_momentum is false.
struct OneCycleLR {
  static constexpr const char* name = "OneCycleLR";
  double max_lr = 0;
  std::int64_t total_steps = 0;
  double pct_start = 0.3;
  bool linear = false;  ///< along lines instead of cosines
  double div_factor = 25;
  double final_div_factor = 1e4;
  bool three_phase = false;  ///< down as long as up, and only then to the last rate
  bool cycle_momentum = true;
  double base_momentum = 0.85;
  double max_momentum = 0.95;

  void check() const {
    locus::detail::require_factor("OneCycleLR", "base_momentum", base_momentum);
    locus::detail::require_factor("OneCycleLR", "max_momentum", max_momentum);
    locus::detail::require_not_negative("OneCycleLR", "max_lr", max_lr);
    locus::detail::require_steps("OneCycleLR", "total_steps", total_steps);
    locus::detail::require_factor("OneCycleLR", "pct_start", pct_start);
    for (const double divisor : {div_factor, final_div_factor})
      if (!(divisor > 0) || !locus::detail::is_finite(divisor))
        fail<ArgumentError>({"OneCycleLR: a divisor is ", divisor, "; expected a number above 0"});
  }
  [[nodiscard]] double first(double, double) const { return next(0, 0, 0); }
  [[nodiscard]] double next(std::int64_t step, double, double) const {
    if (step > total_steps)
      fail<ArgumentError>(
          {name, ": step ", step, " of total_steps ", total_steps, "; expected no more steps than the cycle has"});
    const double low = max_lr / div_factor;
    return along(step, low, max_lr, low / final_div_factor);
  }
  [[nodiscard]] bool cycles_momentum() const { return cycle_momentum; }
  [[nodiscard]] double momentum(std::int64_t step, double now) const {
    return cycle_momentum ? along(step, max_momentum, base_momentum, max_momentum) : now;
  }

 private:
  /// From low to high, and on to last; with three phases, by way of low.
  [[nodiscard]] double along(std::int64_t step, double low, double high, double last) const {
    const double at = static_cast<double>(locus::detail::smaller(step, total_steps - 1));
    const double steps = static_cast<double>(total_steps), top = pct_start * steps - 1;
    if (at <= top) return between(low, high, 0, top, at);
    if (!three_phase) return between(high, last, top, steps - 1, at);
    const double foot = 2 * pct_start * steps - 2;
    return at <= foot ? between(high, low, top, foot, at) : between(low, last, foot, steps - 1, at);
  }
  /// A phase without a length is at its end, also if its length is a rounding error: 0.1 * 10 - 1 is 0, or 6e-17 with a
  /// fused multiply-subtract.
  [[nodiscard]] double between(double from, double to, double begin, double end, double at) const {
    const double share = end - begin < 1e-9 ? 1 : (at - begin) / (end - begin);
    return linear ? (to - from) * share + from : to + (from - to) / 2 * locus::detail::raised_cosine(share);
  }
};

/// The base times f(step), for a function of your own, as torch's LambdaLR.
template <class F>
struct LambdaLR {
  static constexpr const char* name = "LambdaLR";
  F f;
  void check() const {}
  [[nodiscard]] double first(double, double base) const { return base * static_cast<double>(f(std::int64_t{0})); }
  [[nodiscard]] double next(std::int64_t step, double, double base) const {
    return base * static_cast<double>(f(step));
  }
};
template <class F>
LambdaLR(F) -> LambdaLR<F>;

/// Multiplied by f(step) at every step, for a function of your own.
template <class F>
struct MultiplicativeLR {
  static constexpr const char* name = "MultiplicativeLR";
  F f;
  void check() const {}
  [[nodiscard]] double first(double lr, double) const { return lr; }
  [[nodiscard]] double next(std::int64_t step, double lr, double) const { return lr * static_cast<double>(f(step)); }
};
template <class F>
MultiplicativeLR(F) -> MultiplicativeLR<F>;

/// A schedule that changes momentum as well: if cycles_momentum(), momentum(step, now) returns the momentum of step 0,
/// 1, ...
template <class R>
concept MomentumRule = requires(const R& rule, std::int64_t step, double momentum) {
  { rule.cycles_momentum() } -> std::same_as<bool>;
  { rule.momentum(step, momentum) } -> std::convertible_to<double>;
};
template <class R>
concept LearningRateRule = requires(const R& rule, std::int64_t step, double lr) {
  rule.check();
  { rule.first(lr, lr) } -> std::convertible_to<double>;
  { rule.next(step, lr, lr) } -> std::convertible_to<double>;
};

/// Any of the schedules above and below, or one of your own.
class Schedule {
  struct Rule : Counted {
    static constexpr const char* handle_name = "Schedule";
    virtual ~Rule() = default;
    [[nodiscard]] virtual const char* name() const = 0;
    [[nodiscard]] virtual double first(double lr, double base) const = 0;
    [[nodiscard]] virtual double next(std::int64_t step, double lr, double base) const = 0;
    [[nodiscard]] virtual bool cycles_momentum() const = 0;
    [[nodiscard]] virtual double momentum(std::int64_t step, double now) const = 0;
  };
  template <class R>
  struct RuleOf final : Rule {
    explicit RuleOf(R given) : rule(std::move(given)) {}
    [[nodiscard]] const char* name() const override {
      if constexpr (requires { static_cast<const char*>(rule.name); }) return rule.name;
      else return "the schedule";
    }
    [[nodiscard]] double first(double lr, double base) const override { return rule.first(lr, base); }
    [[nodiscard]] double next(std::int64_t step, double lr, double base) const override {
      return rule.next(step, lr, base);
    }
    [[nodiscard]] bool cycles_momentum() const override {
      if constexpr (MomentumRule<R>) return rule.cycles_momentum();
      else return false;
    }
    [[nodiscard]] double momentum(std::int64_t step, double now) const override {
      if constexpr (MomentumRule<R>) return rule.momentum(step, now);
      else return now;
    }
    R rule;
  };

 public:
  /// throws ArgumentError for options out of range
  template <class R>
    requires(!std::is_same_v<R, Schedule> && LearningRateRule<R>)
  Schedule(R rule) : rule_((rule.check(), new RuleOf<R>(std::move(rule)))) {}
  void check() const {}
  /// The name that errors use.
  [[nodiscard]] const char* name() const { return rule_->name(); }
  [[nodiscard]] double first(double lr, double base) const { return rule_->first(lr, base); }
  [[nodiscard]] double next(std::int64_t step, double lr, double base) const { return rule_->next(step, lr, base); }
  [[nodiscard]] bool cycles_momentum() const { return rule_->cycles_momentum(); }
  [[nodiscard]] double momentum(std::int64_t step, double now) const { return rule_->momentum(step, now); }

 private:
  Shared<const Rule> rule_;
};

namespace detail {
[[nodiscard]] inline bool any_cycles_momentum(const std::vector<Schedule>& schedules) {
  for (const auto& schedule : schedules)
    if (schedule.cycles_momentum()) return true;
  return false;
}
}  // namespace detail

/// Applies all schedules at every step, each to the learning rate that the previous one returned.
struct ChainedScheduler {
  static constexpr const char* name = "ChainedScheduler";
  std::vector<Schedule> schedules;

  void check() const {
    if (schedules.empty()) fail<ArgumentError>({"ChainedScheduler: no schedules were given; expected at least one"});
  }
  [[nodiscard]] double first(double lr, double base) const {
    check();
    for (const auto& schedule : schedules) lr = schedule.first(lr, base);
    return lr;
  }
  [[nodiscard]] double next(std::int64_t step, double lr, double base) const {
    check();
    for (const auto& schedule : schedules) lr = schedule.next(step, lr, base);
    return lr;
  }
  [[nodiscard]] bool cycles_momentum() const { return detail::any_cycles_momentum(schedules); }
  [[nodiscard]] double momentum(std::int64_t step, double now) const {
    for (const auto& schedule : schedules) now = schedule.momentum(step, now);
    return now;
  }
};

/// Runs schedules one after another: each milestone is the step at which the next schedule starts, from the base.
///
///     optim::SequentialLR{{optim::LinearLR{.start_factor = 0.1}, optim::CosineAnnealingLR{.t_max = 45}}, {5}}
struct SequentialLR {
  static constexpr const char* name = "SequentialLR";
  std::vector<Schedule> schedules;
  std::vector<std::int64_t> milestones;

  void check() const {
    if (schedules.empty() || milestones.size() + 1 != schedules.size())
      fail<ArgumentError>({"SequentialLR: ", schedules.size(), " schedules with ", milestones.size(),
                           " milestones; expected a milestone between two schedules each"});
    for (std::size_t i = 0; i < milestones.size(); ++i)
      if (milestones[i] < (i == 0 ? 1 : milestones[i - 1] + 1))
        fail<ArgumentError>({"SequentialLR: milestone ", i, " is ", milestones[i],
                             "; expected steps of 1 or more, each later than the one before"});
  }
  [[nodiscard]] double first(double, double base) const {
    check();
    return schedules[0].first(base, base);
  }
  [[nodiscard]] double next(std::int64_t step, double lr, double base) const {
    const Place at = place_of(step);
    return at.step == 0 ? at.schedule.first(base, base) : at.schedule.next(at.step, lr, base);
  }
  [[nodiscard]] bool cycles_momentum() const { return detail::any_cycles_momentum(schedules); }
  /// At step 0, each schedule sets its initial momentum, as PyTorch's do in their constructors.
  [[nodiscard]] double momentum(std::int64_t step, double now) const {
    if (step == 0)
      for (const auto& schedule : schedules) now = schedule.momentum(0, now);
    const Place at = place_of(step);
    return at.schedule.momentum(at.step, now);
  }

 private:
  struct Place {
    const Schedule& schedule;
    std::int64_t step;  ///< of this schedule
  };
  [[nodiscard]] Place place_of(std::int64_t step) const {
    check();
    std::size_t i = 0;
    while (i < milestones.size() && step >= milestones[i]) ++i;
    return {schedules[i], step - (i == 0 ? 0 : milestones[i - 1])};
  }
};

}  // namespace optim

}}  // namespace locus::LOCUS_ABI
