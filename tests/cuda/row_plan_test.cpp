// Runs on: host.
// How rows are launched, over random sizes and GPUs: every column belongs to one thread, and memory suffices.

#include <doctest/doctest.h>

#include <algorithm>
#include <locus/core/rng.hpp>
#include <locus/cuda/row_plan.hpp>
#include <vector>

namespace {
using namespace locus;
using cuda::RowPlan;
using cuda::RowStorage;

constexpr cuda::RowDevice small{46, 101376, 1, 4 << 20}, ampere{108, 166912, 1, 40 << 20},
    hopper{132, 232448, 8, 50 << 20};

int items_of(const RowPlan& plan, int fragments) {
  switch (plan.storage) {
    case RowStorage::one_register: return 1;
    case RowStorage::registers: return cuda::row_items;
    case RowStorage::many_registers: return cuda::long_row_items(fragments);
    default: return cuda::memory_row_items;
  }
}

/// How often the threads of a row touch each column, walked as in the kernels: a short row in runs of `run`, a row in
/// memory from place `shift` on.
std::vector<int> touched(const RowPlan& plan, std::int64_t cols, int items, int run, int shift) {
  std::vector<int> times(static_cast<std::size_t>(cols));
  const int lanes = plan.threads * plan.cluster;
  const auto walk = [&](const auto& columns) {
    for (std::int64_t number = 0; number < plan.tiles; ++number) {
      const auto tile = cuda::RowTile::of(number, cols, lanes, items, shift);
      for (int k = 0; k < items; ++k)
        if (tile.has(columns(k))) ++times[static_cast<std::size_t>(tile.begin + columns(k))];
    }
  };
  for (int lane = 0; lane < lanes; ++lane) {
    if (items > cuda::row_items) {
      walk(cuda::RowRuns{lane, lanes});
    } else {
      cuda::RowColumns columns{lane, lanes};
      columns.arrange(run);
      walk(columns);
    }
  }
  return times;
}

void check_limits(const RowPlan& plan, std::int64_t rows, std::int64_t cols, const cuda::RowFragments& fragments,
                  const cuda::RowDevice& device) {
  CHECK(plan.threads % 32 == 0);
  CHECK(plan.threads * plan.teams <= 512);
  CHECK(plan.cluster <= device.largest_cluster);
  CHECK(plan.cluster == 1 << plan.cluster_bits);
  CHECK(plan.blocks >= 1);
  CHECK(plan.blocks % static_cast<unsigned>(plan.cluster) == 0);
  CHECK(plan.blocks / static_cast<unsigned>(plan.cluster) <= cuda::divide_up(rows, plan.teams));
  CHECK((plan.teams == 1 || plan.partials() == 1));  // warps meet over the memory of a block
  CHECK((plan.partials() == 1 || plan.partial_bytes >= std::size_t{64} * static_cast<std::size_t>(plan.partials())));
  CHECK(plan.shared_bytes() + 1024 <= device.shared_memory);
  CHECK(plan.partial_bytes % 16 == 0);
  CHECK(plan.fragment_bytes % 16 == 0);
  CHECK(plan.workspace_bytes % 16 == 0);
  CHECK((plan.ahead == 0 || (plan.ahead < rows && plan.storage == RowStorage::memory)));
  CHECK(2 * plan.ahead * cols * fragments.traffic <= static_cast<std::int64_t>(device.cache));
  if (plan.storage != RowStorage::memory) {
    CHECK(plan.fragment_bytes + plan.workspace_bytes == 0);
    CHECK(std::int64_t{plan.threads} * plan.cluster * items_of(plan, fragments.count) >= cols);
    return;
  }
  const auto needed =
      static_cast<std::size_t>(plan.tiles * cuda::memory_row_items * plan.threads * fragments.count * fragments.bytes);
  CHECK((plan.fragment_bytes >= needed || plan.workspace_bytes >= needed));
  if (plan.workspace_bytes > 0) CHECK(plan.blocks <= static_cast<unsigned>(std::max(device.multiprocessors, 8)));
}

TEST_CASE("for_each_row: threads cover the columns once, within what the GPU has") {
  Philox random(1);
  for (int trial = 0; trial < 4000; ++trial) {
    const std::int64_t most = trial % 40 == 0 ? 400000 : trial % 4 == 0 ? 9000 : 600;
    const std::int64_t cols = random.bounded(most), rows = 1 + random.bounded(trial % 3 ? 300 : 3000000);
    const cuda::RowFragments fragments{static_cast<int>(random.bounded(5)), random.bounded(2) ? 4 : 8,
                                       std::int64_t{random.bounded(9)}};
    const cuda::RowDevice& device = trial % 3 == 0 ? small : trial % 3 == 1 ? ampere : hopper;
    const RowPlan plan = cuda::plan_rows(rows, cols, fragments, device);
    INFO("rows ", rows, " cols ", cols, " fragments ", fragments.count, " cluster ", plan.cluster);
    check_limits(plan, rows, cols, fragments, device);
    const int runs[] = {1, 4, 8}, items = items_of(plan, fragments.count);
    const int run = plan.storage == RowStorage::one_register ? 1 : runs[trial / 3 % 3];
    const int shift = static_cast<int>(random.bounded(4));
    const bool has_room = cols + shift <= plan.tiles * items * plan.threads * plan.cluster;
    const bool shifts = plan.storage == RowStorage::memory && has_room;
    const std::vector<int> times = touched(plan, cols, items, run, shifts ? shift : 0);
    CHECK(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }));
  }
}

