#pragma once
// Negative logarithms of likelihoods: of events (Poisson), of normally distributed numbers, of yes and no (given as
// probabilities). Not part of locus/locus.hpp.

#include <locus/nn/criterion.hpp>
#include <locus/tensor/host_reads.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

struct PoissonNLLLossOptions {
  bool log_input = true;  ///< predictions are logarithms of rates, rather than rates
  bool full = false;      ///< add Stirling's approximation of log(y!), for targets above 1
  double eps = 1e-8;      ///< added to rates before their logarithm
  Reduction reduction = Reduction::mean;
};
/// The negative log-likelihood of counts y that are Poisson distributed: e^x - y x of a logarithm x of the rate, or
/// x - y log(x + eps) of the rate x.
/// shape: (), or the operands' with Reduction::none     gradient: g (e^x - y), or g (1 - y / (x + eps))
/// throws ShapeError unless shapes are equal; ArgumentError for an eps that is negative or not finite
template <class P, class Y>
  requires detail::LossOperands<P, Y>
[[nodiscard]] auto poisson_nll_loss(const P& prediction, const Y& target, const PoissonNLLLossOptions& options = {}) {
  detail::require_same_shape("poisson_nll_loss", prediction, target);
  using R = compute_t<value_of<P>>;
  locus::detail::require_not_negative("poisson_nll_loss", "eps", options.eps);
  const R eps = static_cast<R>(options.eps), full = options.full ? R(1) : R(0);
  const auto stirling = [full](auto y) {
    auto some = where(y > R(1), y, R(1));
    return where(y > R(1), full * (y * log(some) - y + R(0.5) * log(some * R(6.283185307179586))), R(0));
  };
  if (options.log_input) {
    const auto formula = [=](auto x, auto y) { return exp(x) - y * x + stirling(y); };
    return detail::reduced(fuse(formula, prediction, target), options.reduction);
  }
  const auto formula = [=](auto x, auto y) { return x - y * log(x + eps) + stirling(y); };
  return detail::reduced(fuse(formula, prediction, target), options.reduction);
}

struct GaussianNLLLossOptions {
  bool full = false;  ///< add log(2 pi) / 2, which does not depend on the prediction
  double eps = 1e-6;  ///< least variance that counts
  Reduction reduction = Reduction::mean;
};

namespace detail {
/// (log(v) + (x - y)^2 / v) / 2 + constant, where v is the variance, or eps if that is larger. The derivative by the
/// variance is that by v, so that small variances learn, too.
template <class R>
struct GaussianLikelihood {
  R eps, constant;
  static constexpr unsigned reads(int) { return 7u; }
  template <class T> LOCUS_FN T bounded(T variance) const { return variance < T(eps) ? T(eps) : variance; }
  template <class T>
  LOCUS_FN T operator()(T x, T y, T variance) const {
    const T v = bounded(variance), difference = x - y;
    return T(0.5) * (math::log(v) + difference * difference / v) + T(constant);
  }
  template <class T>
  LOCUS_FN Pack<T, T, T> by_inputs(T x, T y, T variance) const {
    const T v = bounded(variance), ratio = (x - y) / v;
    return {ratio, -ratio, T(0.5) * (T(1) / v - ratio * ratio)};
  }
};

/// throws ShapeError unless a variance is there for each element or each row, or one for all
LOCUS_OUT_OF_LINE inline void require_variances(const Shape& variance, const Shape& prediction) {
  Shape rows = prediction;
  if (rows.rank() > 0) rows[-1] = 1;
  if (variance == prediction || variance == rows || elements(variance) == 1) return;
  fail<ShapeError>({"gaussian_nll_loss: variances of shape ", variance, " for a prediction of shape ", prediction,
                    "; expected the same shape, or an extent of 1 for the last dimension"});
}
}  // namespace detail

/// The negative log-likelihood of numbers that are normally distributed around a prediction, with a predicted variance:
/// (log(v) + (prediction - target)^2 / v) / 2.
/// shape: (), or the prediction's with Reduction::none; the variance may have an extent of 1 in the last dimension
/// throws ShapeError; ArgumentError for an eps that is not positive, and a negative variance, if the host can read it
template <class P, class Y, class V>
  requires detail::ThreeLossOperands<P, Y, V>
[[nodiscard]] auto gaussian_nll_loss(const P& prediction, const Y& target, const V& variance,
                                     const GaussianNLLLossOptions& options = {}) {
  detail::require_same_shape("gaussian_nll_loss", prediction, target);
  using R = compute_t<value_of<P>>;
  const R eps = locus::detail::finite_as<R>("gaussian_nll_loss", "eps", options.eps);
  if (!(eps > 0)) fail<ArgumentError>({"gaussian_nll_loss: eps is ", options.eps, "; expected more than 0"});
  const auto& variances = variance.eval().value();
  detail::require_variances(variances.shape(), prediction.value().shape());
  locus::detail::check_elements(variances, [](const auto& v, std::int64_t i) {
    if (static_cast<double>(v) < 0)
      fail<ArgumentError>(
          {"gaussian_nll_loss: variance ", static_cast<double>(v), " at position ", i, "; expected 0 or more"});
  });
  const detail::GaussianLikelihood<R> f{eps, options.full ? R(0.9189385332046727) : R(0)};
  return detail::reduced(elementwise(f, prediction, target, variance), options.reduction);
}

