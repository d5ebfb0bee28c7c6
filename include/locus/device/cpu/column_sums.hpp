#pragma once
// Cpu's for_each_row with sums over the rows: a block of rows, whose size the shape alone decides, has sums of its own,
// which are then added in pairs.

#include <locus/core/bounds.hpp>
#include <locus/device/cpu/memory.hpp>
#include <locus/device/cpu/rows.hpp>

LOCUS_LOOPS_BEGIN
namespace locus::inline LOCUS_ABI::cpu {

/// A team that also sums what its rows hold of each column.
template <class R>
class SummingTeam : public RowTeam {
 public:
  SummingTeam(const RowTeam& team, R* sums) : RowTeam(team), sums_(sums) {}

  /// sum[c] += f(x[c]..., c), `sum` being the number of one of the sums
  template <class F, class... X>
  LOCUS_FN void add(int sum, const F& f, const Fragment<X>&... x) const {
    add_values<F, X...>(f, cols(), sums_ + sum * cols(), x.values...);
  }

 private:
  template <class F, class... X>
  LOCUS_FN static void add_values(const F& f, std::int64_t n, R* sums, const X*... x) {
    LOCUS_IVDEP
    for (std::int64_t c = 0; c < n; ++c) sums[c] += f(x[c]..., c);
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
/// f(row, team) for rows [first, last), whose sums begin at zero.
template <class F, class R>
LOCUS_FN void compute_block(const F& functor, std::int64_t first, std::int64_t last, const RowTeam& begin, R* sums) {
  const F f = functor;
  for (std::int64_t i = 0; i < F::sums * begin.cols(); ++i) sums[i] = 0;
  for (std::int64_t row = first; row < last; ++row) {
    SummingTeam<R> team(begin, sums);
    f(row, team);
  }
}

template <class R>
LOCUS_FN void add_sums(std::int64_t n, R* sums, const R* others) {
  LOCUS_IVDEP
  for (std::int64_t i = 0; i < n; ++i) sums[i] += others[i];
}

template <class T>
void write_sum(const ColumnSum<T>& sum, std::int64_t cols, const compute_t<T>* values) {
  if (!sum.out) return;
  for (std::int64_t c = 0; c < cols; ++c) {
    const compute_t<T> before = sum.accumulate ? load_as_register(sum.out[c]) : compute_t<T>(0);
    sum.out[c] = from_register<T>(values[c] + before);
  }
}
}  // namespace detail

template <class F, class T>
void for_each_row(std::int64_t rows, std::int64_t cols, const F& f, const ColumnSum<T>* sums) {
  using R = compute_t<T>;
  const RowBlocks blocks(rows, cols);
  const std::int64_t count = blocks.count() > 0 ? blocks.count() : 1, length = F::sums * cols;
  const PoolMemory memory(static_cast<std::size_t>(count * length) * sizeof(R));
  R* const partial = reinterpret_cast<R*>(memory.data());
  const std::size_t fragment_bytes = bytes_of_fragment(cols);
  const auto compute = [&](std::int64_t block) {
    const RowTeam team(cols, row_scratch(fragment_bytes, F::fragments), fragment_bytes);
    Versions<&detail::compute_block<F, R>>::call(f, block * blocks.size, blocks.end(block), team,
                                                 partial + block * length);
  };
  if (parts_for(rows * cols, elements_per_row_part) > 1) parallel_for(count, compute);
  else
    for (std::int64_t block = 0; block < count; ++block) compute(block);
  for (std::int64_t step = 1; step < count; step *= 2)
    for (std::int64_t block = 0; block + step < count; block += 2 * step)
      Versions<&detail::add_sums<R>>::call(length, partial + block * length, partial + (block + step) * length);
  for (int sum = 0; sum < F::sums; ++sum) detail::write_sum(sums[sum], cols, partial + sum * cols);
}

}  // namespace locus::inline LOCUS_ABI::cpu
LOCUS_LOOPS_END
