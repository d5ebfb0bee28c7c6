#pragma once
// Samplers: the order in which a loader visits the samples of a data set.

#include <locus/core/rng.hpp>
#include <locus/core/system/out_of_memory.hpp>

#include <concepts>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// Names the samples of an epoch, in order; every epoch has the same number of samples. A loader takes the samplers
/// below or a class of your own.
template <class S>
concept Sampler = requires(S& to, const S& sampler, std::uint64_t epoch) {
  S(sampler);
  to = sampler;
  { sampler.order(epoch) } -> std::same_as<std::vector<std::int64_t>>;
  { sampler.size() } -> std::same_as<std::int64_t>;
};

/// 0, 1, 2, ...
struct SequentialSampler {
  std::int64_t count;
  [[nodiscard]] std::int64_t size() const { return count; }
  /// throws ArgumentError for a negative count, OutOfMemory
  [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t /*epoch*/) const {
    if (count < 0) fail<ArgumentError>({"sampler: ", count, " samples; expected 0 or more"});
    auto indices = locus::detail::vector_of<std::int64_t>(count, "sampler", "samples");
    for (std::int64_t i = 0; i < count; ++i) indices[static_cast<std::size_t>(i)] = i;
    return indices;
  }
};

namespace detail {
/// The samples in an order that depends on (seed, epoch) alone.
[[nodiscard]] inline std::vector<std::int64_t> shuffled(std::vector<std::int64_t> samples, std::uint64_t seed,
                                                        std::uint64_t epoch) {
  Philox engine(seed, 0, epoch);
  shuffle(samples, engine);
  return samples;
}
}  // namespace detail

/// The given samples, in a new order every epoch that depends on (seed, epoch) alone.
struct SubsetRandomSampler {
  std::vector<std::int64_t> indices;
  std::uint64_t seed = 0;
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(indices.size()); }
  [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t epoch) const {
    return detail::shuffled(indices, seed, epoch);
  }
};

/// Every sample once, in a new order every epoch.
struct RandomSampler {
  std::int64_t count;
  std::uint64_t seed = 0;
  [[nodiscard]] std::int64_t size() const { return count; }
  [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t epoch) const {
    return detail::shuffled(SequentialSampler{count}.order(0), seed, epoch);
  }
};

static_assert(Sampler<SequentialSampler> && Sampler<RandomSampler> && Sampler<SubsetRandomSampler>);

}}}  // namespace locus::LOCUS_ABI::data
