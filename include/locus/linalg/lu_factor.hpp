#pragma once
// The LU factorization itself. Not part of locus/locus.hpp; programs link with -llapack. solve, inv and det factor by
// themselves.

#include <locus/linalg/triangular.hpp>
#include <locus/ops/index.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace linalg {

/// The result of lu_factor. Y is Tensor<T, D>, or Traced<T, D> of a traced matrix.
template <class Y>
struct LuFactor {
  using Pivots = Tensor<std::int32_t, device_of<Y>>;
  Y lu;           ///< (..., n, n): U, and below its diagonal L, whose diagonal is 1
  Pivots pivots;  ///< (..., n): row i was exchanged with row pivots[i] - 1, as LAPACK and PyTorch have it
};

/// The result of lu: x = p l u.
template <class Y>
struct Lu {
  Tensor<value_of<Y>, device_of<Y>> p;  ///< (..., n, n), a permutation
  Y l;                                  ///< (..., n, n), unit lower triangular
  Y u;                                  ///< (..., n, n), upper triangular
};

}  // namespace linalg

namespace detail {

/// The row of the matrix that became a row of its factors.
struct RowBeforeExchanges {
  const std::int32_t* pivots;
  std::int64_t n;
  LOCUS_FN void operator()(std::int64_t at, std::int64_t& row) const {
    const std::int32_t* const of_matrix = pivots + at / n * n;
    row = at % n;
    for (std::int64_t k = n; k-- > 0;) {
      const std::int64_t other = of_matrix[k] - 1;
      if (row == k) row = other;
      else if (row == other) row = k;
    }
  }
};
template <class D>
[[nodiscard]] Tensor<std::int64_t, D> rows_before_exchanges(const Tensor<std::int32_t, D>& pivots) {
  const Tensor<std::int32_t, D> dense = pivots.contiguous();
  return from_indices<std::int64_t>(dense.shape(), dense.device(), RowBeforeExchanges{dense.data(), dense.size(-1)});
}

/// The permutation p of x = p l u.
template <class T, class D>
[[nodiscard]] Tensor<T, D> permutation(const Tensor<std::int32_t, D>& pivots) {
  const Tensor<std::int64_t, D> rows = rows_before_exchanges(pivots);
  return (rows.unsqueeze(-2) == arange<std::int64_t>(0, pivots.size(-1), 1, pivots.device()).unsqueeze(-1))
      .template as<T>();
}

/// throws ShapeError
LOCUS_OUT_OF_LINE inline void require_pivots(const char* name, const Shape& lu, const Shape& pivots) {
  require_square(name, lu);
  if (per_matrix(lu, lu[-1]) != pivots)
    fail<ShapeError>({name, ": factors of shape ", lu, " with pivots of shape ", pivots, "; expected the result of ",
                      "linalg::lu_factor, (..., n, n) and (..., n)"});
}

}  // namespace detail

namespace operation {

template <class D>
struct LuFactorization {
  static constexpr const char* name = "linalg::lu_factor";
  Tensor<std::int32_t, D> pivots;  ///< written by forward

  template <class T>
  auto forward(const Tensor<T, D>& a) const {
    const auto lu =
        detail::lu_factors(name, a.transpose(), Tensor<std::int32_t, D>(detail::per_matrix(a.shape()), a.device()));
    pivots.copy_(lu.pivots);
    const Tensor<T, D> factors = lu.factors.transpose();
    return Forwarded{factors, Tuple(factors, lu.pivots)};
  }
  // dA = P L^-T (tril(L^T gL, -1) + triu(gU U^T)) U^-T
  template <class T>
  void backward(const Tuple<Tensor<T, D>, Tensor<std::int32_t, D>>& saved, const Tensor<T, D>& g,
                Gradient<T, D>& da) const {
    const auto& [lu, exchanges] = saved;
    const Tensor<T, D> l = tril(lu, -1) + eye<T>(lu.size(-1), lu.device()), turned = lu.transpose();
    const Tensor<T, D> inner =
        tril(matmul(l.transpose(), tril(g, -1)), -1) + triu(matmul(triu(g), triu(lu).transpose()));
    const Tensor<T, D> left = detail::solved_triangular(name, turned, inner, {.upper = true, .unitriangular = true});
    const Tensor<T, D> both = detail::solved_triangular(name, lu, left.transpose(), {.upper = true}).transpose();
    da.give(matmul(detail::permutation<T>(exchanges), both));
  }
};

}  // namespace operation

