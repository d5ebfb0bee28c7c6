#pragma once
// Adagrad, as torch.optim.Adagrad.

#include <locus/core/math.hpp>
#include <locus/optim/method.hpp>

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

struct AdagradMethod : Method<AdagradOptions> {
  template <class R>
  using Rule = AdagradRule<R>;
  template <class R> static AdagradRule<R> rule(const AdagradOptions& o) { return {positive<R>(o.eps)}; }
  static AdagradCorrections corrections(const AdagradOptions& o) { return {o.lr_decay}; }
  static int states(const AdagradOptions&) { return 1; }
  static double initial_state(const AdagradOptions& o) { return o.initial_accumulator_value; }
  static const char* state_name(const AdagradOptions&, int) { return "sum"; }
  LOCUS_OUT_OF_LINE static void check(const AdagradOptions& options) {
    require_not_negative("learning rate", options.lr);
    require_not_negative("lr_decay", options.lr_decay);
    require_not_negative("weight_decay", options.weight_decay);
    require_not_negative("initial_accumulator_value", options.initial_accumulator_value);
    require_not_negative("eps", options.eps);
  }
};
}  // namespace detail

/// s = s + g^2; x = x - lr g / (sqrt(s) + eps) (Duchi, Hazan and Singer, 2011). An eps of 0 acts as the smallest normal
/// number. cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class Adagrad : public OptimizerBy<T, D, detail::AdagradMethod> {
 public:
  /// throws ArgumentError for options out of range
  explicit Adagrad(std::vector<Parameter<T, D>> parameters, const AdagradOptions& options = {})
      : OptimizerBy<T, D, detail::AdagradMethod>(std::move(parameters), options) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit Adagrad(const std::vector<Group<T, D>>& groups, const AdagradOptions& options = {})
      : OptimizerBy<T, D, detail::AdagradMethod>(groups, options) {}
#include <locus/refuse/optim/adagrad_class.inc>
};

#define LOCUS_OPTIMIZER Adagrad
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim

#include <locus/instances/optim/adagrad.inc>
