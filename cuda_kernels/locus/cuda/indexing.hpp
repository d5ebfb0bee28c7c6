#pragma once
// Which element each thread touches. Plain functions of block and thread, so that tests replay them on the host.

#include <locus/cuda/tuning.hpp>
#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

using std::int32_t;
using std::int64_t;
using std::uint32_t;

[[nodiscard]] LOCUS_FN constexpr int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

/// The smallest power of two that is at least n.
[[nodiscard]] constexpr int64_t power_of_two_from(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

/// Division by a number known on the host: a multiplication and a shift, exact for n <= 2^31.
/// (Granlund and Montgomery: Division by invariant integers using multiplication, 1994.)
struct Divisor {
  uint32_t value = 1, multiplier = 1, shift = 0;

  Divisor() = default;
  explicit constexpr Divisor(uint32_t divisor) : value(divisor) {
    while ((std::uint64_t{1} << shift) < divisor) ++shift;
    const std::uint64_t power = std::uint64_t{1} << shift;
    multiplier = static_cast<uint32_t>(((power - divisor) << 32) / divisor + 1);
  }
  [[nodiscard]] LOCUS_FN constexpr uint32_t quotient(uint32_t n) const {
    const auto high = static_cast<uint32_t>(std::uint64_t{n} * multiplier >> 32);
    return (high + n) >> shift;
  }
};

/// A part of a plan of any number of operands; splitting and walking are compiled once, not per arity.
struct Piece {
  int rank = 1, operands = 0;
  int64_t elements = 0;
  int64_t first_index = 0;  ///< first value of a LinearIndex input; advanced only by splits in order
  int64_t extent[max_rank] = {};
  const int64_t (*stride)[max_rank] = nullptr;   ///< the plan's, which the piece must not outlive
  int64_t offset[max_launch_operands + 1] = {};  ///< where it begins in every operand (in reduce: and in the output)

  Piece() = default;
  template <int N>
  explicit Piece(const Plan<N>& plan)
      : rank(plan.rank), operands(N), elements(plan.elements), first_index(plan.first_index), stride(plan.stride) {
    for (int d = 0; d < rank; ++d) extent[d] = plan.extent[d];
  }
  template <int N>
  explicit Piece(const Plan<N>&&) = delete;
  [[nodiscard]] int64_t inner_stride(int operand) const { return stride[operand][rank - 1]; }
};

namespace detail {
/// Fills a walk's dimensions, innermost first; strides are [dimension][operand].
LOCUS_OUT_OF_LINE inline void fill_walk(const Piece& piece, Divisor* extent, int32_t* stride) {
  for (int d = 0; d < piece.rank; ++d) {
    const int from = piece.rank - 1 - d;
    extent[d] = Divisor(static_cast<uint32_t>(piece.extent[from]));
    for (int i = 0; i < piece.operands; ++i) *stride++ = static_cast<int32_t>(piece.stride[i][from]);
  }
}
}  // namespace detail

/// A piece whose indices and offsets fit 32 bits, as kernels see it; innermost dimension first.
template <int N>
struct Walk {
  int rank = 1;
  uint32_t elements = 0;
  int64_t first_index = 0;
  Divisor extent[max_rank];
  int32_t stride[max_rank][N > 0 ? N : 1] = {};

  Walk() = default;
  explicit Walk(const Piece& piece)
      : rank(piece.rank), elements(static_cast<uint32_t>(piece.elements)), first_index(piece.first_index) {
    detail::fill_walk(piece, extent, stride[0]);
  }

  /// Offset of every operand at `count` positions of the walk, in elements from its beginning.
  template <int count>
  LOCUS_FN constexpr void offsets(uint32_t (&position)[count], int32_t (&offset)[count][N > 0 ? N : 1]) const {
    for (int k = 0; k < count; ++k)
      for (int i = 0; i < N; ++i) offset[k][i] = 0;
    for (int d = 0; d + 1 < rank; ++d) {
      for (int k = 0; k < count; ++k) {
        const uint32_t rest = extent[d].quotient(position[k]);
        const auto at = static_cast<int32_t>(position[k] - rest * extent[d].value);
        for (int i = 0; i < N; ++i) offset[k][i] += at * stride[d][i];
        position[k] = rest;
      }
    }
    for (int k = 0; k < count; ++k)
      for (int i = 0; i < N; ++i) offset[k][i] += static_cast<int32_t>(position[k]) * stride[rank - 1][i];
  }
  /// The same for rank 2: extents and strides are constants of the kernel, without loads.
  template <int count>
  LOCUS_FN constexpr void offsets_of_rank_2(const uint32_t (&position)[count],
                                            int32_t (&offset)[count][N > 0 ? N : 1]) const {
    for (int k = 0; k < count; ++k) {
      const uint32_t rest = extent[0].quotient(position[k]);
      const auto at = static_cast<int32_t>(position[k] - rest * extent[0].value);
      for (int i = 0; i < N; ++i) offset[k][i] = at * stride[0][i] + static_cast<int32_t>(rest) * stride[1][i];
    }
  }
  LOCUS_FN constexpr void offsets(uint32_t position, int32_t (&offset)[N > 0 ? N : 1]) const {
    uint32_t positions[1] = {position};
    int32_t offsets_of_one[1][N > 0 ? N : 1];
    offsets(positions, offsets_of_one);
    for (int i = 0; i < N; ++i) offset[i] = offsets_of_one[0][i];
  }
};

/// A reference to a function of X, its type erased.
template <class X>
class Visitor {
 public:
  template <class F>
    requires(!std::is_same_v<F, Visitor>)
  Visitor(const F& f) : self_(&f), visit_(&call<F>) {}
  void operator()(const X& x) const { visit_(self_, x); }

 private:
  template <class F> static void call(const void* self, const X& x) { (*static_cast<const F*>(self))(x); }
  const void* self_;
  void (*visit_)(const void* self, const X& x);
};
using PieceVisitor = Visitor<Piece>;

/// Most elements of a part, and its largest reach in memory: indices and offsets fit 32 bits.
inline constexpr int64_t piece_limit = tuning::piece_elements;

namespace detail {
/// The dimension in which to halve a piece; -1 if its indices and offsets are within the limit.
[[nodiscard]] inline int dimension_to_split(const Piece& piece, int64_t limit) {
  const auto reach = [&](int i, int d) {
    const int64_t stride = piece.stride[i][d];
    return (piece.extent[d] - 1) * (stride < 0 ? -stride : stride);
  };
  int longest = 0;
  for (int d = 1; d < piece.rank; ++d)
    if (piece.extent[d] > piece.extent[longest]) longest = d;
  if (piece.elements > limit) return longest;
  for (int i = 0; i < piece.operands; ++i) {
    int64_t total = 0;
    int farthest = 0;
    for (int d = 0; d < piece.rank; ++d) {
      total += reach(i, d);
      if (reach(i, d) > reach(i, farthest)) farthest = d;
    }
    if (total > limit) return farthest;
  }
  return -1;
}

[[nodiscard]] inline int first_to_split(const Piece& piece) {
  int d = 0;
  while (piece.extent[d] == 1) ++d;
  return d;
}
}  // namespace detail

/// Calls visit(part) for parts whose indices and offsets fit 32 bits. In order: the next part begins at the row-major
/// index where the last one ended. Otherwise a piece is split in the dimension of the largest reach, so that a
/// transposed operand makes a few parts and not one per row.
LOCUS_OUT_OF_LINE inline void for_each_part(const Piece& piece, bool in_order, const PieceVisitor& visit,
                                            int64_t limit = piece_limit) {
  if (piece.elements == 0) return;
  int d = detail::dimension_to_split(piece, limit);
  if (d < 0) return visit(piece);
  if (in_order) d = detail::first_to_split(piece);
  Piece half = piece;
  half.extent[d] = piece.extent[d] / 2;
  half.elements = piece.elements / piece.extent[d] * half.extent[d];
  for_each_part(half, in_order, visit, limit);
  for (int i = 0; i < piece.operands; ++i) half.offset[i] += half.extent[d] * piece.stride[i][d];
  if (in_order) half.first_index += half.elements;
  half.extent[d] = piece.extent[d] - half.extent[d];
  half.elements = piece.elements - half.elements;
  for_each_part(half, in_order, visit, limit);
}

/// Threads of a block of map.
inline constexpr uint32_t map_threads = tuning::map_threads;

/// Blocks of map whose threads take `per_thread` vectors of `width` elements each.
[[nodiscard]] constexpr uint32_t map_blocks(uint32_t elements, int width, uint32_t per_thread) {
  const auto needed = divide_up(elements / static_cast<uint32_t>(width), int64_t{map_threads} * per_thread);
  return needed > 0 ? static_cast<uint32_t>(needed) : 1;
}

/// map: every thread of a block takes `per_thread` vectors of `width` elements, a block apart; the tail, shorter than a
/// vector, is shared out by elements.
template <int width>
struct VectorTiles {
  static constexpr uint32_t threads = map_threads;
  uint32_t per_thread;

  [[nodiscard]] LOCUS_FN static constexpr uint32_t vectors(uint32_t elements) {
    return elements / static_cast<uint32_t>(width);
  }
  /// Number of a thread's vector k, which exists only if k < per_thread and the number is below vectors().
  [[nodiscard]] LOCUS_FN constexpr uint32_t vector(uint32_t block, uint32_t thread, uint32_t k) const {
    return (block * per_thread + k) * threads + thread;
  }
  /// The tail element of a thread of block 0, which exists only if its number is below `elements`.
  [[nodiscard]] LOCUS_FN static constexpr uint32_t leftover(uint32_t thread, uint32_t elements) {
    return vectors(elements) * static_cast<uint32_t>(width) + thread;
  }
};

/// reduce: a block folds one chunk of the summands of `teams` neighbouring outputs, each by `lanes` threads.
struct ReduceTiles {
  static constexpr uint32_t threads = tuning::reduce_threads;
  static constexpr int in_flight = tuning::reduce_in_flight;  ///< summands that a thread loads before it adds them
  static constexpr int in_flight_of_line =
      tuning::reduce_in_flight_of_line;  ///< the same, for summands one stride apart
  static constexpr int in_flight_of_columns =
      tuning::reduce_in_flight_of_columns;  ///< the same, for vectors of columns

  uint32_t teams = 1, lanes = threads;  ///< teams * lanes == threads
  bool outputs_first = false;           ///< neighbouring threads serve neighbouring outputs, else one team
  uint32_t outputs = 0, summands = 0;
  uint32_t chunk = 0, chunks = 1;
  uint32_t output_blocks = 1;

  /// Depends on the plan alone, never on the GPU, so that results do not either.
  ReduceTiles() = default;
  LOCUS_OUT_OF_LINE constexpr ReduceTiles(int64_t outputs_, int64_t summands_, bool outputs_first_, int64_t most_chunks)
      : outputs_first(outputs_first_),
        outputs(static_cast<uint32_t>(outputs_)),
        summands(static_cast<uint32_t>(summands_)) {
    constexpr int64_t block = threads, wanted_blocks = 1024, per_thread = 16;  // summands worth a thread
    if (outputs_first) {
      const int64_t wide = power_of_two_from(outputs_), deep = power_of_two_from(summands_);
      int64_t narrow = wide < 32 ? wide : 32;
      while (narrow < block && outputs_ >= wanted_blocks * 2 * narrow) narrow *= 2;  // outputs fill the GPU
      lanes = static_cast<uint32_t>(deep < block / narrow ? deep : block / narrow);
    } else {
      // Long runs per thread where outputs fill the GPU by themselves, short ones where they do not.
      const bool fills = outputs_ >= wanted_blocks * 8;
      const int64_t deep = power_of_two_from(divide_up(summands_, fills ? per_thread : in_flight));
      lanes = static_cast<uint32_t>(deep < block ? deep : block);
    }
    teams = threads / lanes;
    output_blocks = static_cast<uint32_t>(divide_up(outputs_, teams));
    const int64_t useful = divide_up(summands_, per_thread * lanes);
    int64_t wanted = wanted_blocks / output_blocks;
    if (wanted > useful) wanted = useful;
    if (wanted > most_chunks) wanted = most_chunks;
    if (wanted < 1) wanted = 1;
    chunk = static_cast<uint32_t>(divide_up(summands_, wanted));
    chunks = chunk > 0 ? static_cast<uint32_t>(divide_up(summands_, chunk)) : 1;
  }

  [[nodiscard]] constexpr uint32_t blocks() const { return output_blocks * chunks; }
  [[nodiscard]] LOCUS_FN constexpr uint32_t team(uint32_t thread) const {
    return outputs_first ? thread & (teams - 1) : thread / lanes;
  }
  [[nodiscard]] LOCUS_FN constexpr uint32_t lane(uint32_t thread) const {
    return outputs_first ? thread / teams : thread & (lanes - 1);
  }
  /// The thread that is `lane` of `team`.
  [[nodiscard]] LOCUS_FN constexpr uint32_t thread_of(uint32_t team, uint32_t lane) const {
    return outputs_first ? lane * teams + team : team * lanes + lane;
  }
  [[nodiscard]] LOCUS_FN constexpr uint32_t chunk_of(uint32_t block) const { return block / output_blocks; }
  /// The output of a thread, which exists only if its number is below `outputs`.
  [[nodiscard]] LOCUS_FN constexpr uint32_t output(uint32_t block, uint32_t thread) const {
    return block % output_blocks * teams + team(thread);
  }
  [[nodiscard]] LOCUS_FN constexpr uint32_t begin(uint32_t block) const { return chunk_of(block) * chunk; }
  [[nodiscard]] LOCUS_FN constexpr uint32_t end(uint32_t block) const {
    const uint32_t last = begin(block) + chunk;
    return last < summands ? last : summands;
  }
};

}}}  // namespace locus::LOCUS_ABI::cuda
