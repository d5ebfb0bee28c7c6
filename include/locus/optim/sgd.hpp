#pragma once
// Stochastic gradient descent, as torch.optim.SGD.

#include <locus/optim/optimizer_step.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct SgdOptions {
  double lr = 0.001;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;  ///< L2 penalty
  bool nesterov = false;
  bool maximize = false;  ///< steps go up: gradients count negated, before any weight decay
};

namespace detail {
/// first: the share of the gradient that enters the momentum.
template <class Register>
struct SgdRule {
  using R = Register;
  static constexpr int states = 1;
  R momentum;
  R nesterov;  ///< 1, or 0. (Of a bool, g++ makes no vector beside 16-bit floats.)
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>& corrections, R value, R gradient, R velocity,
                           R& new_value, R& new_velocity) const {
    const R g = gradient + rates.penalty * value;
    new_velocity = momentum * velocity + corrections.first * g;
    const R direction = locus::detail::either(nesterov != R(0), g + momentum * new_velocity, new_velocity);
    new_value = value - rates.lr * direction;
  }
};
struct SgdCorrections {
  double share;  ///< from the second step on
  template <class R>
  [[nodiscard]] LOCUS_FN Corrections<R> of_step(std::int64_t step) const {
    return {static_cast<R>(step <= 1 ? 1.0 : share), R(0)};
  }
};

/// throws ArgumentError for options out of range
[[nodiscard]] LOCUS_OUT_OF_LINE inline const SgdOptions& checked(const SgdOptions& options) {
  require_not_negative("learning rate", options.lr);
  require_not_negative("momentum", options.momentum);
  require_not_negative("weight_decay", options.weight_decay);
  locus::detail::require_finite("optimizer", "dampening", options.dampening);
  if (options.nesterov && (options.momentum <= 0 || options.dampening != 0)) {
    fail<ArgumentError>({"optimizer: Nesterov momentum needs momentum > 0 and dampening 0; got momentum ",
                         options.momentum, " and dampening ", options.dampening});
  }
  return options;
}
}  // namespace detail

/// v = momentum v + (1 - dampening) g; x = x - lr v, or x - lr (g + momentum v) with Nesterov's momentum
/// (Sutskever et al., 2013). cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class Sgd : public Optimizer<T, D> {
 public:
  /// throws ArgumentError for options out of range, or Nesterov's momentum without momentum or with dampening
  explicit Sgd(std::vector<Parameter<T, D>> parameters, const SgdOptions& options = {})
      : Sgd(options, std::move(parameters)) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit Sgd(const std::vector<Group<T, D>>& groups, const SgdOptions& options = {});
#include <locus/refuse/optim/sgd_class.inc>

  /// Of state `which`, as PyTorch calls it. throws IndexError where states() are fewer
  [[nodiscard]] const char* state_name(int which) const {
    this->require_state(which);
    return "momentum_buffer";
  }

  [[nodiscard]] double momentum() const { return options_.momentum; }
  /// Takes effect at the next step. throws ArgumentError if out of range, and for an optimizer made without momentum,
  /// which has no state for it
  void set_momentum(double momentum) {
    if (this->states() == 0) fail<ArgumentError>({"set_momentum: the optimizer was made without momentum"});
    SgdOptions options = options_;
    options.momentum = momentum;
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
  using Rule = detail::SgdRule<R>;

  template <class Parameters>
  Sgd(const SgdOptions& options, Parameters parameters)
      : Optimizer<T, D>(std::move(parameters), options.momentum != 0, detail::checked(options).lr,
                        options.weight_decay),
        options_(options) {}
  [[nodiscard]] Rule rule() const { return {static_cast<R>(options_.momentum), R(options_.nesterov)}; }
  [[nodiscard]] detail::Rates<R> rates(const ParameterGroup<T, D>& group) const {
    return {static_cast<R>(group.lr()), static_cast<R>(group.weight_decay()), R(1),
            detail::sign_of_gradients<R>(options_.maximize)};
  }
  [[nodiscard]] detail::SgdCorrections corrections() const {
    return {options_.momentum == 0 ? 1.0 : 1.0 - options_.dampening};
  }

  SgdOptions options_;
};

#define LOCUS_OPTIMIZER Sgd
#define LOCUS_OPTIONS SgdOptions
#include <locus/optim/steps.inc>

}}}  // namespace locus::LOCUS_ABI::optim

#include <locus/instances/optim/sgd.inc>
