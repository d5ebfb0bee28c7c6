#pragma once
// Singular values and vectors. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/matrices.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace linalg {

struct SvdOptions {
  bool full_matrices = false;  ///< whether u and vh are square
};

/// The result of svd: `auto [u, s, vh] = linalg::svd(x)`. Y is Tensor<T, D>, or Traced<T, D> of a traced x.
template <class Y>
struct Svd {
  Y u;   ///< (..., m, k), k = min(m, n), with orthonormal columns
  Y s;   ///< (..., k), descending
  Y vh;  ///< (..., k, n), with orthonormal rows
};

}  // namespace linalg

namespace detail {

/// The singular values of matrices, and their vectors if `vectors`. A matrix with more columns than rows is decomposed
/// as its transpose, which its memory is in column-major order, so that no device gets fewer rows than columns.
template <class T, class D>
[[nodiscard]] linalg::Svd<Tensor<T, D>> singular(const char* name, const Tensor<T, D>& x, bool vectors, bool full) {
  require_matrices(name, x.shape());
  const std::int64_t m = x.size(-2), n = x.size(-1), least = smaller(m, n), most = larger(m, n);
  const bool is_wide = n > m;
  const std::int64_t columns = full ? most : least;
  linalg::Svd<Tensor<T, D>> result;
  result.s = Tensor<T, D>(per_matrix(x.shape(), least), x.device());
  Tensor<T, D> left, right;  // columns of the first, and rows of the second in column-major order
  if (vectors) {
    left = Tensor<T, D>(per_matrix(x.shape(), columns, most), x.device());
    right = Tensor<T, D>(per_matrix(x.shape(), least, least), x.device());
    result.u = is_wide ? right : left.transpose();
    result.vh = is_wide ? left : right.transpose();
  }
  if (x.empty()) {  // any orthogonal matrix will do
    if (vectors) left.fill_(T(0)), left.diagonal(0, -2, -1).fill_(T(1));
    return result;
  }
  require_finite_matrices(name, x);
  const Tensor<T, D> work = is_wide ? x.clone() : column_major(x);
  const Tensor<std::int32_t, D> info(per_matrix(x.shape()), x.device());
  Factorization<D>::svd(x.device(), matrix_batch(name, work.shape()), work.data(), factored_extent(name, columns),
                        result.s.data(), vectors ? left.data() : nullptr, vectors ? right.data() : nullptr,
                        info.data());
  require_convergence(name, x.shape(), info);
  return result;
}

/// (p - p^T) / e, where e(i, j) = s(j)^2 - s(i)^2, of p = a^T b.
template <class T, class D>
[[nodiscard]] Tensor<T, D> turn_of_vectors(const Tensor<T, D>& s, const Tensor<T, D>& a, const Tensor<T, D>& b) {
  const Tensor<T, D> product = matmul(a.transpose(), b), squares = s * s;
  return (product - product.transpose()) / gaps(squares);
}
/// x without its part in the space of the orthonormal columns of q.
template <class T, class D>
[[nodiscard]] Tensor<T, D> outside(const Tensor<T, D>& q, const Tensor<T, D>& x) {
  return x - matmul(q, matmul(q.transpose(), x));
}
/// The gradient of a matrix from the gradient of its left singular vectors. For the right ones, exchange u and v: the
/// result is transposed then.
template <class T, class D>
[[nodiscard]] Tensor<T, D> from_left_vectors(const Tensor<T, D>& u, const Tensor<T, D>& s, const Tensor<T, D>& v,
                                             const Tensor<T, D>& g) {
  const Tensor<T, D> turned = matmul(u, Tensor<T, D>(turn_of_vectors(s, u, g) * s.unsqueeze(-2)));
  if (u.size(-2) == s.size(-1)) return matmul(turned, v.transpose());
  return matmul(Tensor<T, D>(turned + outside(u, Tensor<T, D>(g / s.unsqueeze(-2)))), v.transpose());
}

}  // namespace detail

