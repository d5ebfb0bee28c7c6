#pragma once
// The QR factorization, and products of Householder reflections. Not part of locus/locus.hpp; programs link with
// -llapack.

#include <locus/linalg/triangular.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// The gradient of a matrix of at least as many rows as columns from the gradients of its q and r; null: zero.
template <class T, class D>
[[nodiscard]] Tensor<T, D> from_qr(const Tensor<T, D>& q, const Tensor<T, D>& r, const Tensor<T, D>* of_q,
                                   const Tensor<T, D>* of_r) {
  Tensor<T, D> inner;
  if (of_r) inner = matmul(*of_r, r.transpose());
  if (of_q) {
    const Tensor<T, D> part = matmul(q.transpose(), *of_q);
    inner = of_r ? Tensor<T, D>(inner - part) : Tensor<T, D>(-part);
  }
  const Tensor<T, D> symmetric = triu(inner) + triu(inner, 1).transpose();
  Tensor<T, D> sum = matmul(q, symmetric);
  if (of_q) sum = sum + *of_q;
  return solved_triangular("linalg::qr", r, sum.transpose(), {.upper = true}).transpose();  // x r^T = sum
}

/// The same of any matrix. One with more columns than rows is [q r1, a2], where r = [r1, q^T a2].
template <class T, class D>
void give_from_qr(const Tensor<T, D>& a, const Tensor<T, D>& q, const Tensor<T, D>& r, const Tensor<T, D>* of_q,
                  const Tensor<T, D>* of_r, Gradient<T, D>& da) {
  const std::int64_t m = a.size(-2);
  if (a.size(-1) <= m) return da.give(from_qr(q, r, of_q, of_r));
  const Tensor<T, D> r1 = r.slice(-1, 0, m);
  if (!of_r) {
    const Tensor<T, D> first = from_qr(q, r1, of_q, of_r), rest(a.slice(-1, m).shape(), a.device());
    rest.fill_(T(0));
    return da.give(concat(-1, first, rest));
  }
  const Tensor<T, D> g1 = of_r->slice(-1, 0, m), g2 = of_r->slice(-1, m);
  const Tensor<T, D> of_turned = matmul(a.slice(-1, m), g2.transpose());
  da.give(concat(-1, from_qr(q, r1, &of_turned, &g1), matmul(q, g2)));
}

}  // namespace detail

namespace operation {

template <class T, class D>
struct QrOrthogonal {
  static constexpr const char* name = "linalg::qr";
  Tensor<T, D> q, r;

  auto forward(const Tensor<T, D>& a) const { return Forwarded{q, Tuple(a, q, r)}; }
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g,
                Gradient<T, D>& da) const {
    const auto& [a, saved_q, saved_r] = saved;
    detail::give_from_qr<T, D>(a, saved_q, saved_r, &g, nullptr, da);
  }
};

template <class T, class D>
struct QrTriangular {
  static constexpr const char* name = "linalg::qr";
  Tensor<T, D> q, r;

  auto forward(const Tensor<T, D>& a) const { return Forwarded{r, Tuple(a, q, r)}; }
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g,
                Gradient<T, D>& da) const {
    const auto& [a, saved_q, saved_r] = saved;
    detail::give_from_qr<T, D>(a, saved_q, saved_r, nullptr, &g, da);
  }
};

}  // namespace operation

