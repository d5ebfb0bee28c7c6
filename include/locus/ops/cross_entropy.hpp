#pragma once
// Cross-entropy of logits and class labels, fused: the probabilities are never stored.

#include <locus/expr/operands.hpp>
#include <locus/ops/loss/cross_entropy_rows.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// How the losses of the examples are combined.
enum class Reduction { mean, sum, none };

struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;
  std::int64_t ignore_index = -100;  ///< a label that contributes neither loss nor gradient nor weight
  double label_smoothing = 0;        ///< in [0, 1]: the share of the target that is spread over all classes
};

namespace operation {

struct CrossEntropy {
  static constexpr const char* name = "cross_entropy";
  static constexpr bool runs_on_duals = true;
  CrossEntropyOptions options;

  /// The loss, and for backward the logits (dense around the class axis), the labels, the class weights, two sums for
  /// each row, the divisor of the result, and the shape of the logits.
  template <class T, class D, class R = compute_t<T>>
  using Result =
      Forwarded<Tensor<T, D>, Tensor<T, D>, Tensor<std::int64_t, D>, Tensor<T, D>, Tensor<R, D>, Tensor<R, D>, Shape>;
  template <class T, class D, class... W>
  Result<T, D> forward(const Tensor<T, D>& logits, const Tensor<std::int64_t, D>& given, const W&... weights) const;

  template <class T, class D, class R, class... Others>
  void backward(
      const Tuple<Tensor<T, D>, Tensor<std::int64_t, D>, Tensor<T, D>, Tensor<R, D>, Tensor<R, D>, Shape>& saved,
      const Tensor<T, D>& g, Gradient<T, D>& dx, Others&...) const;

 private:
  template <class... W>
  void require_shapes(const Shape& logits, const Shape& labels, const W&... weights) const {
    Shape expected = logits;
    if (logits.rank() > 0) expected.erase(logits.rank() == 1 ? 0 : 1);
    if (logits.rank() == 0 || !(labels == expected)) {
      fail<ShapeError>({"cross_entropy: logits of shape ", logits, " and labels of shape ", labels,
                        "; expected logits (n, classes) and labels (n,), or (n, classes, d...) and (n, d...)"});
    }
    [[maybe_unused]] const std::int64_t classes = logits[logits.rank() == 1 ? 0 : 1];
    (detail::require_class_weights(name, weights, classes), ...);
    detail::require_smoothing(name, options.label_smoothing);
  }

  template <class T, class D> static Tensor<T, D> dense(const Tensor<T, D>&) { return {}; }
  template <class T, class D>
  static Tensor<T, D> dense(const Tensor<T, D>&, const Tensor<T, D>& weights) {
    return weights.contiguous();
  }

  template <bool weighted, class T, class D>
  detail::LabelRules<T, weighted> rules_of(const Tensor<std::int64_t, D>& labels, const Tensor<T, D>& weights,
                                           std::int64_t classes) const {
    return {labels.data(), weights.data(), classes, options.ignore_index,
            static_cast<compute_t<T>>(options.label_smoothing)};
  }
};

// Outside the class, and so not inline: the compiled library can hold them.
template <class T, class D, class... W>
CrossEntropy::Result<T, D> CrossEntropy::forward(const Tensor<T, D>& logits, const Tensor<std::int64_t, D>& given,
                                                 const W&... weights) const {
  using R = compute_t<T>;
  require_shapes(logits.shape(), given.shape(), weights.shape()...);
  detail::require_same_ordinal(name, logits, given, weights...);
  const int axis = logits.rank() == 1 ? 0 : 1;
  const auto labels = given.contiguous();
  const Tensor<T, D> dense_weights = dense(logits, weights...);
  const auto x = detail::around_axis(logits, axis);
  const detail::RowCount count(logits.shape(), axis);
  detail::require_labels(name, labels, count.cols, &options.ignore_index);
  const Tensor<R, D> rows({4, count.rows}, logits.device());
  const auto losses = rows.select(0, 0), shares = rows.select(0, 1), sums = rows.slice(0, 2);
  constexpr bool weighted = sizeof...(W) > 0;
  const auto rules = rules_of<weighted>(labels, dense_weights, count.cols);
  Backend<D>::for_each_row(logits.device(), count.rows, count.cols,
                           detail::CrossEntropyRow<T, weighted>{detail::rows_of(x), rules, losses.data(), shares.data(),
                                                                sums.data(), sums.data() + count.rows});
  Tensor<R, D> result = losses.reshape(given.shape()), total;
  if (options.reduction != Reduction::none) {
    const auto pair = detail::fold_losses(losses, shares, options.reduction == Reduction::mean);
    result = pair.select(0, 0);
    total = pair.select(0, 1);
  }
  return Forwarded{result.template as<T>(), Tuple(x, labels, dense_weights, sums, total, logits.shape())};
}

template <class T, class D, class R, class... Others>
void CrossEntropy::backward(
    const Tuple<Tensor<T, D>, Tensor<std::int64_t, D>, Tensor<T, D>, Tensor<R, D>, Tensor<R, D>, Shape>& saved,
    const Tensor<T, D>& g, Gradient<T, D>& dx, Others&...) const {
  if (!dx) return;
  const auto& [x, labels, weights, sums, total, shape] = saved;
  const int axis = shape.rank() == 1 ? 0 : 1;
  const detail::RowCount count(shape, axis);
  const auto dense_g = g.contiguous();
  const auto target = dx.open();
  constexpr bool weighted = sizeof...(Others) > 1;  // the labels, and the weights
  Backend<D>::for_each_row(g.device(), count.filled(), count.cols,
                           detail::CrossEntropyRowBackward<T, weighted>{
                               detail::rows_of(x), rules_of<weighted>(labels, weights, count.cols), sums.data(),
                               sums.data() + count.rows, dense_g.data(), options.reduction == Reduction::none ? 1 : 0,
                               options.reduction == Reduction::mean ? total.data() : nullptr,
                               detail::rows_of(target.out, axis), target.accumulate});
}

}  // namespace operation

