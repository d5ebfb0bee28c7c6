#pragma once
// Transposing copies: through tiles in shared memory, so that source and target are both accessed in whole lines.

#include <locus/cuda/trace.hpp>
#include <locus/cuda/transposition.hpp>
#include <locus/cuda/vectorize.cuh>
#include <locus/device/trace/launch_log.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {

/// Turns a square of elements: words of rows become words of columns.
template <class Word, int pack>
__device__ void turn(Word (&words)[pack]) {
  if constexpr (pack == 2) {
    const Word first = words[0], second = words[1];
    words[0] = (first & 0xffffu) | second << 16;
    words[1] = first >> 16 | (second & 0xffff0000u);
  } else if constexpr (pack == 4) {  // halves, then bytes
    for (int i = 0; i < 2; ++i) {
      Word halves[] = {words[i], words[i + 2]};
      turn(halves);
      words[i] = halves[0], words[i + 2] = halves[1];
    }
    for (int i = 0; i < 4; i += 2) {
      const Word first = words[i], second = words[i + 1];
      words[i] = (first & 0x00ff00ffu) | (second & 0x00ff00ffu) << 8;
      words[i + 1] = (first >> 8 & 0x00ff00ffu) | (second & 0xff00ff00u);
    }
  }
}

/// Each block copies a tile. Neighbouring threads read words along the source's dense dimension, and write along the
/// target's.
template <class Element, int pack>
__global__ void __launch_bounds__(Transposition::threads)
    transpose_tiles(const __grid_constant__ Transposition t, const Element* source, Element* target) {
  using Word = typename Word<static_cast<int>(sizeof(Element)) * pack>::type;
  constexpr uint32_t lanes = Transposition::lanes, rows = Transposition::rows;
  __shared__ Word words[lanes * lanes * pack];
  const Transposition::Place place = t.place(blockIdx.x);
  const uint32_t lane = threadIdx.x % lanes, row = threadIdx.x / lanes;
  Word squares[lanes / rows][pack] = {};  // all are loaded before the first is used
#pragma unroll
  for (uint32_t k = 0; k < lanes / rows; ++k) {
    const uint32_t word = row + k * rows;
    for (int i = 0; i < pack; ++i)
      if (t.inside(place, lane * pack, word * pack))
        squares[k][i] = *reinterpret_cast<const Word*>(source + t.source(place, lane * pack, word * pack + i));
  }
#pragma unroll
  for (uint32_t k = 0; k < lanes / rows; ++k) {
    turn(squares[k]);
    for (int i = 0; i < pack; ++i) words[Transposition::slot(lane * pack + i, row + k * rows, pack)] = squares[k][i];
  }
  __syncthreads();
#pragma unroll
  for (uint32_t a = row; a < lanes * pack; a += rows) {
    if (t.inside(place, a, lane * pack))
      *reinterpret_cast<Word*>(target + t.target(place, a, lane * pack)) = words[Transposition::slot(a, lane, pack)];
  }
}

/// The kernel for elements of so many bytes.
template <class Element>
[[nodiscard]] auto transpose_kernel(uint32_t pack) {
  constexpr int bytes = sizeof(Element),
                most = bytes < Transposition::word_bytes ? Transposition::word_bytes / bytes : 1;
  return pack == 1 ? &transpose_tiles<Element, 1> : &transpose_tiles<Element, most>;
}

}  // namespace detail

/// Copies a piece for which Transposition::fits. One launch for each part whose indices fit 32 bits.
template <class Element>
void transpose(Context& context, const Piece& whole, const Element* source, Element* target) {
  for_each_part(whole, false, [&](const Piece& piece) {
    ++locus::detail::launches.map;
    const Element* const from = source + piece.offset[0];
    Element* const to = target + piece.offset[1];
    const Transposition t(whole, piece,
                          Transposition::pack_of(whole, piece, reinterpret_cast<std::uintptr_t>(from),
                                                 reinterpret_cast<std::uintptr_t>(to), sizeof(Element)));
    const Span<const int64_t> extents(piece.extent, static_cast<std::size_t>(piece.rank));
    if (streams_are_checked()) [[unlikely]] {
      StreamUses uses({"map (transpose)", nullptr, Shape(extents)});
      uses.add(from, piece.rank, piece.extent, piece.stride[0], sizeof(Element), false);
      uses.add(to, piece.rank, piece.extent, piece.stride[1], sizeof(Element), true);
      context.check_order(uses);
    }
    LaunchTrace trace(context);
    if (locus::detail::launches_are_observed()) [[unlikely]]
      trace.begin({"map (transpose)", nullptr, Shape(extents), 2 * piece.elements * int64_t{sizeof(Element)}});
    const auto kernel = detail::transpose_kernel<Element>(t.pack);
    kernel<<<t.blocks(), Transposition::threads, 0, context.stream()>>>(t, from, to);
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
