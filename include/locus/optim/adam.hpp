#pragma once
// Adam and AdamW, as torch.optim's.

#include <locus/core/math.hpp>
#include <locus/optim/method.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

struct AdamOptions {
  double lr = 0.001;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  ///< L2 penalty
  bool amsgrad = false;     ///< steps by the largest running mean of squares so far
  bool maximize = false;    ///< steps go up: gradients count negated, before any weight decay
};
struct AdamWOptions {
  double lr = 0.001;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  ///< decoupled: not seen by the running means
  bool amsgrad = false;
  bool maximize = false;  ///< steps go up: gradients count negated; weights still decay
};

namespace detail {
/// first: 1 / (1 - beta1^t), second: 1 / sqrt(1 - beta2^t), in step t.
template <class R>
struct AdamNumbers {
  R beta1, beta2;
  R share1, share2;  ///< 1 - beta1, 1 - beta2: rounded once, for beta2 may be close to 1
  R eps;
  LOCUS_FN void average(const Rates<R>& rates, R value, R gradient, R& mean, R& square) const {
    const R g = gradient + rates.penalty * value;
    mean = beta1 * mean + share1 * g;
    square = beta2 * square + share2 * g * g;
  }
  LOCUS_FN R moved(const Rates<R>& rates, const Corrections<R>& corrections, R value, R mean, R square) const {
    const R step_size = rates.lr * corrections.first;
    return value * rates.decay - step_size * mean / (math::sqrt(square) * corrections.second + eps);
  }
};
template <class Register>
struct AdamRule : AdamNumbers<Register> {
  using R = Register;
  static constexpr int states = 2;
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>& corrections, R value, R gradient, R mean,
                           R square, R& new_value, R& new_mean, R& new_square) const {
    this->average(rates, value, gradient, mean, square);
    new_mean = mean, new_square = square;
    new_value = this->moved(rates, corrections, value, mean, square);
  }
};
template <class Register>
struct AmsgradRule : AdamNumbers<Register> {
  using R = Register;
  static constexpr int states = 3;
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>& corrections, R value, R gradient, R mean,
                           R square, R largest, R& new_value, R& new_mean, R& new_square, R& new_largest) const {
    this->average(rates, value, gradient, mean, square);
    new_mean = mean, new_square = square;
    new_largest = largest > square ? largest : square;
    new_value = this->moved(rates, corrections, value, mean, new_largest);
  }
};
struct AdamCorrections {
  double beta1, beta2;
  template <class R>
  [[nodiscard]] LOCUS_FN Corrections<R> of_step(std::int64_t step) const {
    const auto t = static_cast<double>(step);
    return {static_cast<R>(1.0 / (1.0 - math::pow(beta1, t))),
            static_cast<R>(1.0 / math::sqrt(1.0 - math::pow(beta2, t)))};
  }
};

/// Options of both Adam and AdamW.
struct AdamSettings : AdamOptions {
  bool decoupled = false;
};
struct AdamMethod : Method<AdamSettings> {
  static double& momentum(AdamOptions& o) { return o.beta1; }
  template <class R>
  using Rule = AdamRule<R>;
  template <class R>
  using OtherRule = AmsgradRule<R>;
  static bool takes_other(const AdamSettings& o) { return o.amsgrad; }
  template <class R>
  static AdamNumbers<R> rule(const AdamSettings& o) {
    return {static_cast<R>(o.beta1), static_cast<R>(o.beta2), static_cast<R>(1.0 - o.beta1),
            static_cast<R>(1.0 - o.beta2), positive<R>(o.eps)};
  }
  static bool is_decoupled(const AdamSettings& o) { return o.decoupled; }
  static AdamCorrections corrections(const AdamSettings& o) { return {o.beta1, o.beta2}; }
  static int states(const AdamSettings& o) { return o.amsgrad ? 3 : 2; }
  static const char* state_name(const AdamSettings&, int which) {
    return which == 0 ? "exp_avg" : which == 1 ? "exp_avg_sq" : "max_exp_avg_sq";
  }
  LOCUS_OUT_OF_LINE static void check(const AdamOptions& options) {
    require_not_negative("learning rate", options.lr);
    require_betas(options.beta1, options.beta2);
    require_not_negative("eps", options.eps);
    require_not_negative("weight_decay", options.weight_decay);
  }
};
}  // namespace detail

/// Adam (Kingma and Ba, 2015): steps by the running mean of gradients over the root of the running mean of their
/// squares. With amsgrad (Reddi et al., 2018) the mean of squares that a step divides by never shrinks, at the cost of
/// a third number of state per element. An eps of 0 acts as the smallest normal number: a value whose gradients were
/// all zero stays (PyTorch's becomes NaN). cost: one launch for all parameters; with groups, at most one for each
template <class T, class D>
class Adam : public OptimizerBy<T, D, detail::AdamMethod> {
 public:
  /// throws ArgumentError for options out of range
  explicit Adam(std::vector<Parameter<T, D>> parameters, const AdamOptions& options = {})
      : Base(std::move(parameters), {options, false}) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit Adam(const std::vector<Group<T, D>>& groups, const AdamOptions& options = {})
      : Base(groups, {options, false}) {}
#include <locus/refuse/optim/adam_class.inc>

 protected:
  using Base = OptimizerBy<T, D, detail::AdamMethod>;
  struct Decoupled {};
  template <class Parameters>
  Adam(Parameters parameters, const AdamOptions& options, Decoupled) : Base(std::move(parameters), {options, true}) {}
};
#define LOCUS_OPTIMIZER Adam
#include <locus/optim/guides.inc>

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019): values shrink by lr weight_decay before each step.
template <class T, class D>
class AdamW : public Adam<T, D> {
 public:
  explicit AdamW(std::vector<Parameter<T, D>> parameters, const AdamWOptions& options = {})
      : Adam<T, D>(std::move(parameters), of(options), Decoupled{}) {}
  /// From groups with a learning rate or a weight decay of their own.
  explicit AdamW(const std::vector<Group<T, D>>& groups, const AdamWOptions& options = {})
      : Adam<T, D>(groups, of(options), Decoupled{}) {}
#include <locus/refuse/optim/adamw_class.inc>

 private:
  using Decoupled = typename Adam<T, D>::Decoupled;
  [[nodiscard]] static AdamOptions of(const AdamWOptions& o) {
    return {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad, o.maximize};
  }
};
#define LOCUS_OPTIMIZER AdamW
#include <locus/optim/guides.inc>

}}}  // namespace locus::LOCUS_ABI::optim

#include <locus/instances/optim/adam.inc>
