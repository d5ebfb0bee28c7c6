#pragma once
// Cuda's for_each_row: choice of kernel and teams, and the launch.

#include <locus/cuda/row_team.cuh>
#include <locus/cuda/trace.hpp>
#include <locus/device/trace/launch_log.hpp>

#include <array>
#include <atomic>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
/// Minimum resident blocks per multiprocessor for long rows: one block loads while another computes.
template <class Storage, class F>
[[nodiscard]] constexpr int least_row_blocks() {
  if constexpr (Storage::items > row_items && requires { F::resident_blocks; }) return F::resident_blocks;
  else return 1;
}

/// Prefetches the inputs of the row that comes after this one in the place of its block. While a block computes and
/// stores it loads nothing; a prefetch keeps global memory busy then, and the later loads wait for the second-level
/// cache only. A bulk copy to shared memory would also hide that shorter latency, but the values of the present row
/// take that memory, and it needs alignment, a barrier and compute capability 9.0. The second-level cache is coherent:
/// rows that blocks overwrite, in place too, stay correct.
template <class F, class Team>
LOCUS_FN void prefetch_ahead(const F& f, int64_t row, int64_t rows, const RowPlan& plan, const Team& team) {
  if constexpr (NamesInputs<F>) {
    if (plan.ahead > 0 && row + plan.ahead < rows)
      f.for_each_input(row + plan.ahead, [&](const auto& input) { team.prefetch(input); });
  }
}

template <class Storage, class F>
__global__ void __launch_bounds__(RowPlan::team_threads, (least_row_blocks<Storage, F>()))
    rows_by_team(const __grid_constant__ F f, int64_t rows, int64_t cols, const __grid_constant__ RowPlan plan,
                 unsigned char* workspace) {
  extern __shared__ __align__(16) unsigned char shared[];
  const RowMemory memory{shared, shared + plan.partial_bytes, plan.fragment_bytes,
                         workspace + blockIdx.x * plan.workspace_bytes};
  // Most blocks have one row, so that the instructions before the loop count: no divisions. Several teams are warps.
  const int teams = Storage::has_workspace ? 1 : plan.teams;
  const int number = teams > 1 ? static_cast<int>(threadIdx.x / warp_size) : 0;
  const int thread = static_cast<int>(threadIdx.x) - number * warp_size;
  RowTeam<Storage> team(cols, plan, memory, thread, plan.rank_of(blockIdx.x));
  if (plan.cluster > 1) synchronize_cluster();  // all blocks must run before one writes to another's memory
  const int64_t step = plan.cluster_of(gridDim.x) * teams;
  for (int64_t row = plan.cluster_of(blockIdx.x) * teams + number; row < rows; row += step) {
    team.next_row();
    if constexpr (Storage::has_workspace) prefetch_ahead(f, row, rows, plan, team);
    f(row, team);
  }
}

/// RowFragments::traffic of a functor.
template <class F>
[[nodiscard]] constexpr std::int64_t row_traffic() {
  if constexpr (NamesInputs<F> && CountsBytes<F>) return F::bytes_per_element;
  else return 0;
}
/// Values of fragments have 8 bytes unless the functor defines `fragment_bytes`.
template <class F>
[[nodiscard]] constexpr RowFragments row_fragments() {
  return {F::fragments, fragment_bytes<F>, row_traffic<F>()};
}

/// Lets a kernel use all the shared memory of a block. The attribute belongs to the function, in all threads: always
/// set to the same value.
template <class Kernel>
void allow_all_shared_memory(const Context& context, Kernel* kernel) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(context.shared_memory())),
        "for_each_row: shared memory");
}

/// Launch configuration with clusters of plan.cluster blocks; `cluster` must outlive it.
[[nodiscard]] inline cudaLaunchConfig_t row_launch(const Context& context, const RowPlan& plan,
                                                   cudaLaunchAttribute& cluster) {
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(plan.cluster);
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(plan.blocks);
  launch.blockDim = dim3(static_cast<unsigned>(plan.threads * plan.teams));
  launch.dynamicSmemBytes = plan.shared_bytes();
  launch.stream = context.stream();
  launch.attrs = &cluster;
  launch.numAttrs = plan.cluster > 1 ? 1 : 0;
  return launch;
}

/// Blocks of the largest cluster that the GPU, or the process's part of it, can host for a kernel whose blocks have
/// this much shared memory. 1 if the kernel was compiled without clusters.
template <class Kernel>
[[nodiscard]] int ask_largest_cluster(const Context& context, Kernel* kernel, std::size_t shared_bytes) {
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, kernel), "for_each_row: attributes");
  if (attributes.ptxVersion < 90) return 1;
  allow_all_shared_memory(context, kernel);
  for (int size = RowPlan::largest_cluster; size > 1; size /= 2) {
    RowPlan plan;
    plan.threads = RowPlan::team_threads;
    plan.cluster = size;
    plan.blocks = static_cast<std::uint32_t>(size);
    plan.fragment_bytes = shared_bytes;
    cudaLaunchAttribute cluster{};
    const cudaLaunchConfig_t launch = row_launch(context, plan, cluster);
    int active = 0;
    if (cudaOccupancyMaxActiveClusters(&active, kernel, &launch) != cudaSuccess) (void)cudaGetLastError();
    else if (active > 0) return size;
  }
  return 1;
}
/// The same, asked once per functor and GPU: two kernels have different types.
template <class Kernel>
[[nodiscard]] int largest_cluster(const Context& context, Kernel* kernel, std::size_t shared_bytes) {
  static std::array<std::atomic<int>, max_devices> answers{};
  std::atomic<int>& answer = answers[static_cast<std::size_t>(context.ordinal())];
  int largest = answer.load(std::memory_order_relaxed);
  if (largest == 0)
    answer.store(largest = ask_largest_cluster(context, kernel, shared_bytes), std::memory_order_relaxed);
  return largest;
}

/// The GPU's resources for the rows of a functor.
template <class F>
[[nodiscard]] RowDevice row_device(const Context& context, int64_t cols) {
  RowDevice device{context.multiprocessors(), context.shared_memory(), 1, context.cache()};
  if (context.has_clusters() && cols >= 2 * RowPlan::columns_worth_block)
    device.largest_cluster =
        largest_cluster(context, &rows_by_team<MemoryRows, F>, context.shared_memory() - RowPlan::reserved_bytes);
  return device;
}

template <class Storage, class F>
void launch_rows(Context& context, int64_t rows, int64_t cols, const F& f, const RowPlan& plan) {
  const auto kernel = &rows_by_team<Storage, F>;
  const Scratch workspace(context, plan.blocks * plan.workspace_bytes);
  if (plan.shared_bytes() > 48 * 1024) allow_all_shared_memory(context, kernel);
  cudaLaunchAttribute cluster{};
  const cudaLaunchConfig_t launch = row_launch(context, plan, cluster);
  // context.launched() checks the launch's error.
  (void)cudaLaunchKernelEx(&launch, kernel, f, rows, cols, plan, workspace.template as<unsigned char>());
}
}  // namespace detail

template <class F>
void for_each_row(Context& context, int64_t rows, int64_t cols, const F& f) {
  static_assert(std::is_trivially_copyable_v<F>,
                "for_each_row: the functor is copied to the GPU, so it must be trivially copyable: values and device "
                "pointers only");
  if (streams_are_checked()) [[unlikely]]
    context.check_order_of(locus::detail::describe_rows(locus::detail::type_text<F>(), rows, cols, 0), f);
  ++locus::detail::launches.rows;
  LaunchTrace trace(context);
  if (locus::detail::launches_are_observed()) [[unlikely]]
    trace.begin(
        locus::detail::describe_rows(locus::detail::type_text<F>(), rows, cols, locus::detail::row_element_bytes<F>()));
  constexpr int items = long_row_items(F::fragments);
  const RowPlan plan = plan_rows(rows, cols, detail::row_fragments<F>(), detail::row_device<F>(context, cols));
  if (plan.storage == RowStorage::one_register) {
    detail::launch_rows<RegisterRows<1>>(context, rows, cols, f, plan);
  } else if (plan.storage == RowStorage::registers) {
    detail::launch_rows<RegisterRows<row_items>>(context, rows, cols, f, plan);
  } else if (plan.storage == RowStorage::memory) {
    detail::launch_rows<MemoryRows>(context, rows, cols, f, plan);
  } else if constexpr (items > row_items) {
    detail::launch_rows<RegisterRows<items>>(context, rows, cols, f, plan);
  }
  context.launched("for_each_row", std::array<std::int64_t, 2>{rows, cols});
  trace.end(plan.blocks, static_cast<unsigned>(plan.threads * plan.teams));
}

}}}  // namespace locus::LOCUS_ABI::cuda
