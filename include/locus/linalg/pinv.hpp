#pragma once
// Pseudoinverses and ranks. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/svd.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI {

namespace linalg {

/// Which singular values count as 0: those up to atol, and those up to rtol times the largest of the matrix.
struct RankOptions {
  double atol = 0;
  double rtol = -1;  ///< below 0: epsilon of the element type times max(m, n), or 0 if atol is above 0
};

}  // namespace linalg

namespace detail {

/// 1 / s if s is above both bounds, else 0.
template <class R>
struct InverseAbove {
  R atol, rtol;
  LOCUS_FN R operator()(R s, R largest) const { return s > atol && s > rtol * largest ? 1 / s : R(0); }
};

/// The inverses of singular values that count, 0 for the others. throws ArgumentError unless the options are finite
template <class T, class D>
[[nodiscard]] Tensor<T, D> inverses_of(const char* name, const Tensor<T, D>& s, std::int64_t extent,
                                       const linalg::RankOptions& options) {
  require_finite(name, "atol", options.atol);
  require_finite(name, "rtol", options.rtol);
  const double epsilon = std::numeric_limits<T>::epsilon() * static_cast<double>(extent);
  const double rtol = options.rtol >= 0 ? options.rtol : options.atol > 0 ? 0 : epsilon;
  const Tensor<T, D> inverses(s.shape(), s.device());
  if (!s.empty())
    map_into(inverses, InverseAbove<T>{static_cast<T>(options.atol), static_cast<T>(rtol)}, s,
             s.slice(-1, 0, 1).expand(s.shape()));
  return inverses;
}

/// v diag(inverses) u^T
template <class T, class D>
[[nodiscard]] Tensor<T, D> pseudoinverse(const linalg::Svd<Tensor<T, D>>& factors, const Tensor<T, D>& inverses) {
  return matmul(Tensor<T, D>(factors.vh.transpose() * inverses.unsqueeze(-2)), factors.u.transpose());
}

}  // namespace detail

namespace operation {

/// The pseudoinverse, made of a decomposition that is there already.
template <class T, class D>
struct PseudoInverse {
  static constexpr const char* name = "linalg::pinv";
  Tensor<T, D> inverse;

  auto forward(const Tensor<T, D>& a) const { return Forwarded{inverse, Tuple(a, inverse)}; }
  // Golub and Pereyra (1973): dP = -P dA P + P P^T dA^T (1 - A P) + (1 - P A) dA^T P^T P, of constant rank.
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& da) const {
    const auto& [a, p] = saved;
    const Tensor<T, D> turned = p.transpose(), gram = matmul(turned, p);
    const Tensor<T, D> left = matmul(matmul(g.transpose(), p), turned), right = matmul(gram, g.transpose());
    const Tensor<T, D> outside_columns = left - matmul(a, matmul(p, left));
    const Tensor<T, D> outside_rows = right - matmul(matmul(right, p), a);
    da.give(outside_columns + outside_rows - matmul(matmul(turned, g), turned));
  }
};

}  // namespace operation

namespace linalg {

/// The Moore-Penrose inverses of matrices of any shape and rank, by singular values: torch.linalg.pinv,
/// numpy.linalg.pinv. To solve least squares, lstsq is more accurate.
/// shape: (..., m, n) -> (..., n, m)
/// gradient: right where the rank does not change
/// cost:  as svd, a product and three launches; backward eight products
/// throws ArgumentError unless the options are finite; as svd
template <detail::MatrixOperand X>
[[nodiscard]] auto pinv(const X& x, const RankOptions& options = {}) {
  static constexpr const char* name = "linalg::pinv";
  const auto& given = x.eval();
  const auto factors = detail::singular(name, given.value(), true, false);
  const auto inverses = detail::inverses_of(name, factors.s, detail::larger(given.size(-2), given.size(-1)), options);
  return apply(operation::PseudoInverse<value_of<X>, device_of<X>>{detail::pseudoinverse(factors, inverses)}, given);
}

/// How many singular values count: torch.linalg.matrix_rank, numpy.linalg.matrix_rank. Nothing is recorded.
/// shape: (..., m, n) -> int64 of (...)     cost: as svdvals and two launches
/// throws ArgumentError unless the options are finite; as svdvals
template <detail::MatrixOperand X>
[[nodiscard]] auto matrix_rank(const X& x, const RankOptions& options = {}) {
  using T = value_of<X>;
  using D = device_of<X>;
  static constexpr const char* name = "linalg::matrix_rank";
  const Tensor<T, D>& given = x.eval().value();
  const Tensor<T, D> s = detail::singular(name, given, false, false).s;
  const auto inverses = detail::inverses_of(name, s, detail::larger(given.size(-2), given.size(-1)), options);
  return Tensor<std::int64_t, D>(sum(inverses != T(0), -1));
}

#include <locus/refuse/linalg/pinv.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
