#pragma once
// Errors of communication between ranks.

#include <locus/core/check.hpp>

#include <cstdint>

namespace locus {

/// A collective that did not complete: a rank threw, left, stalled, or called another collective. The communicator is
/// unusable from then on: each later call on any of its ranks throws the same error.
struct CollectiveError : Error {
  CollectiveError(const std::string& text, int rank_at_fault, int as_of_run, std::string name, std::int64_t number)
      : Error(text), rank(rank_at_fault), rank_of_run(as_of_run), collective(std::move(name)), sequence(number) {}
  int rank;                ///< the rank at fault, as far as the throwing rank knows; -1: none in particular
  int rank_of_run;         ///< its number in the whole run, which differs in a group that split() made
  std::string collective;  ///< the collective that did not complete: "all_reduce"
  std::int64_t sequence;   ///< its number among the calls of its rank, from 1
};

/// The exception of another rank, or the end of its process.
struct RankError : Error {
  RankError(const std::string& text, int rank_that_threw) : Error(text), rank(rank_that_threw) {}
  int rank;
};

/// This program or machine lacks the requested way to reach other ranks.
struct EngineUnavailable : Error {
  using Error::Error;
};

/// Processes that did not find each other within the time-out.
struct RendezvousError : EngineUnavailable {
  RendezvousError(const std::string& text, int rank_at_fault) : EngineUnavailable(text), rank(rank_at_fault) {}
  int rank;  ///< at fault; -1: none
};

}  // namespace locus
