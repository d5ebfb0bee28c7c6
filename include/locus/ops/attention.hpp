#pragma once
// Scaled dot-product attention.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/attention_passes.hpp>

#include <optional>

namespace locus::inline LOCUS_ABI {

namespace detail {
#include <locus/refuse/ops/attention_mistakes.inc>
}  // namespace detail

LOCUS_REFUSALS_BEGIN
/// Which keys a query attends to: a tensor of bool on D, true where it does, or numbers of T that are added to the
/// scores, -infinity where it does not. It collects no gradient.
template <class T, class D>
class AttentionMask {
 public:
  AttentionMask() = default;  ///< all of them
  template <TensorLike X>
    requires detail::IsWrong<detail::AttentionMaskMistake<detail::bare_t<X>, T, D>, detail::Wrong::nothing>
  AttentionMask(const X& mask) {
    if constexpr (std::is_same_v<value_of<X>, bool>) marks_ = mask.eval();
    else added_ = mask.eval();
  }
#include <locus/refuse/ops/attention_mask_class.inc>

  [[nodiscard]] explicit operator bool() const { return marks_.buffer() || added_.buffer(); }
  [[nodiscard]] const Shape& shape() const { return marks_.buffer() ? marks_.shape() : added_.shape(); }
  [[nodiscard]] D device() const { return marks_.buffer() ? marks_.device() : added_.device(); }
  [[nodiscard]] const Tensor<bool, D>& marks() const { return marks_; }  ///< empty if numbers are added
  [[nodiscard]] const Tensor<T, D>& added() const { return added_; }     ///< empty otherwise

