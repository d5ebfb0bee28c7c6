#pragma once
// Multi-head attention.

#include <locus/nn/linear.hpp>
#include <locus/ops/attention.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// PyTorch's, with its defaults: nn::MultiheadAttention<float, D>{64, 8, {.dropout = 0.1}}.
struct MultiheadAttentionOptions {
  double dropout = 0;         ///< probability with which a weight is dropped in training
  bool bias = true;           ///< of all projections
  std::int64_t kdim = 0;      ///< width of keys; 0: as wide as the queries
  std::int64_t vdim = 0;      ///< width of values; 0: as wide as the queries
  std::int64_t kv_heads = 0;  ///< heads of keys and values, shared by heads of queries (GQA); 0: as many as these
};

/// Which keys a call attends to. As in PyTorch, and unlike in locus::scaled_dot_product_attention, a mask of bool is
/// true for keys that are left out; a mask of numbers is added to the scores.
template <class T, class D>
struct MultiheadAttentionMasks {
  AttentionMask<T, D> key_padding_mask = {};  ///< (batch, s), or (s,) without a batch
  AttentionMask<T, D> attn_mask = {};         ///< (l, s), (batch * heads, l, s), or (batch, l, s) for all heads
  bool is_causal = false;                     ///< query i attends to keys 0 to i alone
};

/// An output and its attention weights, averaged over the heads: (batch, l, s), or (l, s) without a batch. The weights
/// are plain: no gradient flows through them.
template <class Y, class W>
struct Attended {
  Y output;
  W weights;
};

/// Attention of several heads, each to a projection of its own, as torch.nn.MultiheadAttention with batch_first = True.
/// shape: query (batch, l, width), key (batch, s, kdim), value (batch, s, vdim), with or without the batch -> as query.
///        Of one tensor, attention(x), all three are x.
/// Parameters: in_proj_weight (3 width, width), or q_proj_weight, k_proj_weight and v_proj_weight where kdim or vdim is
/// another width, uniform as by xavier_uniform_; in_proj_bias (3 width) and out_proj.bias, initially 0;
/// out_proj.weight. With kv_heads, which PyTorch's layer lacks, keys and values have width kv_heads / heads rows each.
/// cost: scaled_dot_product_attention and two linear layers; called on three tensors, even if all are the same one,
///       four. A query that attends to no key gives out_proj.bias, as PyTorch does where it returns no weights.
/// throws ShapeError for other shapes
///
///     nn::MultiheadAttention<float, D> attention{64, 8, {.dropout = 0.1}};
///     auto y = attention(x, {.is_causal = true});
///     auto z = attention(query, memory, memory, {.key_padding_mask = tokens == padding});
///     auto [output, weights] = attention.with_weights(query, memory, memory);
template <class T, class D>
class MultiheadAttention final : public Layer<MultiheadAttention<T, D>, T, D> {
 public:
  using input_type = T;
  using Masks = MultiheadAttentionMasks<T, D>;

  Parameter<T, D> in_proj_weight;                               ///< empty with kdim or vdim
  Parameter<T, D> q_proj_weight, k_proj_weight, v_proj_weight;  ///< empty without
  Parameter<T, D> in_proj_bias;                                 ///< empty if the layer has none
  Linear<T, D> out_proj;

  /// throws ArgumentError unless the heads divide the width, kv_heads divide the heads, all sizes are positive, and
  /// 0 <= dropout <= 1
  MultiheadAttention(std::int64_t width, std::int64_t heads, const MultiheadAttentionOptions& options = {},
                     D device = {})
      : out_proj(checked(width, heads, options), width, options.bias, device), heads_(heads), options_(options) {
    const std::int64_t kdim = options.kdim > 0 ? options.kdim : width, vdim = options.vdim > 0 ? options.vdim : width;
    const auto projection = [&](std::int64_t out, std::int64_t in) {
      return Parameter<T, D>(init::xavier_uniform_(Tensor<T, D>({out, in}, device)));
    };
    if (kdim == width && vdim == width) {
      in_proj_weight = projection(width + 2 * kv_width(), width);
    } else {
      q_proj_weight = projection(width, width);
      k_proj_weight = projection(kv_width(), kdim);
      v_proj_weight = projection(kv_width(), vdim);
    }
    if (!options.bias) return;
    in_proj_bias = Parameter<T, D>(zeros<T>({width + 2 * kv_width()}, device));
    init::zeros_(out_proj.bias);
  }
#include <locus/refuse/nn/multihead_attention_class.inc>

