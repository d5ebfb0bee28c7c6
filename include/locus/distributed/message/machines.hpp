#pragma once
// The ranks of each machine, and the steps of a sum between machines: plain functions, so that tests try every size.

#include <locus/distributed/engine/collective_plan.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

class Machines {
 public:
  /// machine_of(rank): any number that the ranks of a machine share. Machines are numbered by their first rank.
  template <class MachineOf>
  Machines(int ranks, const MachineOf& machine_of) {
    std::vector<int> names;
    for (int rank = 0; rank < ranks; ++rank) {
      std::size_t machine = 0;
      while (machine < names.size() && names[machine] != machine_of(rank)) ++machine;
      if (machine == names.size()) {
        names.push_back(machine_of(rank));
        ranks_.emplace_back();
      }
      places_.push_back({static_cast<int>(machine), static_cast<int>(ranks_[machine].size())});
      ranks_[machine].push_back(rank);
    }
    for (const auto& own : ranks_)
      if (least_ == 0 || static_cast<int>(own.size()) < least_) least_ = static_cast<int>(own.size());
  }

  struct Place {
    int machine, index;  ///< of a rank: its machine, and its number among the ranks there
  };
  [[nodiscard]] Place place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int count() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] const std::vector<int>& ranks_of(int machine) const {
    return ranks_[static_cast<std::size_t>(machine)];
  }
  /// Ranks of the smallest machine: ranks of each machine that sum a part each.
  [[nodiscard]] int parts() const { return least_; }
  /// Whether there are several machines of several ranks.
  [[nodiscard]] bool are_worth_it() const { return count() > 1 && least_ > 1; }

 private:
  std::vector<std::vector<int>> ranks_;
  std::vector<Place> places_;
  int least_ = 0;
};

/// Recursive halving among `count` members (Rabenseifner, 2004): the first 2^k exchange halves in k steps, after each
/// of which a member keeps half the range; each of the others adds its elements to those of a member first.
[[nodiscard]] constexpr int halving_members(int count) {
  int members = 1;
  while (2 * members <= count) members *= 2;
  return members;
}
/// The half of a range that a member keeps, and the one that it gives away, in the step with the peer member ^ mask.
struct Halves {
  Range kept, given;
};
[[nodiscard]] constexpr Halves halves_of(Range range, int member, int mask) {
  const Range low = part_of(range, 2, 0), high = part_of(range, 2, 1);
  return member & mask ? Halves{high, low} : Halves{low, high};
}

}}}  // namespace locus::LOCUS_ABI::dist::detail
