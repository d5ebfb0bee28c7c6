#pragma once
// How good a model is.

#include <locus/data/loader.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/module.hpp>
#include <locus/ops/extreme.hpp>

namespace locus::inline LOCUS_ABI {

namespace detail {
#include <locus/refuse/training/metrics_mistakes.inc>

template <class X>
inline constexpr bool is_loader = false;
template <class T, class D>
inline constexpr bool is_loader<data::Loader<T, D>> = true;
}  // namespace detail

/// How many rows of logits (n, classes) are largest at their label (n). shape: ()
/// cost: two launches, and on Cpu a copy of labels that are strided
/// throws ShapeError unless the shapes are these: broadcasting would count rows several times; IndexError for a label
/// that is not a class, if the host can read it (elsewhere its row does not count)
template <class L, class Y>
  requires(TensorLike<L> && TensorLike<Y> && detail::IsWrong<detail::AccuracyMistake<L, Y>, detail::Wrong::nothing>)
[[nodiscard]] auto correct(const L& given_logits, const Y& given_labels) {
  const auto& logits = given_logits.value();
  const auto& labels = given_labels.value();
  if (logits.rank() != 2 || !(labels.shape() == Shape{logits.size(0)})) {
    fail<ShapeError>({"accuracy: logits of shape ", logits.shape(), " and labels of shape ", labels.shape(),
                      "; expected (n, classes) and (n,)"});
  }
  detail::require_labels("accuracy", labels, logits.size(1));
  return detail::count_equal(argmax(logits, -1), labels);
}

/// Share of rows of logits (n, classes) that are largest at their label (n). Waits for the device.
/// throws ShapeError unless the shapes are these; ArgumentError where there are no rows; IndexError as correct() does
template <class L, class Y>
  requires(TensorLike<L> && TensorLike<Y> && detail::IsWrong<detail::AccuracyMistake<L, Y>, detail::Wrong::nothing>)
[[nodiscard]] double accuracy(const L& logits, const Y& given_labels) {
  const auto& labels = given_labels.value();
  if (labels.empty()) fail<ArgumentError>({"accuracy: there are no labels; expected at least one"});
  return static_cast<double>(correct(logits, labels).item()) / static_cast<double>(labels.elements());
}

struct Evaluation {
  double loss = 0;      ///< mean cross-entropy per sample
  double accuracy = 0;  ///< in [0, 1]
};

/// Loss and accuracy of a model, a layer or a function, over all batches: plain tensors, so nothing is recorded.
/// throws ArgumentError for a loader without a batch
template <class M, class T, class D>
  requires detail::IsWrong<detail::BatchMistake<M, T, D>, detail::Wrong::nothing>
[[nodiscard]] Evaluation evaluate(const M& model, data::Loader<T, D>& batches) {
  double loss = 0, hits = 0, samples = 0;
  for (const auto& [images, labels] : batches) {
    Tensor<T, D> logits;
    if constexpr (nn::detail::HasForward<M>) logits = model.forward(images);  // without a call in between, in errors
    else logits = model(images);
    const auto wide = logits.template as<compute_t<T>>();  // 16 bits are too few for a sum
    loss += static_cast<double>(cross_entropy(wide, labels, {.reduction = Reduction::sum}).item());
    hits += static_cast<double>(correct(logits, labels).item());
    samples += static_cast<double>(labels.elements());
  }
  if (samples == 0)
    fail<ArgumentError>({"evaluate: the loader has no batch; use a smaller batch_size, or no drop_last"});
  return {loss / samples, hits / samples};
}
template <class M, class T, class D>
  requires detail::IsWrong<detail::BatchMistake<M, T, D>, detail::Wrong::nothing>
[[nodiscard]] Evaluation evaluate(const M& model, data::Loader<T, D>&& batches) {
  return evaluate(model, batches);
}

/// The same over a data set, in batches of 1000 on `device`, where the model is.
template <class M>
[[nodiscard]] Evaluation evaluate(const M& model, const data::LabelledImages& dataset, device_of<M> device = {}) {
  return evaluate(model, data::loader(dataset, {.batch_size = 1000, .ahead = 2}, device));
}

#include <locus/refuse/training/metrics.inc>

}  // namespace locus::inline LOCUS_ABI
