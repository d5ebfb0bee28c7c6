#pragma once
// More losses with a margin: of pairs of scores, of the scores of classes, of sets of labels, and of triplets by a
// distance of your own. Not part of locus/locus.hpp.

#include <locus/nn/margin_loss.hpp>
#include <locus/ops/cumulative.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/index.hpp>
#include <locus/tensor/factory.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// log(1 + e^(-y x)) of a score x and a target y, 1 or -1.
/// shape: (), or the operands' with Reduction::none. throws ShapeError unless shapes are equal
template <class P, class Y>
  requires detail::LossOperands<P, Y>
[[nodiscard]] auto soft_margin_loss(const P& score, const Y& target, Reduction reduction = Reduction::mean) {
  detail::require_same_shape("soft_margin_loss", score, target);
  return detail::reduced(fuse([](auto x, auto y) { return softplus(-(y * x)); }, score, target), reduction);
}

/// max(0, margin - y (first - second)) of two scores: y is 1 where the first should be larger, -1 where the second.
/// shape: (), or the operands' with Reduction::none. throws ShapeError unless shapes are equal; ArgumentError for a
/// margin that is not finite
template <class A, class B, class Y>
  requires detail::ThreeLossOperands<A, B, Y>
[[nodiscard]] auto margin_ranking_loss(const A& first, const B& second, const Y& target, double margin = 0.0,
                                       Reduction reduction = Reduction::mean) {
  detail::require_same_shape("margin_ranking_loss", first, second);
  detail::require_same_shape("margin_ranking_loss", first, target);
  using R = compute_t<value_of<A>>;
  const R width = locus::detail::finite_as<R>("margin_ranking_loss", "margin", margin);
  const auto formula = [width](auto a, auto b, auto y) { return detail::positive_part(width - y * (a - b)); };
  return detail::reduced(fuse(formula, first, second, target), reduction);
}

struct MultiMarginLossOptions {
  int p = 1;  ///< power of each term, 1 or 2
  double margin = 1.0;
  Reduction reduction = Reduction::mean;
};

namespace detail {
/// throws ShapeError unless scores are (n, classes) and labels fit them, or both are without the n
LOCUS_OUT_OF_LINE inline void require_scores(const char* loss, const Shape& scores, const Shape& labels,
                                             bool is_label_per_row) {
  Shape expected = scores;
  if (is_label_per_row && scores.rank() > 0) expected.erase(scores.rank() - 1);
  if ((scores.rank() == 1 || scores.rank() == 2) && scores[-1] > 0 && labels == expected) return;
  fail<ShapeError>({loss, ": scores of shape ", scores, " and labels of shape ", labels, "; expected (n, classes) and ",
                    is_label_per_row ? "(n,), or (classes,) and ()" : "the same, or (classes,) and the same"});
}

/// The loss of each row, without the factor of its label.
template <class L, class D>
[[nodiscard]] auto class_margins(const L& x, const Tensor<std::int64_t, D>& labels,
                                 const MultiMarginLossOptions& options) {
  using R = compute_t<value_of<L>>;
  const std::int64_t classes = x.shape()[-1];
  const R margin = locus::detail::finite_as<R>("multi_margin_loss", "margin", options.margin);
  if (options.p != 1 && options.p != 2)
    fail<ArgumentError>({"multi_margin_loss: p is ", options.p, "; expected 1 or 2"});
  const auto own = one_hot<R>(labels, classes);
  const auto right = gather(x, -1, labels.unsqueeze(-1));
  const R share = R(1) / static_cast<R>(classes);
  const auto linear = [=](auto score, auto best, auto is_own) {
    return where(is_own == R(1), R(0), positive_part(margin - best + score) * share);
  };
  if (options.p == 1) return sum(fuse(linear, x, right, own), -1);
  const auto quadratic = [=](auto score, auto best, auto is_own) {
    return where(is_own == R(1), R(0), square(positive_part(margin - best + score)) * share);
  };
  return sum(fuse(quadratic, x, right, own), -1);
}
}  // namespace detail

/// The mean over the classes of max(0, margin - x[label] + x[class])^p, the label's class left out.
/// shape: scores (n, classes), labels (n,) -> (), or (classes,) and () -> (); (n,) with Reduction::none
/// cost:  four launches; 16 bits are computed in float
/// throws ShapeError; ArgumentError for another p than 1 and 2, and a margin that is not finite; IndexError for a label
/// out of range, if the host can read it
template <class L, class Y>
  requires locus::detail::LossOperands<L, Y>
[[nodiscard]] auto multi_margin_loss(const L& scores, const Y& labels, const MultiMarginLossOptions& options = {}) {
  using T = value_of<L>;
  const auto& x = scores.eval();
  const auto& y = labels.eval().value();
  detail::require_scores("multi_margin_loss", x.value().shape(), y.shape(), true);
  const auto losses = detail::class_margins(detail::converted<compute_t<T>>(x), y, options);
  return detail::converted<T>(detail::reduced(losses, options.reduction));
}
/// The same, each loss times the weight of its label, of a plain tensor of shape (classes,).
template <class L, class Y, class W>
  requires locus::detail::WeightedLossOperands<L, Y, W>
