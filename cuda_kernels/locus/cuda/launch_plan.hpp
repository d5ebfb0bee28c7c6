#pragma once
// Launch decisions made on the host: how operands are walked, with how many blocks, in how many steps. Plain functions,
// so that tests replay every decision without a GPU.

#include <locus/cuda/indexing.hpp>
#include <locus/cuda/tuning.hpp>

#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// The widest vector for which no operand needs more than 16 bytes.
template <class... X>
[[nodiscard]] constexpr int vector_width() {
  int largest = 1;
  ((largest = !std::is_same_v<X, LinearIndex> && static_cast<int>(sizeof(operand_t<X>)) > largest
                  ? static_cast<int>(sizeof(operand_t<X>))
                  : largest),
   ...);
  return 16 / largest;
}

[[nodiscard]] LOCUS_FN LinearIndex advance(LinearIndex index, int64_t) { return index; }
template <class T>
[[nodiscard]] LOCUS_FN T* advance(T* data, int64_t offset) {
  return data ? data + offset : data;
}
/// A pointer to an operand in a kernel's arguments, its type erased; none where the operand has no memory.
struct OperandSlot {
  void* pointer = nullptr;
  int size = 1;  ///< bytes per element

  [[nodiscard]] const std::byte* data() const {
    const std::byte* data = nullptr;
    if (pointer) std::memcpy(&data, pointer, sizeof data);
    return data;
  }
  void advance(int64_t elements) const {
    const std::byte* at = data();
    if (!at) return;
    at += elements * size;
    std::memcpy(pointer, &at, sizeof at);
  }
};
[[nodiscard]] inline OperandSlot slot_of(LinearIndex&) { return {}; }
template <class T>
[[nodiscard]] OperandSlot slot_of(T*& data) {
  return {&data, static_cast<int>(sizeof(T))};
}

/// How a piece can be walked.
enum class Access { contiguous, vectors, elements };

/// For vectors of `width` elements; the first `inputs` operands may be repeated along the innermost dimension.
[[nodiscard]] LOCUS_OUT_OF_LINE inline Access access_of(const Piece& piece, const OperandSlot* operands, int inputs,
                                                        int width) {
  const int inner = piece.rank - 1;
  bool dense = piece.rank == 1, vectors = true;
  for (int i = 0; i < piece.operands; ++i) {
    const std::byte* const data = operands[i].data();
    if (!data) continue;
    const int64_t stride = piece.stride[i][inner];
    dense &= stride == 1;
    if (stride == 0 && i < inputs) continue;
    const auto bytes = static_cast<std::uintptr_t>(operands[i].size * width);
    vectors &= stride == 1 && reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
    for (int d = 0; d < inner; ++d) vectors &= piece.stride[i][d] % width == 0;
  }
  if (!vectors) return Access::elements;
  if (dense) return Access::contiguous;
  return piece.extent[inner] % width == 0 ? Access::vectors : Access::elements;
}

/// Memory traffic of a map per element.
struct MapTraffic {
  int loads = 0;               ///< inputs that have memory
  int loaded = 0, stored = 0;  ///< bytes, of all inputs and of all outputs
};

/// The most vectors of `width` elements that a thread of map takes. Loads of a full multiprocessor then have 64 KiB in
/// flight, or, where stores take more of the bandwidth than loads, the loads' share of that. Bulk copies
/// (cp.async.bulk) would keep no more in flight and cost every expression one more kernel. More vectors are not worth
/// their compile time: each is an unrolled copy of the functor.
[[nodiscard]] constexpr int most_vectors_per_thread(const MapTraffic& bytes, int width) {
  const int elements = bytes.loads == 0 ? 1 : bytes.loads <= 2 ? 8 : 4;
  if (width == 1) return (elements + 1) / 2;
  if (bytes.loads == 0) return 1;
  constexpr int wanted = 32;  // bytes of each of 2048 threads
  const auto share = static_cast<int>(divide_up(2 * wanted * bytes.loaded, bytes.loaded + bytes.stored));
  const auto busy = static_cast<int>(divide_up(share < wanted ? share : wanted, bytes.loaded * width));
  return elements / width > busy ? elements / width : busy;
}