 private:
  Tensor<bool, D> marks_;
  Tensor<T, D> added_;
};
LOCUS_REFUSALS_END

template <class T, class D>
struct AttentionOptions {
  AttentionMask<T, D> mask = {};     ///< broadcasts to (..., l, s)
  bool is_causal = false;            ///< query i attends to keys 0 to i alone
  double dropout = 0;                ///< probability with which a weight is dropped in training
  std::optional<double> scale = {};  ///< of products of queries and keys; absent: 1 / sqrt(e)
};

namespace detail {

/// x of four dimensions or more, with those before the last three merged: a copy where they do not merge.
template <class T, class D>
[[nodiscard]] Tensor<T, D> with_merged_batches(const Tensor<T, D>& x) {
  if (x.rank() == 4) return x;
  std::int64_t merged = 1;
  for (int d = 0; d + 3 < x.rank(); ++d) merged = product_or_most(merged, x.size(d));
  return x.reshape({merged, x.size(-3), x.size(-2), x.size(-1)});
}
/// x, (..., rows, width), as (batch, heads, rows, width), read as `batch` says. A copy where the dimensions before the
/// last three do not merge.
template <class T, class D>
[[nodiscard]] Tensor<T, D> as_heads(const Tensor<T, D>& x, const Shape& batch) {
  Shape shape = batch;
  for (const int d : {-2, -1}) shape.push_back(x.size(d));
  Tensor<T, D> heads = x.expand(shape);
  while (heads.rank() < 4) heads = heads.unsqueeze(0);
  return with_merged_batches(heads);
}
/// x, (batch, rows, heads width) or without the batch, as (batch, heads, rows, width): a view.
template <class T, class D>
[[nodiscard]] Tensor<T, D> split_heads(const Tensor<T, D>& x, std::int64_t heads) {
  const Tensor<T, D> batch = x.rank() == 2 ? x.unsqueeze(0) : x;
  return batch.reshape({batch.size(0), batch.size(1), heads, batch.size(2) / heads}).transpose(1, 2);
}

/// throws ShapeError
LOCUS_OUT_OF_LINE inline Shape attention_batch(const Shape& q, const Shape& k, const Shape& v) {
  const auto refuse = [&](const char* why) {
    fail<ShapeError>({"scaled_dot_product_attention: queries of shape ", q, ", keys ", k, " and values ", v, ": ", why,
                      "; expected (..., l, e), (..., s, e) and (..., s, ev)"});
  };
  if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2) refuse("one has fewer than two dimensions");
  if (q[-1] != k[-1]) refuse("queries and keys are of other widths");
  if (k[-2] != v[-2]) refuse("there are not as many values as keys");
  Shape batch;
  for (const Shape* const shape : {&q, &k, &v}) {
    const Shape one = batch_shape(*shape);
    for (int i = 1; i <= batch.rank() && i <= one.rank(); ++i)
      if (batch[-i] != one[-i] && batch[-i] != 1 && one[-i] != 1)
        refuse("batches broadcast only where their extents are equal or 1");
    batch = broadcast(batch, one);
  }
  return batch;
}
/// Whether a shape is repeated to another one by broadcasting.
[[nodiscard]] LOCUS_OUT_OF_LINE inline bool broadcasts_to(const Shape& shape, const Shape& target) {
  if (shape.rank() > target.rank()) return false;
  for (int i = 1; i <= shape.rank(); ++i)
    if (shape[-i] != target[-i] && shape[-i] != 1) return false;
  return true;
}

/// A mask that broadcasts to `scores`, as (batch, heads, l, s), whose extents may be 1. Of scores of more than four
/// dimensions a copy where those before the last three do not merge.
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

/// What a call is, apart from its operands.
template <class T, class D>
struct AttentionSettings {
  using R = compute_t<T>;
  ExpandedMask<T, D> masks[2] = {};  ///< as (batch, heads, l, s), whose extents may be 1
  bool is_causal = false;
  std::optional<double> scale = {};
  double dropout = 0;
  Draw<D> draw = {};  ///< of a number for each weight, where `dropout` is not 0
  std::int64_t bytes = score_bytes<D>;
};

/// Calls f(drop) with what drops weights.
template <bool drops, class T, class D, class F>
void with_attention_dropout(const AttentionSettings<T, D>& settings, std::int64_t keys, const F& f) {
  if constexpr (drops) {
    if (settings.dropout > 0)
      return f(AttentionDropout<D>{functor::Dropout(settings.dropout), settings.draw.numbers(), keys});
  }
  f(NoAttentionDropout{});
}

template <class T, class D>
[[nodiscard]] AttentionPasses<T, D> attention_passes(const AttentionSettings<T, D>& settings, const Tensor<T, D>& q,
                                                     const Tensor<T, D>& k, const Tensor<T, D>& v) {
  using R = compute_t<T>;
  const double scale =
      settings.scale ? *settings.scale : 1 / math::sqrt(static_cast<double>(larger(q.size(3), std::int64_t{1})));
  AttentionPasses<T, D> passes{q, k, v, {}, settings.is_causal, static_cast<R>(scale), settings.bytes};
  const Shape scores{q.size(0), q.size(1), q.size(2), k.size(2)};
  for (int i = 0; i < 2; ++i) {
    const auto& mask = settings.masks[i];
    auto& expanded = passes.masks[i];
    expanded.allowed = mask.allowed;
    if (mask.marks.buffer()) expanded.marks = mask.marks.expand(scores);
    if (mask.added.buffer()) expanded.added = mask.added.expand(scores);
  }
  return passes;
}
template <class R, class D>
[[nodiscard]] Tensor<R, D> numbers_of_rows(const Shape& q, D device) {
  return Tensor<R, D>({2, product_or_most(product_or_most(q[0], q[1]), q[2])}, device);
}

}  // namespace detail

namespace operation {

/// softmax(scale q k^T) v of q (..., l, e), k (..., s, e), v (..., s, ev). With `heads`, these are (batch, l, heads e)
/// and so on, and so is the result. `drops`: whether there may be dropout.
template <class T, class D, bool drops>
struct Attention {
  static constexpr const char* name = "scaled_dot_product_attention";
  static constexpr bool records = drops;
  using R = compute_t<T>;
  using Marks = Tensor<std::uint8_t, D>;
  /// q, k and v as (batch, heads, ...), masks, two numbers for each row
  using Saved = Tuple<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>, Marks, Tensor<T, D>, Marks, Tensor<T, D>, Tensor<R, D>>;
  detail::AttentionSettings<T, D> settings;
  std::int64_t heads = 0;

