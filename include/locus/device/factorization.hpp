#pragma once
// Factorizations of dense matrices, which a device may have beside its verbs: the contract between linalg and LAPACK or
// cuSOLVER. Operations ask for FactorizingDevice<D>, and do not compile on a device without it.

#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// Matrices of one size, dense and in column-major order, as LAPACK has them, one after another.
struct MatrixBatch {
  std::int64_t count;
  int rows, cols;
  [[nodiscard]] bool is_empty() const { return count == 0 || rows == 0 || cols == 0; }
};

/// Factorizations on a device, of float and double; specialize it to add them to one. Batches may be empty. `info` has
/// a number for each matrix, 0 where all went well; LAPACK's numbers otherwise, so that what is wrong counts from 1.
/// Calls are queued: the host waits for nothing, and reads info by a copy.
///
///     Factorization<D>::lu(device, batch, a, pivots, info)
///
/// replaces square a by its factors L and U of P a = L U. Row i was exchanged with row pivots[i] - 1. info: the first
/// pivot that is 0; the factors are whole all the same
///
///     Factorization<D>::lu_solve(device, batch, transposed, factors, pivots, columns, b)
///
/// replaces b, `columns` columns for each matrix, by x of a x = b, or of a^T x = b.
///
///     Factorization<D>::cholesky(device, batch, a, info)
///
/// replaces the upper triangle of symmetric a by U of a = U^T U; the lower one is not read. info: the order of the
/// first leading minor that is not positive. Of NaN it may be 0, but then the diagonal of U holds NaN
///
///     Factorization<D>::householder(device, batch, a, tau)
///     Factorization<D>::orthogonal(device, batch, q, tau)
///
/// The first replaces a by R, its upper triangle, and the reflectors of Q, with min(rows, cols) numbers tau for each
/// matrix. The second replaces reflectors, of rows >= cols, by the columns of Q.
///
///     Factorization<D>::svd(device, batch, a, u_columns, s, u, vt, info)
///
/// of rows >= cols: singular values, descending, and the first u_columns left singular vectors, cols or rows, beside
/// all right ones, transposed; u and vt may be null. a is lost. info: not 0 where the iteration did not converge
///
///     Factorization<D>::eigh(device, batch, vectors, a, values, info)
///
/// of symmetric a, of which the upper triangle alone is read: its eigenvalues, ascending, and in a the eigenvectors,
/// unless `vectors` is false, where a is lost.
///
///     Factorization<D>::finds_nan
///
/// says whether the factors L and U of a matrix that holds NaN hold NaN, too. Where it is false, linalg looks for NaN
/// itself.
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
};

}}  // namespace locus::LOCUS_ABI
