#pragma once
// Linear layers whose weights are divided along an axis (Shoeybi and others, "Megatron-LM", 2019).

#include <locus/distributed/spread/divided.hpp>
#include <locus/distributed/spread/functions.hpp>
#include <locus/distributed/spread/ranks.hpp>
#include <locus/nn/linear.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// In place of the axis A of layers that are divided along it: between them, the ranks along A have parts of the
/// sequence, dimension -2 ("sequence parallelism", Korthikanti and others, "Reducing Activation Recomputation in Large
/// Transformer Models", 2022). A sum over ranks becomes a reduce_scatter and an all_gather, which move as much, and
/// each rank stores and normalizes its part alone.
template <class A>
struct Sequence {
  using axis = A;
};

namespace detail {
/// The axis of layers that are divided along A, and how members are spread that no rank divides, beside S...: with
/// parts of a sequence, each rank has a part of their gradients.
template <class A, class... S>
struct LayerAxis {
  static constexpr bool has_sequence = false;
  using type = A;
  using undivided = States<S...>;
};
template <class A, class... S>
struct LayerAxis<Sequence<A>, S...> {
  static constexpr bool has_sequence = true;
  using type = A;
  using undivided = States<Replicated<A>, S...>;
};
template <class A>
using axis_of_layer = typename LayerAxis<A>::type;
template <class A>
inline constexpr bool has_sequence = LayerAxis<A>::has_sequence;
/// X that no rank divides.
template <class X, class A, class... S>
using undivided_t = labelled_t<X, typename LayerAxis<A, S...>::undivided>;
/// Whether x fits layers along A: a part of the sequence, if they have these.
template <class X, class A>
concept FitsLayer = !has_sequence<A> || SpreadAs<X, axis_of_layer<A>, Spread::varying>;
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// A linear layer of which each rank along A has a block of rows of the weight, and of the bias. The result is Varying
/// along A: a block of columns. S...: how the blocks are spread along other axes. A: an axis, or Sequence of one.
/// shape: (..., in) -> (..., out / ranks); of a Sequence, (..., length / ranks, in) -> (..., length, out / ranks)
template <class T, class D, class A, class... S>
struct ColumnLinear {
  using Axis = detail::axis_of_layer<A>;
  using divided_along = Varying<Axis>;
  Over<Parameter<T, D>, Varying<Axis>, S...> weight, bias;

  /// whole: a layer that is the same on all ranks, of which each takes its part. throws ShapeError unless `out` divides
  ColumnLinear(const nn::Linear<T, D>& whole, const Ranks<Axis, D>& ranks)
      : ColumnLinear(whole.weight.value(), whole.bias.value(), ranks) {}
  /// whole_weight: (out, in), whole_bias: (out), the same on all ranks
  ColumnLinear(const Tensor<T, D>& whole_weight, const Tensor<T, D>& whole_bias, const Ranks<Axis, D>& ranks)
      : weight(detail::own_part<Varying<Axis>, S...>(ranks, whole_weight, 0)),
        bias(detail::own_part<Varying<Axis>, S...>(ranks, whole_bias, 0)) {}
  /// Of this rank's rows.
  ColumnLinear(const Parameter<T, D>& own_weight, const Parameter<T, D>& own_bias)
      : weight(detail::labelled<detail::States<Varying<Axis>, S...>>(Parameter<T, D>(own_weight))),
        bias(detail::labelled<detail::States<Varying<Axis>, S...>>(Parameter<T, D>(own_bias))) {}

  /// x: Invariant along A, for which its gradients are summed, or Replicated; of a Sequence, Varying
  template <class X, class F = functor::Identity>
    requires detail::FitsLayer<X, A>
  [[nodiscard]] auto forward(const Ranks<Axis, D>& ranks, const X& x, const F& activation = {}) const {
    if constexpr (detail::has_sequence<A>) return linear(ranks.all_gather(x, -2), weight, bias, activation);
    else if constexpr (detail::SpreadAs<X, Axis, Spread::invariant> && detail::has_role<X>(Role::traced))
      return linear(ranks.replicated(x), weight, bias, activation);
    else return linear(x, weight, bias, activation);
  }
#include <locus/refuse/distributed/spread/column_linear_class.inc>

  void members(const auto& visit) const {
    visit("weight", weight, Divided<Axis>{.dim = 0});
    visit("bias", bias, Divided<Axis>{.dim = 0});
  }
};
LOCUS_REFUSALS_END

/// A linear layer of which each rank along A has a block of columns of the weight. x is Varying along A, as the result
/// of ColumnLinear; products are summed, and the bias is added once. The result is Invariant along A, of a Sequence
/// Varying.
/// shape: (..., in / ranks) -> (..., out); of a Sequence, (..., length, in / ranks) -> (..., length / ranks, out)
template <class T, class D, class A, class... S>
struct RowLinear {
  using Axis = detail::axis_of_layer<A>;
  using divided_along = Varying<Axis>;
  Over<Parameter<T, D>, Varying<Axis>, S...> weight;
  detail::undivided_t<Parameter<T, D>, A, S...> bias;

  RowLinear(const nn::Linear<T, D>& whole, const Ranks<Axis, D>& ranks)
      : RowLinear(whole.weight.value(), whole.bias.value(), ranks) {}
  RowLinear(const Tensor<T, D>& whole_weight, const Tensor<T, D>& whole_bias, const Ranks<Axis, D>& ranks)
      : weight(detail::own_part<Varying<Axis>, S...>(ranks, whole_weight, 1)),
        bias(detail::labelled<typename detail::LayerAxis<A, S...>::undivided>(Parameter<T, D>(whole_bias.clone()))) {}

  template <class X>
  [[nodiscard]] auto forward(const Ranks<Axis, D>& ranks, const X& x) const {
    const auto parts = ranks.partial(linear(x, weight));
    if constexpr (detail::has_sequence<A>) return ranks.reduce_scatter(parts, -2) + bias;
    else return ranks.template all_reduce<Invariant>(parts) + bias;
  }
  void members(const auto& visit) const {
    visit("weight", weight, Divided<Axis>{.dim = 1});
    visit("bias", bias);
  }
};

}}}  // namespace locus::LOCUS_ABI::dist
