#pragma once
// Averaged stochastic gradient descent, as torch.optim.ASGD.

#include <locus/core/math.hpp>
#include <locus/optim/method.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct ASGDOptions {
  double lr = 0.01;
  double lambd = 0.0001;    ///< decay of values, times the rate of the step
  double alpha = 0.75;      ///< power with which the rate falls
  double t0 = 1000000;      ///< the average begins in the second step after so many; before, it is the last value
  double weight_decay = 0;  ///< L2 penalty
  bool maximize = false;    ///< steps go up: gradients count negated, before any weight decay
};

namespace detail {
/// first: t - 1, second: the weight of a value in the average, in step t.
template <class Register>
struct ASGDRule {
  using R = Register;
  static constexpr int states = 1;
  R lambda, alpha;
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>& corrections, R value, R gradient, R average,
                           R& new_value, R& new_average) const {
    const R g = gradient + rates.penalty * value;
    const R rate = rates.lr / math::pow(R(1) + lambda * rates.lr * corrections.first, alpha);
    new_value = value * (R(1) - lambda * rate) - rate * g;
    const R moved = average + corrections.second * (new_value - average);
    new_average = locus::detail::either(corrections.second == R(1), new_value, moved);
  }
};
struct ASGDCorrections {
  double t0;
  template <class R>
  [[nodiscard]] LOCUS_FN Corrections<R> of_step(std::int64_t step) const {
    const double before = static_cast<double>(step > 1 ? step - 1 : 0), averaged = before - t0;
    return {static_cast<R>(before), static_cast<R>(averaged > 1 ? 1.0 / averaged : 1.0)};
  }
};

struct ASGDMethod : Method<ASGDOptions> {
  template <class R>
  using Rule = ASGDRule<R>;
  template <class R>
  static ASGDRule<R> rule(const ASGDOptions& o) {
    return {static_cast<R>(o.lambd), static_cast<R>(o.alpha)};
  }
  static ASGDCorrections corrections(const ASGDOptions& o) { return {o.t0}; }
  static int states(const ASGDOptions&) { return 1; }
  static const char* state_name(const ASGDOptions&, int) { return "ax"; }
  LOCUS_OUT_OF_LINE static void check(const ASGDOptions& options) {
    require_not_negative("learning rate", options.lr);
    require_not_negative("lambd", options.lambd);
    require_not_negative("alpha", options.alpha);
    require_not_negative("t0", options.t0);
    require_not_negative("weight_decay", options.weight_decay);
  }
};
}  // namespace detail

/// eta = lr / (1 + lambd lr (t - 1))^alpha; x = (1 - lambd eta) x - eta g, in step t; the state ax is the mean of the
/// values after step t0 (Polyak and Juditsky, 1992): state(i, 0), to predict with. A change of the learning rate takes
/// effect at the next step (PyTorch's one step later).
/// cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class ASGD : public OptimizerBy<T, D, detail::ASGDMethod> {
 public:
  /// throws ArgumentError for options out of range
  explicit ASGD(std::vector<Parameter<T, D>> parameters, const ASGDOptions& options = {})
      : OptimizerBy<T, D, detail::ASGDMethod>(std::move(parameters), options) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit ASGD(const std::vector<Group<T, D>>& groups, const ASGDOptions& options = {})
      : OptimizerBy<T, D, detail::ASGDMethod>(groups, options) {}
#include <locus/refuse/optim/asgd_class.inc>
};

#define LOCUS_OPTIMIZER ASGD
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim
