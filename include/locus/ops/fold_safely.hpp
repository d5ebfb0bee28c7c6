#pragma once
// Folds that are fast where no term is lost to overflow, and safe everywhere.

#include <locus/device/cost_model.hpp>
#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {
/// The result of Fast, or the safe one if Fast lost terms.
template <class Fast>
struct UnlessLost {
  template <class R> LOCUS_FN R operator()(R fast, R safe) const { return Fast::is_whole(fast) ? fast : safe; }
};
/// run(fast), or mended(its result) if `fast` lost terms, on a device that folds_again: the host checks. Other devices
/// compute safe() at once, so that nothing waits. Folds of duals keep the terms that are lost: they compute `fast`
/// alone. Both `run` and `mended` are generic lambdas, so that their launches
/// are not compiled for other devices.
template <class D, class Fast, class Run, class Mended, class Safe>
[[nodiscard]] auto fold_again_if_lost([[maybe_unused]] Fast fast, [[maybe_unused]] const Run& run,
                                      [[maybe_unused]] const Mended& mended, [[maybe_unused]] const Safe& safe) {
  if constexpr (is_dual<typename Fast::R>) {
    return run(fast);
  } else if constexpr (CostModel<D>::folds_again) {
    Atomic<bool> lost{false};
    fast.lost = &lost;
    auto result = run(fast);
    return lost.load(Order::relaxed) ? mended(result) : result;
  } else {
    return safe();
  }
}
/// fold(fast), and fold(safe) in the places where fast lost terms, so that no place depends on the values of others.
template <class T, class D, class Fold, class Fast, class Safe>
[[nodiscard]] Tensor<T, D> fold_safely(const Fold& fold, const Fast& fast, const Safe& safe) {
  return fold_again_if_lost<D>(
      fast, [&](const auto& f) -> Tensor<T, D> { return fold(f); },
      [&](const auto& result) -> Tensor<T, D> {
        if (result.elements() > 1) return elementwise(UnlessLost<Fast>{}, result, fold(safe));
        return fold(safe);
      },
      [&]() -> Tensor<T, D> { return fold(safe); });
}
}}}  // namespace locus::LOCUS_ABI::detail
