#pragma once
// What is wrong with calling a layer, found where possible without compiling its forward, whose own mistakes the
// compiler reports where the layer is called.

#include <locus/nn/members.hpp>

namespace locus::inline LOCUS_ABI::nn::detail {

/// Catch-all overloads that probe overload resolution without instantiating the layer's `forward`: ambiguity means that
/// the layer accepts the argument. Four kinds, so that one of them matches as well as a template of the layer's own; a
/// more specialized template wins, and is instantiated after all.
struct NoSuchForward {};
struct TakesConst {
  template <class X>
  NoSuchForward forward(const X& x, int = 0) const;
};
struct TakesReference {
  template <class X>
  NoSuchForward forward(X&& x, int = 0) const;
};
struct TakesManyConst {
  template <class... X>
  NoSuchForward forward(const X&... x) const;
};
struct TakesManyReferences {
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

/// Whether one of them is called in place of M::forward, which M lets Layer see.
template <class M, class X, class Takes>
concept Overtaken = requires(const typename M::template Or<M, Takes>& layer, const X& x) {
  { layer.forward(x.eval()) } -> std::same_as<NoSuchForward>;
};
/// Whether the forward of M, which has one, does not take a `const X&`, or is not const. A call answers where there is
/// only one and no template, or where the class is final.
template <class M, class X>
concept RefusesArgument = (Overtaken<M, X, TakesConst> && Overtaken<M, X, TakesReference> &&
                           Overtaken<M, X, TakesManyConst> && Overtaken<M, X, TakesManyReferences>);
template <class M>
concept AnswersCalls = std::is_final_v<M> || requires { &M::forward; };
#include <locus/refuse/nn/forward_mistakes.inc>

}  // namespace locus::inline LOCUS_ABI::nn::detail
