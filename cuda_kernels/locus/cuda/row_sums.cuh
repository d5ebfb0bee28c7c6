#pragma once
// Cuda's for_each_row with two sums over the rows. Every team keeps the sums of its columns in registers while it walks
// its rows; the teams of a block, and then the blocks, are added in a fixed order.

#include <locus/cuda/for_each_row.cuh>
#include <locus/cuda/reduce.cuh>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// A team of registers that also sums columns over its rows. All rows have the columns of the first one.
template <class R>
class SummingRowTeam : public RowTeam<RegisterRows<row_items>, TeamOfBlock> {
  using Base = RowTeam<RegisterRows<row_items>, TeamOfBlock>;

 public:
  using Base::Base;

  /// Adds map(x[c]..., c), Addends, for every column, and returns the totals of the row.
  template <class Map, class... X>
  [[nodiscard]] LOCUS_FN RowTotals<R> add(const Map& map, const X&... x) {
    RowTotals<R> totals{0, 0};
    this->for_each_column([&](const RowTile& tile, int k, int64_t c) {
      const Addends<R> value = map(this->storage_.at(x, tile, k)..., c);
      for (int i = 0; i < 2; ++i) sums_[i][k] += value.column[i];
      totals = {totals.first + value.row[0], totals.second + value.row[1]};
    });
    return this->fold(Totals{}, totals);
  }
  /// Calls visit(c, first sum, second sum) for the columns of this thread.
  template <class Visit>
  LOCUS_FN void for_each_sum(const Visit& visit) const {
    this->for_each_column([&](const RowTile&, int k, int64_t c) { visit(c, sums_[0][k], sums_[1][k]); });
  }

 private:
  struct Totals {
    static constexpr bool commutes = true;
    [[nodiscard]] LOCUS_FN RowTotals<R> identity() const { return {0, 0}; }
    [[nodiscard]] LOCUS_FN RowTotals<R> combine(const RowTotals<R>& a, const RowTotals<R>& b) const {
      return {a.first + b.first, a.second + b.second};
    }
  };
  R sums_[2][row_items] = {};
};

namespace detail {

/// Adds the sums of the block's teams, in order, and writes them to `partial`, which has `cols` elements of each sum.
template <class R>
__device__ void write_block_sums(const SummingRowTeam<R>& team, int number, const RowPlan& plan, int64_t cols,
                                 R* in_shared, R* partial) {
  R* const sums = plan.teams > 1 ? in_shared : partial;
  for (int turn = 0; turn < plan.teams; ++turn) {
    if (turn == number)
      team.for_each_sum([&](int64_t c, R first, R second) {
        sums[c] = turn == 0 ? first : sums[c] + first;
        sums[cols + c] = turn == 0 ? second : sums[cols + c] + second;
      });
    if (plan.teams > 1) synchronize_block();
  }
  if (plan.teams == 1) return;
  for (int64_t i = threadIdx.x; i < 2 * cols; i += blockDim.x) partial[i] = sums[i];
}

template <class F, class R>
__global__ void __launch_bounds__(RowPlan::team_threads)
    rows_with_sums(const __grid_constant__ F f, int64_t rows, int64_t cols, const __grid_constant__ RowPlan plan,
                   R* partials) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int number = static_cast<int>(threadIdx.x) / plan.threads;
  const int thread = static_cast<int>(threadIdx.x) % plan.threads;
  const RowMemory memory{shared + number * plan.team_partial_bytes(), nullptr, 0, nullptr};
  SummingRowTeam<R> team(cols, plan, memory, thread, plan.rank_of(blockIdx.x), TeamOfBlock{number + 1, plan.threads});
  if (plan.cluster > 1) synchronize_cluster();  // all blocks must run before one writes to another's memory
  const int64_t set = plan.cluster_of(blockIdx.x);
  const int64_t step = plan.cluster_of(gridDim.x) * plan.teams;
  for (int64_t row = set * plan.teams + number; row < rows; row += step) {
    prefetch_ahead(f, row, rows, plan, team);
    f(row, team);
  }
  write_block_sums(team, number, plan, cols, reinterpret_cast<R*>(shared + plan.partial_bytes),
                   partials + set * 2 * cols);
}

/// Arguments of the kernel that adds the blocks' sums: partials[block][sum * cols + column].
template <class T>
struct ColumnSumArguments {
  using R = compute_t<T>;
  struct Add {
    [[nodiscard]] LOCUS_FN R identity() const { return 0; }
    [[nodiscard]] LOCUS_FN R combine(R a, R b) const { return a + b; }
  };
  const R* partials;
  ColumnSum<T> first, second;
  uint32_t cols;
  ReduceTiles tiles;
};

