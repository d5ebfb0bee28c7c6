#pragma once
// Covariances and correlations of variables. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/matmul.hpp>
#include <locus/ops/moments.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// x as (variables, observations). throws ShapeError
template <class X>
[[nodiscard]] auto variables_of(std::string_view name, const X& x) {
  const int rank = x.shape().rank();
  if (rank < 1 || rank > 2)
    fail<ShapeError>(
        {name, ": x of shape ", x.shape(), "; expected (variables, observations), or a list of observations"});
  return reshape(x, {rank == 1 ? 1 : x.shape()[0], x.shape()[-1]});
}
/// The mean of each variable. Distances from the mean sum to 0, so that their products pass no gradient through it.
template <class X>
[[nodiscard]] auto means_of(std::string_view name, const X& rows) {
  return exact_mean({name, rows.shape(), -1}, rows.value());
}
/// rows * rows^T, a scalar for a list.
/// rows less the mean, whose sums are 0. The mean and its rounding error count as constants, because the gradient of
/// the products through them is exactly 0. Gradients of this gradient need the term that is 0 in value, but not its
/// slope.
template <class X, class M>
[[nodiscard]] auto centered(const X& rows, const M& average, const M& rest) {
  if constexpr (LOCUS_DOUBLE_BACKWARD != 0 && bare_t<X>::role == Role::traced) {
    const auto recorded = mean(rows, -1, true);
    return rows - average - rest - (recorded - recorded.value());
  } else {
    return rows - average - rest;
  }
}
template <class X>
[[nodiscard]] auto products(const X& rows, int rank) {
  const auto all = matmul(rows, rows.transpose());
  return reshape(all, rank == 1 ? Shape{} : all.shape());
}
}  // namespace detail

/// Covariances between every two rows of x: numpy.cov, torch.cov. Each row is a variable, and columns are observations;
/// a list is one variable. The sums of products are divided by the number of observations less `correction`. Accurate
/// beside an offset common to a variable.
/// shape: (v, n) -> (v, v); (n,) -> ()
/// gradient: (g + g^T) (x - mean) / (n - correction)
/// cost: three launches, one of them a product; backward four
/// throws ShapeError for more than two dimensions; ArgumentError unless correction is finite
template <detail::FloatingOperand X>
[[nodiscard]] auto cov(const X& x, double correction = 1) {
  using R = detail::option_t<value_of<X>>;
  const R less = detail::finite_as<R>("cov", "correction", correction);
  const auto rows = detail::variables_of("cov", x);
  const auto [mean, rest] = detail::means_of("cov", rows);
  const R degrees = static_cast<R>(rows.shape()[1]) - less;
  // Divides by the root before the product: the sum of products may overflow where the covariance does not.
  const R root = math::sqrt(degrees > R(0) ? degrees : R(1));
  const auto scaled = (detail::centered(rows, mean, rest) / root).eval();
  const auto all = detail::products(scaled, x.shape().rank());
  return degrees > R(0) ? all : (all / R(0)).eval();
}

/// Correlation coefficients between every two rows of x: numpy.corrcoef, torch.corrcoef. Right also where covariances
/// are not representable. Clamped to [-1, 1] against rounding. NaN where a variable is constant.
/// shape: (v, n) -> (v, v); (n,) -> ()
/// gradient: as cov, through its quotient with the deviations
/// cost: five launches, one of them a product
/// throws ShapeError for more than two dimensions
template <detail::FloatingOperand X>
[[nodiscard]] auto corrcoef(const X& x) {
  using R = detail::option_t<value_of<X>>;
  const auto rows = detail::variables_of("corrcoef", x);
  const auto [mean, rest] = detail::means_of("corrcoef", rows);
  const R root = math::sqrt(static_cast<R>(rows.shape()[1]));
  const auto deviations = stddev(rows, -1, {.correction = 0, .keepdim = true});
  const auto standard = (detail::centered(rows, mean, rest) / deviations / root).eval();
  return clamp(detail::products(standard, x.shape().rank()), -1, 1).eval();
}

#include <locus/refuse/ops/cov.inc>

}}  // namespace locus::LOCUS_ABI
