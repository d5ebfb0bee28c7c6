#pragma once
// Linear layers whose weights are divided along an axis (Shoeybi and others, "Megatron-LM", 2019).

#include <locus/distributed/spread/divided.hpp>
#include <locus/distributed/spread/functions.hpp>
#include <locus/distributed/spread/ranks.hpp>
#include <locus/nn/linear.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// A linear layer of which each rank along A has a block of rows of the weight, and of the bias. The result is Varying
/// along A: a block of columns. S...: how the blocks are spread along other axes.
/// shape: (..., in) -> (..., out / ranks)
template <class T, class D, class A, class... S>
struct ColumnLinear {
  using divided_along = Varying<A>;
  Over<Parameter<T, D>, Varying<A>, S...> weight, bias;

  /// whole: a layer that is the same on all ranks, of which each takes its part. throws ShapeError unless `out` divides
  ColumnLinear(const nn::Linear<T, D>& whole, const Ranks<A, D>& ranks)
      : ColumnLinear(whole.weight.value(), whole.bias.value(), ranks) {}
  /// whole_weight: (out, in), whole_bias: (out), the same on all ranks
  ColumnLinear(const Tensor<T, D>& whole_weight, const Tensor<T, D>& whole_bias, const Ranks<A, D>& ranks)
      : weight(detail::own_part<Varying<A>, S...>(ranks, whole_weight, 0)),
        bias(detail::own_part<Varying<A>, S...>(ranks, whole_bias, 0)) {}
  /// Of this rank's rows.
  ColumnLinear(const Parameter<T, D>& own_weight, const Parameter<T, D>& own_bias)
      : weight(detail::labelled<detail::States<Varying<A>, S...>>(Parameter<T, D>(own_weight))),
        bias(detail::labelled<detail::States<Varying<A>, S...>>(Parameter<T, D>(own_bias))) {}

  /// x: Invariant along A, for which its gradients are summed, or Replicated
  template <class X, class F = functor::Identity>
  [[nodiscard]] auto forward(const Ranks<A, D>& ranks, const X& x, const F& activation = {}) const {
    if constexpr (detail::SpreadAs<X, A, Spread::invariant> && detail::has_role<X>(Role::traced))
      return linear(ranks.replicated(x), weight, bias, activation);
    else return linear(x, weight, bias, activation);
  }
  void members(const auto& visit) const {
    visit("weight", weight, Divided<A>{.dim = 0});
    visit("bias", bias, Divided<A>{.dim = 0});
  }
};

/// A linear layer of which each rank along A has a block of columns of the weight. x is Varying along A, as the result
/// of ColumnLinear; products are summed, and the bias is added once. The result is Invariant along A. shape: (..., in /
/// ranks) -> (..., out)
template <class T, class D, class A, class... S>
struct RowLinear {
  using divided_along = Varying<A>;
  Over<Parameter<T, D>, Varying<A>, S...> weight;
  Over<Parameter<T, D>, S...> bias;

  RowLinear(const nn::Linear<T, D>& whole, const Ranks<A, D>& ranks)
      : RowLinear(whole.weight.value(), whole.bias.value(), ranks) {}
  RowLinear(const Tensor<T, D>& whole_weight, const Tensor<T, D>& whole_bias, const Ranks<A, D>& ranks)
      : weight(detail::own_part<Varying<A>, S...>(ranks, whole_weight, 1)),
        bias(detail::labelled<detail::States<S...>>(Parameter<T, D>(whole_bias.clone()))) {}

  template <class X>
  [[nodiscard]] auto forward(const Ranks<A, D>& ranks, const X& x) const {
    return ranks.template all_reduce<Invariant>(ranks.partial(linear(x, weight))) + bias;
  }
  void members(const auto& visit) const {
    visit("weight", weight, Divided<A>{.dim = 1});
    visit("bias", bias);
  }
};

}}}  // namespace locus::LOCUS_ABI::dist