  using Layer<MultiheadAttention, T, D>::operator();
  template <TensorLike X, class Self = MultiheadAttention>
    requires detail::IsWrong<detail::CallMistake<Self, X>, detail::Wrong::nothing>
  [[nodiscard]] auto operator()(const X& x, const Masks& masks) const {
    const detail::ObservedCall call({this, &typeid(MultiheadAttention)}, x);
    auto y = forward(x.eval(), masks);
    call.end(y);
    return y;
  }
  template <TensorLike Q, TensorLike K, TensorLike V, class Self = MultiheadAttention>
    requires detail::IsWrong<detail::CallMistake<Self, Q, K, V>, detail::Wrong::nothing>
  [[nodiscard]] auto operator()(const Q& query, const K& key, const V& value, const Masks& masks) const {
    const detail::ObservedCall call({this, &typeid(MultiheadAttention)}, query, key, value);
    auto y = forward(query.eval(), key.eval(), value.eval(), masks);
    call.end(y);
    return y;
  }
#include <locus/refuse/nn/attention_class.inc>

  template <TensorLike X>
  [[nodiscard]] auto forward(const X& x, const Masks& masks = {}) const {
    return out_proj.forward(attended(x, masks, nullptr));
  }
  template <TensorLike Q, TensorLike K, TensorLike V>
  [[nodiscard]] auto forward(const Q& query, const K& key, const V& value, const Masks& masks = {}) const {
    return out_proj.forward(attended(query, key, value, masks, nullptr));
  }
  /// Also returns the weights, stored whole; in training, after dropout. cost: computes the scores once more
  template <TensorLike X, class Self = MultiheadAttention>
    requires detail::IsWrong<detail::CallMistake<Self, X>, detail::Wrong::nothing>
  [[nodiscard]] auto with_weights(const X& x, const Masks& masks = {}) const {
    const detail::ObservedCall call({this, &typeid(MultiheadAttention)}, x);
    Weights<X> weights;
    auto y = out_proj.forward(attended(x.eval(), masks, &weights));
    call.end(y);
    return Attended<decltype(y), Weights<X>>{std::move(y), std::move(weights)};
  }
  template <TensorLike Q, TensorLike K, TensorLike V, class Self = MultiheadAttention>
    requires detail::IsWrong<detail::CallMistake<Self, Q, K, V>, detail::Wrong::nothing>
  [[nodiscard]] auto with_weights(const Q& query, const K& key, const V& value, const Masks& masks = {}) const {
    const detail::ObservedCall call({this, &typeid(MultiheadAttention)}, query, key, value);
    Weights<Q, K, V> weights;
    auto y = out_proj.forward(attended(query.eval(), key.eval(), value.eval(), masks, &weights));
    call.end(y);
    return Attended<decltype(y), Weights<Q, K, V>>{std::move(y), std::move(weights)};
  }

  void members(const auto& visit) const {
    visit("in_proj_weight", in_proj_weight);
    visit("q_proj_weight", q_proj_weight);
    visit("k_proj_weight", k_proj_weight);
    visit("v_proj_weight", v_proj_weight);
    visit("in_proj_bias", in_proj_bias);
    visit("out_proj", out_proj);
  }
  /// Options of the layer, for to_string.
  [[nodiscard]] std::string extra_repr() const {
    return join(width(), ", ", heads_, detail::option_text("dropout", options_.dropout, 0.0),
                detail::option_text("bias", options_.bias, true), detail::option_text("kv_heads", kv_heads(), heads_));
  }
  [[nodiscard]] std::int64_t heads() const { return heads_; }
  [[nodiscard]] detail::WeightUse weight_use() const { return {.width = width(), .heads = heads_}; }
  [[nodiscard]] const MultiheadAttentionOptions& options() const { return options_; }
  /// A layer of the same configuration for U on E.
  template <class U, class E>
  [[nodiscard]] auto twin() const {
    return MultiheadAttention<U, E>(width(), heads_, options_);
  }

 private:
  /// The weights of operands X: of duals if one of these is.
  template <class... X>
  using Weights = Tensor<typename locus::detail::CommonValue<X..., Tensor<T, D>>::type, D>;

