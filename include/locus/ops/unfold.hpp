#pragma once
// Windows that may overlap: unfold shows them as a view, fold_windows adds them up again. Each is the other's gradient.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/rows.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// y(outer, i, inner) = the sum of the elements of windows at position i: x is dense, (outer, windows, inner, size). A
/// row of work goes along inner, or, if inner is 1, along the dimension.
template <class T>
struct FoldRow {
  static constexpr int fragments = 0;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  const T* x;
  T* y;
  std::int64_t extent, inner, windows, size, step, dilation;
  bool accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    using R = compute_t<T>;
    const bool along = inner == 1;
    const std::int64_t outer = along ? row : row / extent, i = row - outer * extent;
    const T* const from = x + outer * windows * inner * size;
    const FoldRow self = *this;
    team.store(RowOutput<T>{y + row * team.cols(), 1, accumulate}, [=](std::int64_t c) LOCUS_INLINED {
      const T* const column = along ? from : from + c * self.size;
      R sum = 0;
      std::int64_t start = along ? c : i;  // of the window in which this element is number k
      for (std::int64_t k = 0; k < self.size && start >= 0; ++k, start -= self.dilation) {
        const std::int64_t window = self.step == 1 ? start : start / self.step;
        if (window * self.step == start && window < self.windows)
          sum += load_as_register(column[window * self.inner * self.size + k]);
      }
      return sum;
    });
  }
};

/// Adds windows (..., windows, ..., size) up to `out`, (..., extent, ...). One launch.
template <class T, class D>
void add_windows(const Tensor<T, D>& out, bool accumulate, const Tensor<T, D>& x, int dim, std::int64_t step,
                 std::int64_t dilation) {
  if (out.empty()) return;
  const RowCount count(out.shape(), dim);
  const Tensor<T, D> dense = x.contiguous();
  const bool along = count.inner == 1;
  Backend<D>::for_each_row(out.device(), along ? count.outer : count.outer * count.cols,
                           along ? count.cols : count.inner,
                           FoldRow<T>{dense.data(), out.data(), count.cols, count.inner, dense.size(dim),
                                      dense.size(-1), step, dilation, accumulate});
}
}  // namespace detail

namespace operation {

struct Unfold {
  static constexpr const char* name = "unfold";
  static constexpr bool linear = true;
  int dim;
  std::int64_t size, step, dilation;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{x.unfold(dim, size, step, dilation), Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto target = dx.open();
    detail::add_windows(target.out, target.accumulate, g, normalize_axis(dim, target.out.rank(), name), step, dilation);
  }
};

struct FoldWindows {
  static constexpr const char* name = "fold_windows";
  static constexpr bool linear = true;
  int dim;
  std::int64_t extent, step, dilation;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    if (x.rank() < 2) fail<ShapeError>({name, ": shape ", x.shape(), "; expected (..., windows, ..., size)"});
    const int along = normalize_axis(dim, x.rank() - 1, name);
    const std::int64_t windows = detail::windows_along(name, extent, x.size(-1), step, dilation);
    if (windows != x.size(along)) {
      fail<ShapeError>({name, ": ", x.size(along), " windows along dimension ", along, " of shape ", x.shape(),
                        " for an extent of ", extent, "; expected ", windows});
    }
    Shape shape = x.shape();
    shape.erase(shape.rank() - 1);
    shape[along] = extent;
    const Tensor<T, D> y(shape, x.device());
    detail::add_windows(y, false, x, along, step, dilation);
    return Forwarded{y, Tuple(along, x.size(-1))};
  }
  template <class T, class D>
  void backward(const Tuple<int, std::int64_t>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    dx.give(g.unfold(get<0>(saved), get<1>(saved), step, dilation));
  }
};

}  // namespace operation

/// Windows along a dimension, as a view: torch.Tensor.unfold. For windows of two dimensions, use
/// unfold(unfold(x, 2, kh, sh), 3, kw, sw), of shape (n, c, rows, cols, kh, kw).
/// shape: (..., n, ...) -> (..., windows, ..., size), where windows = (n - dilation (size - 1) - 1) / step + 1
/// gradient: fold_windows of g
/// cost:     nothing; backward one launch, and a copy of g if it is not dense
/// throws ArgumentError unless size, step and dilation are 1 or more; ShapeError where no window fits
///
///     auto smooth = mean(unfold(signal, -1, 5, 1), -1);   // a moving average, in one launch
template <detail::Viewable X>
[[nodiscard]] auto unfold(const X& x, int dim, std::int64_t size, std::int64_t step, std::int64_t dilation = 1) {
  return apply(operation::Unfold{dim, size, step, dilation}, x);
}

/// Adds up overlapping windows to `extent` elements along the dimension; elements in no window are 0.
/// shape:    (..., windows, ..., size) -> (..., extent, ...)
/// gradient: g.unfold(dim, size, step, dilation), a view
/// cost:     one launch, and a copy of x if it is not dense; backward nothing
/// throws ShapeError unless the extent has as many windows; ArgumentError
template <detail::FloatingOperand X>
[[nodiscard]] auto fold_windows(const X& x, int dim, std::int64_t extent, std::int64_t step,
                                std::int64_t dilation = 1) {
  return apply(operation::FoldWindows{dim, extent, step, dilation}, x);
}

#include <locus/refuse/ops/unfold.inc>

}}  // namespace locus::LOCUS_ABI
