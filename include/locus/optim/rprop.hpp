#pragma once
// Resilient backpropagation, as torch.optim.Rprop.

#include <locus/core/math.hpp>
#include <locus/optim/method.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct RpropOptions {
  double lr = 0.01;                      ///< of the first step alone: the first size of each element's step
  double etaminus = 0.5, etaplus = 1.2;  ///< factors of that size where signs of gradients differ, or agree
  double step_size_min = 1e-6, step_size_max = 50;
  bool maximize = false;  ///< steps go up: gradients count negated
};

namespace detail {
/// PyTorch's Rprop has no weight decay.
struct RpropSettings : RpropOptions {
  static constexpr double weight_decay = 0;
};
/// first: 1 in the first step, later 0.
template <class Register>
struct RpropRule {
  using R = Register;
  static constexpr int states = 2;
  R minus, plus, least, most;
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>& corrections, R value, R gradient, R before,
                           R size, R& new_value, R& new_before, R& new_size) const {
    const R g = gradient + rates.penalty * value;
    const R sign = g * before;
    const R own = corrections.first > R(0) ? rates.lr : size;
    const R grown = own * (sign > R(0) ? plus : sign < R(0) ? minus : R(1));
    const R limited = grown < least ? least : grown > most ? most : grown;
    const R followed = sign < R(0) ? R(0) : g;
    const R still = followed == R(0) ? R(0) : followed;  // 0, or NaN
    new_size = limited;
    new_before = followed;
    new_value = value * rates.decay - limited * (followed > R(0) ? R(1) : followed < R(0) ? R(-1) : still);
  }
};
struct RpropCorrections {
  template <class R>
  [[nodiscard]] LOCUS_FN Corrections<R> of_step(std::int64_t step) const {
    return {step <= 1 ? R(1) : R(0)};
  }
};

struct RpropMethod : Method<RpropSettings> {
  template <class R>
  using Rule = RpropRule<R>;
  template <class R>
  static RpropRule<R> rule(const RpropOptions& o) {
    return {static_cast<R>(o.etaminus), static_cast<R>(o.etaplus), static_cast<R>(o.step_size_min),
            static_cast<R>(o.step_size_max)};
  }
  static RpropCorrections corrections(const RpropOptions&) { return {}; }
  static int states(const RpropOptions&) { return 2; }
  static const char* state_name(const RpropOptions&, int which) { return which == 0 ? "prev" : "step_size"; }
  LOCUS_OUT_OF_LINE static void check(const RpropOptions& options) {
    require_not_negative("learning rate", options.lr);
    require_option(options.etaminus > 0 && options.etaminus < 1, "etaminus", options.etaminus, "between 0 and 1");
    require_option(options.etaplus > 1 && locus::detail::is_finite(options.etaplus), "etaplus", options.etaplus,
                   "a finite number above 1");
    require_not_negative("step_size_min", options.step_size_min);
    require_not_negative("step_size_max", options.step_size_max);
    require_option(options.step_size_min <= options.step_size_max, "step_size_min", options.step_size_min,
                   "step_size_max at most");
  }
};
}  // namespace detail

/// Moves each element by a size of its own against the sign of its gradient; the size grows by etaplus while the sign
/// stays, and shrinks by etaminus when it changes, in which step the element waits (Riedmiller and Braun, 1993). Made
/// for gradients of whole data sets, since those of batches change their signs by chance. As in PyTorch, set_lr has no
/// effect after the first step. cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class Rprop : public OptimizerBy<T, D, detail::RpropMethod> {
 public:
  /// throws ArgumentError for options out of range
  explicit Rprop(std::vector<Parameter<T, D>> parameters, const RpropOptions& options = {})
      : OptimizerBy<T, D, detail::RpropMethod>(std::move(parameters), {options}) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit Rprop(const std::vector<Group<T, D>>& groups, const RpropOptions& options = {})
      : OptimizerBy<T, D, detail::RpropMethod>(groups, {options}) {}
#include <locus/refuse/optim/rprop_class.inc>
};

#define LOCUS_OPTIMIZER Rprop
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim
