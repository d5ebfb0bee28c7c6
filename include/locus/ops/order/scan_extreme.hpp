#pragma once
// Positions of running extremes along an axis.

#include <locus/expr/operands.hpp>
#include <locus/ops/rows.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Whether the later of two elements is the extreme of both: the last of equals wins, and NaN over all, as in PyTorch.
template <bool largest, class R>
[[nodiscard]] LOCUS_FN bool takes_later(R earlier, R later) {
  return later != later || (earlier == earlier && (largest ? later >= earlier : later <= earlier));
}

/// The position of the running extreme at each element, by passes as in ScanPass.
template <class T, bool largest>
struct ExtremePass {
  static constexpr int reach = 8;
  const T* x;
  const std::int64_t* in;  ///< null: each element is its own extreme
  std::int64_t cols, inner, step;
  LOCUS_FN void operator()(std::int64_t at, std::int64_t& out) const {
    const std::int64_t outer = inner == 1 ? at : at / inner, position = outer % cols, first = at - position * inner;
    std::int64_t best = in ? in[at] : position;
    for (int k = 1; k < reach && k * step <= position; ++k) {
      const std::int64_t other = in ? in[at - k * step * inner] : position - k * step;
      const auto earlier = load_as_register(x[first + other * inner]),
                 later = load_as_register(x[first + best * inner]);
      if (!takes_later<largest>(earlier, later)) best = other;
    }
    out = best;
  }
};
/// The same sequentially; a row of work is some rows side by side.
template <class T, bool largest>
struct ExtremeOnHost {
  static constexpr int fragments = 0;
  static constexpr std::int64_t side_by_side = 16;
  const T* x;
  std::int64_t* out;
  std::int64_t cols, inner;
  [[nodiscard]] LOCUS_FN std::int64_t rows_per_outer() const { return (inner + side_by_side - 1) / side_by_side; }
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team&) const {
    const std::int64_t outer = row / rows_per_outer(), first = row % rows_per_outer() * side_by_side;
    const std::int64_t width = smaller(inner - first, side_by_side), begin = outer * cols * inner + first;
    std::int64_t best[side_by_side] = {};
    for (std::int64_t c = 0; c < cols; ++c) {
      for (std::int64_t i = 0; i < width; ++i) {
        const T* const column = x + begin + i;
        const auto earlier = load_as_register(column[best[i] * inner]), later = load_as_register(column[c * inner]);
        if (takes_later<largest>(earlier, later)) best[i] = c;
        out[begin + i + c * inner] = best[i];
      }
    }
  }
};

/// The position of the largest (smallest) element up to each element along an axis.
template <bool largest, class T, class D>
[[nodiscard]] Tensor<std::int64_t, D> scan_extreme(const Tensor<T, D>& given, int axis) {
  const RowCount count(given.shape(), axis);
  const Tensor<T, D> x = given.contiguous();
  Tensor<std::int64_t, D> out(x.shape(), x.device());
  if (out.empty()) return out;
  if constexpr (CostModel<D>::follows_indices) {
    const ExtremeOnHost<T, largest> pass{x.data(), out.data(), count.cols, count.inner};
    Backend<D>::for_each_row(x.device(), count.outer * pass.rows_per_outer(),
                             smaller(count.cols * smaller(count.inner, pass.side_by_side), std::int64_t{4096}), pass);
  } else {
    Tensor<std::int64_t, D> from;
    for (std::int64_t step = 1; step < count.cols || step == 1; step *= ExtremePass<T, largest>::reach) {
      const auto plan = make_plan<2>(out.shape(), {operand_of(out), operand_of(out)});
      Backend<D>::map(
          x.device(), plan,
          ExtremePass<T, largest>{x.data(), from.buffer() ? from.data() : nullptr, count.cols, count.inner, step},
          Pack<LinearIndex>(LinearIndex{}), Pack<std::int64_t*>(out.data()));
      from = out;
      out = Tensor<std::int64_t, D>(x.shape(), x.device());
    }
    out = from;
  }
  return out;
}

}}}  // namespace locus::LOCUS_ABI::detail