[[nodiscard]] auto multi_margin_loss(const L& scores, const Y& labels, const W& weights,
                                     const MultiMarginLossOptions& options = {}) {
  using T = value_of<L>;
  const auto& x = scores.eval();
  const auto& y = labels.eval().value();
  detail::require_scores("multi_margin_loss", x.value().shape(), y.shape(), true);
  const auto& of_classes = weights.eval().value();
  if (!(of_classes.shape() == Shape{x.value().size(-1)}))
    fail<ShapeError>({"multi_margin_loss: class weights of shape ", of_classes.shape(), " for ", x.value().size(-1),
                      " classes; expected (", x.value().size(-1), ",)"});
  const auto losses = detail::class_margins(detail::converted<compute_t<T>>(x), y, options);
  const auto shares = index_select(of_classes, 0, y.reshape({inferred})).reshape(y.shape());
  return detail::converted<T>(detail::reduced(losses * shares.template as<compute_t<T>>(), options.reduction));
}

/// The sum over pairs of max(0, 1 - x[label] + x[other]) / classes, where label is any of the row's labels and other is
/// no label. A row lists its labels first; -1 ends the list.
/// shape: scores and labels (n, classes) -> (), or both (classes,) -> (); (n,) with Reduction::none
/// cost:  nine launches; 16 bits are computed in float; traced, memory for n classes^2 numbers
/// throws ShapeError; IndexError for a label above the classes, if the host can read it
template <class L, class Y>
  requires locus::detail::LossOperands<L, Y>
[[nodiscard]] auto multilabel_margin_loss(const L& scores, const Y& labels, Reduction reduction = Reduction::mean) {
  using T = value_of<L>;
  using R = compute_t<T>;
  using D = device_of<L>;
  const auto& x = scores.eval();
  const auto& y = labels.eval().value();
  detail::require_scores("multilabel_margin_loss", x.value().shape(), y.shape(), false);
  const std::int64_t classes = x.value().size(-1);
  const Tensor<std::int64_t, D> listed = cumprod(where(y < 0, std::int64_t{0}, std::int64_t{1}).eval(), -1);
  const Tensor<std::int64_t, D> present = y * listed;
  const Tensor<R, D> counts = listed.template as<R>().unsqueeze(-1);
  const Tensor<R, D> labelled = max(one_hot<R>(present, classes) * counts, -2, true);
  const auto wide = detail::converted<R>(x);
  const R share = R(1) / static_cast<R>(classes);
  const auto formula = [share](auto best, auto score, auto is_listed, auto is_label) {
    auto lacking = detail::positive_part(R(1) - best + score) * share;
    return where(is_listed * (R(1) - is_label) == R(1), lacking, R(0));
  };
  const auto losses =
      sum(fuse(formula, unsqueeze(gather(wide, -1, present), -1), unsqueeze(wide, -2), counts, labelled), {-1, -2});
  return detail::converted<T>(detail::reduced(losses, reduction));
}

namespace detail {
/// throws ShapeError for scalars
inline void require_classes(const char* loss, const Shape& logits) {
  if (logits.rank() == 0) fail<ShapeError>({loss, ": logits of shape ", logits, "; expected (n, classes)"});
}
}  // namespace detail

/// Binary cross-entropy of sigmoid(logits), averaged over the classes: a set of labels for each row, 1 for each label
/// that holds and 0 for the others.
/// shape: (n, classes) each -> (); (n,) with Reduction::none     cost: two launches; 16 bits are computed in float
/// throws ShapeError unless shapes are equal
template <class P, class Y>
  requires detail::LossOperands<P, Y>
[[nodiscard]] auto multilabel_soft_margin_loss(const P& logits, const Y& target,
                                               Reduction reduction = Reduction::mean) {
  detail::require_same_shape("multilabel_soft_margin_loss", logits, target);
  detail::require_classes("multilabel_soft_margin_loss", logits.value().shape());
  using T = value_of<P>;
  using R = compute_t<T>;
  const auto losses =
      mean(elementwise(detail::LogisticLoss{}, detail::converted<R>(logits), detail::converted<R>(target)), -1);
  return detail::converted<T>(detail::reduced(losses, reduction));
}

struct TripletMarginWithDistanceLossOptions {
  double margin = 1.0;
  bool swap = false;  ///< measure the negative from the positive if that is nearer
  Reduction reduction = Reduction::mean;
};
/// max(0, margin + distance(anchor, positive) - distance(anchor, negative)): triplet_margin_loss with a function of two
/// tensors as the distance, such as 1 - cosine_similarity.
/// shape: () of the distances; theirs with Reduction::none
/// throws ArgumentError for a margin that is not finite
///
///     auto apart = [](const auto& x, const auto& y) { return 1 - cosine_similarity(x, y); };
///     auto loss = nn::triplet_margin_with_distance_loss(anchor, positive, negative, apart, {.margin = 0.5});
template <class A, class P, class N, class Distance>
  requires(detail::ThreeOperands<A, P, N> && requires(const A& a, const P& p, const Distance& f) { f(a, p); })