namespace operation {

// Each result of a decomposition that is there already is an operation on its matrix; their gradients add up.

template <class T, class D>
struct SingularValues {
  static constexpr const char* name = "linalg::svd";
  linalg::Svd<Tensor<T, D>> factors;

  auto forward(const Tensor<T, D>&) const { return Forwarded{factors.s, Tuple(factors.u, factors.vh)}; }
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto& [u, vh] = saved;
    detail::multiply_to(dx, dx.shape(), Tensor<T, D>(u * g.unsqueeze(-2)), vh);
  }
};

template <class T, class D>
struct LeftSingularVectors {
  static constexpr const char* name = "linalg::svd";
  linalg::Svd<Tensor<T, D>> factors;

  auto forward(const Tensor<T, D>&) const { return Forwarded{factors.u, Tuple(factors.u, factors.s, factors.vh)}; }
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g,
                Gradient<T, D>& dx) const {
    const auto& [u, s, vh] = saved;
    dx.give(detail::from_left_vectors(u, s, vh.transpose(), g));
  }
};

template <class T, class D>
struct RightSingularVectors {
  static constexpr const char* name = "linalg::svd";
  linalg::Svd<Tensor<T, D>> factors;

  auto forward(const Tensor<T, D>&) const { return Forwarded{factors.vh, Tuple(factors.u, factors.s, factors.vh)}; }
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g,
                Gradient<T, D>& dx) const {
    const auto& [u, s, vh] = saved;
    dx.give(detail::from_left_vectors(vh.transpose(), s, u, g.transpose()).transpose());
  }
};

}  // namespace operation

namespace linalg {

/// x = u diag(s) vh: torch.linalg.svd, numpy.linalg.svd, but thin unless options.full_matrices. The sign of each pair
/// of vectors is arbitrary. The columns of u, or of vh, may lie one after another in memory.
/// shape: (..., m, n) -> (..., m, k), (..., k) and (..., k, n), k = min(m, n)
/// gradient: of s u diag(g) vh; of u and vh PyTorch's, not finite where singular values are equal or, if x is not
///           square, 0
/// cost:  about 4 m n k + 22 k^3 for each matrix, a copy of it and a launch; on Cuda the host waits twice. Backward one
///        product for s, and up to five for u and for vh
/// throws NumericError for NaN, infinity and an iteration that does not converge, naming the matrix; ShapeError;
///        ArgumentError for the full vectors of a traced matrix that is not square, which have no gradient
template <detail::MatrixOperand X>
[[nodiscard]] auto svd(const X& x, const SvdOptions& options = {}) {
  using T = value_of<X>;
  using D = device_of<X>;
  const auto& given = x.eval();
  if (X::role == Role::traced && options.full_matrices && given.rank() > 1 && given.size(-1) != given.size(-2))
    fail<ArgumentError>({"linalg::svd: full_matrices of a traced matrix of shape ", given.shape(),
                         "; the added vectors have no gradient: take the thin ones, or the value of the matrix"});
  const auto factors = detail::singular("linalg::svd", given.value(), true, options.full_matrices);
  auto u = apply(operation::LeftSingularVectors<T, D>{factors}, given);
  auto s = apply(operation::SingularValues<T, D>{factors}, given);
  return Svd<decltype(u)>{std::move(u), std::move(s), apply(operation::RightSingularVectors<T, D>{factors}, given)};
}

/// The singular values alone, descending: torch.linalg.svdvals. As svd otherwise, also in cost where x is traced.
/// shape: (..., m, n) -> (..., k)     cost: 4 m n k - 4 k^3 / 3 for each matrix, and as svd
template <detail::MatrixOperand X>
[[nodiscard]] auto svdvals(const X& x) {
  const auto& given = x.eval();
  const auto factors = detail::singular("linalg::svdvals", given.value(), X::role == Role::traced, false);
  return apply(operation::SingularValues<value_of<X>, device_of<X>>{factors}, given);
}

#include <locus/refuse/linalg/svd.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