/// Properties of a GPU that decide how map's work is divided.
struct GpuWidth {
  int multiprocessors;
  int resident_threads;    ///< that a multiprocessor holds at once
  int compute_capability;  ///< 10 * major + minor

  /// Bytes that a multiprocessor must have in flight to saturate memory: bandwidth times latency (Little's law), as
  /// measured for CUB's transform on A100 and H200. Newer GPUs have more of both.
  [[nodiscard]] constexpr int64_t bytes_in_flight() const {
    constexpr int64_t kib = 1 << 10;
    return compute_capability < 90 ? 16 * kib : compute_capability < 100 ? 48 * kib : 64 * kib;
  }
};

/// The kernel for a piece, and the work of its threads.
struct MapGrid {
  Access access;
  int width;            ///< elements of a vector
  uint32_t per_thread;  ///< vectors of a thread
  uint32_t blocks;

  /// The first `inputs` operands are inputs; an input may have no memory: LinearIndex, or null, which reads as zero.
  MapGrid(const Piece& piece, const OperandSlot* operands, int inputs, const MapTraffic& traffic, int widest,
          const GpuWidth& gpu)
      : access(access_of(piece, operands, inputs, widest)),
        width(access == Access::elements ? 1 : widest),
        per_thread(vectors_per_thread(piece.elements, operands, inputs, traffic, gpu)),
        blocks(map_blocks(static_cast<uint32_t>(piece.elements), width, per_thread)) {}

 private:
  /// Enough that at half occupancy (registers may allow no more) the loads saturate memory, but not so many that a
  /// short piece leaves multiprocessors without work.
  [[nodiscard]] uint32_t vectors_per_thread(int64_t elements, const OperandSlot* operands, int inputs,
                                            const MapTraffic& traffic, const GpuWidth& gpu) const {
    int64_t loaded = 0;  // bytes of one vector of every input
    for (int i = 0; i < inputs; ++i) loaded += operands[i].data() ? operands[i].size * width : 0;
    const int64_t threads = int64_t{gpu.resident_threads} * gpu.multiprocessors;
    const int64_t busy = loaded ? divide_up(2 * gpu.bytes_in_flight(), gpu.resident_threads * loaded) : 1;
    const int64_t shared = elements / (threads * width);
    const int64_t most = most_vectors_per_thread(traffic, width);
    const int64_t wanted = busy < shared ? busy : shared;
    return static_cast<uint32_t>(wanted < 1 ? 1 : wanted < most ? wanted : most);
  }
};

/// Most chunks of a reduction: enough blocks to fill any GPU.
inline constexpr int64_t most_chunks = tuning::most_chunks;

/// Whether neighbouring outputs lie closer in memory than neighbouring summands. An input repeated along either has the
/// least weight: it decides only if no other input does.
[[nodiscard]] inline bool prefers_outputs(const Piece& kept, const Piece& reduced, const OperandSlot* inputs) {
  const int64_t outputs = kept.extent[kept.rank - 1];
  if (outputs == 1 || reduced.elements <= 1) return outputs > 1;
  int along_outputs = 0, along_summands = 0;
  for (int i = 0; i < reduced.operands; ++i) {
    const auto output = kept.inner_stride(i), summand = reduced.inner_stride(i);
    if (!inputs[i].data()) continue;
    const int weight = output == 0 || summand == 0 ? 1 : max_launch_operands + 1;
    along_outputs += output == 1 ? weight : 0;
    along_summands += summand == 1 ? weight : 0;
  }
  return along_outputs > along_summands;
}

