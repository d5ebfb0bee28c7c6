#pragma once
// How for_each_row is launched, and the columns of each thread. Plain functions of sizes, so that tests replay them on
// the host.

#include <locus/cuda/indexing.hpp>
#include <locus/cuda/tuning.hpp>

#include <cstddef>
#include <type_traits>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// Columns of a short row that a thread holds at once.
inline constexpr int row_items = tuning::row_items;

/// The same for a long row in registers with so many fragments: more fragments leave no registers for more columns.
[[nodiscard]] constexpr int long_row_items(int fragments) {
  return fragments == 1 ? tuning::long_row_items : row_items;
}

/// The same for a row in memory, per tile.
inline constexpr int memory_row_items = tuning::memory_row_items;

/// Columns that are read or written in one access of at most 16 bytes.
template <class T>
inline constexpr int row_vector = sizeof(T) <= 2    ? 8
                                  : sizeof(T) >= 16 ? 1
                                                    : 16 / static_cast<int>(sizeof(T));

/// The columns of a thread within a tile of row_items * lanes, in runs of 1, 4 or 8: neighbouring threads read
/// neighbouring elements, or vectors of them.
struct RowColumns {
  int lane, lanes;
  int first = lane, near = lanes, far = 4 * lanes;  ///< runs of 1

  LOCUS_FN constexpr void arrange(int run) {
    first = lane * run;
    near = run == 1 ? lanes : 1;
    far = run == 8 ? 4 : 4 * lanes;
  }
  [[nodiscard]] LOCUS_FN constexpr int run() const { return near != 1 ? 1 : far == 4 ? 8 : 4; }
  [[nodiscard]] LOCUS_FN constexpr int operator()(int k) const { return first + k / 4 * far + k % 4 * near; }
};

/// The same for long rows: always in runs of 4, at constant places that take no registers.
struct RowRuns {
  static constexpr int run = 4;
  int lane, lanes;

  [[nodiscard]] LOCUS_FN constexpr int operator()(int k) const { return (lane + k / run * lanes) * run + k % run; }
};

/// A part of a row in which every thread has `items` places; places in [first, columns) hold columns. A row that does
/// not begin at a vector boundary may begin at a later place of its first vector.
struct RowTile {
  int64_t number = 0, begin = 0;  ///< column of its first place
  int first = 0, columns = 0;

  [[nodiscard]] LOCUS_FN static constexpr RowTile of(int64_t number, int64_t cols, int lanes, int items, int shift) {
    const int most = items * lanes;
    const int64_t begin = number * most - shift, left = cols - begin;
    return {number, begin, number == 0 ? shift : 0, left < most ? static_cast<int>(left) : most};
  }
  [[nodiscard]] LOCUS_FN constexpr bool has(int place) const { return place >= first && place < columns; }
};

/// The columns of a thread that has `items` of them.
template <int items>
using row_columns_t = std::conditional_t<(items > row_items), RowRuns, RowColumns>;

/// Where a row is while it is worked on: registers of 1, row_items or long_row_items() columns, or memory.
enum class RowStorage { one_register, registers, many_registers, memory };

/// Rows that a functor keeps at a time, and the bytes of each of their values. `traffic`: bytes that it loads and
/// stores per column; 0: it does not name its inputs.
struct RowFragments {
  int count = 1, bytes = 8;
  std::int64_t traffic = 0;
};

/// A GPU's resources for rows. `largest_cluster` 1: no clusters.
struct RowDevice {
  int multiprocessors = 1;
  std::size_t shared_memory = 0;  ///< of a block
  int largest_cluster = 1;
  std::size_t cache = 0;  ///< second-level, of all multiprocessors
};

/// A launch of for_each_row.
struct RowPlan {
  static constexpr int max_accumulator = 32;                            ///< bytes
  static constexpr int team_threads = tuning::row_team_threads;         ///< of a block at most
  static constexpr int warps_per_block = tuning::row_warps_per_block;   ///< each with a row
  static constexpr std::int64_t most_blocks = tuning::most_row_blocks;  ///< that start at once
  static constexpr std::int64_t columns_worth_block =
      tuning::columns_worth_block;  ///< of a cluster that only keeps the GPU busy
  static constexpr std::int64_t columns_worth_many =
      tuning::columns_worth_many;  ///< of all rows, for each multiprocessor: fewer are spread over more threads
  static constexpr int largest_cluster = tuning::largest_cluster;
  static constexpr std::size_t reserved_bytes =
      tuning::reserved_shared_bytes;  ///< of a block's shared memory, for the system

