#pragma once
// A warp, a block or a cluster of blocks that shares a row: the RowTeam of device/row_team.hpp on a GPU.

#include <locus/cuda/cluster.cuh>
#include <locus/cuda/row_storage.cuh>
#include <locus/cuda/vectorize.cuh>
#include <locus/cuda/warp.cuh>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// The barrier of a team of several warps that has its block to itself.
struct WholeBlock {
  LOCUS_FN void synchronize() const { synchronize_block(); }
};
/// The barrier of one of a block's teams.
struct TeamOfBlock {
  int barrier, threads;
  LOCUS_FN void synchronize() const { synchronize_threads(barrier, threads); }
};

namespace detail {
template <class X>
inline constexpr bool is_row_input = false;
template <class T>
inline constexpr bool is_row_input<RowInput<T>> = true;

/// Four neighbouring elements of a row of memory.
template <class T>
struct InputRun {
  static constexpr int width = row_vector<T> < RowRuns::run ? row_vector<T> : RowRuns::run;
  InputVector<const T*, width> vectors[RowRuns::run / width];
  [[nodiscard]] LOCUS_FN compute_t<T> operator()(int j) const { return vectors[j / width][j % width]; }
};
}  // namespace detail

/// The threads that share a row, and their part of it. The first row that is loaded decides which columns a thread
/// has: vectors of neighbours where the row is aligned for them.
template <class Storage, class Barrier = WholeBlock>
class RowTeam {
 public:
  static constexpr int items = Storage::items;
  static constexpr bool stores_inputs = true;

  /// `rank`: number of the block in its cluster
  LOCUS_FN RowTeam(int64_t cols, const RowPlan& plan, const RowMemory& memory, int thread, int rank,
                   const Barrier& barrier = {})
      : storage_(plan, memory, thread),
        cols_(cols),
        columns_{rank * plan.threads + thread, plan.cluster * plan.threads},
        threads_(plan.threads),
        cluster_(plan.cluster),
        partials_(memory.partials),
        barrier_(barrier) {}

  LOCUS_FN void next_row() {
    storage_.clear();
    arranged_ = false;
  }

  [[nodiscard]] LOCUS_FN int64_t cols() const { return cols_; }
  /// Whether rows are kept in the workspace.
  [[nodiscard]] LOCUS_FN bool leaves_chip() const
    requires(Storage::has_workspace)
  {
    return storage_.uses_workspace();
  }

  template <class T>
  [[nodiscard]] LOCUS_FN auto load(const RowInput<T>& row) {
    auto fragment = storage_.template make<compute_t<T>>();
    if (!arranged_) arrange(row);
    arranged_ = true;
    const bool vectors = accesses_vectors(row.data, row.stride);
    for_each_tile([&](const RowTile& tile) {
      compute_t<T> values[items];
      read(row, vectors, tile, values);
      for_each_item([&](int k) { storage_.at(fragment, tile, k) = values[k]; });
    });
    return fragment;
  }

  template <class Op, class Map, class... X>
  [[nodiscard]] LOCUS_FN typename Op::Accumulator reduce(const Op& op, const Map& map, const X&... x) {
    typename Op::Accumulator total = op.identity();
    for_each_column(
        [&](const RowTile& tile, int k, int64_t c) { total = op.combine(total, map(storage_.at(x, tile, k)..., c)); });
    return fold(op, total);
  }

  template <class F, class X, class... Others>
  LOCUS_FN void update(const F& f, X& first, const Others&... others) const {
    for_each_column([&](const RowTile& tile, int k, int64_t c) {
      storage_.at(first, tile, k) = f(storage_.at(first, tile, k), storage_.at(others, tile, k)..., c);
    });
  }

  template <class Op, class F, class X, class T>
  [[nodiscard]] LOCUS_FN typename Op::Accumulator update_and_reduce(const Op& op, const F& f, X& x,
                                                                    const RowOutput<T>&) {
    typename Op::Accumulator total = op.identity();
    for_each_column([&](const RowTile& tile, int k, int64_t c) {
      auto& value = storage_.at(x, tile, k);
      value = f(value, c);
      total = op.combine(total, value);
    });
    return fold(op, total);
  }

