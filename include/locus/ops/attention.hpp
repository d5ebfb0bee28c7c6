#pragma once
// Scaled dot-product attention.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/attention/attention_operation.hpp>
#include <locus/ops/view.hpp>

#include <optional>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
#include <locus/refuse/ops/attention_mistakes.inc>
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// Which keys a query attends to: a tensor of bool on D, true where it does; or numbers of T that are added to the
/// scores, -infinity where it does not. The mask collects no gradient.
template <class T, class D>
class AttentionMask {
 public:
  AttentionMask() = default;  ///< all keys
  template <TensorLike X>
    requires detail::IsWrong<detail::AttentionMaskMistake<detail::bare_t<X>, T, D>, detail::Wrong::nothing>
  AttentionMask(const X& mask) {
    if constexpr (std::is_same_v<value_of<X>, bool>) marks_ = mask.eval();
    else added_ = mask.eval();
  }
#include <locus/refuse/ops/attention_mask_class.inc>

  [[nodiscard]] explicit operator bool() const {
    presence_.require("AttentionMask");
    return marks_.buffer() || added_.buffer();
  }
  [[nodiscard]] const Shape& shape() const { return marks_.buffer() ? marks_.shape() : added_.shape(); }
  [[nodiscard]] D device() const { return marks_.buffer() ? marks_.device() : added_.device(); }
  [[nodiscard]] const Tensor<bool, D>& marks() const { return marks_; }  ///< empty if numbers are added
  [[nodiscard]] const Tensor<T, D>& added() const { return added_; }     ///< empty otherwise

 private:
  detail::Presence presence_;
  Tensor<bool, D> marks_;
  Tensor<T, D> added_;
};
LOCUS_REFUSALS_END

template <class T, class D>
struct AttentionOptions {
  AttentionMask<T, D> mask = {};     ///< broadcasts to (..., l, s)
  bool is_causal = false;            ///< query i attends to keys 0 to i alone
  double dropout = 0;                ///< probability with which a weight is dropped in training
  std::optional<double> scale = {};  ///< factor of q k^T; absent: 1 / sqrt(e)
  bool enable_gqa = false;           ///< several heads of queries share a head of keys and values
};

