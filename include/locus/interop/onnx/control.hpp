#pragma once
// ONNX's operators with graphs of their own: If, Loop and Scan. The host reads conditions and counts.

#include <locus/interop/onnx/elementwise.hpp>
#include <locus/ops/flip.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/view.hpp>
#include <locus/tensor/factory.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

template <class F>
void run_steps(const std::vector<Step>& steps, std::int64_t opset, std::vector<Value<F>>& values, device_of<F> device);

/// Runs of the graphs of one step.
template <class F>
class BodyRuns {
 public:
  explicit BodyRuns(const Call<F>& call) : call_(call) {}

  void branch() const {
    const auto outputs = run(is_true(call_.input(0)) ? 0 : 1, {});
    for (std::size_t i = 0; i < outputs.size(); ++i) call_.give(i, outputs[i]);
  }

  /// Inputs: the most iterations, whether to begin, carried values. The graph takes the number of the iteration,
  /// whether to go on, and the carried values; it returns whether to go on, carried values, and elements of outputs.
  void loop() const {
    const std::int64_t most = call_.has_input(0) ? call_.host_integer(0) : INT64_MAX;
    bool goes_on = !call_.has_input(1) || is_true(call_.input(1));
    std::vector<Value<F>> carried = inputs_from(2);
    std::vector<std::vector<Value<F>>> collected(call_.output_count() - carried.size());
    for (std::int64_t i = 0; i < most && goes_on; ++i) {
      std::vector<Value<F>> inputs{Value<F>(DataType::int64, full<std::int64_t>({}, i)),
                                   Value<F>(DataType::boolean, full<bool>({}, goes_on))};
      inputs.insert(inputs.end(), carried.begin(), carried.end());
      const auto outputs = run(0, std::move(inputs));
      goes_on = is_true(outputs[0]);
      carried.assign(outputs.begin() + 1, outputs.end() - static_cast<std::ptrdiff_t>(collected.size()));
      collect(collected, outputs);
    }
    give(carried, collected, {}, {});
  }

  /// Inputs: carried values, and tensors of which each iteration takes a slice.
  void scan() const {
    if (call_.opset() < 9) call_.fail_here({"Scan of opset ", call_.opset(), "; expected 9 or later"});
    const auto scanned = static_cast<std::size_t>(call_.integer("num_scan_inputs", 1));
    const std::size_t states = call_.input_count() - scanned;
    const Integers axes = call_.list("scan_input_axes"), directions = call_.list("scan_input_directions");
    std::vector<Value<F>> carried = inputs_from(0);
    carried.resize(states);
    std::vector<std::vector<Value<F>>> collected(call_.output_count() - states);
    const std::int64_t length = extent_of(states, axis_of(axes, 0, call_.shape(states).rank()));
    for (std::int64_t i = 0; i < length; ++i) {
      std::vector<Value<F>> inputs = carried;
      for (std::size_t k = 0; k < scanned; ++k) {
        const int axis = axis_of(axes, k, call_.shape(states + k).rank());
        if (extent_of(states + k, axis) != length)
          call_.fail_here({"inputs of lengths ", length, " and ", extent_of(states + k, axis)});
        const bool is_reverse = k < directions.size() && directions[k] != 0;
        inputs.push_back(slice_of(call_.input(states + k), axis, is_reverse ? length - 1 - i : i));
      }
      const auto outputs = run(0, std::move(inputs));
      carried.assign(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(states));
      collect(collected, outputs);
    }
    give(carried, collected, call_.list("scan_output_axes"), call_.list("scan_output_directions"));
  }

