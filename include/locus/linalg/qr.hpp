#pragma once
// The QR factorization. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/matrices.hpp>
#include <locus/ops/triangle.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace linalg {

/// The result of qr: `auto [q, r] = linalg::qr(x)`.
template <class T, class D>
struct Qr {
  Tensor<T, D> q;  ///< (..., m, k), k = min(m, n), with orthonormal columns
  Tensor<T, D> r;  ///< (..., k, n), upper triangular
};

/// x = q r, by Householder reflections: torch.linalg.qr, numpy.linalg.qr. Signs are LAPACK's. Columns of q lie one
/// after another in memory.
/// shape: (..., m, n) -> (..., m, k) and (..., k, n), k = min(m, n)
/// cost:  4 m n k for each matrix, two copies of it and a launch     throws ShapeError
template <detail::PlainMatrixOperand X>
[[nodiscard]] auto qr(const X& given) {
  using T = value_of<X>;
  using D = device_of<X>;
  static constexpr const char* name = "linalg::qr";
  const auto& x = given.value();
  detail::require_matrices(name, x.shape());
  const std::int64_t k = detail::smaller(x.size(-2), x.size(-1));
  const Tensor<T, D> work = detail::column_major(x), tau(detail::per_matrix(x.shape(), k), x.device());
  Factorization<D>::householder(x.device(), detail::matrix_batch(name, work.shape()), work.data(), tau.data());
  const Tensor<T, D> q = work.slice(-2, 0, k).clone();
  Factorization<D>::orthogonal(x.device(), detail::matrix_batch(name, q.shape()), q.data(), tau.data());
  return Qr<T, D>{q.transpose(), triu(work.transpose().slice(-2, 0, k))};
}

#include <locus/refuse/linalg/qr.inc>

}}}  // namespace locus::LOCUS_ABI::linalg
