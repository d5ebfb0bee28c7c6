#pragma once
// ONNX's normalizations, products and attention.

#include <locus/interop/onnx/shaping.hpp>
#include <locus/ops/attention.hpp>
#include <locus/ops/einsum.hpp>
#include <locus/ops/group_norm.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/moments.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// The model was exported for inference: traced or not, the statistics are the model's.
template <class F>
void batch_normalize(const Call<F>& call) {
  call.require_integer("training_mode", 0);
  call.require_integer("spatial", 1);
  const F& x = call.numbers(0);
  if (x.rank() < 1) call.fail_here({"an input without dimensions"});
  Shape along = Dims::filled(x.rank(), 1);
  along[x.rank() > 1 ? 1 : 0] = elements(call.shape(1));
  const auto channels = [&](std::size_t i) { return reshape(call.numbers(i), along); };
  const F factor = channels(1) * rsqrt(channels(4) + call.number("epsilon", 1e-5));
  call.give_like((x - channels(3)) * factor + channels(2));
}
template <class F>
[[nodiscard]] Shape normalized_shape(const Call<F>& call) {
  const Shape& x = call.shape(0);
  Shape shape;
  for (int d = call.axis_of(call.integer("axis", -1), x.rank()); d < x.rank(); ++d) shape.push_back(x[d]);
  return shape;
}
/// A weight of the normalized shape.
template <class F>
[[nodiscard]] F weight_of(const Call<F>& call, std::size_t i, const Shape& shape) {
  const F& weight = call.numbers(i);
  if (weight.shape() == shape) return weight;
  return expand(weight, shape);
}
template <class F>
void layer_normalize(const Call<F>& call) {
  const F& x = call.numbers(0);
  const Shape shape = normalized_shape(call);
  const double eps = call.number("epsilon", 1e-5);
  const F weight = weight_of(call, 1, shape);
  if (call.has_input(2)) call.give_like(layer_norm(x, shape, weight, weight_of(call, 2, shape), eps));
  else call.give_like(layer_norm(x, shape, weight, eps));
  if (!call.wants(1) && !call.wants(2)) return;
  Axes axes;
  for (int d = x.rank() - shape.rank(); d < x.rank(); ++d) axes.push_back(d);
  const F means = mean(x, axes, true);
  const F variance = mean(square(x - means), axes, true);
  call.give(1, Value<F>(call.input(0).type(), means));
  call.give(2, Value<F>(call.input(0).type(), F(rsqrt(variance + eps))));
}
template <class F>
void rms_normalize(const Call<F>& call) {
  const Shape shape = normalized_shape(call);
  call.give_like(rms_norm(call.numbers(0), shape, weight_of(call, 1, shape), call.number("epsilon", 1e-5)));
}
template <class F>
void group_normalize(const Call<F>& call) {
  const F& x = call.numbers(0);
  const std::int64_t groups = call.integer("num_groups", 1);
  if (groups < 1 || x.rank() < 2) call.fail_here({groups, " groups of an input of shape ", x.shape()});
  F weight = call.numbers(1), bias = call.numbers(2);
  if (call.opset() < 21) {  // one for each group
    weight = repeat_interleave(weight, x.size(1) / groups, 0);
    bias = repeat_interleave(bias, x.size(1) / groups, 0);
  }
  call.give_like(group_norm(x, groups, weight, bias, call.number("epsilon", 1e-5)));
}

