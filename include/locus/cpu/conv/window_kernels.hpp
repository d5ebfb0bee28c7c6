#pragma once
// Products of windows of bfloat16, by tiles (AMX) or by pairs (AVX-512 BF16), chosen at run time for the processor.
// Denormals and rounding are as in cpu/gemm/kernel_bfloat16.inc.

#include <locus/cpu/gemm/kernels.hpp>

#include <locus/cpu/unroll_begin.inc>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Two elements that are neighbours along the depth of a product, the first one in the lower half.
typedef std::int32_t WindowPair __attribute__((may_alias));

/// Rows and columns of sums at once, lanes of a vector, and elements of the depth in a step.
inline constexpr std::int64_t window_tile = 32, window_lanes = 16, window_depth = 32;

/// Sums of 16 or 32 rows and 16 or 32 columns, over each run of `steps` steps of 32 elements in turn.
struct WindowTile {
  const bfloat16* left;  ///< row i of step s, of all runs: 32 elements at left + s * left_step + i * left_row
  std::int64_t left_row, left_step;
  const WindowPair* right[2];  ///< pairs k of step s of run r: 16 columns at right + runs[r] + (16 s + k) * right_row
  std::int64_t right_row;
  const std::int64_t* runs;
  std::int64_t run_count, steps;
  float* out[2];  ///< 16 columns each
  std::int64_t out_row;
  bool adds;  ///< to the sums in `out`
};

struct WindowKernels {
  void (*begin)();                           ///< before a thread's first product
  void (*end)();                             ///< after a thread's last product
  void (*product[2][2])(const WindowTile&);  ///< [rows / 16 - 1][columns / 16 - 1]
};

#if defined(__x86_64__)
namespace amx_bf16 {
#include <locus/cpu/gemm/tile_instructions_begin.inc>

inline void begin_windows() { LOCUS_TILE_CONFIGURE(tiles_by_rows.tiles[2 * tile_rows - 1]); }
inline void end_windows() { LOCUS_TILE_RELEASE(); }

/// Tiles 0 and 1 hold the sums of the first 16 rows, 2 and 3 the sums of the other rows; 4 and 5 hold rows of the left
/// operand, 6 and 7 columns of the right operand.
template <int M, int N>
void multiply_windows(const WindowTile& p) {
  const std::int64_t left_bytes = p.left_row * 2, right_bytes = p.right_row * 4, out_bytes = p.out_row * 4;
  const bfloat16* left = p.left;
  LOCUS_TILE_ZERO(0);
  if constexpr (N > 1) LOCUS_TILE_ZERO(1);
  if constexpr (M > 1) LOCUS_TILE_ZERO(2);
  if constexpr (M > 1 && N > 1) LOCUS_TILE_ZERO(3);
  float* const lower[2] = {p.out[0] + tile_rows * p.out_row, N > 1 ? p.out[1] + tile_rows * p.out_row : nullptr};
  if (p.adds) {
    LOCUS_TILE_LOAD(0, p.out[0], out_bytes);
    if constexpr (N > 1) LOCUS_TILE_LOAD(1, p.out[1], out_bytes);
    if constexpr (M > 1) LOCUS_TILE_LOAD(2, lower[0], out_bytes);
    if constexpr (M > 1 && N > 1) LOCUS_TILE_LOAD(3, lower[1], out_bytes);
  }
  for (std::int64_t run = 0; run < p.run_count; ++run) {
    const WindowPair* right = p.right[0] + p.runs[run];
    [[maybe_unused]] const WindowPair* next = N > 1 ? p.right[1] + p.runs[run] : nullptr;
    for (std::int64_t step = p.steps; step > 0; --step, left += p.left_step, right += tile_rows * p.right_row) {
      LOCUS_TILE_LOAD(4, left, left_bytes);
      LOCUS_TILE_LOAD(6, right, right_bytes);
      LOCUS_TILE_MULTIPLY(0, 4, 6);
      if constexpr (N > 1) {
        LOCUS_TILE_LOAD(7, next, right_bytes);
        LOCUS_TILE_MULTIPLY(1, 4, 7);
        next += tile_rows * p.right_row;
      }
      if constexpr (M > 1) {
        LOCUS_TILE_LOAD(5, left + tile_rows * p.left_row, left_bytes);
        LOCUS_TILE_MULTIPLY(2, 5, 6);
        if constexpr (N > 1) LOCUS_TILE_MULTIPLY(3, 5, 7);
      }
    }
  }
  LOCUS_TILE_STORE(0, p.out[0], out_bytes);
  if constexpr (N > 1) LOCUS_TILE_STORE(1, p.out[1], out_bytes);
  if constexpr (M > 1) LOCUS_TILE_STORE(2, lower[0], out_bytes);
  if constexpr (M > 1 && N > 1) LOCUS_TILE_STORE(3, lower[1], out_bytes);
}
#include <locus/cpu/gemm/tile_instructions_end.inc>

inline constexpr WindowKernels windows{
    begin_windows,
    end_windows,
    {{multiply_windows<1, 1>, multiply_windows<1, 2>}, {multiply_windows<2, 1>, multiply_windows<2, 2>}}};
}  // namespace amx_bf16