  static std::int64_t checked(std::int64_t width, std::int64_t heads, const MultiheadAttentionOptions& options) {
    if (width < 1 || heads < 1 || width % heads != 0)
      fail<ArgumentError>({"MultiheadAttention: ", heads, " heads for a width of ", width,
                           "; expected a width of at least 1, and heads that divide it"});
    if (options.kdim < 0 || options.vdim < 0)
      fail<ArgumentError>({"MultiheadAttention: kdim is ", options.kdim, " and vdim ", options.vdim,
                           "; expected widths of at least 1, or 0 for that of the queries"});
    if (options.kv_heads < 0 || (options.kv_heads > 0 && heads % options.kv_heads != 0))
      fail<ArgumentError>({"MultiheadAttention: kv_heads is ", options.kv_heads, " for ", heads,
                           " heads; expected a number that divides them, or 0 for as many"});
    (void)functor::Dropout(options.dropout);
    return width;
  }
  [[nodiscard]] std::int64_t width() const { return out_proj.weight.size(0); }
  [[nodiscard]] bool is_packed() const { return in_proj_weight.defined(); }
  [[nodiscard]] std::int64_t kv_heads() const { return options_.kv_heads > 0 ? options_.kv_heads : heads_; }
  [[nodiscard]] std::int64_t kv_width() const { return width() / heads_ * kv_heads(); }
  /// The part of projection number i, of queries, keys or values, in `all` that lie side by side.
  template <class X>
  [[nodiscard]] auto third(const X& all, int dim, int i) const {
    const std::int64_t begin = i == 0 ? 0 : width() + (i - 1) * kv_width();
    return slice(all, dim, begin, begin + (i == 0 ? width() : kv_width()));
  }

  /// The heads' results side by side, before the last projection.
  template <class X>
  [[nodiscard]] auto attended(const X& x, const Masks& masks, Weights<X>* weights) const {
    using U = value_of<Weights<X>>;
    using Op = operation::PackedAttention<U, D, X::role == Role::traced>;
    if (!is_packed())
      fail<ArgumentError>(
          {"MultiheadAttention: of one tensor, keys and values are as wide as queries; call it on three, "
           "(query, key, value), with kdim ",
           options_.kdim, " and vdim ", options_.vdim});
    require_shape("x", x.shape(), width());
    const auto packed = linear(x, in_proj_weight, in_proj_bias);
    const auto of_call = locus::detail::settings_for<U>(
        settings(x.shape(), x.size(-2), masks, locus::detail::in_training(x), x.device()));
    if (kv_heads() != heads_) {
      const auto part = [&](int i) { return third(packed, -1, i); };
      return decltype(apply(Op{}, packed))(grouped<X::role>(of_call, part(0), part(1), part(2), weights));
    }
    const Op op{operation::Attention<U, D, X::role == Role::traced>{of_call, heads_}};
    if (weights) *weights = op.weights(packed.value());
    return apply(op, packed);
  }
  template <class Q, class K, class V>
  [[nodiscard]] auto attended(const Q& query, const K& key, const V& value, const Masks& masks,
                              Weights<Q, K, V>* weights) const {
    constexpr Role role = locus::detail::joint_role<Q::role, K::role, V::role>;
    using U = value_of<Weights<Q, K, V>>;
    using Op = operation::Attention<U, D, role == Role::traced>;
    require_shape("query", query.shape(), width());
    require_shape("key", key.shape(), options_.kdim > 0 ? options_.kdim : width());
    require_shape("value", value.shape(), options_.vdim > 0 ? options_.vdim : width());
    const bool is_batch = query.rank() == 3;
    if (key.rank() != query.rank() || value.rank() != query.rank() || key.size(-2) != value.size(-2) ||
        (is_batch && (key.size(0) != query.size(0) || value.size(0) != query.size(0))))
      fail<ShapeError>({"MultiheadAttention: query of shape ", query.shape(), ", key ", key.shape(), " and value ",
                        value.shape(), "; expected (batch, l, width), (batch, s, kdim) and (batch, s, vdim)"});
    const auto lifted = [](const auto& x) { return locus::detail::lifted<U, role>(x); };
    const auto q = projected<role>(lifted(query), q_proj_weight, 0), k = projected<role>(lifted(key), k_proj_weight, 1),
               v = projected<role>(lifted(value), v_proj_weight, 2);
    const bool drops = locus::detail::in_training(query, key, value);
    const auto of_call =
        locus::detail::settings_for<U>(settings(query.shape(), key.size(-2), masks, drops, query.device()));
    if (kv_heads() != heads_) return decltype(apply(Op{}, q, k, v))(grouped<role>(of_call, q, k, v, weights));
    const Op op{of_call, heads_};
    if (weights) *weights = op.weights(q.value(), k.value(), v.value());
    return apply(op, q, k, v);
  }

