#pragma once
// The negative log-likelihood of class labels, for networks that end with log_softmax.

#include <locus/nn/criterion.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

struct NLLLossOptions {
  Reduction reduction = Reduction::mean;
  std::int64_t ignore_index = -100;  ///< this label contributes neither loss nor gradient nor weight
};

namespace detail {
/// The axis of the classes. throws ShapeError unless labels have the shape of the logarithms without it
LOCUS_OUT_OF_LINE inline int class_axis(const Shape& logarithms, const Shape& labels) {
  const int axis = logarithms.rank() == 1 ? 0 : 1;
  Shape expected = logarithms;
  if (logarithms.rank() > 0) expected.erase(axis);
  if (logarithms.rank() == 0 || !(labels == expected)) {
    fail<ShapeError>({"nll_loss: logarithms of shape ", logarithms, " and labels of shape ", labels,
                      "; expected (n, classes) and (n,), or (n, classes, d...) and (n, d...)"});
  }
  return axis;
}
/// The weight of each label, 0 where it is ignored.
template <class R, class D>
[[nodiscard]] Tensor<R, D> shares_of(const Tensor<bool, D>& ignored, const Tensor<std::int64_t, D>&, std::int64_t) {
  return (!ignored).template as<R>();
}
template <class R, class D, class T>
[[nodiscard]] Tensor<R, D> shares_of(const Tensor<bool, D>& ignored, const Tensor<std::int64_t, D>& labels,
                                     std::int64_t classes, const Tensor<T, D>& weights) {
  if (!(weights.shape() == Shape{classes}))
    fail<ShapeError>({"nll_loss: class weights of shape ", weights.shape(), " for ", classes, " classes; expected (",
                      classes, ",)"});
  const auto picked = index_select(weights, 0, labels.reshape({-1})).reshape(labels.shape());
  return where(ignored, R(0), picked.template as<R>());
}

template <class L, class Y, class... W>
[[nodiscard]] auto nll_loss_of(const NLLLossOptions& options, const L& x, const Y& labels, const W&... weights) {
  using T = value_of<L>;
  using D = device_of<L>;
  using R = compute_t<T>;
  const auto& logarithms = x.eval();
  const Tensor<std::int64_t, D> given = labels.eval().value();
  const int axis = class_axis(logarithms.value().shape(), given.shape());
  const std::int64_t classes = logarithms.value().size(axis);
  locus::detail::require_same_ordinal("nll_loss", logarithms.value(), given, weights.value()...);
  locus::detail::require_labels("nll_loss", given, classes, &options.ignore_index);
  const Tensor<std::int64_t, D> index = given.unsqueeze(axis);
  const Tensor<bool, D> ignored = index == options.ignore_index;
  const Tensor<std::int64_t, D> present = where(ignored, std::int64_t{0}, index);
  const Tensor<R, D> shares = shares_of<R>(ignored, present, classes, weights.eval().value()...);
  const auto picked = converted<R>(gather(logarithms, axis, present));
  auto losses = where(ignored, R(0), picked * -shares);
  using Result = std::remove_cvref_t<decltype(converted<T>(sum(picked)))>;
  switch (options.reduction) {
    case Reduction::none: return Result(converted<T>(squeeze(std::move(losses).eval(), axis)));
    case Reduction::sum: return Result(converted<T>(sum(std::move(losses))));
    case Reduction::mean: break;
  }
  return Result(converted<T>(sum(std::move(losses) / sum(shares))));
}
}  // namespace detail

/// Minus the log-probability of each label's class. cross_entropy(logits, labels) computes the nll_loss of
/// log_softmax(logits, 1) in fewer launches.
/// shape: logarithms (n, classes), labels (n,) -> scalar; or (n, classes, d...), (n, d...). Reduction::none gives the
///        shape of the labels. The mean is over the weights of the labels that are not ignored (NaN if there are none).
/// gradient: -g of the class, times its weight, scaled as the reduction asks
/// throws ShapeError naming both shapes; IndexError for a label out of range, if the host can read the labels
template <class L, class Y>
  requires locus::detail::LossOperands<L, Y>
[[nodiscard]] auto nll_loss(const L& logarithms, const Y& labels, const NLLLossOptions& options = {}) {
  return detail::nll_loss_of(options, logarithms, labels);
}
/// nll_loss with a weight per class, a plain tensor of shape (classes,) on the same device.
template <class L, class Y, class W>
  requires locus::detail::WeightedLossOperands<L, Y, W>
[[nodiscard]] auto nll_loss(const L& logarithms, const Y& labels, const W& weights,
                            const NLLLossOptions& options = {}) {
  return detail::nll_loss_of(options, logarithms, labels, weights);
}

#include <locus/refuse/nn/nll_loss.inc>

/// nll_loss(logarithms, labels) with options, and optionally with a weight per class, as CrossEntropyLoss.
template <class W = detail::NoClassWeights>
struct NLLLoss {
  NLLLossOptions options = {};

  template <class L, class Y>
    requires locus::detail::LossOperands<L, Y>
  [[nodiscard]] auto operator()(const L& logarithms, const Y& labels) const {
    return nll_loss(logarithms, labels, options);
  }
  /// Divisor of Reduction::mean: the number of labels that are not ignored. shape: ()     cost: one launch
  template <class D>
  [[nodiscard]] Tensor<float, D> counted(const Tensor<std::int64_t, D>& labels) const {
    return detail::counted_labels(labels, options.ignore_index);
  }
#include <locus/refuse/nn/criterion_nll.inc>
};
template <class T, class D>
struct NLLLoss<Tensor<T, D>> {
  Tensor<T, D> weights;  ///< (classes)
  NLLLossOptions options = {};

  template <class L, class Y>
    requires detail::WeightedBy<L, Y, T, D>
  [[nodiscard]] auto operator()(const L& logarithms, const Y& labels) const {
    return nll_loss(logarithms, labels, weights.template as<value_of<L>>(), options);
  }
  /// Divisor of Reduction::mean: the sum of the weights of labels that are not ignored. shape: ()
  [[nodiscard]] Tensor<float, D> counted(const Tensor<std::int64_t, D>& labels) const {
    return detail::counted_labels(labels, options.ignore_index, weights);
  }
#include <locus/refuse/nn/criterion_nll_weighted.inc>
};
NLLLoss() -> NLLLoss<>;
NLLLoss(NLLLossOptions) -> NLLLoss<>;
template <class T, class D>
NLLLoss(const Tensor<T, D>&, NLLLossOptions = {}) -> NLLLoss<Tensor<T, D>>;
#include <locus/refuse/nn/criterion_nll_guide.inc>

}}}  // namespace locus::LOCUS_ABI::nn
