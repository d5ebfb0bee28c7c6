#pragma once
// LOCUS_ADVISE=1: fit prints on stderr, before it trains, the extents of the model that fit products badly.

#include <locus/core/std/atomic.hpp>
#include <locus/core/system/environment.hpp>
#include <locus/nn/advise.hpp>
#include <locus/training/ranks.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Value of LOCUS_ADVISE in the environment. throws ArgumentError unless it is 1, 0 or nothing
[[nodiscard]] inline bool advice_is_wanted() { return switch_from_environment("LOCUS_ADVISE", false); }
/// Whether advice was given in this process.
inline Atomic<bool> advice_was_given{false};
/// Whether the next step's memory is to be printed, by training/step_advice.hpp.
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

}}}  // namespace locus::LOCUS_ABI::detail
