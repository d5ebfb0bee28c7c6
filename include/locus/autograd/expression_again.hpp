#pragma once
// The gradients of a fused expression, differentiated in one launch: included by autograd/expression.hpp with
// LOCUS_DOUBLE_BACKWARD. In registers, each operand is a dual of its value and of the adjoint of its gradient. The
// formula and its backward pass compute with these duals; their tangents are the derivatives that
// autograd/kept_operands.hpp explains.

#include <locus/autograd/traced.hpp>
#include <locus/expr/dual.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace functor {
/// Convert<To> in a formula of duals: a number becomes a dual, a dual of another type keeps its tangent.
template <class To>
struct ConvertDual {
  using R = compute_t<To>;
  using gives = Dual<R>;
  static constexpr bool selects = true;
  static constexpr unsigned reads(int) { return 0; }
  template <class X>
  LOCUS_FN Dual<R> operator()(X x) const {
    if constexpr (is_dual<X>) return {load_as_register(convert<To>(x.value)), static_cast<R>(x.tangent)};
    else return {load_as_register(convert<To>(x)), R(0)};
  }
  template <class G, class X>
  LOCUS_FN Pack<X> pullback(G g, Dual<R>, X) const {
    if constexpr (is_dual<X>) {
      using S = decltype(X::value);
      return {X(detail::adjoint_as<S>(g.value), detail::adjoint_as<S>(g.tangent))};
    } else {
      return {X()};
    }
  }
};
/// A linear function F of numbers, as MakeDual, in a formula of duals: of the values and of the tangents.
template <class F>
struct OfParts {
  F f;
  using gives = Dual<typename F::gives>;
  static constexpr bool selects = true;
  static constexpr unsigned reads(int) { return 0; }
  template <class... X> LOCUS_FN gives operator()(X... x) const { return {f(x.value...), f(x.tangent...)}; }
  template <class... X>
  LOCUS_FN Pack<X...> pullback(gives g, gives y, X... x) const {
    const auto of_values = f.pullback(g.value, y.value, x.value...),
               of_tangents = f.pullback(g.tangent, y.value, x.value...);
    return [&]<int... i>(std::integer_sequence<int, i...>) {
      return Pack<X...>(X(get<i>(of_values), get<i>(of_tangents))...);
    }(std::make_integer_sequence<int, sizeof...(X)>{});
  }
};
}  // namespace functor

namespace detail {

/// The register of an operand of type T: a dual for a real number, and for a dual.
template <class T>
using dual_register_t = std::conditional_t<is_part_of_dual<compute_t<T>>, Dual<compute_t<T>>, compute_t<T>>;
template <class R>
[[nodiscard]] LOCUS_FN auto as_dual(R x, R tangent = R()) {
  if constexpr (is_part_of_dual<R>) return Dual<R>(x, tangent);
  else return x;
}

/// A function as duals take it.
template <class F>
[[nodiscard]] const F& function_of_duals(const F& f) {
  return f;
}
template <class To>
  requires is_part_of_dual<compute_t<To>>
[[nodiscard]] functor::ConvertDual<To> function_of_duals(const functor::Convert<To>&) {
  return {};
}
template <class R>
  requires is_part_of_dual<R>
[[nodiscard]] functor::Choose<Dual<R>> function_of_duals(const functor::Choose<R>& f) {
  return {f.x, f.y};
}
template <class R>
[[nodiscard]] functor::OfParts<functor::MakeDual<R>> function_of_duals(const functor::MakeDual<R>&) {
  return {};
}
template <class R>
[[nodiscard]] functor::OfParts<functor::Primal<R>> function_of_duals(const functor::Primal<R>&) {
  return {};
}
template <class R>
[[nodiscard]] functor::OfParts<functor::Tangent<R>> function_of_duals(const functor::Tangent<R>&) {
  return {};
}
/// A tree whose real inputs are duals: its constants are, too.
template <int I>
[[nodiscard]] Symbol<I> tree_of_duals(const Symbol<I>&) {
  return {};
}
template <class T>
[[nodiscard]] auto tree_of_duals(const Constant<T>& constant) {
  return Constant<dual_register_t<T>>{as_dual(constant.value)};
}
template <class F, class... C>
[[nodiscard]] auto tree_of_duals(const Apply<F, C...>& node) {
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    return Apply<std::remove_cvref_t<decltype(function_of_duals(node.f))>,
                 decltype(tree_of_duals(get<i>(node.children)))...>{function_of_duals(node.f),
                                                                    {tree_of_duals(get<i>(node.children))...}};
  }(std::make_integer_sequence<int, sizeof...(C)>{});
}

/// The functor of the launch. Inputs: the operands' values, the gradient g of the result, the adjoint of each wanted
/// gradient (null: zero). Outputs: the gradients of g and, if they are `varying`, of the wanted operands (null:
/// discarded).
template <class DualTree, unsigned wanted, class T, class In, class Adjoints, class Varying>
struct BackwardAgain;
template <class DualTree, unsigned wanted, class T, class... In, class... U, class... W>
struct BackwardAgain<DualTree, wanted, T, Pack<In...>, Pack<U...>, Pack<W...>> {
  DualTree tree;
  int merged_into[sizeof...(U)];  ///< as in Backward

  LOCUS_FN void operator()(compute_t<In>... in, compute_t<T> g, compute_t<U>... adjoint, compute_t<T>& dg,
                           compute_t<W>&... dx) const {
    using Inputs = Pack<dual_register_t<In>...>;
    Inputs inputs(as_dual<compute_t<In>>(in)...);
    set_tangents(inputs, std::make_integer_sequence<int, sizeof...(U)>{}, adjoint...);
    const Evaluator<DualTree, Inputs, wanted> values(tree, inputs);
    dg = values.value.tangent;
    if constexpr (sizeof...(W) > 0) {
      Inputs gradients{};
      values.back(tree, as_dual(g), gradients);
      merge(gradients, std::make_integer_sequence<int, sizeof...(W)>{});
      take_tangents(gradients, std::make_integer_sequence<int, sizeof...(W)>{}, dx...);
    }
  }

 private:
  template <class Inputs, int... n>
  LOCUS_FN static void set_tangents(Inputs& inputs, std::integer_sequence<int, n...>, compute_t<U>... adjoint) {
    ((get<set_bit_v<wanted, n>>(inputs).tangent = adjoint), ...);
  }
  template <class Inputs, int... n>
  LOCUS_FN void merge(Inputs& gradients, std::integer_sequence<int, n...>) const {
    (merge_into_earlier<n>(gradients, std::make_integer_sequence<int, n>{}), ...);
  }
  template <int later, class Inputs, int... earlier>
  LOCUS_FN void merge_into_earlier(Inputs& gradients, std::integer_sequence<int, earlier...>) const {
    (merge_one<later, earlier>(gradients), ...);
  }
  template <int later, int earlier, class Inputs>
  LOCUS_FN void merge_one(Inputs& gradients) const {
    auto& target = get<set_bit_v<wanted, earlier>>(gradients);
    const auto& source = get<set_bit_v<wanted, later>>(gradients);
    if constexpr (std::is_same_v<decltype(target), std::remove_cvref_t<decltype(source)>&>) {
      target.tangent += kept_if(merged_into[later] == earlier, source.tangent);
    }
  }
  template <class Inputs, int... n>
  LOCUS_FN static void take_tangents(const Inputs& gradients, std::integer_sequence<int, n...>, compute_t<W>&... dx) {
    ((dx = get<set_bit_v<wanted, n>>(gradients).tangent), ...);
  }
};

}  // namespace detail
}}  // namespace locus::LOCUS_ABI
