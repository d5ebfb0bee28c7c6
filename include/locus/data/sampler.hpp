#pragma once
// In which order a loader visits the samples of a data set.

#include <locus/core/rng.hpp>

#include <vector>

namespace locus::inline LOCUS_ABI::data {

/// 0, 1, 2, ...
struct SequentialSampler {
  std::int64_t count;
  [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t /*epoch*/) const {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) indices[static_cast<std::size_t>(i)] = i;
    return indices;
  }
};

/// The given samples, in a new order every epoch that depends on (seed, epoch) alone.
struct SubsetRandomSampler {
  std::vector<std::int64_t> indices;
  std::uint64_t seed = 0;
  [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t epoch) const {
    auto shuffled = indices;
    Philox engine(seed, 0, epoch);
    shuffle(shuffled, engine);
    return shuffled;
  }
};

/// Every sample once, in a new order every epoch.
struct RandomSampler {
  std::int64_t count;
  std::uint64_t seed = 0;
  [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t epoch) const {
    return SubsetRandomSampler{SequentialSampler{count}.order(0), seed}.order(epoch);
  }
};

}  // namespace locus::inline LOCUS_ABI::data
