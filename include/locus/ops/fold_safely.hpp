#pragma once
// Folds that are fast where no term is lost to overflow, and safe everywhere.

#include <locus/device/cost_model.hpp>
#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {
/// The result of Fast, or the safe one if Fast lost terms.
template <class Fast>
struct UnlessLost {
  template <class R>
  LOCUS_FN R operator()(R fast, R safe) const {
    return Fast::is_whole(fast) ? fast : safe;
  }
};
/// fold(fast), and fold(safe) in the places where fast lost terms, so that no place depends on the values of others. A
/// device that folds_again checks and folds again if it must; others fold(safe) at once, so that nothing waits.
template <class T, class D, class Fold, class Fast, class Safe>
[[nodiscard]] Tensor<T, D> fold_safely(const Fold& fold, [[maybe_unused]] Fast fast, const Safe& safe) {
  if constexpr (CostModel<D>::folds_again) {
    Atomic<bool> lost{false};
    fast.lost = &lost;
    const Tensor<T, D> result = fold(fast);
    if (!lost.load(Order::relaxed)) return result;
    if (result.elements() > 1) return elementwise(UnlessLost<Fast>{}, result, fold(safe));
  }
  return fold(safe);
}
}}}  // namespace locus::LOCUS_ABI::detail
