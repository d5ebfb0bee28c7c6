#pragma once
// The share of a data set's samples that a rank visits.

#include <locus/data/dataset.hpp>
#include <locus/data/sampler.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// Treatment of the remainder, the samples too few to give each rank one more.
enum class Remainder {
  repeat,  ///< all ranks visit equally many: the first samples of the epoch's order are visited once more
  drop,    ///< all ranks visit equally many: the remainder, another in every epoch if shuffled, is left out
  keep     ///< the first ranks visit one more: every sample is visited once, which evaluations need
};

struct DistributedSamplerOptions {
  bool shuffle = true;     ///< a new order every epoch, the same on all ranks
  std::uint64_t seed = 0;  ///< the order depends on (seed, epoch); the same on all ranks
  Remainder remainder = Remainder::repeat;
};

/// One rank among several: a dist::Communicator, for example.
template <class C>
concept RankAmongRanks = requires(const C& comm) {
  { comm.rank() } -> std::same_as<int>;
  { comm.size() } -> std::same_as<int>;
};

/// The samples of one rank: number rank, rank + ranks, rank + 2 ranks, ... of an order that all ranks share, so that
/// the ranks together visit every sample once an epoch. The loader passes the epoch.
/// cost: where it shuffles, an index for each sample of the data set
///
///     auto batches = data::loader<D>(train, data::DistributedSampler{train, comm}, {.batch_size = 32});
class DistributedSampler {
 public:
  /// throws ArgumentError for a rank outside [0, ranks), and fewer samples than ranks, unless samples are repeated
  DistributedSampler(std::int64_t samples, int rank, int ranks, const DistributedSamplerOptions& options = {})
      : samples_(samples), rank_(rank), ranks_(ranks), options_(options) {
    if (ranks < 1) fail<ArgumentError>({"DistributedSampler: ", ranks, " ranks; expected 1 or more"});
    if (rank < 0 || rank >= ranks)
      fail<ArgumentError>({"DistributedSampler: the rank is ", rank, "; expected 0 to ", ranks - 1});
    const std::int64_t least = options.remainder == Remainder::repeat ? 1 : ranks;
    if (samples < least)
      fail<ArgumentError>({"DistributedSampler: ", samples, " samples for ", ranks, " ranks; expected ", least,
                           " or more", least > 1 ? ", or .remainder = data::Remainder::repeat" : ""});
  }
  template <Dataset S, RankAmongRanks C>
  DistributedSampler(const S& dataset, const C& comm, const DistributedSamplerOptions& options = {})
      : DistributedSampler(dataset.size(), comm.rank(), comm.size(), options) {}

  /// Samples of this rank in an epoch.
  [[nodiscard]] std::int64_t size() const {
    const std::int64_t rest = samples_ % ranks_;
    const bool one_more = options_.remainder == Remainder::repeat ? rest > 0
                          : options_.remainder == Remainder::keep ? rank_ < rest
                                                                  : false;
    return samples_ / ranks_ + one_more;
  }
  /// Repeated visits in an epoch, summed over all ranks.
  [[nodiscard]] std::int64_t repeated() const {
    const std::int64_t rest = samples_ % ranks_;
    return options_.remainder == Remainder::repeat && rest > 0 ? ranks_ - rest : 0;
  }
  /// The same on all ranks.
  [[nodiscard]] std::uint64_t fingerprint() const {
    return detail::fingerprint_of(samples_, ranks_, options_.remainder, options_.shuffle,
                                  options_.shuffle ? options_.seed : 0);
  }
  /// throws OutOfMemory
  [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t epoch) const {
    std::vector<std::int64_t> all;
    if (options_.shuffle) all = RandomSampler{samples_, options_.seed}.order(epoch);
    auto mine = locus::detail::vector_of<std::int64_t>(size(), "DistributedSampler", "samples");
    std::int64_t number = rank_;  // repeated ones are below samples_ + ranks_
    for (auto& sample : mine) {
      const std::int64_t place = number % samples_;
      sample = options_.shuffle ? all[static_cast<std::size_t>(place)] : place;
      number += ranks_;
    }
    return mine;
  }

 private:
  std::int64_t samples_;
  int rank_, ranks_;
  DistributedSamplerOptions options_;
};

static_assert(Sampler<DistributedSampler>);

}}}  // namespace locus::LOCUS_ABI::data
