#pragma once
// Lion (evolved sign momentum). torch.optim has none; names and defaults follow the paper.

#include <locus/optim/optimizer_step.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct LionOptions {
  double lr = 0.0001;
  double beta1 = 0.9;       ///< weight of the running mean in the direction of a step
  double beta2 = 0.99;      ///< of the running mean
  double weight_decay = 0;  ///< decoupled: not seen by the running mean
  bool maximize = false;    ///< steps go up: gradients count negated; weights still decay
};

namespace detail {
template <class Register>
struct LionRule {
  using R = Register;
  static constexpr int states = 1;
  R beta1, beta2;
  R share1, share2;  ///< 1 - beta1, 1 - beta2: rounded once
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>&, R value, R gradient, R mean, R& new_value,
                           R& new_mean) const {
    const R direction = beta1 * mean + share1 * gradient;
    const R still = direction == R(0) ? R(0) : direction;  // 0, or NaN
    const R sign = direction > R(0) ? R(1) : direction < R(0) ? R(-1) : still;
    new_value = value * rates.decay - rates.lr * sign;
    new_mean = beta2 * mean + share2 * gradient;
  }
};

/// throws ArgumentError for options out of range
[[nodiscard]] LOCUS_OUT_OF_LINE inline const LionOptions& checked(const LionOptions& options) {
  require_not_negative("learning rate", options.lr);
  require_option(options.beta1 >= 0 && options.beta1 < 1, "beta1", options.beta1, "at least 0 and below 1");
  require_option(options.beta2 >= 0 && options.beta2 < 1, "beta2", options.beta2, "at least 0 and below 1");
  require_not_negative("weight_decay", options.weight_decay);
  return options;
}
}  // namespace detail

/// x = x - lr (sign(beta1 m + (1 - beta1) g) + weight_decay x); m = beta2 m + (1 - beta2) g (Chen et al., 2023). Every
/// value moves by lr, so that the paper takes a rate three to ten times smaller, and a weight decay as much larger,
/// than AdamW's. cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class Lion : public Optimizer<T, D> {
 public:
  /// throws ArgumentError for options out of range
  explicit Lion(std::vector<Parameter<T, D>> parameters, const LionOptions& options = {})
      : Lion(options, std::move(parameters)) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit Lion(const std::vector<Group<T, D>>& groups, const LionOptions& options = {});
#include <locus/refuse/optim/lion_class.inc>

  /// Of state `which`, as PyTorch calls Adam's. throws IndexError where states() are fewer
  [[nodiscard]] const char* state_name(int which) const {
    this->require_state(which);
    return "exp_avg";
  }

  /// beta1.
  [[nodiscard]] double momentum() const { return options_.beta1; }
  /// Takes effect at the next step. throws ArgumentError if out of range
  void set_momentum(double beta1) {
    LionOptions options = options_;
    options.beta1 = beta1;
    options_ = detail::checked(options);
  }

  /// Updates every parameter that has a gradient. For half, step through a GradScaler.
  void step()
    requires detail::StepsAlone<T>;
  /// step(), unless the flag, one element on the device, is set: then values and state stay, and no step is counted.
  /// The host never waits for the flag; captured steps read it in each replay. cost: as step(), plus one launch that
  /// counts the step, in all later steps, too
  void step(const Tensor<bool, D>& skip);
#include <locus/refuse/optim/step.inc>

 private:
  friend class Optimizer<T, D>;
  using R = compute_t<T>;
  using Rule = detail::LionRule<R>;

  template <class Parameters>
  Lion(const LionOptions& options, Parameters parameters)
      : Optimizer<T, D>(std::move(parameters), 1, detail::checked(options).lr, options.weight_decay),
        options_(options) {}
  [[nodiscard]] Rule rule() const {
    return {static_cast<R>(options_.beta1), static_cast<R>(options_.beta2), static_cast<R>(1.0 - options_.beta1),
            static_cast<R>(1.0 - options_.beta2)};
  }
  [[nodiscard]] detail::Rates<R> rates(const ParameterGroup<T, D>& group) const {
    return {static_cast<R>(group.lr()), R(0), static_cast<R>(1.0 - group.lr() * group.weight_decay()),
            detail::sign_of_gradients<R>(options_.maximize)};
  }
  [[nodiscard]] detail::NoCorrections corrections() const { return {}; }

  LionOptions options_;
};

#define LOCUS_OPTIMIZER Lion
#define LOCUS_OPTIONS LionOptions
#include <locus/optim/steps.inc>

}}}  // namespace locus::LOCUS_ABI::optim

#include <locus/instances/optim/lion.inc>
