#pragma once
// Systems of triangular matrices. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/lu.hpp>
#include <locus/ops/triangle.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace linalg {

struct TriangularOptions {
  bool upper = false;          ///< whether the upper triangle is read, else the lower one
  bool left = true;            ///< a x = b; else x a = b
  bool unitriangular = false;  ///< whether the diagonal counts as ones, and is not read
};

}  // namespace linalg

namespace detail {

struct FirstZeroPivot {
  template <class T>
  LOCUS_FN std::int32_t operator()(T pivot, std::int32_t number) const {
    return pivot == 0 ? number : INT32_MAX;
  }
};

/// Waits for the device. cost: two launches
/// throws NumericError naming the first matrix with 0 on its diagonal
template <class T, class D>
void require_no_zero_pivot(const char* name, const Tensor<T, D>& a) {
  const Tensor<T, D> diagonal = a.diagonal(0, -2, -1);
  if (diagonal.empty()) return;
  const Tensor<std::int32_t, D> zeros(diagonal.shape(), a.device());
  map_into(zeros, FirstZeroPivot{}, diagonal,
           arange<std::int32_t>(0, a.size(-1), 1, a.device()).expand(diagonal.shape()));
  const Tensor<std::int32_t, Cpu> first = Tensor<std::int32_t, D>(min(zeros, -1)).template to<Cpu>();
  for (std::int64_t i = 0; i < first.elements(); ++i)
    if (first.data()[i] != INT32_MAX)
      fail<NumericError>({name, ": ", matrix_name(a.shape(), i), " is singular: element ", first.data()[i],
                          " of its diagonal is 0; expected an inverse to exist"});
}

/// A triangle as factors of an LU factorization, whose other factor is the identity. `is_transposed` is LU's flag for
/// systems of the triangle itself.
template <class T, class D>
struct TriangleFactors {
  LuFactors<T, D> lu;
  bool is_transposed;
};
/// throws ShapeError; NumericError for 0 on the diagonal
template <class T, class D>
[[nodiscard]] TriangleFactors<T, D> triangle_factors(const char* name, const Tensor<T, D>& a,
                                                     const linalg::TriangularOptions& options) {
  require_square(name, a.shape());
  if (!options.unitriangular) require_no_zero_pivot(name, a);
  const Tensor<T, D> lower = options.upper ? tril(a.transpose()) : tril(a);  // in column-major order an upper triangle
  if (options.unitriangular) lower.diagonal(0, -2, -1).fill_(T(1));
  const std::int64_t n = a.size(-1);
  const Tensor<std::int32_t, D> unmoved =
      arange<std::int32_t>(1, n + 1, 1, a.device()).expand(per_matrix(a.shape(), n)).contiguous();
  return {{lower, unmoved}, options.upper};
}

/// x of a x = b, for a triangle of a and b of at least two dimensions.
template <class T, class D>
[[nodiscard]] Tensor<T, D> solved_triangular(const char* name, const Tensor<T, D>& a, const Tensor<T, D>& b,
                                             const linalg::TriangularOptions& options) {
  const Shape batch = solved_batch(name, a.shape(), b.shape(), b.shape());
  const auto factors = triangle_factors(name, a, options);
  return solutions(name, factors_for(factors.lu, batch), factors.is_transposed, b, batch);
}

}  // namespace detail

namespace operation {

struct SolveTriangular {
  static constexpr const char* name = "linalg::solve_triangular";
  linalg::TriangularOptions options;

