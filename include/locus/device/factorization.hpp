#pragma once
// Factorizations of dense matrices, an optional capability of a device: the contract between linalg and LAPACK or
// cuSOLVER. Operations require FactorizingDevice<D>, and do not compile on a device without it.

#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// Consecutive matrices of one size, dense and column-major, as for LAPACK.
struct MatrixBatch {
  std::int64_t count;
  int rows, cols;
  [[nodiscard]] bool is_empty() const { return count == 0 || rows == 0 || cols == 0; }
};

/// Factorizations on a device, of float and double; specialize it to add them. Batches may be empty. `info` has a
/// number for each matrix: 0 for success, else LAPACK's number, which counts from 1. Calls are queued: the host does
/// not wait, and reads info by a copy.
///
///     Factorization<D>::lu(device, batch, a, pivots, info)
///
/// replaces square a by its factors L and U of P a = L U. Row i was exchanged with row pivots[i] - 1. info: the first
/// pivot that is 0; the factors are complete nevertheless
///
///     Factorization<D>::lu_solve(device, batch, transposed, factors, pivots, columns, b)
///
/// replaces b, `columns` columns for each matrix, by the solution x of a x = b, or of a^T x = b.
///
///     Factorization<D>::cholesky(device, batch, a, info)
///
/// replaces the upper triangle of symmetric a by U of a = U^T U; the lower triangle is not read. info: the order of the
/// first leading minor that is not positive. With NaN in a it may be 0, but then the diagonal of U holds NaN
///
///     Factorization<D>::householder(device, batch, a, tau)
///     Factorization<D>::orthogonal(device, batch, q, tau)
///
/// The first replaces a by R, its upper triangle, and the reflectors of Q, with min(rows, cols) numbers tau for each
/// matrix. The second replaces reflectors, of rows >= cols, by the columns of Q.
///
///     Factorization<D>::svd(device, batch, a, u_columns, s, u, vt, info)
///
/// computes, for rows >= cols, singular values, descending, the first u_columns (cols or rows) left singular vectors,
/// and all right singular vectors, transposed; u and vt may be null. The contents of a are lost. info: not 0 if the
/// iteration did not converge
///
///     Factorization<D>::eigh(device, batch, vectors, a, values, info)
///
/// computes the eigenvalues, ascending, of symmetric a, whose upper triangle alone is read, and replaces a by the
/// eigenvectors; if `vectors` is false, the contents of a are lost. info: as for svd
///
///     Factorization<D>::eig(device, batch, a, values, vectors, info)
///
/// computes the eigenvalues of any square a, in no order: for each matrix all real parts, then all imaginary parts. A
/// conjugate pair stands side by side, the positive imaginary part first. vectors, which may be null, get right
/// eigenvectors of length 1: a column for a real eigenvalue, and for a pair the real, then the imaginary parts of the
/// first one. The contents of a are lost. info: as for svd
///
///     Factorization<D>::finds_nan
///
/// tells whether the factors L and U of a matrix with NaN contain NaN, too. If false, linalg searches for NaN itself.
template <class D>
struct Factorization;

template <class D>
concept FactorizingDevice = Device<D> && requires(D device, const MatrixBatch& batch, double* a, std::int32_t* info) {
  { Factorization<D>::finds_nan } -> std::convertible_to<bool>;
  Factorization<D>::lu(device, batch, a, info, info);
  Factorization<D>::lu_solve(device, batch, true, a, info, 1, a);
  Factorization<D>::cholesky(device, batch, a, info);
  Factorization<D>::householder(device, batch, a, a);
  Factorization<D>::orthogonal(device, batch, a, a);
  Factorization<D>::svd(device, batch, a, 1, a, a, a, info);
  Factorization<D>::eigh(device, batch, true, a, a, info);
  Factorization<D>::eig(device, batch, a, a, a, info);
};

}}  // namespace locus::LOCUS_ABI
