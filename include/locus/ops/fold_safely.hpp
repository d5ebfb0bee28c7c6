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
/// fast(lost), or mended(its result) if it sets `lost`, on a device that folds_again: the host checks. Other devices
/// compute safe() at once, so that nothing waits.
template <class D, class Fast, class Mended, class Safe>
[[nodiscard]] auto fold_again_if_lost([[maybe_unused]] const Fast& fast, [[maybe_unused]] const Mended& mended,
                                      [[maybe_unused]] const Safe& safe) {
  if constexpr (CostModel<D>::folds_again) {
    Atomic<bool> lost{false};
    auto result = fast(lost);
    return lost.load(Order::relaxed) ? mended(result) : result;
  } else {
    return safe();
  }
}
/// fold(fast), and fold(safe) in the places where fast lost terms, so that no place depends on the values of others.
template <class T, class D, class Fold, class Fast, class Safe>
[[nodiscard]] Tensor<T, D> fold_safely(const Fold& fold, [[maybe_unused]] Fast fast, const Safe& safe) {
  return fold_again_if_lost<D>(
      [&](Atomic<bool>& lost) -> Tensor<T, D> {
        fast.lost = &lost;
        return fold(fast);
      },
      [&](const Tensor<T, D>& result) -> Tensor<T, D> {
        if (result.elements() > 1) return elementwise(UnlessLost<Fast>{}, result, fold(safe));
        return fold(safe);
      },
      [&]() -> Tensor<T, D> { return fold(safe); });
}
}}}  // namespace locus::LOCUS_ABI::detail
