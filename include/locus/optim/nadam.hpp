#pragma once
// NAdam (Adam with Nesterov's momentum), as torch.optim.NAdam.

#include <locus/core/math.hpp>
#include <locus/optim/method.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct NAdamOptions {
  double lr = 0.002;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;              ///< L2 penalty, unless decoupled
  double momentum_decay = 0.004;        ///< how fast the momentum rises from beta1 / 2 to beta1
  bool decoupled_weight_decay = false;  ///< values shrink by lr weight_decay instead, as AdamW's
  bool maximize = false;                ///< steps go up: gradients count negated
};

namespace detail {
/// In step t, of the momenta mu_1, mu_2, ...: first: (1 - mu_t) / (1 - mu_1 ... mu_t), of the gradient; second:
/// mu_(t+1) / (1 - mu_1 ... mu_(t+1)), of the mean; third: 1 / sqrt(1 - beta2^t).
template <class Register>
struct NAdamRule {
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
    const R direction = corrections.first * g + corrections.second * new_mean;
    new_value = value * rates.decay - rates.lr * direction / (math::sqrt(new_square) * corrections.third + eps);
  }
};
/// The momentum of step t is mu_t = beta1 (1 - q^t / 2), with q = 0.96^momentum_decay.
struct NAdamCorrections {
  double beta1, beta2, decay;
  template <class R>
  [[nodiscard]] LOCUS_FN Corrections<R> of_step(std::int64_t step) const {
    const auto t = static_cast<double>(step);
    const double product = product_of_momenta(t), mu = momentum(t), next = momentum(t + 1.0);
    return {static_cast<R>((1.0 - mu) / (1.0 - product)), static_cast<R>(next / (1.0 - product * next)),
            static_cast<R>(1.0 / math::sqrt(1.0 - math::pow(beta2, t)))};
  }

 private:
  [[nodiscard]] LOCUS_FN double momentum(double t) const { return beta1 * (1.0 - 0.5 * math::pow(0.96, t * decay)); }
  /// mu_1 ... mu_t, without a loop over the steps: log(1 - q^i / 2) is -sum_k (q^i / 2)^k / k, and the sum over i of
  /// q^(ik) is geometric. Half of each term is lost in the next one, so that 54 terms have all bits.
  [[nodiscard]] LOCUS_FN double product_of_momenta(double t) const {
    const double q = math::pow(0.96, decay), power_of_t = math::pow(0.96, decay * t);
    double of_q = 1, of_power = 1, half = 1, log = 0;
    for (int k = 1; k <= 54; ++k) {
      of_q *= q, of_power *= power_of_t, half *= 0.5;
      const double terms = of_q < 1 ? of_q * (1.0 - of_power) / (1.0 - of_q) : t;
      log -= half / k * terms;
    }
    return math::pow(beta1, t) * math::exp(log);
  }
};

struct NAdamMethod : Method<NAdamOptions> {
  static double& momentum(NAdamOptions& o) { return o.beta1; }
  template <class R>
  using Rule = NAdamRule<R>;
  template <class R>
  static NAdamRule<R> rule(const NAdamOptions& o) {
    return {static_cast<R>(o.beta1), static_cast<R>(o.beta2), static_cast<R>(1.0 - o.beta1),
            static_cast<R>(1.0 - o.beta2), positive<R>(o.eps)};
  }
  static bool is_decoupled(const NAdamOptions& o) { return o.decoupled_weight_decay; }
  static NAdamCorrections corrections(const NAdamOptions& o) { return {o.beta1, o.beta2, o.momentum_decay}; }
  static int states(const NAdamOptions&) { return 2; }
  static const char* state_name(const NAdamOptions&, int which) { return which == 0 ? "exp_avg" : "exp_avg_sq"; }
  LOCUS_OUT_OF_LINE static void check(const NAdamOptions& options) {
    require_not_negative("learning rate", options.lr);
    require_betas(options.beta1, options.beta2);
    require_not_negative("eps", options.eps);
    require_not_negative("weight_decay", options.weight_decay);
    require_not_negative("momentum_decay", options.momentum_decay);
  }
};
}  // namespace detail

/// Adam that steps by the mean of gradients that the next step will have (Dozat, 2016): Nesterov's momentum. An eps of
/// 0 acts as the smallest normal number. cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class NAdam : public OptimizerBy<T, D, detail::NAdamMethod> {
 public:
  /// throws ArgumentError for options out of range
  explicit NAdam(std::vector<Parameter<T, D>> parameters, const NAdamOptions& options = {})
      : OptimizerBy<T, D, detail::NAdamMethod>(std::move(parameters), options) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit NAdam(const std::vector<Group<T, D>>& groups, const NAdamOptions& options = {})
      : OptimizerBy<T, D, detail::NAdamMethod>(groups, options) {}
#include <locus/refuse/optim/nadam_class.inc>
};

#define LOCUS_OPTIMIZER NAdam
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim
