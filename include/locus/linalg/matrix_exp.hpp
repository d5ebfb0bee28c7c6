#pragma once
// The exponential of matrices. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/lu.hpp>
#include <locus/ops/join.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// How often a matrix is halved, given its 1-norm, so that the Pade approximant is exact to the precision of R: up to
/// 5.37 for 13 terms in double, up to 3.92 for 7 terms in float (Higham, 2005).
struct HalvingsForPade {
  template <class R>
  LOCUS_FN R operator()(R norm) const {
    const R most = sizeof(R) == sizeof(float) ? R(3.925724783138660) : R(5.371920351148152);
    R halvings = 0;
    for (; norm > most && halvings < 2048; norm /= 2) ++halvings;
    return halvings;
  }
};
struct ScaledByHalvings {
  template <class R>
  LOCUS_FN R operator()(R x, R halvings) const {
    for (; halvings > 0; --halvings) x /= 2;
    return x;
  }
};

/// p(a) and p(-a) as even + odd and even - odd parts.
template <class T, class D>
struct PadeParts {
  Tensor<T, D> odd, even;
};
template <class T, class D>
[[nodiscard]] PadeParts<T, D> pade_parts(const Tensor<T, D>& a) {
  const Tensor<T, D> i = identities(a), a2 = matmul(a, a), a4 = matmul(a2, a2), a6 = matmul(a2, a4);
  const auto number = [](double b) { return static_cast<T>(b); };
  if constexpr (std::is_same_v<T, float>) {
    const Tensor<T, D> odd = a6 + a4 * number(1512) + a2 * number(277200) + i * number(8648640);
    return {matmul(a, odd), a6 * number(56) + a4 * number(25200) + a2 * number(1995840) + i * number(17297280)};
  } else {
    const Tensor<T, D> outer_odd = a6 + a4 * number(16380) + a2 * number(40840800);
    const Tensor<T, D> odd = matmul(a6, outer_odd) + a6 * number(33522128640) + a4 * number(10559470521600) +
                             a2 * number(1187353796428800) + i * number(32382376266240000);
    const Tensor<T, D> outer_even = a6 * number(182) + a4 * number(960960) + a2 * number(1323241920);
    const Tensor<T, D> even = matmul(a6, outer_even) + a6 * number(670442572800) + a4 * number(129060195264000) +
                              a2 * number(7771770303897600) + i * number(64764752532480000);
    return {matmul(a, odd), even};
  }
}

/// By scaling and squaring: as many squarings for each matrix as halvings, so that a small one in a batch loses
/// nothing.
template <class T, class D>
[[nodiscard]] Tensor<T, D> exponential_of(const char* name, const Tensor<T, D>& x) {
  require_square(name, x.shape());
  if (x.empty()) return x.clone();
  require_finite_matrices(name, x);
  const Tensor<T, D> norms = max(Tensor<T, D>(sum(abs(x), -2)), -1);
  map_into(norms, HalvingsForPade{}, norms);
  const Tensor<T, D> halvings = norms.unsqueeze(-1).unsqueeze(-1), scaled(x.shape(), x.device());
  map_into(scaled, ScaledByHalvings{}, x, halvings.expand(x.shape()));
  const auto [odd, even] = pade_parts(scaled);
  const Tensor<T, D> right = even + odd;
  Tensor<T, D> y =
      solutions(name, regular_lu_factors(name, Tensor<T, D>(even - odd)), false, right, batch_shape(x.shape()));
  const auto most = static_cast<std::int64_t>(max(norms).item());
  for (std::int64_t done = 0; done < most; ++done) y = where(halvings > static_cast<T>(done), matmul(y, y), y);
  return y;
}

}  // namespace detail

namespace operation {

struct MatrixExponential {
  static constexpr const char* name = "linalg::matrix_exp";

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{detail::exponential_of(name, x), Tuple(x)};
  }
  // exp([x^T g; 0 x^T]) is [exp(x)^T d; 0 exp(x)^T], where d is the derivative in the direction g (Mathias, 1996).
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const Tensor<T, D> turned = get<0>(saved).transpose(), none(turned.shape(), turned.device());
    none.fill_(T(0));
    const std::int64_t n = turned.size(-1);
    const Tensor<T, D> both = detail::exponential_of(name, concat(-2, concat(-1, turned, g), concat(-1, none, turned)));
    dx.give(both.slice(-2, 0, n).slice(-1, n));
  }
};

}  // namespace operation

namespace linalg {

/// The exponential of matrices, 1 + x + x^2 / 2 + ...: torch.linalg.matrix_exp. By a Pade approximant of a scaled
/// matrix, squared.
/// shape: (..., n, n)     gradient: the derivative of exp at x^T in the direction g
/// cost:  in double 7, in float 4 products, a linear system, and log2 of the largest norm products; the host waits
///        three times. Backward the same of matrices of twice the extent
/// throws NumericError for NaN and infinity, naming the matrix; ShapeError
template <detail::MatrixOperand X>
[[nodiscard]] auto matrix_exp(const X& x) {
  return apply(operation::MatrixExponential{}, x);
}

#include <locus/refuse/linalg/matrix_exp.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
