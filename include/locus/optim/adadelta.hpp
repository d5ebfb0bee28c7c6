#pragma once
// Adadelta, as torch.optim.Adadelta.

#include <locus/core/math.hpp>
#include <locus/optim/method.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct AdadeltaOptions {
  double lr = 1;
  double rho = 0.9;  ///< of both running means of squares
  double eps = 1e-6;
  double weight_decay = 0;  ///< L2 penalty
  bool maximize = false;    ///< steps go up: gradients count negated, before any weight decay
};

namespace detail {
template <class Register>
struct AdadeltaRule {
  using R = Register;
  static constexpr int states = 2;
  R rho, share;  ///< share: 1 - rho, rounded once
  R eps;
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>&, R value, R gradient, R square, R change,
                           R& new_value, R& new_square, R& new_change) const {
    const R g = gradient + rates.penalty * value;
    new_square = rho * square + share * g * g;
    const R step = math::sqrt(change + eps) / math::sqrt(new_square + eps) * g;
    new_change = rho * change + share * step * step;
    new_value = value - rates.lr * step;
  }
};

struct AdadeltaMethod : Method<AdadeltaOptions> {
  template <class R>
  using Rule = AdadeltaRule<R>;
  template <class R>
  static AdadeltaRule<R> rule(const AdadeltaOptions& o) {
    return {static_cast<R>(o.rho), static_cast<R>(1.0 - o.rho), positive<R>(o.eps)};
  }
  static int states(const AdadeltaOptions&) { return 2; }
  static const char* state_name(const AdadeltaOptions&, int which) { return which == 0 ? "square_avg" : "acc_delta"; }
  LOCUS_OUT_OF_LINE static void check(const AdadeltaOptions& options) {
    require_not_negative("learning rate", options.lr);
    require_option(options.rho >= 0 && options.rho <= 1, "rho", options.rho, "0 to 1");
    require_not_negative("eps", options.eps);
    require_not_negative("weight_decay", options.weight_decay);
  }
};
}  // namespace detail

/// s = rho s + (1 - rho) g^2; d = sqrt(u + eps) / sqrt(s + eps) g; u = rho u + (1 - rho) d^2; x = x - lr d (Zeiler,
/// 2012): the size of a step follows from the sizes of earlier steps. An eps of 0 acts as the smallest normal number.
/// cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class Adadelta : public OptimizerBy<T, D, detail::AdadeltaMethod> {
 public:
  /// throws ArgumentError for options out of range
  explicit Adadelta(std::vector<Parameter<T, D>> parameters, const AdadeltaOptions& options = {})
      : OptimizerBy<T, D, detail::AdadeltaMethod>(std::move(parameters), options) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit Adadelta(const std::vector<Group<T, D>>& groups, const AdadeltaOptions& options = {})
      : OptimizerBy<T, D, detail::AdadeltaMethod>(groups, options) {}
#include <locus/refuse/optim/adadelta_class.inc>
};

#define LOCUS_OPTIMIZER Adadelta
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim

#include <locus/instances/optim/adadelta.inc>