  Forwarded<Tensor<T, D>, Tensor<T, D>, Tensor<T, D>, Tensor<T, D>, Marks, Tensor<T, D>, Marks, Tensor<T, D>,
            Tensor<R, D>>
  forward(const Tensor<T, D>& q, const Tensor<T, D>& k, const Tensor<T, D>& v) const {
    detail::require_same_ordinal(name, q, k, v);
    if (heads > 0) {
      Shape shape = q.shape();
      shape[-1] = v.size(-1);
      const Tensor<T, D> y(shape, q.device());
      return finished(y, split(y), split(q), split(k), split(v));
    }
    const Shape batch = detail::attention_batch(q.shape(), k.shape(), v.shape());
    Shape shape = batch;
    shape.push_back(q.size(-2));
    shape.push_back(v.size(-1));
    const Tensor<T, D> y(shape, q.device());
    return finished(y, detail::as_heads(y, batch), detail::as_heads(q, batch), detail::as_heads(k, batch),
                    detail::as_heads(v, batch));
  }

  void backward(const Saved& saved, const Tensor<T, D>& g, Gradient<T, D>& dq, Gradient<T, D>& dk,
                Gradient<T, D>& dv) const {
    // One tensor may be several operands, whose gradients are written in turns.
    const Target q = target(g, dq, false), k = target(g, dk, dk.node() == dq.node());
    const Target v = target(g, dv, dv.node() == dq.node() || dv.node() == dk.node());
    propagate(saved, heads > 0 ? split(g) : detail::as_heads(g, detail::batch_shape(g.shape())), q.gradient, k.gradient,
              v.gradient);
    if (q.apart.buffer()) detail::sum_to(q.apart, dq);
    if (k.apart.buffer()) detail::sum_to(k.apart, dk);
    if (v.apart.buffer()) detail::sum_to(v.apart, dv);
  }

  /// The mean of the heads' weights, (batch, l, s) or without the batch, of a call with these operands and `heads`.
  [[nodiscard]] Tensor<T, D> weights(const Tensor<T, D>& q, const Tensor<T, D>& k, const Tensor<T, D>& v) const {
    const Tensor<T, D> mean = mean_weights(split(q), split(k), split(v));
    return q.rank() == 2 ? mean.select(0, 0) : mean;
  }

 protected:
  [[nodiscard]] Tensor<T, D> split(const Tensor<T, D>& x) const { return detail::split_heads(x, heads); }

  /// Writes `to`, which y is as (batch, heads, ...).
  [[nodiscard]] auto finished(const Tensor<T, D>& y, const Tensor<T, D>& to, const Tensor<T, D>& q,
                              const Tensor<T, D>& k, const Tensor<T, D>& v) const {
    for (const auto& mask : settings.masks) {
      if (mask.marks.buffer()) detail::require_same_ordinal(name, q, mask.marks);
      if (mask.added.buffer()) detail::require_same_ordinal(name, q, mask.added);
    }
    const auto of_rows = detail::numbers_of_rows<R>(q.shape(), q.device());
    const auto passes = detail::attention_passes(settings, q, k, v);
    detail::with_attention_dropout<drops>(settings, k.size(2),
                                          [&](const auto& drop) { passes.forward(to, of_rows, drop); });
    const auto& [first, second] = settings.masks;
    return Forwarded{y, Tuple(q, k, v, first.marks, first.added, second.marks, second.added, of_rows)};
  }
  [[nodiscard]] Tensor<T, D> mean_weights(const Tensor<T, D>& q, const Tensor<T, D>& k, const Tensor<T, D>& v) const {
    const auto of_rows = detail::numbers_of_rows<R>(q.shape(), q.device());
    const Tensor<T, D> mean({q.size(0), q.size(2), k.size(2)}, q.device());
    const auto passes = detail::attention_passes(settings, q, k, v);
    detail::with_attention_dropout<drops>(settings, k.size(2),
                                          [&](const auto& drop) { passes.mean_probabilities(mean, of_rows, drop); });
    return mean;
  }
  void propagate(const Saved& saved, const Tensor<T, D>& g, const detail::AttentionGradient<T, D>& dq,
                 const detail::AttentionGradient<T, D>& dk, const detail::AttentionGradient<T, D>& dv) const {
    const auto passes = detail::attention_passes(settings, get<0>(saved), get<1>(saved), get<2>(saved));
    detail::with_attention_dropout<drops>(
        settings, passes.k.size(2), [&](const auto& drop) { passes.backward(g, get<7>(saved), drop, dq, dk, dv); });
  }

