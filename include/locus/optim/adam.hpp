#pragma once
// Adam and AdamW, as torch.optim's.

#include <locus/core/math.hpp>
#include <locus/optim/optimizer_step.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct AdamOptions {
  double lr = 0.001;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  ///< L2 penalty
  bool amsgrad = false;     ///< steps by the largest running mean of squares so far
  bool maximize = false;    ///< steps go up: gradients count negated, before any weight decay
};
struct AdamWOptions {
  double lr = 0.001;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  ///< decoupled: not seen by the running means
  bool amsgrad = false;
  bool maximize = false;  ///< steps go up: gradients count negated; weights still decay
};

namespace detail {
/// first: 1 / (1 - beta1^t), second: 1 / sqrt(1 - beta2^t), in step t.
template <class R>
struct AdamNumbers {
  R beta1, beta2;
  R share1, share2;  ///< 1 - beta1, 1 - beta2: rounded once, for beta2 may be close to 1
  R eps;
  LOCUS_FN void average(const Rates<R>& rates, R value, R gradient, R& mean, R& square) const {
    const R g = gradient + rates.penalty * value;
    mean = beta1 * mean + share1 * g;
    square = beta2 * square + share2 * g * g;
  }
  LOCUS_FN R moved(const Rates<R>& rates, const Corrections<R>& corrections, R value, R mean, R square) const {
    const R step_size = rates.lr * corrections.first;
    return value * rates.decay - step_size * mean / (math::sqrt(square) * corrections.second + eps);
  }
};
template <class Register>
struct AdamRule : AdamNumbers<Register> {
  using R = Register;
  static constexpr int states = 2;
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>& corrections, R value, R gradient, R mean,
                           R square, R& new_value, R& new_mean, R& new_square) const {
    this->average(rates, value, gradient, mean, square);
    new_mean = mean, new_square = square;
    new_value = this->moved(rates, corrections, value, mean, square);
  }
};
template <class Register>
struct AmsgradRule : AdamNumbers<Register> {
  using R = Register;
  static constexpr int states = 3;
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>& corrections, R value, R gradient, R mean,
                           R square, R largest, R& new_value, R& new_mean, R& new_square, R& new_largest) const {
    this->average(rates, value, gradient, mean, square);
    new_mean = mean, new_square = square;
    new_largest = largest > square ? largest : square;
    new_value = this->moved(rates, corrections, value, mean, new_largest);
  }
};
struct AdamCorrections {
  double beta1, beta2;
  template <class R>
  [[nodiscard]] LOCUS_FN Corrections<R> of_step(std::int64_t step) const {
    const auto t = static_cast<double>(step);
    return {static_cast<R>(1.0 / (1.0 - math::pow(beta1, t))),
            static_cast<R>(1.0 / math::sqrt(1.0 - math::pow(beta2, t)))};
  }
};

/// throws ArgumentError for options out of range
[[nodiscard]] LOCUS_OUT_OF_LINE inline const AdamOptions& checked(const AdamOptions& options) {
  require_not_negative("learning rate", options.lr);
  require_option(options.beta1 >= 0 && options.beta1 < 1, "beta1", options.beta1, "at least 0 and below 1");
  require_option(options.beta2 >= 0 && options.beta2 < 1, "beta2", options.beta2, "at least 0 and below 1");
  require_not_negative("eps", options.eps);
  require_not_negative("weight_decay", options.weight_decay);
  return options;
}
}  // namespace detail

/// Adam (Kingma and Ba, 2015): steps by the running mean of gradients over the root of the running mean of their
/// squares. With amsgrad (Reddi et al., 2018) the mean of squares that a step divides by never shrinks, at the cost of
/// a third number of state per element. An eps of 0 acts as the smallest normal number: a value whose gradients were
/// all zero stays (PyTorch's becomes NaN). cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class Adam : public Optimizer<T, D> {
 public:
  /// throws ArgumentError for options out of range
  explicit Adam(std::vector<Parameter<T, D>> parameters, const AdamOptions& options = {})
      : Adam(std::move(parameters), options, false) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit Adam(const std::vector<Group<T, D>>& groups, const AdamOptions& options = {});
