#pragma once
// ONNX's operators that pass a state from call to call, as language models use them: caches, causal convolutions,
// linear attention.

#include <locus/interop/onnx/lookups.hpp>
#include <locus/interop/onnx/windows.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/repeat.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// Each channel convolved with its own kernel, over past elements. The state is the last elements.
template <class F>
void convolve_with_past(const Call<F>& call) {
  const F &x = call.numbers(0), &w = call.numbers(1);
  if (x.rank() != 3 || w.rank() != 3 || w.size(0) != x.size(1) || w.size(1) != 1 || w.size(2) < 1)
    call.fail_here({"x of shape ", x.shape(), " with kernels of shape ", w.shape(),
                    "; expected (batch, channels, length) and (channels, 1, k)"});
  const std::int64_t past = w.size(2) - 1;
  const F padded = call.has_input(3) ? F(concat({call.numbers(3), x}, 2)) : F(pad(x, {past, 0}));
  if (padded.size(2) != x.size(2) + past)
    call.fail_here({"a state of shape ", call.shape(3), "; expected (batch, channels, ", past, ")"});
  const Conv1dOptions options{.groups = x.size(1)};
  F y = call.has_input(2) ? F(conv1d(padded, w, call.numbers(2), options)) : F(conv1d(padded, w, options));
  const auto activation = call.text("activation", "none");
  if (activation == "silu" || activation == "swish") y = silu(y);
  else call.require_text("activation", "none");
  call.give_like(y);
  call.give(1, Value<F>(call.input(0).type(), F(slice(padded, 2, x.size(2)).eval())));
}

/// Writes updates to a cache, from a position of each sample on; circular ones go on at the front.
template <class F>
void write_to_cache(const Call<F>& call) {
  const Shape &cache = call.shape(0), &updates = call.shape(1);
  const int axis = call.axis_of(call.integer("axis", -2), cache.rank());
  Shape fitting = cache;
  if (updates.rank() == cache.rank()) fitting[axis] = updates[axis];
  if (axis == 0 || updates != fitting || updates[axis] > cache[axis])
    call.fail_here({"updates of shape ", updates, " along axis ", axis, " of a cache of shape ", cache});
  const bool is_circular = call.text("mode", "linear") == "circular";
  if (!is_circular) call.require_text("mode", "linear");
  const auto write = [&](const auto& into, const auto& from, const auto& starts) {
    Shape along = Dims::filled(cache.rank(), 1), samples = along;
    along[axis] = updates[axis], samples[0] = cache[0];
    const auto positions =
        reshape(arange<std::int64_t>(0, updates[axis], 1, starts.device()), along) + reshape(starts, samples);
    const auto places = is_circular ? (positions % cache[axis]).eval() : positions.eval();
    call.give_like(scatter(into, axis, expand(places, updates).contiguous(), from));
  };
  const auto write_from = [&](const auto& starts_in) {
    if (const F* into = call.input(0).numbers()) return write(*into, call.numbers(1), starts_in(call.device()));
    call.in_place([&](auto place) {
      write(call.at(call.integers(0), place), call.at(call.integers(1), place), starts_in(place));
    });
  };
  write_from([&](auto place) -> Tensor<std::int64_t, decltype(place)> {
    if (!call.has_input(2)) return full<std::int64_t>({cache[0]}, 0, place);
    return call.integers(2).host().template to<decltype(place)>(place);
  });
}

/// A state of keys by values, to which each step adds the product of its key and value; queries read it.
///   S = exp(decay) S, v = beta (v - S^T k), S = S + k v^T, y = scale S^T q
template <class F>
void attend_linearly(const Call<F>& call) {
  const std::int64_t heads = call.integer("q_num_heads", 0), groups = call.integer("kv_num_heads", 0);
  const F &q = call.numbers(0), &k = call.numbers(1), &v = call.numbers(2);
  if (q.rank() != 3 || k.rank() != 3 || v.rank() != 3 || groups < 1 || heads < 1 || heads % groups != 0 ||
      q.size(2) % heads != 0 || k.size(2) != q.size(2) / heads * groups || v.size(2) % groups != 0)
    call.fail_here({"queries, keys and values of shapes ", q.shape(), ", ", k.shape(), " and ", v.shape(), " in ",
                    heads, " heads of queries and ", groups, " of keys"});
  const std::int64_t batch = q.size(0), length = q.size(1), width = q.size(2) / heads, values = v.size(2) / groups;
  const auto rule = call.text("update_rule", "gated_delta");
  const bool decays = rule == "gated" || rule == "gated_delta", corrects = rule == "delta" || rule == "gated_delta";
  if (!decays && !corrects) call.require_text("update_rule", "linear");
  if (corrects && call.has_input(5) &&
      (call.shape(5).rank() != 3 || (call.shape(5)[2] != 1 && call.shape(5)[2] != groups)))
    call.fail_here({"update rates of shape ", call.shape(5), "; expected (batch, length, ", groups, " or 1)"});
  if (decays != call.has_input(4) || corrects != call.has_input(5))
    call.fail_here({"update_rule '", locus::detail::printable(rule), "' with", call.has_input(4) ? "" : "out",
                    " a decay and with", call.has_input(5) ? "" : "out", " an update rate"});
  // Step t of a packed input, with `count` heads of (rows, columns).
  const auto step = [&](const F& x, std::int64_t t, std::int64_t count, bool is_column) -> F {
    const F row = select(x, 1, t);
    const std::int64_t each = row.size(1) / count;
    return reshape(row, {batch, count, is_column ? each : 1, is_column ? 1 : each});
  };
  F state = call.has_input(3) ? call.numbers(3)
                              : call.handle(full<value_of<F>>({batch, groups, width, values}, 0.f, call.device()));
  if (state.shape() != Shape{batch, groups, width, values})
    call.fail_here({"a state of shape ", state.shape(), "; expected ", Shape{batch, groups, width, values}});
  const double given = call.number("scale", 0), scale = given == 0 ? 1 / math::sqrt(static_cast<double>(width)) : given;
  std::vector<F> outputs;
  for (std::int64_t t = 0; t < length; ++t) {
    const F key = step(k, t, groups, true);
    F value = step(v, t, groups, false);
    if (decays) state = state * exp(step(call.numbers(4), t, groups, true));
    if (corrects) {
      const F& rates = call.numbers(5);
      value = (value - matmul(transpose(key), state)) * step(rates, t, rates.size(-1), false);
    }
    state = state + key * value;
    const F read = heads == groups ? state : F(repeat_interleave(state, heads / groups, 1));
    outputs.push_back(reshape(F(matmul(step(q, t, heads, false), read) * scale), {batch, heads * values}));
  }
  if (outputs.empty()) call.fail_here({"queries of shape ", q.shape(), "; expected one step or more"});
  call.give_like(stack(outputs, 1));
  call.give(1, Value<F>(call.input(call.has_input(3) ? 3 : 0).type(), state));
}

template <class F>
void gate_by_swish(const Call<F>& call) {
  using R = compute_t<value_of<F>>;
  const F &gate = call.numbers(0), &x = call.numbers(1);
  call.give_like(gate * sigmoid(gate * static_cast<R>(call.number("alpha", 1))) * x);
}

template <class F>
inline constexpr Operation<F> stateful[] = {
    {"CausalConvWithState", &convolve_with_past<F>},
    {"LinearAttention", &attend_linearly<F>},
    {"SwiGLU", &gate_by_swish<F>},
    {"TensorScatter", &write_to_cache<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