namespace detail {
/// -y log(x) - (1 - y) log(1 - x), with logarithms of at least -100, as PyTorch's.
struct ProbabilityLoss {
  static constexpr unsigned reads(int input) { return input == 0 ? 3u : 1u; }
  template <class T>
  LOCUS_FN static T bounded_log(T x) {
    const T y = math::log(x);
    return y < T(-100) ? T(-100) : y;
  }
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    return (y - T(1)) * bounded_log(T(1) - x) - y * bounded_log(x);
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T y) const {
    const T variance = (T(1) - x) * x, least = T(1e-12);
    return {(x - y) / (variance < least ? least : variance), bounded_log(T(1) - x) - bounded_log(x)};
  }
};

/// throws as binary_cross_entropy
template <class P, class Y>
void require_probabilities(const P& probability, const Y& target) {
  require_same_shape("binary_cross_entropy", probability, target);
  locus::detail::check_elements(probability.eval().value(), [](const auto& p, std::int64_t i) {
    const auto number = static_cast<double>(p);
    if (number < 0 || number > 1)
      fail<ArgumentError>({"binary_cross_entropy: a prediction of ", number, " at position ", i,
                           "; expected a probability, 0 to 1, as sigmoid(logits) gives it"});
  });
}
}  // namespace detail

/// Binary cross-entropy of probabilities: -y log(x) - (1 - y) log(1 - x). With logits,
/// binary_cross_entropy_with_logits is stable where this one is not; of 16 bits, 1 - x has few digits.
/// shape: (), or the operands' with Reduction::none     gradient: g (x - y) / (x (1 - x))
/// throws ShapeError unless shapes are equal; ArgumentError for a prediction outside [0, 1], if the host can read it
template <class P, class Y>
  requires detail::LossOperands<P, Y>
[[nodiscard]] auto binary_cross_entropy(const P& probability, const Y& target, Reduction reduction = Reduction::mean) {
  detail::require_probabilities(probability, target);
  return detail::reduced(elementwise(detail::ProbabilityLoss{}, probability, target), reduction);
}
/// The same, each element's loss times a weight: a plain tensor, of any shape that broadcasts to the predictions'. As
/// in PyTorch, a mean divides by the number of elements, whatever their weights. throws ShapeError for other weights
template <class P, class Y, class T, class D>
  requires(detail::LossOperands<P, Y> &&
           detail::IsWrong<detail::LossWeightsMistake<P, Y, T, D>, detail::Wrong::nothing>)
[[nodiscard]] auto binary_cross_entropy(const P& probability, const Y& target, const Tensor<T, D>& weights,
                                        Reduction reduction = Reduction::mean) {
  detail::require_probabilities(probability, target);
  detail::require_weights_fit("binary_cross_entropy", "weights", weights.shape(), "predictions",
                              probability.value().shape());
  return detail::reduced(elementwise(detail::ProbabilityLoss{}, probability, target) * weights, reduction);
}

#include <locus/refuse/nn/likelihood_loss.inc>

/// poisson_nll_loss(prediction, target).
struct PoissonNLLLoss {
  PoissonNLLLossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& prediction, const Y& target) const {
    return poisson_nll_loss(prediction, target, options);
  }
#include <locus/refuse/nn/criterion_poisson_nll.inc>
};

/// gaussian_nll_loss(prediction, target, variance).
struct GaussianNLLLoss {
  GaussianNLLLossOptions options = {};

  template <class P, class Y, class V>
    requires detail::ThreeLossOperands<P, Y, V>
  [[nodiscard]] auto operator()(const P& prediction, const Y& target, const V& variance) const {
    return gaussian_nll_loss(prediction, target, variance, options);
  }
#include <locus/refuse/nn/criterion_gaussian_nll.inc>
};

/// binary_cross_entropy(probability, target), optionally with weights on the device of the predictions: W is their
/// tensor.
///
///     const nn::BCELoss loss;
///     const nn::BCELoss weighted{from({1.f, 4.f}), {.reduction = Reduction::sum}};
template <class W = detail::NoClassWeights>
struct BCELoss {
  LossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& probability, const Y& target) const {
    return binary_cross_entropy(probability, target, options.reduction);
  }
#include <locus/refuse/nn/criterion_bce.inc>
};
template <class T, class D>
struct BCELoss<Tensor<T, D>> {
  Tensor<T, D> weights;  ///< of any shape that broadcasts to the predictions'
  LossOptions options = {};

  template <class P, class Y>
    requires detail::ElementsWeightedBy<P, Y, T, D>
  [[nodiscard]] auto operator()(const P& probability, const Y& target) const {
    const Tensor<value_of<P>, D> own(weights.template as<value_of<P>>());  // 16-bit weights of losses in float
    return binary_cross_entropy(probability, target, own, options.reduction);
  }
#include <locus/refuse/nn/criterion_bce_weighted.inc>
};
BCELoss() -> BCELoss<>;
BCELoss(LossOptions) -> BCELoss<>;
template <class T, class D>
BCELoss(const Tensor<T, D>&, LossOptions = {}) -> BCELoss<Tensor<T, D>>;
#include <locus/refuse/nn/criterion_bce_guide.inc>

}}}  // namespace locus::LOCUS_ABI::nn
