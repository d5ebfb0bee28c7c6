#pragma once
// RMSprop, as torch.optim.RMSprop.

#include <locus/core/math.hpp>
#include <locus/optim/method.hpp>

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

struct RMSpropMethod : Method<RMSpropOptions> {
  static double& momentum(RMSpropOptions& o) { return o.momentum; }
  template <class R>
  using Rule = RMSpropRule<R>;
  template <class R>
  static RMSpropRule<R> rule(const RMSpropOptions& o) {
    return {static_cast<R>(o.alpha), static_cast<R>(1.0 - o.alpha), static_cast<R>(o.momentum), positive<R>(o.eps),
            o.centered};
  }
  static int states(const RMSpropOptions& o) { return 1 + o.centered + (o.momentum != 0); }
  static const char* state_name(const RMSpropOptions& o, int which) {
    return which == 0 ? "square_avg" : which == 1 && o.centered ? "grad_avg" : "momentum_buffer";
  }
  LOCUS_OUT_OF_LINE static void check(const RMSpropOptions& options) {
    require_not_negative("learning rate", options.lr);
    require_option(options.alpha >= 0 && options.alpha <= 1, "alpha", options.alpha, "0 to 1");
    require_not_negative("eps", options.eps);
    require_not_negative("weight_decay", options.weight_decay);
    require_not_negative("momentum", options.momentum);
  }
};
}  // namespace detail

/// s = alpha s + (1 - alpha) g^2; x = x - lr g / (sqrt(s) + eps), or by the momentum of these steps; if centered, the
/// squared running mean of g is subtracted from s (Tieleman and Hinton, 2012; Graves, 2013). An eps of 0 acts as the
/// smallest normal number. cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class RMSprop : public OptimizerBy<T, D, detail::RMSpropMethod> {
 public:
  /// throws ArgumentError for options out of range
  explicit RMSprop(std::vector<Parameter<T, D>> parameters, const RMSpropOptions& options = {})
      : OptimizerBy<T, D, detail::RMSpropMethod>(std::move(parameters), options) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit RMSprop(const std::vector<Group<T, D>>& groups, const RMSpropOptions& options = {})
      : OptimizerBy<T, D, detail::RMSpropMethod>(groups, options) {}
#include <locus/refuse/optim/rmsprop_class.inc>
};

#define LOCUS_OPTIMIZER RMSprop
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim

#include <locus/instances/optim/rmsprop.inc>
