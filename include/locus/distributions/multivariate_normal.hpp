#pragma once
// The multivariate normal distribution. Programs link with -llapack.

#include <locus/distributions/normal.hpp>
#include <locus/linalg/cholesky.hpp>
#include <locus/linalg/triangular.hpp>
#include <locus/ops/flip.hpp>
#include <locus/ops/matmul.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace distributions {

/// The matrix of a multivariate normal distribution: MultivariateNormal(mean, Covariance{c}).
template <class X>
struct Covariance {
  X x;
  explicit Covariance(X given) : x(std::move(given)) {}
};
/// The inverse of a covariance.
template <class X>
struct Precision {
  X x;
  explicit Precision(X given) : x(std::move(given)) {}
};
/// The lower triangular L of a covariance L L^T, with a diagonal above 0: the cheapest of the three.
template <class X>
struct ScaleTril {
  X x;
  explicit ScaleTril(X given) : x(std::move(given)) {}
};

namespace detail {

/// throws ArgumentError for matrices that are not lower triangular with a diagonal above 0, if the host can read them
template <class H>
void require_lower(const H& lower) {
  const std::int64_t n = lower.size(-1);
  locus::detail::check_elements(lower.value(), [&](value_of<H> element, std::int64_t position) {
    const auto x = static_cast<double>(load_as_register(element));
    const std::int64_t row = position / n % n, column = position % n;
    if (row == column ? x > 0 : row > column || x == 0) return;
    fail<ArgumentError>({"MultivariateNormal", ": element ", row, ", ", column, " of ScaleTril is ", x, "; expected ",
                         row == column ? "a diagonal above 0" : "zeros above the diagonal"});
  });
}

/// The matrices. throws ShapeError unless they are square; ArgumentError unless they are symmetric, as PyTorch allows
/// to 1e-6 and 1e-5 relative, if the host can read them
template <class H>
[[nodiscard]] H symmetric(const char* subject, const H& given, const Validation& validation) {
  constexpr const char* name = "MultivariateNormal";
  if (given.rank() < 2 || given.size(-1) != given.size(-2))
    fail<ShapeError>({name, ": ", subject, " of shape ", given.shape(), "; expected (..., n, n)"});
  if (!validation.validate) return given;
  require_pair(name, subject, given.value(), "its transpose", given.value().transpose(), "a symmetric matrix",
               [](double x, double y) { return !(__builtin_fabs(x - y) > 1e-6 + 1e-5 * __builtin_fabs(x)); });
  return given;
}
template <class H, class X>
[[nodiscard]] H as_scale_tril(const Covariance<X>& given, device_of<H> device, const Validation& validation) {
  return linalg::cholesky(symmetric("the covariance", as_handle<H>(given.x, device), validation));
}
/// By the Cholesky factor of the precision with its rows and columns in reverse order.
template <class H, class X>
[[nodiscard]] H as_scale_tril(const Precision<X>& given, device_of<H> device, const Validation& validation) {
  const H precision = symmetric("the precision", as_handle<H>(given.x, device), validation);
  const H inverse = flip(linalg::cholesky(flip(precision, {-2, -1})), {-2, -1});  // upper, of the transpose of L
  return linalg::solve_triangular(H(transpose(inverse)), eye<value_of<H>>(precision.size(-1), device),
                                  {.upper = false});
}
template <class H, class X>
[[nodiscard]] H as_scale_tril(const ScaleTril<X>& given, device_of<H> device, const Validation& validation) {
  constexpr const char* name = "MultivariateNormal";
  const H lower = as_handle<H>(given.x, device);
  if (lower.rank() < 2 || lower.size(-1) != lower.size(-2))
    fail<ShapeError>({name, ": ScaleTril of shape ", lower.shape(), "; expected (..., n, n)"});
  if (validation.validate) require_lower(lower);
  return tril(lower);  // no gradient above the diagonal
}
/// The elements of L^-1 x, for vectors along the last dimension of x.
template <class L, class X>
[[nodiscard]] auto whitened(const L& lower, const X& x) {
  const Shape shape = x.shape();
  const auto solved = [&](const auto& columns) { return linalg::solve_triangular(lower, columns, {.upper = false}); };
  if (lower.rank() > 2) return solved(x.unsqueeze(-1)).eval().squeeze(-1);
  return solved(x.reshape({-1, shape[-1]}).transpose()).eval().transpose().reshape(shape);
}
/// Half the logarithm of the determinant of L L^T.
template <class H>
[[nodiscard]] auto half_log_det(const H& lower) {
  return sum(log(lower.diagonal(0, -2, -1)), -1);
}

}  // namespace detail

