#pragma once
// The form in ONNX of recurrent layers. Programs that export such layers include it; interop/onnx_export.hpp does not.

#include <locus/interop/onnx/forms/operations.hpp>
#include <locus/nn/recurrent.hpp>
#include <locus/nn/recurrent_cells.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx {

namespace exporting {

/// ONNX's name of a cell, the order of its gates among PyTorch's, and an attribute that makes it the same.
template <class Cell>
struct RecurrentForm;
template <>
struct RecurrentForm<locus::detail::RnnCell<functor::Tanh>> {
  static constexpr const char* op_type = "RNN";
  static constexpr std::int64_t order[] = {0};
  static Attribute attribute() { return {"activations", std::vector<std::string>{"Tanh"}}; }
};
template <>
struct RecurrentForm<locus::detail::RnnCell<functor::Relu>> {
  static constexpr const char* op_type = "RNN";
  static constexpr std::int64_t order[] = {0};
  static Attribute attribute() { return {"activations", std::vector<std::string>{"Relu"}}; }
};
template <>
struct RecurrentForm<locus::detail::LstmCell> {
  static constexpr const char* op_type = "LSTM";
  static constexpr std::int64_t order[] = {0, 3, 1, 2};  // i, o, f, g
  static Attribute attribute() { return integer("input_forget", 0); }
};
template <>
struct RecurrentForm<locus::detail::GruCell> {
  static constexpr const char* op_type = "GRU";
  static constexpr std::int64_t order[] = {1, 0, 2};  // z, r, n
  static Attribute attribute() { return integer("linear_before_reset", 1); }
};

/// Weights or biases with their gates in ONNX's order.
template <class Cell>
[[nodiscard]] Value in_order_of_onnx(Recorder& graph, const Value& weights) {
  if constexpr (Cell::gates == 1) return weights;
  const std::int64_t width = weights.shape()[0] / Cell::gates;
  std::vector<Value> gates;
  for (const std::int64_t gate : RecurrentForm<Cell>::order)
    gates.push_back(slice(graph, weights, 0, gate * width, (gate + 1) * width));
  return graph.typed_node("Concat", weights.type(), gates, {integer("axis", 0)});
}
/// A value with a first dimension of 1, for the direction.
[[nodiscard]] inline Value of_one_direction(Recorder& graph, const Value& x) {
  return x ? graph.node("Unsqueeze", {x, graph.extents({0})}) : Value();
}
/// throws ArgumentError for sequences or layers that ONNX's operators do not have
inline void require_recurrent_form(const char* name, const locus::detail::RecurrentSteps& steps,
                                   const Value& projection) {
  if (projection)
    fail<ArgumentError>(
        {"onnx: ", name, " with a proj_size, which ONNX's operator does not have; export a model ", "without one"});
  if (steps.rows() != steps.size() * steps.batch())
    fail<ArgumentError>({"onnx: ", name,
                         " of packed sequences, whose lengths a graph does not follow; export the model ",
                         "with sequences of one length"});
}

}  // namespace exporting

/// The operation's result: outputs, last hidden states and last cells, one after the other.
template <class Cell>
Value write(Recorder& graph, const operation::Recurrence<Cell>& op, const Value& x, const Value& w_ih,
            const Value& w_hh, const Value& b_ih, const Value& b_hh, const Value& w_hr, const Value& h0,
            const Value& c0) {
  using Form = exporting::RecurrentForm<Cell>;
  exporting::require_recurrent_form(Cell::name, op.steps, w_hr);
  const auto of_direction = [&](const Value& w) { return exporting::of_one_direction(graph, w); };
  const auto ordered = [&](const Value& w) { return exporting::in_order_of_onnx<Cell>(graph, w); };
  const std::int64_t steps = op.steps.size(), batch = op.steps.batch(), width = w_hh.shape()[1];
  const Value rows = graph.reshape(x, {steps, batch, x.shape()[1]});
  const Value bias =
      b_ih ? graph.node("Concat", {ordered(b_ih), ordered(b_hh)}, {exporting::integer("axis", 0)}) : Value();
  std::vector<Value> inputs{
      rows, of_direction(ordered(w_ih)), of_direction(ordered(w_hh)), of_direction(bias), Value(), of_direction(h0)};
  if (Cell::has_cell) inputs.push_back(of_direction(c0));
  while (!inputs.back()) inputs.pop_back();
  const Value output = graph.typed_node(Form::op_type, x.type(), inputs,
                                        {exporting::integer("hidden_size", width),
                                         Form::attribute(),
                                         {"direction", op.steps.is_reverse() ? "reverse" : "forward"}});
  std::vector<Value> parts{output};
  for (int state = 0; state < (Cell::has_cell ? 2 : 1); ++state) parts.push_back(graph.next_result(x.type()));
  for (Value& part : parts) part = graph.reshape(part, {(&part == &parts[0] ? steps : 1) * batch * width});
  return graph.typed_node("Concat", x.type(), parts, {exporting::integer("axis", 0)});
}

}}}  // namespace locus::LOCUS_ABI::onnx
