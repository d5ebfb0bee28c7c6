#pragma once
// Groups of an optimizer's parameters, with a learning rate and a weight decay of their own.

#include <locus/autograd/parameter.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

namespace detail {
/// throws ArgumentError naming the option and its value
LOCUS_OUT_OF_LINE inline void require_option(bool valid, const char* option, double given, const char* expected) {
  if (!valid) fail<ArgumentError>({"optimizer: ", option, " is ", given, "; expected ", expected});
}
inline void require_not_negative(const char* option, double given) {
  locus::detail::require_not_negative("optimizer", option, given);
}
/// Of Adam and its relatives.
LOCUS_OUT_OF_LINE inline void require_betas(double beta1, double beta2) {
  require_option(beta1 >= 0 && beta1 < 1, "beta1", beta1, "at least 0 and below 1");
  require_option(beta2 >= 0 && beta2 < 1, "beta2", beta2, "at least 0 and below 1");
}
/// eps, the divisor of a step where gradients were zero, but at least the smallest normal number.
template <class R>
[[nodiscard]] R positive(double eps) {
  const R rounded = static_cast<R>(eps), least = std::numeric_limits<R>::min();
  return rounded < least ? least : rounded;
}

/// Rates<R>::sign.
template <class R>
[[nodiscard]] R sign_of_gradients(bool maximize) {
  return maximize ? R(-1) : R(1);
}

template <class D, class E>
using other_device = error::device_mismatch<error::optimizer_is_on<D>, error::parameters_are_on<E>,
                                            error::make_the_optimizer_for_the_device_of_the_parameters>;

/// A model, rather than a list of its parameters. (An optimizer has parameters() too.)
template <class M>
concept HasParameters = requires(const M& model) {
  model.parameters();
  model.zero_grad();
} && !requires(M& optimizer) { optimizer.step(); };
template <class P>
concept ListOfParameters = locus::detail::HasPlace<typename P::value_type>;

/// Whether parameters of T may be stepped by gradients of an unscaled loss: gradients of half would vanish.
template <class T>
concept StepsAlone = !std::is_same_v<T, half>;
/// A loss of a GradScaler.
template <class X>
concept IsScaled = requires { typename X::IsScaledLoss; };

#include <locus/refuse/optim/step_mistakes.inc>
}  // namespace detail

/// An option that a group sets for itself or inherits from the optimizer.
class OwnOption {
 public:
  constexpr OwnOption() = default;
  constexpr OwnOption(double value) : value_(value), given_(true) {}
  [[nodiscard]] constexpr double or_else(double of_optimizer) const { return given_ ? value_ : of_optimizer; }

 private:
  double value_ = 0;
  bool given_ = false;
};
struct GroupOptions {
  OwnOption lr = {};
  OwnOption weight_decay = {};
};

LOCUS_REFUSALS_BEGIN
/// Parameters with their own options.
///
///     optim::Group decayed{weights, {.weight_decay = 0.01}}, others{biases, {.weight_decay = 0}};
///     optim::AdamW optimizer{{decayed, others}, {.lr = 0.001}};
template <class T, class D>
struct Group {
  std::vector<Parameter<T, D>> parameters;
  GroupOptions options;

  Group(std::vector<Parameter<T, D>> its_parameters, const GroupOptions& its_options = {})
      : parameters(std::move(its_parameters)), options(its_options) {}
#include <locus/refuse/optim/group_class.inc>
};
template <class T, class D>
Group(std::vector<Parameter<T, D>>, GroupOptions = {}) -> Group<T, D>;
template <class T, class D>
Group(std::initializer_list<Parameter<T, D>>, GroupOptions = {}) -> Group<T, D>;
template <detail::HasParameters M>  // so that its constructor reports the mistake
Group(const M&, GroupOptions = {}) -> Group<value_of<M>, device_of<M>>;
LOCUS_REFUSALS_END

namespace detail {
/// Any group; and SeveralDevices, the place of an optimizer whose groups have no common one: for refusals alone.
struct AnyGroup {
  template <class T, class D>
  AnyGroup(const Group<T, D>&);
};
struct SeveralDevices;
}  // namespace detail

/// The learning rate and the weight decay of a group.
class GroupRates {
 public:
  /// Takes the rates from the options, or from the optimizer if unset. throws ArgumentError as set_lr, set_weight_decay
  GroupRates(double lr, double weight_decay, const GroupOptions& options = {}) : of_optimizer_(lr) {
    set_lr(options.lr.or_else(lr));
    set_weight_decay(options.weight_decay.or_else(weight_decay));
  }
  [[nodiscard]] double lr() const { return lr_; }
  /// Takes effect at the next step. Later changes of the optimizer's rate keep the ratio between the two.
  /// throws ArgumentError unless lr >= 0 and finite
  LOCUS_OUT_OF_LINE void set_lr(double lr) {
    detail::require_not_negative("learning rate", lr);
    lr_ = lr;
    if (of_optimizer_ > 0) ratio_ = lr / of_optimizer_;
  }
  [[nodiscard]] double weight_decay() const { return weight_decay_; }
  /// throws ArgumentError unless weight_decay >= 0 and finite
  LOCUS_OUT_OF_LINE void set_weight_decay(double weight_decay) {
    detail::require_not_negative("weight_decay", weight_decay);
    weight_decay_ = weight_decay;
  }

 private:
  template <class T, class D>
  friend class Optimizer;
  void follow(double lr) {
    of_optimizer_ = lr;
    lr_ = ratio_ * lr;
  }

  double lr_ = 0, of_optimizer_, ratio_ = 1;
  double weight_decay_ = 0;
};
/// A group of an optimizer: optimizer.groups()[i].
template <class T, class D>
class ParameterGroup : public GroupRates {
 public:
  /// The parameters belong to the optimizer and live as long.
  [[nodiscard]] Span<const Parameter<T, D>> parameters() const { return parameters_; }

 private:
  template <class U, class E>
  friend class Optimizer;
  ParameterGroup(const GroupRates& rates, Span<const Parameter<T, D>> parameters)
      : GroupRates(rates), parameters_(parameters) {}

  Span<const Parameter<T, D>> parameters_;
};

}}}  // namespace locus::LOCUS_ABI::optim
