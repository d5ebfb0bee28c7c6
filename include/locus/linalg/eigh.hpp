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

namespace operation {

/// The eigenvalues of a factorization that is there already, as a function of its matrix.
template <class T, class D>
struct SymmetricEigenvalues {
  static constexpr const char* name = "linalg::eigh";
  Tensor<T, D> values, vectors;

  auto forward(const Tensor<T, D>&) const { return Forwarded{values, Tuple(vectors)}; }
  void backward(const Tuple<Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const Tensor<T, D>& v = get<0>(saved);
    detail::multiply_to(dx, dx.shape(), Tensor<T, D>(v * g.unsqueeze(-2)), v.transpose());
  }
};

/// The eigenvectors.
template <class T, class D>
struct SymmetricEigenvectors {
  static constexpr const char* name = "linalg::eigh";
  Tensor<T, D> values, vectors;

  auto forward(const Tensor<T, D>&) const { return Forwarded{vectors, Tuple(values, vectors)}; }
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto& [w, v] = saved;
    const Tensor<T, D> product = matmul(v.transpose(), g);
    const Tensor<T, D> inner = (product - product.transpose()) * T(0.5) / detail::gaps(w);
    detail::multiply_to(dx, dx.shape(), matmul(v, inner), v.transpose());
  }
};

}  // namespace operation

namespace linalg {

/// The result of eigh: `auto [values, vectors] = linalg::eigh(x)`. Y is Tensor<T, D>, or Traced<T, D> of a traced x.
template <class Y>
struct Eigh {
  Y values;   ///< (..., n), ascending
  Y vectors;  ///< (..., n, n), orthonormal; column i belongs to value i
};

/// Eigenvalues and eigenvectors of symmetric matrices: torch.linalg.eigh, numpy.linalg.eigh. Only the lower triangle of
/// x is read. The sign of each vector is arbitrary; the columns of `vectors` lie one after another in memory.
/// shape: (..., n, n) -> (..., n) and (..., n, n)
/// gradient: symmetric; of the values v diag(g) v^T, of the vectors v (p - p^T) / (2 e) v^T, where p = v^T g and
///           e(i, j) = values(j) - values(i), not finite for equal eigenvalues
/// cost:  about 9 n^3 for each matrix, a copy of it and a launch; on Cuda the host waits twice. Backward 2 products for
///        the values, 3 for the vectors
/// throws NumericError for NaN or infinity in the lower triangle, and an iteration that does not converge, naming the
///        matrix; ShapeError
template <detail::MatrixOperand X>
[[nodiscard]] auto eigh(const X& x) {
  using T = value_of<X>;
  using D = device_of<X>;
  const auto& given = x.eval();
  const auto [values, work] = detail::eigenvalues("linalg::eigh", given.value(), true);
  const Tensor<T, D> vectors = work.transpose();
  auto first = apply(operation::SymmetricEigenvalues<T, D>{values, vectors}, given);
  return Eigh<decltype(first)>{std::move(first), apply(operation::SymmetricEigenvectors<T, D>{values, vectors}, given)};
}

/// The eigenvalues alone: torch.linalg.eigvalsh. As eigh otherwise, also in gradient and cost where x is traced.
/// shape: (..., n, n) -> (..., n)     cost: 4 n^3 / 3 for each matrix, and as eigh
template <detail::MatrixOperand X>
[[nodiscard]] auto eigvalsh(const X& x) {
  const auto& given = x.eval();
  const auto [values, work] = detail::eigenvalues("linalg::eigvalsh", given.value(), X::role == Role::traced);
  return apply(operation::SymmetricEigenvalues<value_of<X>, device_of<X>>{values, work.transpose()}, given);
}

#include <locus/refuse/linalg/eigh.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
