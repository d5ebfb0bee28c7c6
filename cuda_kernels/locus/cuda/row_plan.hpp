#pragma once
// How for_each_row is launched, and which columns a thread has. Plain functions of sizes, so that tests replay them on
// the host.

#include <locus/cuda/indexing.hpp>
#include <locus/cuda/tuning.hpp>

#include <cstddef>

namespace locus::inline LOCUS_ABI::cuda {

/// Columns that a thread has at once: of a row in registers at most, of one in memory per tile.
inline constexpr int row_items = tuning::row_items;

/// Columns that are read or written in one access of at most 16 bytes.
template <class T>
inline constexpr int row_vector = sizeof(T) <= 2    ? 8
                                  : sizeof(T) >= 16 ? 1
                                                    : 16 / static_cast<int>(sizeof(T));

/// The columns of a thread within a tile of row_items * lanes. In runs of 1, 4 or 8 neighbours: threads beside each
/// other read elements beside each other, or vectors of them.
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

/// A part of a row in which every thread has row_items columns, those below `columns`.
struct RowTile {
  int64_t number = 0, begin = 0;
  int columns;

  [[nodiscard]] LOCUS_FN static constexpr RowTile of(int64_t number, int64_t cols, int lanes) {
    const int64_t begin = number * row_items * lanes, left = cols - begin;
    const int most = row_items * lanes;
    return {number, begin, left < most ? static_cast<int>(left) : most};
  }
};

/// Where a row is while it is worked on.
enum class RowStorage { one_register, registers, memory };

/// What a GPU has for rows. Clusters of 1 block are none.
struct RowDevice {
  int multiprocessors = 1;
  std::size_t shared_memory = 0;  ///< of a block
  int largest_cluster = 1;
};

/// A launch of for_each_row.
struct RowPlan {
  static constexpr int max_accumulator = 32;                            ///< bytes
  static constexpr int team_threads = tuning::row_team_threads;         ///< of a block at most
  static constexpr int warps_per_block = tuning::row_warps_per_block;   ///< each with a row
  static constexpr std::int64_t most_blocks = tuning::most_row_blocks;  ///< that start at once
  static constexpr std::int64_t columns_worth_block =
      tuning::columns_worth_block;  ///< of a cluster that only keeps the GPU busy
  static constexpr int largest_cluster = tuning::largest_cluster;
  static constexpr std::size_t reserved_bytes =
      tuning::reserved_shared_bytes;  ///< of a block's shared memory, for the system

  RowStorage storage = RowStorage::one_register;
  int threads = 32;        ///< of a block, for one row
  int teams = 1;           ///< rows that a block works on
  int cluster = 1;         ///< blocks that share a row
  std::int64_t tiles = 1;  ///< of a row in memory
  std::uint32_t blocks = 1;
  std::size_t partial_bytes = 0;  ///< shared memory of a block where the warps' partial results meet: two sets in turn,
                                  ///< so that one barrier per reduction suffices
  std::size_t fragment_bytes = 0;   ///< and that for fragments;
  std::size_t workspace_bytes = 0;  ///< of a block, for those that do not fit

  [[nodiscard]] constexpr std::size_t shared_bytes() const { return partial_bytes + fragment_bytes; }
  [[nodiscard]] LOCUS_FN constexpr int partials() const { return threads / 32 * cluster; }
};

namespace detail {
/// Whole warps that have `columns` columns in registers.
[[nodiscard]] constexpr std::int64_t row_threads(std::int64_t columns) {
  return divide_up(columns, std::int64_t{32} * row_items) * 32;
}

/// Blocks that share a row of a cluster: as many as its registers need, and more where rows alone leave the GPU idle.
[[nodiscard]] constexpr int row_cluster(std::int64_t rows, std::int64_t cols, const RowDevice& device) {
  int cluster = 1;
  const auto grows = [&] { return cluster * 2 <= device.largest_cluster; };
  while (grows() && row_threads(divide_up(cols, cluster)) > RowPlan::team_threads) cluster *= 2;
  while (grows() && rows * cluster * 2 <= device.multiprocessors && cols >= RowPlan::columns_worth_block * cluster * 2)
    cluster *= 2;
  return cluster;
}

constexpr void place_partials(RowPlan& plan) {
  if (plan.partials() > 1)
    plan.partial_bytes = std::size_t{2} * RowPlan::max_accumulator * static_cast<std::size_t>(plan.partials());
}

/// Fragments may be of double, of which each thread has whole tiles.
constexpr void place_fragments(RowPlan& plan, std::int64_t cols, int fragments, const RowDevice& device) {
  const std::int64_t tile = std::int64_t{row_items} * plan.threads;
  plan.tiles = divide_up(cols, tile * plan.cluster);
  const std::size_t needed = 8 * static_cast<std::size_t>(fragments) * static_cast<std::size_t>(plan.tiles * tile);
  const std::size_t taken = plan.partial_bytes + RowPlan::reserved_bytes;
  const std::size_t most = device.shared_memory > taken ? (device.shared_memory - taken) / 16 * 16 : 0;
  const bool fits = needed <= most;
  plan.fragment_bytes = fits ? needed : most;
  plan.workspace_bytes = fits ? 0 : needed;
}
}  // namespace detail

/// For rows > 0 of cols columns, of which at most `fragments` rows are kept at a time.
[[nodiscard]] LOCUS_OUT_OF_LINE constexpr RowPlan plan_rows(std::int64_t rows, std::int64_t cols, int fragments,
                                                            const RowDevice& device) {
  RowPlan plan;
  std::int64_t most_blocks = RowPlan::most_blocks;
  if (cols <= 32 * row_items) {
    plan.storage = cols <= 32 ? RowStorage::one_register : RowStorage::registers;
    plan.teams = RowPlan::warps_per_block;
  } else {
    plan.cluster = detail::row_cluster(rows, cols, device);
    const std::int64_t threads = detail::row_threads(divide_up(cols, plan.cluster));
    const bool fits = threads <= RowPlan::team_threads;
    plan.storage = fits ? RowStorage::registers : RowStorage::memory;
    plan.threads = fits ? static_cast<int>(threads) : RowPlan::team_threads;
    detail::place_partials(plan);
    if (!fits) detail::place_fragments(plan, cols, fragments, device);
    if (plan.workspace_bytes > 0) most_blocks = device.multiprocessors;
  }
  const std::int64_t wanted = divide_up(rows, plan.teams);
  const std::int64_t most = most_blocks / plan.cluster > 0 ? most_blocks / plan.cluster : 1;
  plan.blocks = static_cast<std::uint32_t>((wanted < most ? wanted : most) * plan.cluster);
  return plan;
}

}  // namespace locus::inline LOCUS_ABI::cuda
