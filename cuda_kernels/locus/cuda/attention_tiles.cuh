#pragma once
// Tiles of attention in shared memory, and their products in registers. A tile has 64 queries or keys. Sixteen
// neighbouring threads share the rows of a thread; each has every sixteenth column of scores, or quads of neighbouring
// columns of a result.

#include <locus/cuda/vectorize.cuh>
#include <locus/cuda/warp.cuh>
#include <locus/device/attention.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::detail {

/// Sizes for heads of at most `width` elements, computed in R.
template <class R, int width>
struct AttentionTiles {
  static constexpr int rows = 64, lanes = 16;
  static constexpr int threads = sizeof(R) == 8 || width > 64 ? 256 : 128;
  static constexpr int own = rows * lanes / threads;  ///< rows of a thread
  static constexpr int columns = width / lanes;       ///< columns of a result that a thread holds
  static constexpr int quads = width / 4;
  // The padding spreads the rows that neighbouring threads read over different banks.
  static constexpr int pitch = width + 4, score_pitch = rows + 4;
  static constexpr int tile = rows * pitch, scores = rows * score_pitch;  ///< elements
  [[nodiscard]] static constexpr std::size_t bytes(int tiles) { return sizeof(R) * (tiles * tile + scores); }
};

/// Four neighbouring elements in shared memory.
template <class R>
struct alignas(16) Quad {
  R x[4];
};
template <class R>
[[nodiscard]] __device__ const Quad<R>& quad_at(const R* at) {
  return *reinterpret_cast<const Quad<R>*>(at);
}

/// Rows of a head. by_quads: rows begin at multiples of four elements, which lie side by side.
template <class T>
struct HeadRows {
  T* data;
  int64_t row_stride, stride;
  bool by_quads;
};
/// A tensor's heads, with the answer for all its rows.
template <class T>
struct TiledHeads {
  AttentionHeads<T> heads;
  bool by_quads;

  TiledHeads(const AttentionHeads<T>& of, int64_t width) : heads(of) {
    constexpr std::uintptr_t bytes = sizeof(T) == 8 ? 16 : 4 * sizeof(T);  // of an access
    by_quads = of.stride[3] == 1 && width % 4 == 0 && reinterpret_cast<std::uintptr_t>(of.data) % bytes == 0;
    for (int d = 0; d < 3; ++d) by_quads = by_quads && of.stride[d] % 4 == 0;
  }
  [[nodiscard]] __device__ HeadRows<T> head(int64_t batch, int64_t head) const {
    return {heads.head(batch, head), heads.stride[2], heads.stride[3], by_quads};
  }
};

/// The place of a thread in its tile: its first row, and its lane among the threads that share the rows.
struct TilePlace {
  int row, lane;
};
template <class Tiles>
[[nodiscard]] __device__ TilePlace tile_place() {
  const int thread = static_cast<int>(threadIdx.x);
  return {thread / Tiles::lanes * Tiles::own, thread % Tiles::lanes};
}

/// The number of rows from `first` on that a tile holds.
template <class Tiles>
[[nodiscard]] __device__ int rows_of_tile(int64_t first, int64_t all) {
  return static_cast<int>(all - first < Tiles::rows ? all - first : Tiles::rows);
}

/// Copies `count` rows from row `first` on; the rest of the tile becomes 0.
template <class Tiles, class T>
__device__ void load_tile(compute_t<T>* tile, const HeadRows<const T>& from, int64_t first, int count, int width) {
  for (int i = static_cast<int>(threadIdx.x); i < Tiles::rows * Tiles::quads; i += Tiles::threads) {
    const int row = i / Tiles::quads, column = 4 * (i % Tiles::quads);
    Quad<compute_t<T>> quad{};
    const T* const at = from.data + (first + row) * from.row_stride + column * from.stride;
    if (row < count && column < width) {
      if (from.by_quads) {
        constexpr int step = sizeof(T) == 8 ? 2 : 4;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          InputVector<const T*, step> in;
          in.load(at, j / step * step, 0);
          quad.x[j] = in[j % step];
        }
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (column + j < width) quad.x[j] = load_as_register(at[j * from.stride]);
      }
    }
    *reinterpret_cast<Quad<compute_t<T>>*>(tile + row * Tiles::pitch + column) = quad;
  }
}

