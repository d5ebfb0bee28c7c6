#pragma once
// Compile-time diagnosis of calls of a layer. It avoids compiling the layer's forward where possible, so that the
// compiler reports mistakes within forward at the call.

#include <locus/nn/members.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn::detail {

/// Argument of a layer's forward: tensor-like ones are evaluated, others are passed unchanged.
template <class X>
[[nodiscard]] decltype(auto) operand(const X& x) {
  if constexpr (TensorLike<X>) return x.eval();
  else return (x);
}

/// Argument of a call of a layer M: as operand(x), but numbers for a model of duals become duals.
template <class M, class X>
[[nodiscard]] decltype(auto) argument_of(const X& x) {
  if constexpr (requires { requires locus::detail::lifts_to<value_of<X>, typename M::input_type>; })
    return locus::detail::lifted<typename M::input_type, X::role>(x);
  else return operand(x);
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

/// Whether M::forward takes these arguments; also false if its body has a mistake, after the compiler reported it.
template <class M, class... X>
concept Forwards = requires(const M& layer, const X&... x) { layer.forward(x...); };
/// Whether M::forward maps an X to a Y.
template <class M, class X, class Y>
concept Maps = requires(const M& layer, const X& x) {
  { layer.forward(x).eval() } -> std::convertible_to<Y>;
};
/// Forwards for a plain and a traced tensor. The traced one is tested only if the plain one passes, so that a mistake
/// of both is reported once.
template <class M, class T, class D>
concept ForwardsAndRecords = Forwards<M, Tensor<T, D>> && Forwards<M, Traced<T, D>>;

/// Whether a catch-all is called in place of M::forward, which M makes accessible to Layer.
template <class M, class Takes, class... X>
concept Overtaken = requires(const typename M::template Or<M, Takes>& layer, const X&... x) {
  { layer.forward(argument_of<M>(x)...) } -> std::same_as<NoSuchForward>;
};
/// Whether an existing M::forward does not take these arguments as `const X&`, or is not const. A call tells by itself
/// if forward is neither overloaded nor a template, or if the class is final: see AnswersCalls.
template <class M, class... X>
concept RefusesArguments =
    (sizeof...(X) > 1 || (Overtaken<M, TakesConst, X...> && Overtaken<M, TakesReference, X...>)) &&
    Overtaken<M, TakesManyConst, X...> && Overtaken<M, TakesManyReferences, X...>;
template <class M>
concept AnswersCalls = std::is_final_v<M> || requires { &M::forward; };
#include <locus/refuse/nn/forward_mistakes.inc>

}}}  // namespace locus::LOCUS_ABI::nn::detail
