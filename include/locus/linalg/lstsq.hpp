#pragma once
// Least squares. Not part of locus/locus.hpp; programs link with -llapack.

#include <locus/linalg/svd.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// 1 / s if s is above rcond times the largest, else 0.
template <class R>
struct InverseAbove {
  R rcond;
  LOCUS_FN R operator()(R s, R largest) const { return s > rcond * largest ? 1 / s : R(0); }
};
}  // namespace detail

namespace linalg {

struct LstsqOptions {
  double rcond =
      -1;  ///< singular values up to rcond times the largest count as 0; below 0: epsilon of T times max(m, n)
};

/// The result of lstsq: `auto [solution, residuals, rank, singular_values] = linalg::lstsq(a, b)`.
template <class T, class D>
struct Lstsq {
  Tensor<T, D> solution;         ///< (..., n, k), or (..., n) of a vector b
  Tensor<T, D> residuals;        ///< (..., k), or (...): the sum of squares of a x - b in each column, always
  Tensor<std::int64_t, D> rank;  ///< (...), how many singular values of a count
  Tensor<T, D> singular_values;  ///< (..., min(m, n)) of a, descending
};

/// The x of least |a x - b|, and among equals of least |x|: numpy.linalg.lstsq and torch.linalg.lstsq with the driver
/// gelsd. By singular values, so that a may have any rank. b of one dimension is a vector; batches broadcast.
/// shape: (..., m, n), (..., m, k) or (m) -> see Lstsq
/// cost:  as svd, four products, and some launches
/// throws NumericError for NaN and infinity in a, naming the matrix; ArgumentError unless rcond is finite; ShapeError
///
///     auto line = linalg::lstsq(stack(1, x, ones_like(x)), y).solution;
template <class A, class B>
  requires detail::PlainMatrixOperands<A, B>
[[nodiscard]] auto lstsq(const A& given, const B& right, const LstsqOptions& options = {}) {
  using T = value_of<A>;
  using D = device_of<A>;
  static constexpr const char* name = "linalg::lstsq";
  const auto& a = given.value();
  const auto& original = right.value();
  detail::require_matrices(name, a.shape());
  const bool is_vector = original.rank() == 1;
  const Tensor<T, D> b = is_vector ? original.unsqueeze(-1) : original;
  if (b.rank() < 2 || b.size(-2) != a.size(-2))
    fail<ShapeError>({name, ": matrices of shape ", a.shape(), " with right sides of shape ", original.shape(),
                      "; expected (", a.size(-2), ") or (..., ", a.size(-2), ", k)"});
  detail::require_finite(name, "rcond", options.rcond);
  const auto relative = options.rcond < 0 ? std::numeric_limits<T>::epsilon() *
                                                static_cast<double>(detail::larger(a.size(-2), a.size(-1)))
                                          : options.rcond;
  const auto [u, s, vh] = detail::singular(name, a, true, false);
  const Tensor<T, D> inverse(s.shape(), s.device());
  if (!s.empty())
    detail::map_into(inverse, detail::InverseAbove<T>{static_cast<T>(relative)}, s,
                     s.slice(-1, 0, 1).expand(s.shape()));
  const Tensor<T, D> parts = inverse.unsqueeze(-1) * matmul(u.transpose(), b);
  const Tensor<T, D> x = matmul(vh.transpose(), parts);
  const Tensor<T, D> rest = matmul(a, x) - b;
  const Tensor<T, D> residuals = sum(rest * rest, -2);
  return Lstsq<T, D>{is_vector ? x.select(-1, 0) : x, is_vector ? residuals.select(-1, 0) : residuals,
                     Tensor<std::int64_t, D>(sum(inverse != T(0), -1)), s};
}

#include <locus/refuse/linalg/lstsq.inc>

}  // namespace linalg

}}  // namespace locus::LOCUS_ABI