  template <class T, class D>
  auto forward(const Tensor<T, D>& a, const Tensor<T, D>& b) const {
    detail::require_square(name, a.shape());
    const Shape batch = detail::solved_batch(name, a.shape(), b.shape(), b.shape());
    detail::require_same_ordinal(name, a, b);
    const auto triangle = detail::triangle_factors(name, a, options);
    const auto lu = detail::factors_for(triangle.lu, batch);
    const Tensor<T, D> x = detail::solutions(name, lu, triangle.is_transposed, b, batch);
    return Forwarded{x, Tuple(lu.factors, lu.pivots, x)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<std::int32_t, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g,
                Gradient<T, D>& da, Gradient<T, D>& db) const {
    const auto& [factors, pivots, x] = saved;
    const Tensor<T, D> dx = detail::solutions(name, detail::LuFactors<T, D>{factors, pivots}, !options.upper, g,
                                              detail::batch_shape(x.shape()));
    if (db) detail::sum_to(dx, db);
    if (!da) return;
    const Tensor<T, D> product = matmul(Tensor<T, D>(-dx), x.transpose());
    const std::int64_t skipped = options.unitriangular ? 1 : 0;
    detail::sum_to(options.upper ? triu(product, skipped) : tril(product, -skipped), da);
  }
};

}  // namespace operation

namespace linalg {

/// x of a x = b, or of x a = b, for triangular a: torch.linalg.solve_triangular. The other triangle is not read.
/// Batches broadcast.
/// shape:    (..., n, n), (..., n, k) -> (..., n, k); with .left = false (..., n, n), (..., k, n) -> (..., k, n)
/// gradient: db of a^T db = g, and the triangle of -db x^T, summed over broadcast dimensions
/// cost:     2 n^2 k for each matrix, a copy of both operands and three launches; on Cuda the host waits once.
///           Backward 2 n^2 k, and a product
/// throws NumericError for 0 on the diagonal, naming the matrix and the element, and ShapeError
///
///     auto x = linalg::solve_triangular(l, b, {.upper = false});
template <class A, class B>
  requires detail::MatrixOperands<A, B>
[[nodiscard]] auto solve_triangular(const A& a, const B& b, const TriangularOptions& options) {
  const auto solved = [&](const auto& left, const auto& right, bool upper) {
    return apply(operation::SolveTriangular{{upper, true, options.unitriangular}}, left, right);
  };
  using Result = decltype(solved(a, b, true));
  if (options.left) return Result(solved(a, b, options.upper));
  detail::require_square("linalg::solve_triangular", a.shape());
  if (b.shape().rank() < 2 || b.shape()[-1] != a.shape()[-1])
    fail<ShapeError>({"linalg::solve_triangular: matrices of shape ", a.shape(), " at the right of x, with b of shape ",
                      b.shape(), "; expected (..., k, ", a.shape()[-1], ")"});
  return Result(transpose(solved(transpose(a), transpose(b), !options.upper)));  // a^T x^T = b^T
}

/// x of a x = b, where factor is the Cholesky factor of a: torch.cholesky_solve, with its operands in the order of
/// solve. With .upper = true, a = factor^T factor.
/// shape: (..., n, n), (..., n, k) -> (..., n, k)     gradient: as of two triangular systems
/// cost:  two triangular systems     throws as solve_triangular
template <class L, class B>
  requires detail::MatrixOperands<L, B>
[[nodiscard]] auto cholesky_solve(const L& factor, const B& b, const TriangularOptions& options = {}) {
  if (!options.left || options.unitriangular)
    fail<ArgumentError>({"linalg::cholesky_solve: .left = false or .unitriangular = true; expected .upper alone"});
  const auto& given = factor.eval();
  const auto turned = transpose(given);
  return solve_triangular(options.upper ? given : turned,
                          solve_triangular(options.upper ? turned : given, b, {.upper = false}), {.upper = true});
}

/// The inverse of a, where x is its Cholesky factor: torch.cholesky_inverse.
/// shape: (..., n, n)     gradient, cost, throws: as cholesky_solve of the identity
template <detail::MatrixOperand X>
[[nodiscard]] auto cholesky_inverse(const X& x, const TriangularOptions& options = {}) {
  const auto& factor = x.eval();
  detail::require_square("linalg::cholesky_inverse", factor.shape());
  return cholesky_solve(factor, eye<value_of<X>>(factor.size(-1), factor.device()), options);
}

#include <locus/refuse/linalg/triangular.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
