#pragma once
// Folds that are fast where nothing is lost to overflow, and safe everywhere.

#include <locus/device/cost_model.hpp>
#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {
/// What Fast computed, or what is safe where Fast lost what it was to add.
template <class Fast>
struct UnlessLost {
  template <class R>
  LOCUS_FN R operator()(R fast, R safe) const {
    return Fast::is_whole(fast) ? fast : safe;
  }
};
/// fold(fast), and in the places where it lost what it was to add fold(safe), so that no place depends on what others
/// hold. A device that folds_again looks and folds again if it must; others fold(safe) at once, so that nothing waits.
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