template <class F>
void multiply_matrices(const Call<F>& call) {
  combine(call, [](const auto& a, const auto& b) { return matmul(a, b); });
}
/// alpha a b + beta c, each of a and b transposed if the attributes say so.
template <class F>
void gemm(const Call<F>& call) {
  using R = compute_t<value_of<F>>;
  const double alpha = call.number("alpha", 1), beta = call.number("beta", 1);
  const F a = call.flag("transA") ? F(transpose(call.numbers(0))) : call.numbers(0);
  const F& b = call.numbers(1);
  const bool has_bias = call.has_input(2),
             is_linear = call.flag("transB") && alpha == 1 && a.rank() == 2 && b.rank() == 2;
  if (is_linear && !has_bias) return call.give_like(linear(a, b));
  if (is_linear && beta == 1 && call.shape(2) == Shape{b.size(0)}) return call.give_like(linear(a, b, call.numbers(2)));
  F y = matmul(a, call.flag("transB") ? F(transpose(b)) : b);
  if (alpha != 1) y = y * static_cast<R>(alpha);
  if (!has_bias) return call.give_like(y);
  call.give_like(y + call.numbers(2) * static_cast<R>(beta));
}
template <class F>
void sum_products(const Call<F>& call) {
  const EinsumEquation equation(std::string(call.text("equation", "")));
  if (call.input_count() == 1) return call.give_like(einsum(equation, call.numbers(0)));
  if (call.input_count() == 2) return call.give_like(einsum(equation, call.numbers(0), call.numbers(1)));
  call.give_like(einsum(equation, call.numbers(0), call.numbers(1), call.numbers(2)));
}

/// Queries, keys or values as (batch, heads, length, width).
template <class F>
[[nodiscard]] F heads_of(const Call<F>& call, std::size_t i, std::string_view attribute) {
  const F& x = call.numbers(i);
  if (x.rank() == 4) return x;
  const std::int64_t heads = call.integer(attribute, 0);
  if (x.rank() != 3 || heads < 1 || x.size(2) % heads != 0)
    call.fail_here({"input ", i, " of shape ", x.shape(), " in ", heads, " heads"});
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}
/// The keys that queries may attend to, and the numbers that are added to scores. A tensor without memory stands for
/// all keys, and for no numbers.
template <class F>
struct KeyMasks {
  using Mask = AttentionMask<value_of<F>, device_of<F>>;
  Tensor<bool, device_of<F>> allowed = {};
  Tensor<value_of<F>, device_of<F>> added = {};

