#pragma once
// Lion (evolved sign momentum). torch.optim has none; names and defaults follow the paper.

#include <locus/optim/method.hpp>

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

struct LionMethod : Method<LionOptions> {
  static double& momentum(LionOptions& o) { return o.beta1; }
  template <class R>
  using Rule = LionRule<R>;
  template <class R>
  static LionRule<R> rule(const LionOptions& o) {
    return {static_cast<R>(o.beta1), static_cast<R>(o.beta2), static_cast<R>(1.0 - o.beta1),
            static_cast<R>(1.0 - o.beta2)};
  }
  static bool is_decoupled(const LionOptions&) { return true; }
  static int states(const LionOptions&) { return 1; }
  static const char* state_name(const LionOptions&, int) { return "exp_avg"; }
  LOCUS_OUT_OF_LINE static void check(const LionOptions& options) {
    require_not_negative("learning rate", options.lr);
    require_betas(options.beta1, options.beta2);
    require_not_negative("weight_decay", options.weight_decay);
  }
};
}  // namespace detail

/// x = x - lr (sign(beta1 m + (1 - beta1) g) + weight_decay x); m = beta2 m + (1 - beta2) g (Chen et al., 2023). Every
/// value moves by lr, so that the paper takes a rate three to ten times smaller, and a weight decay as much larger,
/// than AdamW's. cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class Lion : public OptimizerBy<T, D, detail::LionMethod> {
 public:
  /// throws ArgumentError for options out of range
  explicit Lion(std::vector<Parameter<T, D>> parameters, const LionOptions& options = {})
      : OptimizerBy<T, D, detail::LionMethod>(std::move(parameters), options) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit Lion(const std::vector<Group<T, D>>& groups, const LionOptions& options = {})
      : OptimizerBy<T, D, detail::LionMethod>(groups, options) {}
#include <locus/refuse/optim/lion_class.inc>
};

#define LOCUS_OPTIMIZER Lion
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim

#include <locus/instances/optim/lion.inc>
