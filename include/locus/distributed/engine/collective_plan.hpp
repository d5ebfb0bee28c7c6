#pragma once
// Which way ranks sum, and how they cut the elements: plain functions of sizes, so that tests try every one.
//
// With n ranks and b bytes, a rank reads and writes
//   one-shot   n b bytes of its peers; one rendezvous
//   two-shot   2 (n - 1) / n b; each rank sums one part, and everybody gets all parts
//   ring       the same, from and to its neighbours alone; 2 (n - 1) rendezvous of neighbours for each pass

#include <locus/core/check.hpp>

#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// How the sums of all_reduce are made. `automatic`: by size, see choose_algorithm.
enum class Algorithm : std::uint8_t { automatic, one_shot, two_shot, ring };

[[nodiscard]] inline std::string to_string(Algorithm algorithm) {
  static constexpr const char* names[] = {"automatic", "one-shot", "two-shot", "ring"};
  return names[static_cast<int>(algorithm)];
}

/// How ranks reach the memory of each other.
enum class Links : std::uint8_t {
  shared_memory,  ///< threads of one process on the host: all read and write all memory
  peer_memory,    ///< GPUs whose kernels do
  copies,         ///< GPUs some of which do not: memory is copied, by way of the host where it has to be
  messages        ///< processes
};

/// Up to these sizes, in bytes, a way of summing is chosen.
struct AlgorithmLimits {
  std::int64_t one_shot, two_shot;
};
[[nodiscard]] constexpr AlgorithmLimits algorithm_limits(Links links) {
  switch (links) {
    case Links::shared_memory: return {16 << 10, INT64_MAX};  // where a ring reads and writes more, and gains nothing
    case Links::peer_memory: return {256 << 10, 8 << 20};
    case Links::copies: return {16 << 10, 1 << 20};
    case Links::messages: return {4 << 10, INT64_MAX};
  }
  return {0, INT64_MAX};
}

/// The way to sum so many bytes of each rank. Rings need three ranks; below that, two-shot.
[[nodiscard]] constexpr Algorithm choose_algorithm(Links links, std::int64_t bytes, int ranks,
                                                   Algorithm wanted = Algorithm::automatic) {
  if (wanted != Algorithm::automatic) return wanted;
  const AlgorithmLimits limits = algorithm_limits(links);
  if (bytes <= limits.one_shot) return Algorithm::one_shot;
  return bytes <= limits.two_shot || ranks < 3 ? Algorithm::two_shot : Algorithm::ring;
}

/// Elements [begin, end).
struct Range {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] constexpr std::int64_t size() const { return end - begin; }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

/// Parts begin at multiples of this, so that vectors do not straddle two of them, nor cache lines of floats.
inline constexpr std::int64_t part_grain = 64;

/// Part `part` of `parts` of so many elements: in order, without gaps, of the same size but for the last ones.
[[nodiscard]] constexpr Range part_of(std::int64_t count, int parts, int part) {
  const std::int64_t grains = (count + part_grain - 1) / part_grain;
  const auto at = [&](int i) {
    const std::int64_t begin = (grains / parts * i + (grains % parts < i ? grains % parts : i)) * part_grain;
    return begin < count ? begin : count;
  };
  return {at(part), at(part + 1)};
}

/// The same of a range of them.
[[nodiscard]] constexpr Range part_of(Range range, int parts, int part) {
  const Range within = part_of(range.size(), parts, part);
  return {range.begin + within.begin, range.begin + within.end};
}

/// Piece `index` of elements that are cut every `piece`.
[[nodiscard]] constexpr std::int64_t pieces_of(std::int64_t count, std::int64_t piece) {
  return (count + piece - 1) / piece;
}
[[nodiscard]] constexpr Range piece_of(std::int64_t count, std::int64_t piece, std::int64_t index) {
  const std::int64_t begin = index * piece;
  return {begin, count - begin < piece ? count : begin + piece};
}

/// A ring of n ranks, in which rank r takes from rank r - 1. In step s of the first n - 1, it adds its own elements of
/// a chunk to the sum that it takes; after the last, its chunk `ring_owned` is complete. In step s of as many more, it
/// takes a complete chunk.
[[nodiscard]] constexpr int ring_summed(int rank, int ranks, int step) { return (rank - 1 - step + 2 * ranks) % ranks; }
[[nodiscard]] constexpr int ring_owned(int rank, int ranks) { return (rank + 1) % ranks; }
[[nodiscard]] constexpr int ring_taken(int rank, int ranks, int step) { return (rank - step + ranks) % ranks; }

}}}  // namespace locus::LOCUS_ABI::dist
