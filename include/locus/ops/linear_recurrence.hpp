#pragma once
// Sums whose terms are multiplied on their way: the gradients of running products and of their logarithms.

#include <locus/expr/operators.hpp>
#include <locus/tensor/tensor.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// s[i] = g[i] + a[i] s[i + 1] along an axis, in reverse g[i] + a[i] s[i - 1]. Nothing is divided, so that zeros among
/// the factors, and duals of value 0, are no exception.
/// cost: four launches for each of log2(extent) steps, each of which doubles the number of terms
template <class T, class D>
[[nodiscard]] Tensor<T, D> linear_recurrence(const Tensor<T, D>& g, const Tensor<T, D>& a, int axis, bool reverse) {
  const std::int64_t n = g.size(axis);
  Tensor<T, D> sums = g, factors = a;
  for (std::int64_t step = 1; step < n; step *= 2) {
    const auto here = [&](const Tensor<T, D>& x) { return x.slice(axis, reverse ? step : 0, reverse ? n : n - step); };
    const auto there = [&](const Tensor<T, D>& x) { return x.slice(axis, reverse ? 0 : step, reverse ? n - step : n); };
    const Tensor<T, D> more = sums.clone(), products = factors.clone();
    const Tensor<T, D> reached = here(more), multiplied = here(products);
    reached += here(factors) * there(sums);
    multiplied *= there(factors);
    sums = more, factors = products;
  }
  return sums;
}

}}}  // namespace locus::LOCUS_ABI::detail
