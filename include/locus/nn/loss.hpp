#pragma once
// Losses. Predictions and targets are in one place; either may be traced, or be a parameter.

#include <locus/core/std/bounds.hpp>
#include <locus/ops/linear_cross_entropy.hpp>
#include <locus/ops/reduce.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

using locus::cross_entropy;
using locus::linear_cross_entropy;

/// Reduction of divergences of single elements. `mean` averages over all elements, as other losses do; `batchmean`
/// divides the sum by the first extent, the number of distributions, which is the divergence's definition.
enum class DivergenceReduction { mean, batchmean, sum, none };

namespace detail {
using namespace locus::detail;

/// Elementwise losses unreduced, summed, or averaged.
template <class L>
[[nodiscard]] auto reduced(L&& losses, Reduction reduction) {
  using Result = std::remove_cvref_t<decltype(losses.eval())>;
  switch (reduction) {
    case Reduction::none: return Result(losses.eval());
    case Reduction::sum: return Result(sum(std::forward<L>(losses)));
    case Reduction::mean: break;
  }
  return Result(mean(std::forward<L>(losses)));
}

/// Converts a tensor to U; returns a tensor of U unchanged.
template <class U, class X>
[[nodiscard]] auto converted(const X& x) {
  if constexpr (std::is_same_v<value_of<X>, U>) return x;
  else return std::remove_cvref_t<decltype(x.template as<U>().eval())>(x.template as<U>().eval());
}

/// throws ShapeError unless prediction and target have one shape: broadcasting would hide a mistake
template <class P, class Y>
void require_same_shape(const char* loss, const P& prediction, const Y& target) {
  if (prediction.value().shape() == target.value().shape()) return;
  fail<ShapeError>({loss, ": prediction of shape ", prediction.value().shape(), " and target of shape ",
                    target.value().shape(), "; expected equal shapes"});
}

/// -y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)) = |x| w + log(1 + e^-|x|), where w is the probability that y gives
/// to the class that x is against. The derivative by x is sigmoid(x) - y.
struct LogisticLoss {
  static constexpr unsigned reads(int input) { return input == 0 ? 3u : 1u; }
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    const T magnitude = functor::Abs{}(x), against = x > T(0) ? T(1) - y : y;
    const T linear = magnitude * against;
    return (against == T(0) ? T(0) : linear) + math::log1p(math::exp(-magnitude));
  }
  template <class T> LOCUS_FN Pack<T, T> by_inputs(T x, T y) const { return {math::sigmoid(x) - y, -x}; }
};

/// -p y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)): LogisticLoss with a weight p of the positive target. The
/// derivative by x is (1 - y) sigmoid(x) - p y sigmoid(-x).
struct WeightedLogisticLoss {
  static constexpr unsigned reads(int input) { return input == 0 ? 7u : input == 1 ? 5u : 3u; }
  template <class T>
  LOCUS_FN static T softplus(T x) {
    return (x > T(0) ? x : T(0)) + math::log1p(math::exp(-functor::Abs{}(x)));
  }
  template <class T>
  LOCUS_FN T operator()(T x, T y, T p) const {
    const T positive = p * y, negative = T(1) - y;
    const T magnitude = functor::Abs{}(x), against = x > T(0) ? negative : positive;
    const T linear = magnitude * against;
    return (against == T(0) ? T(0) : linear) + (positive + negative) * math::log1p(math::exp(-magnitude));
  }
  template <class T>
  LOCUS_FN Pack<T, T, T> by_inputs(T x, T y, T p) const {
    return {(T(1) - y) * math::sigmoid(x) - p * y * math::sigmoid(-x), p * softplus(-x) - softplus(x),
            y * softplus(-x)};
  }
};

/// y (log(y) - x) of the logarithm x of a probability; nothing where y is 0.
struct Divergence {
  static constexpr unsigned reads(int) { return 3u; }
  template <class T>
  LOCUS_FN T operator()(T x, T y) const {
    const T difference = y * (math::log(y) - x);
    return y == T(0) ? T(0) : difference;
  }
  template <class T> LOCUS_FN Pack<T, T> by_inputs(T x, T y) const { return {-y, math::log(y) + T(1) - x}; }
};
/// Divergence given the logarithm of y.
struct DivergenceOfLogarithms {
  static constexpr unsigned reads(int) { return 3u; }
  template <class T>
  LOCUS_FN T operator()(T x, T log_y) const {
    const T y = math::exp(log_y), difference = y * (log_y - x);
    return y == T(0) ? T(0) : difference;
  }
  template <class T>
  LOCUS_FN Pack<T, T> by_inputs(T x, T log_y) const {
    const T y = math::exp(log_y), slope = y * (log_y - x + T(1));
    return {-y, y == T(0) ? T(0) : slope};
  }
};