namespace linalg {

/// The LU factorization with row exchanges, packed: torch.linalg.lu_factor, of square matrices. A singular matrix has
/// factors, too.
/// shape: (..., n, n) -> see LuFactor
/// gradient: p l^-T (tril(l^T gl, -1) + triu(gu u^T)) u^-T
/// cost:  2 n^3 / 3 for each matrix and a copy of it; backward two triangular systems and three products
/// throws ShapeError; its backward pass NumericError for a singular matrix
///
///     auto [lu, pivots] = linalg::lu_factor(a);
///     auto x = linalg::lu_solve(lu, pivots, b);   // as often as there are right sides
template <detail::MatrixOperand X>
[[nodiscard]] auto lu_factor(const X& x) {
  detail::require_square("linalg::lu_factor", x.shape());
  const Tensor<std::int32_t, device_of<X>> pivots(detail::per_matrix(x.shape(), x.shape()[-1]), x.device());
  auto lu = apply(operation::LuFactorization<device_of<X>>{pivots}, x);
  return LuFactor<decltype(lu)>{std::move(lu), pivots};
}

/// The factors as matrices: torch.linalg.lu, scipy.linalg.lu. As lu_factor otherwise; five more launches.
template <detail::MatrixOperand X>
[[nodiscard]] auto lu(const X& x) {
  using T = value_of<X>;
  using D = device_of<X>;
  auto [factors, pivots] = lu_factor(x);
  using Y = std::remove_cvref_t<decltype(factors)>;
  const Tensor<T, D> units = eye<T>(factors.size(-1), factors.device()).expand(factors.shape());
  return Lu<Y>{detail::permutation<T>(pivots), Y(tril(factors, -1) + units), Y(triu(factors))};
}

/// x of a x = b, for factored a: torch.linalg.lu_solve, with its operands in PyTorch's order.
/// shape: (..., n, n), (..., n), (..., n, k) -> (..., n, k); batches broadcast
/// gradient: of b and of the factors
/// cost:  2 n^2 k for each matrix, and a copy of the operands; of traced operands two triangular systems and a product
/// throws ShapeError; of traced operands NumericError for singular factors, which give infinity or NaN otherwise
template <class L, class B>
  requires detail::MatrixOperands<L, B>
[[nodiscard]] auto lu_solve(const L& lu, const Tensor<std::int32_t, device_of<L>>& pivots, const B& b) {
  using T = value_of<L>;
  using D = device_of<L>;
  static constexpr const char* name = "linalg::lu_solve";
  const auto& factors = lu.eval();
  const auto& right = b.eval();
  detail::require_pivots(name, factors.shape(), pivots.shape());
  const Shape batch = detail::solved_batch(name, factors.shape(), right.shape(), right.shape());
  if constexpr (detail::joint_role<L::role, B::role> == Role::traced) {
    const Tensor<T, D> turned = detail::permutation<T>(pivots).transpose();
    return solve_triangular(factors,
                            solve_triangular(factors, matmul(turned, right), {.upper = false, .unitriangular = true}),
                            {.upper = true});
  } else {
    const detail::LuFactors<T, D> memory{detail::column_major(factors.value()), pivots.contiguous()};
    return detail::solutions(name, detail::factors_for(memory, batch), true, right.value(), batch);
  }
}

#include <locus/refuse/linalg/lu_factor.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
