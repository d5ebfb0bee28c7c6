#pragma once
// Losses with a margin: of given distances, and of pairs and triplets of vectors.

#include <locus/autograd/parameter.hpp>
#include <locus/nn/criterion.hpp>
#include <locus/ops/norm.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

namespace detail {
/// An operand of several formulas, in its compute type. It is traced if another operand is, so that a parameter gets
/// its gradient also from formulas without other operands.
template <Role role, class X>
[[nodiscard]] auto seen_in(const X& x) {
  using R = compute_t<value_of<X>>;
  if constexpr (role != Role::traced) return converted<R>(x.eval().value());
  else if constexpr (IsParameter<X>) return converted<R>(trace(x));
  else return converted<R>(x.eval());
}
/// max(x, 0) with PyTorch's slope at 0, which is 1; NaN of a NaN.
template <class X>
[[nodiscard]] auto positive_part(X x) {
  return where(x < 0, 0, x);
}

template <class A, class B, class C>
struct ThreeMistake : FirstMistake<PlaceMistake<A, B>, PlaceMistake<A, C>, MemoryMistake<A>, ParametersMistake<A, B, C>,
                                   PairMistake<A, B>, PairMistake<A, C>, IntegerMistake<A>> {};
template <class A, class B, class C>
concept ThreeOperands =
    TensorLike<A> && TensorLike<B> && TensorLike<C> && IsWrong<ThreeMistake<A, B, C>, Wrong::nothing>;

/// throws ShapeError unless two tensors have the shape of the first, of one dimension at least
template <class A, class B>
void require_vectors(const char* loss, const A& first, const B& other) {
  const Shape &a = first.value().shape(), &b = other.value().shape();
  if (a.rank() > 0 && a == b) return;
  fail<ShapeError>({loss, ": vectors of shapes ", a, " and ", b, "; expected one shape, (n, d) or (d,)"});
}

/// throws ArgumentError unless p is above 0 as an R, and finite there unless it is infinity
template <class R>
void require_order(const char* loss, double p) {
  if (p == std::numeric_limits<double>::infinity()) return;
  if (!(locus::detail::finite_as<R>(loss, "p", p) > 0))
    fail<ArgumentError>({loss, ": p is ", p, "; expected more than 0 as a number of ", dtype_name<R>()});
}
/// |a - b + eps|_p along the last axis.
template <class A, class B>
[[nodiscard]] auto distance(const A& a, const B& b, double p, double eps) {
  return norm(a - b + static_cast<compute_t<value_of<A>>>(eps), p, -1);
}
}  // namespace detail

/// For a given distance x: x where the target is 1, max(0, margin - x) where it is -1, and the sum of both elsewhere.
/// shape: (), or the operands' with Reduction::none. throws ShapeError unless shapes are equal; ArgumentError for a
/// margin that is no finite number of the type in which losses are computed
template <class P, class Y>
  requires detail::LossOperands<P, Y>
[[nodiscard]] auto hinge_embedding_loss(const P& distance, const Y& target, double margin = 1.0,
                                        Reduction reduction = Reduction::mean) {
  detail::require_same_shape("hinge_embedding_loss", distance, target);
  using R = compute_t<value_of<P>>;
  const R width = locus::detail::finite_as<R>("hinge_embedding_loss", "margin", margin);
  const auto formula = [width](auto x, auto y) {
    return where(y == -1, R(0), x) + where(y == 1, R(0), detail::positive_part(width - x));
  };
  return detail::reduced(fuse(formula, distance, target), reduction);
}

/// For the cosine c between vectors: 1 - c where the target is 1, max(0, c - margin) where it is -1, and 0 elsewhere.
/// shape: (n, d), (n, d), (n,) -> (); or (d,), (d,), () -> (). Reduction::none gives the shape of the target.
/// cost: four launches of plain vectors; eight of traced ones, seven with Reduction::none. 16 bits take one more for
/// each operand and for the result.
/// throws ShapeError naming the shapes; ArgumentError for a margin that is not finite
template <class A, class B, class Y>
  requires detail::ThreeOperands<A, B, Y>