namespace linalg {

/// The result of qr: `auto [q, r] = linalg::qr(x)`. Y is Tensor<T, D>, or Traced<T, D> of a traced x.
template <class Y>
struct Qr {
  Y q;  ///< (..., m, k), k = min(m, n), with orthonormal columns
  Y r;  ///< (..., k, n), upper triangular
};

/// x = q r, by Householder reflections: torch.linalg.qr, numpy.linalg.qr. Signs are LAPACK's. Columns of q lie one
/// after another in memory.
/// shape: (..., m, n) -> (..., m, k) and (..., k, n), k = min(m, n)
/// gradient: (g of q + q s) r^-T for the first k columns, where s is the upper triangle of (g of r) r^T - q^T (g of q),
///           mirrored. These columns must be independent
/// cost:  4 m n k for each matrix, two copies of it and a launch; backward up to three products and a triangular solve
///        for q, and for r
/// throws ShapeError; its backward pass NumericError where r is singular
template <detail::MatrixOperand X>
[[nodiscard]] auto qr(const X& x) {
  using T = value_of<X>;
  using D = device_of<X>;
  static constexpr const char* name = "linalg::qr";
  const auto& given = x.eval();
  const Tensor<T, D>& a = given.value();
  detail::require_matrices(name, a.shape());
  const std::int64_t k = detail::smaller(a.size(-2), a.size(-1));
  const Tensor<T, D> work = detail::column_major(a), tau(detail::per_matrix(a.shape(), k), a.device());
  Factorization<D>::householder(a.device(), detail::matrix_batch(name, work.shape()), work.data(), tau.data());
  const Tensor<T, D> columns = work.slice(-2, 0, k).clone();
  Factorization<D>::orthogonal(a.device(), detail::matrix_batch(name, columns.shape()), columns.data(), tau.data());
  const Tensor<T, D> q = columns.transpose(), r = triu(work.transpose().slice(-2, 0, k));
  auto first = apply(operation::QrOrthogonal<T, D>{q, r}, given);
  return Qr<decltype(first)>{std::move(first), apply(operation::QrTriangular<T, D>{q, r}, given)};
}

}  // namespace linalg

namespace detail {

/// H(0) ... H(k - 1) units, where H(i) = 1 - tau(i) v(i) v(i)^T: each step has a gradient.
template <class V, class Tau>
[[nodiscard]] auto reflected(const V& reflectors, const Tau& tau) {
  using T = value_of<V>;
  using D = device_of<V>;
  const Tensor<T, D> units =
      eye<T>(reflectors.size(-2), reflectors.size(-1), reflectors.device()).expand(reflectors.shape());
  const auto below = (tril(reflectors, -1) + units).eval();
  const auto step = [&](const auto& q, std::int64_t i) {
    const auto v = slice(below, -1, i, i + 1);
    return (q - matmul(v, matmul(transpose(v), q)) * unsqueeze(slice(tau, -1, i, i + 1), -1)).eval();
  };
  std::remove_cvref_t<decltype(step(units, 0))> q(units);
  for (std::int64_t i = tau.size(-1); i-- > 0;) q = step(q, i);
  return q;
}

}  // namespace detail

namespace linalg {

/// The first n columns of the product of Householder reflections 1 - tau(i) v(i) v(i)^T, where v(i) is 0 above row i, 1
/// in it, and column i of x below: torch.linalg.householder_product, LAPACK's orgqr.
/// shape: x (..., m, n), m >= n, tau (..., k), k <= n -> (..., m, n)
/// gradient: of x and tau, step by step
/// cost:  as the q of qr; of traced operands three products and two launches for each reflection, and as many backward
/// throws ShapeError
template <class X, class Tau>
  requires detail::MatrixOperands<X, Tau>
[[nodiscard]] auto householder_product(const X& x, const Tau& tau) {
  using T = value_of<X>;
  using D = device_of<X>;
  static constexpr const char* name = "linalg::householder_product";
  const auto& reflectors = x.eval();
  const auto& numbers = tau.eval();
  const Shape shape = reflectors.shape();
  detail::require_matrices(name, shape);
  if (shape[-2] < shape[-1] || numbers.rank() + 1 != shape.rank() || numbers.size(-1) > shape[-1] ||
      detail::per_matrix(shape, numbers.size(-1)) != numbers.shape())
    fail<ShapeError>({name, ": reflectors of shape ", shape, " with tau of shape ", numbers.shape(),
                      "; expected (..., m, n) of m >= n, and (..., k) of k <= n with the same batch"});
  if constexpr (detail::joint_role<X::role, Tau::role> == Role::traced) {
    return detail::reflected(reflectors, numbers);
  } else {
    const Tensor<T, D> q = detail::column_major(reflectors.value());
    const Tensor<T, D> all(detail::per_matrix(shape, shape[-1]), reflectors.device());
    all.fill_(T(0));  // a reflection of tau 0 changes nothing
    all.slice(-1, 0, numbers.size(-1)).copy_(numbers.value());
    Factorization<D>::orthogonal(q.device(), detail::matrix_batch(name, q.shape()), q.data(), all.data());
    return Tensor<T, D>(q.transpose());
  }
}

#include <locus/refuse/linalg/qr.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
