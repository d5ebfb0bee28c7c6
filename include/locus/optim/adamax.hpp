#pragma once
// Adamax, as torch.optim.Adamax.

#include <locus/core/math.hpp>
#include <locus/optim/method.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct AdamaxOptions {
  double lr = 0.002;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  ///< L2 penalty
  bool maximize = false;    ///< steps go up: gradients count negated, before any weight decay
};

namespace detail {
/// first: 1 / (1 - beta1^t), in step t.
template <class Register>
struct AdamaxRule {
  using R = Register;
  static constexpr int states = 2;
  R beta1, share1;  ///< share1: 1 - beta1, rounded once
  R beta2, eps;
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>& corrections, R value, R gradient, R mean,
                           R largest, R& new_value, R& new_mean, R& new_largest) const {
    const R g = gradient + rates.penalty * value;
    const R decayed = beta2 * largest, size = (g < R(0) ? -g : g) + eps;
    new_mean = beta1 * mean + share1 * g;
    new_largest = decayed > size ? decayed : size;
    new_value = value - rates.lr * corrections.first * new_mean / new_largest;
  }
};
struct AdamaxCorrections {
  double beta1;
  template <class R>
  [[nodiscard]] LOCUS_FN Corrections<R> of_step(std::int64_t step) const {
    return {static_cast<R>(1.0 / (1.0 - math::pow(beta1, static_cast<double>(step))))};
  }
};

struct AdamaxMethod : Method<AdamaxOptions> {
  static double& momentum(AdamaxOptions& o) { return o.beta1; }
  template <class R>
  using Rule = AdamaxRule<R>;
  template <class R>
  static AdamaxRule<R> rule(const AdamaxOptions& o) {
    return {static_cast<R>(o.beta1), static_cast<R>(1.0 - o.beta1), static_cast<R>(o.beta2), positive<R>(o.eps)};
  }
  static AdamaxCorrections corrections(const AdamaxOptions& o) { return {o.beta1}; }
  static int states(const AdamaxOptions&) { return 2; }
  static const char* state_name(const AdamaxOptions&, int which) { return which == 0 ? "exp_avg" : "exp_inf"; }
  LOCUS_OUT_OF_LINE static void check(const AdamaxOptions& options) {
    require_not_negative("learning rate", options.lr);
    require_betas(options.beta1, options.beta2);
    require_not_negative("eps", options.eps);
    require_not_negative("weight_decay", options.weight_decay);
  }
};
}  // namespace detail

/// m = beta1 m + (1 - beta1) g; u = max(beta2 u, |g| + eps); x = x - lr / (1 - beta1^t) m / u (Kingma and Ba, 2015):
/// Adam by the largest gradient of late in place of the root of the mean square. An eps of 0 acts as the smallest
/// normal number. cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class Adamax : public OptimizerBy<T, D, detail::AdamaxMethod> {
 public:
  /// throws ArgumentError for options out of range
  explicit Adamax(std::vector<Parameter<T, D>> parameters, const AdamaxOptions& options = {})
      : OptimizerBy<T, D, detail::AdamaxMethod>(std::move(parameters), options) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit Adamax(const std::vector<Group<T, D>>& groups, const AdamaxOptions& options = {})
      : OptimizerBy<T, D, detail::AdamaxMethod>(groups, options) {}
#include <locus/refuse/optim/adamax_class.inc>
};

#define LOCUS_OPTIMIZER Adamax
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim
