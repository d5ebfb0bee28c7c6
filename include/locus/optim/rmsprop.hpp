#pragma once
// RMSprop, as torch.optim.RMSprop.

#include <locus/core/math.hpp>
#include <locus/optim/optimizer_step.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct RMSpropOptions {
  double lr = 0.01;
  double alpha = 0.99;  ///< of the running mean of squares
  double eps = 1e-8;
  double weight_decay = 0;  ///< L2 penalty
  double momentum = 0;
  /// Divides by the running deviation instead of the root of the mean square. If gradients repeat, the deviation
  /// vanishes, and steps become lr g / eps.
  bool centered = false;
  bool maximize = false;  ///< steps go up: gradients count negated, before any weight decay
};

namespace detail {
/// If centered, state 1 is the mean of gradients and state 2 the momentum; otherwise state 1 is the momentum.
template <class Register>
struct RMSpropRule {
  using R = Register;
  static constexpr int states = 3;
  R alpha, share;  ///< share: 1 - alpha, rounded once
  R momentum, eps;
  bool centered;
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>&, R value, R gradient, R square, R second,
                           R third, R& new_value, R& new_square, R& new_second, R& new_third) const {
    const R g = gradient + rates.penalty * value;
    new_square = alpha * square + share * g * g;
    // Computed before they are chosen, so that the loop has no branches and vectorizes.
    const R mean_of_gradients = second + share * (g - second);
    const R mean = centered ? mean_of_gradients : R(0), previous = centered ? third : second;
    const R difference = new_square - mean * mean;
    const R variance = difference < R(0) ? R(0) : difference;  // rounding may have made it negative
    const R velocity = momentum * previous + g / (math::sqrt(variance) + eps);
    new_second = centered ? mean : velocity;
    new_third = velocity;
    new_value = value - rates.lr * velocity;
  }
};

/// throws ArgumentError for options out of range
[[nodiscard]] LOCUS_OUT_OF_LINE inline const RMSpropOptions& checked(const RMSpropOptions& options) {
  require_not_negative("learning rate", options.lr);
  require_option(options.alpha >= 0 && options.alpha <= 1, "alpha", options.alpha, "0 to 1");
  require_not_negative("eps", options.eps);
  require_not_negative("weight_decay", options.weight_decay);
  require_not_negative("momentum", options.momentum);
  return options;
}
}  // namespace detail

/// s = alpha s + (1 - alpha) g^2; x = x - lr g / (sqrt(s) + eps), or by the momentum of these steps; if centered, the
/// squared running mean of g is subtracted from s (Tieleman and Hinton, 2012; Graves, 2013). An eps of 0 acts as the
/// smallest normal number. cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class RMSprop : public Optimizer<T, D> {
 public:
  /// throws ArgumentError for options out of range
  explicit RMSprop(std::vector<Parameter<T, D>> parameters, const RMSpropOptions& options = {})
      : RMSprop(options, std::move(parameters)) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit RMSprop(const std::vector<Group<T, D>>& groups, const RMSpropOptions& options = {});
#include <locus/refuse/optim/rmsprop_class.inc>

  /// Of state `which`, as PyTorch calls it. throws IndexError where states() are fewer
  [[nodiscard]] const char* state_name(int which) const {
    this->require_state(which);
    return which == 0 ? "square_avg" : which == 1 && options_.centered ? "grad_avg" : "momentum_buffer";
  }

  [[nodiscard]] double momentum() const { return options_.momentum; }
  /// Takes effect at the next step. throws ArgumentError if out of range, and for an optimizer made without momentum,
  /// which has no state for it
  void set_momentum(double momentum) {
    if (this->states() == 1 + options_.centered)
      fail<ArgumentError>({"set_momentum: the optimizer was made without momentum"});
    RMSpropOptions options = options_;
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
  using Rule = detail::RMSpropRule<R>;

  template <class Parameters>
  RMSprop(const RMSpropOptions& options, Parameters parameters)
      : Optimizer<T, D>(std::move(parameters), 1 + options.centered + (options.momentum != 0),
                        detail::checked(options).lr, options.weight_decay),
        options_(options) {}
  [[nodiscard]] Rule rule() const {
    return {static_cast<R>(options_.alpha), static_cast<R>(1.0 - options_.alpha), static_cast<R>(options_.momentum),
            detail::positive<R>(options_.eps), options_.centered};
  }
  [[nodiscard]] detail::Rates<R> rates(const ParameterGroup<T, D>& group) const {
    return {static_cast<R>(group.lr()), static_cast<R>(group.weight_decay()), R(1),
            detail::sign_of_gradients<R>(options_.maximize)};
  }
  [[nodiscard]] detail::NoCorrections corrections() const { return {}; }

  RMSpropOptions options_;
};

#define LOCUS_OPTIMIZER RMSprop
#define LOCUS_OPTIONS RMSpropOptions
#include <locus/optim/steps.inc>

}}}  // namespace locus::LOCUS_ABI::optim

#include <locus/instances/optim/rmsprop.inc>
