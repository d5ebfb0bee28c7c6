#pragma once
// What a collective throws that did not complete on all ranks.

#include <locus/core/check.hpp>

#include <cstdint>

namespace locus {

/// A collective that did not complete: a rank threw, left, stalled, or called another collective. The communicator is
/// of no more use: each later call on any of its ranks throws the same.
struct CollectiveError : Error {
  CollectiveError(const std::string& text, int rank_at_fault, std::string name, std::int64_t number)
      : Error(text), rank(rank_at_fault), collective(std::move(name)), sequence(number) {}
  int rank;                ///< at fault, as far as the throwing rank knows; -1: none in particular
  std::string collective;  ///< that did not complete: "all_reduce"
  std::int64_t sequence;   ///< its number among the calls of its rank, from 1
};

/// What another rank threw, or how its process ended.
struct RankError : Error {
  RankError(const std::string& text, int rank_that_threw) : Error(text), rank(rank_that_threw) {}
  int rank;
};

/// A way to reach other ranks that this program or machine does not have.
struct EngineUnavailable : Error {
  using Error::Error;
};

/// Processes that did not find each other within the time-out.
struct RendezvousError : EngineUnavailable {
  RendezvousError(const std::string& text, int rank_at_fault) : EngineUnavailable(text), rank(rank_at_fault) {}
  int rank;  ///< at fault; -1: none
};

}  // namespace locus
