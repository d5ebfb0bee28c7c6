#pragma once
// Stochastic gradient descent, as torch.optim.SGD.

#include <locus/optim/method.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct SgdOptions {
  double lr = 0.001;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;  ///< L2 penalty
  bool nesterov = false;
  bool maximize = false;  ///< steps go up: gradients count negated, before any weight decay
};

namespace detail {
/// first: the share of the gradient that enters the momentum.
template <class Register>
struct SgdRule {
  using R = Register;
  static constexpr int states = 1;
  R momentum;
  R nesterov;  ///< 1, or 0. (Of a bool, g++ makes no vector beside 16-bit floats.)
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>& corrections, R value, R gradient, R velocity,
                           R& new_value, R& new_velocity) const {
    const R g = gradient + rates.penalty * value;
    new_velocity = momentum * velocity + corrections.first * g;
    const R direction = locus::detail::either(nesterov != R(0), g + momentum * new_velocity, new_velocity);
    new_value = value - rates.lr * direction;
  }
};
struct SgdCorrections {
  double share;  ///< from the second step on
  template <class R>
  [[nodiscard]] LOCUS_FN Corrections<R> of_step(std::int64_t step) const {
    return {static_cast<R>(step <= 1 ? 1.0 : share), R(0)};
  }
};

struct SgdMethod : Method<SgdOptions> {
  static double& momentum(SgdOptions& o) { return o.momentum; }
  template <class R>
  using Rule = SgdRule<R>;
  template <class R> static SgdRule<R> rule(const SgdOptions& o) { return {static_cast<R>(o.momentum), R(o.nesterov)}; }
  static SgdCorrections corrections(const SgdOptions& o) { return {o.momentum == 0 ? 1.0 : 1.0 - o.dampening}; }
  static int states(const SgdOptions& o) { return o.momentum != 0; }
  static const char* state_name(const SgdOptions&, int) { return "momentum_buffer"; }
  LOCUS_OUT_OF_LINE static void check(const SgdOptions& options) {
    require_not_negative("learning rate", options.lr);
    require_not_negative("momentum", options.momentum);
    require_not_negative("weight_decay", options.weight_decay);
    locus::detail::require_finite("optimizer", "dampening", options.dampening);
    if (options.nesterov && (options.momentum <= 0 || options.dampening != 0)) {
      fail<ArgumentError>({"optimizer: Nesterov momentum needs momentum > 0 and dampening 0; got momentum ",
                           options.momentum, " and dampening ", options.dampening});
    }
  }
};
}  // namespace detail

/// v = momentum v + (1 - dampening) g; x = x - lr v, or x - lr (g + momentum v) with Nesterov's momentum
/// (Sutskever et al., 2013). cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class Sgd : public OptimizerBy<T, D, detail::SgdMethod> {
 public:
  /// throws ArgumentError for options out of range, or Nesterov's momentum without momentum or with dampening
  explicit Sgd(std::vector<Parameter<T, D>> parameters, const SgdOptions& options = {})
      : OptimizerBy<T, D, detail::SgdMethod>(std::move(parameters), options) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit Sgd(const std::vector<Group<T, D>>& groups, const SgdOptions& options = {})
      : OptimizerBy<T, D, detail::SgdMethod>(groups, options) {}
#include <locus/refuse/optim/sgd_class.inc>
};

#define LOCUS_OPTIMIZER Sgd
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim

#include <locus/instances/optim/sgd.inc>
