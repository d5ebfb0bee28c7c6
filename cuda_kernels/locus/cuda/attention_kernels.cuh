#pragma once
// The kernels of attention whose scores stay in registers and shared memory (Dao, "FlashAttention-2", 2023): a block
// has 64 queries, or, for the gradients of keys and values, 64 keys of a head. Sums have a fixed order: equal calls
// give equal bits.

#include <locus/core/math.hpp>
#include <locus/cuda/attention_tiles.cuh>
#include <locus/cuda/for_each_row.cuh>

namespace locus { inline namespace LOCUS_ABI { namespace cuda { namespace detail {

/// The tile and the head of a block. Tiles with most work begin first: the last ones of causal queries.
struct AttentionBlock {
  int64_t batch, head, first;  ///< first: query or key of the tile
  template <class Tiles>
  [[nodiscard]] static __device__ AttentionBlock find(const AttentionShape& shape, bool last_first) {
    const int64_t heads = shape.batch * shape.heads, tile = blockIdx.x / heads, all = gridDim.x / heads;
    const int64_t head = blockIdx.x % heads;
    return {head / shape.heads, head % shape.heads, (last_first ? all - 1 - tile : tile) * Tiles::rows};
  }
};

/// The scores of a head.
template <class Tiles, class T, class Drop>
class HeadScores {
  using R = compute_t<T>;

 public:
  static constexpr R low = -static_cast<R>(__builtin_huge_val());

  __device__ HeadScores(const AttentionCall<T>& call, const Drop& drop, const AttentionBlock& block)
      : call_(call), drop_(drop), first_((block.batch * call.shape.heads + block.head) * call.shape.rows) {
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      const ScoreMask<T>& mask = call.masks[m];
      const int64_t offset = block.batch * mask.stride[0] + block.head * mask.stride[1];
      marks_[m] = mask.marks ? mask.marks + offset : nullptr;
      added_[m] = mask.added ? mask.added + offset : nullptr;
    }
  }
  /// The number of a row among the rows of all heads.
  [[nodiscard]] __device__ int64_t number(int64_t row) const { return first_ + row; }
  /// The number of keys from 0 on that rows before `end` attend to.
  [[nodiscard]] __device__ int64_t keys_before(int64_t end) const {
    return call_.is_causal && end < call_.shape.keys ? end : call_.shape.keys;
  }
  /// A tile's products become scores: -infinity where a mask excludes the key, or there is no such pair.
  __device__ void scale(R (&tile)[Tiles::own][4], int64_t row, int64_t key) const {
    each(
        tile, [&](R product, int64_t, int64_t) { return product * call_.scale; }, row, key);
    if (!is_whole(row, key))
      each(
          tile, [&](R score, int64_t r, int64_t k) { return bounded(score, r, k); }, row, key);
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      const ScoreMask<T>& mask = call_.masks[m];
      const auto at = [&](int64_t r, int64_t k) { return r * mask.stride[2] + k * mask.stride[3]; };
      const auto marked = [&](R score, int64_t r, int64_t k) {
        return score != low && marks_[m][at(r, k)] != mask.allowed ? low : score;
      };
      const auto added = [&](R score, int64_t r, int64_t k) {
        return score != low ? score + load_as_register(added_[m][at(r, k)]) : low;
      };
      if (marks_[m]) each(tile, marked, row, key);
      if (added_[m]) each(tile, added, row, key);
    }
  }
  /// Calls f(i, j, factor) with the factor of dropout of each element of the thread's tile.
  template <class F>
  __device__ void for_each_factor(int64_t row, int64_t key, const F& f) const {
    const TilePlace place = tile_place<Tiles>();
#pragma unroll
    for (int i = 0; i < Tiles::own; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        f(i, j, drop_(R(1), number(row + place.row + i), key + place.lane + j * Tiles::lanes));
  }
  [[nodiscard]] __device__ bool drops() const { return drop_.acts; }

 private:
  template <class F>
  static __device__ void each(R (&tile)[Tiles::own][4], const F& f, int64_t row, int64_t key) {
    const TilePlace place = tile_place<Tiles>();
#pragma unroll
    for (int i = 0; i < Tiles::own; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) tile[i][j] = f(tile[i][j], row + place.row + i, key + place.lane + j * Tiles::lanes);
  }
  /// Whether a tile has all its pairs.
  [[nodiscard]] __device__ bool is_whole(int64_t row, int64_t key) const {
    const int64_t last = key + Tiles::rows;
    return row + Tiles::rows <= call_.shape.rows && last <= call_.shape.keys && (!call_.is_causal || last <= row + 1);
  }
  [[nodiscard]] __device__ R bounded(R score, int64_t row, int64_t key) const {
    const bool is_pair = row < call_.shape.rows && key < call_.shape.keys && (!call_.is_causal || key <= row);
    return is_pair ? score : low;
  }

  const AttentionCall<T>& call_;
  const Drop& drop_;
  int64_t first_;
  const std::uint8_t* marks_[2];
  const T* added_[2];
};

/// The sums of a thread's rows so far, relative to their largest scores.
template <class Tiles, class R>
struct RunningSums {
  R largest[Tiles::own], sum[Tiles::own];  ///< sum: of this thread's columns