template <class T>
__global__ void __launch_bounds__(ReduceTiles::threads)
    fold_column_sums(const __grid_constant__ ColumnSumArguments<T> a) {
  using R = compute_t<T>;
  const typename ColumnSumArguments<T>::Add add;
  const uint32_t output = a.tiles.output(blockIdx.x, threadIdx.x);
  R total = output < a.tiles.outputs ? fold_partials(add, a.tiles, a.partials, output) : R(0);
  total = fold_team(add, a.tiles, total);
  if (output >= a.tiles.outputs || a.tiles.lane(threadIdx.x) != 0) return;
  const ColumnSum<T>& sum = output < a.cols ? a.first : a.second;
  if (!sum.out) return;
  T& out = sum.out[output % a.cols];
  out = from_register<T>(sum.accumulate ? static_cast<R>(load_as_register(out) + total) : total);
}

/// The second launch.
template <class T>
void launch_column_sums(Context& context, int64_t cols, int64_t sets, const compute_t<T>* partials,
                        const ColumnSum<T>* sums) {
  if (streams_are_checked()) [[unlikely]] {
    StreamUses uses({"reduce (column sums)", nullptr, Shape{cols, sets}});
    for (const ColumnSum<T>* sum : {sums, sums + 1}) uses.write(sum->out, cols * int64_t{sizeof(T)});
    context.check_order(uses);
  }
  ++locus::detail::launches.reduce;
  LaunchTrace trace(context);
  if (locus::detail::launches_are_observed()) [[unlikely]]
    trace.begin({"reduce (column sums)", nullptr, Shape{2 * cols, sets},
                 2 * cols * (sets * int64_t{sizeof(compute_t<T>)} + int64_t{sizeof(T)})});
  const ReduceTiles tiles(2 * cols, sets, true, 1);
  const ColumnSumArguments<T> arguments{partials, sums[0], sums[1], static_cast<uint32_t>(cols), tiles};
  fold_column_sums<<<tiles.blocks(), ReduceTiles::threads, 0, context.stream()>>>(arguments);
  context.launched("reduce (column sums)", std::array<std::int64_t, 2>{2 * cols, sets});
  trace.end(tiles.blocks(), ReduceTiles::threads);
}

/// The GPU's resources for rows with sums.
template <class F, class R>
[[nodiscard]] RowDevice summing_device(const Context& context, int64_t cols) {
  RowDevice device{context.multiprocessors(), context.shared_memory(), 1, context.cache()};
  if (context.has_clusters() && cols > int64_t{row_items} * RowPlan::team_threads)
    device.largest_cluster = largest_cluster(context, &rows_with_sums<F, R>, 0);
  return device;
}
}  // namespace detail

/// Two launches; false, without effect, if separate passes cost less.
template <class F, class T>
[[nodiscard]] bool for_each_row(Context& context, int64_t rows, int64_t cols, const F& f, const ColumnSum<T>* sums) {
  static_assert(std::is_trivially_copyable_v<F>, "for_each_row: the functor is copied to the GPU");
  using R = compute_t<T>;
  if (!sums[0].out && !sums[1].out) return false;
  const RowPlan plan = plan_row_sums(rows, cols, static_cast<int>(sizeof(T)), static_cast<int>(sizeof(R)),
                                     detail::summing_device<F, R>(context, cols), detail::row_traffic<F>());
  if (plan.blocks == 0) return false;
  if (streams_are_checked()) [[unlikely]]
    context.check_order_of(locus::detail::describe_rows(locus::detail::type_text<F>(), rows, cols, 0), f);
  ++locus::detail::launches.rows;
  const auto sets = int64_t{plan.blocks} / plan.cluster;
  const Scratch partials(context, static_cast<std::size_t>(sets * 2 * cols) * sizeof(R));
  {
    LaunchTrace trace(context);
    if (locus::detail::launches_are_observed()) [[unlikely]]
      trace.begin(locus::detail::describe_rows(locus::detail::type_text<F>(), rows, cols,
                                               locus::detail::row_element_bytes<F>()));
    cudaLaunchAttribute cluster{};
    const cudaLaunchConfig_t launch = detail::row_launch(context, plan, cluster);
    (void)cudaLaunchKernelEx(&launch, &detail::rows_with_sums<F, R>, f, rows, cols, plan, partials.template as<R>());
    context.launched("for_each_row", std::array<std::int64_t, 2>{rows, cols});
    trace.end(plan.blocks, static_cast<unsigned>(plan.threads * plan.teams));
  }
  detail::launch_column_sums(context, cols, sets, partials.template as<R>(), sums);
  return true;
}

}}}  // namespace locus::LOCUS_ABI::cuda