 private:
  [[nodiscard]] Value<F>& at(int value) const { return call_.values()[static_cast<std::size_t>(value)]; }
  /// The outputs of a graph of the node for these inputs.
  [[nodiscard]] std::vector<Value<F>> run(std::size_t which, std::vector<Value<F>> inputs) const {
    const Body& body = call_.step().bodies[which];
    for (std::size_t i = 0; i < inputs.size(); ++i) at(body.inputs[i]) = std::move(inputs[i]);
    run_steps(body.steps, call_.opset(), call_.values(), call_.device());
    std::vector<Value<F>> outputs;
    for (const int value : body.outputs) outputs.push_back(at(value));
    for (const int value : body.locals) at(value) = {};
    return outputs;
  }
  [[nodiscard]] bool is_true(const Value<F>& value) const {
    if (!value.bools() || elements(value.shape()) != 1)
      call_.fail_here({"a condition of ", to_string(value.type()), " of shape ", value.shape(), "; expected one bool"});
    return value.bools()->host().reshape(Shape{}).item();
  }
  [[nodiscard]] std::vector<Value<F>> inputs_from(std::size_t first) const {
    std::vector<Value<F>> list;
    for (std::size_t i = first; i < call_.input_count(); ++i) list.push_back(call_.input(i));
    return list;
  }
  [[nodiscard]] int axis_of(const Integers& axes, std::size_t i, int rank) const {
    return call_.axis_of(i < axes.size() ? axes[i] : 0, rank);
  }
  [[nodiscard]] std::int64_t extent_of(std::size_t input, int axis) const { return call_.shape(input)[axis]; }
  /// f of the value's numbers, or of its integers or bools where they are, as a value.
  template <class Do>
  [[nodiscard]] Value<F> mapped(const Value<F>& value, const Do& f) const {
    if (const F* numbers = value.numbers()) return Value<F>(value.type(), F(f(*numbers)));
    const auto of_placed = [&](const auto& placed) {
      if (placed.is_on_host()) return Value<F>(value.type(), f(placed.host()));
      return Value<F>(value.type(), f(placed.there(call_.device())));
    };
    return value.integers() ? of_placed(*value.integers()) : of_placed(*value.bools());
  }
  [[nodiscard]] Value<F> slice_of(const Value<F>& value, int axis, std::int64_t i) const {
    return mapped(value, [&](const auto& x) { return select(x, axis, i); });
  }
  static void collect(std::vector<std::vector<Value<F>>>& collected, const std::vector<Value<F>>& outputs) {
    const std::size_t first = outputs.size() - collected.size();
    for (std::size_t k = 0; k < collected.size(); ++k) collected[k].push_back(outputs[first + k]);
  }
  /// The elements of an output along a new axis.
  [[nodiscard]] Value<F> stacked(const std::vector<Value<F>>& list, std::int64_t axis, bool is_reverse) const {
    if (list.empty())
      call_.fail_here({"no iteration, so that the shape of an output is unknown; expected one or more"});
    const int along = call_.axis_of(axis, list[0].shape().rank() + 1);
    const auto join = [&]<class X>(const X&, const auto& get) {
      std::vector<X> tensors;
      for (std::size_t i = 0; i < list.size(); ++i) tensors.push_back(get(list[is_reverse ? list.size() - 1 - i : i]));
      return stack(tensors, along);
    };
    for (const Value<F>& each : list)
      if (each.type() != list[0].type())
        call_.fail_here({"elements of ", to_string(list[0].type()), " and ", to_string(each.type()), " of one output"});
    if (list[0].numbers())
      return Value<F>(list[0].type(), F(join(*list[0].numbers(), [](const auto& each) { return *each.numbers(); })));
    const auto placed = [&](const auto& get) {
      bool is_on_host = true;
      for (const Value<F>& each : list) is_on_host &= each.is_on_host();
      if (is_on_host)
        return Value<F>(list[0].type(),
                        join(get(list[0])->host(), [&](const auto& each) { return get(each)->host(); }));
      const auto device = call_.device();
      return Value<F>(list[0].type(),
                      join(get(list[0])->there(device), [&](const auto& each) { return get(each)->there(device); }));
    };
    if (list[0].integers()) return placed([](const Value<F>& each) { return each.integers(); });
    return placed([](const Value<F>& each) { return each.bools(); });
  }
  void give(const std::vector<Value<F>>& carried, const std::vector<std::vector<Value<F>>>& collected,
            const Integers& axes, const Integers& directions) const {
    for (std::size_t i = 0; i < carried.size(); ++i) call_.give(i, carried[i]);
    for (std::size_t k = 0; k < collected.size(); ++k)
      if (call_.wants(carried.size() + k))
        call_.give(carried.size() + k,
                   stacked(collected[k], k < axes.size() ? axes[k] : 0, k < directions.size() && directions[k] != 0));
  }

  const Call<F>& call_;
};

template <class F>
inline constexpr Operation<F> controls[] = {
    {"If", [](const Call<F>& c) { BodyRuns<F>(c).branch(); }},
    {"Loop", [](const Call<F>& c) { BodyRuns<F>(c).loop(); }},
    {"Scan", [](const Call<F>& c) { BodyRuns<F>(c).scan(); }},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