TEST_CASE("for_each_row: runs are neighbours, and vectors lie at multiples of their width") {
  for (const int lanes : {32, 96, 512, 4096}) {
    for (const int run : {1, 4, 8}) {
      for (int lane = 0; lane < lanes; ++lane) {
        cuda::RowColumns columns{lane, lanes};
        columns.arrange(run);
        CHECK(columns.run() == run);
        for (int k = 0; k < cuda::row_items; ++k) {
          const int expected = run == 1 ? lane + k * lanes : (lane + k / run * lanes) * run + k % run;
          REQUIRE(columns(k) == expected);
        }
      }
    }
  }
}

TEST_CASE("for_each_row: the runs of a long row") {
  for (const int lanes : {32, 96, 512, 4096}) {
    for (int lane = 0; lane < lanes; ++lane) {
      const cuda::RowRuns columns{lane, lanes};
      for (int k = 0; k < 16; ++k) REQUIRE(columns(k) == (lane + k / 4 * lanes) * 4 + k % 4);
    }
  }
}

TEST_CASE("for_each_row: where rows are, and who shares them") {
  const auto plan = [](std::int64_t rows, std::int64_t cols, const cuda::RowDevice& device = hopper) {
    return cuda::plan_rows(rows, cols, {1, 4}, device);
  };
  CHECK(plan(64, 32).storage == RowStorage::one_register);
  CHECK(plan(64, 33).storage == RowStorage::registers);
  CHECK(plan(64, 256).teams == 4);
  // A small matrix keeps more threads busy with few columns each.
  CHECK(plan(64, 257).threads == 64);
  CHECK(plan(64, 257).storage == RowStorage::registers);
  CHECK(plan(100, 1000).threads == 128);
  CHECK(plan(4096, 1000).threads == 64);
  CHECK(plan(4096, 1000).storage == RowStorage::many_registers);
  CHECK(plan(4096, 512).threads == 32);
  CHECK(plan(4096, 512).teams == 4);
  CHECK(plan(4096, 4096).threads == 256);
  CHECK(plan(4096, 8192).threads == 512);
  CHECK(plan(4096, 8192).cluster == 1);
  CHECK(plan(4096, 8192).storage == RowStorage::many_registers);
  CHECK(plan(4096, 8191).storage == RowStorage::memory);  // its rows begin between vectors
  CHECK(plan(4096, 4095).storage == RowStorage::many_registers);
  CHECK(plan(4096, 16384).storage == RowStorage::memory);
  // As many blocks to a row as let a multiprocessor host two.
  CHECK(plan(4096, 16384).cluster == 1);
  CHECK(plan(4096, 32768).cluster == 2);
  CHECK(plan(4096, 262144).cluster == 8);
  CHECK(plan(4096, 262144).workspace_bytes == 0);
  CHECK(plan(1, 8192).cluster == 4);  // more blocks than the row needs, of a GPU that has nothing else to do
  CHECK(plan(4096, 4097, ampere).storage == RowStorage::memory);
  CHECK(plan(4096, 4097, ampere).workspace_bytes == 0);
  CHECK(plan(4096, 50000, ampere).workspace_bytes > 0);
  CHECK(plan(4096, 50000, ampere).blocks == 108);
  CHECK(plan(5, 0).blocks == 2);
  // Rows of which two fragments are kept have no registers for more columns.
  CHECK(cuda::plan_rows(4096, 4096, {2, 4}, hopper).threads == 512);
  CHECK(cuda::plan_rows(4096, 4100, {2, 4}, hopper).storage == RowStorage::memory);
}

