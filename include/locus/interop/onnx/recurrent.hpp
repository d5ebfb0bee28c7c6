#pragma once
// ONNX's recurrent layers: RNN, GRU and LSTM, a step of the sequence at a time.

#include <locus/interop/onnx/shaping.hpp>
#include <locus/ops/matmul.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// The attribute `activations`, by its position. throws DataError for functions that Locus does not run there
template <class F>
[[nodiscard]] F activated(const Call<F>& call, std::size_t at, std::string_view otherwise, const F& x) {
  const auto* names = call.template attribute<std::vector<std::string>>("activations");
  const std::string_view name = names ? std::string_view((*names)[at]) : otherwise;
  if (name == "Sigmoid") return sigmoid(x);
  if (name == "Tanh") return tanh(x);
  if (name == "Relu") return relu(x);
  call.fail_here({"activation '", locus::detail::printable(name), "'; expected Sigmoid, Tanh or Relu"});
}

/// The hidden state, and an LSTM's cell.
template <class F>
struct RecurrentState {
  F hidden, cell;
};
/// A direction of a layer: weights of its gates, side by side.
template <class F>
struct RecurrentWeights {
  F input;           ///< (inputs, gates * width)
  F recurrent;       ///< (width, gates * width)
  F input_bias;      ///< (gates * width)
  F recurrent_bias;  ///< likewise
  std::size_t direction;
  std::int64_t width;

  /// The columns of a gate.
  [[nodiscard]] F gate(const F& x, std::int64_t which) const {
    return slice(x, -1, which * width, (which + 1) * width).eval();
  }
};
template <class F>
[[nodiscard]] RecurrentWeights<F> weights_of(const Call<F>& call, std::int64_t gates, std::int64_t d) {
  const F w = transpose(select(call.numbers(1), 0, d)), r = transpose(select(call.numbers(2), 0, d));
  const std::int64_t columns = gates * r.size(0);
  F bias = call.handle(zeros<value_of<F>>({2 * columns}, call.device()));
  if (call.has_input(3)) bias = select(call.numbers(3), 0, d);
  return {w,
          r,
          slice(bias, 0, 0, columns).eval(),
          slice(bias, 0, columns, 2 * columns).eval(),
          static_cast<std::size_t>(d),
          r.size(0)};
}
/// The initial state of input i: (directions, batch, width), or with `layout` 1 (batch, directions, width).
template <class F>
[[nodiscard]] F initial_state(const Call<F>& call, std::size_t i, std::int64_t d, const Shape& shape) {
  if (!call.has_input(i)) return call.handle(zeros<value_of<F>>(shape, call.device()));
  return select(call.numbers(i), call.flag("layout") ? 1 : 0, d);
}
template <class F>
[[nodiscard]] F joined_at(const std::vector<F>& parts, int axis) {
  std::vector<F> list;
  for (const F& part : parts) list.push_back(unsqueeze(part, axis));
  return concat(list, axis);
}

/// throws DataError unless the weights and states have the shapes of inputs and gates
template <class F>
void require_recurrent_shapes(const Call<F>& call, std::int64_t directions, std::int64_t gates) {
  const Shape &x = call.shape(0), &w = call.shape(1), &r = call.shape(2);
  if (x.rank() != 3 || w.rank() != 3 || r.rank() != 3 || elements(x) == 0 || w != Shape{directions, w[1], x[2]} ||
      w[1] % gates != 0 || r != Shape{directions, w[1], w[1] / gates})
    call.fail_here({"inputs of shape ", x, " and weights of shapes ", w, " and ", r, " for ", gates,
                    " gates; expected (length, batch, inputs), (", directions, ", gates * width, inputs) and (",
                    directions, ", gates * width, width)"});
  const auto require = [&](std::size_t i, const Shape& expected) {
    if (call.has_input(i) && call.shape(i) != expected)
      call.fail_here({"input ", i, " of shape ", call.shape(i), "; expected ", expected});
  };
  const bool batch_first = call.flag("layout");
  const std::int64_t batch = x[batch_first ? 0 : 1], width = r[2];
  const Shape state = batch_first ? Shape{batch, directions, width} : Shape{directions, batch, width};
  require(3, {directions, 2 * w[1]}), require(5, state), require(6, state), require(7, {directions, 3 * width});
}
/// throws DataError for a direction, option or shape that Locus does not run
template <class F>
void require_recurrent(const Call<F>& call, std::int64_t directions, std::int64_t gates) {
  if (directions == 1 && call.text("direction", "forward") != "reverse") call.require_text("direction", "forward");
  if (call.has("clip")) call.fail_here({"clip, which Locus does not run"});
  const std::int64_t functions = directions * (gates == 1 ? 1 : gates - 1);
  const auto* names = call.template attribute<std::vector<std::string>>("activations");
  if (names && static_cast<std::int64_t>(names->size()) < functions)  // an RNN's default has two for one direction, too
    call.fail_here({names->size(), " activations; expected ", functions, " or more"});
  require_recurrent_shapes(call, directions, gates);
  call.require_integer("hidden_size", call.shape(2)[2]);
}
/// The outputs (length, batch, width) of one direction; `state` becomes the last state. Sequences that are shorter, by
/// lengths (batch, 1) unless it has no memory, keep their state, and have outputs of 0 behind their end.
template <class F, class Step>
[[nodiscard]] F recur_along(const F& inputs, const Tensor<std::int64_t, device_of<F>>& lengths, bool is_backward,
                            RecurrentState<F>& state, const Step& step) {
  const std::int64_t length = inputs.size(0);
  std::vector<F> outputs(static_cast<std::size_t>(length));
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t t = is_backward ? length - 1 - i : i;
    RecurrentState<F> next = step(F(select(inputs, 0, t)), state);
    F output = next.hidden;
    if (lengths.buffer()) {
      const auto is_within = (lengths > t).eval();
      output = where(is_within, output, 0);
      next = {where(is_within, next.hidden, state.hidden).eval(), where(is_within, next.cell, state.cell).eval()};
    }
    outputs[static_cast<std::size_t>(t)] = output, state = next;
  }
  return joined_at(outputs, 0);
}
/// step(weights, inputs (batch, gates * width), state) is the state after an element of the sequence.
template <class F, class Step>
void recur(const Call<F>& call, std::int64_t gates, const Step& step) {
  const auto word = call.text("direction", "forward");
  const std::int64_t directions = word == "bidirectional" ? 2 : 1;
  require_recurrent(call, directions, gates);
  const bool batch_first = call.flag("layout");
  const F x = batch_first ? F(transpose(call.numbers(0), 0, 1)) : call.numbers(0);
  Tensor<std::int64_t, device_of<F>> lengths;
  if (call.has_input(4)) lengths = reshape(call.integers(4).there(call.device()), {x.size(1), 1});
  std::vector<F> outputs, hidden, cells;
  for (std::int64_t d = 0; d < directions; ++d) {
    const auto weights = weights_of(call, gates, d);
    const F inputs = matmul(x, weights.input) + weights.input_bias;
    const Shape shape{x.size(1), weights.width};
    RecurrentState<F> state{initial_state(call, 5, d, shape), initial_state(call, 6, d, shape)};
    outputs.push_back(recur_along(inputs, lengths, d == 1 || word == "reverse", state,
                                  [&](const F& input, const RecurrentState<F>& s) { return step(weights, input, s); }));
    hidden.push_back(state.hidden), cells.push_back(state.cell);
  }
  const F all = joined_at(outputs, 1);  // (length, directions, batch, width)
  const DataType type = call.input(0).type();
  call.give(0, Value<F>(type, batch_first ? F(permute(all, {2, 0, 1, 3}).eval()) : all));
  call.give(1, Value<F>(type, joined_at(hidden, batch_first ? 1 : 0)));
  call.give(2, Value<F>(type, joined_at(cells, batch_first ? 1 : 0)));
}

