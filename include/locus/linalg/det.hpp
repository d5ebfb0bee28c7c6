#pragma once
// Determinants. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/lu.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// The diagonal of factors, and the parity of their row exchanges.
template <class T>
struct LuDiagonal {
  const T* factors;
  const std::int32_t* pivots;
  std::int64_t n;

  [[nodiscard]] LOCUS_FN T at(std::int64_t matrix, std::int64_t i) const { return factors[(matrix * n + i) * n + i]; }
  [[nodiscard]] LOCUS_FN T parity(std::int64_t matrix) const {
    T sign = 1;
    for (std::int64_t i = 0; i < n; ++i)
      if (pivots[matrix * n + i] != static_cast<std::int32_t>(i + 1)) sign = -sign;
    return sign;
  }
};

template <class T>
struct ProductOfDiagonal {
  LuDiagonal<T> lu;
  LOCUS_FN void operator()(std::int64_t matrix, T& product) const {
    product = lu.parity(matrix);
    for (std::int64_t i = 0; i < lu.n; ++i) product *= lu.at(matrix, i);
  }
};
template <class T>
struct SignOfDiagonal {
  LuDiagonal<T> lu;
  LOCUS_FN void operator()(std::int64_t matrix, T& sign) const {
    sign = lu.parity(matrix);
    for (std::int64_t i = 0; i < lu.n; ++i) sign *= functor::Sign{}(lu.at(matrix, i));
  }
};

/// Replaces a pivot of 0 by a small number.
struct PivotNotZero {
  template <class T>
  LOCUS_FN T operator()(T pivot) const {
    return pivot == 0 ? static_cast<T>(sizeof(T) == sizeof(float) ? 0x1p-40 : 0x1p-300) : pivot;
  }
};

/// F of the diagonal of each matrix's factors.
template <template <class> class F, class T, class D>
[[nodiscard]] Tensor<T, D> of_diagonals(const LuFactors<T, D>& lu) {
  return from_indices<T>(per_matrix(lu.factors.shape()), lu.factors.device(),
                         F<T>{{lu.factors.data(), lu.pivots.data(), lu.factors.size(-1)}});
}

/// Adds g times the transposed inverse of each factored matrix to a gradient.
template <class T, class D>
void add_transposed_inverse(const char* name, const LuFactors<T, D>& lu, const Tensor<T, D>& g, Gradient<T, D>& da) {
  const Tensor<T, D> y = identities(lu.factors);
  lu_solve(name, lu, false, y);  // the columns of the inverse are the rows of the transposed one
  map_to(da, functor::Multiply{}, y, g.unsqueeze(-1).unsqueeze(-1));
}

}  // namespace detail

namespace operation {

struct Determinant {
  static constexpr const char* name = "linalg::det";

  template <class T, class D>
  auto forward(const Tensor<T, D>& a) const {
    detail::require_square(name, a.shape());
    const auto lu = detail::lu_factors(name, a, Tensor<std::int32_t, D>(detail::per_matrix(a.shape()), a.device()));
    return Forwarded{detail::of_diagonals<detail::ProductOfDiagonal>(lu), Tuple(lu.factors, lu.pivots)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<std::int32_t, D>>& saved, const Tensor<T, D>& g,
                Gradient<T, D>& da) const {
    const auto& [factors, pivots] = saved;
    const detail::LuFactors<T, D> lu{factors.clone(), pivots};
    const Tensor<T, D> diagonal = lu.factors.diagonal(0, -2, -1);
    detail::map_into(diagonal, detail::PivotNotZero{}, diagonal);
    const Tensor<T, D> scaled = g * detail::of_diagonals<detail::ProductOfDiagonal>(lu);
    detail::add_transposed_inverse(name, lu, scaled, da);
  }
};

template <class T, class D>
struct LogDeterminant {
  static constexpr const char* name = "linalg::slogdet";
  Tensor<T, D> sign;  ///< written by forward

  auto forward(const Tensor<T, D>& a) const {
    const auto lu = detail::lu_factors(name, a, Tensor<std::int32_t, D>(sign.shape(), a.device()));
    detail::copy_elements(detail::of_diagonals<detail::SignOfDiagonal>(lu), sign);
    return Forwarded{Tensor<T, D>(sum(log(abs(lu.factors.diagonal(0, -2, -1))), -1)), Tuple(lu.factors, lu.pivots)};
  }
  void backward(const Tuple<Tensor<T, D>, Tensor<std::int32_t, D>>& saved, const Tensor<T, D>& g,
                Gradient<T, D>& da) const {
    const auto& [factors, pivots] = saved;
    detail::add_transposed_inverse(name, detail::LuFactors<T, D>{factors, pivots}, g, da);
  }
};

}  // namespace operation

namespace linalg {

/// The determinant of each matrix: torch.linalg.det. 1 of a 0 x 0 matrix, 0 of a singular one.
/// shape: (..., n, n) -> (...)
/// gradient: g times the cofactors. A pivot of 0 counts as 2^-40, in double as 2^-300, so that the cofactors of a
///           singular matrix are right, too, unless more than three such pivots depend on each other
/// cost:  2 n^3 / 3 for each matrix, a copy of it and a launch; backward 2 n^3 and five launches
/// throws ShapeError
template <detail::MatrixOperand X>
[[nodiscard]] auto det(const X& x) {
  return apply(operation::Determinant{}, x);
}

/// The result of slogdet: `auto [sign, log] = linalg::slogdet(x)`.
template <class Sign, class Log>
struct SignAndLog {
  Sign sign;      ///< -1, 0 or 1; NaN of NaN
  Log logabsdet;  ///< the natural logarithm of the magnitude; -infinity where it is 0
};

/// Sign and logarithm of each determinant, which itself may overflow or vanish: torch.linalg.slogdet.
/// shape: (..., n, n) -> twice (...)     gradient: of the logarithm g times the transposed inverse; the sign has none
/// cost:  2 n^3 / 3 for each matrix, a copy of it and three launches; backward 2 n^3 and three launches
/// throws ShapeError
template <detail::MatrixOperand X>
[[nodiscard]] auto slogdet(const X& x) {
  using T = value_of<X>;
  using D = device_of<X>;
  detail::require_square("linalg::slogdet", x.shape());
  const Tensor<T, D> sign(detail::per_matrix(x.shape()), x.device());
  auto log = apply(operation::LogDeterminant<T, D>{sign}, x);
  return SignAndLog<Tensor<T, D>, decltype(log)>{sign, std::move(log)};
}

#include <locus/refuse/linalg/det.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
