// How rows are launched, over random sizes and GPUs: every column is one thread's, and memory suffices.

#include <doctest/doctest.h>

#include <algorithm>
#include <locus/core/rng.hpp>
#include <locus/cuda/row_plan.hpp>
#include <vector>

namespace {
using namespace locus;
using cuda::RowPlan;
using cuda::RowStorage;

constexpr cuda::RowDevice small{46, 101376, 1}, ampere{108, 166912, 1}, hopper{132, 232448, 8};

/// What the threads of a row touch, walked as the kernels walk it.
std::vector<int> touched(const RowPlan& plan, std::int64_t cols, int run) {
  std::vector<int> times(static_cast<std::size_t>(cols));
  const int lanes = plan.threads * plan.cluster;
  const int items = plan.storage == RowStorage::one_register ? 1 : cuda::row_items;
  for (int lane = 0; lane < lanes; ++lane) {
    cuda::RowColumns columns{lane, lanes};
    columns.arrange(run);
    for (std::int64_t number = 0; number < plan.tiles; ++number) {
      const auto tile = cuda::RowTile::of(number, cols, lanes);
      for (int k = 0; k < items; ++k)
        if (columns(k) < tile.columns) ++times[static_cast<std::size_t>(tile.begin + columns(k))];
    }
  }
  return times;
}

void check_limits(const RowPlan& plan, std::int64_t rows, std::int64_t cols, int fragments,
                  const cuda::RowDevice& device) {
  CHECK(plan.threads % 32 == 0);
  CHECK(plan.threads * plan.teams <= 512);
  CHECK(plan.cluster <= device.largest_cluster);
  CHECK(plan.blocks >= 1);
  CHECK(plan.blocks % static_cast<unsigned>(plan.cluster) == 0);
  CHECK(plan.blocks / static_cast<unsigned>(plan.cluster) <= cuda::divide_up(rows, plan.teams));
  CHECK((plan.teams == 1 || plan.partials() == 1));  // warps meet over the memory of a block
  CHECK((plan.partials() == 1 || plan.partial_bytes >= std::size_t{64} * static_cast<std::size_t>(plan.partials())));
  CHECK(plan.shared_bytes() + 1024 <= device.shared_memory);
  CHECK(plan.partial_bytes % 16 == 0);
  CHECK(plan.fragment_bytes % 16 == 0);
  CHECK(plan.workspace_bytes % 16 == 0);
  if (plan.storage != RowStorage::memory) {
    CHECK(plan.fragment_bytes + plan.workspace_bytes == 0);
    CHECK(std::int64_t{plan.threads} * plan.cluster * cuda::row_items >= cols);
    return;
  }
  const auto needed = static_cast<std::size_t>(plan.tiles * cuda::row_items * plan.threads * fragments) * 8;
  CHECK((plan.fragment_bytes >= needed || plan.workspace_bytes >= needed));
  if (plan.workspace_bytes > 0) CHECK(plan.blocks <= static_cast<unsigned>(std::max(device.multiprocessors, 8)));
}

TEST_CASE("for_each_row: threads cover the columns once, within what the GPU has") {
  Philox random(1);
  for (int trial = 0; trial < 4000; ++trial) {
    const std::int64_t most = trial % 40 == 0 ? 400000 : trial % 4 == 0 ? 9000 : 600;
    const std::int64_t cols = random.bounded(most), rows = 1 + random.bounded(trial % 3 ? 300 : 3000000);
    const int fragments = 1 + static_cast<int>(random.bounded(4));
    const cuda::RowDevice& device = trial % 3 == 0 ? small : trial % 3 == 1 ? ampere : hopper;
    const RowPlan plan = cuda::plan_rows(rows, cols, fragments, device);
    INFO("rows ", rows, " cols ", cols, " fragments ", fragments, " cluster ", plan.cluster);
    check_limits(plan, rows, cols, fragments, device);
    const int runs[] = {1, 4, 8};
    const int run = plan.storage == RowStorage::one_register ? 1 : runs[trial / 3 % 3];
    const std::vector<int> times = touched(plan, cols, run);
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

TEST_CASE("for_each_row: where rows are, and who shares them") {
  const auto plan = [](std::int64_t rows, std::int64_t cols, const cuda::RowDevice& device = hopper) {
    return cuda::plan_rows(rows, cols, 1, device);
  };
  CHECK(plan(64, 32).storage == RowStorage::one_register);
  CHECK(plan(64, 33).storage == RowStorage::registers);
  CHECK(plan(64, 256).teams == 4);
  CHECK(plan(64, 257).threads == 64);
  CHECK(plan(4096, 1000).threads == 128);
  CHECK(plan(4096, 4096).threads == 512);
  CHECK(plan(4096, 4096).cluster == 1);
  CHECK(plan(4096, 4097).cluster == 2);
  CHECK(plan(4096, 32768).cluster == 8);
  CHECK(plan(4096, 32768).storage == RowStorage::registers);
  CHECK(plan(4096, 262144).storage == RowStorage::memory);
  CHECK(plan(4096, 262144).cluster == 8);
  CHECK(plan(1, 8192).cluster == 4);  // more blocks than the row needs, of a GPU that has nothing else to do
  CHECK(plan(4096, 4097, ampere).storage == RowStorage::memory);
  CHECK(plan(4096, 4097, ampere).workspace_bytes == 0);
  CHECK(plan(4096, 50000, ampere).workspace_bytes > 0);
  CHECK(plan(4096, 50000, ampere).blocks == 108);
  CHECK(plan(5, 0).blocks == 2);
}

}  // namespace
