#pragma once
// The rank at fault where ranks wait for a collective that does not come to its end.

#include <locus/distributed/engine/engine.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// The last call that a rank has told the others of.
struct ToldCall {
  std::int64_t sequence = -1;  ///< its number; -1: none yet
  std::string text{};
};

struct Culprit {
  int rank = -1;  ///< -1: none
  std::string reason{};
};

/// The first rank that did not make call `sequence` within `timeout` seconds; else the first that made another call
/// than rank 0. told(rank): its ToldCall.
template <class Told>
[[nodiscard]] Culprit culprit_of(int ranks, std::int64_t sequence, double timeout, const Told& told) {
  for (int rank = 0; rank < ranks; ++rank)
    if (told(rank).sequence < sequence) return {rank, join("rank ", rank, did_not_come, timeout, wait_longer)};
  const ToldCall first = told(0);
  for (int rank = 1; rank < ranks; ++rank) {
    const ToldCall other = told(rank);
    if (first.sequence == sequence && other.sequence == sequence && other.text != first.text)
      return {rank, join("rank ", rank, " called ", other.text, ", rank 0 ", first.text, call_the_same)};
  }
  return {};
}

}}}  // namespace locus::LOCUS_ABI::dist::detail