[[nodiscard]] auto cosine_embedding_loss(const A& first, const B& second, const Y& target, double margin = 0.0,
                                         Reduction reduction = Reduction::mean) {
  using T = value_of<A>;
  using R = compute_t<T>;
  constexpr Role role = locus::detail::joint_role<A::role, B::role, Y::role>;
  const R width = locus::detail::finite_as<R>("cosine_embedding_loss", "margin", margin);
  detail::require_vectors("cosine_embedding_loss", first, second);
  Shape expected = first.value().shape();
  expected.erase(expected.rank() - 1);
  if (!(target.value().shape() == expected))
    fail<ShapeError>({"cosine_embedding_loss: vectors of shape ", first.value().shape(), " and targets of shape ",
                      target.value().shape(), "; expected targets of shape ", expected});
  const auto a = detail::seen_in<role>(first);
  const auto b = detail::seen_in<role>(second);
  const auto y = detail::seen_in<role>(target);
  const auto formula = [width](auto ab, auto aa, auto bb, auto wanted) {
    const R least = R(1e-12);  // PyTorch's
    auto cosine = ab / sqrt((aa + least) * (bb + least));
    return where(wanted == 1, R(1) - cosine, where(wanted == -1, detail::positive_part(cosine - width), R(0)));
  };
  return detail::converted<T>(
      detail::reduced(fuse(formula, sum(a * b, -1), sum(a * a, -1), sum(b * b, -1), y), reduction));
}

struct TripletMarginLossOptions {
  double margin = 1.0;
  double p = 2;       ///< of the norm that measures distances
  double eps = 1e-6;  ///< added to each difference
  bool swap = false;  ///< measure the negative from the positive if that is nearer (Balntas et al., 2016)
  Reduction reduction = Reduction::mean;
};
/// max(0, margin + |anchor - positive| - |anchor - negative|) of vectors along the last axis.
/// shape: (n, d) each -> (), or (d,) each -> (). Reduction::none gives (n,), or ().
/// cost: three launches of plain vectors, five with swap; six of traced ones, one less with Reduction::none, nine with
/// swap. Each distance takes three more, two if traced, for p other than 1, 2 and infinity, and norm's own where
/// squares vanish.
/// throws ShapeError unless shapes are equal; ArgumentError for a margin or an eps that is not finite, and unless p > 0
template <class A, class P, class N>
  requires detail::ThreeOperands<A, P, N>
[[nodiscard]] auto triplet_margin_loss(const A& anchor, const P& positive, const N& negative,
                                       const TripletMarginLossOptions& options = {}) {
  using T = value_of<A>;
  using R = compute_t<T>;
  constexpr Role role = locus::detail::joint_role<A::role, P::role, N::role>;
  const R margin = locus::detail::finite_as<R>("triplet_margin_loss", "margin", options.margin);
  (void)locus::detail::finite_as<R>("triplet_margin_loss", "eps", options.eps);
  detail::require_order<R>("triplet_margin_loss", options.p);
  detail::require_vectors("triplet_margin_loss", anchor, positive);
  detail::require_vectors("triplet_margin_loss", anchor, negative);
  const auto a = detail::seen_in<role>(anchor);
  const auto p = detail::seen_in<role>(positive);
  const auto n = detail::seen_in<role>(negative);
  const auto near = detail::distance(a, p, options.p, options.eps);
  auto far = detail::distance(a, n, options.p, options.eps);
  if (options.swap) far = minimum(far, detail::distance(p, n, options.p, options.eps)).eval();
  const auto formula = [margin](auto x, auto y) { return detail::positive_part(x - y + margin); };
  return detail::converted<T>(detail::reduced(fuse(formula, near, far), options.reduction));
}

#include <locus/refuse/nn/margin_loss.inc>

struct HingeEmbeddingLossOptions {
  double margin = 1.0;
  Reduction reduction = Reduction::mean;
};
/// hinge_embedding_loss(distance, target).
struct HingeEmbeddingLoss {
  HingeEmbeddingLossOptions options = {};

  template <class P, class Y>
    requires detail::LossOperands<P, Y>
  [[nodiscard]] auto operator()(const P& distance, const Y& target) const {
    return hinge_embedding_loss(distance, target, options.margin, options.reduction);
  }
#include <locus/refuse/nn/criterion_hinge_embedding.inc>
};

struct CosineEmbeddingLossOptions {
  double margin = 0.0;
  Reduction reduction = Reduction::mean;
};
/// cosine_embedding_loss(first, second, target).
struct CosineEmbeddingLoss {
  CosineEmbeddingLossOptions options = {};

  template <class A, class B, class Y>
    requires detail::ThreeOperands<A, B, Y>
  [[nodiscard]] auto operator()(const A& first, const B& second, const Y& target) const {
    return cosine_embedding_loss(first, second, target, options.margin, options.reduction);
  }
#include <locus/refuse/nn/criterion_cosine_embedding.inc>
};

/// triplet_margin_loss(anchor, positive, negative).
struct TripletMarginLoss {
  TripletMarginLossOptions options = {};

  template <class A, class P, class N>
    requires detail::ThreeOperands<A, P, N>
  [[nodiscard]] auto operator()(const A& anchor, const P& positive, const N& negative) const {
    return triplet_margin_loss(anchor, positive, negative, options);
  }
#include <locus/refuse/nn/criterion_triplet_margin.inc>
};

}}}  // namespace locus::LOCUS_ABI::nn