template <class F>
void rnn_layer(const Call<F>& call) {
  recur(call, 1, [&](const RecurrentWeights<F>& w, const F& x, const RecurrentState<F>& s) -> RecurrentState<F> {
    return {activated(call, w.direction, "Tanh", F(x + matmul(s.hidden, w.recurrent) + w.recurrent_bias)), s.cell};
  });
}
/// Gates: update, reset, hidden.
template <class F>
void gru_layer(const Call<F>& call) {
  const bool resets_late = call.flag("linear_before_reset");
  recur(call, 3, [&](const RecurrentWeights<F>& w, const F& x, const RecurrentState<F>& s) -> RecurrentState<F> {
    const F old = matmul(s.hidden, w.recurrent) + w.recurrent_bias;
    const std::size_t first = 2 * w.direction;
    const F update = activated(call, first, "Sigmoid", F(w.gate(x, 0) + w.gate(old, 0)));
    const F reset = activated(call, first, "Sigmoid", F(w.gate(x, 1) + w.gate(old, 1)));
    const F carried = resets_late ? F(reset * w.gate(old, 2))
                                  : F(matmul(reset * s.hidden, w.gate(w.recurrent, 2)) + w.gate(w.recurrent_bias, 2));
    const F fresh = activated(call, first + 1, "Tanh", F(w.gate(x, 2) + carried));
    return {(fresh + update * (s.hidden - fresh)).eval(), s.cell};
  });
}
/// Gates: input, output, forget, cell. Input 7 has the weights by which the first three see the cell.
template <class F>
void lstm_layer(const Call<F>& call) {
  recur(call, 4, [&](const RecurrentWeights<F>& w, const F& x, const RecurrentState<F>& s) -> RecurrentState<F> {
    const F sums = x + matmul(s.hidden, w.recurrent) + w.recurrent_bias;
    const std::size_t first = 3 * w.direction;
    const auto seen = [&](const F& sum, std::int64_t which, const F& cell) -> F {
      if (!call.has_input(7)) return sum;
      return sum + w.gate(F(select(call.numbers(7), 0, static_cast<std::int64_t>(w.direction))), which) * cell;
    };
    const F input = activated(call, first, "Sigmoid", seen(w.gate(sums, 0), 0, s.cell));
    const F forget =
        call.flag("input_forget") ? F(1 - input) : activated(call, first, "Sigmoid", seen(w.gate(sums, 2), 2, s.cell));
    const F cell = forget * s.cell + input * activated(call, first + 1, "Tanh", w.gate(sums, 3));
    const F output = activated(call, first, "Sigmoid", seen(w.gate(sums, 1), 1, cell));
    return {(output * activated(call, first + 2, "Tanh", cell)).eval(), cell};
  });
}

template <class F>
inline constexpr Operation<F> recurrent[] = {
    {"GRU", &gru_layer<F>},
    {"LSTM", &lstm_layer<F>},
    {"RNN", &rnn_layer<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
