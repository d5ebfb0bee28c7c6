#pragma once
// Eigenvalues and eigenvectors of any square matrices, which are complex. Not part of locus/locus.hpp; programs link
// with -llapack.

#include <locus/linalg/matrices.hpp>
#include <locus/ops/complex.hpp>
#include <locus/tensor/random.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace linalg {

/// The result of eig: `auto [values, vectors] = linalg::eig(x)`.
template <class T, class D>
struct Eig {
  Tensor<Complex<T>, D> values;   ///< (..., n); a conjugate pair stands side by side, the positive imaginary part first
  Tensor<Complex<T>, D> vectors;  ///< (..., n, n); column i belongs to value i, and has Euclidean norm 1
};

}  // namespace linalg

namespace detail {

/// Eigenvalues, (..., 2, n), real parts first, and, if `vectors`, memory of eigenvectors as LAPACK packs them: of a
/// conjugate pair the real parts, then the imaginary parts of the first one.
template <class T, class D>
[[nodiscard]] Tuple<Tensor<T, D>, Tensor<T, D>> general_eigenvalues(const char* name, const Tensor<T, D>& x,
                                                                    bool vectors) {
  require_square(name, x.shape());
  const std::int64_t n = x.size(-1);
  const Tensor<T, D> values(per_matrix(x.shape(), 2, n), x.device());
  const Tensor<T, D> packed(vectors ? x.shape() : Shape{0}, x.device());
  if (x.empty()) return Tuple(values, packed);
  require_finite_matrices(name, x);
  const Tensor<T, D> work = column_major(x);
  const Tensor<std::int32_t, D> info(per_matrix(x.shape()), x.device());
  Factorization<D>::eig(x.device(), matrix_batch(name, x.shape()), work.data(), values.data(),
                        vectors ? packed.data() : nullptr, info.data());
  require_convergence(name, x.shape(), info);
  return Tuple(values, packed);
}

/// Eigenvalues from their parts.
template <class T>
struct JoinedValues {
  const T* parts;
  std::int64_t n;
  LOCUS_FN void operator()(std::int64_t at, Complex<T>& out) const {
    const T* const real = parts + at / n * 2 * n + at % n;
    out = {real[0], real[n]};
  }
};

template <class T, class D>
[[nodiscard]] Tensor<Complex<T>, D> joined_values(const Tensor<T, D>& parts) {
  const std::int64_t n = parts.size(-1);
  return from_indices<Complex<T>>(per_matrix(parts.shape(), n), parts.device(), JoinedValues<T>{parts.data(), n});
}

/// Eigenvectors in row-major order.
template <class T>
struct UnpackedVectors {
  const T* values;
  const T* packed;
  std::int64_t n;
  LOCUS_FN void operator()(std::int64_t at, Complex<T>& out) const {
    const std::int64_t matrix = at / (n * n), row = at / n % n, column = at % n;
    const T part = values[(2 * matrix + 1) * n + column];
    const T* const vector = packed + (matrix * n + column) * n + row;
    if (part > 0) out = {vector[0], vector[n]};
    else if (part < 0) out = {vector[-n], -vector[0]};
    else out = {vector[0], T(0)};
  }
};

}  // namespace detail

namespace linalg {

/// Eigenvalues and right eigenvectors of square matrices, as complex numbers: torch.linalg.eig, numpy.linalg.eig.
/// Values are in no order. Of symmetric matrices, eigh is faster and has gradients.
/// shape: (..., n, n) -> (..., n) and (..., n, n)
/// cost:  about 25 n^3 for each matrix, a copy of it and three launches; on Cuda the host waits twice
/// throws NumericError for NaN, infinity and an iteration that does not converge, naming the matrix; ShapeError; on
///        Cuda Error where the program was compiled with CUDA before 12.8
template <detail::PlainMatrixOperand X>
[[nodiscard]] auto eig(const X& x) {
  using T = value_of<X>;
  const Tensor<T, device_of<X>>& given = x.value();
  const auto [parts, packed] = detail::general_eigenvalues("linalg::eig", given, true);
  const std::int64_t n = given.size(-1);
  return Eig<T, device_of<X>>{detail::joined_values(parts),
                              from_indices<Complex<T>>(given.shape(), given.device(),
                                                       detail::UnpackedVectors<T>{parts.data(), packed.data(), n})};
}

/// The eigenvalues alone: torch.linalg.eigvals. As eig otherwise.
/// shape: (..., n, n) -> (..., n)     cost: about 10 n^3 for each matrix, and as eig
template <detail::PlainMatrixOperand X>
[[nodiscard]] auto eigvals(const X& x) {
  return detail::joined_values(get<0>(detail::general_eigenvalues("linalg::eigvals", x.value(), false)));
}

#include <locus/refuse/linalg/eig.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
