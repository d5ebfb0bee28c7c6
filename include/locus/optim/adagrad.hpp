#pragma once
// Adagrad, as torch.optim.Adagrad.

#include <locus/core/math.hpp>
#include <locus/optim/optimizer_step.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct AdagradOptions {
  double lr = 0.01;
  double lr_decay = 0;      ///< the rate of step t is lr / (1 + (t - 1) lr_decay)
  double weight_decay = 0;  ///< L2 penalty
  double initial_accumulator_value = 0;
  double eps = 1e-10;
  bool maximize = false;  ///< steps go up: gradients count negated, before any weight decay
};

namespace detail {
/// first: 1 / (1 + (t - 1) lr_decay), in step t.
template <class Register>
struct AdagradRule {
  using R = Register;
  static constexpr int states = 1;
  R eps;
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>& corrections, R value, R gradient, R sum,
                           R& new_value, R& new_sum) const {
    const R g = gradient + rates.penalty * value;
    new_sum = sum + g * g;
    new_value = value - rates.lr * corrections.first * g / (math::sqrt(new_sum) + eps);
  }
};
struct AdagradCorrections {
  double lr_decay;
  template <class R>
  [[nodiscard]] LOCUS_FN Corrections<R> of_step(std::int64_t step) const {
    return {static_cast<R>(1.0 / (1.0 + static_cast<double>(step > 1 ? step - 1 : 0) * lr_decay)), R(0)};
  }
};

/// throws ArgumentError for options out of range
[[nodiscard]] LOCUS_OUT_OF_LINE inline const AdagradOptions& checked(const AdagradOptions& options) {
  require_not_negative("learning rate", options.lr);
  require_not_negative("lr_decay", options.lr_decay);
  require_not_negative("weight_decay", options.weight_decay);
  require_not_negative("initial_accumulator_value", options.initial_accumulator_value);
  require_not_negative("eps", options.eps);
  return options;
}
}  // namespace detail

/// s = s + g^2; x = x - lr g / (sqrt(s) + eps) (Duchi, Hazan and Singer, 2011). An eps of 0 acts as the smallest normal
/// number. cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class Adagrad : public Optimizer<T, D> {
 public:
  /// throws ArgumentError for options out of range
  explicit Adagrad(std::vector<Parameter<T, D>> parameters, const AdagradOptions& options = {})
      : Adagrad(options, std::move(parameters)) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit Adagrad(const std::vector<Group<T, D>>& groups, const AdagradOptions& options = {});
#include <locus/refuse/optim/adagrad_class.inc>

  /// Of state `which`, as PyTorch calls it. throws IndexError where states() are fewer
  [[nodiscard]] const char* state_name(int which) const {
    this->require_state(which);
    return "sum";
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
  using Rule = detail::AdagradRule<R>;

  template <class Parameters>
  Adagrad(const AdagradOptions& options, Parameters parameters)
      : Optimizer<T, D>(std::move(parameters), 1, detail::checked(options).lr, options.weight_decay),
        options_(options) {
    if (options.initial_accumulator_value > 0) this->fill_state(options.initial_accumulator_value);
  }
  [[nodiscard]] Rule rule() const { return {detail::positive<R>(options_.eps)}; }
  [[nodiscard]] detail::Rates<R> rates(const ParameterGroup<T, D>& group) const {
    return {static_cast<R>(group.lr()), static_cast<R>(group.weight_decay()), R(1),
            detail::sign_of_gradients<R>(options_.maximize)};
  }
  [[nodiscard]] detail::AdagradCorrections corrections() const { return {options_.lr_decay}; }

  AdagradOptions options_;
};

#define LOCUS_OPTIMIZER Adagrad
#define LOCUS_OPTIONS AdagradOptions
#include <locus/optim/steps.inc>

}}}  // namespace locus::LOCUS_ABI::optim

#include <locus/instances/optim/adagrad.inc>
