#pragma once
// Eigenvalues and eigenvectors of symmetric matrices. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/matrices.hpp>

namespace locus::inline LOCUS_ABI {

namespace detail {
/// The eigenvalues, and in `work`, a copy of symmetric matrices, their eigenvectors as rows, where they are asked for.
template <class T, class D>
[[nodiscard]] Tensor<T, D> eigenvalues(const char* name, const Tensor<T, D>& x, const Tensor<T, D>& work,
                                       bool vectors) {
  require_square(name, x.shape());
  Tensor<T, D> values(per_matrix(x.shape(), x.size(-1)), x.device());
  if (x.empty()) return values;
  require_finite_matrices(name, x);
  const Tensor<std::int32_t, D> info(per_matrix(x.shape()), x.device());
  Factorization<D>::eigh(x.device(), matrix_batch(name, x.shape()), vectors, work.data(), values.data(), info.data());
  require_convergence(name, x.shape(), info);
  return values;
}
}  // namespace detail

namespace linalg {

/// What eigh returns: `auto [values, vectors] = linalg::eigh(x)`.
template <class T, class D>
struct Eigh {
  Tensor<T, D> values;   ///< (..., n), ascending
  Tensor<T, D> vectors;  ///< (..., n, n), orthonormal; column i belongs to value i
};

/// Eigenvalues and eigenvectors of symmetric matrices: torch.linalg.eigh, numpy.linalg.eigh. Only the lower triangle of
/// x is read. The sign of a vector is any; columns of vectors lie one after another in memory.
/// shape: (..., n, n) -> (..., n) and (..., n, n)
/// cost:  about 9 n^3 for each matrix, a copy of it and a launch; on Cuda the host waits twice
/// throws NumericError for NaN, infinity and an iteration that does not converge, naming the matrix; ShapeError
template <detail::PlainMatrixOperand X>
[[nodiscard]] auto eigh(const X& x) {
  using T = value_of<X>;
  using D = device_of<X>;
  const Tensor<T, D> vectors = x.value().clone();
  return Eigh<T, D>{detail::eigenvalues("linalg::eigh", x.value(), vectors, true), vectors.transpose()};
}

/// The eigenvalues alone: torch.linalg.eigvalsh. As eigh otherwise.
/// shape: (..., n, n) -> (..., n)     cost: 4 n^3 / 3 for each matrix, and as eigh
template <detail::PlainMatrixOperand X>
[[nodiscard]] auto eigvalsh(const X& x) {
  return detail::eigenvalues("linalg::eigvalsh", x.value(), x.value().clone(), false);
}

#include <locus/refuse/linalg/eigh.inc>

}  // namespace linalg

}  // namespace locus::inline LOCUS_ABI