TEST_CASE("sums over rows: threads cover the columns once, and the blocks' sums take a tenth of the rows' memory") {
  Philox random(2);
  int planned = 0, clusters = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const std::int64_t cols = random.bounded(trial % 4 == 0 ? 40000 : 6000), rows = random.bounded(20000);
    const int bytes = 2 << random.bounded(3), registers = bytes == 8 ? 8 : 4;
    const cuda::RowDevice& device = trial % 3 == 0 ? small : trial % 3 == 1 ? ampere : hopper;
    const RowPlan plan = cuda::plan_row_sums(rows, cols, bytes, registers, device);
    INFO("rows ", rows, " cols ", cols, " bytes ", bytes, " cluster ", plan.cluster);
    if (plan.blocks == 0) continue;
    ++planned;
    clusters += plan.cluster > 1;
    CHECK(plan.threads % 32 == 0);
    CHECK(plan.threads * plan.teams <= 512);
    CHECK((plan.teams <= 15 || plan.threads == 32));  // barriers of teams of several warps
    CHECK((plan.teams == 1 || plan.cluster == 1));
    CHECK(plan.cluster <= device.largest_cluster);
    CHECK(plan.cluster == 1 << plan.cluster_bits);
    CHECK(plan.blocks % static_cast<unsigned>(plan.cluster) == 0);
    CHECK(plan.shared_bytes() <= 48 << 10);  // needs no permission
    CHECK(plan.team_partial_bytes() % 16 == 0);
    CHECK((plan.partials() == 1 ||
           plan.team_partial_bytes() >= std::size_t{64} * static_cast<std::size_t>(plan.partials())));
    const std::int64_t partials = std::int64_t{plan.blocks} / plan.cluster * 2 * cols * registers;
    CHECK(10 * partials <= rows * cols * bytes);
    const int runs[] = {1, 4, 8};
    const std::vector<int> times = touched(plan, cols, cuda::row_items, runs[trial % 3], 0);
    CHECK(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }));
  }
  CHECK(planned > 1000);
  CHECK(clusters > 100);
}

TEST_CASE("the row that comes next in a block's place is prefetched, if it stays in the cache until then") {
  const auto ahead = [](std::int64_t rows, std::int64_t cols, const cuda::RowDevice& device = hopper,
                        std::int64_t traffic = 4) {
    return cuda::plan_rows(rows, cols, {1, 4, traffic}, device).ahead;
  };
  CHECK(ahead(4096, 16384) == 264);  // two blocks to a multiprocessor
  CHECK(ahead(4096, 32768) == 132);  // in clusters of two
  CHECK(ahead(4096, 262144) == 16);
  CHECK(ahead(4096, 262144, hopper, 12) == 0);  // 16 rows of 3 MiB
  CHECK(ahead(4096, 50000, ampere) == 0);
  CHECK(ahead(4096, 32768, ampere) == 108);  // one block to a multiprocessor
  CHECK(ahead(4096, 16384, small) == 0);
  CHECK(ahead(4096, 16384, hopper, 0) == 0);  // of unknown inputs
  CHECK(ahead(264, 16384) == 0);              // all rows at once
  CHECK(ahead(4096, 4096) == 0);              // in registers: blocks hide each other's loads
  const auto of_sums = [](std::int64_t rows, std::int64_t cols) {
    return cuda::plan_row_sums(rows, cols, 2, 4, hopper, 6).ahead;
  };
  CHECK(of_sums(8192, 768) == 0);  // five teams hide each other's loads
  CHECK(of_sums(8192, 4096) == 132);
  CHECK(of_sums(8192, 32768) == 17);
}

TEST_CASE("sums over rows: where they are computed") {
  const auto plan = [](std::int64_t rows, std::int64_t cols, const cuda::RowDevice& device = hopper) {
    return cuda::plan_row_sums(rows, cols, 2, 4, device);
  };
  CHECK(plan(8192, 768).blocks == 132);
  CHECK(plan(8192, 768).threads == 96);
  CHECK(plan(8192, 768).teams == 5);
  CHECK(plan(8192, 4096).teams == 1);
  CHECK(plan(8192, 4096).cluster == 1);
  CHECK(plan(8192, 32768).cluster == 8);
  CHECK(plan(1400, 32768).blocks == 136);  // the sums of a cluster are one row of partial sums
  CHECK(plan(8192, 32769).blocks == 0);
  CHECK(plan(8192, 4097, ampere).blocks == 0);
  CHECK(plan(5000, 768).blocks == 0);  // the partial sums would take more than a tenth
  CHECK(plan(1 << 20, 31).blocks == 0);
}

}  // namespace