namespace detail {

/// A mask that broadcasts to `scores`, as (batch, heads, l, s) with extents that may be 1. A copy if scores have more
/// than four dimensions and those before the last three do not merge.
template <class T, class D>
[[nodiscard]] Tensor<T, D> mask_as_heads(const Tensor<T, D>& mask, const Shape& scores) {
  Tensor<T, D> heads = mask;
  while (heads.rank() < larger(scores.rank(), 4)) heads = heads.unsqueeze(0);
  Shape shape = heads.shape();
  bool repeats = true;
  for (int d = 0; d + 3 < shape.rank(); ++d) repeats = repeats && shape[d] == 1;
  if (!repeats)
    for (int d = 0; d + 3 < shape.rank(); ++d) shape[d] = scores[d];
  return with_merged_batches(heads.expand(shape));
}

template <class Q, class K, class V>
concept AttentionOperands = Computes<Q> && TensorLike<K> && TensorLike<V> && FloatingDType<value_of<Q>> &&
                            CombinablePair<Q, K> && CombinablePair<Q, V> && NotParametersAlone<Q, K, V>;

/// Draws the numbers of dropout, where it acts.
template <class T, class D, class DrawOf>
void draw_attention(AttentionSettings<T, D>& settings, bool acts, double dropout, std::int64_t weights,
                    const DrawOf& draw_of) {
  (void)functor::Dropout(dropout);
  if (!acts || dropout == 0) return;
  settings.dropout = dropout;
  settings.draw = draw_of(weights);
}

/// The settings that options make for a call whose scores have this shape. acts: whether there may be dropout.
template <class T, class D, class DrawOf>
[[nodiscard]] AttentionSettings<T, D> attention_settings(const AttentionOptions<T, D>& options, const Shape& scores,
                                                         bool acts, const DrawOf& draw_of) {
  constexpr const char* caller = "scaled_dot_product_attention";
  AttentionSettings<T, D> settings;
  if (options.scale) (void)finite_as<compute_t<T>>(caller, "scale", *options.scale);
  settings.scale = options.scale, settings.is_causal = options.is_causal;
  if (const auto& mask = options.mask) {
    if (!broadcasts_to(mask.shape(), scores))
      fail<ShapeError>({caller, ": a mask of shape ", mask.shape(), " for scores of shape ", scores,
                        "; expected a shape that broadcasts to it"});
    auto& expandable = settings.masks[0];
    if (mask.marks().buffer()) expandable.marks = as_bytes(mask_as_heads(mask.marks(), scores));
    else expandable.added = mask_as_heads(mask.added(), scores);
  }
  draw_attention(settings, acts, options.dropout, elements(scores), draw_of);
  return settings;
}

/// The heads of keys, each shared by a group of queries' heads. throws ShapeError
LOCUS_OUT_OF_LINE inline std::int64_t groups_of(const Shape& q, const Shape& k, const Shape& v) {
  const bool have_heads = q.rank() > 2 && k.rank() > 2 && v.rank() > 2;
  if (!have_heads || k[-3] != v[-3] || k[-3] == 0 || q[-3] % k[-3] != 0)
    fail<ShapeError>({"scaled_dot_product_attention: queries of shape ", q, ", keys ", k, " and values ", v,
                      " with .enable_gqa = true; expected (..., heads, l, e), (..., groups, s, e) and ",
                      "(..., groups, s, ev) of groups that divide the heads"});
  return k[-3];
}
/// (..., heads, rows, width) -> (..., groups, heads / groups, rows, width); (..., 1, 1, rows, width) of one head.
[[nodiscard]] LOCUS_OUT_OF_LINE inline Shape grouped_heads(const Shape& shape, std::int64_t groups) {
  Shape grouped;
  for (int d = 0; d + 3 < shape.rank(); ++d) grouped.push_back(shape[d]);
  for (const std::int64_t extent :
       {shape[-3] == 1 ? 1 : groups, shape[-3] == 1 ? 1 : shape[-3] / groups, shape[-2], shape[-1]})
    grouped.push_back(extent);
  return grouped;
}
/// The options with a mask for heads in groups.
template <class T, class D>
[[nodiscard]] AttentionOptions<T, D> grouped_options(AttentionOptions<T, D> options, std::int64_t heads,
                                                     std::int64_t groups) {
  if (!options.mask || options.mask.shape().rank() < 3) return options;
  const Shape& shape = options.mask.shape();
  if (shape[-3] != 1 && shape[-3] != heads)
    fail<ShapeError>({"scaled_dot_product_attention: a mask of shape ", shape, " for ", heads, " heads; expected 1 or ",
                      heads, " as its third extent from the end"});
  const Shape grouped = grouped_heads(shape, groups);
  if (options.mask.marks().buffer()) options.mask = options.mask.marks().reshape(grouped);
  else options.mask = options.mask.added().reshape(grouped);
  return options;
}
/// An operand of which a view is taken: a parameter is traced beside traced operands, plain beside plain ones.
template <Role role, class X>
[[nodiscard]] auto viewable(const X& x) {
  if constexpr (!IsParameter<X>) return bare_t<decltype(x.eval())>(x.eval());
  else if constexpr (role == Role::traced) return trace(x);
  else return x.value();
}

template <class T, class D, class Q, class K, class V, class DrawOf>
[[nodiscard]] auto attention(const Q& q, const K& k, const V& v, const AttentionOptions<T, D>& options,
                             const DrawOf& draw_of) {
  constexpr bool records = joint_role<Q::role, K::role, V::role> == Role::traced;
  Shape scores = attention_batch(q.shape(), k.shape(), v.shape());
  for (const std::int64_t extent : {q.size(-2), k.size(-2)}) scores.push_back(extent);
  const auto settings = attention_settings(options, scores, in_training(q, k, v), draw_of);
  return apply(operation::Attention<T, D, records>{settings}, q, k, v);
}
/// With options.enable_gqa, heads become groups, to whose queries keys and values are broadcast.
template <class T, class D, class Q, class K, class V, class DrawOf>
[[nodiscard]] auto attention_of_groups(const Q& q, const K& k, const V& v, const AttentionOptions<T, D>& options,
                                       const DrawOf& draw_of) {
  using Y = decltype(attention(q, k, v, options, draw_of));
  if (!options.enable_gqa) return attention(q, k, v, options, draw_of);
  constexpr Role role = joint_role<Q::role, K::role, V::role>;
  const std::int64_t groups = groups_of(q.shape(), k.shape(), v.shape());
  const auto grouped = reshape(viewable<role>(q), grouped_heads(q.shape(), groups));
  const Y y = attention(grouped, unsqueeze(viewable<role>(k), -3), unsqueeze(viewable<role>(v), -3),
                        grouped_options(options, q.shape()[-3], groups), draw_of);
  return Y(flatten(y, -4, -3));
}

/// throws ShapeError unless x is (batch, l, 3 heads e), or without the batch
LOCUS_OUT_OF_LINE inline void require_packed(const Shape& x, std::int64_t heads) {
  if ((x.rank() != 2 && x.rank() != 3) || heads < 1 || x[-1] % 3 != 0 || x[-1] / 3 % heads != 0)
    fail<ShapeError>({"packed_attention: shape ", x, " for ", heads,
                      " heads; expected (batch, l, 3 width) or (l, 3 width) of a width that the heads divide"});
}
}  // namespace detail

