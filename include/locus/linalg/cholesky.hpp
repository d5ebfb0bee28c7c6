#pragma once
// The Cholesky factorization. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/lu.hpp>
#include <locus/ops/triangle.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// The info of a matrix, or the number of its first NaN pivot if that comes before.
template <class T>
struct InfoOfNan {
  const T* factors;
  std::int64_t n;
  LOCUS_FN void operator()(std::int64_t matrix, std::int32_t before, std::int32_t& info) const {
    info = before;
    for (std::int64_t i = before == 0 ? n : before - 1; i-- > 0;) {
      const T pivot = factors[(matrix * n + i) * n + i];
      if (pivot != pivot) info = static_cast<std::int32_t>(i + 1);
    }
  }
};

}  // namespace detail

namespace operation {

struct Cholesky {
  static constexpr const char* name = "linalg::cholesky";

  template <class T, class D>
  auto forward(const Tensor<T, D>& a) const {
    detail::require_square(name, a.shape());
    const Tensor<T, D> work = a.clone();
    const Tensor<std::int32_t, D> info(detail::per_matrix(a.shape()), a.device());
    Factorization<D>::cholesky(a.device(), detail::matrix_batch(name, a.shape()), work.data(), info.data());
    if (!a.empty()) {  // OpenBLAS and cuSOLVER pass over NaN; wherever it was, it spread to a pivot
      const auto plan =
          make_plan<3>(info.shape(), {detail::operand_of(info), detail::operand_of(info), detail::operand_of(info)});
      Backend<D>::map(a.device(), plan, detail::InfoOfNan<T>{work.data(), a.size(-1)},
                      Pack<LinearIndex, const std::int32_t*>(LinearIndex{}, info.data()),
                      Pack<std::int32_t*>(info.data()));
      detail::require_no_info(info, [&](std::int64_t matrix, std::int32_t order) {
        fail<NumericError>({name, ": ", detail::matrix_name(a.shape(), matrix), " is not positive definite: pivot ",
                            order - 1, ", of its first ", order,
                            " rows and columns, is not above 0; add a multiple of the identity, or use linalg::eigh"});
      });
    }
    const Tensor<T, D> y = tril(work);
    return Forwarded{y, Tuple(y)};
  }

  // With P = L^T G, and S = (tril(P) + tril(P, -1)^T) / 2: dA = L^-T S L^-1, symmetric, as PyTorch has it.
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& da) const {
    const Tensor<T, D>& lower = get<0>(saved);
    const Tensor<T, D> product = matmul(lower.transpose(), g);
    const Tensor<T, D> strict = tril(product, -1);
    const Tensor<T, D> s = (tril(product) + strict.transpose()) * T(0.5);
    da.give(solved(lower, solved(lower, s)));
  }

 private:
  /// The transposed x of L^T x = b. L^T is its own LU factorization, without row exchanges.
  template <class T, class D>
  [[nodiscard]] static Tensor<T, D> solved(const Tensor<T, D>& lower, const Tensor<T, D>& b) {
    const Tensor<std::int32_t, D> unmoved = arange<std::int32_t>(1, lower.size(-1) + 1, 1, b.device())
                                                .expand(detail::per_matrix(lower.shape(), lower.size(-1)))
                                                .contiguous();
    Tensor<T, D> x = b.transpose().clone();
    detail::lu_solve(name, detail::LuFactors<T, D>{lower.contiguous(), unmoved}, true, x);
    return x;
  }
};

}  // namespace operation

namespace linalg {

/// The lower triangular L of x = L L^T, for symmetric positive definite matrices: torch.linalg.cholesky. Only the lower
/// triangle of x is read.
/// shape: (..., n, n)
/// gradient: L^-T S L^-1, symmetric, where S is the lower triangle of L^T g mirrored, its diagonal once, halved
/// cost:  n^3 / 3 for each matrix, a copy of it and two launches; on Cuda the host waits once. Backward about 6 n^3
/// throws NumericError for a matrix that is not positive definite, or holds NaN in its lower triangle, naming it and
///        the pivot; ShapeError
template <detail::MatrixOperand X>
[[nodiscard]] auto cholesky(const X& x) {
  return apply(operation::Cholesky{}, x);
}

#include <locus/refuse/linalg/cholesky.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