/// Divergences of single elements unreduced, summed, or averaged.
template <class L>
[[nodiscard]] auto reduced(L&& losses, DivergenceReduction reduction) {
  using Result = std::remove_cvref_t<decltype(losses.eval())>;
  switch (reduction) {
    case DivergenceReduction::batchmean: {  // divided before it is rounded to 16 bits
      using T = value_of<L>;
      using R = compute_t<T>;
      const R batch = static_cast<R>(losses.shape()[0]);
      return Result(converted<T>(sum(losses.template as<R>()) / batch).eval());
    }
    case DivergenceReduction::none: return reduced(std::forward<L>(losses), Reduction::none);
    case DivergenceReduction::sum: return reduced(std::forward<L>(losses), Reduction::sum);
    case DivergenceReduction::mean: break;
  }
  return reduced(std::forward<L>(losses), Reduction::mean);
}

template <class P, class Y>
concept LossOperands = TensorLike<P> && TensorLike<Y> && Combinable<P, Y> && FloatingDType<value_of<P>>;
template <class P, class Y>
struct LossMistake : FirstMistake<Mistake<P, Y>, IntegerMistake<P>> {};
/// The same of losses that compare three tensors element by element.
template <class P, class Y, class Z>
concept ThreeLossOperands = LossOperands<P, Y> && LossOperands<P, Z>;
template <class P, class Y, class Z>
struct ThreeLossMistake : FirstMistake<LossMistake<P, Y>, LossMistake<P, Z>> {};
/// Mistake of weights of T on D, beside valid predictions.
template <class P, class Y, class T, class D>
struct LossWeightsMistake : NoMistake {};
template <class P, class Y, class T, class D>
  requires IsWrong<LossMistake<P, Y>, Wrong::nothing>
struct LossWeightsMistake<P, Y, T, D>
    : FirstMistake<PlaceMistake<P, Tensor<T, D>, error::input_is_on, error::weights_are_on>,
                   PairMistake<P, Tensor<T, D>>> {};

/// throws ShapeError unless weights broadcast to the shape of the losses without enlarging it
LOCUS_OUT_OF_LINE inline void require_weights_fit(const char* loss, const char* name, const Shape& weights,
                                                  const char* of, const Shape& losses) {
  bool fit = weights.rank() <= losses.rank();
  for (int d = 0; fit && d < weights.rank(); ++d) {
    const std::int64_t extent = weights[weights.rank() - 1 - d];
    fit = extent == 1 || extent == losses[losses.rank() - 1 - d];
  }
  if (!fit)
    fail<ShapeError>({loss, ": ", name, " of shape ", weights, " for ", of, " of shape ", losses,
                      "; expected a weight for each of the last axis, or another shape that broadcasts to the ", of,
                      "'"});
}
}  // namespace detail

/// (prediction - target)^2. shape: (), or the operands' with Reduction::none. throws ShapeError unless shapes are equal
template <class P, class Y>
  requires detail::LossOperands<P, Y>
[[nodiscard]] auto mse_loss(const P& prediction, const Y& target, Reduction reduction = Reduction::mean) {
  detail::require_same_shape("mse_loss", prediction, target);
  return detail::reduced(square(prediction - target), reduction);
}

/// |prediction - target|
template <class P, class Y>
  requires detail::LossOperands<P, Y>
[[nodiscard]] auto l1_loss(const P& prediction, const Y& target, Reduction reduction = Reduction::mean) {
  detail::require_same_shape("l1_loss", prediction, target);
  return detail::reduced(abs(prediction - target), reduction);
}

/// Huber's loss: d^2 / 2 where d = |prediction - target| < delta, delta (d - delta / 2) elsewhere. For a NaN the loss
/// is NaN, and the slope 0 as abs has it (PyTorch's is NaN).
/// throws ArgumentError unless delta is finite and above 0, also as a number of the type in which losses are computed
template <class P, class Y>
  requires detail::LossOperands<P, Y>
[[nodiscard]] auto huber_loss(const P& prediction, const Y& target, double delta = 1.0,
                              Reduction reduction = Reduction::mean) {
  detail::require_same_shape("huber_loss", prediction, target);
  using R = compute_t<value_of<P>>;
  const R bound = locus::detail::finite_as<R>("huber_loss", "delta", delta);
  if (!(bound > 0))
    fail<ArgumentError>({"huber_loss: delta is ", delta, "; expected a positive number of ", dtype_name<R>()});
  const auto formula = [bound](auto p, auto y) {
    auto d = abs(p - y);
    return where(d < bound, square(d) * R(0.5), (d - bound / 2) * bound);
  };
  return detail::reduced(fuse(formula, prediction, target), reduction);
}

