#pragma once
// Losses as objects with options: the criterion of PyTorch's tutorials.

#include <locus/nn/loss.hpp>
#include <locus/ops/index.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

namespace detail {
struct NoClassWeights {};
/// Whether class weights of T fit logits of L: both have one type, or weights of 16 bits stand beside logits of float.
template <class L, class Y, class T, class D>
concept WeightedBy =
    locus::detail::WeightedLossOperands<L, Y, Tensor<T, D>> ||
    (locus::detail::LossOperands<L, Y> && std::is_same_v<device_of<L>, D> && std::is_same_v<value_of<L>, compute_t<T>>);
template <class L, class Y, class T, class D>
struct ClassWeightsMistake : std::conditional_t<WeightedBy<L, Y, T, D>, locus::detail::NoMistake,
                                                locus::detail::WeightsMistake<L, Y, Tensor<T, D>>> {};

/// Divisor of a mean over labels: the number of labels that are not ignored, or the sum of their weights.
template <class D>
[[nodiscard]] Tensor<float, D> counted_labels(const Tensor<std::int64_t, D>& labels, std::int64_t ignore_index) {
  return sum((labels != ignore_index).template as<float>());
}
template <class T, class D>
[[nodiscard]] Tensor<float, D> counted_labels(const Tensor<std::int64_t, D>& labels, std::int64_t ignore_index,
                                              const Tensor<T, D>& weights) {
  const Tensor ignored = labels == ignore_index;
  const auto picked = index_select(weights, 0, where(ignored, std::int64_t{0}, labels).eval().reshape({-1}));
  return sum(where(ignored.reshape({-1}), 0.f, picked.template as<float>()));
}
}  // namespace detail

struct LossOptions {
  Reduction reduction = Reduction::mean;
};

/// cross_entropy(logits, labels) with options, as torch.nn.CrossEntropyLoss; optionally with a weight per class, on the
/// device of the logits: W is the tensor of weights.
///
///     const nn::CrossEntropyLoss loss{{.label_smoothing = 0.1}};
///     const nn::CrossEntropyLoss weighted{from({1, 2, 0.5f}), {.ignore_index = 0}};
///     loss(model(trace(x)), labels).backward();
template <class W = detail::NoClassWeights>
struct CrossEntropyLoss {
  CrossEntropyOptions options = {};

  template <class L, class Y>
    requires locus::detail::LossOperands<L, Y>
  [[nodiscard]] auto operator()(const L& logits, const Y& labels) const {
    return cross_entropy(logits, labels, options);
  }
  /// Divisor of Reduction::mean: the number of labels that are not ignored. shape: ()     cost: one launch
  template <class D>
  [[nodiscard]] Tensor<float, D> counted(const Tensor<std::int64_t, D>& labels) const {
    return detail::counted_labels(labels, options.ignore_index);
  }
#include <locus/refuse/nn/criterion_cross_entropy.inc>
};
template <class T, class D>
struct CrossEntropyLoss<Tensor<T, D>> {
  Tensor<T, D> weights;  ///< (classes)
  CrossEntropyOptions options = {};

  template <class L, class Y>
    requires detail::WeightedBy<L, Y, T, D>
  [[nodiscard]] auto operator()(const L& logits, const Y& labels) const {
    if constexpr (std::is_same_v<value_of<L>, T>) return cross_entropy(logits, labels, weights, options);
    else return cross_entropy(logits, labels, weights.template as<value_of<L>>(), options);  // 16-bit weights in float
  }
  /// Divisor of Reduction::mean: the sum of the weights of labels that are not ignored. shape: ()
  [[nodiscard]] Tensor<float, D> counted(const Tensor<std::int64_t, D>& labels) const {
    return detail::counted_labels(labels, options.ignore_index, weights);
  }
#include <locus/refuse/nn/criterion_cross_entropy_weighted.inc>
};
CrossEntropyLoss() -> CrossEntropyLoss<>;
CrossEntropyLoss(CrossEntropyOptions) -> CrossEntropyLoss<>;
template <class T, class D>
CrossEntropyLoss(const Tensor<T, D>&, CrossEntropyOptions = {}) -> CrossEntropyLoss<Tensor<T, D>>;
#include <locus/refuse/nn/criterion_cross_entropy_guide.inc>

/// mse_loss(prediction, target): (prediction - target)^2.
struct MSELoss {
  LossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& prediction, const Y& target) const {
    return mse_loss(prediction, target, options.reduction);
  }
