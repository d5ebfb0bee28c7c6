#pragma once
// Evaluation of a model: loss and metrics.

#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/labelled_images.hpp>
#include <locus/nn/criterion.hpp>
#include <locus/nn/module.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/training/history.hpp>
#include <locus/training/ranks.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
#include <locus/refuse/training/metrics_mistakes.inc>

template <class X>
inline constexpr bool is_loader = false;
template <class S, class D>
inline constexpr bool is_loader<data::Loader<S, D>> = true;
}  // namespace detail

/// Number of rows of logits (n, classes) with the maximum at their label (n). shape: ()
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

/// Share of rows of logits (n, classes) with the maximum at their label (n). Waits for the device.
/// throws ShapeError unless the shapes are these; ArgumentError where there are no rows; IndexError as correct() does
template <class L, class Y>
  requires(TensorLike<L> && TensorLike<Y> && detail::IsWrong<detail::AccuracyMistake<L, Y>, detail::Wrong::nothing>)
[[nodiscard]] double accuracy(const L& logits, const Y& given_labels) {
  const auto& labels = given_labels.value();
  if (labels.empty()) fail<ArgumentError>({"accuracy: there are no labels; expected at least one"});
  return static_cast<double>(correct(logits, labels).item()) / static_cast<double>(labels.elements());
}

/// accuracy(logits, labels) as an object.
struct Accuracy {
  template <class L, class Y>
  [[nodiscard]] double operator()(const L& logits, const Y& labels) const {
    return accuracy(logits, labels);
  }
};

/// A measurement beside the loss: a name, and a function of predictions and targets that returns the mean over them, as
/// a number or a tensor of one element. Any loss is such a function.
///
///     evaluate(model, nn::MSELoss{}, batches, Metric{"mean error", nn::L1Loss{}}).metric("mean error")
template <class F>
struct Metric {
  std::string name;
  F function;
};
template <class F>
Metric(std::string, F) -> Metric<F>;
template <class F>
Metric(const char*, F) -> Metric<F>;

struct Evaluation {
  double loss = 0;      ///< mean per sample
  double accuracy = 0;  ///< in [0, 1]: the metric of that name; NaN if a loss was given without it
  std::vector<MetricValue> metrics = {};

  /// throws ArgumentError for a name that was not measured
  [[nodiscard]] double metric(std::string_view name) const { return detail::value_of_metric(metrics, name); }
};