/// Vectors with a normal distribution: torch.distributions.MultivariateNormal. The parameters may have batches, which
/// broadcast; one matrix for all vectors is factored once.
/// shape: loc (..., n), matrix (..., n, n)
/// throws ShapeError; NumericError for a covariance or precision that is not positive definite, naming the matrix;
///        ArgumentError for a covariance or precision that is not symmetric and a ScaleTril that is not lower
///        triangular with a diagonal above 0, if the host can read it
///
///     const distributions::MultivariateNormal noise(mean, distributions::Covariance{covariance});
template <class H>
class MultivariateNormal : public Distribution<MultivariateNormal<H>, H> {
  using Base = Distribution<MultivariateNormal<H>, H>;

 public:
  static constexpr const char* name = "MultivariateNormal";
  static constexpr bool has_rsample = true;

  template <class L, template <class> class Matrix, class X>
    requires(detail::MadeOf<H, L, X> && !Scalar<X>)
  MultivariateNormal(const L& loc, const Matrix<X>& matrix, const Validation& validation = {})
      : MultivariateNormal(detail::as_handle<H>(loc, detail::common_device<H>(loc, matrix.x)),
                           detail::as_scale_tril<H>(matrix, detail::common_device<H>(loc, matrix.x), validation),
                           validation) {}

  [[nodiscard]] const H& loc() const { return loc_; }
  [[nodiscard]] const H& scale_tril() const { return lower_; }
  [[nodiscard]] auto covariance_matrix() const { return matmul(lower_, lower_.transpose()); }
  [[nodiscard]] auto device() const { return loc_.device(); }

  [[nodiscard]] const H& mean() const { return loc_; }
  [[nodiscard]] auto variance() const { return detail::expanded(H(sum(square(lower_), -1)), loc_.shape()); }
  [[nodiscard]] auto entropy() const {
    const double n = static_cast<double>(loc_.size(-1));
    return detail::expanded(H(detail::half_log_det(lower_) + n * (0.5 + detail::half_log_two_pi)), Base::batch_shape());
  }

 private:
  friend Base;

  MultivariateNormal(const H& loc, const H& lower, const Validation& validation) : Base(validation), lower_(lower) {
    detail::require_rank(name, "loc", loc.shape(), 1, "(..., n)");
    const Shape batch = detail::without_last(lower.shape(), 1);
    const Shape shape = broadcast(loc.shape(), batch, name);
    if (lower.size(-1) != shape[-1])
      fail<ShapeError>({name, ": loc of shape ", loc.shape(), " with matrices of shape ", lower.shape(),
                        "; expected (..., n) and (..., n, n)"});
    loc_ = detail::expanded(loc, shape);
    Base::set_shapes(detail::without_last(shape, 1), detail::last(shape, 1));
  }

  template <class V>
  void require_support(const V& x) const {
    detail::require(name, "the value", x, "a number", detail::is_number);
  }
  template <class V>
  [[nodiscard]] auto log_prob_of(const V& value) const {
    const auto white = detail::whitened(lower_, (value - loc_).eval());
    const auto distance = sum(square(white), -1);
    const double constant = static_cast<double>(loc_.size(-1)) * detail::half_log_two_pi;
    return distance * -0.5 - detail::half_log_det(lower_) - constant;
  }
  template <class Source>
  [[nodiscard]] H drawn_of(const Shape& shape, const Source& source) const {
    const auto z = detail::standard_normals<H>(Base::extended(shape), device(), source);
    if (lower_.rank() > 2) return loc_ + matmul(lower_, z.unsqueeze(-1)).eval().squeeze(-1);
    const auto rows = z.reshape({-1, z.size(-1)});
    return loc_ + matmul(rows, lower_.transpose()).eval().reshape(z.shape());
  }

  H loc_, lower_;
};
template <class L, template <class> class Matrix, class X>
  requires(detail::Parameters<L, X> && !Scalar<X>)
MultivariateNormal(const L&, const Matrix<X>&, Validation = {}) -> MultivariateNormal<detail::handle_t<L, X>>;
#define LOCUS_REFUSED_DISTRIBUTION MultivariateNormal
#include <locus/refuse/distributions/parameters.inc>

template <class P, class Q>
  requires Combinable<P, Q>
[[nodiscard]] auto kl_divergence(const MultivariateNormal<P>& p, const MultivariateNormal<Q>& q) {
  const double n = static_cast<double>(p.loc().size(-1));
  if (p.loc().size(-1) != q.loc().size(-1))
    fail<ShapeError>({"kl_divergence: normal distributions of ", p.loc().size(-1), " and of ", q.loc().size(-1),
                      " dimensions; expected equal numbers"});
  const auto factors = linalg::solve_triangular(q.scale_tril(), p.scale_tril(), {.upper = false});
  const auto trace = sum(square(factors), {-2, -1});
  const auto distance = sum(square(detail::whitened(q.scale_tril(), (p.loc() - q.loc()).eval())), -1);
  return (trace + distance - n) * 0.5 + detail::half_log_det(q.scale_tril()) - detail::half_log_det(p.scale_tril());
}

}}}  // namespace locus::LOCUS_ABI::distributions
