#pragma once
// How good a model is.

#include <locus/data/loader.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/module.hpp>
#include <locus/ops/extreme.hpp>

namespace locus::inline LOCUS_ABI {

/// How many rows of logits (n, classes) are largest at their label (n). shape: (). cost: two launches
/// throws ShapeError unless the shapes are these: broadcasting would count rows several times
template <class T, class D>
[[nodiscard]] Tensor<std::int64_t, D> correct(const Tensor<T, D>& logits, const Tensor<std::int64_t, D>& labels) {
  if (logits.rank() != 2 || !(labels.shape() == Shape{logits.size(0)})) {
    fail<ShapeError>({"accuracy: logits of shape ", logits.shape(), " and labels of shape ", labels.shape(),
                      "; expected (n, classes) and (n,)"});
  }
  return detail::count_equal(argmax(logits, -1), labels);
}

/// Share of rows of logits (n, classes) that are largest at their label (n). Waits for the device.
/// throws ShapeError unless the shapes are these; ArgumentError where there are no rows
template <class T, class D>
[[nodiscard]] double accuracy(const Tensor<T, D>& logits, const Tensor<std::int64_t, D>& labels) {
  if (labels.empty()) fail<ArgumentError>({"accuracy: there are no labels; expected at least one"});
  return static_cast<double>(correct(logits, labels).item()) / static_cast<double>(labels.elements());
}

struct Evaluation {
  double loss = 0;      ///< mean cross-entropy per sample
  double accuracy = 0;  ///< in [0, 1]
};

/// Loss and accuracy of a model over all batches: plain tensors, so nothing is recorded.
/// throws ArgumentError for a loader without a batch
template <class M, class T, class D>
[[nodiscard]] Evaluation evaluate(const M& model, data::Loader<T, D>& batches) {
  double loss = 0, hits = 0, samples = 0;
  for (const auto& [images, labels] : batches) {
    const Tensor<T, D> logits = model(images);
    loss += static_cast<double>(cross_entropy(logits, labels, {.reduction = Reduction::sum}).item());
    hits += static_cast<double>(correct(logits, labels).item());
    samples += static_cast<double>(labels.elements());
  }
  if (samples == 0)
    fail<ArgumentError>({"evaluate: the loader has no batch; use a smaller batch_size, or no drop_last"});
  return {loss / samples, hits / samples};
}
template <class M, class T, class D>
[[nodiscard]] Evaluation evaluate(const M& model, data::Loader<T, D>&& batches) {
  return evaluate(model, batches);
}
/// The same over a data set, in batches of 1000 on `device`, where the model is.
template <class M>
[[nodiscard]] Evaluation evaluate(const M& model, const data::LabelledImages& dataset, device_of<M> device = {}) {
  return evaluate(model, data::loader(dataset, {.batch_size = 1000, .ahead = 2}, device));
}

}  // namespace locus::inline LOCUS_ABI
