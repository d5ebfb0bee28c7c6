#pragma once
// LOCUS_ADVISE=1: fit prints on stderr, before it trains, the extents of the model that fit products badly, and the
// bytes of a step.

#include <locus/core/std/atomic.hpp>
#include <locus/core/system/environment.hpp>
#include <locus/nn/advise.hpp>
#include <locus/training/ranks.hpp>
#include <locus/training/step_memory.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Value of LOCUS_ADVISE in the environment. throws ArgumentError unless it is 1, 0 or nothing
[[nodiscard]] inline bool advice_is_wanted() { return switch_from_environment("LOCUS_ADVISE", false); }
/// Whether advice was given in this process.
inline Atomic<bool> advice_was_given{false};
/// Whether the next step's memory is to be printed.
inline Atomic<bool> memory_advice_is_due{false};

LOCUS_COLD inline void print_advice(const std::string& text) {
  std::string lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    lines += "locus: advice: " + text.substr(begin, end - begin);
    begin = end;
  }
  std::fputs(lines.c_str(), stderr);
}

/// Prints advice for the first model that is trained in this process, on rank 0. throws as advice_is_wanted()
template <class M>
void advise_once(const M& model, std::int64_t batch_size) {
  if (!advice_is_wanted() || !is_first_rank(model) || advice_was_given.exchange(true)) return;
  if constexpr (HasPlace<M> && nn::detail::ListsMembers<M>) {
    const nn::Advice advice = nn::advise(model, Shape{batch_size});
    print_advice(advice.entries.empty() ? "no extent of the model is worth padding\n" : advice.text());
    memory_advice_is_due.store(!OfRanks<M>);
  } else {
    print_advice("the model is a function, which lists no layers\n");
  }
}

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
