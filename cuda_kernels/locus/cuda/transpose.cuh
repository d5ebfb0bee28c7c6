#pragma once
// Transposing copies: through tiles in shared memory, so that source and target are both accessed in whole lines.

#include <locus/cuda/trace.hpp>
#include <locus/cuda/transposition.hpp>
#include <locus/cuda/vectorize.cuh>
#include <locus/device/trace/launch_log.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {

/// Each block copies a tile. Neighbouring threads read along the source's dense dimension, and write along the
/// target's.
template <class Word>
__global__ void __launch_bounds__(Transposition::threads)
    transpose_tiles(const __grid_constant__ Transposition t, const Word* source, Word* target) {
  constexpr uint32_t tile = Transposition::tile, rows = Transposition::rows;
  __shared__ Word words[tile][tile + 1];  // padded by one: no bank conflicts in either direction
  const Transposition::Place place = t.place(blockIdx.x);
  const uint32_t lane = threadIdx.x % tile, row = threadIdx.x / tile;
  for (uint32_t b = row; b < tile; b += rows) {
    if (t.inside(place, lane, b)) words[b][lane] = source[t.source(place, lane, b)];
  }
  __syncthreads();
  for (uint32_t a = row; a < tile; a += rows) {
    if (t.inside(place, a, lane)) target[t.target(place, a, lane)] = words[lane][a];
  }
}

}  // namespace detail

/// Copies a piece for which Transposition::fits. One launch for each part whose indices fit 32 bits.
template <class Word>
void transpose(Context& context, const Piece& whole, const Word* source, Word* target) {
  for_each_part(whole, false, [&](const Piece& piece) {
    ++locus::detail::launches.map;
    const Transposition t(whole, piece);
    const Span<const int64_t> extents(piece.extent, static_cast<std::size_t>(piece.rank));
    LaunchTrace trace(context);
    if (locus::detail::launches_are_observed()) [[unlikely]]
      trace.begin({"map (transpose)", nullptr, Shape(extents), 2 * piece.elements * int64_t{sizeof(Word)}});
    detail::transpose_tiles<<<t.blocks(), Transposition::threads, 0, context.stream()>>>(t, source + piece.offset[0],
                                                                                         target + piece.offset[1]);
    context.launched("map (transpose)", extents);
    trace.end(t.blocks(), Transposition::threads);
  });
}

namespace detail {
/// Copies through tiles; false, without effect, if the copy is no transposition.
template <class T>
[[nodiscard]] bool copy_by_tiles(Context& context, const Plan<2>& plan, const T* source, T* target) {
  using Bits = typename Word<static_cast<int>(sizeof(T))>::type;
  const Piece piece(plan);
  if (!source || !target || !Transposition::fits(piece)) return false;
  transpose(context, piece, reinterpret_cast<const Bits*>(source), reinterpret_cast<Bits*>(target));
  return true;
}
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::cuda