  __device__ explicit RunningSums(R low) {
#pragma unroll
    for (int i = 0; i < Tiles::own; ++i) largest[i] = low, sum[i] = 0;
  }
  /// Scores become e^(score - largest), and `result` follows a larger largest score.
  __device__ void take(R (&scores)[Tiles::own][4], R (&result)[Tiles::own][Tiles::columns], R low) {
#pragma unroll
    for (int i = 0; i < Tiles::own; ++i) {
      R most = largest[i];
#pragma unroll
      for (int j = 0; j < 4; ++j) most = scores[i][j] > most ? scores[i][j] : most;  // NaN is not larger
      most = over_lanes(most, [](R a, R b) { return b > a ? b : a; });
      const R base = most == low ? R(0) : most, shrink = math::exp_of_negative(largest[i] - base);
      largest[i] = most;
      R part = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) part += scores[i][j] = math::exp_of_negative(scores[i][j] - base);
      sum[i] = sum[i] * shrink + part;
#pragma unroll
      for (int c = 0; c < Tiles::columns; ++c) result[i][c] *= shrink;
    }
  }
};

template <class T, class Drop, int width>
__global__ void __launch_bounds__(AttentionTiles<compute_t<T>, width>::threads)
    attention_forward(const __grid_constant__ AttentionCall<T> call, const __grid_constant__ Drop drop,
                      const __grid_constant__ TiledHeads<const T> q, const __grid_constant__ TiledHeads<const T> k,
                      const __grid_constant__ TiledHeads<const T> v, const __grid_constant__ TiledHeads<T> y,
                      AttentionNumbers<compute_t<T>> numbers) {
  using R = compute_t<T>;
  using Tiles = AttentionTiles<R, width>;
  extern __shared__ __align__(16) unsigned char memory[];
  R* const queries = reinterpret_cast<R*>(memory);
  R *const keys = queries + Tiles::tile, *const values = keys + Tiles::tile, *const weights = values + Tiles::tile;
  const auto& shape = call.shape;
  const auto block = AttentionBlock::find<Tiles>(shape, call.is_causal);
  const HeadScores<Tiles, T, Drop> scores(call, drop, block);
  const TilePlace place = tile_place<Tiles>();
  const int count = rows_of_tile<Tiles>(block.first, shape.rows);
  load_tile<Tiles>(queries, q.head(block.batch, block.head), block.first, count, static_cast<int>(shape.width));
  R result[Tiles::own][Tiles::columns] = {};
  RunningSums<Tiles, R> sums(scores.low);
  const int64_t end = scores.keys_before(block.first + Tiles::rows);
  for (int64_t first = 0; first < end; first += Tiles::rows) {
    const int key_count = rows_of_tile<Tiles>(first, end);
    __syncthreads();  // the tiles of the keys before are no longer read
    load_tile<Tiles>(keys, k.head(block.batch, block.head), first, key_count, static_cast<int>(shape.width));
    load_tile<Tiles>(values, v.head(block.batch, block.head), first, key_count, static_cast<int>(shape.value_width));
    __syncthreads();
    R tile[Tiles::own][4];
    multiply_rows<Tiles>(tile, queries, keys, static_cast<int>(shape.width));
    scores.scale(tile, block.first, first);
    sums.take(tile, result, scores.low);
    if (scores.drops())
      scores.for_each_factor(block.first, first, [&](int i, int j, R factor) { tile[i][j] *= factor; });
    store_scores<Tiles>(weights, tile);
    __syncthreads();
    add_weighted_rows<Tiles>(result, weights, values, key_count);
  }
  R scale[Tiles::own];
#pragma unroll
  for (int i = 0; i < Tiles::own; ++i) {
    const R sum = over_lanes(sums.sum[i], [](R a, R b) { return a + b; });
    scale[i] = sum == R(0) ? R(0) : R(1) / sum;
    if (place.lane != 0 || place.row + i >= count) continue;
    const int64_t n = scores.number(block.first + place.row + i);
    numbers.largests[n] = sums.largest[i] == scores.low ? R(0) : sums.largest[i];
    numbers.scales[n] = scale[i];
  }
  store_tile<Tiles>(y.head(block.batch, block.head), block.first, count, static_cast<int>(shape.value_width), false,
                    result, [&](int i) { return scale[i]; });
}

/// The operands of a backward pass. deltas: for each row the sum of y g, which is the sum of p dp.
template <class T>
struct AttentionBackward {
  using R = compute_t<T>;
  TiledHeads<const T> q, k, v, g;
  const R *largests, *scales, *deltas;
  int64_t rows;  ///< of a head

