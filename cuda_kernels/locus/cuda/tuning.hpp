#pragma once
// Launch sizes, and thresholds between two ways of computing on a GPU. The values for rows and for sums along a line
// were chosen on an H200; the others are estimates.

#include <locus/core/config.hpp>

#include <cstddef>
#include <cstdint>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::tuning {

inline constexpr std::int64_t piece_elements = std::int64_t{1} << 30;  ///< of a launch of map: offsets fit 32 bits
inline constexpr std::uint32_t map_threads = 256;                      ///< of a block

inline constexpr std::uint32_t reduce_threads = 256;       ///< of a block
inline constexpr int reduce_in_flight = 4;                 ///< summands that a thread loads before it adds them
inline constexpr int reduce_in_flight_of_line = 16;        ///< the same, where they lie one stride apart
inline constexpr int reduce_in_flight_of_columns = 8;      ///< the same, where a summand is a vector of columns
inline constexpr std::int64_t least_in_columns = 1 << 16;  ///< elements from which on vectors of columns pay
inline constexpr std::int64_t most_chunks = 1024;          ///< of a reduction: blocks enough to fill any GPU

inline constexpr int row_items = 8;                         ///< columns of a short row that a thread holds at once
inline constexpr int long_row_items = 16;                   ///< the same for a long row with one fragment
inline constexpr int memory_row_items = 16;                 ///< the same for a row in memory, per tile
inline constexpr int row_team_threads = 512;                ///< of a block at most
inline constexpr int row_warps_per_block = 4;               ///< each with a row
inline constexpr std::int64_t most_row_blocks = 1 << 20;    ///< that start at once
inline constexpr std::int64_t columns_worth_block = 2048;   ///< of a cluster that only keeps the GPU busy
inline constexpr std::int64_t columns_worth_many = 8192;    ///< of all rows, per multiprocessor: else more threads
inline constexpr int largest_cluster = 8;                   ///< blocks; more are not portable
inline constexpr std::int64_t cache_shares = 2;             ///< prefetched rows take one of them
inline constexpr std::size_t reserved_shared_bytes = 2048;  ///< of a block, for the system

inline constexpr std::uint32_t transposed_lanes = 32;  ///< of a transposition's tile: its side in words
inline constexpr std::uint32_t transposed_rows = 8;    ///< that a block of it moves at once
inline constexpr std::int64_t least_transposed = 16;   ///< extents from which on tiles are worth it

inline constexpr int count_threads = 512;                 ///< of a block of a histogram
inline constexpr std::int64_t most_bins_of_block = 8192;  ///< each block counts up to so many for itself: 32 KiB

inline constexpr std::uint32_t peer_threads = 256;  ///< of a block that sums over ranks

/// Of queries and keys: for more, products on tensor cores are faster than tiles of attention.
inline constexpr std::int64_t most_pairs_by_tiles = std::int64_t{1} << 21;

/// From so many on, copying a misaligned matrix takes less time than cuBLASLt loses on it.
inline constexpr double least_multiply_adds_of_copied_byte = 40;

inline constexpr std::size_t most_workspace = std::size_t{32} << 20;  ///< bytes that cuBLASLt may use
inline constexpr int most_candidates = 8;  ///< algorithms that are timed for a product or a convolution

inline constexpr std::size_t staged_bytes = std::size_t{1} << 20;  ///< of a copy from pageable memory, at a time

}}}  // namespace locus::LOCUS_ABI::cuda::tuning
