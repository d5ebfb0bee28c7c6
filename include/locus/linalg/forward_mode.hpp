#pragma once
// Functions of matrices on duals, by their rules: of a + e a', for plain and traced matrices. Not part of
// locus/locus.hpp; programs link with -llapack. Other factorizations have no rule here.

#include <locus/expr/dual.hpp>
#include <locus/linalg/cholesky.hpp>
#include <locus/linalg/det.hpp>
#include <locus/linalg/solve.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace linalg {

/// x of a x = b, and its tangent x' of a x' = b' - a' x. A vector b is a column.
template <template <class, class> class A, template <class, class> class B, class R, class D>
[[nodiscard]] auto solve(const A<Dual<R>, D>& a, const B<Dual<R>, D>& b) {
  const auto matrices = primal(a).eval();
  const auto x = solve(matrices, primal(b).eval());
  const auto columns = [&](const auto& y) { return b.rank() == 1 ? y.unsqueeze(-1) : y; };
  const auto moved = matmul(tangent(a).eval(), columns(x));
  const auto right = (columns(tangent(b).eval()) - moved).eval();
  const auto slope = solve(matrices, right);
  return make_dual(x, b.rank() == 1 ? slope.squeeze(-1) : slope);
}

/// The inverse y, and its tangent -y a' y.
template <template <class, class> class X, class R, class D>
[[nodiscard]] auto inv(const X<Dual<R>, D>& x) {
  const auto y = inv(primal(x).eval());
  return make_dual(y, -matmul(matmul(y, tangent(x).eval()), y));
}

/// The determinant, and its tangent det a trace(a^-1 a'). throws NumericError for a singular matrix
template <template <class, class> class X, class R, class D>
[[nodiscard]] auto det(const X<Dual<R>, D>& x) {
  const auto a = primal(x).eval();
  const auto d = det(a);
  const auto quotient = solve(a, tangent(x).eval());
  return make_dual(d, d * sum(diagonal(quotient, 0, -2, -1), -1));
}

/// The lower triangular L, and its tangent L P, where P is the lower triangle of L^-1 a' L^-T with half its diagonal.
template <template <class, class> class X, class R, class D>
[[nodiscard]] auto cholesky(const X<Dual<R>, D>& x) {
  const auto lower = cholesky(primal(x).eval());
  const auto left = solve(lower, tangent(x).eval());
  const auto both = solve(lower, left.transpose());
  const auto triangle = (0.5 * (tril(both) + tril(both, -1))).eval();
  return make_dual(lower, matmul(lower, triangle));
}

}}}  // namespace locus::LOCUS_ABI::linalg