 private:
  struct Target {
    detail::AttentionGradient<T, D> gradient;
    Tensor<T, D> apart;  ///< what is added to the gradient later, if that is another tensor
  };
  [[nodiscard]] Target target(const Tensor<T, D>& g, Gradient<T, D>& gradient, bool is_shared) const {
    if (!gradient) return {};
    Shape shape = gradient.shape();
    const Shape batch = heads > 0 ? Shape{} : detail::batch_shape(g.shape());
    if (heads == 0) {
      shape = batch;
      for (const int d : {-2, -1}) shape.push_back(gradient.shape()[d]);
    }
    const auto viewed = [&](const Tensor<T, D>& x) { return heads > 0 ? split(x) : detail::as_heads(x, batch); };
    if (is_shared || !(shape == gradient.shape())) {
      const Tensor<T, D> apart(shape, g.device());
      return {{viewed(apart), false}, apart};
    }
    const auto [out, accumulate] = gradient.open();
    return {{viewed(out), accumulate}, {}};
  }
};

/// The same of queries, keys and values side by side in one tensor, (batch, l, 3 heads e) or without the batch.
template <class T, class D, bool drops>
struct PackedAttention : Attention<T, D, drops> {
  auto forward(const Tensor<T, D>& x) const {
    Shape shape = x.shape();
    shape[-1] /= 3;
    const Tensor<T, D> y(shape, x.device());
    return this->finished(y, this->split(y), third(x, 0), third(x, 1), third(x, 2));
  }
  [[nodiscard]] Tensor<T, D> weights(const Tensor<T, D>& x) const {
    const Tensor<T, D> mean = this->mean_weights(third(x, 0), third(x, 1), third(x, 2));
    return x.rank() == 2 ? mean.select(0, 0) : mean;
  }
  void backward(const typename Attention<T, D, drops>::Saved& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    if (!dx) return;
    const auto [out, accumulate] = dx.open();
    this->propagate(saved, this->split(g), {third(out, 0), accumulate}, {third(out, 1), accumulate},
                    {third(out, 2), accumulate});
  }

 private:
  [[nodiscard]] Tensor<T, D> third(const Tensor<T, D>& x, int i) const {
    const std::int64_t width = x.size(-1) / 3;
    return this->split(x.slice(x.rank() - 1, i * width, (i + 1) * width));
  }
};

}  // namespace operation

