#pragma once
// The reference device with one deliberate fault at a time, which the comparisons of verbs must find.

#include <support/reference_capabilities.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace locus_test {

/// Faults of a device.
enum class Fault {
  none,
  map_leaves_out_the_last,
  map_repeats_an_element,
  map_counts_from_one,
  map_takes_null_for_ones,
  rows_leave_out_the_last,
  rows_are_short,
  team_ignores_strides,
  team_folds_an_element_twice,
  team_folds_before_the_update,
  team_overwrites,
  column_sums_leave_out_a_row,
  column_sums_are_swapped,
  column_sums_overwrite,
  reduce_leaves_out_a_result,
  reduce_leaves_out_the_last,
  reduce_repeats_an_element,
  reduce_overwrites,
  reduce_of_bool_overwrites,
  gemm_leaves_out_the_last,
  gemm_repeats_a_factor,
  gemm_forgets_the_bias,
  gemm_overwrites,
  gemm_tells_no_row,
  memory_overlaps,
  copies_are_short,
  memory_is_not_counted_back,
  running_sums_are_never_in_reverse,
  running_sums_restart,
  order_is_unstable,
  order_sorts_too_few,
  select_counts_from_one,
  count_leaves_out_the_last
};
inline Fault fault = Fault::none;
[[nodiscard]] inline bool has(Fault one) { return fault == one; }

/// The reference device with the fault `fault`.
struct FaultyDevice {
  friend constexpr bool operator==(FaultyDevice, FaultyDevice) = default;
};
[[nodiscard]] inline std::string to_string(FaultyDevice) { return "faulty"; }

template <class Team>
class FaultyTeam : public Team {
 public:
  explicit FaultyTeam(const Team& team) : Team(team) {}
  template <class T>
  [[nodiscard]] auto load(locus::RowInput<T> row) const {
    if (has(Fault::team_ignores_strides)) row.stride = 1;
    return Team::load(row);
  }
  template <class Op, class Map, class... R>
  [[nodiscard]] typename Op::Accumulator reduce(const Op& op, const Map& map, const ReferenceFragment<R>&... x) const {
    const auto total = Team::reduce(op, map, x...);
    const bool is_right = !has(Fault::team_folds_an_element_twice) || Team::cols() == 0;
    return is_right ? total : op.combine(total, map(x[0]..., 0));
  }
  template <class Op, class F, class R, class T>
  [[nodiscard]] typename Op::Accumulator update_and_reduce(const Op& op, const F& f, ReferenceFragment<R>& x,
                                                           const locus::RowOutput<T>& out) const {
    const ReferenceFragment<R> before = x;
    const auto total = Team::update_and_reduce(op, f, x, out);
    if (!has(Fault::team_folds_before_the_update)) return total;
    return reduce(
        op, [](R value, std::int64_t) { return value; }, before);
  }
  template <class T, class F, class... R>
  void store(locus::RowOutput<T> row, const F& f, const ReferenceFragment<R>&... x) const {
    row.accumulate &= !has(Fault::team_overwrites);
    Team::store(row, f, x...);
  }
};
template <class F>
struct FaultyRows {
  static constexpr int fragments = F::fragments;
  F f;
  template <class Team>
  void operator()(std::int64_t row, const Team& right) const {
    FaultyTeam<Team> team(right);
    f(row, team);
  }
};

template <class E>
struct FaultyEpilogue {
  E right;
  [[nodiscard]] bool accumulates() const { return right.accumulates() && !has(Fault::gemm_overwrites); }
  template <class R>
  [[nodiscard]] R operator()(R product, R previous, std::int64_t row, std::int64_t col) const {
    E epilogue = right;
    if constexpr (requires { epilogue.bias; })
      if (has(Fault::gemm_forgets_the_bias)) epilogue.bias = nullptr;
    return epilogue(product, previous, has(Fault::gemm_tells_no_row) ? 0 : row, col);
  }
};

}  // namespace locus_test

