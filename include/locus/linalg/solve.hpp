#pragma once
// Systems of linear equations, and inverses. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/lu.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace operation {

struct Solve {
  static constexpr const char* name = "linalg::solve";

  template <class T, class D>
  auto forward(const Tensor<T, D>& a, const Tensor<T, D>& b) const {
    detail::require_square(name, a.shape());
    const auto right = as_columns(b);
    const Shape batch = detail::solved_batch(name, a.shape(), right.shape(), b.shape(), true);
    detail::require_same_ordinal(name, a, b);
    const auto lu = detail::factors_for(detail::regular_lu_factors(name, a), batch);
    const Tensor<T, D> x = detail::solutions(name, lu, false, right, batch);
    return Forwarded{b.rank() == 1 ? x.select(-1, 0) : x, Tuple(lu.factors, lu.pivots, x, a.shape())};
  }

  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<std::int32_t, D>, Tensor<T, D>, Shape>& saved, const Tensor<T, D>& g,
                Gradient<T, D>& da, Gradient<T, D>& db) const {
    const auto& [factors, pivots, x, matrices] = saved;
    const bool is_vector = g.rank() < x.rank();
    const Tensor<T, D> dx = detail::solutions(name, detail::LuFactors<T, D>{factors, pivots}, true,
                                              is_vector ? g.unsqueeze(-1) : g, detail::batch_shape(x.shape()));
    if (db) detail::sum_to(is_vector ? dx.select(-1, 0) : dx, db);
    if (da) detail::multiply_to(da, matrices, Tensor<T, D>(-dx), x.transpose());
  }

 private:
  template <class T, class D>
  [[nodiscard]] static Tensor<T, D> as_columns(const Tensor<T, D>& b) {
    return b.rank() == 1 ? b.unsqueeze(-1) : b;
  }
};

struct Inverse {
  static constexpr const char* name = "linalg::inv";

  template <class T, class D>
  auto forward(const Tensor<T, D>& a) const {
    detail::require_square(name, a.shape());
    const auto lu = detail::regular_lu_factors(name, a);
    const Tensor<T, D> y = detail::identities(a);
    detail::lu_solve(name, lu, true, y);  // the columns of the transposed inverse are the rows of the inverse
    return Forwarded{y, Tuple(y)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& da) const {
    const Tensor<T, D> transposed = get<0>(saved).transpose();
    const Tensor<T, D> left = matmul(transposed, g);
    detail::multiply_to(da, g.shape(), Tensor<T, D>(-left), transposed);
  }
};

}  // namespace operation

namespace linalg {

/// x of a x = b, by LU factorization: torch.linalg.solve. b of one dimension is a vector, shared by all matrices;
/// otherwise its columns are right sides. Batches broadcast, and a single matrix is factored once for all of them.
/// Columns of the result lie one after another in memory.
/// shape: (..., n, n), (..., n, k) -> (..., n, k), and (..., n, n), (n) -> (..., n)
/// gradient: db of a^T db = g, and -db x^T, summed over broadcast dimensions
/// cost:  2 n^3 / 3 + 2 n^2 k for each matrix, and a copy of both operands; on Cuda the host waits once. Backward
///        2 n^2 k, and a product
/// throws NumericError for a singular matrix, naming it and its pivot; ShapeError
///
///     auto x = linalg::solve(a, b);   // not matmul(inv(a), b), which takes longer and is less accurate
template <class A, class B>
  requires detail::MatrixOperands<A, B>
[[nodiscard]] auto solve(const A& a, const B& b) {
  return apply(operation::Solve{}, a, b);
}

/// The inverses of matrices: torch.linalg.inv. To multiply by an inverse, solve is faster and more accurate.
/// shape: (..., n, n)     gradient: -y^T g y^T, of the inverse y
/// cost:  8 n^3 / 3 for each matrix; on Cuda the host waits once. Backward two products
/// throws NumericError for a singular matrix, naming it and its pivot; ShapeError
template <detail::MatrixOperand X>
[[nodiscard]] auto inv(const X& x) {
  return apply(operation::Inverse{}, x);
}

#include <locus/refuse/linalg/solve.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
