#pragma once
// Expression trees as kernels see them: symbols, constants and applications of scalar functions. No tensors, no memory.

#include <locus/core/chain_rule.hpp>
#include <locus/expr/functors.hpp>

#include <concepts>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// Whether an input of a tree is a dual: then scalar functions are applied by their derivatives.
template <class In>
inline constexpr bool has_dual = false;
template <class... T>
inline constexpr bool has_dual<Pack<T...>> = (is_dual<std::remove_cvref_t<T>> || ...);
}  // namespace detail

/// Input number I of a tree.
template <int I>
struct Symbol {
  template <class In> LOCUS_FN auto operator()(const In& in) const { return get<I>(in); }
};

/// A number in the expression, converted to T.
template <class T>
struct Constant {
  compute_t<T> value;
  template <class In> LOCUS_FN compute_t<T> operator()(const In&) const { return value; }
};

/// A scalar function of other nodes.
template <class F, class... Children>
struct Apply {
  F f;
  Pack<Children...> children;

  template <class In>
  LOCUS_FN auto operator()(const In& in) const {
    return call(in, std::make_integer_sequence<int, sizeof...(Children)>{});
  }

 private:
  template <class In, int... i>
  LOCUS_FN auto call(const In& in, std::integer_sequence<int, i...>) const {
    if constexpr (detail::has_dual<In>) return detail::applied(f, get<i>(children)(in)...);
    else return f(get<i>(children)(in)...);
  }
};

namespace detail {

template <class... T>
struct Last;
template <class T>
struct Last<T> {
  using type = T;
};
template <class T, class... Rest>
struct Last<T, Rest...> : Last<Rest...> {};

/// Element type of F applied to elements of the given types: bool for predicates, F::gives for conversions, otherwise
/// the type of the last argument (where(condition, x, y): the type of y).
template <class F, class... T>
struct ResultValue : Last<T...> {};
template <class F, class... T>
  requires requires { F::gives_bool; }
struct ResultValue<F, T...> {
  using type = bool;
};
template <class F, class... T>
  requires requires { typename F::gives; }
struct ResultValue<F, T...> {
  using type = typename F::gives;
};

// Renumbering: when trees are joined, the inputs of each tree are numbered after the inputs of the trees before it.

template <int offset, int I>
constexpr Symbol<I + offset> shift(const Symbol<I>&) {
  return {};
}
template <int offset, class T>
constexpr Constant<T> shift(const Constant<T>& node) {
  return node;
}
template <int offset, class F, class... C>
constexpr auto shift(const Apply<F, C...>& node);
template <int offset, class Tree>
using shifted_t = decltype(shift<offset>(std::declval<const Tree&>()));
template <int offset, class F, class... C>
constexpr auto shift(const Apply<F, C...>& node) {
  if constexpr (offset == 0) {
    return node;
  } else {
    return [&]<int... i>(std::integer_sequence<int, i...>) {
      return Apply<F, decltype(shift<offset>(std::declval<const C&>()))...>{node.f,
                                                                            {shift<offset>(get<i>(node.children))...}};
    }(std::make_integer_sequence<int, sizeof...(C)>{});
  }
}

template <class F>
inline constexpr bool ends_backward = requires { requires !F::differentiable; };

/// Compile-time queries of the backward pass on a tree. Masks have one bit per input.
template <class Tree>
struct TreeTraits;
template <int I>
struct TreeTraits<Symbol<I>> {
  static constexpr unsigned inputs = 1u << I;
  static constexpr bool reaches(unsigned wanted) { return (wanted & inputs) != 0; }
  static constexpr unsigned needed(unsigned) { return 0; }
  static constexpr bool passes_unchanged(int input) { return input == I; }
};
template <class T>
struct TreeTraits<Constant<T>> {
  static constexpr unsigned inputs = 0;
  static constexpr bool reaches(unsigned) { return false; }
  static constexpr unsigned needed(unsigned) { return 0; }
  static constexpr bool passes_unchanged(int) { return false; }
};
template <class F, class... C>
struct TreeTraits<Apply<F, C...>> {
  static constexpr unsigned inputs = (0u | ... | TreeTraits<C>::inputs);
  /// Whether the adjoint of this node contributes to one of the wanted inputs.
  static constexpr bool reaches(unsigned wanted) {
    return !ends_backward<F> && (false || ... || TreeTraits<C>::reaches(wanted));
  }
  /// The inputs whose values the backward pass reads.
  static constexpr unsigned needed(unsigned wanted) {
    const unsigned below[] = {TreeTraits<C>::inputs...};
    unsigned result = 0;
    int child = 0;
    const auto visit = [&](bool reached, unsigned needed_below) {
      if (reached) {
        result |= needed_below;
        for (int i = 0; i < static_cast<int>(sizeof...(C)); ++i)
          if (reads<F>(child) >> i & 1u) result |= below[i];
      }
      ++child;
    };
    if (reaches(wanted)) (visit(TreeTraits<C>::reaches(wanted), TreeTraits<C>::needed(wanted)), ...);
    return result;
  }
  /// Whether the derivative by this input is 1: it occurs once, and only additions lead to it.
  static constexpr bool passes_unchanged(int input) {
    if constexpr (std::is_same_v<F, functor::Add>) {
      const int times = (0 + ... + (TreeTraits<C>::inputs >> input & 1u ? 1 : 0));
      return times == 1 && (false || ... || TreeTraits<C>::passes_unchanged(input));
    } else {
      return false;
    }
  }
};

/// Holds the value of every node: construction is the forward pass, back() the backward pass, both in registers.
/// `wanted` masks the inputs whose gradients are asked for; subtrees without a wanted input are pruned at compile time.
template <class Tree, class In, unsigned wanted>
struct Evaluator;

template <int I, class In, unsigned wanted>
struct Evaluator<Symbol<I>, In, wanted> {
  using Value = std::remove_cvref_t<decltype(get<I>(std::declval<const In&>()))>;
  Value value;
  LOCUS_FN Evaluator(const Symbol<I>&, const In& in) : value(get<I>(in)) {}
  template <class G, class Gradients>
  LOCUS_FN void back(const Symbol<I>&, const G& adjoint, Gradients& gradients) const {
    if constexpr ((wanted >> I & 1u) != 0) {
      auto& gradient = get<I>(gradients);
      gradient += static_cast<std::remove_reference_t<decltype(gradient)>>(adjoint);
    }
  }
};

template <class T, class In, unsigned wanted>
struct Evaluator<Constant<T>, In, wanted> {
  using Value = compute_t<T>;
  Value value;
  LOCUS_FN Evaluator(const Constant<T>& node, const In&) : value(node.value) {}
  template <class G, class Gradients>
  LOCUS_FN void back(const Constant<T>&, const G&, Gradients&) const {}
};

template <class F, class... C, class In, unsigned wanted>
struct Evaluator<Apply<F, C...>, In, wanted> {
  using Node = Apply<F, C...>;
  using Value = std::remove_cvref_t<decltype(std::declval<const F&>()(
      std::declval<typename Evaluator<C, In, wanted>::Value>()...))>;
  static constexpr bool reached = TreeTraits<Node>::reaches(wanted);
  Pack<Evaluator<C, In, wanted>...> children;
  Value value;

