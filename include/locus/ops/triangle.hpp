#pragma once
// Triangles and diagonals of matrices: tril, triu, diag, diag_embed. `diagonal`, a view, is in ops/view.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/rows.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// out row = the elements of x up to column row + last (or from the next one on), 0 elsewhere.
template <class T>
struct TriangleRow {
  static constexpr int fragments = 1;
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T);
  static constexpr bool waits_for_memory = true;
  Rows<const T> x;
  T* out;
  std::int64_t rows, last;
  bool lower, accumulate;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const std::int64_t end = row % rows + last;
    const bool keeps = lower;
    const auto values = team.load(x.input(row));
    team.store(
        RowOutput<T>{out + row * team.cols(), 1, accumulate},
        [=](compute_t<T> v, std::int64_t c) LOCUS_INLINED { return (c <= end) == keeps ? v : compute_t<T>(0); },
        values);
  }
};

/// The matrices (..., n + |offset|, n + |offset|) for diagonals (..., n).
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape shape_around_diagonal(const Shape& shape, std::int64_t offset) {
  if (shape.rank() == 0) fail<ShapeError>({"diag_embed: a scalar; expected (..., n), the elements of diagonals"});
  Shape result = shape;
  std::int64_t side = 0;
  if (offset == INT64_MIN || __builtin_add_overflow(shape[-1], offset < 0 ? -offset : offset, &side))
    fail<ArgumentError>({"diag_embed: offset ", offset, " is out of range"});
  result[-1] = side;
  result.push_back(side);
  return result;
}

}  // namespace detail

namespace operation {

struct Triangle {
  const char* caller;
  bool lower;
  std::int64_t offset;
  static constexpr const char* name = "triangle";
  static constexpr bool linear = true;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    if (x.rank() < 2) fail<ShapeError>({caller, ": shape ", x.shape(), "; expected (..., rows, cols)"});
    const Tensor<T, D> y(x.shape(), x.device());
    write(y, false, x);
    return Forwarded{y, Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto target = dx.open();
    write(target.out, target.accumulate, g);
  }

 private:
  template <class T, class D>
  void write(const Tensor<T, D>& out, bool accumulate, const Tensor<T, D>& x) const {
    if (x.empty()) return;
    const std::int64_t rows = x.size(-2), cols = x.size(-1);
    const std::int64_t last = lower ? detail::within(offset, -rows, cols) : detail::within(offset, -rows, cols) - 1;
    const Tensor<T, D> source = detail::around_axis(x, x.rank() - 1);
    Backend<D>::for_each_row(
        x.device(), source.size(0), cols,
        detail::TriangleRow<T>{detail::rows_of(source), out.data(), rows, last, lower, accumulate});
  }
};

struct DiagonalMatrix {
  static constexpr const char* name = "diag_embed";
  static constexpr bool linear = true;
  std::int64_t offset;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    const Tensor<T, D> y(detail::shape_around_diagonal(x.shape(), offset), x.device());
    y.fill_(T(0));
    detail::copy_elements(x, y.diagonal(offset, -2, -1));
    return Forwarded{y, Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    dx.give(g.diagonal(offset, -2, -1));
  }
};

}  // namespace operation

/// The lower triangle of matrices, the diagonal `offset` above the main one included; 0 elsewhere, whatever is there.
/// shape: (..., m, n)     gradient: the same triangle of g     cost: one launch; backward one
/// throws ShapeError for fewer than two dimensions
template <detail::Operand X>
[[nodiscard]] auto tril(const X& x, std::int64_t offset = 0) {
  return apply(operation::Triangle{"tril", true, offset}, x);
}
/// The upper triangle, the diagonal `offset` above the main one included; as tril otherwise.
template <detail::Operand X>
[[nodiscard]] auto triu(const X& x, std::int64_t offset = 0) {
  return apply(operation::Triangle{"triu", false, offset}, x);
}

/// Matrices with these diagonals, `offset` above the main one, 0 elsewhere.
/// shape: (..., n) -> (..., n + |offset|, n + |offset|)     gradient: the diagonal of g, a view     cost: two launches
/// throws ShapeError for a scalar
template <detail::Operand X>
[[nodiscard]] auto diag_embed(const X& x, std::int64_t offset = 0) {
  return apply(operation::DiagonalMatrix{offset}, x);
}
/// The diag_embed of a vector; the diagonal of a matrix, a view: numpy.diag. throws ShapeError for other ranks
template <detail::Operand X>
[[nodiscard]] auto diag(const X& x, std::int64_t offset = 0) {
  const int rank = x.shape().rank();
  if (rank != 1 && rank != 2) fail<ShapeError>({"diag: shape ", x.shape(), "; expected a vector or a matrix"});
  return rank == 1 ? diag_embed(x, offset) : diagonal(x, offset);
}

#include <locus/refuse/ops/triangle.inc>

}}  // namespace locus::LOCUS_ABI