/// softmax(scale q k^T + mask) v, as F.scaled_dot_product_attention: each query's mean of the values, weighted by how
/// well their keys match it.
/// shape:    q (..., l, e), k (..., s, e), v (..., s, ev) -> (..., l, ev). Dimensions before the last two broadcast.
///           The mask broadcasts to (..., l, s). A query that attends to no key gives 0, as in PyTorch.
/// groups:   With .enable_gqa = true, q is (..., heads, l, e), k (..., groups, s, e) and v (..., groups, s, ev), and
///           the groups divide the heads. Neighbouring heads share a group's keys and values, which are not copied for
///           each; their gradients are made for each head, and summed.
/// gradient: with weights p, of g: p^T g for v; with ds = scale p (g v^T - sum(p g v^T)), ds k for q and ds^T q for k.
///           None for the mask.
/// cost:     Scores are never stored whole. On Cuda one launch, backward three, whose scores stay in shared memory, for
///           heads of up to 128 elements, in double 64. From 2 Mi scores on, 16 bits without masks and dropout take
///           cuDNN's fused kernels where they are linked, with one more launch; otherwise 16 bits, and TF32, take
///           products on tensor cores. These products, and hosts, compute blocks of queries, use them, and recompute
///           them for gradients. Their memory is 1 MiB on hosts, 64 MiB on Cuda; up to four times as much if that holds
///           fewer than 128 queries, and in any case at least one query's. In 16 bits, keys and values of heads whose
///           queries are computed in several parts also need their gradients in float. Each part takes four launches,
///           backward seven; a mask takes one more. is_causal takes one more for each part and one for all, limits
///           parts to 128 rows, on Cuda 512, and skips the keys behind them. Batches and heads that do not merge take a
///           product each on hosts, a copy on Cuda. Saves q, k, v, the mask, two numbers for each query, and where
///           scores stay in shared memory the result.
/// dropout:  of weights, after softmax, where an operand is traced and none is frozen. The dropped weights follow from
///           a draw; no mask is stored.
/// 16-bit floats are summed in float; between products, scores and weights are rounded to 16 bits.
/// throws ShapeError for shapes that do not fit each other; ArgumentError unless 0 <= dropout <= 1 and scale is finite
///
///     auto y = scaled_dot_product_attention(q, k, v, {.is_causal = true});
///     auto z = scaled_dot_product_attention(q, k, v, {.mask = is_key, .dropout = 0.1});   // (batch, 1, 1, s) of bool
template <class Q, class K, class V>
  requires detail::AttentionOperands<Q, K, V>
[[nodiscard]] auto scaled_dot_product_attention(const Q& q, const K& k, const V& v,
                                                const AttentionOptions<value_of<Q>, device_of<Q>>& options = {}) {
  return detail::attention_of_groups(q, k, v, options, [&](std::int64_t count) { return Draw(count, q.device()); });
}
/// The same with the numbers of a given generator.
template <class Q, class K, class V>
  requires detail::AttentionOperands<Q, K, V>
[[nodiscard]] auto scaled_dot_product_attention(const Q& q, const K& k, const V& v,
                                                const AttentionOptions<value_of<Q>, device_of<Q>>& options,
                                                Generator<device_of<Q>>& generator) {
  return detail::attention_of_groups(q, k, v, options,
                                     [&](std::int64_t count) { return Draw(count, generator, q.device()); });
}

namespace detail {
template <class X, class DrawOf>
[[nodiscard]] auto attention_of_heads(const X& x, std::int64_t heads,
                                      const AttentionOptions<value_of<X>, device_of<X>>& options,
                                      const DrawOf& draw_of) {
  using T = value_of<X>;
  using D = device_of<X>;
  constexpr bool records = X::role == Role::traced;
  const Shape shape = x.shape();
  require_packed(shape, heads);
  if (options.enable_gqa)
    fail<ArgumentError>(
        {"packed_attention: .enable_gqa = true, but x holds as many heads of keys as of queries; for fewer ",
         "heads of keys, call scaled_dot_product_attention"});
  const Shape scores{shape.rank() == 3 ? shape[0] : 1, heads, shape[-2], shape[-2]};
  const auto settings = attention_settings(options, scores, in_training(x), draw_of);
  return apply(operation::PackedAttention<T, D, records>{{settings, heads}}, x);
}
}  // namespace detail

/// The same for several heads, whose queries, keys and values lie side by side in x, as one projection makes them.
/// shape: x (batch, l, 3 width), or without the batch -> (batch, l, width): queries, keys and values of `width` each,
///        in each of them the heads one after the other. A mask broadcasts to (batch, heads, l, l).
/// cost:  as scaled_dot_product_attention; nothing is copied
/// throws ShapeError also unless the heads divide the width
///
///     auto y = packed_attention(linear(x, weight, bias), 12, {.is_causal = true});
template <detail::FloatingOperand X>
[[nodiscard]] auto packed_attention(const X& x, std::int64_t heads,
                                    const AttentionOptions<value_of<X>, device_of<X>>& options = {}) {
  return detail::attention_of_heads(x, heads, options, [&](std::int64_t count) { return Draw(count, x.device()); });
}
/// The same with the numbers of a given generator.
template <detail::FloatingOperand X>
[[nodiscard]] auto packed_attention(const X& x, std::int64_t heads,
                                    const AttentionOptions<value_of<X>, device_of<X>>& options,
                                    Generator<device_of<X>>& generator) {
  return detail::attention_of_heads(x, heads, options,
                                    [&](std::int64_t count) { return Draw(count, generator, x.device()); });
}

#include <locus/refuse/ops/attention.inc>

}}  // namespace locus::LOCUS_ABI