namespace detail {
inline constexpr double no_accuracy = __builtin_nan("");

template <class X>
[[nodiscard]] double number_of(const X& x) {
  if constexpr (std::is_arithmetic_v<X>) return static_cast<double>(x);
  else return static_cast<double>(x.eval().value().item());
}

/// 16 bits are too few for a sum.
template <class T, class D>
[[nodiscard]] Tensor<compute_t<T>, D> widened(const Tensor<T, D>& x) {
  if constexpr (std::is_same_v<T, compute_t<T>> || !FloatingDType<T>) return x;
  else return x.template as<compute_t<T>>();
}

template <class T, class D>
[[nodiscard]] Traced<compute_t<T>, D> widened(const Traced<T, D>& x) {
  if constexpr (std::is_same_v<T, compute_t<T>>) return x;
  else return x.template as<compute_t<T>>();
}

/// The batch without its first tensor, which is the model's input: the targets. A batch of one tensor is its own
/// target.
template <class X, class D, class F>
decltype(auto) with_targets(const Tuple<Tensor<X, D>>& batch, const F& f) {
  return f(get<0>(batch));
}
template <class X, class Y, class... Z, class D, class F>
decltype(auto) with_targets(const Tuple<Tensor<X, D>, Tensor<Y, D>, Tensor<Z, D>...>& batch, const F& f) {
  return unpack(batch, [&](const auto&, const auto&... target) -> decltype(auto) { return f(target...); });
}

template <class L>
concept SaysReduction = requires(const L& loss) {
  { loss.reduces_as() } -> std::convertible_to<Reduction>;
};
template <class L>
concept HasReduction = requires(const L& loss) {
  { loss.options.reduction } -> std::convertible_to<Reduction>;
};
/// How a loss reduces losses of samples: by its reduces_as(), else by its options, else by the mean.
template <class L>
[[nodiscard]] Reduction reduction_of([[maybe_unused]] const L& loss) {
  if constexpr (SaysReduction<L>) return loss.reduces_as();
  else if constexpr (HasReduction<L>) return loss.options.reduction;
  else return Reduction::mean;
}
/// Factor on the loss of a batch in a sum over batches: its number of samples for a mean, 1 for a sum.
/// throws ArgumentError for a loss that is no number
template <class L>
[[nodiscard]] double weight_of_loss(const L& loss, std::int64_t samples) {
  const Reduction reduction = reduction_of(loss);
  if (reduction == Reduction::none)
    fail<ArgumentError>({"fit, evaluate: the loss has Reduction::none; expected mean or sum"});
  return reduction == Reduction::sum ? 1 : static_cast<double>(samples);
}

/// Divisor of the mean of a loss, as R, if it is not the number of samples: loss.counted(targets...), for losses that
/// ignore or weight targets. An undefined tensor for other losses.
template <class R, class L, class X, class... Y, class D>
[[nodiscard]] Tensor<R, D> targets_counted(const L& loss, const Tuple<Tensor<X, D>, Tensor<Y, D>...>& batch) {
  if constexpr (requires(const Tensor<Y, D>&... target) { loss.counted(target...); }) {
    if (reduction_of(loss) != Reduction::mean) return {};
    return with_targets(batch,
                        [&](const auto&... target) { return Tensor<R, D>(loss.counted(target...).template as<R>()); });
  } else {
    return {};
  }
}

/// Cross-entropy of labels that are classes; none is ignored or weighted.
struct ClassifierLoss {
  template <class L, class Y>
    requires LossOperands<L, Y>
  [[nodiscard]] auto operator()(const L& logits, const Y& labels) const {
    return cross_entropy(logits, labels);
  }
};

/// A model's predictions for a batch, recorded if X is traced.
template <class M, class X>
[[nodiscard]] auto predict(const M& model, const X& x) {
  if constexpr (nn::detail::HasForward<M>) {  // without a call in between, in errors
    auto y = model.forward(x);
    return y.eval();
  } else {
    auto y = model(x);
    return y.eval();
  }
}

template <class S>
struct FirstOf;
template <class T, class... Others>
struct FirstOf<data::Fields<T, Others...>> {
  using type = T;
};
/// Element type of the input that a data set gives to a model.
template <class S>
using input_t = typename FirstOf<data::detail::fields_t<S>>::type;
/// Mistake of a model for batches of a data set on D.
template <class M, class S, class D>
using LoaderMistake = BatchMistake<M, input_t<S>, D>;

template <class L, class Prediction, class D, class Fields>
inline constexpr bool takes_targets = false;
template <class L, class Prediction, class D, class X>
inline constexpr bool takes_targets<L, Prediction, D, data::Fields<X>> =
    requires(const L& loss, const Prediction& prediction, const Tensor<X, D>& target) { loss(prediction, target); };
template <class L, class Prediction, class D, class X, class Y, class... Z>
inline constexpr bool takes_targets<L, Prediction, D, data::Fields<X, Y, Z...>> =
    requires(const L& loss, const Prediction& prediction) {
      loss(prediction, std::declval<const Tensor<Y, D>&>(), std::declval<const Tensor<Z, D>&>()...);
    };
/// Whether a loss takes a model's predictions for batches of S on D, and their targets. (Not tested for a model that is
/// a function.)
template <class L, class M, class S, class D>
concept LossFor = !HasPlace<M> || takes_targets<L, Tensor<value_of<M>, D>, D, data::detail::fields_t<S>>;

template <class M, class L, class S, class D, class... F>
[[nodiscard]] Evaluation evaluate_all(const M& model, const L& loss, data::Loader<S, D>& batches,
                                      const Metric<F>&... metrics) {
  require_each_once(batches);
  std::vector<double> sums(3 + sizeof...(F));  // of the loss, of its divisor, of samples, of metrics
  for (const auto& named : batches) {
    const auto batch = data::detail::tensors_of<data::detail::fields_t<S>::size>(named);
    const std::int64_t size = get<0>(batch).size(0);
    const auto prediction = predict(model, get<0>(batch));
    const auto counted = targets_counted<float>(loss, batch);
    const double weight = counted.buffer() ? number_of(counted) : weight_of_loss(loss, size);
    sums[1] += counted.buffer() ? weight : static_cast<double>(size);
    with_targets(batch, [&](const auto&... target) {
      if (weight != 0) sums[0] += number_of(loss(widened(prediction), widened(target)...)) * weight;
      [[maybe_unused]] std::size_t i = 3;
      ((sums[i++] += number_of(metrics.function(prediction, target...)) * static_cast<double>(size)), ...);
    });
    sums[2] += static_cast<double>(size);
  }
  sums = sums_over_ranks(model, std::move(sums));
  const double samples = sums[2];
  if (samples == 0)
    fail<ArgumentError>({"evaluate: the loader has no batch; use a smaller batch_size, or no drop_last"});
  Evaluation result{sums[0] / sums[1], no_accuracy};
  [[maybe_unused]] std::size_t i = 3;
  (result.metrics.push_back({metrics.name, sums[i++] / samples}), ...);
  if (const MetricValue* const accuracy = find_metric(result.metrics, "accuracy")) result.accuracy = accuracy->value;
  return result;
}

template <class M, class S, class D>
[[nodiscard]] Evaluation score_classifier(const M& model, data::Loader<S, D>& batches) {
  return evaluate_all(model, ClassifierLoss{}, batches, Metric{"accuracy", Accuracy{}});
}
}  // namespace detail