  LOCUS_FN Evaluator(const Node& node, const In& in) : Evaluator(node, in, Positions{}) {}

  template <class G, class Gradients>
  LOCUS_FN void back(const Node& node, const G& adjoint, Gradients& gradients) const {
    if constexpr (reached) go(node, adjoint, gradients, Positions{});
  }

 private:
  using Positions = std::make_integer_sequence<int, sizeof...(C)>;

  template <int... i>
  LOCUS_FN Evaluator(const Node& node, const In& in, std::integer_sequence<int, i...>)
      : children(Evaluator<C, In, wanted>(get<i>(node.children), in)...),
        value(value_of(node.f, get<i>(children).value...)) {}

  template <class... X>
  LOCUS_FN static Value value_of(const F& f, const X&... x) {
    if constexpr (has_dual<In>) return applied(f, x...);
    else return f(x...);
  }

  template <class G, class Gradients, int... i>
  LOCUS_FN void go(const Node& node, const G& adjoint, Gradients& gradients, std::integer_sequence<int, i...>) const {
    const auto adjoints = pull(node.f, adjoint, get<i>(children).value...);
    (get<i>(children).back(get<i>(node.children), get<i>(adjoints), gradients), ...);
  }

  /// The adjoints of the children.
  template <class G, class... X>
  LOCUS_FN auto pull(const F& f, const G& g, const X&... x) const {
    if constexpr (requires { f.pullback(g, value, x...); }) {
      if constexpr (selects<F>) return f.pullback(g, value, x...);
      else return unless_zero(g, f.pullback(g, value, x...), Positions{});
    } else if constexpr (requires { f.by_output(value); }) {
      return Pack<G>(scaled<F, 0>(g, f.by_output(value)));
    } else if constexpr (requires { f.by_input(x...); }) {
      return Pack<G>(scaled<F, 0>(g, f.by_input(x...)));
    } else {
      static_assert(
          requires { f.by_inputs(x...); },
          "this scalar function has no derivative: give its class a member by_output(y), by_input(x), by_inputs(x...) "
          "or pullback(g, y, x...); or `static constexpr bool differentiable = false`");
      return scale(g, f.by_inputs(x...), Positions{});
    }
  }
  template <class G, class... P, int... i>
  LOCUS_FN static Pack<P...> scale(const G& g, const Pack<P...>& partials, std::integer_sequence<int, i...>) {
    return {static_cast<P>(scaled<F, i>(g, get<i>(partials)))...};
  }
  template <class G, class... P, int... i>
  LOCUS_FN static Pack<P...> unless_zero(const G& g, const Pack<P...>& adjoints, std::integer_sequence<int, i...>) {
    return {(is_zero(g) ? P(0) : get<i>(adjoints))...};
  }
};

}  // namespace detail
}}  // namespace locus::LOCUS_ABI