/// Huber's loss over beta: d^2 / (2 beta) where d = |prediction - target| < beta, d - beta / 2 elsewhere; l1_loss for a
/// beta of 0. NaN as in huber_loss. throws ArgumentError for a beta that is negative or no finite number of the type in
/// which losses are computed
template <class P, class Y>
  requires detail::LossOperands<P, Y>
[[nodiscard]] auto smooth_l1_loss(const P& prediction, const Y& target, double beta = 1.0,
                                  Reduction reduction = Reduction::mean) {
  detail::require_same_shape("smooth_l1_loss", prediction, target);
  using R = compute_t<value_of<P>>;
  locus::detail::require_not_negative("smooth_l1_loss", "beta", beta);
  const R bound = locus::detail::finite_as<R>("smooth_l1_loss", "beta", beta);
  const auto formula = [bound](auto p, auto y) {
    auto d = abs(p - y);
    return where(d < bound, d * (d / bound) * R(0.5), d - bound / 2);
  };
  return detail::reduced(fuse(formula, prediction, target), reduction);
}

struct KLDivLossOptions {
  DivergenceReduction reduction = DivergenceReduction::mean;
  bool log_target = false;  ///< targets are logarithms, too
};
/// The Kullback-Leibler divergence of a prediction, given by its logarithms, from a target: y (log(y) - x), and 0 where
/// the target is 0.     gradient: -g y, g (log(y) + 1 - x). At a target of 0, where the value is 0, the target's
/// gradient is -infinity for g > 0, and NaN if x is -infinity, too; with log_target it is 0.
template <class P, class Y>
  requires detail::LossOperands<P, Y>
[[nodiscard]] auto kl_div(const P& log_prediction, const Y& target, const KLDivLossOptions& options = {}) {
  detail::require_same_shape("kl_div", log_prediction, target);
  const auto& shape = log_prediction.value().shape();
  if (options.reduction == DivergenceReduction::batchmean && shape.rank() == 0)
    fail<ShapeError>({"kl_div: batchmean of shape ", shape, "; expected at least one dimension, the batch"});
  if (options.log_target)
    return detail::reduced(elementwise(detail::DivergenceOfLogarithms{}, log_prediction, target), options.reduction);
  return detail::reduced(elementwise(detail::Divergence{}, log_prediction, target), options.reduction);
}

/// Binary cross-entropy of sigmoid(logits), stable for large logits: max(x, 0) - x y + log(1 + e^-|x|). An infinite
/// logit costs 0 if the target is 0 or 1 and the logit is right, otherwise infinity.
/// Targets are probabilities in [0, 1], of the logits' element type.     gradient: g (sigmoid(x) - y)
template <class P, class Y>
  requires detail::LossOperands<P, Y>
[[nodiscard]] auto binary_cross_entropy_with_logits(const P& logits, const Y& target,
                                                    Reduction reduction = Reduction::mean) {
  detail::require_same_shape("binary_cross_entropy_with_logits", logits, target);
  return detail::reduced(elementwise(detail::LogisticLoss{}, logits, target), reduction);
}

/// How much more a positive target counts than a negative one, for each class: PyTorch's pos_weight. For a rare class,
/// the ratio of negative to positive samples balances both sides.
///
///     nn::PosWeight{from({9.f, 1.f})}   // of logits (batch, 2), on their device
template <class T, class D>
struct PosWeight {
  Tensor<T, D> weights;  ///< plain, of any shape that broadcasts to the logits'
};
template <class T, class D>
PosWeight(const Tensor<T, D>&) -> PosWeight<T, D>;

/// Binary cross-entropy with a weight p of positive targets: -p y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)). As in
/// PyTorch, a mean divides by the number of elements, whatever their weights.
/// gradient: g ((1 - y) sigmoid(x) - p y sigmoid(-x))
/// throws ShapeError unless shapes are equal and weights broadcast to them
template <class P, class Y, class T, class D>
  requires(detail::LossOperands<P, Y> &&
           detail::IsWrong<detail::LossWeightsMistake<P, Y, T, D>, detail::Wrong::nothing>)
[[nodiscard]] auto binary_cross_entropy_with_logits(const P& logits, const Y& target, const PosWeight<T, D>& positive,
                                                    Reduction reduction = Reduction::mean) {
  constexpr const char* name = "binary_cross_entropy_with_logits";
  detail::require_same_shape(name, logits, target);
  detail::require_weights_fit(name, "pos_weight", positive.weights.shape(), "logits", logits.value().shape());
  return detail::reduced(elementwise(detail::WeightedLogisticLoss{}, logits, target, positive.weights), reduction);
}

#include <locus/refuse/nn/loss.inc>

}}}  // namespace locus::LOCUS_ABI::nn
