#pragma once
// Condition numbers, and inverses with an answer instead of an exception. Not part of locus/locus.hpp; programs link
// with -llapack.

#include <locus/linalg/matrix_norm.hpp>
#include <locus/linalg/solve.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI {

namespace operation {

/// The inverse without a check of its info.
template <class D>
struct UncheckedInverse : Inverse {
  static constexpr const char* name = "linalg::inv_ex";
  Tensor<std::int32_t, D> info;  ///< written by forward

  explicit UncheckedInverse(const Tensor<std::int32_t, D>& answers) : info(answers) {}

  template <class T>
  auto forward(const Tensor<T, D>& a) const {
    const auto lu = detail::lu_factors(name, a, info);
    const Tensor<T, D> y = detail::identities(a);
    detail::lu_solve(name, lu, true, y);
    return Forwarded{y, Tuple(y)};
  }
};

}  // namespace operation

namespace linalg {

/// The result of inv_ex: `auto [inverse, info] = linalg::inv_ex(x)`.
template <class Y>
struct InverseAndInfo {
  using Info = Tensor<std::int32_t, device_of<Y>>;
  Y inverse;
  Info info;  ///< 0, or the number of the first pivot that is 0, from 1; the inverse then holds infinity or NaN
};

/// The inverses of matrices, for programs that go on with a singular one: torch.linalg.inv_ex. No host waits.
/// shape: (..., n, n) -> (..., n, n) and (...)     gradient, cost: as inv     throws ShapeError
template <detail::MatrixOperand X>
[[nodiscard]] auto inv_ex(const X& x) {
  detail::require_square("linalg::inv_ex", x.shape());
  const Tensor<std::int32_t, device_of<X>> info(detail::per_matrix(x.shape()), x.device());
  info.fill_(0);
  auto inverse = apply(operation::UncheckedInverse<device_of<X>>(info), x);
  return InverseAndInfo<decltype(inverse)>{std::move(inverse), info};
}

/// The condition number of each matrix: torch.linalg.cond, numpy.linalg.cond. The norm of x times the norm of its
/// inverse; by default the largest singular value divided by the least, which matrices of any shape have. Infinite for
/// a singular matrix.
/// shape: (..., m, n) -> (...); (..., n, n) unless the order is 2 or -2     gradient: as of the norms and inv
/// cost:  as svdvals; of other norms two norms and inv
/// throws as matrix_norm and inv_ex
template <detail::MatrixOperand X>
[[nodiscard]] auto cond(const X& x, const MatrixNorm& which = 2) {
  const auto& given = x.eval();
  using Y = std::remove_cvref_t<decltype(matrix_norm(given, which))>;
  if (which.kind() == MatrixNorm::singular_value) {
    detail::require_matrices("linalg::cond", given.shape());
    const auto s = svdvals(given);
    if (s.size(-1) == 0)
      fail<ShapeError>({"linalg::cond: shape ", given.shape(), "; expected one row and column or more"});
    const auto largest = select(s, -1, 0), least = select(s, -1, -1);
    return which.is_least() ? Y(least / largest) : Y(largest / least);
  }
  const auto [inverse, info] = inv_ex(given);
  constexpr auto infinite = std::numeric_limits<value_of<X>>::infinity();
  return Y(where(info == 0, matrix_norm(given, which) * matrix_norm(inverse, which), infinite));
}

#include <locus/refuse/linalg/cond.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
