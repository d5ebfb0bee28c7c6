#pragma once
// Running the steps of a plan.

#include <locus/core/system/out_of_memory.hpp>
#include <locus/interop/onnx/control.hpp>
#include <locus/interop/onnx/detection.hpp>
#include <locus/interop/onnx/layers.hpp>
#include <locus/interop/onnx/losses.hpp>
#include <locus/interop/onnx/pools.hpp>
#include <locus/interop/onnx/quantized.hpp>
#include <locus/interop/onnx/recurrent.hpp>
#include <locus/interop/onnx/reductions.hpp>
#include <locus/interop/onnx/resize.hpp>
#include <locus/interop/onnx/samples.hpp>
#include <locus/interop/onnx/sequences.hpp>
#include <locus/interop/onnx/spectra.hpp>
#include <locus/interop/onnx/stateful.hpp>
#include <locus/interop/onnx/values.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// The function of each operator, by its number in operator_specs.
template <class F>
class Functions {
 public:
  static void run(const Call<F>& call, int operation) { table().run_[operation](call); }
  [[nodiscard]] static bool has(int operation) { return table().run_[operation] != nullptr; }

 private:
  Functions() {
    add(activations<F>), add(functions<F>), add(arithmetic<F>), add(comparisons<F>), add(shapings<F>);
    add(lookups<F>), add(reductions<F>), add(windows<F>), add(pools<F>), add(resizings<F>);
    add(layers<F>), add(losses<F>), add(quantized<F>), add(recurrent<F>), add(samples<F>), add(sequences<F>),
        add(spectra<F>);
    add(controls<F>), add(detections<F>), add(stateful<F>), add(values<F>);
  }
  template <std::size_t n>
  void add(const Operation<F> (&list)[n]) {
    for (const Operation<F>& operation : list) run_[find_operator(operation.name)] = operation.run;
  }
  [[nodiscard]] static const Functions& table() {
    static const Functions functions;
    return functions;
  }

  void (*run_[operator_count])(const Call<F>& call) = {};
};

/// f(), with errors of operations, and OutOfMemory for std::bad_alloc, preceded by the node.
template <class Do>
void naming_node(const Node& node, const Do& f) {
  const auto named = [&](const Error& error) { return join("ONNX ", text_of(node), ": ", error.what()); };
  try {
    locus::detail::or_out_of_memory({"out of memory"}, f);
  } catch (const ShapeError& error) {
    throw ShapeError(named(error));
  } catch (const ArgumentError& error) {
    throw ArgumentError(named(error));
  } catch (const IndexError& error) {
    throw IndexError(named(error));
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(named(error));
  }
}

/// Runs steps. `values` has the inputs and constants; each is released after its last use.
template <class F>
void run_steps(const std::vector<Step>& steps, std::int64_t opset, std::vector<Value<F>>& values, device_of<F> device) {
  for (const Step& step : steps) {
    naming_node(step.node, [&] { Functions<F>::run(Call<F>(step, opset, values, device), step.operation); });
    for (const int value : step.released) values[static_cast<std::size_t>(value)] = {};
  }
}

}}}  // namespace locus::LOCUS_ABI::onnx::detail
