#pragma once
// The innermost loops of a matrix product, chosen at run time for the processor: a program built with plain -O2 uses
// AVX-512 or AVX2 where it runs on them.

#include <locus/core/dtype.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/cpu/isa.hpp>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <locus/cpu/unroll_begin.inc>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// out(i, j) (+)= sum over k < depth of left[i * left_row + k * left_depth] * right[k * right_depth + j].
template <class T>
struct TileProduct {
  std::int64_t depth;
  const T* left;
  std::int64_t left_row, left_depth, right_depth, out_stride;
  bool accumulate;
};
/// Computes one tile, of `cols` columns of right and out: its width, or fewer if the set has masks.
template <class T>
using Tile = void (*)(const TileProduct<T>&, const T* right, T* out, std::int64_t cols);

/// to(i, j) (+)= from(i, j); strides are between rows.
template <class T>
struct RowCopy {
  const T* from;
  std::int64_t from_stride;
  T* to;
  std::int64_t to_stride;
  std::int64_t rows, cols;
  bool adds;
};

/// out[i * out_row + j * out_vector] (+)= sum over k < depth of matrix[i * row_stride + k] *
/// vectors[j * vector_stride + k]. W: the type of the matrix, whose elements become T in registers.
template <class T, class W = T>
struct DotProducts {
  const W* matrix;
  std::int64_t row_stride, rows, depth;
  const T* vectors;
  std::int64_t vector_stride, count;
  T* out;
  std::int64_t out_row, out_vector;
  bool accumulate;
};

/// Bytes of a matrix that are not prefetched: it may lie in the first-level cache.
inline constexpr std::int64_t prefetched_bytes = 32 << 10;
/// Bytes beyond which a matrix that is multiplied by one vector is expected in memory, not in a cache.
inline constexpr std::int64_t cached_matrix = 1 << 20;

/// Stores groups of `size` sums, or adds them to `out`; only the first `groups` groups, and the first `valid` sums of
/// each.
template <class T>
LOCUS_OUT_OF_LINE void store_scattered_groups(const T* sums, std::int64_t size, T* out, std::int64_t groups,
                                              std::int64_t group_stride, std::int64_t valid, std::int64_t stride,
                                              bool adds) {
  for (; groups > 0; --groups, sums += size, out += group_stride)
    for (std::int64_t i = 0; i < valid; ++i) out[i * stride] = adds ? out[i * stride] + sums[i] : sums[i];
}
template <int size, class T>
inline void store_groups(const T* sums, T* out, std::int64_t groups, std::int64_t group_stride, std::int64_t valid,
                         std::int64_t stride, bool adds) {
  if (valid != size || stride != 1 || adds)
    return store_scattered_groups(sums, size, out, groups, group_stride, valid, stride, adds);
  for (; groups > 0; --groups, sums += size, out += group_stride) __builtin_memcpy(out, sums, size * sizeof(T));
}

/// Vectors to lay side by side: element (lane, k) is data[lane * lane_stride + k * depth_stride].
template <class T>
struct PackSource {
  const T* data;
  std::int64_t lanes, lane_stride;
  std::int64_t readable_lanes;  ///< at least `lanes`; lanes beyond may be read, but belong to others
  std::int64_t depth, depth_stride;
};

/// Which operand is packed: the lanes of the left operand are its rows, of the right operand its columns.
enum class Operand { left, right };

/// The loops of one instruction set for one type of sums.
template <class T>
struct KernelSet {
  static constexpr int most_rows = 32;
  int lanes;     ///< elements of a vector register; a tile is one or two of them wide
  int max_rows;  ///< even, at most most_rows
  bool masks;    ///< tiles may end within their last vector
  /// tile[w - 1][r / 2] for tiles of w vectors and r rows, where r is 1 or even.
  Tile<T> tile[2][most_rows / 2 + 1];
  Tile<T> wide_tile[2];     ///< of 8 vectors and 1 row, of 4 vectors and 2 rows
  Tile<T> turning_tile[2];  ///< of 1 vector and 1 or 2 rows, for a long depth, in sets with masks
  /// For at least `least_narrow_rows` rows of at most half a vector; null in sets without masks.
  void (*multiply_narrow)(const TileProduct<T>&, const T* right, T* out, std::int64_t rows, std::int64_t cols);
  static constexpr std::int64_t least_narrow_rows = 8;
  void (*transpose_block)(const T*, std::int64_t, int, int, T*, std::int64_t);
  void (*copy_rows)(const RowCopy<T>&);
  void (*multiply_vectors)(const DotProducts<T>&, std::int64_t first_row, std::int64_t end_row);
  /// Packs pairs of bfloat16, two elements of the depth in one lane, with zeros up to a depth that is a multiple of
  /// depth_unit; null if tiles do not multiply pairs.
  void (*pack_pairs)(Operand, const PackSource<bfloat16>&, std::int64_t width, T* target);
  int depth_unit;
  int tiles_together;  ///< tiles of two vectors that one call computes if the right operand is packed
};

