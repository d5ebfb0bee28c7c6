#pragma once
// Least squares. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/pinv.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace linalg {

struct LstsqOptions {
  double rcond =
      -1;  ///< singular values up to rcond times the largest count as 0; any below 0: epsilon of T times max(m, n)
};

/// The result of lstsq: `auto [solution, residuals, rank, singular_values] = linalg::lstsq(a, b)`. Y is Tensor<T, D>,
/// or Traced<T, D> where an operand is traced.
template <class Y>
struct Lstsq {
  Y solution;   ///< (..., n, k), or (..., n) of a vector b
  Y residuals;  ///< (..., k), or (...): the sum of squares of a x - b in each column, always
  Tensor<std::int64_t, device_of<Y>> rank;            ///< (...), how many singular values of a count
  Tensor<value_of<Y>, device_of<Y>> singular_values;  ///< (..., min(m, n)) of a, descending
};

/// The x of least |a x - b|, and among equals of least |x|: numpy.linalg.lstsq and torch.linalg.lstsq with the driver
/// gelsd. By singular values, so that a may have any rank, and more columns than rows. b of one dimension is a vector;
/// batches broadcast.
/// shape: (..., m, n), (..., m, k) or (m) -> see Lstsq
/// gradient: of solution and residuals, as of pinv(a) b; right where the rank does not change
/// cost:  as svd, four products, and some launches; of traced operands three products, and backward as pinv
/// throws NumericError for NaN and infinity in a, naming the matrix; ArgumentError unless rcond is finite; ShapeError
///
///     auto line = linalg::lstsq(stack(1, x, ones_like(x)), y).solution;
template <class A, class B>
  requires detail::MatrixOperands<A, B>
[[nodiscard]] auto lstsq(const A& matrices, const B& right, const LstsqOptions& options = {}) {
  using T = value_of<A>;
  using D = device_of<A>;
  static constexpr const char* name = "linalg::lstsq";
  const auto& a = matrices.eval();
  const auto& original = right.eval();
  detail::require_matrices(name, a.shape());
  const bool is_vector = original.rank() == 1;
  const std::remove_cvref_t<decltype(unsqueeze(original, -1))> b = is_vector ? unsqueeze(original, -1) : original;
  if (b.rank() < 2 || b.size(-2) != a.size(-2))
    fail<ShapeError>({name, ": matrices of shape ", a.shape(), " with right sides of shape ", original.shape(),
                      "; expected (", a.size(-2), ") or (..., ", a.size(-2), ", k)"});
  detail::require_finite(name, "rcond", options.rcond);
  const auto factors = detail::singular(name, a.value(), true, false);
  const Tensor<T, D> inverses =
      detail::inverses_of(name, factors.s, detail::larger(a.size(-2), a.size(-1)), {.atol = 0, .rtol = options.rcond});
  const auto solve = [&] {
    if constexpr (detail::joint_role<A::role, B::role> == Role::traced) {
      return matmul(apply(operation::PseudoInverse<T, D>{detail::pseudoinverse(factors, inverses)}, a), b);
    } else {
      const Tensor<T, D> parts = inverses.unsqueeze(-1) * matmul(factors.u.transpose(), b.value());
      return matmul(factors.vh.transpose(), parts);
    }
  };
  const auto x = solve();
  using Y = std::remove_cvref_t<decltype(x)>;
  const Y rest = matmul(a, x) - b;
  const Y residuals = sum(rest * rest, -2);
  return Lstsq<Y>{is_vector ? Y(select(x, -1, 0)) : x, is_vector ? Y(select(residuals, -1, 0)) : residuals,
                  Tensor<std::int64_t, D>(sum(inverses != T(0), -1)), factors.s};
}

#include <locus/refuse/linalg/lstsq.inc>

}}}  // namespace locus::LOCUS_ABI::linalg
