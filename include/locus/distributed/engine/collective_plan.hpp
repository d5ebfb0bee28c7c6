#pragma once
// Choice of the algorithm of a sum, and the partition of its elements: plain functions of sizes, so that tests try
// every one.
//
// With n ranks and b bytes, a rank reads and writes
//   one-shot   n b bytes of its peers; one rendezvous
//   two-shot   2 (n - 1) / n b; each rank sums one part, and all ranks get all parts
//   ring       the same, from and to its neighbours alone; 2 (n - 1) rendezvous of neighbours for each pass
//   by machine the same; of n ranks on m machines, 2 (n / m - 1) messages within its machine and 2 log2(m) between them

#include <locus/core/check.hpp>

#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace dist {

/// The algorithm of all_reduce. `automatic`: by size, see choose_algorithm.
/// `by_machine`: between processes, sums within machines first; elsewhere two-shot.
enum class Algorithm : std::uint8_t { automatic, one_shot, two_shot, ring, by_machine };

[[nodiscard]] inline std::string to_string(Algorithm algorithm) {
  static constexpr const char* names[] = {"automatic", "one-shot", "two-shot", "ring", "by machine"};
  return names[static_cast<int>(algorithm)];
}

/// The order in which a sum over ranks is made. `fastest`: as the engine is fastest. NCCL and MPI make sums themselves,
/// and NCCL rounds 16-bit floats after each addition; processes on several machines by TCP sum within machines first.
/// `in_rank_order`: rank 0's elements first, 16-bit floats in float and rounded once, so that results are the same bits
/// on every engine.
enum class Sums : std::uint8_t { fastest, in_rank_order };

/// How ranks access each other's memory.
enum class Links : std::uint8_t {
  shared_memory,  ///< threads of one process on the host: each accesses all memory
  peer_memory,    ///< GPUs whose kernels access each other's memory
  copies,         ///< GPUs not all of which do: memory is copied, through the host if necessary
  messages        ///< processes
};

/// The largest sizes, in bytes, for which one-shot and two-shot are chosen.
struct AlgorithmLimits {
  std::int64_t one_shot, two_shot;
};
[[nodiscard]] constexpr AlgorithmLimits algorithm_limits(Links links) {
  switch (links) {
    case Links::shared_memory: return {16 << 10, INT64_MAX};  // a ring would read and write more here, and gain nothing
    case Links::peer_memory: return {256 << 10, 8 << 20};
    case Links::copies: return {16 << 10, 1 << 20};
    case Links::messages: return {4 << 10, INT64_MAX};
  }
  return {0, INT64_MAX};
}

/// The algorithm for a sum of `bytes` per rank. Rings need three ranks and begin each chunk at another rank; with
/// fewer, or for sums in rank order, two-shot. Sums in rank order make neither rings nor sums by machine, even if these
/// are wanted.
[[nodiscard]] constexpr Algorithm choose_algorithm(Links links, std::int64_t bytes, int ranks,
                                                   Algorithm wanted = Algorithm::automatic, Sums sums = Sums::fastest) {
  const bool in_another_order = wanted == Algorithm::ring || wanted == Algorithm::by_machine;
  if (sums == Sums::in_rank_order && in_another_order) return Algorithm::two_shot;
  if (wanted != Algorithm::automatic) return wanted;
  const AlgorithmLimits limits = algorithm_limits(links);
  if (bytes <= limits.one_shot) return Algorithm::one_shot;
  const bool has_ring = ranks >= 3 && sums == Sums::fastest;
  return bytes <= limits.two_shot || !has_ring ? Algorithm::two_shot : Algorithm::ring;
}

/// Elements [begin, end).
struct Range {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] constexpr std::int64_t size() const { return end - begin; }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

/// Parts begin at multiples of this, so that no vector, and no cache line of floats, straddles two parts.
inline constexpr std::int64_t part_grain = 64;

/// Part `part` of `parts` of `count` elements: in order, without gaps, sizes differing by less than two grains.
[[nodiscard]] constexpr Range part_of(std::int64_t count, int parts, int part) {
  const std::int64_t grains = (count + part_grain - 1) / part_grain;
  const auto at = [&](int i) {
    const std::int64_t begin = (grains / parts * i + (grains % parts < i ? grains % parts : i)) * part_grain;
    return begin < count ? begin : count;
  };
  return {at(part), at(part + 1)};
}

/// Part `part` of `parts` of a range.
[[nodiscard]] constexpr Range part_of(Range range, int parts, int part) {
  const Range within = part_of(range.size(), parts, part);
  return {range.begin + within.begin, range.begin + within.end};
}

/// The number of pieces of `piece` elements in `count`, and the elements of piece `index`.
[[nodiscard]] constexpr std::int64_t pieces_of(std::int64_t count, std::int64_t piece) {
  return (count + piece - 1) / piece;
}
[[nodiscard]] constexpr Range piece_of(std::int64_t count, std::int64_t piece, std::int64_t index) {
  const std::int64_t begin = index * piece;
  return {begin, count - begin < piece ? count : begin + piece};
}

/// Chunks in a ring of n ranks, in which rank r receives from rank r - 1. In each of the first n - 1 steps, a rank adds
/// its own elements of chunk `ring_summed` to the partial sum that it receives; after them, its chunk `ring_owned` is
/// complete. In each of n - 1 further steps, it receives the complete chunk `ring_taken`.
[[nodiscard]] constexpr int ring_summed(int rank, int ranks, int step) { return (rank - 1 - step + 2 * ranks) % ranks; }
[[nodiscard]] constexpr int ring_owned(int rank, int ranks) { return (rank + 1) % ranks; }
[[nodiscard]] constexpr int ring_taken(int rank, int ranks, int step) { return (rank - step + ranks) % ranks; }

}}}  // namespace locus::LOCUS_ABI::dist
