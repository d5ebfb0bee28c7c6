#pragma once
// Elementwise functors of an optimizer's step. A rule is the formula of one optimizer:
//
//   rule(rates, corrections, value, gradient, state..., new_value&, new_state&...)
//
// with `Rule::states` numbers of state, all of them in registers.

#include <locus/core/chain_rule.hpp>
#include <locus/core/dtype.hpp>
#include <locus/core/std/pack.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace optim::detail {

/// Numbers that differ between groups of parameters.
template <class R>
struct Rates {
  R lr = 0;
  R penalty = 0;  ///< times the value is added to the gradient
  R decay = 1;    ///< factor on the value before the step
  R sign = 1;     ///< of gradients: -1 where steps go up the gradient
};

/// Numbers that depend on the count of steps; each rule defines them.
template <class R>
struct Corrections {
  R first = 0, second = 0, third = 0;
};
/// Corrections of an optimizer whose steps do not depend on their count.
struct NoCorrections {
  template <class R> [[nodiscard]] LOCUS_FN Corrections<R> of_step(std::int64_t) const { return {}; }
};

/// X, whatever the index: repeats it in a parameter list.
template <int, class X>
using repeated_t = X;
template <class Rule>
using states_of = std::make_integer_sequence<int, Rule::states>;

/// Whether `exact` rounds to `value` in T.
template <class T, class R = compute_t<T>>
[[nodiscard]] LOCUS_FN bool rounds_to(R exact, R value) {
#if !LOCUS_CUDA
  if constexpr (std::is_same_v<T, bfloat16>) {  // without the 16 bits, which loops over 32 would pack and unpack
    const auto bits = __builtin_bit_cast(std::uint32_t, exact);
    const std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    return ((rounded ^ __builtin_bit_cast(std::uint32_t, value)) < 0x10000u) & (exact == exact);
  }
#endif
  return load_as_register(from_register<T>(exact)) == value;
}

template <class Rule, class T, class States>
struct WithMasterWeightsOf;
template <class Rule, class T, int... i>
struct WithMasterWeightsOf<Rule, T, std::integer_sequence<int, i...>> {
  static constexpr int states = Rule::states + 1;
  using R = compute_t<T>;
  Rule rule;
  LOCUS_FN void operator()(const Rates<R>& rates, const Corrections<R>& corrections, R value, R gradient, R master,
                           repeated_t<i, R>... state, R& new_value, R& new_master,
                           repeated_t<i, R>&... new_state) const {
    const R exact = locus::detail::either(rounds_to<T>(master, value), master, value);
    rule(rates, corrections, exact, gradient, state..., new_master, new_state...);
    new_value = new_master;
  }
};
/// The rule on an exact copy of each value, its master weight, from which the 16-bit value is rounded. A value written
/// from outside since, by load_state_dict for instance, replaces its master weight.
template <class Rule, class T>
struct WithMasterWeights : WithMasterWeightsOf<Rule, T, states_of<Rule>> {};
template <class T, class Rule>
[[nodiscard]] auto rule_for(const Rule& rule) {
  if constexpr (std::is_same_v<T, compute_t<T>>) return rule;
  else return WithMasterWeights<Rule, T>{{rule}};
}

template <class Rule, class States>
struct StepOfOneGroupBy;
template <class Rule, int... i>
struct StepOfOneGroupBy<Rule, std::integer_sequence<int, i...>> {
  using R = typename Rule::R;
  Rule rule;
  Rates<R> rates;
  Corrections<R> corrections;
  LOCUS_FN void operator()(R value, R gradient, repeated_t<i, R>... state, R& new_value,
                           repeated_t<i, R>&... new_state) const {
    rule(rates, corrections, value, rates.sign * gradient, state..., new_value, new_state...);
  }
};
/// A step of elements of one group.
template <class Rule>
struct StepOfOneGroup : StepOfOneGroupBy<Rule, states_of<Rule>> {};

/// A gradient times `unscale`, or unchanged if that is 0 (none given).
template <class R>
[[nodiscard]] LOCUS_FN R unscaled(R gradient, float unscale) {
  const R factor = static_cast<R>(unscale);
  return locus::detail::either(factor != R(0), gradient * factor, gradient);
}

template <class Rule, class States>
struct StepUnlessBy;
template <class Rule, int... i>
struct StepUnlessBy<Rule, std::integer_sequence<int, i...>> {
  static constexpr unsigned repeated = 0b11111u << (2 + Rule::states);  // corrections, skip, unscale
  using R = typename Rule::R;
  Rule rule;
  Rates<R> rates;
  LOCUS_FN void operator()(R value, R gradient, repeated_t<i, R>... state, R first, R second, R third, bool skip,
                           float unscale, R& new_value, repeated_t<i, R>&... new_state) const {
    const R g = rates.sign * unscaled(gradient, unscale);
    rule(rates, Corrections<R>{first, second, third}, value, g, state..., new_value, new_state...);
    new_value = locus::detail::either(skip, value, new_value);
    ((new_state = locus::detail::either(skip, state, new_state)), ...);
  }
};
/// A step of elements of one group, with corrections from memory; if `skip` is set, elements stay as they are.
/// Gradients with the scale of a loss are multiplied by `unscale`, in registers.
template <class Rule>
struct StepUnless : StepUnlessBy<Rule, states_of<Rule>> {};

template <class Rule, int n, class States>
struct StepOfGroupsBy;
template <class Rule, int n, int... i>
struct StepOfGroupsBy<Rule, n, std::integer_sequence<int, i...>> {
  static constexpr unsigned repeated = 0b11111u << (2 + Rule::states);  // corrections, skip, unscale
  using R = typename Rule::R;
  Rule rule;
  Rates<R> rates[n];
  Corrections<R> corrections;
  int first_group = 0;
  LOCUS_FN void operator()(R value, R gradient, repeated_t<i, R>... state, R first, R second, R third, bool skip,
                           float unscale, int group, R& new_value, repeated_t<i, R>&... new_state) const {
    const int own = group - first_group;
    const bool moves = !skip && own >= 0 && own < n;
    const Corrections<R> both{corrections.first + first, corrections.second + second, corrections.third + third};
    const Rates<R>& its_rates = rates[moves ? own : 0];
    rule(its_rates, both, value, its_rates.sign * unscaled(gradient, unscale), state..., new_value, new_state...);
    new_value = moves ? new_value : value;
    ((new_state = moves ? new_state : state), ...);
  }
};
/// A step of elements of the groups [first_group, first_group + n). Elements of other groups stay as they are, and all
/// elements if `skip` is set. Corrections come by value or from memory; the source that is not used gives zero.
template <class Rule, int n>
struct StepOfGroups : StepOfGroupsBy<Rule, n, states_of<Rule>> {};

/// Counts a step, unless it is skipped, and computes its corrections by the formula Correct.
template <class R, class Correct>
struct CountStep {
  Correct correct;
  LOCUS_FN void operator()(std::int64_t made, bool skip, std::int64_t& now, R& first, R& second, R& third) const {
    now = skip ? made : made + 1;
    const Corrections<R> corrections = correct.template of_step<R>(now);
    first = corrections.first;
    second = corrections.second;
    third = corrections.third;
  }
};

}}}  // namespace locus::LOCUS_ABI::optim::detail