  /// The heads' results side by side, where several heads of queries share a head of keys.
  template <Role role, class U, class Q, class K, class V>
  [[nodiscard]] auto grouped(locus::detail::AttentionSettings<U, D> settings, const Q& q, const K& k, const V& v,
                             Tensor<U, D>* weights) const {
    const std::int64_t of_group = heads_ / kv_heads();
    // (..., rows, kv_heads heads e) -> (..., kv_heads, heads, rows, e)
    const auto heads_of = [&](const auto& x, std::int64_t heads) {
      const auto split = unflatten(x, -1, {kv_heads(), heads, width() / heads_});
      return transpose(transpose(split, -4, -3), -3, -2);
    };
    const auto queries = heads_of(q, of_group), keys = heads_of(k, 1), values = heads_of(v, 1);
    const std::int64_t batch = q.shape().rank() == 3 ? q.shape()[0] : 1;
    const Shape scores{batch, kv_heads(), of_group, q.shape()[-2], k.shape()[-2]};
    const auto mask_of_groups = [&](auto& mask) {
      if (mask.buffer())
        mask =
            locus::detail::mask_as_heads(mask.reshape(locus::detail::grouped_heads(mask.shape(), kv_heads())), scores);
    };
    for (auto& mask : settings.masks) mask_of_groups(mask.marks), mask_of_groups(mask.added);
    const operation::Attention<U, D, role == Role::traced> op{settings};
    if (weights) {
      const Tensor<U, D> of_heads = op.weights(queries.value(), keys.value(), values.value());
      const Tensor<U, D> mean_of_all = mean(of_heads.reshape({batch, kv_heads(), scores[3], scores[4]}), 1);
      *weights = q.shape().rank() == 3 ? mean_of_all : mean_of_all.select(0, 0);
    }
    return flatten(transpose(transpose(apply(op, queries, keys, values), -3, -2), -4, -3), -3, -1);
  }

  static void require_shape(const char* name, const Shape& shape, std::int64_t width) {
    if ((shape.rank() != 2 && shape.rank() != 3) || shape[-1] != width)
      fail<ShapeError>({"MultiheadAttention: ", name, " of shape ", shape, "; expected (batch, length, ", width,
                        ") or (length, ", width, ")"});
  }

  /// Projection number i; records its parameters if any operand is traced.
  template <Role role, class X>
  [[nodiscard]] auto projected(const X& x, const Parameter<T, D>& own, int i) const {
    const auto seen = [](const Parameter<T, D>& parameter) {
      if constexpr (role == Role::traced) return trace(parameter);
      else return parameter.value();
    };
    const auto part = [&](const auto& all) { return third(all, 0, i); };
    const auto weight = is_packed() ? part(seen(in_proj_weight)) : seen(own);
    if (!in_proj_bias.defined()) return linear(x, weight);
    return linear(x, weight, part(seen(in_proj_bias)));
  }

  [[nodiscard]] locus::detail::AttentionSettings<T, D> settings(const Shape& query, std::int64_t keys,
                                                                const Masks& masks, bool drops, D device) const {
    const std::int64_t batch = query.rank() == 3 ? query[0] : 1, rows = query[-2];
    locus::detail::AttentionSettings<T, D> result;
    result.is_causal = masks.is_causal;
    if (const auto& padding = masks.key_padding_mask) {
      const Shape& shape = padding.shape();
      if (!(shape == (query.rank() == 3 ? Shape{batch, keys} : Shape{keys})))
        fail<ShapeError>({"MultiheadAttention: key_padding_mask of shape ", shape, " for ", batch, " batches of ", keys,
                          " keys; expected (batch, keys), or (keys,) without a batch"});
      result.masks[0] = expandable(padding, {batch, 1, 1, keys});
    }
    if (const auto& mask = masks.attn_mask) {
      const Shape& shape = mask.shape();
      if (shape == Shape{rows, keys}) result.masks[1] = expandable(mask, {1, 1, rows, keys});
      else if (shape == Shape{batch * heads_, rows, keys})
        result.masks[1] = expandable(mask, {batch, heads_, rows, keys});
      else if (shape == Shape{batch, rows, keys}) result.masks[1] = expandable(mask, {batch, 1, rows, keys});
      else
        fail<ShapeError>({"MultiheadAttention: attn_mask of shape ", shape, "; expected ", Shape{rows, keys}, ", ",
                          Shape{batch * heads_, rows, keys}, " or, for all heads, ", Shape{batch, rows, keys}});
    }
    locus::detail::draw_attention(result, drops, options_.dropout, elements(Shape{batch, heads_, rows, keys}),
                                  [&](std::int64_t count) { return Draw(count, device); });
    return result;
  }
  [[nodiscard]] static locus::detail::ExpandedMask<T, D> expandable(const AttentionMask<T, D>& mask,
                                                                    const Shape& shape) {
    if (mask.marks().buffer()) return {locus::detail::as_bytes(mask.marks().reshape(shape)), {}, 0};
    return {{}, mask.added().reshape(shape)};
  }

  std::int64_t heads_;
  MultiheadAttentionOptions options_;
};
#define LOCUS_REFUSED_LAYER MultiheadAttention
#include <locus/refuse/nn/no_types.inc>

}}}  // namespace locus::LOCUS_ABI::nn
