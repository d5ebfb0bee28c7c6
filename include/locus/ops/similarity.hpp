#pragma once
// How near vectors are: cosine_similarity, pairwise_distance, pdist; and normalize. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/cdist.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/scatter.hpp>
#include <locus/ops/view.hpp>
#include <locus/tensor/from.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// Operands as handles of one shape, in the type in which they are computed.
template <class X>
[[nodiscard]] auto widened(const X& x) {
  using R = compute_t<value_of<X>>;
  if constexpr (std::is_same_v<R, value_of<X>>) return x.eval();
  else return x.template as<R>().eval();
}
template <class T, class X>
[[nodiscard]] auto narrowed(const X& x) {
  if constexpr (std::is_same_v<T, value_of<X>>) return x.eval();
  else return x.template as<T>().eval();
}
template <class X, class Y>
concept ComparedVectors = Combinable<X, Y> && TensorLike<X> && TensorLike<Y> && FloatingDType<value_of<X>> &&
                          !IsParameter<X> && !IsParameter<Y>;
template <class X, class Y>
struct ComparedMistake : FirstMistake<Mistake<X, Y>, ParameterMistake<X>, ParameterMistake<Y>, IntegerMistake<X>> {};
}  // namespace detail

/// The cosine of the angle between vectors along an axis: x y / (max(|x|, eps) max(|y|, eps)).
/// shape: broadcast, without the axis     gradient: by the products and both norms
/// cost:  four launches; 16 bits are computed in float
/// throws ShapeError for shapes that do not broadcast; ArgumentError for an eps that is negative or not finite
///
///     auto similar = cosine_similarity(query, keys, -1);   // (d,), (n, d) -> (n,)
template <class X, class Y>
  requires detail::ComparedVectors<X, Y>
[[nodiscard]] auto cosine_similarity(const X& x, const Y& y, int axis = 1, double eps = 1e-8) {
  using T = value_of<X>;
  using R = compute_t<T>;
  detail::require_not_negative("cosine_similarity", "eps", eps);
  const R least = static_cast<R>(eps);
  const Shape shape = broadcast(x.shape(), y.shape(), "cosine_similarity");
  const int along = normalize_axis(axis, shape.rank(), "cosine_similarity");
  const auto a = expand(detail::widened(x), shape), b = expand(detail::widened(y), shape);
  const auto formula = [least](auto product, auto p, auto q) {
    return product / (maximum(p, least) * maximum(q, least));
  };
  return detail::narrowed<T>(fuse(formula, sum(a * b, along), norm(a, 2, along), norm(b, 2, along)).eval());
}

/// |x - y + eps|_p along the last axis: the distance of the vectors of each pair.
/// shape: broadcast, without the last axis, or with an extent of 1 if keepdim     cost: as norm
/// throws ShapeError; ArgumentError for an eps that is not finite
template <class X, class Y>
  requires detail::ComparedVectors<X, Y>
[[nodiscard]] auto pairwise_distance(const X& x, const Y& y, double p = 2, double eps = 1e-6, bool keepdim = false) {
  using R = compute_t<value_of<X>>;
  const R shift = detail::finite_as<R>("pairwise_distance", "eps", eps);
  return norm(x - y + shift, p, -1, keepdim);
}

/// The distances between the vectors of each pair of rows, i < j in row-major order: torch.pdist.
/// shape: (n, d) -> (n (n - 1) / 2,)     gradient and cost: as cdist(x, x, p), and a lookup
/// throws ShapeError for another number of dimensions; ArgumentError as cdist
template <class X>
  requires(detail::FloatingOperand<X> && !detail::IsParameter<X>)
[[nodiscard]] auto pdist(const X& x, double p = 2) {
  using D = device_of<X>;
  const Shape shape = x.shape();
  if (shape.rank() != 2) fail<ShapeError>({"pdist: vectors of shape ", shape, "; expected (n, d)"});
  const std::int64_t n = shape[0];
  std::vector<std::int64_t> pairs;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i + 1; j < n; ++j) pairs.push_back(i * n + j);
  decltype(auto) rows = x.eval();
  const Tensor<std::int64_t, D> places = from(pairs).template to<D>(rows.device());
  return take(cdist(rows, rows, p), places);
}

/// Vectors along an axis divided by their norm, or by eps if that is larger: F.normalize.
/// shape: as x     cost: norm, and a launch
/// throws ShapeError; ArgumentError for an eps that is negative or not finite
///
///     auto unit = normalize(embeddings, 2, -1);
template <class X>
  requires(detail::FloatingOperand<X> && !detail::IsParameter<X>)
[[nodiscard]] auto normalize(const X& x, double p = 2, int axis = 1, double eps = 1e-12) {
  using R = compute_t<value_of<X>>;
  detail::require_not_negative("normalize", "eps", eps);
  const R least = static_cast<R>(eps);
  decltype(auto) vectors = x.eval();
  return fuse([least](auto v, auto length) { return v / maximum(length, least); }, vectors,
              norm(vectors, p, axis, true))
      .eval();
}

#include <locus/refuse/ops/similarity.inc>

}}  // namespace locus::LOCUS_ABI
