#pragma once
// Singular values and vectors. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/matrices.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace linalg {

struct SvdOptions {
  bool full_matrices = false;  ///< whether u and vh are square
};

/// The result of svd: `auto [u, s, vh] = linalg::svd(x)`.
template <class T, class D>
struct Svd {
  Tensor<T, D> u;   ///< (..., m, k), k = min(m, n), with orthonormal columns
  Tensor<T, D> s;   ///< (..., k), descending
  Tensor<T, D> vh;  ///< (..., k, n), with orthonormal rows
};

}  // namespace linalg

namespace detail {

/// The singular values of matrices, and their vectors if `vectors`. A matrix with more columns than rows is decomposed
/// as its transpose, which its memory is in column-major order, so that no device gets fewer rows than columns.
template <class T, class D>
[[nodiscard]] linalg::Svd<T, D> singular(const char* name, const Tensor<T, D>& x, bool vectors, bool full) {
  require_matrices(name, x.shape());
  const std::int64_t m = x.size(-2), n = x.size(-1), least = smaller(m, n), most = larger(m, n);
  const bool is_wide = n > m;
  const std::int64_t columns = full ? most : least;
  linalg::Svd<T, D> result;
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

}  // namespace detail

namespace linalg {

/// x = u diag(s) vh: torch.linalg.svd, numpy.linalg.svd, but thin unless options.full_matrices. The sign of each pair
/// of vectors is arbitrary. The columns of u, or of vh, may lie one after another in memory.
/// shape: (..., m, n) -> (..., m, k), (..., k) and (..., k, n), k = min(m, n)
/// cost:  about 4 m n k + 22 k^3 for each matrix, a copy of it and a launch; on Cuda the host waits twice
/// throws NumericError for NaN, infinity and an iteration that does not converge, naming the matrix; ShapeError
template <detail::PlainMatrixOperand X>
[[nodiscard]] auto svd(const X& x, const SvdOptions& options = {}) {
  return detail::singular("linalg::svd", x.value(), true, options.full_matrices);
}

/// The singular values alone, descending: torch.linalg.svdvals. As svd otherwise.
/// shape: (..., m, n) -> (..., k)     cost: 4 m n k - 4 k^3 / 3 for each matrix, and as svd
template <detail::PlainMatrixOperand X>
[[nodiscard]] auto svdvals(const X& x) {
  return detail::singular("linalg::svdvals", x.value(), false, false).s;
}

#include <locus/refuse/linalg/svd.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
