#pragma once
// The confusion matrix of a classifier.

#include <locus/ops/histogram.hpp>
#include <locus/ops/index.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// Two tensors of indices in one place.
template <class X, class Y>
concept PairedIndices = IndexOperand<X> && IndexOperand<Y> && SameDevice<X, Y> && HistogramDevice<device_of<X>>;
template <class X, class Y>
struct ConfusionMistake
    : FirstMistake<PlaceMistake<X, Y, error::input_is_on, error::labels_are_on>,
                   IndexTypeMistake<X, error::labels_hold>, IndexTypeMistake<Y, error::labels_hold>> {};
}  // namespace detail

/// At (i, j), the number of samples of class i that were classified as j: the rows are the labels, the columns the
/// predictions, as in scikit-learn. Add the matrices of several batches.
/// shape: (n,), (n,) -> (classes, classes), int64
/// cost: as bincount, and a launch; waits for the device
/// throws ShapeError unless there is a label for each prediction; ArgumentError for classes that are not 1 to 32,768;
/// IndexError for a prediction or a label that is not a class
///
///     const auto matrix = confusion_matrix(argmax(logits, -1), labels, 10);
template <class X, class Y>
  requires detail::PairedIndices<X, Y>
[[nodiscard]] Tensor<std::int64_t, device_of<X>> confusion_matrix(const X& predictions, const Y& labels,
                                                                  std::int64_t classes) {
  using Indices = Tensor<std::int64_t, device_of<X>>;
  const Indices given = predictions.eval(), expected = labels.eval();
  if (given.rank() != 1 || !(given.shape() == expected.shape()))
    fail<ShapeError>({"confusion_matrix: predictions of shape ", given.shape(), " and labels of shape ",
                      expected.shape(), "; expected (n,) of both"});
  constexpr std::int64_t most = 1 << 15;
  if (classes < 1 || classes > most)
    fail<ArgumentError>({"confusion_matrix: classes is ", classes, "; expected 1 to ", most});
  for (const auto* indices : {&given, &expected}) {
    if (given.empty()) break;
    const std::int64_t low = min(*indices).item(), high = max(*indices).item();
    if (low < 0 || high >= classes)
      fail<IndexError>({"confusion_matrix: ", indices == &given ? "prediction " : "label ", low < 0 ? low : high,
                        "; expected 0 to ", classes - 1});
  }
  const Indices cells = expected * classes + given;
  return bincount(cells, classes * classes).reshape({classes, classes});
}

#include <locus/refuse/training/confusion_matrix.inc>

}}  // namespace locus::LOCUS_ABI
