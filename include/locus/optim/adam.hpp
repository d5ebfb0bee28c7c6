#pragma once
// Adam and AdamW, as torch.optim's.

#include <locus/core/math.hpp>
#include <locus/optim/optimizer.hpp>

namespace locus::inline LOCUS_ABI::optim {

struct AdamOptions {
  double lr = 0.001;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  ///< L2 penalty
};
struct AdamWOptions {
  double lr = 0.001;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  ///< decoupled: not seen by the running means
};

namespace detail {
template <class R>
struct AdamStep {
  R step_size, beta1, beta2;
  R share1, share2;           ///< 1 - beta1, 1 - beta2: rounded once, for beta2 may be close to 1
  R eps, penalty, decay;      ///< decay: what remains of a value before the step
  R inverse_root_correction;  ///< 1 / sqrt(1 - beta2^t)
  LOCUS_FN void operator()(R value, R gradient, R mean, R square, R& new_value, R& new_mean, R& new_square) const {
    const R g = gradient + penalty * value;
    new_mean = beta1 * mean + share1 * g;
    new_square = beta2 * square + share2 * g * g;
    new_value = value * decay - step_size * new_mean / (math::sqrt(new_square) * inverse_root_correction + eps);
  }
};

/// throws ArgumentError for options out of range
[[nodiscard]] LOCUS_OUT_OF_LINE inline const AdamOptions& checked(const AdamOptions& options) {
  require_not_negative("learning rate", options.lr);
  require_option(options.beta1 >= 0 && options.beta1 < 1, "beta1", options.beta1, "at least 0 and below 1");
  require_option(options.beta2 >= 0 && options.beta2 < 1, "beta2", options.beta2, "at least 0 and below 1");
  require_not_negative("eps", options.eps);
  require_not_negative("weight_decay", options.weight_decay);
  return options;
}
}  // namespace detail

/// Adam (Kingma and Ba, 2015): steps by the running mean of gradients over the root of that of their squares.
/// cost: one launch for all parameters
template <class T, class D>
class Adam : public Optimizer<T, D> {
 public:
  /// throws ArgumentError for options out of range
  explicit Adam(std::vector<Parameter<T, D>> parameters, const AdamOptions& options = {})
      : Adam(std::move(parameters), options, false) {}
#define LOCUS_REFUSED_OPTIMIZER Adam
#define LOCUS_REFUSED_OPTIONS AdamOptions
#include <locus/refuse/parameters.inc>

  /// Updates every parameter that has a gradient.
  void step();

 protected:
  Adam(std::vector<Parameter<T, D>> parameters, const AdamOptions& options, bool decoupled)
      : Optimizer<T, D>(std::move(parameters), detail::checked(options).lr), options_(options), decoupled_(decoupled) {}

 private:
  AdamOptions options_;
  bool decoupled_;
  Tensor<T, D> mean_, square_;
};
// Outside the class, and so not inline: the compiled library can hold it.
template <class T, class D>
void Adam<T, D>::step() {
  using R = compute_t<T>;
  if (!mean_.buffer()) {
    mean_ = this->arena_.filled_with_zeros();
    square_ = this->arena_.filled_with_zeros();
  }
  const auto make = [this](std::int64_t step) {
    const auto t = static_cast<double>(step);
    const double lr = this->lr();
    return detail::AdamStep<R>{static_cast<R>(lr / (1.0 - math::pow(options_.beta1, t))),
                               static_cast<R>(options_.beta1),
                               static_cast<R>(options_.beta2),
                               static_cast<R>(1.0 - options_.beta1),
                               static_cast<R>(1.0 - options_.beta2),
                               static_cast<R>(options_.eps),
                               static_cast<R>(decoupled_ ? 0.0 : options_.weight_decay),
                               static_cast<R>(decoupled_ ? 1.0 - lr * options_.weight_decay : 1.0),
                               static_cast<R>(1.0 / math::sqrt(1.0 - math::pow(options_.beta2, t)))};
  };
  this->arena_.update(make, mean_, square_);
}

template <class T, class D>
Adam(std::vector<Parameter<T, D>>, AdamOptions = {}) -> Adam<T, D>;
template <detail::HasParameters M>  // so that its constructor says what is wrong
Adam(const M&, AdamOptions = {}) -> Adam<value_of<M>, device_of<M>>;
template <class T, class D>
Adam(std::initializer_list<Parameter<T, D>>, AdamOptions = {}) -> Adam<T, D>;

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019): values shrink by lr weight_decay before each step.
template <class T, class D>
class AdamW : public Adam<T, D> {
 public:
  explicit AdamW(std::vector<Parameter<T, D>> parameters, const AdamWOptions& o = {})
      : Adam<T, D>(std::move(parameters), {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay}, true) {}
#define LOCUS_REFUSED_OPTIMIZER AdamW
#define LOCUS_REFUSED_OPTIONS AdamWOptions
#include <locus/refuse/parameters.inc>
};
template <class T, class D>
AdamW(std::vector<Parameter<T, D>>, AdamWOptions = {}) -> AdamW<T, D>;
template <detail::HasParameters M>  // so that its constructor says what is wrong
AdamW(const M&, AdamWOptions = {}) -> AdamW<value_of<M>, device_of<M>>;
template <class T, class D>
AdamW(std::initializer_list<Parameter<T, D>>, AdamWOptions = {}) -> AdamW<T, D>;

}  // namespace locus::inline LOCUS_ABI::optim

#include <locus/instances/optim/adam.inc>
