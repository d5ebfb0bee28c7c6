#pragma once
// The states of results, from the states of operands along one axis: one table, and no types.

#include <locus/core/check.hpp>
#include <locus/core/spread.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// The relation of a function to sums of its operands over ranks.
enum class Linearity : unsigned char {
  any,       ///< none
  linear,    ///< linear in the first operand; the others are the same on all ranks: sum, reshape, division
  additive,  ///< f(sum a, sum b) = sum f(a, b): +, -, concat
  bilinear,  ///< linear in each of two operands: *, matmul
  affine     ///< the same, with a third that is added and a function of the result: linear
};

namespace detail {

/// The reason why operands do not fit, the gravest last.
enum class Unsound : unsigned char {
  nothing,
  unlabelled,    ///< an operand does not say how it is spread
  meshes,        ///< axes of two meshes
  nonlinear,     ///< of a Partial operand
  times,         ///< Partial times Partial
  with_varying,  ///< Partial with Varying
  counted,       ///< Partial with a summand that every rank would add
  invariant,     ///< an Invariant operand that collects a gradient, with one that is not Invariant
  updated,  ///< running statistics, by values of each rank, though they are the same on all ranks, or the other way
  library   ///< in two places, or of two element types
};

/// An argument of a call, along one axis.
struct Operand {
  bool is_value = false;     ///< a tensor, traced tensor, parameter or expression, labelled or not
  bool is_labelled = false;  ///< an Over
  bool collects = false;     ///< whether it collects a gradient
  bool is_number = false;
  Spread spread = Spread::invariant;
  bool is_updated = false;  ///< in place, in a recorded call
};

/// `spread`: of the result, if nothing is unsound.
struct Verdict {
  Unsound unsound;
  Spread spread;
};

[[nodiscard]] constexpr Spread dual(Spread s) {
  return s == Spread::replicated ? Spread::partial : s == Spread::partial ? Spread::replicated : s;
}

/// How many operands of a call are of each sort. `plain`: the same on all ranks, without a gradient.
struct Census {
  int values = 0, numbers = 0, partial = 0, varying = 0, replicated = 0, invariant = 0, plain = 0;
  bool is_labelled = true;

  constexpr Census(const Operand* operands, int count) {
    for (const Operand* x = operands; x != operands + count; ++x) {
      numbers += x->is_number;
      if (!x->is_value) continue;
      ++values;
      is_labelled = is_labelled && x->is_labelled;
      partial += x->spread == Spread::partial;
      varying += x->spread == Spread::varying;
      replicated += x->spread == Spread::replicated;
      invariant += x->spread == Spread::invariant && x->collects;
      plain += (x->spread == Spread::invariant || x->spread == Spread::replicated) && !x->collects;
    }
  }
};

/// Of a sum with at least one Partial summand.
[[nodiscard]] consteval Unsound judge_summands(const Census& of) {
  if (of.partial == of.values && of.numbers == 0) return Unsound::nothing;
  return of.varying > 0 ? Unsound::with_varying : Unsound::counted;
}
/// Of a product with at least one Partial operand.
[[nodiscard]] consteval Unsound judge_factors(const Census& of) {
  return of.partial > 1 ? Unsound::times : of.varying > 0 ? Unsound::with_varying : Unsound::nothing;
}
/// Of a product, a summand and a function of the result, with at least one Partial operand.
[[nodiscard]] consteval Unsound judge_affine(const Census& of, const Operand* x, int count) {
  if (of.values < 3) return judge_factors(of) == Unsound::nothing && count > 2 ? Unsound::nonlinear : judge_factors(of);
  const int partial_factors = (x[0].spread == Spread::partial) + (x[1].spread == Spread::partial);
  if (partial_factors > 1) return Unsound::times;
  if (of.varying > 0) return Unsound::with_varying;
  if (of.partial != 2) return Unsound::counted;
  return count > 3 ? Unsound::nonlinear : Unsound::nothing;
}
[[nodiscard]] consteval Unsound judge_partial(Linearity kind, const Census& of, const Operand* x, int count) {
  if (kind == Linearity::any) return Unsound::nonlinear;
  if (kind == Linearity::additive) return judge_summands(of);
  if (of.invariant > 0) return Unsound::invariant;
  if (kind == Linearity::affine) return judge_affine(of, x, count);
  const Unsound factors = judge_factors(of);
  const bool is_linear = kind == Linearity::bilinear || x[0].spread == Spread::partial;
  return factors == Unsound::nothing && !is_linear ? Unsound::nonlinear : factors;
}

[[nodiscard]] constexpr bool is_same_on_all(Spread s) { return s == Spread::invariant || s == Spread::replicated; }

/// The state of a result, whatever is updated in place.
[[nodiscard]] consteval Verdict judge_result(Linearity kind, const Operand* operands, int count) {
  const Census of(operands, count);
  if (!of.is_labelled) return {Unsound::unlabelled, {}};
  if (of.partial > 0) return {judge_partial(kind, of, operands, count), Spread::partial};
  if (of.invariant > 0)
    return {of.invariant + of.plain == of.values ? Unsound::nothing : Unsound::invariant, Spread::invariant};
  if (of.varying > 0) return {Unsound::nothing, Spread::varying};
  return {Unsound::nothing, of.replicated > 0 ? Spread::replicated : Spread::invariant};
}

/// The state of a function's result along one axis, or the reason why its value or gradients would be wrong. An operand
/// that is updated has to be spread as the values are that update it, those of the other operands.
[[nodiscard]] consteval Verdict judge(Linearity kind, const Operand* operands, int count) {
  const Verdict verdict = judge_result(kind, operands, count);
  for (int i = 0; i < count && verdict.unsound == Unsound::nothing; ++i) {
    Spread others = Spread::invariant;
    for (int j = 0; j < count; ++j)
      if (j != i && operands[j].spread == Spread::varying) others = Spread::varying;
    if (operands[i].is_updated && is_same_on_all(operands[i].spread) != is_same_on_all(others))
      return {Unsound::updated, {}};
  }
  return verdict;
}

}  // namespace detail
}}}  // namespace locus::LOCUS_ABI::dist
