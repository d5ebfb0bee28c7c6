#pragma once
// Running sums.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/cpu/reduce/running_sums.hpp>
#include <locus/ops/reduction.hpp>
#include <locus/ops/rows.hpp>

namespace locus::inline LOCUS_ABI {

namespace detail {

/// One pass of a scan of dense rows: each element is added to the seven that lie 1, 2, ... 7 steps before it (after it,
/// in reverse). With steps of 1, 8, 64, ... every element ends as the sum of all before it.
template <class T>
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
    for (int k = 1; k < reach && k * step <= before; ++k) sum = functor::Add{}(sum, load_as_register(in[at + k * hop]));
    out = sum;
  }
};

template <class T, class D>
[[nodiscard]] Tensor<T, D> scan(const Tensor<T, D>& x, int axis, bool reverse) {
  const RowCount count(x.shape(), axis);
  Tensor<T, D> from = x.contiguous();
  if constexpr (AddsRunningSums<D>) {
    const Tensor<T, D> to(x.shape(), x.device());
    RunningSums<D>::add(x.device(), from.data(), to.data(), count.outer, count.cols, count.inner, reverse);
    return to;
  } else {
    for (std::int64_t step = 1; step < count.cols || step == 1; step *= ScanPass<T>::reach) {
      Tensor<T, D> to(x.shape(), x.device());
      const auto plan = make_plan<3>(x.shape(), {operand_of(to), operand_of(to), operand_of(to)});
      Backend<D>::map(x.device(), plan, ScanPass<T>{from.data(), count.cols, count.inner, step, reverse},
                      Pack<LinearIndex, const T*>(LinearIndex{}, from.data()), Pack<T*>(to.data()));
      from = to;
    }
    return from;
  }
}

}  // namespace detail

namespace operation {

struct CumulativeSum {
  static constexpr const char* name = "cumsum";
  int axis;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    const int along = normalize_axis(axis, x.rank(), name);
    return Forwarded{detail::scan(x.template as<detail::sum_value_t<T>>(), along, false), Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    dx.give(detail::scan(g, normalize_axis(axis, g.rank(), name), true));
  }
};

}  // namespace operation

/// Running sums along an axis: y[i] = x[0] + ... + x[i]. Integers and bool give int64.
/// shape: that of x     gradient: running sums of g from the end
/// cost:  on hosts one pass, where floating-point numbers are added in double, so that errors do not grow with the
///        extent; on Cuda ceil(log8(extent)) launches, each of which reads its input up to eight times (from cache) and
///        writes once, where elements are added pairwise in a tree and errors grow with the logarithm. Backward the
///        same
template <detail::Operand X>
[[nodiscard]] auto cumsum(const X& x, int axis) {
  return apply(operation::CumulativeSum{axis}, x);
}
#define LOCUS_REFUSED_FUNCTION cumsum
#define LOCUS_REFUSED_PARAMETERS , int
#define LOCUS_REFUSED_MISTAKE detail::OperandMistake<X>
#include <locus/refuse/function.inc>

}  // namespace locus::inline LOCUS_ABI
