#pragma once
// Cuda's for_each_row: a warp per row with its fragments in registers, or a block per row with them in shared memory
// and, where that is full, in a workspace. The teams have the members of cpu::RowTeam.

#include <locus/cuda/trace.hpp>
#include <locus/cuda/warp.cuh>
#include <locus/device/launch_log.hpp>

namespace locus::inline LOCUS_ABI::cuda {

/// A row in the registers of a warp: item k of a lane is column row_column(lane, 32, k).
template <class R, int items>
struct WarpFragment {
  R values[items];
};

/// A warp and its row of at most 32 * items columns.
template <int items>
class WarpRowTeam {
 public:
  LOCUS_FN WarpRowTeam(int64_t cols, int lane) : cols_(static_cast<int>(cols)), lane_(lane) {}

  [[nodiscard]] LOCUS_FN int64_t cols() const { return cols_; }

  template <class T>
  [[nodiscard]] LOCUS_FN WarpFragment<compute_t<T>, items> load(const RowInput<T>& row) const {
    WarpFragment<compute_t<T>, items> fragment;
    for_each_item([&](int k, int64_t) { fragment.values[k] = compute_t<T>(0); },
                  [&](int k, int64_t c) {
                    fragment.values[k] = row.data ? load_as_register(row.data[c * row.stride]) : compute_t<T>(0);
                  });
    return fragment;
  }

  template <class Op, class Map, class... R>
  [[nodiscard]] LOCUS_FN typename Op::Accumulator reduce(const Op& op, const Map& map,
                                                         const WarpFragment<R, items>&... x) const {
    typename Op::Accumulator total = op.identity();
    for_each_item([](int, int64_t) {}, [&](int k, int64_t c) { total = op.combine(total, map(x.values[k]..., c)); });
    return warp_reduce(op, total, lane_);
  }

  template <class F, class R, class... Others>
  LOCUS_FN void update(const F& f, WarpFragment<R, items>& first, const WarpFragment<Others, items>&... others) const {
    for_each_item([](int, int64_t) {},
                  [&](int k, int64_t c) { first.values[k] = f(first.values[k], others.values[k]..., c); });
  }

  template <class T, class F, class... R>
  LOCUS_FN void store(const RowOutput<T>& row, const F& f, const WarpFragment<R, items>&... x) const {
    for_each_item([](int, int64_t) {},
                  [&](int k, int64_t c) {
                    T& target = row.data[c * row.stride];
                    const compute_t<T> value = static_cast<compute_t<T>>(f(x.values[k]..., c));
                    target = from_register<T>(row.accumulate ? load_as_register(target) + value : value);
                  });
  }

  template <class T>
  LOCUS_FN void write(T* target, compute_t<T> value) const {
    if (lane_ == 0) *target = from_register<T>(value);
  }

 private:
  template <class Outside, class Inside>
  LOCUS_FN void for_each_item(const Outside& outside, const Inside& inside) const {
#if LOCUS_ON_DEVICE
#pragma unroll
#endif
    for (int k = 0; k < items; ++k) {
      const int64_t c = row_column(lane_, warp_size, k);
      if (c < cols_) {
        inside(k, c);
      } else {
        outside(k, c);
      }
    }
  }

  int cols_;
  int lane_;
};

/// A row in the memory of a block; a thread touches its own columns only: row_column(thread, threads, k).
template <class R>
struct BlockFragment {
  R* values;
};

/// A block and its row.
class BlockRowTeam {
 public:
  static constexpr int max_threads = 512;
  static constexpr int max_accumulator = 32;  // bytes
  /// Where the warps' partial results meet: two sets in turn, so that one barrier per reduction suffices.
  struct Partials {
    alignas(16) unsigned char bytes[2][max_threads / warp_size][max_accumulator];
  };
  /// On-chip memory for fragments, and a workspace of this block for those that do not fit.
  struct Memory {
    unsigned char* shared;
    std::size_t shared_bytes;
    unsigned char* workspace;
  };

  LOCUS_FN BlockRowTeam(int64_t cols, const Memory& memory, Partials& partials, int thread, int threads)
      : cols_(cols), memory_(memory), partials_(partials), thread_(thread), threads_(threads) {}

  /// Forgets the fragments.
  LOCUS_FN void next_row() { shared_used_ = workspace_used_ = 0; }

  [[nodiscard]] LOCUS_FN int64_t cols() const { return cols_; }

  template <class T>
  [[nodiscard]] LOCUS_FN BlockFragment<compute_t<T>> load(const RowInput<T>& row) {
    using R = compute_t<T>;
    BlockFragment<R> fragment{static_cast<R*>(take(sizeof(R)))};
    constexpr int in_flight = 4;
    for (int64_t c = thread_; c < cols_; c += in_flight * threads_) {
      R values[in_flight];
#if LOCUS_ON_DEVICE
#pragma unroll
#endif
      for (int k = 0; k < in_flight; ++k) {
        const int64_t at = c + row_column(0, threads_, k);
        values[k] = row.data && at < cols_ ? load_as_register(row.data[at * row.stride]) : R(0);
      }
#if LOCUS_ON_DEVICE
#pragma unroll
#endif
      for (int k = 0; k < in_flight; ++k) {
        const int64_t at = c + row_column(0, threads_, k);
        if (at < cols_) fragment.values[at] = values[k];
      }
    }
    return fragment;
  }

  template <class Op, class Map, class... R>
  [[nodiscard]] LOCUS_FN typename Op::Accumulator reduce(const Op& op, const Map& map, const BlockFragment<R>&... x) {
    using A = typename Op::Accumulator;
    static_assert(sizeof(A) <= max_accumulator && alignof(A) <= 16,
                  "for_each_row: an accumulator has at most 32 bytes");
    A total = op.identity();
    for (int64_t c = thread_; c < cols_; c += threads_) total = op.combine(total, map(x.values[c]..., c));
    total = warp_reduce(op, total, thread_ % warp_size);
    auto& set = partials_.bytes[turn_];
    turn_ ^= 1;
    if (thread_ % warp_size == 0) memcpy(set[thread_ / warp_size], &total, sizeof(A));
    synchronize_block();
    memcpy(&total, set[0], sizeof(A));
    for (int warp = 1; warp < threads_ / warp_size; ++warp) {
      A other = total;
      memcpy(&other, set[warp], sizeof(A));
      total = op.combine(total, other);
    }
    return total;
  }

  template <class F, class R, class... Others>
  LOCUS_FN void update(const F& f, BlockFragment<R>& first, const BlockFragment<Others>&... others) const {
    for (int64_t c = thread_; c < cols_; c += threads_) first.values[c] = f(first.values[c], others.values[c]..., c);
  }

  template <class T, class F, class... R>
  LOCUS_FN void store(const RowOutput<T>& row, const F& f, const BlockFragment<R>&... x) const {
    for (int64_t c = thread_; c < cols_; c += threads_) {
      T& target = row.data[c * row.stride];
      const compute_t<T> value = static_cast<compute_t<T>>(f(x.values[c]..., c));
      target = from_register<T>(row.accumulate ? load_as_register(target) + value : value);
    }
  }

  template <class T>
  LOCUS_FN void write(T* target, compute_t<T> value) const {
    if (thread_ == 0) *target = from_register<T>(value);
  }

 private:
  [[nodiscard]] LOCUS_FN void* take(std::size_t bytes_per_column) {
    const std::size_t bytes = (static_cast<std::size_t>(cols_) * bytes_per_column + 15) / 16 * 16;
    if (shared_used_ + bytes <= memory_.shared_bytes) {
      shared_used_ += bytes;
      return memory_.shared + (shared_used_ - bytes);
    }
    workspace_used_ += bytes;
    return memory_.workspace + (workspace_used_ - bytes);
  }