namespace locus { inline namespace LOCUS_ABI {

template <>
struct Backend<locus_test::FaultyDevice> {
  using Self = locus_test::FaultyDevice;
  using Right = Backend<locus_test::ReferenceDevice>;
  using Fault = locus_test::Fault;

  /// For overlapping blocks: from an arena, each block starting in the middle of the previous one.
  [[nodiscard]] static void* allocate(Self, std::size_t bytes) {
    if (!has(Fault::memory_overlaps)) return Right::allocate({}, bytes);
    used += bytes / 128 * 64;
    return arena.data() + (64 - reinterpret_cast<std::uintptr_t>(arena.data()) % 64) + used;
  }
  static void deallocate(Self, void* data, std::size_t bytes) noexcept {
    if (has(Fault::memory_overlaps)) return;
    Right::deallocate({}, data, bytes);
    if (has(Fault::memory_is_not_counted_back)) locus_test::reference_bytes += static_cast<std::int64_t>(bytes);
  }
  [[nodiscard]] static MemoryStats memory_stats(Self) { return Right::memory_stats({}); }
  static void synchronize(Self) {}

  template <class F, class... I, class... O>
  static void map(Self, Plan<static_cast<int>(sizeof...(I) + sizeof...(O))> plan, const F& f, Pack<I...> inputs,
                  const Pack<O*...>& outputs) {
    plan.elements -= has(Fault::map_leaves_out_the_last) && plan.elements > 0;
    plan.first_index += has(Fault::map_counts_from_one);
    if (has(Fault::map_repeats_an_element) && sizeof...(I) > 0) plan.stride[0][plan.rank - 1] = 0;
    if (has(Fault::map_takes_null_for_ones))
      [&]<int... i>(std::integer_sequence<int, i...>) {
        (make_ones(get<i>(inputs), plan.stride[i]), ...);
      }(std::make_integer_sequence<int, sizeof...(I)>{});
    Right::map({}, plan, f, inputs, outputs);
  }
  template <RowFunctor F>
  static void for_each_row(Self, std::int64_t rows, std::int64_t cols, const F& f) {
    rows -= has(Fault::rows_leave_out_the_last) && rows > 0;
    cols -= has(Fault::rows_are_short) && cols > 0;
    Right::for_each_row({}, rows, cols, locus_test::FaultyRows<F>{f});
  }
  template <RowFunctor F, class T>
  static std::true_type for_each_row(Self, std::int64_t rows, std::int64_t cols, const F& f,
                                     const ColumnSum<T>* right) {
    ColumnSum<T> sums[] = {right[0], right[1]};
    if (has(Fault::column_sums_are_swapped)) std::swap(sums[0], sums[1]);
    for (auto& sum : sums) sum.accumulate &= !has(Fault::column_sums_overwrite);
    rows -= has(Fault::column_sums_leave_out_a_row) && rows > 0;
    return Right::for_each_row({}, rows, cols, f, sums);
  }
  template <class F, class Op, class... I, class T>
  static void reduce(Self, ReducePlan<static_cast<int>(sizeof...(I))> plan, const F& f, const Op& op,
                     const Pack<I...>& inputs, const T* previous, T* out) {
    plan.kept.elements -= has(Fault::reduce_leaves_out_a_result) && plan.kept.elements > 0;
    plan.reduced.elements -= has(Fault::reduce_leaves_out_the_last) && plan.reduced.elements > 0;
    if (has(Fault::reduce_repeats_an_element)) plan.reduced.stride[0][plan.reduced.rank - 1] = 0;
    const bool overwrites =
        has(Fault::reduce_overwrites) || (std::is_same_v<T, bool> && has(Fault::reduce_of_bool_overwrites));
    Right::reduce({}, plan, f, op, inputs, overwrites ? nullptr : previous, out);
  }
  template <class T, class E>
  static void gemm(Self, GemmBatch batch, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
                   const E& epilogue) {
    if (has(Fault::gemm_repeats_a_factor)) batch.b_stride = 0;
    a.cols -= has(Fault::gemm_leaves_out_the_last) && a.cols > 0;
    b.rows = a.cols;
    Right::gemm({}, batch, a, b, c, locus_test::FaultyEpilogue<E>{epilogue});
  }

  static inline std::vector<unsigned char> arena{};
  static inline std::size_t used = 0;

 private:
  template <class T>
  static void make_ones(const T*& input, std::int64_t (&stride)[max_rank]) {
    static const T one = from_register<T>(compute_t<T>(1));
    if (input) return;
    input = &one;
    std::fill_n(stride, max_rank, 0);
  }
  static void make_ones(LinearIndex, const std::int64_t*) {}
};

template <>
struct Transfer<Cpu, locus_test::FaultyDevice> {
  using Fault = locus_test::Fault;
  static void copy(Cpu, const void* source, locus_test::FaultyDevice, void* target, std::size_t bytes) {
    detail::ReferenceCopy::run(source, target, bytes - (has(Fault::copies_are_short) && bytes > 0));
  }
};
template <>
struct Transfer<locus_test::FaultyDevice, Cpu> {
  static void copy(locus_test::FaultyDevice, const void* source, Cpu, void* target, std::size_t bytes) {
    detail::ReferenceCopy::run(source, target, bytes);
  }
};
template <>
struct Transfer<locus_test::FaultyDevice, locus_test::FaultyDevice> {
  static void copy(locus_test::FaultyDevice, const void* source, locus_test::FaultyDevice, void* target,
                   std::size_t bytes) {
    detail::ReferenceCopy::run(source, target, bytes);
  }
};

template <>
struct RunningSums<locus_test::FaultyDevice> {
  using Fault = locus_test::Fault;
  template <class T>
  static void add(locus_test::FaultyDevice, const T* in, T* out, std::int64_t outer, std::int64_t cols,
                  std::int64_t inner, bool reverse) {
    const bool restarts = has(Fault::running_sums_restart) && cols % 2 == 0;
    RunningSums<locus_test::ReferenceDevice>::add({}, in, out, restarts ? 2 * outer : outer, restarts ? cols / 2 : cols,
                                                  inner, reverse && !has(Fault::running_sums_are_never_in_reverse));
  }
};
template <>
struct Sorting<locus_test::FaultyDevice> {
  using Fault = locus_test::Fault;
  template <class Key>
  static void order(locus_test::FaultyDevice, Key* keys, std::uint32_t* positions, std::int64_t rows, std::int64_t cols,
                    int bits, std::int64_t first) {
    if (has(Fault::order_is_unstable))
      for (std::int64_t row = 0; row < rows; ++row) {
        std::reverse(keys + row * cols, keys + (row + 1) * cols);
        std::reverse(positions + row * cols, positions + (row + 1) * cols);
      }
    first -= has(Fault::order_sorts_too_few);
    Sorting<locus_test::ReferenceDevice>::order({}, keys, positions, rows, cols, bits, first);
  }
  template <class Flag>
  static void select(locus_test::FaultyDevice, const Flag* flags, std::int64_t n, std::int64_t* positions) {
    Sorting<locus_test::ReferenceDevice>::select({}, flags, n, positions);
    if (has(Fault::select_counts_from_one))
      for (std::int64_t i = 0; i < n; ++i)
        if (flags[i]) ++*positions++;
  }
};
template <>
struct Histogram<locus_test::FaultyDevice> {
  using Fault = locus_test::Fault;
  template <class Bin>
  static void count(locus_test::FaultyDevice, const Bin* bins, std::int64_t n, std::int64_t* counts,
                    std::int64_t bin_count) {
    Histogram<locus_test::ReferenceDevice>::count({}, bins, n - (has(Fault::count_leaves_out_the_last) && n > 0),
                                                  counts, bin_count);
  }
};

static_assert(Device<locus_test::FaultyDevice>);

}}  // namespace locus::LOCUS_ABI