  template <class T, class F, class... X>
  LOCUS_FN void store(const RowOutput<T>& row, const F& f, const X&... x) const {
    using R = compute_t<T>;
    const bool vectors = accesses_vectors(row.data, row.stride);
    for_each_tile([&](const RowTile& tile) {
      R values[items];
      if (row.accumulate) read(RowInput<T>{row.data, row.stride}, vectors, tile, values);
      const auto set = [&](int k, const auto&... operands) {
        const R value = static_cast<R>(f(operands..., tile.begin + columns_(k)));
        values[k] = row.accumulate ? static_cast<R>(values[k] + value) : value;
      };
      for_each_element(tile, set, x...);
      write(row, vectors, tile, values);
    });
  }

  /// Prefetches a dense row, one element of each line: of an unaligned row all lines but the last.
  template <class T>
  LOCUS_FN void prefetch(const RowInput<T>& row) const {
    constexpr int line = cache_line / static_cast<int>(sizeof(T));
    if (!row.data || row.stride != 1) return;
    for (int64_t c = int64_t{columns_.lane} * line; c < cols_; c += int64_t{columns_.lanes} * line)
      prefetch_line(row.data + c);
  }
  template <class T>
  LOCUS_FN void write(T* target, compute_t<T> value) const {
    if (columns_.lane == 0) *target = from_register<T>(value);
  }

 protected:
  template <class Visit>
  LOCUS_FN void for_each_column(const Visit& visit) const {
    for_each_tile(
        [&](const RowTile& tile) { for_each_item_of(tile, [&](int k) { visit(tile, k, tile.begin + columns_(k)); }); });
  }
  /// Calls visit(k, x[k]...) for the items that have a column. Each of x is a fragment or a RowInput.
  template <class Visit, class... X>
  LOCUS_FN void for_each_element(const RowTile& tile, const Visit& visit, const X&... x) const {
    const auto visit_item = [&](int k) { visit(k, element(x, tile, k)...); };
    if constexpr (items < RowRuns::run || !(detail::is_row_input<X> || ...)) {
      for_each_item_of(tile, visit_item);
    } else {
      const bool reads_runs = (has_runs(x) && ...);
#if LOCUS_ON_DEVICE
#pragma unroll
#endif
      for (int k = 0; k < items; k += RowRuns::run) {
        const auto visit_run = [&](const auto&... run) {
          for (int j = 0; j < RowRuns::run; ++j) visit(k + j, run(j)...);
        };
        if (reads_runs && has_run(tile, k)) {
          visit_run(run_of(x, tile, k)...);
        } else {
          for (int j = k; j < k + RowRuns::run; ++j)
            if (tile.has(columns_(j))) visit_item(j);
        }
      }
    }
  }
  /// Folds the threads' values; all threads get the same bits.
  template <class Op, class A>
  [[nodiscard]] LOCUS_FN A fold(const Op& op, A total) {
    static_assert(sizeof(A) <= RowPlan::max_accumulator && alignof(A) <= 16,
                  "for_each_row: an accumulator has at most 32 bytes");
    const int lane = columns_.lane % warp_size;
    total = warp_reduce(op, total, lane);
    const int warps = items == 1 ? 1 : threads_ / warp_size * cluster_;
    if (warps == 1) return total;
    unsigned char* const set = partials_ + turn_ * warps * RowPlan::max_accumulator;
    turn_ ^= 1;
    unsigned char* const own = set + columns_.lane / warp_size * RowPlan::max_accumulator;
    const auto aligned = [](unsigned char* partial) { return __builtin_assume_aligned(partial, 16); };
    if (cluster_ == 1) {
      if (lane == 0) memcpy(aligned(own), &total, sizeof(A));
      barrier_.synchronize();
    } else {
      if (lane < cluster_) memcpy(aligned(in_block_of_cluster(own, lane)), &total, sizeof(A));
      synchronize_cluster();
    }
    A all = op.identity();
#if LOCUS_ON_DEVICE
#pragma unroll 1
#endif
    for (int warp = lane; warp < warps; warp += warp_size) {
      A other = total;
      memcpy(&other, aligned(set + warp * RowPlan::max_accumulator), sizeof(A));
      all = op.combine(all, other);
    }
    return warp_reduce(op, all, lane);
  }

  Storage storage_;

 private:
  static constexpr bool is_long = std::is_same_v<row_columns_t<items>, RowRuns>;

