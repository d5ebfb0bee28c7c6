#pragma once
// Cpu's for_each_row with two sums over the rows: a block of rows, whose size the shape alone decides, has sums of its
// own, which are then added in pairs.

#include <locus/core/std/bounds.hpp>
#include <locus/cpu/memory.hpp>
#include <locus/cpu/reduce/rows.hpp>

LOCUS_LOOPS_BEGIN
namespace locus { inline namespace LOCUS_ABI { namespace cpu {

/// A team that also sums columns over the rows.
template <class R>
class SummingTeam : public StreamingRowTeam {
 public:
  /// `sums`: two sums, each with room for a whole number of vectors
  SummingTeam(const StreamingRowTeam& team, R* sums) : StreamingRowTeam(team), sums_(sums) {}

  /// Columns of a sum, up to whole vectors.
  [[nodiscard]] LOCUS_FN static std::int64_t padded(std::int64_t cols) {
    return (cols + row_lanes - 1) / row_lanes * row_lanes;
  }

  /// Adds map(x[c]..., c), Addends, for every column, and returns the totals of the row.
  template <class Map, class... X>
  [[nodiscard]] LOCUS_LOOP_FN RowTotals<R> add(const Map& map, const Fragment<X>&... x) const {
    RowTotals<R> totals{0, 0};
    for (std::int64_t c = 0; c < cols(); c += total_block) {  // blocks bound rounding errors
      const std::int64_t end = locus::detail::smaller(c + total_block, cols());
      const RowTotals<R> part = add_block<Map, X...>(map, c, end, sums_, sums_ + padded(cols()), x...);
      totals = {totals.first + part.first, totals.second + part.second};
    }
    return totals;
  }

 private:
  static constexpr std::int64_t total_block = 1024;
  struct Sum {
    LOCUS_FN R combine(R a, R b) const { return a + b; }
  };

  template <class Map, class... X>
  LOCUS_LOOP_FN static RowTotals<R> add_block(const Map& map, std::int64_t c, std::int64_t end, R* first, R* second,
                                              Fragment<X>... x) {
    alignas(64) R one[row_lanes] = {}, other[row_lanes] = {};
    for (; c + row_lanes <= end; c += row_lanes) {
      LOCUS_IVDEP
      for (int lane = 0; lane < row_lanes; ++lane) {  // a whole vector
        const Addends<R> value = map(x.values[c + lane]..., c + lane);
        first[c + lane] += value.column[0];
        second[c + lane] += value.column[1];
        one[lane] += value.row[0];
        other[lane] += value.row[1];
      }
    }
    if (c < end) {  // a vector that the row does not fill
      const auto left = static_cast<std::int32_t>(end - c);
      LOCUS_IVDEP
      for (std::int32_t lane = 0; lane < row_lanes; ++lane) {
        Addends<R> value{};
        if (lane < left) value = map(x.values[c + lane]..., c + lane);
        first[c + lane] += value.column[0];
        second[c + lane] += value.column[1];
        one[lane] += value.row[0];
        other[lane] += value.row[1];
      }
    }
    fold_lanes<row_lanes / 2, 1>(Sum{}, one);
    fold_lanes<row_lanes / 2, 1>(Sum{}, other);
    return {one[0], other[0]};
  }

  R* sums_;
};

/// Rows whose sums are kept together.
struct RowBlocks {
  std::int64_t rows, size;

  RowBlocks(std::int64_t all, std::int64_t cols) : rows(all), size(most_elements / (cols > 0 ? cols : 1)) {
    size = size < least ? least : size > most ? most : size;
    if (size * most_blocks < rows) size = (rows + most_blocks - 1) / most_blocks;
  }
  [[nodiscard]] std::int64_t count() const { return (rows + size - 1) / size; }
  [[nodiscard]] std::int64_t end(std::int64_t block) const { return locus::detail::smaller((block + 1) * size, rows); }

 private:
  static constexpr std::int64_t most_elements = std::int64_t{1} << 16, least = 8, most = 64, most_blocks = 64;
};

namespace detail {
/// f(row, team) for rows [first, last), whose sums, of `length` elements, begin at zero.
template <class F, class R>
LOCUS_LOOP_FN void compute_block(const F& functor, std::int64_t first, std::int64_t last,
                                 const StreamingRowTeam& team_of_all, std::int64_t length, R* sums) {
  const F f = functor;
  const StreamingRowTeam begin = team_of_all;
  for (std::int64_t i = 0; i < length; ++i) sums[i] = 0;
  for (std::int64_t row = first; row < last; ++row) {
    SummingTeam<R> team(begin, sums);
    f(row, team);
  }
}

/// Adds `count` rows that are `length` apart, in pairs, to the first.
template <class R>
LOCUS_LOOP_FN void add_in_pairs(std::int64_t count, std::int64_t n, R* rows, std::int64_t length) {
  for (std::int64_t step = 1; step < count; step *= 2) {
    for (std::int64_t row = 0; row + step < count; row += 2 * step) {
      R* const sum = rows + row * length;
      const R* const other = sum + step * length;
      LOCUS_IVDEP
      for (std::int64_t i = 0; i < n; ++i) sum[i] += other[i];
    }
  }
}

template <class T>
void write_sum(const ColumnSum<T>& sum, std::int64_t begin, std::int64_t end, const compute_t<T>* values) {
  for (std::int64_t c = begin; c < end; ++c) {
    const compute_t<T> before = sum.accumulate ? load_as_register(sum.out[c]) : compute_t<T>(0);
    sum.out[c] = from_register<T>(values[c] + before);
  }
}
}  // namespace detail

template <class F, class T>
void for_each_row(std::int64_t rows, std::int64_t cols, const F& f, const ColumnSum<T>* sums) {
  using R = compute_t<T>;
  if (rows == 0 && !sums[0].out && !sums[1].out) return;  // for any number of columns
  const RowBlocks blocks(rows, cols);
  const std::int64_t count = blocks.count() > 0 ? blocks.count() : 1, padded = SummingTeam<R>::padded(cols);
  const std::int64_t length = 2 * padded;
  const PoolMemory memory(static_cast<std::size_t>(count * length) * sizeof(R));
  R* const partial = reinterpret_cast<R*>(memory.data());
  const auto compute = [&](std::int64_t block) {
    const StreamingRowTeam team(row_team(cols, F::fragments, fragment_bytes<F>), rows_stream<F>(rows, cols));
    Versions<&detail::compute_block<F, R>>::call(f, block * blocks.size, blocks.end(block), team, length,
                                                 partial + block * length);
    team.finish();
  };
  constexpr std::int64_t width = 1024;
  const std::int64_t tiles = (cols + width - 1) / width;
  const auto finish = [&](std::int64_t task) {
    const ColumnSum<T>& sum = sums[task / tiles];
    const std::int64_t begin = task % tiles * width, end = locus::detail::smaller(begin + width, cols);
    R* const values = partial + task / tiles * padded;
    if (!sum.out) return;
    Versions<&detail::add_in_pairs<R>>::call(count, end - begin, values + begin, length);
    detail::write_sum(sum, begin, end, values);
  };
  const bool is_shared = parts_for(rows * cols, elements_per_row_part) > 1;
  const auto each = [is_shared](std::int64_t tasks, TaskRef task) {
    if (is_shared) return parallel_for(tasks, task);
    for (std::int64_t i = 0; i < tasks; ++i) task(i);
  };
  each(count, compute);
  each(2 * tiles, finish);
}

}}}  // namespace locus::LOCUS_ABI::cpu
LOCUS_LOOPS_END
