#pragma once
// RAdam (rectified Adam), as torch.optim.RAdam.

#include <locus/core/math.hpp>
#include <locus/optim/method.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct RAdamOptions {
  double lr = 0.001;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;              ///< L2 penalty, unless decoupled
  bool decoupled_weight_decay = false;  ///< values shrink by lr weight_decay instead, as AdamW's
  bool maximize = false;                ///< steps go up: gradients count negated
};

namespace detail {
/// first: 1 / (1 - beta1^t) in step t. second: the factor of 1 / (sqrt(v) + eps), or 0 where steps go by the mean
/// alone.
template <class Register>
struct RAdamRule {
  using R = Register;
  static constexpr int states = 2;
  R beta1, beta2;
  R share1, share2;  ///< 1 - beta1, 1 - beta2: rounded once
  R eps;
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>& corrections, R value, R gradient, R mean,
                           R square, R& new_value, R& new_mean, R& new_square) const {
    const R g = gradient + rates.penalty * value;
    new_mean = beta1 * mean + share1 * g;
    new_square = beta2 * square + share2 * g * g;
    const R adapted = corrections.second / (math::sqrt(new_square) + eps);
    const R factor = locus::detail::either(corrections.second > R(0), adapted, R(1));
    new_value = value * rates.decay - rates.lr * corrections.first * new_mean * factor;
  }
};
struct RAdamCorrections {
  double beta1, beta2;
  template <class R>
  [[nodiscard]] LOCUS_FN Corrections<R> of_step(std::int64_t step) const {
    const auto t = static_cast<double>(step);
    const double power = math::pow(beta2, t), most = 2.0 / (1.0 - beta2) - 1.0;
    const double length = most - 2.0 * t * power / (1.0 - power);  // of an equivalent simple average
    const double first = 1.0 / (1.0 - math::pow(beta1, t));
    if (!(length > 5.0)) return {static_cast<R>(first)};
    const double rectified = (length - 4.0) * (length - 2.0) * most / ((most - 4.0) * (most - 2.0) * length);
    return {static_cast<R>(first), static_cast<R>(math::sqrt(rectified * (1.0 - power)))};
  }
};

struct RAdamMethod : Method<RAdamOptions> {
  static double& momentum(RAdamOptions& o) { return o.beta1; }
  template <class R>
  using Rule = RAdamRule<R>;
  template <class R>
  static RAdamRule<R> rule(const RAdamOptions& o) {
    return {static_cast<R>(o.beta1), static_cast<R>(o.beta2), static_cast<R>(1.0 - o.beta1),
            static_cast<R>(1.0 - o.beta2), positive<R>(o.eps)};
  }
  static bool is_decoupled(const RAdamOptions& o) { return o.decoupled_weight_decay; }
  static RAdamCorrections corrections(const RAdamOptions& o) { return {o.beta1, o.beta2}; }
  static int states(const RAdamOptions&) { return 2; }
  static const char* state_name(const RAdamOptions&, int which) { return which == 0 ? "exp_avg" : "exp_avg_sq"; }
  LOCUS_OUT_OF_LINE static void check(const RAdamOptions& options) {
    require_not_negative("learning rate", options.lr);
    require_betas(options.beta1, options.beta2);
    require_not_negative("eps", options.eps);
    require_not_negative("weight_decay", options.weight_decay);
  }
};
}  // namespace detail

/// Adam whose first steps, while the mean of squares has seen few gradients, go by the mean of gradients alone, and
/// whose later steps are scaled by the variance of that mean of squares (Liu et al., 2020): no warm-up is needed. An
/// eps of 0 acts as the smallest normal number. cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class RAdam : public OptimizerBy<T, D, detail::RAdamMethod> {
 public:
  /// throws ArgumentError for options out of range
  explicit RAdam(std::vector<Parameter<T, D>> parameters, const RAdamOptions& options = {})
      : OptimizerBy<T, D, detail::RAdamMethod>(std::move(parameters), options) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit RAdam(const std::vector<Group<T, D>>& groups, const RAdamOptions& options = {})
      : OptimizerBy<T, D, detail::RAdamMethod>(groups, options) {}
#include <locus/refuse/optim/radam_class.inc>
};

#define LOCUS_OPTIMIZER RAdam
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim
