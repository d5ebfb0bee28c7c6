#pragma once
// Thresholds between two ways of computing on the host, and sizes of blocks. They were measured on x86-64 with AVX2 and
// AVX-512.

#include <locus/core/config.hpp>

#include <cstddef>
#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

// Loops over elements and rows.

/// Below this many elements, and bytes of their operands, per thread a launch is not split.
inline constexpr std::int64_t elements_per_thread = 16384, bytes_per_thread = 128 << 10;

/// Rows do more work per element than maps do, so they are split earlier. A short row takes as long as a row of
/// shortest_row elements.
inline constexpr std::int64_t elements_per_row_part = 4096, shortest_row = 128;

/// Elements folded before partial results are combined (of a long run, half as many): bounds rounding error and is the
/// unit of parallel work.
inline constexpr std::int64_t reduce_block = 8192;

// Folds.

inline constexpr std::int64_t most_partials = 128;  ///< per output
inline constexpr std::int64_t shortest_run = 16, shortest_gathered = 48;
inline constexpr std::int64_t widest_tile = 2048;
inline constexpr std::int64_t least_rows = 64;       ///< of a block of columns
inline constexpr std::int64_t joined_row = 512;      ///< elements of short rows that are folded as one
inline constexpr std::int64_t run_length = 4096;     ///< of the parts of a long run
inline constexpr std::int64_t joined_runs = 8;       ///< parts of a long run that one call folds
inline constexpr std::int64_t short_tile = 128;      ///< short runs that stay in the first-level cache
inline constexpr std::int64_t most_row_tasks = 256;  ///< tasks into which outputs folded by runs are grouped
inline constexpr std::size_t totals_bytes = std::size_t{16} << 10;

// Rows.

inline constexpr std::int64_t fold_block = 1024;   ///< elements that are folded at once: bounds rounding errors
inline constexpr std::int64_t long_row = 1024;     ///< from here on a copy would displace the row itself from cache
inline constexpr std::int64_t stream_block = 256;  ///< elements streamed to memory while the next block is computed

namespace detail {

// Matrix products: which strategy computes them (gemm/strategy.hpp), and how many threads share them.

inline constexpr std::int64_t fewest_work = 16;     ///< multiply-adds up to which numbers are computed one by one,
inline constexpr std::int64_t fewest_sums = 6;      ///< for no more than so many sums
inline constexpr std::int64_t most_tiny_work = 64;  ///< multiply-adds done one after the other where tiles do not fit
inline constexpr std::int64_t most_shallow_work = 32;   ///< the same for a depth of 1 or 2, or an a with dense columns
inline constexpr std::int64_t most_small_work = 2048;   ///< multiply-adds of vectors in tiles that need no plan
inline constexpr std::int64_t most_narrow_work = 512;   ///< the same where c has up to four columns
inline constexpr std::int64_t most_shallow_depth = 8;   ///< depth up to which a few columns are not worth dot products
inline constexpr double thread_work = 3e5;              ///< multiply-adds for which another thread pays
inline constexpr double shared_work = 2 * thread_work;  ///< multiply-adds from which threads share a product
inline constexpr double task_work = thread_work / 2;    ///< multiply-adds of a task, where each thread has several
/// The depth that is summed at once where nothing is packed. Longer sums are less accurate.
inline constexpr std::int64_t direct_depth = 1024;
inline constexpr double most_in_place = 1e6;               ///< multiply-adds of a product whose operands are not packed
inline constexpr std::int64_t most_apart = 4;              ///< last columns of c that are multiplied by themselves,
inline constexpr std::int64_t most_read_twice = 1 << 18;   ///< where a, which is read again for them, is no larger
inline constexpr std::int64_t rows_together = 1 << 16;     ///< elements of a matrix that stay in cache for all vectors
inline constexpr std::int64_t few_vectors = 16;            ///< vectors up to which dot products may have any depth
inline constexpr std::int64_t most_read_again = 1 << 21;   ///< most elements of more vectors than that
inline constexpr std::int64_t fewest_for_thread = 16;      ///< vectors for which a thread reads the whole matrix,
inline constexpr std::int64_t most_read_by_all = 1 << 17;  ///< if that has no more elements, and so stays in its cache

// Products of a few rows with a large weight (gemm/few_rows.hpp).

inline constexpr std::int64_t most_few_rows = 8;         ///< rows up to which a weight of 16-bit floats is not packed,
inline constexpr std::int64_t most_float_rows = 8;       ///< the same of floats
inline constexpr std::int64_t fewest_weights = 1 << 14;  ///< elements of a weight that is read in this way
inline constexpr std::int64_t short_sums = 6 << 10;      ///< bytes of a row of sums that stay cached beside a weight
inline constexpr std::int64_t weight_task = 1 << 16;     ///< elements of a weight that a task reads, about,
inline constexpr std::int64_t fewest_weight_rows = 128;  ///< but no fewer rows
inline constexpr std::int64_t weight_columns = 4096;     ///< columns that a task sums at most
inline constexpr std::int64_t finished_columns = 512;    ///< columns to which an epilogue is applied at once

// Matrix products: how large ones are packed and cut (gemm/product.hpp).

inline constexpr double direct_work = 8e6;             ///< multiply-adds below which packing does not pay
inline constexpr std::int64_t line_work = 6000;        ///< multiply-adds while a line goes to another core
inline constexpr std::int64_t direct_columns = 128;    ///< columns below which packing a does not pay
inline constexpr std::int64_t direct_right = 1 << 19;  ///< elements of b below which four panels do not pay for it
// Without masks: rows of c from which b is packed, by the distance of its rows.
inline constexpr std::int64_t small_right = 400 << 10;   ///< bytes of a b that stays in the second-level cache,
inline constexpr std::int64_t packed_from_small = 320;   ///< rows for such a b with rows that begin within a line
inline constexpr std::int64_t packed_from_split = 40;    ///< rows for a larger b with such rows,
inline constexpr std::int64_t packed_from_whole = 160;   ///< with rows that begin on a line,
inline constexpr std::int64_t packed_from_aliased = 28;  ///< with rows a multiple of 4 KiB apart
inline constexpr std::int64_t cached_bytes = 640 << 10;  ///< of b in the second-level cache
inline constexpr std::int64_t packed_together = 6;       ///< panels of a
inline constexpr std::int64_t latency_rows = 8;          ///< of a tile of one vector that keep the processor busy
inline constexpr std::int64_t packed_rows = 2016;        ///< of a, packed at a time
inline constexpr std::int64_t kept_rows = 1008, kept_columns = 1024;  ///< of sums that are kept apart at a time

}  // namespace detail
}}}  // namespace locus::LOCUS_ABI::cpu
