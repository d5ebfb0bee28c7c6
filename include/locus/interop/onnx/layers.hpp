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
/// True where query i may attend to key j: j <= i + past.
template <class D>
[[nodiscard]] Tensor<bool, D> causal_mask(std::int64_t queries, std::int64_t keys, std::int64_t past, D device) {
  const auto rows = arange<std::int64_t>(0, queries, 1, device).unsqueeze(1);
  return rows + past >= arange<std::int64_t>(0, keys, 1, device);
}
/// The mask over `keys` keys; a mask for fewer leaves out the others.
template <class F>
[[nodiscard]] AttentionMask<value_of<F>, device_of<F>> mask_of(const Call<F>& call, const F& q, std::int64_t keys,
                                                               std::int64_t past) {
  using T = value_of<F>;
  using D = device_of<F>;
  const bool is_causal = call.flag("is_causal");
  const auto lowest = static_cast<compute_t<T>>(-__builtin_inf());
  Tensor<bool, D> allowed;
  if (is_causal) allowed = causal_mask(q.size(2), keys, past, call.device());
  if (!call.has_input(3)) return is_causal ? AttentionMask<T, D>(allowed) : AttentionMask<T, D>();
  const std::int64_t missing = keys - call.shape(3)[-1];
  if (const auto* bools = call.input(3).bools()) {
    const Tensor<bool, D> mask = pad(bools->there(call.device()), {0, missing}, PadMode::constant, false);
    return is_causal ? Tensor<bool, D>(mask && allowed) : mask;
  }
  const Tensor<T, D> mask = pad(call.plain(3), {0, missing}, PadMode::constant, lowest);
  return is_causal ? Tensor<T, D>(where(allowed, mask, lowest)) : mask;
}
template <class F>
void attend(const Call<F>& call) {
  if (call.number("softcap", 0) != 0) call.fail_here({"softcap, which Locus does not run"});
  if (call.wants(3)) call.fail_here({"output 3, the scores, which Locus does not keep"});
  if (call.has_input(6)) call.fail_here({"input 6, lengths of keys, which Locus does not run"});
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
  AttentionOptions<value_of<F>, device_of<F>> options{.mask = mask_of(call, q, k.size(2), past)};
  if (call.has("scale")) options.scale = call.number("scale", 1);
  if (const std::int64_t group = q.size(1) / k.size(1); group > 1) {
    k = repeat_interleave(k, group, 1);
    v = repeat_interleave(v, group, 1);
  }
  F y = scaled_dot_product_attention(q, k, v, options);
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