namespace detail {
template <class Q, class K, class V>
concept AttentionOperands = Computes<Q> && TensorLike<K> && TensorLike<V> && FloatingDType<value_of<Q>> &&
                            CombinablePair<Q, K> && CombinablePair<Q, V> && NotParametersAlone<Q, K, V>;

/// Draws what dropout needs, where it acts.
template <class T, class D, class DrawOf>
void draw_attention(AttentionSettings<T, D>& settings, bool acts, double dropout, std::int64_t weights,
                    const DrawOf& draw_of) {
  (void)functor::Dropout(dropout);
  if (!acts || dropout == 0) return;
  settings.dropout = dropout;
  settings.draw = draw_of(weights);
}

/// What options say of a call whose scores have this shape. acts: whether there may be dropout.
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

template <class T, class D, class Q, class K, class V, class DrawOf>
[[nodiscard]] auto attention(const Q& q, const K& k, const V& v, const AttentionOptions<T, D>& options,
                             const DrawOf& draw_of) {
  constexpr bool records = joint_role<Q::role, K::role, V::role> == Role::traced;
  Shape scores = attention_batch(q.shape(), k.shape(), v.shape());
  for (const std::int64_t extent : {q.size(-2), k.size(-2)}) scores.push_back(extent);
  const bool acts = records && !(acts_frozen(q) || acts_frozen(k) || acts_frozen(v));
  return apply(operation::Attention<T, D, records>{attention_settings(options, scores, acts, draw_of)}, q, k, v);
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
/// gradient: with weights p, of g: p^T g for v; with ds = scale p (g v^T - sum(p g v^T)), ds k for q and ds^T q for k.
///           None for the mask.
/// cost:     Scores are never stored whole: those of some queries are computed, used, and computed again for gradients.
///           What that needs takes 1 MiB on hosts, 64 MiB on Cuda, up to four times as much where that is less than 128
///           queries need, or one query's if they are more; of 16 bits also, in float, gradients of the keys and values
///           of heads whose queries are not all computed at once. For each part four launches, backward seven; a mask
///           takes one more. is_causal takes one more for each part and one for all, cuts parts of at most 128 rows, on
///           Cuda 512, and leaves out the keys behind them. Batches and heads that do not merge take a product each.
///           Saves q, k, v, the mask, and two numbers for each query.
/// dropout:  of weights, after softmax, where an operand is traced and none is frozen. What is dropped follows from a
///           draw and is not stored.
/// 16-bit floats are summed in float; scores and weights are rounded to 16 bits between products.
/// throws ShapeError for shapes that do not fit each other; ArgumentError unless 0 <= dropout <= 1 and scale is finite
///
///     auto y = scaled_dot_product_attention(q, k, v, {.is_causal = true});
///     auto z = scaled_dot_product_attention(q, k, v, {.mask = is_key, .dropout = 0.1});   // (batch, 1, 1, s) of bool
template <class Q, class K, class V>
  requires detail::AttentionOperands<Q, K, V>
[[nodiscard]] auto scaled_dot_product_attention(const Q& q, const K& k, const V& v,
                                                const AttentionOptions<value_of<Q>, device_of<Q>>& options = {}) {
  return detail::attention(q, k, v, options, [&](std::int64_t count) { return Draw(count, q.device()); });
}
/// The same with numbers of a given generator.
template <class Q, class K, class V>
  requires detail::AttentionOperands<Q, K, V>
[[nodiscard]] auto scaled_dot_product_attention(const Q& q, const K& k, const V& v,
                                                const AttentionOptions<value_of<Q>, device_of<Q>>& options,
                                                Generator<device_of<Q>>& generator) {
  return detail::attention(q, k, v, options, [&](std::int64_t count) { return Draw(count, generator, q.device()); });
}

/// The same of several heads, whose queries, keys and values lie side by side in x, as one projection makes them.
/// shape: x (batch, l, 3 width), or without the batch -> (batch, l, width): queries, keys and values of `width` each,
/// in
///        each of them the heads one after the other. A mask broadcasts to (batch, heads, l, l).
/// cost:  that of scaled_dot_product_attention; nothing is copied
/// throws ShapeError also unless the heads divide the width
///
///     auto y = packed_attention(linear(x, weight, bias), 12, {.is_causal = true});
template <detail::FloatingOperand X>
[[nodiscard]] auto packed_attention(const X& x, std::int64_t heads,
                                    const AttentionOptions<value_of<X>, device_of<X>>& options = {}) {
  using T = value_of<X>;
  using D = device_of<X>;
  constexpr bool records = X::role == Role::traced;
  const Shape shape = x.shape();
  detail::require_packed(shape, heads);
  const Shape scores{shape.rank() == 3 ? shape[0] : 1, heads, shape[-2], shape[-2]};
  const auto settings = detail::attention_settings(options, scores, records && !detail::acts_frozen(x),
                                                   [&](std::int64_t count) { return Draw(count, x.device()); });
  return apply(operation::PackedAttention<T, D, records>{{settings, heads}}, x);
}

#include <locus/refuse/ops/attention.inc>

}  // namespace locus::inline LOCUS_ABI
