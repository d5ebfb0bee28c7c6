#pragma once
// The names of ranks in errors: a group numbers its ranks from 0, and errors add their numbers in the whole run.

#include <locus/core/check.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

/// The ranks of a group, as the whole run numbers them. By default: the group is the run.
class RunRanks {
 public:
  RunRanks() = default;
  /// A group of `ranks`, as `parent` numbers them. `label`: as "along Data"; empty: none
  RunRanks(const RunRanks& parent, const std::vector<int>& ranks, const char* label)
      : label_(*label ? label : "of a group") {
    for (const int rank : ranks) of_run_.push_back(parent.of_run(rank));
  }
  /// The number of a rank in the run; -1 for no rank of the group.
  [[nodiscard]] int of_run(int rank) const {
    if (of_run_.empty()) return rank;
    return rank >= 0 && rank < static_cast<int>(of_run_.size()) ? of_run_[static_cast<std::size_t>(rank)] : -1;
  }
  /// "rank 0 of 2"; of a group, "rank 0 of 2 along Data (rank 4 of the run)".
  [[nodiscard]] std::string text(int rank, int size) const {
    const std::string text = join("rank ", rank, " of ", size);
    return of_run_.empty() ? text : join(text, " ", label_, " (rank ", of_run(rank), " of the run)");
  }
  /// The reason of a failure, which mostly begins with the rank at fault, as "rank 1 threw: no luck". Of a group,
  /// "rank 1 of the group (rank 5 of the run) threw: no luck".
  [[nodiscard]] std::string reason(int at_fault, const std::string& text) const {
    if (of_run_.empty() || of_run(at_fault) < 0) return text;
    const std::string subject = join("rank ", at_fault),
                      added = join(" of the group (rank ", of_run(at_fault), " of the run)");
    if (text.starts_with(subject + " ")) return subject + added + text.substr(subject.size());
    return text + "; at fault: " + subject + added;
  }

 private:
  std::vector<int> of_run_{};  ///< by rank of the group; empty: the group is the run
  std::string label_{};
};

}}}  // namespace locus::LOCUS_ABI::dist::detail