/// Writes the thread's part of a result, times a factor for each of its rows; adds if `accumulate`.
template <class Tiles, class T, class Factor>
__device__ void store_tile(const HeadRows<T>& to, int64_t first, int count, int width, bool accumulate,
                           const compute_t<T> (&result)[Tiles::own][Tiles::columns], const Factor& factor) {
  const TilePlace place = tile_place<Tiles>();
#pragma unroll
  for (int i = 0; i < Tiles::own; ++i) {
    if (place.row + i >= count) break;
#pragma unroll
    for (int c = 0; c < Tiles::columns; ++c) {
      const int column = 4 * place.lane + c / 4 * 4 * Tiles::lanes + c % 4;
      if (column >= width) break;
      T& target = to.data[(first + place.row + i) * to.row_stride + column * to.stride];
      const compute_t<T> value = result[i][c] * factor(i);
      target = from_register<T>(accumulate ? load_as_register(target) + value : value);
    }
  }
}

/// scores = a b^T: rows of `a` by rows of `b`, over `depth` columns, rounded up to fours.
template <class Tiles, class R>
__device__ void multiply_rows(R (&scores)[Tiles::own][4], const R* a, const R* b, int depth) {
  const TilePlace place = tile_place<Tiles>();
  a += place.row * Tiles::pitch, b += place.lane * Tiles::pitch;
#pragma unroll
  for (int i = 0; i < Tiles::own; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) scores[i][j] = 0;
  for (int k = 0; k < depth; k += 4) {
    Quad<R> right[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) right[j] = quad_at(b + j * Tiles::lanes * Tiles::pitch + k);
#pragma unroll
    for (int i = 0; i < Tiles::own; ++i) {
      const Quad<R> left = quad_at(a + i * Tiles::pitch + k);
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int x = 0; x < 4; ++x) scores[i][j] += left.x[x] * right[j].x[x];
    }
  }
}

/// Writes the thread's scores.
template <class Tiles, class R>
__device__ void store_scores(R* tile, const R (&scores)[Tiles::own][4]) {
  const TilePlace place = tile_place<Tiles>();
#pragma unroll
  for (int i = 0; i < Tiles::own; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      tile[(place.row + i) * Tiles::score_pitch + place.lane + j * Tiles::lanes] = scores[i][j];
}

/// result += scores b: over `keys` rows of `b`, rounded up to fours.
template <class Tiles, class R>
__device__ void add_weighted_rows(R (&result)[Tiles::own][Tiles::columns], const R* scores, const R* b, int keys) {
  const TilePlace place = tile_place<Tiles>();
  scores += place.row * Tiles::score_pitch, b += 4 * place.lane;
  for (int k = 0; k < keys; k += 4) {
    Quad<R> left[Tiles::own];
#pragma unroll
    for (int i = 0; i < Tiles::own; ++i) left[i] = quad_at(scores + i * Tiles::score_pitch + k);
#pragma unroll
    for (int x = 0; x < 4; ++x)
#pragma unroll
      for (int c = 0; c < Tiles::columns; c += 4) {
        const Quad<R> right = quad_at(b + (k + x) * Tiles::pitch + c * Tiles::lanes);
#pragma unroll
        for (int i = 0; i < Tiles::own; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j) result[i][c + j] += left[i].x[x] * right.x[j];
      }
  }
}

/// result += scores^T b: over `rows` rows of both.
template <class Tiles, class R>
__device__ void add_weighted_columns(R (&result)[Tiles::own][Tiles::columns], const R* scores, const R* b, int rows) {
  const TilePlace place = tile_place<Tiles>();
  scores += place.row, b += 4 * place.lane;
  for (int k = 0; k < rows; ++k) {
    Quad<R> left[Tiles::own / 4];
#pragma unroll
    for (int i = 0; i < Tiles::own / 4; ++i) left[i] = quad_at(scores + k * Tiles::score_pitch + 4 * i);
#pragma unroll
    for (int c = 0; c < Tiles::columns; c += 4) {
      const Quad<R> right = quad_at(b + k * Tiles::pitch + c * Tiles::lanes);
#pragma unroll
      for (int i = 0; i < Tiles::own; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) result[i][c + j] += left[i / 4].x[i % 4] * right.x[j];
    }
  }
}

/// Combines a value over the threads that share rows; all get it.
template <class R, class Combine>
[[nodiscard]] __device__ R over_lanes(R value, const Combine& combine) {
#pragma unroll
  for (int mask = 8; mask > 0; mask /= 2) value = combine(value, shuffle_xor(value, mask));
  return value;
}

}}}  // namespace locus::LOCUS_ABI::cuda::detail