#include <locus/refuse/nn/criterion_mse.inc>
};

/// l1_loss(prediction, target): |prediction - target|.
struct L1Loss {
  LossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& prediction, const Y& target) const {
    return l1_loss(prediction, target, options.reduction);
  }
#include <locus/refuse/nn/criterion_l1.inc>
};

struct HuberLossOptions {
  double delta = 1.0;
  Reduction reduction = Reduction::mean;
};
/// huber_loss(prediction, target, delta). Calls throw ArgumentError for a delta out of range
struct HuberLoss {
  HuberLossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& prediction, const Y& target) const {
    return huber_loss(prediction, target, options.delta, options.reduction);
  }
#include <locus/refuse/nn/criterion_huber.inc>
};

struct SmoothL1LossOptions {
  double beta = 1.0;
  Reduction reduction = Reduction::mean;
};
/// smooth_l1_loss(prediction, target, beta). Calls throw ArgumentError for a beta out of range
struct SmoothL1Loss {
  SmoothL1LossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& prediction, const Y& target) const {
    return smooth_l1_loss(prediction, target, options.beta, options.reduction);
  }
#include <locus/refuse/nn/criterion_smooth_l1.inc>
};

/// kl_div(log_prediction, target).
struct KLDivLoss {
  KLDivLossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& log_prediction, const Y& target) const {
    return kl_div(log_prediction, target, options);
  }
  /// Reduction as which fit and evaluate count the loss of a batch: batchmean is a mean, over samples.
  [[nodiscard]] Reduction reduces_as() const {
    using enum DivergenceReduction;
    return options.reduction == sum ? Reduction::sum : options.reduction == none ? Reduction::none : Reduction::mean;
  }
#include <locus/refuse/nn/criterion_kl_div.inc>
};

/// binary_cross_entropy_with_logits(logits, target): targets are probabilities in [0, 1]. Optionally with a weight of
/// positive targets, on the device of the logits: W is its PosWeight.
///
///     const nn::BCEWithLogitsLoss loss;
///     const nn::BCEWithLogitsLoss weighted{nn::PosWeight{from({9.f})}, {.reduction = Reduction::sum}};
template <class W = detail::NoClassWeights>
struct BCEWithLogitsLoss {
  LossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& logits, const Y& target) const {
    return binary_cross_entropy_with_logits(logits, target, options.reduction);
  }
#include <locus/refuse/nn/criterion_bce_with_logits.inc>
};
namespace detail {
/// As WeightedBy, for weights that broadcast to the elements of the losses.
template <class P, class Y, class T, class D>
concept ElementsWeightedBy =
    LossOperands<P, Y> && (locus::detail::IsWrong<LossWeightsMistake<P, Y, T, D>, locus::detail::Wrong::nothing> ||
                           (std::is_same_v<device_of<P>, D> && std::is_same_v<value_of<P>, compute_t<T>>));
template <class P, class Y, class T, class D>
struct ElementWeightsMistake
    : std::conditional_t<ElementsWeightedBy<P, Y, T, D>, locus::detail::NoMistake, LossWeightsMistake<P, Y, T, D>> {};
}  // namespace detail
template <class T, class D>
struct BCEWithLogitsLoss<PosWeight<T, D>> {
  PosWeight<T, D> positive;
  LossOptions options = {};

  template <class P, class Y>
    requires detail::ElementsWeightedBy<P, Y, T, D>
  [[nodiscard]] auto operator()(const P& logits, const Y& target) const {
    using U = value_of<P>;  // 16-bit weights of losses in float
    const PosWeight<U, D> weights{positive.weights.template as<U>()};
    return binary_cross_entropy_with_logits(logits, target, weights, options.reduction);
  }
#include <locus/refuse/nn/criterion_bce_with_logits_weighted.inc>
};
BCEWithLogitsLoss() -> BCEWithLogitsLoss<>;
BCEWithLogitsLoss(LossOptions) -> BCEWithLogitsLoss<>;
template <class T, class D>
BCEWithLogitsLoss(const PosWeight<T, D>&, LossOptions = {}) -> BCEWithLogitsLoss<PosWeight<T, D>>;
#include <locus/refuse/nn/criterion_bce_with_logits_guide.inc>

}}}  // namespace locus::LOCUS_ABI::nn