  /// Elements of T in one access.
  template <class T>
  static constexpr int width = items < row_vector<T>                     ? 1
                               : is_long && row_vector<T> > RowRuns::run ? RowRuns::run
                                                                         : row_vector<T>;

  template <class Visit>
  LOCUS_FN static void for_each_item(const Visit& visit) {
#if LOCUS_ON_DEVICE
#pragma unroll
#endif
    for (int k = 0; k < items; ++k) visit(k);
  }
  template <class Visit>
  LOCUS_FN void for_each_tile(const Visit& visit) const {
    storage_.for_each_tile(cols_, columns_.lanes, shift(), visit);
  }
  /// Visits items that have a column. A run that all threads have is not checked: all but the first and the last run of
  /// a long row.
  template <class Visit>
  LOCUS_FN void for_each_item_of(const RowTile& tile, const Visit& visit) const {
    if constexpr (is_long) {
#if LOCUS_ON_DEVICE
#pragma unroll
#endif
      for (int k = 0; k < items; k += RowRuns::run) {
        if (all_have_run(tile, k)) {
          for (int j = k; j < k + RowRuns::run; ++j) visit(j);
        } else {
          for (int j = k; j < k + RowRuns::run; ++j)
            if (tile.has(columns_(j))) visit(j);
        }
      }
    } else {
      for_each_item([&](int k) {
        if (columns_(k) < tile.columns) visit(k);
      });
    }
  }
  /// Whether the run that item k begins lies within the tile for all threads.
  [[nodiscard]] LOCUS_FN bool all_have_run(const RowTile& tile, int k) const {
    return (k > 0 || tile.first == 0) && (k + RowRuns::run) * columns_.lanes <= tile.columns;
  }
  /// Whether the run that item k begins is one of neighbours within the tile.
  [[nodiscard]] LOCUS_FN bool has_run(const RowTile& tile, int k) const {
    if constexpr (is_long) return all_have_run(tile, k);
    else return columns_.run() >= RowRuns::run && columns_(k) + RowRuns::run <= tile.columns;
  }
  template <class Fragment> [[nodiscard]] LOCUS_FN static bool has_runs(const Fragment&) { return true; }
  /// Whether runs of a row of memory are aligned.
  template <class T>
  [[nodiscard]] LOCUS_FN bool has_runs(const RowInput<T>& row) const {
    constexpr int vector = detail::InputRun<T>::width;
    return !row.data || (row.stride == 1 && reinterpret_cast<std::uintptr_t>(row.data) % (sizeof(T) * vector) ==
                                                sizeof(T) * static_cast<unsigned>(shift() % vector));
  }
  template <class Fragment>
  [[nodiscard]] LOCUS_FN const auto& element(const Fragment& fragment, const RowTile& tile, int k) const {
    return storage_.at(fragment, tile, k);
  }
  template <class T>
  [[nodiscard]] LOCUS_FN compute_t<T> element(const RowInput<T>& row, const RowTile& tile, int k) const {
    return row.data ? load_as_register(row.data[(tile.begin + columns_(k)) * row.stride]) : compute_t<T>(0);
  }
  /// A function of j for element k + j.
  template <class Fragment>
  [[nodiscard]] LOCUS_FN auto run_of(const Fragment& fragment, const RowTile& tile, int k) const {
    return [this, &fragment, &tile, k](int j) { return storage_.at(fragment, tile, k + j); };
  }
  template <class T>
  [[nodiscard]] LOCUS_FN detail::InputRun<T> run_of(const RowInput<T>& row, const RowTile& tile, int k) const {
    constexpr int vector = detail::InputRun<T>::width;
    detail::InputRun<T> run;
    for (int j = 0; j < RowRuns::run; j += vector)
      run.vectors[j / vector].load(row.data, tile.begin + columns_(k) + j, 0);
    return run;
  }
  [[nodiscard]] LOCUS_FN int shift() const { return Storage::shifts ? shift_ : 0; }