  RowStorage storage = RowStorage::one_register;
  int threads = 32;        ///< of a block, for one row
  int teams = 1;           ///< rows that a block works on
  int cluster = 1;         ///< blocks that share a row: a power of 2
  int cluster_bits = 0;    ///< its logarithm
  std::int64_t tiles = 1;  ///< of a row in memory
  std::uint32_t blocks = 1;
  std::size_t partial_bytes = 0;  ///< shared memory of a block where the warps' partial results meet: two sets in turn,
                                  ///< so that one barrier per reduction suffices
  std::size_t fragment_bytes = 0;   ///< shared memory of a block for fragments
  std::size_t workspace_bytes = 0;  ///< global memory of a block for fragments that do not fit
  std::int64_t ahead = 0;           ///< a team prefetches the row so many after its own; 0: none

  [[nodiscard]] constexpr std::size_t shared_bytes() const { return partial_bytes + fragment_bytes; }
  [[nodiscard]] LOCUS_FN constexpr int partials() const { return threads / 32 * cluster; }
  /// The number of a block in its cluster, and of its cluster in the grid, without divisions.
  [[nodiscard]] LOCUS_FN constexpr int rank_of(std::uint32_t block) const {
    return static_cast<int>(block) & (cluster - 1);
  }
  [[nodiscard]] LOCUS_FN constexpr std::int64_t cluster_of(std::uint32_t block) const { return block >> cluster_bits; }
  /// Where each of several teams of a block has partial results.
  [[nodiscard]] LOCUS_FN constexpr std::size_t team_partial_bytes() const {
    return partial_bytes / static_cast<std::size_t>(teams);
  }
};

namespace detail {
/// Threads, in whole warps, that hold `columns` columns in registers.
[[nodiscard]] constexpr std::int64_t row_threads(std::int64_t columns, int items) {
  return divide_up(columns, std::int64_t{32} * items) * 32;
}

/// Whether a block has registers for a row. A long row that may begin off a vector boundary is faster in memory.
[[nodiscard]] constexpr bool fits_registers(std::int64_t cols, const RowFragments& fragments) {
  constexpr std::int64_t few = row_items * RowPlan::team_threads;
  return cols <= few ||
         (cols % RowRuns::run == 0 && row_threads(cols, long_row_items(fragments.count)) <= RowPlan::team_threads);
}

/// Blocks that share a row: `cluster`, and more where rows alone leave the GPU idle.
[[nodiscard]] constexpr int busy_cluster(int cluster, std::int64_t rows, std::int64_t cols, const RowDevice& device) {
  while (cluster * 2 <= device.largest_cluster && rows * cluster * 2 <= device.multiprocessors &&
         cols >= RowPlan::columns_worth_block * cluster * 2)
    cluster *= 2;
  return cluster;
}

/// Blocks that share a row in memory: as many as leave a multiprocessor room for two blocks, of which one loads while
/// the other computes.
[[nodiscard]] constexpr int memory_cluster(std::int64_t cols, const RowFragments& fragments, const RowDevice& device) {
  const auto room = static_cast<std::int64_t>(device.shared_memory / 2 - 2 * RowPlan::reserved_bytes);
  const auto bytes = [&](int blocks) { return divide_up(cols, blocks) * fragments.count * fragments.bytes; };
  int cluster = 1;
  while (cluster * 2 <= device.largest_cluster && bytes(cluster) > room) cluster *= 2;
  return cluster;
}

/// Room for partial results, of a plan whose threads and cluster are chosen.
constexpr void place_partials(RowPlan& plan) {
  while (1 << plan.cluster_bits < plan.cluster) ++plan.cluster_bits;
  if (plan.partials() > 1)
    plan.partial_bytes = std::size_t{2} * RowPlan::max_accumulator * static_cast<std::size_t>(plan.partials());
}

constexpr void place_fragments(RowPlan& plan, std::int64_t cols, const RowFragments& fragments,
                               const RowDevice& device) {
  const std::int64_t tile = std::int64_t{memory_row_items} * plan.threads;
  plan.tiles = divide_up(cols, tile * plan.cluster);
  const auto values = static_cast<std::size_t>(fragments.count * plan.tiles * tile);
  const std::size_t needed = static_cast<std::size_t>(fragments.bytes) * values;
  const std::size_t taken = plan.partial_bytes + RowPlan::reserved_bytes;
  const std::size_t most = device.shared_memory > taken ? (device.shared_memory - taken) / 16 * 16 : 0;
  const bool fits = needed <= most;
  plan.fragment_bytes = fits ? needed : most;
  plan.workspace_bytes = fits ? 0 : needed;
}

/// RowPlan::ahead, where the GPU works on `at_once` rows at a time: the row that comes next in a block's place. None if
/// prefetched rows could be evicted before they are loaded.
[[nodiscard]] constexpr std::int64_t rows_ahead(std::int64_t at_once, std::int64_t rows, std::int64_t cols,
                                                std::int64_t traffic, const RowDevice& device) {
  const std::int64_t ahead = at_once > 0 ? at_once : 1;
  const bool stays = tuning::cache_shares * ahead * cols * traffic <= static_cast<std::int64_t>(device.cache);
  return traffic > 0 && ahead < rows && stays ? ahead : 0;
}
/// Rows in memory that the GPU works on at a time.
[[nodiscard]] constexpr std::int64_t memory_rows_at_once(const RowPlan& plan, const RowDevice& device) {
  const int resident = 2 * (plan.shared_bytes() + RowPlan::reserved_bytes) <= device.shared_memory ? 2 : 1;
  return std::int64_t{device.multiprocessors} * resident / plan.cluster;
}
}  // namespace detail