#if defined(__x86_64__)
#define LOCUS_KERNEL_SET avx512
#define LOCUS_KERNEL_TARGET LOCUS_AVX512
#define LOCUS_KERNEL_BYTES 64
#define LOCUS_KERNEL_ROWS 14
#include <locus/cpu/gemm/kernel.inc>
#include <locus/cpu/gemm/kernel_bfloat16.inc>
#include <locus/cpu/gemm/kernel_bfloat16_tiles.inc>

#if !(defined(__AVX512F__) && defined(__AVX512DQ__))
#define LOCUS_KERNEL_SET avx2
#define LOCUS_KERNEL_TARGET LOCUS_AVX2
#define LOCUS_KERNEL_BYTES 32
#define LOCUS_KERNEL_ROWS 6
#include <locus/cpu/gemm/kernel.inc>
#endif
#endif

#if !(defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__))
#define LOCUS_KERNEL_SET portable
#define LOCUS_KERNEL_TARGET
#define LOCUS_KERNEL_BYTES 16
#if defined(__aarch64__)
#define LOCUS_KERNEL_ROWS 12
#else
#define LOCUS_KERNEL_ROWS 2  // processors from before 2013: more tiles are not worth every program's compile time
#endif
#include <locus/cpu/gemm/kernel.inc>
#endif

/// The set for elements of type T on an instruction set; null if this program has none.
template <class T>
[[nodiscard]] const KernelSet<compute_t<T>>* kernels_for([[maybe_unused]] Isa isa) {
  using R = compute_t<T>;
#if defined(__x86_64__)
  if constexpr (std::is_same_v<T, bfloat16>) {
    // Processors with tiles multiply floats faster than pairs without them.
    if (isa == Isa::amx_bf16 && amx_bf16::may_use_tiles()) return &amx_bf16::kernel_set<R>();
    if (isa == Isa::avx512_bf16) return &avx512_bf16::kernel_set<R>();
  }
  if (isa >= Isa::avx512) return &avx512::kernel_set<R>();
#if !(defined(__AVX512F__) && defined(__AVX512DQ__))
  if (isa == Isa::avx2) return &avx2::kernel_set<R>();
#endif
#endif
#if !(defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__))
  return &portable::kernel_set<R>();
#else
  return nullptr;
#endif
}

/// The sets that this processor can run for elements of type T, by instruction set; null for the others.
template <class T>
[[nodiscard]] std::array<const KernelSet<compute_t<T>>*, isa_count> available_kernels() {
  std::array<const KernelSet<compute_t<T>>*, isa_count> kernels{};
  for (const Isa isa : every_isa)
    if (has_isa(isa)) kernels[static_cast<std::size_t>(isa)] = kernels_for<T>(isa);
  return kernels;
}

/// The set in use, at first the set of isa(); a test may replace it.
template <class T>
[[nodiscard]] const KernelSet<compute_t<T>>*& kernels_in_use() {
  static const KernelSet<compute_t<T>>* in_use = kernels_for<T>(isa());
  return in_use;
}

/// Kernels of type K for sets whose vectors have so many floats; null without such a set.
template <class K, int lanes>
inline constexpr const K* kernels_of_lanes = nullptr;
template <class K>
[[nodiscard]] const K& of_lanes(int lanes) {
  return *(lanes == 16 ? kernels_of_lanes<K, 16> : lanes == 8 ? kernels_of_lanes<K, 8> : kernels_of_lanes<K, 4>);
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail

#include <locus/cpu/unroll_end.inc>
