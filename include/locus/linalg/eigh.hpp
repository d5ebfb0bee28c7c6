#pragma once
// Eigenvalues and eigenvectors of symmetric matrices. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/matrices.hpp>
#include <locus/ops/triangle.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// The eigenvalues, and memory whose rows are the eigenvectors if `vectors`.
template <class T, class D>
[[nodiscard]] Tuple<Tensor<T, D>, Tensor<T, D>> eigenvalues(const char* name, const Tensor<T, D>& x, bool vectors) {
  require_square(name, x.shape());
  const Tensor<T, D> work = tril(x), values(per_matrix(x.shape(), x.size(-1)), x.device());
  if (x.empty()) return Tuple(values, work);
  require_finite_matrices(name, work);
  const Tensor<std::int32_t, D> info(per_matrix(x.shape()), x.device());
  Factorization<D>::eigh(x.device(), matrix_batch(name, x.shape()), vectors, work.data(), values.data(), info.data());
  require_convergence(name, x.shape(), info);
  return Tuple(values, work);
}
}  // namespace detail

namespace linalg {

/// The result of eigh: `auto [values, vectors] = linalg::eigh(x)`.
template <class T, class D>
struct Eigh {
  Tensor<T, D> values;   ///< (..., n), ascending
  Tensor<T, D> vectors;  ///< (..., n, n), orthonormal; column i belongs to value i
};

/// Eigenvalues and eigenvectors of symmetric matrices: torch.linalg.eigh, numpy.linalg.eigh. Only the lower triangle of
/// x is read. The sign of each vector is arbitrary; the columns of `vectors` lie one after another in memory.
/// shape: (..., n, n) -> (..., n) and (..., n, n)
/// cost:  about 9 n^3 for each matrix, a copy of it and a launch; on Cuda the host waits twice
/// throws NumericError for NaN or infinity in the lower triangle, and an iteration that does not converge, naming the
///        matrix; ShapeError
template <detail::PlainMatrixOperand X>
[[nodiscard]] auto eigh(const X& x) {
  using T = value_of<X>;
  using D = device_of<X>;
  const auto [values, vectors] = detail::eigenvalues("linalg::eigh", x.value(), true);
  return Eigh<T, D>{values, vectors.transpose()};
}

/// The eigenvalues alone: torch.linalg.eigvalsh. As eigh otherwise.
/// shape: (..., n, n) -> (..., n)     cost: 4 n^3 / 3 for each matrix, and as eigh
template <detail::PlainMatrixOperand X>
[[nodiscard]] auto eigvalsh(const X& x) {
  return get<0>(detail::eigenvalues("linalg::eigvalsh", x.value(), false));
}

#include <locus/refuse/linalg/eigh.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