  struct Row {
    R largest, scale, delta;
  };
  /// The numbers of a row; a row behind the last one has no scores.
  template <class Scores>
  [[nodiscard]] __device__ Row row(const Scores& scores, int64_t row) const {
    const int64_t n = row < rows ? scores.number(row) : 0;
    return {largests[n], scales[n], deltas[n]};
  }
};

/// deltas[row] = sum of y g; a warp has a row.
template <class T>
__global__ void __launch_bounds__(256)
    attention_deltas(AttentionShape shape, AttentionHeads<const T> y, AttentionHeads<const T> g, compute_t<T>* deltas) {
  using R = compute_t<T>;
  const int64_t warps = int64_t{gridDim.x} * (256 / warp_size), rows = shape.batch * shape.heads * shape.rows;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int64_t warp = int64_t{blockIdx.x} * (256 / warp_size) + static_cast<int>(threadIdx.x) / warp_size;
  for (int64_t n = warp; n < rows; n += warps) {
    const int64_t row = n % shape.rows, head = n / shape.rows % shape.heads, batch = n / shape.rows / shape.heads;
    const T* const left = y.head(batch, head) + row * y.stride[2];
    const T* const right = g.head(batch, head) + row * g.stride[2];
    R sum = 0;
    for (int64_t c = lane; c < shape.value_width; c += warp_size)
      sum += load_as_register(left[c * y.stride[3]]) * load_as_register(right[c * g.stride[3]]);
#pragma unroll
    for (int mask = 1; mask < warp_size; mask *= 2) sum += shuffle_xor(sum, mask);
    if (lane == 0) deltas[n] = sum;
  }
}

/// Turns a thread's products of queries and keys, and of adjoints and values, into probabilities after dropout, and
/// into adjoints of the products of queries and keys: scale p (dp - delta).
template <class Tiles, class T, class Drop>
__device__ void finish_adjoints(const AttentionBackward<T>& pass, const HeadScores<Tiles, T, Drop>& scores, int64_t row,
                                int64_t key, compute_t<T> scale, compute_t<T> (&p)[Tiles::own][4],
                                compute_t<T> (&ds)[Tiles::own][4]) {
  using R = compute_t<T>;
  scores.scale(p, row, key);
  if (scores.drops()) scores.for_each_factor(row, key, [&](int i, int j, R factor) { ds[i][j] *= factor; });
  const int first = tile_place<Tiles>().row;
#pragma unroll
  for (int i = 0; i < Tiles::own; ++i) {
    const auto [largest, total, delta] = pass.row(scores, row + first + i);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      p[i][j] = p[i][j] == scores.low ? R(0) : math::exp_of_negative(p[i][j] - largest) * total;
      ds[i][j] = p[i][j] == R(0) ? R(0) : p[i][j] * (ds[i][j] - delta) * scale;
    }
  }
  if (scores.drops()) scores.for_each_factor(row, key, [&](int i, int j, R factor) { p[i][j] *= factor; });
}

/// The gradient of 64 queries.
template <class T, class Drop, int width>
__global__ void __launch_bounds__(AttentionTiles<compute_t<T>, width>::threads)
    attention_query_gradient(const __grid_constant__ AttentionCall<T> call, const __grid_constant__ Drop drop,
                             const __grid_constant__ AttentionBackward<T> pass,
                             const __grid_constant__ TiledHeads<T> dq, bool accumulate) {
  using R = compute_t<T>;
  using Tiles = AttentionTiles<R, width>;
  extern __shared__ __align__(16) unsigned char memory[];
  R* const queries = reinterpret_cast<R*>(memory);
  R *const adjoints = queries + Tiles::tile, *const keys = adjoints + Tiles::tile, *const values = keys + Tiles::tile;
  R* const weights = values + Tiles::tile;
  const auto& shape = call.shape;
  const int q_width = static_cast<int>(shape.width), v_width = static_cast<int>(shape.value_width);
  const auto block = AttentionBlock::find<Tiles>(shape, call.is_causal);
  const HeadScores<Tiles, T, Drop> scores(call, drop, block);
  const int count = rows_of_tile<Tiles>(block.first, shape.rows);
  load_tile<Tiles>(queries, pass.q.head(block.batch, block.head), block.first, count, q_width);
  load_tile<Tiles>(adjoints, pass.g.head(block.batch, block.head), block.first, count, v_width);
  R result[Tiles::own][Tiles::columns] = {};
  const int64_t end = scores.keys_before(block.first + Tiles::rows);
  for (int64_t first = 0; first < end; first += Tiles::rows) {
    const int key_count = rows_of_tile<Tiles>(first, end);
    __syncthreads();  // the tiles of the keys before are no longer read
    load_tile<Tiles>(keys, pass.k.head(block.batch, block.head), first, key_count, q_width);
    load_tile<Tiles>(values, pass.v.head(block.batch, block.head), first, key_count, v_width);
    __syncthreads();
    R p[Tiles::own][4], ds[Tiles::own][4];
    multiply_rows<Tiles>(p, queries, keys, q_width);
    multiply_rows<Tiles>(ds, adjoints, values, v_width);
    finish_adjoints(pass, scores, block.first, first, call.scale, p, ds);
    store_scores<Tiles>(weights, ds);
    __syncthreads();
    add_weighted_rows<Tiles>(result, weights, keys, key_count);
  }
  store_tile<Tiles>(dq.head(block.batch, block.head), block.first, count, q_width, accumulate, result,
                    [](int) { return R(1); });
}

/// The gradients of 64 keys and their values.
template <class T, class Drop, int width>
__global__ void __launch_bounds__(AttentionTiles<compute_t<T>, width>::threads)
    attention_key_gradients(const __grid_constant__ AttentionCall<T> call, const __grid_constant__ Drop drop,
                            const __grid_constant__ AttentionBackward<T> pass, const __grid_constant__ TiledHeads<T> dk,
                            const __grid_constant__ TiledHeads<T> dv, bool accumulate_k, bool accumulate_v) {
  using R = compute_t<T>;
  using Tiles = AttentionTiles<R, width>;
  extern __shared__ __align__(16) unsigned char memory[];
  R* const queries = reinterpret_cast<R*>(memory);
  R *const adjoints = queries + Tiles::tile, *const keys = adjoints + Tiles::tile, *const values = keys + Tiles::tile;
  R* const weights = values + Tiles::tile;
  const auto& shape = call.shape;
  const int q_width = static_cast<int>(shape.width), v_width = static_cast<int>(shape.value_width);
  const auto block = AttentionBlock::find<Tiles>(shape, false);
  const HeadScores<Tiles, T, Drop> scores(call, drop, block);
  const int count = rows_of_tile<Tiles>(block.first, shape.keys);
  load_tile<Tiles>(keys, pass.k.head(block.batch, block.head), block.first, count, q_width);
  load_tile<Tiles>(values, pass.v.head(block.batch, block.head), block.first, count, v_width);
  R of_keys[Tiles::own][Tiles::columns] = {}, of_values[Tiles::own][Tiles::columns] = {};
  for (int64_t first = call.is_causal ? block.first : 0; first < shape.rows; first += Tiles::rows) {
    const int row_count = rows_of_tile<Tiles>(first, shape.rows);
    __syncthreads();  // the tiles of the queries before are no longer read
    load_tile<Tiles>(queries, pass.q.head(block.batch, block.head), first, row_count, q_width);
    load_tile<Tiles>(adjoints, pass.g.head(block.batch, block.head), first, row_count, v_width);
    __syncthreads();
    R p[Tiles::own][4], ds[Tiles::own][4];
    multiply_rows<Tiles>(p, queries, keys, q_width);
    multiply_rows<Tiles>(ds, adjoints, values, v_width);
    finish_adjoints(pass, scores, first, block.first, call.scale, p, ds);
    store_scores<Tiles>(weights, p);
    __syncthreads();
    if (dv.heads.data) add_weighted_columns<Tiles>(of_values, weights, adjoints, row_count);
    __syncthreads();
    store_scores<Tiles>(weights, ds);
    __syncthreads();
    if (dk.heads.data) add_weighted_columns<Tiles>(of_keys, weights, queries, row_count);
  }
  const auto plain = [](int) { return R(1); };
  if (dk.heads.data)
    store_tile<Tiles>(dk.head(block.batch, block.head), block.first, count, q_width, accumulate_k, of_keys, plain);
  if (dv.heads.data)
    store_tile<Tiles>(dv.head(block.batch, block.head), block.first, count, v_width, accumulate_v, of_values, plain);
}

}}}}  // namespace locus::LOCUS_ABI::cuda::detail
