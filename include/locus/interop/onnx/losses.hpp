#pragma once
// ONNX's losses of classes.

#include <locus/interop/onnx/lookups.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/softmax.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// The loss of log-probabilities (n, classes, ...) and labels (n, ...), input 1; input 2 has a weight for each class.
/// A mean is divided by the sum of the weights.
template <class F>
[[nodiscard]] F label_loss(const Call<F>& call, const F& logs) {
  using D = device_of<F>;
  const Tensor<std::int64_t, D>& labels = call.integers(1).there(call.device());
  Shape expected = logs.shape();
  if (expected.rank() > 1) expected.erase(1);
  if (logs.rank() < 2 || labels.shape() != expected)
    call.fail_here({"labels of shape ", labels.shape(), " for classes of shape ", logs.shape()});
  const Tensor<bool, D> is_ignored = call.has("ignore_index") ? (labels == call.integer("ignore_index", 0)).eval()
                                                              : full<bool>(labels.shape(), false, call.device());
  const Tensor<std::int64_t, D> known = where(is_ignored, std::int64_t{0}, labels);
  F weights = call.handle(ones<value_of<F>>(labels.shape(), call.device()));
  if (call.has_input(2)) weights = reshape(index_select(call.numbers(2), 0, known.flatten()), labels.shape());
  weights = where(is_ignored, 0, weights);
  const F losses = where(is_ignored, 0, -squeeze(gather(logs, 1, known.unsqueeze(1)), 1) * weights);
  const auto reduction = call.text("reduction", "mean");
  if (reduction == "none") return losses;
  if (reduction == "sum") return sum(losses);
  call.require_text("reduction", "mean");
  return sum(losses) / sum(weights);
}
template <class F>
void likelihood_loss(const Call<F>& call) {
  call.give_like(label_loss(call, call.numbers(0)));
}
template <class F>
void cross_entropy_loss(const Call<F>& call) {
  const F logs = log_softmax(call.numbers(0), 1);
  call.give_like(label_loss(call, logs));
  call.give(1, Value<F>(call.input(0).type(), logs));
}

template <class F>
inline constexpr Operation<F> losses[] = {
    {"NegativeLogLikelihoodLoss", &likelihood_loss<F>},
    {"SoftmaxCrossEntropyLoss", &cross_entropy_loss<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
