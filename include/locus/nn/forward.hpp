#pragma once
// What is wrong with calling a layer, found where possible without compiling its forward, whose own mistakes the
// compiler reports where the layer is called.

#include <locus/nn/members.hpp>

namespace locus::inline LOCUS_ABI::nn::detail {

/// Beside the forward of a layer, one that takes anything, as well as a template does: it answers a call where the
/// layer's own does not; where both would, the call is ambiguous, and no body is compiled. (Four kinds, or one of the
/// two would be the better match. A template of the layer's own that is more special than these is compiled after all.)
struct NoSuchForward {};
struct TakesConst {
  template <class X>
  NoSuchForward forward(const X& x, int = 0) const;
};
struct TakesForwarded {
  template <class X>
  NoSuchForward forward(X&& x, int = 0) const;
};
struct TakesManyConst {
  template <class... X>
  NoSuchForward forward(const X&... x) const;
};
struct TakesManyForwarded {
  template <class... X>
  NoSuchForward forward(X&&... x) const;
};

/// Whether M::forward takes an X: false too where its body is wrong, once the compiler has said so.
template <class M, class X>
concept Forwards = requires(const M& layer, const X& x) { layer.forward(x); };
/// The same for plain and traced tensors. About traced ones it asks only where plain ones are right, so that what is
/// wrong with both is said once.
template <class M, class T, class D>
concept ForwardsAndRecords = Forwards<M, Tensor<T, D>> && Forwards<M, Traced<T, D>>;

/// What keeps M from being called on anything.
template <class M>
struct ForwardMistake : NoMistake {};
template <class M>
  requires(!HasForward<M>)
struct ForwardMistake<M>
    : MistakeOf<Wrong::no_forward,
                error::not_possible<error::layer_without_forward, error::write_auto_forward_const_auto_x_const>> {};
template <HidesMembers M>
  requires HasForward<M>
struct ForwardMistake<M>
    : MistakeOf<Wrong::hidden_members, error::not_possible<error::members_are_private_or_not_const,
                                                           error::write_public_void_members_const_auto_visit_const>> {};

/// Whether one of them is called in place of M::forward, which M lets Layer see.
template <class M, class X, class Takes>
concept Overtaken = requires(const typename M::template Or<M, Takes>& layer, const X& x) {
  { layer.forward(x.eval()) } -> std::same_as<NoSuchForward>;
};
/// Whether the forward of M, which has one, does not take a `const X&`, or is not const. A call answers where there is
/// only one and no template, or where the class is final.
template <class M, class X>
concept RefusesArgument = (Overtaken<M, X, TakesConst> && Overtaken<M, X, TakesForwarded> &&
                           Overtaken<M, X, TakesManyConst> && Overtaken<M, X, TakesManyForwarded>);
template <class M>
concept AnswersCalls = std::is_final_v<M> || requires { &M::forward; };
template <class M, class X>
struct ArgumentMistake : NoMistake {};
template <class M, class X>
  requires(AnswersCalls<M> && !Forwards<M, decltype(std::declval<const X&>().eval())>) ||
          (!AnswersCalls<M> && RefusesArgument<M, X>)
struct ArgumentMistake<M, X>
    : MistakeOf<Wrong::no_such_forward, error::not_possible<error::layer_has_no_forward_that_takes_this_argument,
                                                            error::write_auto_forward_const_auto_x_const>> {};

/// Layers that compute in one element type name it as their input_type.
template <class M, class X>
struct InputTypeMistake : NoMistake {};
template <class M, TensorLike X>
  requires requires {
    typename M::input_type;
    requires !std::is_same_v<typename M::input_type, value_of<X>>;
  }
struct InputTypeMistake<M, X> : TypeMistake<typename M::input_type, value_of<X>> {};

/// What is wrong with calling a layer M on X.
template <class M, class X>
struct CallMistake
    : FirstMistake<PlaceMistake<M, X, error::model_is_on, error::input_is_on, error::move_the_input_with_to_D>,
                   OperandMistake<X>, ForwardMistake<M>, InputTypeMistake<M, X>, ArgumentMistake<M, X>> {};

}  // namespace locus::inline LOCUS_ABI::nn::detail