#include <locus/refuse/optim/adam_class.inc>

  /// Of state `which`, as PyTorch calls it. throws IndexError where states() are fewer
  [[nodiscard]] const char* state_name(int which) const {
    this->require_state(which);
    return which == 0 ? "exp_avg" : which == 1 ? "exp_avg_sq" : "max_exp_avg_sq";
  }

  /// beta1.
  [[nodiscard]] double momentum() const { return options_.beta1; }
  /// Takes effect at the next step. throws ArgumentError if out of range
  void set_momentum(double beta1) {
    AdamOptions options = options_;
    options.beta1 = beta1;
    options_ = detail::checked(options);
  }

  /// Updates every parameter that has a gradient. For half, step through a GradScaler.
  void step()
    requires detail::StepsAlone<T>;
  /// step(), unless the flag, one element on the device, is set: then values and state stay, and no step is counted, so
  /// that the bias correction counts only steps that were made. The host never waits for the flag; captured steps read
  /// it in each replay. cost: as step(), plus one launch that counts the step, in all later steps, too
  void step(const Tensor<bool, D>& skip);
#include <locus/refuse/optim/step.inc>

 protected:
  template <class Parameters>
  Adam(Parameters parameters, const AdamOptions& options, bool decoupled)
      : Optimizer<T, D>(std::move(parameters), options.amsgrad ? 3 : 2, detail::checked(options).lr,
                        options.weight_decay),
        options_(options),
        decoupled_(decoupled) {}
  /// Compiles steps of groups only for optimizers that have several.
  void use_groups_of_rule() {
    if (options_.amsgrad) this->template use_groups<Adam, Amsgrad>();
    else this->template use_groups<Adam>();
  }

 private:
  friend class Optimizer<T, D>;
  using R = compute_t<T>;
  using Rule = detail::AdamRule<R>;
  using Amsgrad = detail::AmsgradRule<R>;

  [[nodiscard]] detail::AdamNumbers<R> rule() const {
    return {static_cast<R>(options_.beta1), static_cast<R>(options_.beta2), static_cast<R>(1.0 - options_.beta1),
            static_cast<R>(1.0 - options_.beta2), detail::positive<R>(options_.eps)};
  }
  [[nodiscard]] detail::Rates<R> rates(const ParameterGroup<T, D>& group) const {
    const double lr = group.lr(), weight_decay = group.weight_decay();
    return {static_cast<R>(lr), static_cast<R>(decoupled_ ? 0.0 : weight_decay),
            static_cast<R>(decoupled_ ? 1.0 - lr * weight_decay : 1.0),
            detail::sign_of_gradients<R>(options_.maximize)};
  }
  [[nodiscard]] detail::AdamCorrections corrections() const { return {options_.beta1, options_.beta2}; }

  AdamOptions options_;
  bool decoupled_;
};
// Outside the class, and so not inline: the compiled library can hold them.
template <class T, class D>
Adam<T, D>::Adam(const std::vector<Group<T, D>>& groups, const AdamOptions& options) : Adam(groups, options, false) {
  use_groups_of_rule();
}
template <class T, class D>
void Adam<T, D>::step()
  requires detail::StepsAlone<T>
{
  if (options_.amsgrad) this->template step_of<Adam, Amsgrad>(*this);
  else this->step_of(*this);
}
template <class T, class D>
void Adam<T, D>::step(const Tensor<bool, D>& skip) {
  if (options_.amsgrad) this->template step_unless<Adam, Amsgrad>(*this, skip);
  else this->step_unless(*this, skip);
}

#define LOCUS_OPTIMIZER Adam
#define LOCUS_OPTIONS AdamOptions
#include <locus/optim/guides.inc>

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019): values shrink by lr weight_decay before each step.
template <class T, class D>
class AdamW : public Adam<T, D> {
 public:
  explicit AdamW(std::vector<Parameter<T, D>> parameters, const AdamWOptions& o = {})
      : Adam<T, D>(std::move(parameters), {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad, o.maximize},
                   true) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit AdamW(const std::vector<Group<T, D>>& groups, const AdamWOptions& o = {});
#include <locus/refuse/optim/adamw_class.inc>
};
template <class T, class D>
AdamW<T, D>::AdamW(const std::vector<Group<T, D>>& groups, const AdamWOptions& o)
    : Adam<T, D>(groups, {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad, o.maximize}, true) {
  this->use_groups_of_rule();
}
#define LOCUS_OPTIMIZER AdamW
#define LOCUS_OPTIONS AdamWOptions
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim

#include <locus/instances/optim/adam.inc>
