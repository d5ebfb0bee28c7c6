#pragma once
// Running sums.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/cpu/reduce/running_sums.hpp>
#include <locus/ops/reduction.hpp>
#include <locus/ops/rows.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// One pass of a scan of dense rows: each element is combined with the seven that lie 1, 2, ... 7 steps before it
/// (after it, in reverse). After steps of 1, 8, 64, ... each element is combined with all before it.
template <class T, class Op>
struct ScanPass {
  static constexpr int reach = 8;
  const T* in;
  std::int64_t cols, inner, step;
  bool reverse;
  LOCUS_FN void operator()(std::int64_t at, compute_t<T> first, compute_t<T>& out) const {
    const std::int64_t outer = inner == 1 ? at : at / inner, position = outer % cols;
    const std::int64_t before = reverse ? cols - 1 - position : position;
    const std::int64_t hop = (reverse ? step : -step) * inner;
    compute_t<T> sum = first;
    for (int k = 1; k < reach && k * step <= before; ++k) sum = Op{}(sum, load_as_register(in[at + k * hop]));
    out = sum;
  }
};

/// The same sequentially; a row of work is some rows side by side. Floating-point numbers are combined in double.
template <class T, class Op>
struct ScanOnHost {
  static constexpr int fragments = 0;
  static constexpr std::int64_t side_by_side = 16;
  using R = std::conditional_t<FloatingDType<T>, wide_t<compute_t<T>>, compute_t<T>>;
  const T* in;
  T* out;
  std::int64_t cols, inner;
  bool reverse;
  [[nodiscard]] LOCUS_FN std::int64_t rows_per_outer() const { return (inner + side_by_side - 1) / side_by_side; }
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team&) const {
    const std::int64_t outer = row / rows_per_outer(), first = row % rows_per_outer() * side_by_side;
    const std::int64_t width = smaller(inner - first, side_by_side), step = reverse ? -inner : inner;
    const std::int64_t begin = outer * cols * inner + first + (reverse ? (cols - 1) * inner : 0);
    const T* from = in + begin;
    T* to = out + begin;
    R carried[side_by_side];
    for (std::int64_t c = 0; c < cols; ++c, from += step, to += step) {
      for (std::int64_t i = 0; i < width; ++i) {
        const R x = static_cast<R>(load_as_register(from[i]));
        carried[i] = c == 0 ? x : Op{}(carried[i], x);
        to[i] = from_register<T>(static_cast<compute_t<T>>(carried[i]));
      }
    }
  }
};

/// Elements along an axis combined with all before them, in reverse with all after them.
template <class Op = functor::Add, class T, class D>
[[nodiscard]] Tensor<T, D> scan(const Tensor<T, D>& x, int axis, bool reverse) {
  const RowCount count(x.shape(), axis);
  Tensor<T, D> from = x.contiguous();
  if constexpr (AddsRunningSums<D> && std::is_same_v<Op, functor::Add>) {
    const Tensor<T, D> to(x.shape(), x.device());
    RunningSums<D>::add(x.device(), from.data(), to.data(), count.outer, count.cols, count.inner, reverse);
    return to;
  } else if constexpr (CostModel<D>::follows_indices && !std::is_same_v<Op, functor::Add>) {
    const Tensor<T, D> to(x.shape(), x.device());
    if (to.empty()) return to;
    const ScanOnHost<T, Op> pass{from.data(), to.data(), count.cols, count.inner, reverse};
    Backend<D>::for_each_row(x.device(), count.outer * pass.rows_per_outer(),
                             smaller(count.cols * smaller(count.inner, pass.side_by_side), std::int64_t{4096}), pass);
    return to;
  } else {
    for (std::int64_t step = 1; step < count.cols || step == 1; step *= ScanPass<T, Op>::reach) {
      Tensor<T, D> to(x.shape(), x.device());
      const auto plan = make_plan<3>(x.shape(), {operand_of(to), operand_of(to), operand_of(to)});
      Backend<D>::map(x.device(), plan, ScanPass<T, Op>{from.data(), count.cols, count.inner, step, reverse},
                      Pack<LinearIndex, const T*>(LinearIndex{}, from.data()), Pack<T*>(to.data()));
      from = to;
    }
    return from;
  }
}

/// Elements moved to the next place along an axis, in reverse to the one before; `first` in the place without a source.
template <class T, class D>
[[nodiscard]] Tensor<T, D> shifted(const Tensor<T, D>& x, int axis, bool reverse, compute_t<T> first = 0) {
  const Tensor<T, D> y(x.shape(), x.device());
  if (y.empty()) return y;
  const std::int64_t n = x.size(axis);
  y.slice(axis, reverse ? n - 1 : 0, reverse ? n : 1).fill_(first);
  copy_elements(x.slice(axis, reverse ? 1 : 0, reverse ? n : n - 1),
                y.slice(axis, reverse ? 0 : 1, reverse ? n - 1 : n));
  return y;
}

}  // namespace detail

/// The elements that a running sum, product or the like combines.
struct ScanOptions {
  bool exclusive = false;  ///< only those before each element: the first sum is 0, the first product 1
  bool reverse = false;    ///< from the end
};

namespace operation {

struct CumulativeSum {
  static constexpr const char* name = "cumsum";
  static constexpr bool linear = true;
  int axis;
  ScanOptions options;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    const int along = normalize_axis(axis, x.rank(), name);
    const auto sums = detail::scan(x.template as<detail::sum_value_t<T>>(), along, options.reverse);
    return Forwarded{options.exclusive ? detail::shifted(sums, along, options.reverse) : sums, Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const int along = normalize_axis(axis, g.rank(), name);
    const Tensor<T, D> given = options.exclusive ? detail::shifted(g, along, !options.reverse) : g;
    dx.give(detail::scan(given, along, !options.reverse));
  }
};

}  // namespace operation

/// Running sums along an axis: y[i] = x[0] + ... + x[i]; exclusive, without x[i], and in reverse x[i] + ... + x[n - 1].
/// Integers and bool give int64.
/// shape: as x     gradient: running sums of g from the end
/// cost:  on hosts one pass, where floating-point numbers are added in double, so that errors do not grow with the
///        extent; on Cuda ceil(log8(extent)) launches, each of which reads its input up to eight times (from cache) and
///        writes once, where elements are added pairwise in a tree and errors grow with the logarithm. Backward the
///        same. Exclusive ones two launches more
///
///     auto begins = cumsum(lengths, 0, {.exclusive = true});
template <detail::Operand X>
[[nodiscard]] auto cumsum(const X& x, int axis, const ScanOptions& options = {}) {
  return apply(operation::CumulativeSum{axis, options}, x);
}
#include <locus/refuse/ops/scan.inc>

}}  // namespace locus::LOCUS_ABI