namespace detail {
template <class L, class Y>
concept LossOperands =
    Computes<L> && FloatingDType<value_of<L>> && IndexOperand<Y> && SameDevice<L, Y> && NotParametersAlone<L, Y>;
template <class L, class Y, class W>
concept WeightedLossOperands = LossOperands<L, Y> && TensorLike<W> && bare_t<W>::role == Role::plain &&
                               SameDevice<L, W> && std::is_same_v<value_of<L>, value_of<W>>;

template <class L, class Y>
struct EntropyMistake : FirstMistake<PlaceMistake<L, Y, error::input_is_on, error::labels_are_on>, MemoryMistake<L>,
                                     ParametersMistake<L, Y>, ExchangeMistake<L, Y>, IntegerMistake<L>,
                                     IndexTypeMistake<Y, error::labels_hold>> {};
/// With weights, which may be wrong too: at most one of the two mistakes holds, so that one refusal answers.
template <class L, class Y, class W>
struct WeightedLabelsMistake : NoMistake {};
template <class L, class Y, TensorLike W>
struct WeightedLabelsMistake<L, Y, W> : EntropyMistake<L, Y> {};
template <class L, class Y, class W>
struct WeightsMistake : NoMistake {};
template <class L, class Y, TensorLike W>
  requires IsWrong<EntropyMistake<L, Y>, Wrong::nothing>
struct WeightsMistake<L, Y, W>
    : FirstMistake<PlaceMistake<L, W, error::input_is_on, error::weights_are_on>, PairMistake<L, W>> {};
/// Weights whose only mistake is that they are traced, or a parameter.
template <class L, class Y, class W>
concept CollectingWeights = bare_t<W>::role != Role::plain && IsWrong<WeightedLabelsMistake<L, Y, W>, Wrong::nothing> &&
                            IsWrong<WeightsMistake<L, Y, W>, Wrong::nothing>;
}  // namespace detail

/// Cross-entropy of logits and int64 class labels, as torch.nn.functional.cross_entropy.
/// shape: logits (n, classes), labels (n,) -> scalar; or (n, classes, d...), (n, d...). Reduction::none gives the shape
///        of the labels. The mean is over the weights of the labels that are not ignored (NaN if there are none).
/// gradient: (softmax(logits) - target) * weight, scaled as the reduction asks
/// cost:  two launches (one for Reduction::none), backward one; saves two numbers per row, never the probabilities
/// throws ShapeError naming both shapes; IndexError for a label out of range, if the host can read the labels (on Cuda
///        that example's loss and gradient become NaN)
///
///     auto loss = cross_entropy(logits, labels, {.label_smoothing = 0.1});
template <class L, class Y>
  requires detail::LossOperands<L, Y>
[[nodiscard]] auto cross_entropy(const L& logits, const Y& labels, const CrossEntropyOptions& options = {}) {
  return apply(operation::CrossEntropy{options}, logits, labels);
}

/// The same with a weight per class, a plain tensor of shape (classes,) on the same device: as in PyTorch, class
/// weights collect no gradient.
template <class L, class Y, class W>
  requires detail::WeightedLossOperands<L, Y, W>
[[nodiscard]] auto cross_entropy(const L& logits, const Y& labels, const W& weights,
                                 const CrossEntropyOptions& options = {}) {
  return apply(operation::CrossEntropy{options}, logits, labels, weights);
}

#include <locus/refuse/ops/cross_entropy.inc>

}}  // namespace locus::LOCUS_ABI

#include <locus/instances/ops/cross_entropy.inc>
