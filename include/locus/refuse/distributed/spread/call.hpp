#pragma once
// The refused overloads of functions of operands that are spread over ranks, for distributed/spread/functions.hpp.
//
//   LOCUS_REFUSE_SPREAD(name, kind, template parameters, operands, function parameters), the last three in parentheses

#include <locus/distributed/spread/states.hpp>

// A system header, for which g++ does not add three lines to each error to explain the macros.
#pragma GCC system_header

#define LOCUS_UNBRACKET(...) __VA_ARGS__

// clang-format off
#if LOCUS_CLANG_REFUSES
#define LOCUS_SPREAD_NO(reason, kind, operands, text) \
  __attribute__((diagnose_if((locus::dist::detail::UnsoundBy<locus::dist::detail::Unsound::reason, locus::dist::Linearity::kind, LOCUS_UNBRACKET operands>), text, "error")))
#define LOCUS_REFUSE_SPREAD(name, kind, parameters, operands, arguments)                                    \
  template <LOCUS_UNBRACKET parameters>                                                                     \
    requires locus::dist::detail::IsUnsound<locus::dist::Linearity::kind, LOCUS_UNBRACKET operands>              \
  locus::error::refused name arguments                                                                      \
  LOCUS_SPREAD_NO(unlabelled, kind, operands, #name ": a tensor does not say how it is spread over ranks; say mesh.label<Varying<A>>(x), or Replicated or Invariant") \
  LOCUS_SPREAD_NO(meshes, kind, operands, #name ": the operands are spread over axes of two meshes; gather one first") \
  LOCUS_SPREAD_NO(nonlinear, kind, operands, #name ": an operand is Partial, and the function of a sum is not the sum of the function; all_reduce it first") \
  LOCUS_SPREAD_NO(times, kind, operands, #name ": both operands are Partial, and a product of sums is not the sum of products; all_reduce one first") \
  LOCUS_SPREAD_NO(with_varying, kind, operands, #name ": a Partial operand meets a Varying one; all_reduce the Partial one first") \
  LOCUS_SPREAD_NO(counted, kind, operands, #name ": beside a Partial operand, every rank would add what is the same on all; all_reduce the Partial one first, or say ranks.share(x)") \
  LOCUS_SPREAD_NO(invariant, kind, operands, #name ": an Invariant operand, such as a parameter, meets one that is not; say ranks.replicated(x), whose backward pass sums the gradients of all ranks") \
  LOCUS_SPREAD_NO(library, kind, operands, #name ": the operands are in two places, or of two element types; move one with .to<D>(), or convert it with .as<T>()");
#define LOCUS_REFUSE_SPREAD_UPDATE(name, kind)                                                              \
  template <class X, class Y>                                                                               \
    requires locus::dist::detail::UpdatesOtherwise<locus::dist::Linearity::kind, X, Y>                           \
  locus::error::refused name(const X&, const Y&)                                                            \
      __attribute__((diagnose_if(true, #name ": the result is spread otherwise over ranks than the target; compute a new value, or all_reduce or all_gather first", "error")));
#else
#define LOCUS_REFUSE_SPREAD(name, kind, parameters, operands, arguments)                                    \
  template <LOCUS_UNBRACKET parameters, class why = typename locus::dist::detail::MistakeOfCall<locus::dist::Linearity::kind, LOCUS_UNBRACKET operands>::why> \
    requires locus::dist::detail::IsUnsound<locus::dist::Linearity::kind, LOCUS_UNBRACKET operands>              \
  void name arguments = delete;
#define LOCUS_REFUSE_SPREAD_UPDATE(name, kind)                                                              \
  template <class X, class Y,                                                                               \
            class why = locus::error::not_possible<locus::error::the_result_is_spread_otherwise_over_ranks_than_the_target, \
                                                   locus::error::compute_a_new_value_or_all_reduce_or_all_gather_first>> \
    requires locus::dist::detail::UpdatesOtherwise<locus::dist::Linearity::kind, X, Y>                           \
  void name(const X&, const Y&) = delete;
#endif
// clang-format on