/// For rows > 0 of cols columns.
[[nodiscard]] LOCUS_OUT_OF_LINE constexpr RowPlan plan_rows(std::int64_t rows, std::int64_t cols,
                                                            const RowFragments& fragments, const RowDevice& device) {
  RowPlan plan;
  std::int64_t most_blocks = RowPlan::most_blocks;
  if (cols <= 32 * row_items) {
    plan.storage = cols <= 32 ? RowStorage::one_register : RowStorage::registers;
    plan.teams = RowPlan::warps_per_block;
  } else if (detail::fits_registers(cols, fragments)) {
    // Threads with many columns take fewer instructions for each; few columns make more threads, for small matrices.
    const int many = long_row_items(fragments.count);
    const bool is_short = rows < divide_up(device.multiprocessors * RowPlan::columns_worth_many, cols);
    const int items = is_short && cols <= row_items * RowPlan::team_threads ? row_items : many;
    plan.storage = items > row_items ? RowStorage::many_registers : RowStorage::registers;
    plan.cluster = detail::busy_cluster(1, rows, cols, device);
    plan.threads = static_cast<int>(detail::row_threads(divide_up(cols, plan.cluster), items));
    if (plan.partials() == 1) plan.teams = RowPlan::warps_per_block;
    detail::place_partials(plan);
  } else {
    plan.storage = RowStorage::memory;
    plan.cluster = detail::busy_cluster(detail::memory_cluster(cols, fragments, device), rows, cols, device);
    plan.threads = RowPlan::team_threads;
    detail::place_partials(plan);
    detail::place_fragments(plan, cols, fragments, device);
    if (plan.workspace_bytes > 0) most_blocks = device.multiprocessors;
    plan.ahead = detail::rows_ahead(detail::memory_rows_at_once(plan, device), rows, cols, fragments.traffic, device);
  }
  const std::int64_t wanted = divide_up(rows, plan.teams);
  const std::int64_t most = most_blocks / plan.cluster > 0 ? most_blocks / plan.cluster : 1;
  plan.blocks = static_cast<std::uint32_t>((wanted < most ? wanted : most) * plan.cluster);
  return plan;
}

/// For two sums over rows of elements that have so many bytes in memory and in registers. A row is in the registers of
/// a block, which it shares with other rows, or of a cluster; a multiprocessor has registers for one block. No blocks:
/// the row does not fit, is shorter than a warp, or there are so few rows that the blocks' sums would take more than a
/// tenth of the memory that the rows take. `traffic`: see RowFragments.
[[nodiscard]] LOCUS_OUT_OF_LINE constexpr RowPlan plan_row_sums(std::int64_t rows, std::int64_t cols, int element_bytes,
                                                                int register_bytes, const RowDevice& device,
                                                                std::int64_t traffic = 0) {
  constexpr std::int64_t share = 10;
  RowPlan plan;
  plan.storage = RowStorage::registers;
  plan.blocks = 0;
  const auto threads = [&] { return detail::row_threads(divide_up(cols, plan.cluster), row_items); };
  while (plan.cluster * 2 <= device.largest_cluster && threads() > RowPlan::team_threads) plan.cluster *= 2;
  const std::int64_t sets = divide_up(device.multiprocessors, plan.cluster);
  if (cols < 32 || threads() > RowPlan::team_threads || sets * 2 * register_bytes * share > rows * element_bytes)
    return plan;
  plan.threads = static_cast<int>(threads());
  if (plan.cluster == 1) plan.teams = RowPlan::team_threads / plan.threads;
  plan.blocks = static_cast<std::uint32_t>(sets * plan.cluster);
  detail::place_partials(plan);
  plan.partial_bytes *= static_cast<std::size_t>(plan.teams);
  if (plan.teams > 1) plan.fragment_bytes = static_cast<std::size_t>(2 * cols * register_bytes);
  // One of several teams of a block loads while another computes.
  if (plan.teams == 1) plan.ahead = detail::rows_ahead(sets, rows, cols, traffic, device);
  return plan;
}

}}}  // namespace locus::LOCUS_ABI::cuda