  int64_t cols_;
  Memory memory_;
  Partials& partials_;
  int thread_, threads_;
  std::size_t shared_used_ = 0, workspace_used_ = 0;
  int turn_ = 0;
};

namespace detail {
inline constexpr int warps_per_block = 4;

template <int items, class F>
__global__ void __launch_bounds__(warps_per_block* warp_size)
    rows_by_warp(const __grid_constant__ F f, int64_t rows, int64_t cols) {
  const int warp = static_cast<int>(threadIdx.x) / warp_size, lane = static_cast<int>(threadIdx.x) % warp_size;
  for (int64_t row = int64_t{blockIdx.x} * warps_per_block + warp; row < rows;
       row += int64_t{gridDim.x} * warps_per_block) {
    WarpRowTeam<items> team(cols, lane);
    f(row, team);
  }
}

template <class F>
__global__ void __launch_bounds__(BlockRowTeam::max_threads)
    rows_by_block(const __grid_constant__ F f, int64_t rows, int64_t cols, std::size_t shared_bytes,
                  unsigned char* workspace, std::size_t workspace_bytes) {
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ BlockRowTeam::Partials partials;
  BlockRowTeam team(cols, {shared, shared_bytes, workspace + blockIdx.x * workspace_bytes}, partials,
                    static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    team.next_row();
    f(row, team);
  }
}

/// A grid that was launched.
struct RowLaunch {
  unsigned blocks = 0, threads = 0;
};

template <int items, class F>
RowLaunch launch_rows_by_warp(Context& context, int64_t rows, int64_t cols, const F& f) {
  constexpr int64_t most_blocks = 1 << 20;
  const int64_t wanted = divide_up(rows, warps_per_block);
  const auto blocks = static_cast<unsigned>(wanted < most_blocks ? wanted : most_blocks);
  rows_by_warp<items><<<blocks, warps_per_block * warp_size, 0, context.stream()>>>(f, rows, cols);
  return {blocks, warps_per_block * warp_size};
}

template <class F>
RowLaunch launch_rows_by_block(Context& context, int64_t rows, int64_t cols, const F& f) {
  constexpr std::size_t reserved = 4096;  // static shared memory, and what the system takes
  const std::size_t most_shared = context.shared_memory() > reserved ? context.shared_memory() - reserved : 0;
  const std::size_t padding = 16 * static_cast<std::size_t>(F::fragments);
  const std::size_t needed = 8 * static_cast<std::size_t>(F::fragments) * static_cast<std::size_t>(cols) + padding;
  const bool fits = needed <= most_shared;
  const std::size_t shared_bytes = fits ? needed : most_shared;
  const std::size_t workspace_bytes = fits ? 0 : (needed + 15) / 16 * 16;
  const int64_t most_blocks = fits ? int64_t{1} << 20 : context.multiprocessors();
  const auto blocks = static_cast<unsigned>(rows < most_blocks ? rows : most_blocks);
  const unsigned threads = cols <= 2048 ? 128 : cols <= 8192 ? 256 : BlockRowTeam::max_threads;
  const Scratch workspace(context, blocks * workspace_bytes);
  const auto kernel = &rows_by_block<F>;
  if (shared_bytes + sizeof(BlockRowTeam::Partials) > 48 * 1024) {
    // The attribute is the function's, in all threads: always the same value.
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most_shared)),
          "for_each_row: shared memory");
  }
  kernel<<<blocks, threads, shared_bytes, context.stream()>>>(f, rows, cols, shared_bytes,
                                                              workspace.template as<unsigned char>(), workspace_bytes);
  return {blocks, threads};
}
}  // namespace detail

template <class F>
void for_each_row(Context& context, int64_t rows, int64_t cols, const F& f) {
  static_assert(std::is_trivially_copyable_v<F>,
                "for_each_row: the functor is copied to the GPU, so it must be trivially copyable: values and device "
                "pointers only");
  constexpr int most_items = 8;  // in registers, without spilling
  ++locus::detail::launches.rows;
  LaunchTrace trace(context);
  if (locus::detail::launches_are_observed()) [[unlikely]]
    trace.begin(
        locus::detail::describe_rows(locus::detail::type_text<F>(), rows, cols, locus::detail::row_element_bytes<F>()));
  detail::RowLaunch grid;
  if (cols <= warp_size) {
    grid = detail::launch_rows_by_warp<1>(context, rows, cols, f);
  } else if (cols <= warp_size * most_items) {
    grid = detail::launch_rows_by_warp<most_items>(context, rows, cols, f);
  } else {
    grid = detail::launch_rows_by_block(context, rows, cols, f);
  }
  context.launched("for_each_row", std::array<std::int64_t, 2>{rows, cols});
  trace.end(grid.blocks, grid.threads);
}

}  // namespace locus::inline LOCUS_ABI::cuda