/// Loss and metrics of a model, a layer or a function, over all batches: plain tensors, so nothing is recorded. The
/// first tensor of a batch is the model's input, the others are targets: loss(model(input), targets...). A batch of one
/// tensor is its own target. Losses of samples have equal weights; for nn::CrossEntropyLoss, and losses of your own
/// with counted(targets...), the mean is over counted targets. A loss that sums over samples says so in
/// options.reduction, or by reduces_as(). A distributed model is evaluated on each rank's own batches; the result
/// covers all ranks and is identical on each. throws ArgumentError for a loader without a batch or with a sampler that
/// repeats samples, or a loss with Reduction::none
///
///     const double error = evaluate(model, nn::MSELoss{}, data::loader<D>(valid)).loss;
template <class M, class L, class S, class D, class... F>
  requires(detail::IsWrong<detail::LoaderMistake<M, S, D>, detail::Wrong::nothing> && detail::LossFor<L, M, S, D>)
[[nodiscard]] Evaluation evaluate(const M& model, const L& loss, data::Loader<S, D>& batches,
                                  const Metric<F>&... metrics) {
  if constexpr (nn::detail::HasForward<M>) {
    // Named here, the compiler's path from your program to a mistake in its forward is short.
    using Output [[maybe_unused]] = decltype(model.forward(std::declval<const Tensor<detail::input_t<S>, D>&>()));
    if constexpr (!nn::detail::Forwards<M, Tensor<detail::input_t<S>, D>>) return {};
    else return detail::evaluate_all(model, loss, batches, metrics...);
  } else {
    return detail::evaluate_all(detail::model_of_rank(model), loss, batches, metrics...);
  }
}
template <class M, class L, class S, class D, class... F>
  requires(detail::IsWrong<detail::LoaderMistake<M, S, D>, detail::Wrong::nothing> && detail::LossFor<L, M, S, D>)
[[nodiscard]] Evaluation evaluate(const M& model, const L& loss, data::Loader<S, D>&& batches,
                                  const Metric<F>&... metrics) {
  return evaluate(model, loss, batches, metrics...);
}

/// Cross-entropy and accuracy of a classifier over all batches of inputs and labels.
/// throws ArgumentError for a loader without a batch, or with a sampler that repeats samples
template <class M, class S, class D>
  requires detail::IsWrong<detail::LoaderMistake<M, S, D>, detail::Wrong::nothing>
[[nodiscard]] Evaluation evaluate(const M& model, data::Loader<S, D>& batches) {
  if constexpr (nn::detail::HasForward<M>) {  // as above
    using Output [[maybe_unused]] = decltype(model.forward(std::declval<const Tensor<detail::input_t<S>, D>&>()));
    if constexpr (!nn::detail::Forwards<M, Tensor<detail::input_t<S>, D>>) return {};
    else return detail::score_classifier(model, batches);
  } else {
    return detail::score_classifier(detail::model_of_rank(model), batches);
  }
}
template <class M, class S, class D>
  requires detail::IsWrong<detail::LoaderMistake<M, S, D>, detail::Wrong::nothing>
[[nodiscard]] Evaluation evaluate(const M& model, data::Loader<S, D>&& batches) {
  return evaluate(model, batches);
}

/// Evaluates over a data set, in batches of 1000 on `device`, the model's. With a distributed model, each rank
/// evaluates its share, on the device of its communicator.
template <class M, data::Dataset S>
[[nodiscard]] Evaluation evaluate(const M& model, const S& dataset, device_of<M> device = {}) {
  if constexpr (detail::OfRanks<M>) {
    const auto& comm = model.communicator();
    const bool share = dataset.size() >= comm.size();  // otherwise each rank evaluates all
    const data::DistributedSampler sampler(dataset.size(), share ? comm.rank() : 0, share ? comm.size() : 1,
                                           {.shuffle = false, .remainder = data::Remainder::keep});
    return evaluate(model, data::loader(dataset, sampler, {.batch_size = 1000, .ahead = 2}, comm.device()));
  } else {
    return evaluate(model, data::loader(dataset, {.batch_size = 1000, .ahead = 2}, device));
  }
}

#include <locus/refuse/training/metrics.inc>

}}  // namespace locus::LOCUS_ABI
