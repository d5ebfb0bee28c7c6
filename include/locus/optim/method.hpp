#pragma once
// An optimizer as a method, the formula of its step, with options. Sgd, Adam and the others are such optimizers.

#include <locus/optim/optimizer_step.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim {

namespace detail {
/// Base of methods: defaults of what a method states about its options. A method adds
///
///   template <class R> using Rule        functor of a step in registers R: optim/update.hpp
///   template <class R> rule(options)     from which a Rule is made
///   check(options)                       throws ArgumentError for options out of range
///   states(options)                      numbers of state per element
///   state_name(options, which)           as PyTorch calls it
template <class O>
struct Method {
  using Options = O;
  /// Weights decay by lr * weight_decay before the step; otherwise the decay is added to gradients.
  static bool is_decoupled(const O&) { return false; }
  /// Factors that depend on the number of the step.
  static NoCorrections corrections(const O&) { return {}; }
  /// Of state 0, before the first step.
  static double initial_state(const O&) { return 0; }
};
/// A method with a momentum that schedules may change: momentum(options) refers to the option.
template <class M>
concept HasMomentum = requires(typename M::Options& options) { M::momentum(options); };
/// A method with a second rule, OtherRule, for options of which takes_other(options) is true.
template <class M, class R>
concept HasOtherRule = requires { typename M::template OtherRule<R>; };
}  // namespace detail

/// An optimizer that steps by a method. A class that derives from it adds constructors: from parameters and from
/// groups.
template <class T, class D, class Method>
class OptimizerBy : public Optimizer<T, D> {
 public:
  /// Of state `which`, as PyTorch calls it. throws IndexError where states() are fewer
  [[nodiscard]] const char* state_name(int which) const {
    this->require_state(which);
    return Method::state_name(options_, which);
  }

  // The next two are templates: an explicit instantiation of the class by clang 14 ignores constraints of its members.
  /// The option momentum; beta1 of Adam and Lion.
  template <class M = Method>
    requires detail::HasMomentum<M>
  [[nodiscard]] double momentum() const {
    Options options = options_;
    return M::momentum(options);
  }
  /// Takes effect at the next step. throws ArgumentError if out of range, and for an optimizer made without momentum,
  /// which has no state for it
  template <class M = Method>
    requires detail::HasMomentum<M>
  void set_momentum(double momentum) {
    Options options = options_;
    M::momentum(options) = 1;
    if (Method::states(options) > this->states())
      fail<ArgumentError>({"set_momentum: the optimizer was made without momentum"});
    M::momentum(options) = momentum;
    Method::check(options);
    options_ = options;
  }

  /// Updates every parameter that has a gradient. For half, step through a GradScaler.
  void step()
    requires detail::StepsAlone<T>;
  /// step(), unless the flag, one element on the device, is set: then values and state stay, and no step is counted, so
  /// that the bias correction counts only steps that were made. The host never waits for the flag; captured steps read
  /// it in each replay. cost: as step(), plus one launch that counts the step, in all later steps, too
  void step(const Tensor<bool, D>& skip);
#include <locus/refuse/optim/step.inc>

 protected:
  using Options = typename Method::Options;

  /// throws ArgumentError for options out of range
  OptimizerBy(std::vector<Parameter<T, D>> parameters, const Options& options)
      : Optimizer<T, D>(std::move(parameters), Method::states(options), checked(options).lr, options.weight_decay),
        options_(options) {
    fill_state();
  }
  /// Compiles steps of groups.
  OptimizerBy(const std::vector<Group<T, D>>& groups, const Options& options);
  [[nodiscard]] const Options& options() const { return options_; }

 private:
  friend class Optimizer<T, D>;
  using R = compute_t<T>;
  using Rule = typename Method::template Rule<R>;

  [[nodiscard]] static const Options& checked(const Options& options) {
    Method::check(options);
    return options;
  }
  void fill_state() {
    if (const double initial = Method::initial_state(options_); initial > 0) Optimizer<T, D>::fill_state(initial);
  }
  [[nodiscard]] bool takes_other() const {
    if constexpr (detail::HasOtherRule<Method, R>) return Method::takes_other(options_);
    else return false;
  }

  [[nodiscard]] auto rule() const { return Method::template rule<R>(options_); }
  [[nodiscard]] auto corrections() const { return Method::corrections(options_); }
  [[nodiscard]] detail::Rates<R> rates(const ParameterGroup<T, D>& group) const {
    const double lr = group.lr(), weight_decay = group.weight_decay();
    const bool decoupled = Method::is_decoupled(options_);
    return {static_cast<R>(lr), static_cast<R>(decoupled ? 0.0 : weight_decay),
            static_cast<R>(decoupled ? 1.0 - lr * weight_decay : 1.0), detail::sign_of_gradients<R>(options_.maximize)};
  }

  Options options_;
};
// Outside the class, and so not inline: the compiled library can hold them.
template <class T, class D, class Method>
OptimizerBy<T, D, Method>::OptimizerBy(const std::vector<Group<T, D>>& groups, const Options& options)
    : Optimizer<T, D>(groups, Method::states(options), checked(options).lr, options.weight_decay), options_(options) {
  fill_state();
  this->template use_groups<OptimizerBy>();
  if constexpr (detail::HasOtherRule<Method, R>)
    if (takes_other()) this->template use_groups<OptimizerBy, typename Method::template OtherRule<R>>();
}
template <class T, class D, class Method>
void OptimizerBy<T, D, Method>::step()
  requires detail::StepsAlone<T>
{
  if constexpr (detail::HasOtherRule<Method, R>)
    if (takes_other()) return this->template step_of<OptimizerBy, typename Method::template OtherRule<R>>(*this);
  this->step_of(*this);
}
template <class T, class D, class Method>
void OptimizerBy<T, D, Method>::step(const Tensor<bool, D>& skip) {
  if constexpr (detail::HasOtherRule<Method, R>)
    if (takes_other())
      return this->template step_unless<OptimizerBy, typename Method::template OtherRule<R>>(*this, skip);
  this->step_unless(*this, skip);
}

}}}  // namespace locus::LOCUS_ABI::optim
