#pragma once
// Transposing copies: which element each thread touches. Plain functions of block and thread, so that tests replay them
// on the host.

#include <locus/cuda/indexing.hpp>
#include <locus/cuda/tuning.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// A copy in which the source is dense along one dimension and the target along another, cut into square tiles of both.
/// Within a tile, `a` counts along the source's dense dimension and `b` along the target's. A lane accesses a word of
/// `pack` neighbours; words of 4 bytes make whole lines of elements of 1 and 2 bytes.
struct Transposition {
  static constexpr uint32_t lanes = tuning::transposed_lanes, rows = tuning::transposed_rows, threads = lanes * rows;
  static constexpr int word_bytes = 4;
  /// Least extents for which tiles pay.
  static constexpr int64_t least = tuning::least_transposed;

  uint32_t pack = 1;  ///< elements of a word
  uint32_t extent_a = 0, extent_b = 0;
  int32_t source_b = 0, target_a = 0;  ///< other strides; the source's along a and the target's along b are 1
  Divisor tiles_a, tiles_b;
  Walk<2> batch;  ///< over the other dimensions: of the source, and of the target

  /// Whether a piece of two operands, the source and the target, is such a copy.
  [[nodiscard]] static bool fits(const Piece& piece) {
    const int a = dense_dimension(piece, 0), b = dense_dimension(piece, 1);
    return a >= 0 && b >= 0 && a != b && piece.extent[a] >= least && piece.extent[b] >= least;
  }

  /// Elements of `bytes` in a word: several if words do not leave the operands, which begin at these addresses, and are
  /// aligned, and if tiles are filled at least by half.
  [[nodiscard]] static uint32_t pack_of(const Piece& whole, const Piece& piece, std::uintptr_t source,
                                        std::uintptr_t target, int bytes) {
    if (bytes >= word_bytes || source % word_bytes != 0 || target % word_bytes != 0) return 1;
    const int64_t packed = word_bytes / bytes;
    const int dense[] = {dense_dimension(whole, 0), dense_dimension(whole, 1)};
    for (const int d : dense)
      if (piece.extent[d] % packed != 0 || piece.extent[d] < packed * lanes / 2) return 1;
    for (int i = 0; i < 2; ++i)
      for (int d = 0; d < piece.rank; ++d)
        if (d != dense[i] && piece.extent[d] > 1 && piece.stride[i][d] % packed != 0) return 1;
    return static_cast<uint32_t>(packed);
  }

  /// For a part of such a piece, whose indices and offsets fit 32 bits.
  Transposition(const Piece& whole, const Piece& piece, uint32_t elements_of_word) : pack(elements_of_word) {
    const int a = dense_dimension(whole, 0), b = dense_dimension(whole, 1);
    extent_a = static_cast<uint32_t>(piece.extent[a]);
    extent_b = static_cast<uint32_t>(piece.extent[b]);
    source_b = static_cast<int32_t>(piece.stride[0][b]);
    target_a = static_cast<int32_t>(piece.stride[1][a]);
    tiles_a = Divisor(static_cast<uint32_t>(divide_up(extent_a, tile())));
    tiles_b = Divisor(static_cast<uint32_t>(divide_up(extent_b, tile())));
    int64_t stride[2][max_rank] = {};
    Piece others = piece;
    others.rank = 0;
    others.elements = 1;
    others.stride = stride;
    for (int d = 0; d < piece.rank; ++d) {
      if (d == a || d == b) continue;
      others.extent[others.rank] = piece.extent[d];
      for (int i = 0; i < 2; ++i) stride[i][others.rank] = piece.stride[i][d];
      others.elements *= piece.extent[d];
      ++others.rank;
    }
    if (others.rank == 0) others.extent[others.rank++] = 1;
    batch = Walk<2>(others);
  }

  /// Side of a tile, in elements.
  [[nodiscard]] LOCUS_FN constexpr uint32_t tile() const { return lanes * pack; }
  /// Where the word of column `a` that holds elements of rows `word * pack` on is in shared memory: the threads of a
  /// warp meet no bank conflicts, neither for the words of a column nor for one word of every pack-th column.
  [[nodiscard]] LOCUS_FN static constexpr uint32_t slot(uint32_t a, uint32_t word, uint32_t pack) {
    return a * lanes + (word + a / pack) % lanes;
  }
  [[nodiscard]] uint32_t blocks() const { return batch.elements * tiles_a.value * tiles_b.value; }

  /// Where a block's tile begins.
  struct Place {
    uint32_t a, b;
    int32_t source, target;  ///< offsets of its batch
  };
  [[nodiscard]] LOCUS_FN constexpr Place place(uint32_t block) const {
    const uint32_t row = tiles_a.quotient(block), matrix = tiles_b.quotient(row);
    int32_t offset[2];
    batch.offsets(matrix, offset);
    return {(block - row * tiles_a.value) * tile(), (row - matrix * tiles_b.value) * tile(), offset[0], offset[1]};
  }
  /// Whether there is an element at a and b of the tile.
  [[nodiscard]] LOCUS_FN constexpr bool inside(const Place& place, uint32_t a, uint32_t b) const {
    return place.a + a < extent_a && place.b + b < extent_b;
  }
  /// Offset of that element in the source, and in the target.
  [[nodiscard]] LOCUS_FN constexpr int32_t source(const Place& place, uint32_t a, uint32_t b) const {
    return place.source + static_cast<int32_t>(place.a + a) + static_cast<int32_t>(place.b + b) * source_b;
  }
  [[nodiscard]] LOCUS_FN constexpr int32_t target(const Place& place, uint32_t a, uint32_t b) const {
    return place.target + static_cast<int32_t>(place.b + b) + static_cast<int32_t>(place.a + a) * target_a;
  }

 private:
  /// The innermost dimension along which an operand is dense; -1: none.
  [[nodiscard]] static int dense_dimension(const Piece& piece, int operand) {
    int d = piece.rank - 1;
    while (d >= 0 && (piece.stride[operand][d] != 1 || piece.extent[d] == 1)) --d;
    return d;
  }
};

}}}  // namespace locus::LOCUS_ABI::cuda
