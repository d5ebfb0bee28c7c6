#pragma once
// Covariances and correlations of variables. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/matmul.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/view.hpp>

namespace locus::inline LOCUS_ABI {

namespace detail {
template <class X>
[[nodiscard]] auto covariances(std::string_view name, const X& x, double correction) {
  using R = compute_t<value_of<X>>;
  const R less = finite_as<R>(name, "correction", correction);
  const int rank = x.shape().rank();
  if (rank < 1 || rank > 2)
    fail<ShapeError>(
        {name, ": x of shape ", x.shape(), "; expected (variables, observations), or a list of observations"});
  const std::int64_t observations = x.shape()[-1];
  const auto rows = reshape(x, {rank == 1 ? 1 : x.shape()[0], observations});
  const auto centered = (rows - mean(rows, -1, true)).eval();
  const R rest = static_cast<R>(observations) - less;
  const auto all = (matmul(centered, centered.transpose()) / (rest > R(0) ? rest : R(0))).eval();
  return reshape(all, rank == 1 ? Shape{} : all.shape());
}
}  // namespace detail

/// Covariances between every two rows of x, each a variable, whose columns are observations: numpy.cov, torch.cov. A
/// list is one variable. The sums of products are divided by the number of observations less `correction`.
/// shape: (v, n) -> (v, v); (n,) -> ()
/// gradient: (g + g^T) (x - mean) / (n - correction)
/// cost: four launches, one of them a product; backward eight
/// throws ShapeError for more than two dimensions; ArgumentError unless correction is finite
template <detail::FloatingOperand X>
[[nodiscard]] auto cov(const X& x, double correction = 1) {
  return detail::covariances("cov", x, correction);
}

/// Correlation coefficients between every two rows of x: numpy.corrcoef, torch.corrcoef. What rounding makes larger
/// than 1 is 1. NaN where a variable is constant.
/// shape: (v, n) -> (v, v); (n,) -> ()
/// gradient: that of cov, through its quotient with the deviations
/// cost: that of cov, and two launches
/// throws ShapeError for more than two dimensions
template <detail::FloatingOperand X>
[[nodiscard]] auto corrcoef(const X& x) {
  const auto covariances = detail::covariances("corrcoef", x, 1);
  if (covariances.rank() == 0) return (covariances / covariances).eval();
  const auto deviations = sqrt(covariances.diagonal()).eval();
  return clamp(covariances / deviations.unsqueeze(-1) / deviations.unsqueeze(-2), -1, 1).eval();
}

#include <locus/refuse/ops/cov.inc>

}  // namespace locus::inline LOCUS_ABI
