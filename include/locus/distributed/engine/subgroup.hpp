#pragma once
// The ranks of an engine that form a group of their own.

#include <locus/distributed/engine/engine.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// The group of one rank: the ranks that gave its color, in the order of their keys, and of their numbers where keys
/// are equal.
class Subgroup {
 public:
  /// `choices`: by rank. rank: of this process or thread.
  Subgroup(const std::vector<GroupChoice>& choices, int rank) {
    const auto choice_of = [&](int of) { return choices[static_cast<std::size_t>(of)]; };
    for (int other = 0; other < static_cast<int>(choices.size()); ++other) {
      if (choice_of(other).color != choice_of(rank).color) continue;
      auto place = ranks_.end();
      while (place != ranks_.begin() && choice_of(place[-1]).key > choice_of(other).key) --place;
      ranks_.insert(place, other);
    }
    while (ranks_[static_cast<std::size_t>(rank_)] != rank) ++rank_;
  }
  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  /// This rank's number in the group.
  [[nodiscard]] int rank() const { return rank_; }
  /// The ranks that were asked, in the order of their numbers in the group.
  [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }
  [[nodiscard]] std::size_t first() const { return static_cast<std::size_t>(ranks_[0]); }

 private:
  std::vector<int> ranks_;
  int rank_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