  /// As one mask.
  [[nodiscard]] Mask joined() const {
    if (!added.buffer()) return allowed.buffer() ? Mask(allowed) : Mask();
    if (!allowed.buffer()) return added;
    return where(allowed, added, lowest()).eval();
  }
  /// Scores, -infinity for keys that are left out, whatever their score.
  [[nodiscard]] F apply(F scores) const {
    if (added.buffer()) scores = where(added == lowest(), lowest(), scores + added);
    if (allowed.buffer()) scores = where(allowed, scores, lowest());
    return scores;
  }
  [[nodiscard]] static auto lowest() { return static_cast<compute_t<value_of<F>>>(-__builtin_inf()); }
};
/// The keys that is_causal, windows and lengths of keys allow: (queries, keys), or of each batch (batch, 1, queries,
/// keys). Query i has the position past + i. With lengths, the last query has the position of the last key.
template <class F>
[[nodiscard]] Tensor<bool, device_of<F>> allowed_keys(const Call<F>& call, std::int64_t queries, std::int64_t keys,
                                                      std::int64_t past) {
  using D = device_of<F>;
  const Tensor<std::int64_t, D> key = arange<std::int64_t>(0, keys, 1, call.device());
  Tensor<std::int64_t, D> query = arange<std::int64_t>(past, past + queries, 1, call.device()).unsqueeze(1);
  Tensor<bool, D> allowed;
  const auto require = [&](const auto& condition) {
    const Tensor<bool, D> also = condition;
    allowed = allowed.buffer() ? Tensor<bool, D>(allowed && also) : also;
  };
  if (call.has_input(6)) {
    const Tensor<std::int64_t, D> lengths = reshape(call.integers(6).there(call.device()), {-1, 1, 1, 1});
    query = query + (lengths - queries);
    require(key < lengths);
  }
  if (call.flag("is_causal")) require(key <= query);
  const std::int64_t left = call.integer("left_window_size", -1), right = call.integer("right_window_size", -1);
  if (left >= 0) require(query - left <= key);
  if (right >= 0) require(key <= query + right);
  return allowed;
}
/// A mask for fewer keys leaves out the others.
template <class F>
[[nodiscard]] KeyMasks<F> masks_of(const Call<F>& call, std::int64_t queries, std::int64_t keys, std::int64_t past) {
  using D = device_of<F>;
  KeyMasks<F> masks{.allowed = allowed_keys(call, queries, keys, past)};
  if (!call.has_input(3)) return masks;
  const PadAmounts missing{0, keys - call.shape(3)[-1]};
  if (const auto* bools = call.input(3).bools()) {
    const Tensor<bool, D> mask = pad(bools->there(call.device()), missing, PadMode::constant, false);
    masks.allowed = masks.allowed.buffer() ? Tensor<bool, D>(mask && masks.allowed) : mask;
  } else {
    masks.added = pad(call.plain(3), missing, PadMode::constant, masks.lowest());
  }
  return masks;
}
/// Attention step by step, for what scaled_dot_product_attention does not have: capped scores, and scores as a result.
template <class F>
[[nodiscard]] F attend_by_scores(const Call<F>& call, const F& q, const F& k, const F& v, const KeyMasks<F>& masks) {
  const double cap = call.number("softcap", 0);
  F scores = matmul(q, transpose(k)) * call.number("scale", 1 / math::sqrt(static_cast<double>(q.size(-1))));
  const auto give = [&](std::int64_t mode, const F& x) {
    if (call.integer("qk_matmul_output_mode", 0) == mode) call.give(3, Value<F>(call.input(0).type(), x));
  };
  give(0, scores);
  if (cap > 0) scores = tanh(scores * (1 / cap)) * cap;
  give(1, scores);
  scores = masks.apply(scores);
  give(2, scores);
  const Tensor<bool, device_of<F>> attends = max(plain_of(scores), -1, true) > masks.lowest();
  const F shares = where(attends, softmax(scores, -1), 0);
  give(3, shares);
  return matmul(shares, v);
}
template <class F>
void attend(const Call<F>& call) {
  const F q = heads_of(call, 0, "q_num_heads");
  F k = heads_of(call, 1, "kv_num_heads"), v = heads_of(call, 2, "kv_num_heads");
  std::int64_t past = 0;
  if (call.has_input(4)) {
    past = call.numbers(4).size(2);
    k = concat({call.numbers(4), k}, 2);
    v = concat({call.numbers(5), v}, 2);
  }
  call.give(1, Value<F>(call.input(1).type(), k));
  call.give(2, Value<F>(call.input(2).type(), v));
  if (k.size(1) < 1 || q.size(1) % k.size(1) != 0)
    call.fail_here({q.size(1), " heads of queries for ", k.size(1), " of keys"});
  if (const std::int64_t group = q.size(1) / k.size(1); group > 1) {
    k = repeat_interleave(k, group, 1);
    v = repeat_interleave(v, group, 1);
  }
  const KeyMasks<F> masks = masks_of(call, q.size(2), k.size(2), past);
  AttentionOptions<value_of<F>, device_of<F>> options{.mask = masks.joined()};
  if (call.has("scale")) options.scale = call.number("scale", 1);
  const bool by_scores = call.wants(3) || call.number("softcap", 0) > 0;
  F y = by_scores ? attend_by_scores(call, q, k, v, masks) : F(scaled_dot_product_attention(q, k, v, options));
  if (call.shape(0).rank() == 3) y = reshape(transpose(y, 1, 2), {y.size(0), y.size(2), y.size(1) * y.size(3)});
  call.give_like(y);
}

template <class F>
inline constexpr Operation<F> layers[] = {
    {"Attention", &attend<F>},
    {"BatchNormalization", &batch_normalize<F>},
    {"Einsum", &sum_products<F>},
    {"Gemm", &gemm<F>},
    {"GroupNormalization", &group_normalize<F>},
    {"InstanceNormalization",
     [](const Call<F>& c) {
       c.give_like(instance_norm(c.numbers(0), c.numbers(1), c.numbers(2), c.number("epsilon", 1e-5)));
     }},
    {"LayerNormalization", &layer_normalize<F>},
    {"MatMul", &multiply_matrices<F>},
    {"RMSNormalization", &rms_normalize<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
