#pragma once
// Samplers: the order in which a loader visits the samples of a data set.

#include <locus/core/rng.hpp>
#include <locus/core/system/out_of_memory.hpp>

#include <concepts>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace data {

/// Names the samples of an epoch, in order; every epoch has the same number of samples. A loader takes the samplers
/// below or a class of your own. A sampler may have fingerprint(), a std::uint64_t of its settings that is the same on
/// all ranks: io::resume_training does not go on in mid-epoch with another one.
template <class S>
concept Sampler = requires(S& to, const S& sampler, std::uint64_t epoch) {
  S(sampler);
  to = sampler;
  { sampler.order(epoch) } -> std::same_as<std::vector<std::int64_t>>;
  { sampler.size() } -> std::same_as<std::int64_t>;
};

namespace detail {
/// FNV-1a, of numbers instead of bytes. Samplers of different classes give different counts of numbers.
template <class... N>
[[nodiscard]] constexpr std::uint64_t fingerprint_of(N... numbers) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  ((hash = (hash ^ static_cast<std::uint64_t>(numbers)) * 0x100000001b3u), ...);
  return hash;
}
}  // namespace detail

/// 0, 1, 2, ...
struct SequentialSampler {
  std::int64_t count;
  [[nodiscard]] std::int64_t size() const { return count; }
  [[nodiscard]] std::uint64_t fingerprint() const { return detail::fingerprint_of(count); }
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
  /// cost: reads the indices
  [[nodiscard]] std::uint64_t fingerprint() const {
    std::uint64_t result = detail::fingerprint_of(indices.size(), seed, 0);
    for (const std::int64_t index : indices) result = detail::fingerprint_of(result, index, 0);
    return result;
  }
  [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t epoch) const {
    return detail::shuffled(indices, seed, epoch);
  }
};

/// Every sample once, in a new order every epoch.
struct RandomSampler {
  std::int64_t count;
  std::uint64_t seed = 0;
  [[nodiscard]] std::int64_t size() const { return count; }
  [[nodiscard]] std::uint64_t fingerprint() const { return detail::fingerprint_of(count, seed); }
  [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t epoch) const {
    return detail::shuffled(SequentialSampler{count}.order(0), seed, epoch);
  }
};

/// Every sample once, in a new order every epoch that reads a large file in pieces: blocks of samples that follow one
/// another come in random order, and the samples of some blocks at a time are shuffled. As random as RandomSampler with
/// one block, or with blocks of one sample.
///
///     data::loader<D>(windows, data::BlockSampler{.count = windows.size(), .seed = 1}, {.batch_size = 32})
struct BlockSampler {
  std::int64_t count;
  std::int64_t block = 4096;   ///< samples of a block
  std::int64_t together = 16;  ///< blocks whose samples are shuffled at once
  std::uint64_t seed = 0;
  [[nodiscard]] std::int64_t size() const { return count; }
  [[nodiscard]] std::uint64_t fingerprint() const { return detail::fingerprint_of(count, block, together, seed); }
  /// throws ArgumentError for a negative count, and for less than one sample of a block or one block at once;
  /// OutOfMemory
  [[nodiscard]] std::vector<std::int64_t> order(std::uint64_t epoch) const {
    if (block < 1 || together < 1)
      fail<ArgumentError>({"BlockSampler: .block = ", block, " and .together = ", together, "; expected 1 or more"});
    std::vector<std::int64_t> samples = SequentialSampler{count}.order(epoch);
    const std::int64_t blocks = count / block + (count % block != 0);
    auto order = locus::detail::vector_of<std::int64_t>(blocks, "BlockSampler", "blocks");
    for (std::int64_t i = 0; i < blocks; ++i) order[static_cast<std::size_t>(i)] = i;
    Philox engine(seed, 0, epoch);
    shuffle(order, engine);
    std::size_t end = 0, begin = 0;  // of the samples that are shuffled at once
    for (std::int64_t i = 0; i < blocks; ++i) {
      const std::int64_t first = order[static_cast<std::size_t>(i)] * block;
      const std::int64_t last = count - first < block ? count : first + block;
      for (std::int64_t sample = first; sample < last; ++sample) samples[end++] = sample;
      if ((i + 1) % together != 0 && i + 1 < blocks) continue;
      shuffle(Span<std::int64_t>(samples.data() + begin, end - begin), engine);
      begin = end;
    }
    return samples;
  }
};

static_assert(Sampler<SequentialSampler> && Sampler<RandomSampler> && Sampler<SubsetRandomSampler> &&
              Sampler<BlockSampler>);

}}}  // namespace locus::LOCUS_ABI::data