/// Neighbouring outputs that a thread folds where an input is narrow, so that it reads words of at least 4 bytes; 1
/// where an input would read more than 16.
template <class... X>
[[nodiscard]] constexpr int widest_columns() {
  if ((std::is_same_v<X, LinearIndex> || ...)) return 1;
  return ((sizeof(operand_t<X>) <= 2) || ...) && ((sizeof(operand_t<X>) <= 4) && ...) ? 4 : 1;
}
/// The same for a reduction whose neighbouring threads serve neighbouring outputs: `widest`, or 1 for fewer than
/// `least` elements. Depends on extents and strides alone, as the order of folding does.
[[nodiscard]] inline int columns_of_thread(const Piece& kept, const Piece& reduced, const OperandSlot* inputs,
                                           int widest, int64_t least = tuning::least_in_columns) {
  if (kept.extent[kept.rank - 1] % widest != 0) return 1;
  if (kept.elements <= (least - 1) / (reduced.elements + 1)) return 1;
  for (int i = 0; i < reduced.operands; ++i)
    if (const int64_t stride = kept.inner_stride(i); inputs[i].data() && stride != 0 && stride != 1) return 1;
  return widest;
}
/// Bit masks of a reduction's inputs.
struct ColumnLoads {
  unsigned vectors = 0;   ///< `width` neighbouring outputs read one aligned vector
  unsigned repeated = 0;  ///< they read the same element, or there is no memory
};
[[nodiscard]] inline ColumnLoads column_loads(const Piece& kept, const Piece& reduced, const OperandSlot* inputs,
                                              int width) {
  ColumnLoads loads;
  for (int i = 0; i < reduced.operands; ++i) {
    if (kept.inner_stride(i) == 0 || !inputs[i].data()) {
      loads.repeated |= 1u << i;
      continue;
    }
    const auto bytes = static_cast<std::uintptr_t>(inputs[i].size * width);
    bool aligned = reinterpret_cast<std::uintptr_t>(inputs[i].data()) % bytes == 0;
    for (int d = 0; d + 1 < kept.rank; ++d) aligned &= kept.stride[i][d] % width == 0;
    for (int d = 0; d < reduced.rank; ++d) aligned &= reduced.stride[i][d] % width == 0;
    if (aligned) loads.vectors |= 1u << i;
  }
  return loads;
}

/// One launch of a reduction: folds chunks of summands or, if `folded`, the accumulators of all other steps' chunks.
struct FoldStep {
  Piece reduced;
  ReduceTiles tiles;
  uint32_t slot;  ///< of its first chunk in `partials`, which hold an accumulator for every output
  bool folded;
};

/// The launches that fold one piece of the outputs.
struct FoldPlan {
  const Piece &kept, &reduced;
  bool outputs_first, in_order;
  int64_t limit = piece_limit;
  int width = 1;  ///< outputs of a thread; kept.elements is a multiple

  /// Slots of `partials`, each an accumulator for every output; 0 where the only launch writes the results.
  [[nodiscard]] uint32_t slots() const {
    uint32_t count = 0;
    for_each_summand_piece([&](const Piece& piece) { count += tiles(piece).chunks; });
    return count > 1 ? count : 0;
  }
  LOCUS_OUT_OF_LINE void for_each_step(const Visitor<FoldStep>& visit) const {
    uint32_t slot = 0;
    for_each_summand_piece([&](const Piece& piece) {
      const FoldStep step{piece, tiles(piece), slot, false};
      visit(step);
      slot += step.tiles.chunks;
    });
    if (slot > 1) visit({reduced, ReduceTiles(kept.elements / width, slot, true, 1), 0, true});
  }

 private:
  [[nodiscard]] ReduceTiles tiles(const Piece& piece) const {
    return ReduceTiles(kept.elements / width, piece.elements, outputs_first, most_chunks);
  }
  void for_each_summand_piece(const PieceVisitor& visit) const {
    if (reduced.elements == 0) return visit(reduced);
    for_each_part(reduced, in_order, visit, limit);
  }
};

/// Integer products: a block computes tiles of the results, a thread an element of each.
struct ProductTiles {
  static constexpr int tile = 16, threads = tile * tile;
  int64_t across, down, tasks;

  ProductTiles(int64_t matrices, int64_t rows, int64_t cols)
      : across(divide_up(cols, tile)), down(divide_up(rows, tile)), tasks(across * down * matrices) {}

  [[nodiscard]] uint32_t blocks() const {
    constexpr int64_t most = 1 << 20;
    return static_cast<uint32_t>(tasks < most ? tasks : most);
  }
  [[nodiscard]] LOCUS_FN constexpr int64_t matrix(int64_t task) const { return task / (across * down); }
  /// Where a tile begins.
  [[nodiscard]] LOCUS_FN constexpr int64_t row(int64_t task) const { return task / across % down * tile; }
  [[nodiscard]] LOCUS_FN constexpr int64_t col(int64_t task) const { return task % across * tile; }
};

}}}  // namespace locus::LOCUS_ABI::cuda
