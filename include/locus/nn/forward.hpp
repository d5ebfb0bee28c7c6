#pragma once
// What is wrong with calling a layer, found where possible without compiling its forward, whose own mistakes the
// compiler reports where the layer is called.

#include <locus/nn/members.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn::detail {

/// What a layer's forward is called on: the tensor of what is like one, anything else as it is.
template <class X>
[[nodiscard]] decltype(auto) operand(const X& x) {
  if constexpr (TensorLike<X>) return x.eval();
  else return (x);
}

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

/// Whether M::forward takes these: false too where its body is wrong, once the compiler has said so.
template <class M, class... X>
concept Forwards = requires(const M& layer, const X&... x) { layer.forward(x...); };
/// Whether it makes a Y of an X.
template <class M, class X, class Y>
concept Maps = requires(const M& layer, const X& x) {
  { layer.forward(x).eval() } -> std::convertible_to<Y>;
};
/// The same for a plain and a traced tensor. About the traced one it asks only where the plain one is right, so that
/// what is wrong with both is said once.
template <class M, class T, class D>
concept ForwardsAndRecords = Forwards<M, Tensor<T, D>> && Forwards<M, Traced<T, D>>;

/// Whether one of them is called in place of M::forward, which M lets Layer see.
template <class M, class Takes, class... X>
concept Overtaken = requires(const typename M::template Or<M, Takes>& layer, const X&... x) {
  { layer.forward(operand(x)...) } -> std::same_as<NoSuchForward>;
};
/// Whether the forward of M, which has one, does not take these as `const X&`, or is not const. A call answers where
/// there is only one and no template, or where the class is final.
template <class M, class... X>
concept RefusesArguments =
    (sizeof...(X) > 1 || (Overtaken<M, TakesConst, X...> && Overtaken<M, TakesReference, X...>)) &&
    Overtaken<M, TakesManyConst, X...> && Overtaken<M, TakesManyReferences, X...>;
template <class M>
concept AnswersCalls = std::is_final_v<M> || requires { &M::forward; };
#include <locus/refuse/nn/forward_mistakes.inc>

}}}  // namespace locus::LOCUS_ABI::nn::detail
