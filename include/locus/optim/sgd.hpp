#pragma once
// Stochastic gradient descent, as torch.optim.SGD.

#include <locus/optim/optimizer.hpp>

namespace locus::inline LOCUS_ABI::optim {

struct SgdOptions {
  double lr = 0.001;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;  ///< L2 penalty
  bool nesterov = false;
};

namespace detail {
template <class R>
struct SgdStep {
  R lr, momentum, keep, weight_decay;  ///< keep: the share of the gradient that enters the momentum
  bool nesterov;
  LOCUS_FN void operator()(R value, R gradient, R velocity, R& new_value, R& new_velocity) const {
    const R g = gradient + weight_decay * value;
    new_velocity = momentum * velocity + keep * g;
    const R direction = nesterov ? g + momentum * new_velocity : new_velocity;
    new_value = value - lr * direction;
  }
};

/// throws ArgumentError for options out of range
[[nodiscard]] LOCUS_OUT_OF_LINE inline const SgdOptions& checked(const SgdOptions& options) {
  require_not_negative("learning rate", options.lr);
  require_not_negative("momentum", options.momentum);
  require_not_negative("weight_decay", options.weight_decay);
  locus::detail::require_finite("optimizer", "dampening", options.dampening);
  if (options.nesterov && (options.momentum <= 0 || options.dampening != 0)) {
    fail<ArgumentError>({"optimizer: Nesterov momentum needs momentum > 0 and dampening 0; got momentum ",
                         options.momentum, " and dampening ", options.dampening});
  }
  return options;
}
}  // namespace detail

/// v = momentum v + (1 - dampening) g; x = x - lr v, or x - lr (g + momentum v) with Nesterov's momentum
/// (Sutskever et al., 2013). cost: one launch for all parameters
template <class T, class D>
class Sgd : public Optimizer<T, D> {
 public:
  /// throws ArgumentError for options out of range, or Nesterov's momentum without momentum or with dampening
  explicit Sgd(std::vector<Parameter<T, D>> parameters, const SgdOptions& options = {})
      : Optimizer<T, D>(std::move(parameters), detail::checked(options).lr), options_(options) {}
#define LOCUS_REFUSED_OPTIMIZER Sgd
#define LOCUS_REFUSED_OPTIONS SgdOptions
#include <locus/refuse/parameters.inc>

  /// Updates every parameter that has a gradient.
  void step();

 private:
  SgdOptions options_;
  Tensor<T, D> velocity_;  ///< empty without momentum
};
// Outside the class, and so not inline: the compiled library can hold it.
template <class T, class D>
void Sgd<T, D>::step() {
  using R = compute_t<T>;
  if (options_.momentum != 0 && !velocity_.buffer()) velocity_ = this->arena_.filled_with_zeros();
  const auto make = [this](std::int64_t step) {
    const double keep = options_.momentum == 0 || step == 1 ? 1.0 : 1.0 - options_.dampening;
    return detail::SgdStep<R>{static_cast<R>(this->lr()), static_cast<R>(options_.momentum), static_cast<R>(keep),
                              static_cast<R>(options_.weight_decay), options_.nesterov};
  };
  this->arena_.update(make, velocity_);
}

template <class T, class D>
Sgd(std::vector<Parameter<T, D>>, SgdOptions = {}) -> Sgd<T, D>;
template <detail::HasParameters M>  // so that its constructor says what is wrong
Sgd(const M&, SgdOptions = {}) -> Sgd<value_of<M>, device_of<M>>;
template <class T, class D>
Sgd(std::initializer_list<Parameter<T, D>>, SgdOptions = {}) -> Sgd<T, D>;

}  // namespace locus::inline LOCUS_ABI::optim

#include <locus/instances/optim/sgd.inc>