  /// Chooses the thread's columns.
  template <class T>
  LOCUS_FN void arrange(const RowInput<T>& row) {
    if constexpr (Storage::shifts) {
      const auto place = static_cast<int>(reinterpret_cast<std::uintptr_t>(row.data) / sizeof(T) % width<T>);
      const bool fits = cols_ + place <= storage_.tiles() * items * columns_.lanes;
      shift_ = row.stride == 1 && fits ? place : 0;
    } else if constexpr (!is_long) {
      columns_.arrange(are_vectors(row.data, row.stride) ? (row_vector<T> > 4 ? 8 : 4) : 1);
    }
  }
  template <class T>
  [[nodiscard]] LOCUS_FN bool are_vectors(const T* data, int64_t stride) const {
    return width<T> > 1 && data && stride == 1 &&
           reinterpret_cast<std::uintptr_t>(data) % (sizeof(T) * width<T>) ==
               sizeof(T) * static_cast<unsigned>(shift());
  }
  template <class T>
  [[nodiscard]] LOCUS_FN bool accesses_vectors(const T* data, int64_t stride) const {
    if constexpr (is_long) return are_vectors(data, stride);
    else return columns_.run() >= width<T> && are_vectors(data, stride);
  }
  /// Visits the items of a tile that lie in no whole vector: they are accessed one by one.
  template <class T, class Visit>
  LOCUS_FN void for_each_single(const RowTile& tile, bool vectors, const Visit& visit) const {
    const int whole = whole_vectors<T>(tile, vectors), begin = tile.first > 0 && vectors ? width<T> : 0;
    if (whole == tile.columns && begin == 0) return;
    if constexpr (is_long) {
#if LOCUS_ON_DEVICE
#pragma unroll
#endif
      for (int k = 0; k < items; k += RowRuns::run) {
        if (vectors && all_have_run(tile, k)) continue;
        for (int j = k; j < k + RowRuns::run; ++j) {
          const int place = columns_(j);
          if (tile.has(place) && (place < begin || place >= whole)) visit(j);
        }
      }
    } else {
      for_each_item([&](int k) {
        if (columns_(k) >= whole && columns_(k) < tile.columns) visit(k);
      });
    }
  }
  /// Calls visit(k) for the first item of each whole vector.
  template <class T, class Visit>
  LOCUS_FN void for_each_vector(const RowTile& tile, bool vectors, const Visit& visit) const {
    constexpr int w = width<T>;
    const int whole = whole_vectors<T>(tile, vectors);
    for_each_item([&](int k) {
      if (k % w != 0) return;
      if constexpr (is_long) {
        if (vectors && all_have_run(tile, k / RowRuns::run * RowRuns::run)) return visit(k);
        if (columns_(k) < tile.first) return;
      }
      if (columns_(k) < whole) visit(k);
    });
  }
  /// End of a tile's whole vectors, as a place. The first of them may be shared with memory before the row.
  template <class T>
  [[nodiscard]] LOCUS_FN static int whole_vectors(const RowTile& tile, bool vectors) {
    return vectors ? tile.columns / width<T> * width<T> : 0;
  }

  /// Reads this thread's elements of a tile; 0 where it has none.
  template <class T>
  LOCUS_FN void read(const RowInput<T>& row, bool vectors, const RowTile& tile, compute_t<T> (&values)[items]) const {
    constexpr int w = width<T>;
    InputVector<const T*, w> vector[items / w] = {};
    const T* const data = row.data ? row.data + tile.begin * row.stride : nullptr;
    for_each_vector<T>(tile, vectors && data, [&](int k) { vector[k / w].load(data, columns_(k), 0); });
    for_each_item([&](int k) { values[k] = vector[k / w][k % w]; });
    if (data)
      for_each_single<T>(tile, vectors, [&](int k) { values[k] = load_as_register(data[columns_(k) * row.stride]); });
  }

  template <class T>
  LOCUS_FN void write(const RowOutput<T>& row, bool vectors, const RowTile& tile,
                      const compute_t<T> (&values)[items]) const {
    constexpr int w = width<T>;
    T* const data = row.data + tile.begin * row.stride;
    for_each_vector<T>(tile, vectors, [&](int k) {
      OutputVector<T, w> vector;
      for (int j = 0; j < w; ++j) vector.set(j, values[k + j]);
      vector.store(data, columns_(k));
    });
    for_each_single<T>(tile, vectors, [&](int k) { data[columns_(k) * row.stride] = from_register<T>(values[k]); });
  }

  int64_t cols_;
  row_columns_t<items> columns_;
  int shift_ = 0;  ///< places of the first vector before the row
  int threads_, cluster_;
  unsigned char* partials_;
  Barrier barrier_;
  int turn_ = 0;
  bool arranged_ = false;
};

}}}  // namespace locus::LOCUS_ABI::cuda
