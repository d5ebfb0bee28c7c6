#pragma once
// LOCUS_ADVISE=1: fit prints on stderr, before its first step, the bytes of a step.

#include <locus/training/advice.hpp>
#include <locus/training/step_memory.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Before the first step, if advice was given: prints the step's bytes, or why they cannot be measured. Not for models
/// of several ranks, whose passes may wait for each other.
template <class M, class Optimizer, class L, class X, class D, class... Y>
void advise_memory_once(const M& model, Optimizer& optimizer, const L& loss,
                        const Tuple<Tensor<X, D>, Tensor<Y, D>...>& batch) {
  if (!memory_advice_is_due.load(Order::relaxed) || !memory_advice_is_due.exchange(false)) return;
  if constexpr (HasPlace<M> && nn::detail::ListsMembers<M> && !OfRanks<M> && RestartsPeak<D>) {
    try {
      print_advice(unpack(batch, [&](const auto&... x) { return step_memory(model, optimizer, loss, x...); }).text());
    } catch (const std::exception& error) {
      print_advice(join("the memory of a step is not known: ", error.what(), "\n"));
    }
  }
}

}}}  // namespace locus::LOCUS_ABI::detail