[[nodiscard]] auto triplet_margin_with_distance_loss(const A& anchor, const P& positive, const N& negative,
                                                     const Distance& distance,
                                                     const TripletMarginWithDistanceLossOptions& options = {}) {
  const auto near = distance(anchor, positive).eval(), away = distance(anchor, negative).eval();
  using R = compute_t<value_of<decltype(near)>>;
  const R margin = locus::detail::finite_as<R>("triplet_margin_with_distance_loss", "margin", options.margin);
  const auto formula = [margin](auto x, auto y) { return detail::positive_part(x - y + margin); };
  if (!options.swap) return detail::reduced(fuse(formula, near, away), options.reduction);
  const auto nearest = minimum(away, distance(positive, negative)).eval();
  return detail::reduced(fuse(formula, near, nearest), options.reduction);
}

#include <locus/refuse/nn/multi_margin_loss.inc>

/// soft_margin_loss(score, target).
struct SoftMarginLoss {
  LossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& score, const Y& target) const {
    return soft_margin_loss(score, target, options.reduction);
  }
#include <locus/refuse/nn/criterion_soft_margin.inc>
};

struct MarginRankingLossOptions {
  double margin = 0.0;
  Reduction reduction = Reduction::mean;
};
/// margin_ranking_loss(first, second, target).
struct MarginRankingLoss {
  MarginRankingLossOptions options = {};

  template <class A, class B, class Y>
    requires detail::ThreeLossOperands<A, B, Y>
  [[nodiscard]] auto operator()(const A& first, const B& second, const Y& target) const {
    return margin_ranking_loss(first, second, target, options.margin, options.reduction);
  }
#include <locus/refuse/nn/criterion_margin_ranking.inc>
};

/// multi_margin_loss(scores, labels), optionally with a weight per class, as CrossEntropyLoss.
template <class W = detail::NoClassWeights>
struct MultiMarginLoss {
  MultiMarginLossOptions options = {};

  template <class L, class Y>
    requires locus::detail::LossOperands<L, Y>
  [[nodiscard]] auto operator()(const L& scores, const Y& labels) const {
    return multi_margin_loss(scores, labels, options);
  }
#include <locus/refuse/nn/criterion_multi_margin.inc>
};
template <class T, class D>
struct MultiMarginLoss<Tensor<T, D>> {
  Tensor<T, D> weights;  ///< (classes)
  MultiMarginLossOptions options = {};

  template <class L, class Y>
    requires detail::WeightedBy<L, Y, T, D>
  [[nodiscard]] auto operator()(const L& scores, const Y& labels) const {
    const Tensor<value_of<L>, D> own(weights.template as<value_of<L>>());  // 16-bit weights in float
    return multi_margin_loss(scores, labels, own, options);
  }
#include <locus/refuse/nn/criterion_multi_margin_weighted.inc>
};
MultiMarginLoss() -> MultiMarginLoss<>;
MultiMarginLoss(MultiMarginLossOptions) -> MultiMarginLoss<>;
template <class T, class D>
MultiMarginLoss(const Tensor<T, D>&, MultiMarginLossOptions = {}) -> MultiMarginLoss<Tensor<T, D>>;
#include <locus/refuse/nn/criterion_multi_margin_guide.inc>

/// multilabel_margin_loss(scores, labels).
struct MultiLabelMarginLoss {
  LossOptions options = {};

  template <class L, class Y>
    requires locus::detail::LossOperands<L, Y>
  [[nodiscard]] auto operator()(const L& scores, const Y& labels) const {
    return multilabel_margin_loss(scores, labels, options.reduction);
  }
#include <locus/refuse/nn/criterion_multilabel_margin.inc>
};

/// multilabel_soft_margin_loss(logits, target).
struct MultiLabelSoftMarginLoss {
  LossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& logits, const Y& target) const {
    return multilabel_soft_margin_loss(logits, target, options.reduction);
  }
#include <locus/refuse/nn/criterion_multilabel_soft_margin.inc>
};

/// triplet_margin_with_distance_loss(anchor, positive, negative, distance).
///
///     const nn::TripletMarginWithDistanceLoss loss{apart, {.margin = 0.5}};
template <class Distance>
struct TripletMarginWithDistanceLoss {
  Distance distance;
  TripletMarginWithDistanceLossOptions options = {};

  template <class A, class P, class N>
    requires detail::ThreeOperands<A, P, N>
  [[nodiscard]] auto operator()(const A& anchor, const P& positive, const N& negative) const {
    return triplet_margin_with_distance_loss(anchor, positive, negative, distance, options);
  }
#include <locus/refuse/nn/criterion_triplet_margin.inc>
};
template <class Distance>
TripletMarginWithDistanceLoss(Distance, TripletMarginWithDistanceLossOptions = {})
    -> TripletMarginWithDistanceLoss<Distance>;

}}}  // namespace locus::LOCUS_ABI::nn