namespace avx512_bf16 {
/// Eight rows of sums at once.
template <int N>
LOCUS_AVX512_BF16 void multiply_window_rows(const WindowTile& p, std::int64_t first) {
  typedef float Sums __attribute__((vector_size(64)));
  typedef float InMemory __attribute__((vector_size(64), aligned(4), may_alias));
  constexpr int rows = 8;
  Sums sums[rows][N];
  LOCUS_UNROLL
  for (int i = 0; i < rows; ++i) {
    LOCUS_UNROLL
    for (int j = 0; j < N; ++j)
      sums[i][j] = p.adds ? *reinterpret_cast<const InMemory*>(p.out[j] + (first + i) * p.out_row) : Sums{};
  }
  const bfloat16* left = p.left + first * p.left_row;
  for (std::int64_t run = 0; run < p.run_count; ++run) {
    const WindowPair* right[N];
    LOCUS_UNROLL
    for (int j = 0; j < N; ++j) right[j] = p.right[j] + p.runs[run];
    for (std::int64_t step = p.steps; step > 0; --step, left += p.left_step) {
      for (std::int64_t k = 0; k < window_depth; k += 2) {
        Pairs columns[N];
        LOCUS_UNROLL
        for (int j = 0; j < N; ++j) {
          columns[j] = *reinterpret_cast<const PairsInMemory*>(right[j]);
          right[j] += p.right_row;
        }
        LOCUS_UNROLL
        for (int i = 0; i < rows; ++i) {
          const Pairs pair = *reinterpret_cast<const WindowPair*>(left + i * p.left_row + k) - Pairs{};
          LOCUS_UNROLL
          for (int j = 0; j < N; ++j) add_products(sums[i][j], pair, columns[j]);
        }
      }
    }
  }
  LOCUS_UNROLL
  for (int i = 0; i < rows; ++i) {
    LOCUS_UNROLL
    for (int j = 0; j < N; ++j) *reinterpret_cast<InMemory*>(p.out[j] + (first + i) * p.out_row) = sums[i][j];
  }
}
template <int M, int N>
void multiply_windows(const WindowTile& p) {
  for (std::int64_t first = 0; first < M * window_lanes; first += 8) multiply_window_rows<N>(p, first);
}
inline void need_nothing() {}

inline constexpr WindowKernels windows{
    need_nothing,
    need_nothing,
    {{multiply_windows<1, 1>, multiply_windows<1, 2>}, {multiply_windows<2, 1>, multiply_windows<2, 2>}}};
}  // namespace avx512_bf16
#endif

/// The window kernels for a set of bfloat16 product kernels; null if that set multiplies floats.
[[nodiscard]] inline const WindowKernels* window_kernels([[maybe_unused]] const KernelSet<float>& products) {
#if defined(__x86_64__)
  if (!products.pack_pairs) return nullptr;
  return products.depth_unit == window_depth ? &amx_bf16::windows : &avx512_bf16::windows;
#else
  return nullptr;
#endif
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail

#include <locus/cpu/unroll_end.inc>
