#pragma once
// Models as ONNX files: a model is called with a recorded input, and the functions that it calls become nodes.

#include <locus/interop/onnx.hpp>
#include <locus/interop/onnx/forms/layers.hpp>
#include <locus/interop/onnx/joined_runs.hpp>
#include <locus/nn/layer.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx {

/// An extent that a graph leaves open.
struct Dynamic {
  static constexpr int every_input = -1;
  std::string name;         ///< extents of one name are equal, as the batch of several inputs
  int dim = 0;              ///< negative ones count from the end
  int input = every_input;  ///< the position of the input
};

struct ExportOptions {
  std::vector<std::string> inputs = {};   ///< names; without: "input", or "input_0", "input_1", ...
  std::vector<std::string> outputs = {};  ///< names; without: "output", or "output_0", "output_1", ...
  std::vector<Dynamic> dynamic = {{"batch"}};
  std::int64_t opset = 21;           ///< version of ONNX's operators, 21 to 23
  std::string name = "model";        ///< of the graph
  std::vector<Metadata> metadata{};  ///< keys and values of your own
};

namespace exporting {

template <class M>
[[nodiscard]] consteval bool is_copied_to_recording() {
  if constexpr (!locus::detail::HasPlace<M>) return true;
  else return nn::detail::Copies<M, value_of<M>, device_of<M>, value_of<M>, Recording>;
}
template <class M>
concept Recordable = is_copied_to_recording<M>();

/// The model as Recording has it. Models without parameters are copied as they are.
template <class... Own, class M>
[[nodiscard]] auto recordable(const M& model) {
  if constexpr (!locus::detail::HasPlace<M>) {
    return model;
  } else {
    nn::detail::ModelCopy<value_of<M>, device_of<M>, value_of<M>, Recording, Own...> copy(Recording{});
    return copy.layer(model);
  }
}

/// Names a buffer of any of these types.
template <class... T>
void add_buffer(Recorder& graph, const nn::NamedBuffer<Recording>& buffer) {
  const auto add = [&]<class U>(std::type_identity<U>) {
    if (data_type(buffer.buffer.type()) == data_type<U>()) graph.member(buffer.name, buffer.buffer.template value<U>());
  };
  (add(std::type_identity<T>()), ...);
}
/// Names the parameters and buffers of a model as nn::state_dict does.
template <class M>
void add_members(Recorder& graph, const M& model) {
  if constexpr (nn::detail::ListsMembers<M>) {
    using T = value_of<M>;
    for (const auto& [name, parameter] :
         nn::detail::listed<nn::detail::ListParameters<T, Recording>, T, Recording>(model))
      graph.member(name, parameter.value());
    for (const auto& buffer : nn::detail::listed<nn::detail::ListBuffers<T, Recording>, T, Recording>(model))
      add_buffer<float, double, half, bfloat16, std::int64_t>(graph, buffer);
  }
}

/// The dynamic extents of inputs of these shapes, with their values in each run. throws ArgumentError, ShapeError
[[nodiscard]] inline std::vector<DynamicExtent> dynamic_extents(const std::vector<Shape>& inputs,
                                                                const std::vector<Dynamic>& wanted) {
  std::vector<DynamicExtent> result;
  for (const Dynamic& dynamic : wanted) {
    const int count = static_cast<int>(inputs.size());
    if (dynamic.input < Dynamic::every_input || dynamic.input >= count)
      fail<ArgumentError>({"onnx: .dynamic \"", dynamic.name, "\" names input ", dynamic.input, " of ", count});
    for (int input = 0; input < count; ++input) {
      if (dynamic.input != Dynamic::every_input && dynamic.input != input) continue;
      const Shape& shape = inputs[static_cast<std::size_t>(input)];
      const int dim = dynamic.dim < 0 ? dynamic.dim + shape.rank() : dynamic.dim;
      if (dim < 0 || dim >= shape.rank())
        fail<ShapeError>({"onnx: .dynamic \"", dynamic.name, "\" is dimension ", dynamic.dim, " of an input of shape ",
                          shape, "; say .dynamic = {} for fixed extents"});
      for (const DynamicExtent& other : result) {
        const std::int64_t extent = inputs[static_cast<std::size_t>(other.input)][other.dim];
        if (other.name == dynamic.name && extent != shape[dim])
          fail<ShapeError>({"onnx: .dynamic \"", dynamic.name, "\" is ", extent, " in one input and ", shape[dim],
                            " in another; expected one extent for one name"});
        if (other.input == input && other.dim == dim)
          fail<ArgumentError>({"onnx: .dynamic names dimension ", dim, " of input ", input, " twice"});
      }
      result.push_back({dynamic.name, input, dim, {shape[dim]}});
    }
  }
  return result;
}
/// Chooses the values in all runs: in one of them another value for each name, in the last one for all names. An extent
/// of 1 is not recorded, as it broadcasts; nor is a large extent of the example, which is often a limit of the model,
/// at which a slice is the whole tensor.
inline void add_runs(std::vector<DynamicExtent>& extents) {
  std::vector<std::string> names;
  for (const DynamicExtent& extent : extents) {
    bool is_known = false;
    for (const std::string& name : names) is_known |= name == extent.name;
    if (!is_known) names.push_back(extent.name);
  }
  for (DynamicExtent& extent : extents) {
    const std::int64_t given = extent.in_runs[0], base = given < 2 ? 2 : given > 4 ? given - 1 : given;
    extent.in_runs = {base};
    for (const std::string& name : names)
      extent.in_runs.push_back(name != extent.name ? base : base > 2 ? base - 1 : base + 1);
    extent.in_runs.push_back(base > 3 ? base - 2 : base + 2);
  }
}

/// An input for a run: elements of the example, changed from run to run, so that a constant is told from a tensor that
/// follows from the input.
template <class T, class D>
[[nodiscard]] Tensor<T, Recording> input_for(const Tensor<T, D>& example, Shape shape, std::size_t run) {
  const Tensor<T, Cpu> source = example.template to<Cpu>().contiguous();
  const Tensor<T, Recording> x(shape);
  const std::int64_t count = source.elements();
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const std::int64_t shift = static_cast<std::int64_t>(run) * 7;
    const T element = source.data()[(i + shift) % count];
    const double noise = static_cast<double>((i * 37 + shift * 11) % 64) / 64 * (run > 0);
    if constexpr (FloatingDType<T>) x.data()[i] = convert<T>(static_cast<double>(load_as_register(element)) + noise);
    else x.data()[i] = element;
  }
  return x;
}

/// Records within its scope.
class Records {
 public:
  explicit Records(Recorder& to) { recorder = &to, is_recording = true; }
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  ~Records() { recorder = nullptr, is_recording = false; }
};

template <class Y>
void add_output(Run& run, const Y& y) {
  if constexpr (TensorLike<Y>) {
    static_assert(std::is_same_v<device_of<Y>, Recording>, "the model returns a tensor in another place than its own");
    run.outputs.push_back(run.recorder.number_of(y.eval().value()));
  } else {
    locus::detail::unpack(y, [&](const auto&... each) { (add_output(run, each), ...); });
  }
}

/// throws ArgumentError unless there are as many names as tensors, or none
[[nodiscard]] inline std::vector<std::string> names_or(const std::vector<std::string>& given, std::string_view word,
                                                       std::size_t count) {
  if (given.empty() && count == 1) return {std::string(word)};
  if (!given.empty() && given.size() != count)
    fail<ArgumentError>({"onnx: ", given.size(), " names of ", word, "s for a model with ", count});
  std::vector<std::string> names = given;
  for (std::size_t i = names.size(); i < count; ++i) names.push_back(join(word, "_", i));
  return names;
}

template <class M, class... X>
[[nodiscard]] Run run_of(const M& model, const std::vector<std::string>& names, const Tensor<X, Recording>&... x) {
  Run run;
  [[maybe_unused]] std::size_t i = 0;
  (run.recorder.input(names[i++], x), ...);
  add_members(run.recorder, model);
  const Records recording(run.recorder);
  if constexpr (nn::detail::HasForward<M>) add_output(run, model.forward(Traced<X, Recording>(x, {}, true)...));
  else add_output(run, model(Traced<X, Recording>(x, {}, true)...));
  return run;
}

template <class M, class... X>
[[nodiscard]] Model recorded(const M& model, const ExportOptions& options, const X&... examples) {
  if (options.opset < 21 || options.opset > 23)
    fail<ArgumentError>({"onnx: .opset = ", options.opset, "; expected 21 to 23"});
  for (const std::int64_t count : {examples.elements()...})
    if (count == 0) fail<ShapeError>({"onnx: an example input without elements"});
  std::vector<Shape> shapes{Shape(examples.shape())...};
  auto dynamic = dynamic_extents(shapes, options.dynamic);
  add_runs(dynamic);
  const auto names = names_or(options.inputs, "input", sizeof...(X));
  const std::size_t count = dynamic.empty() ? 2 : dynamic[0].in_runs.size();
  std::vector<Run> runs;
  for (std::size_t run = 0; run < count; ++run) {
    for (const DynamicExtent& extent : dynamic)
      shapes[static_cast<std::size_t>(extent.input)][extent.dim] = extent.in_runs[run];
    const auto inputs = [&]<std::size_t... i>(std::index_sequence<i...>) {
      return Tuple<Tensor<value_of<X>, Recording>...>{input_for(examples.eval(), shapes[i], run)...};
    }(std::index_sequence_for<X...>());
    locus::detail::unpack(inputs, [&](const auto&... x) { runs.push_back(run_of(model, names, x...)); });
  }
  const auto outputs = names_or(options.outputs, "output", runs[0].outputs.size());
  Model result{.ir_version = 10, .operator_sets = {{"", options.opset}}, .metadata = options.metadata};
  result.graph = JoinedRuns(runs, std::move(dynamic), outputs).graph();
  result.graph.name = options.name;
  std::set<std::string> domains;
  for (const Node& node : result.graph.nodes)
    if (!node.domain.empty() && domains.insert(node.domain).second) result.operator_sets.push_back({node.domain, 1});
  return result;
}

}  // namespace exporting

/// Several inputs of a model: onnx::inputs(query, key, value).
template <TensorLike... X>
struct Inputs {
  Tuple<Tensor<value_of<X>, device_of<X>>...> tensors;
};
template <TensorLike... X>
[[nodiscard]] Inputs<X...> inputs(const X&... x) {
  return {{x.eval().value()...}};
}

/// The graph of a model: the operations of one call, in inference. The model is copied to a place where calls are
/// recorded, as by to<D>(); name the layers of your own that its modules hold: onnx::record<Block<float, Cpu>>(...).
/// Initial values have the names of nn::state_dict and share no memory with the model.
///
/// The model is called a few times with inputs of the example's shape and of other dynamic extents, so that a number
/// that follows from an extent is told from a constant. The example is one tensor, or onnx::inputs(...), as forward
/// takes them; its elements matter only as valid inputs.
/// cost: a copy of the model, and two calls more than there are names in .dynamic, on the host; all values of these
/// calls are in memory at once
/// throws ArgumentError for a function without a form in ONNX, for a value that leaves the graph, such as item(), and
/// for operations that follow from an extent; as the model's forward
template <class... Own, exporting::Recordable M, TensorLike X>
[[nodiscard]] Model record(const M& model, const X& example, const ExportOptions& options = {}) {
  return exporting::recorded(exporting::recordable<Own...>(model), options, example.eval().value());
}
template <class... Own, exporting::Recordable M, TensorLike... X>
[[nodiscard]] Model record(const M& model, const Inputs<X...>& example, const ExportOptions& options = {}) {
  return locus::detail::unpack(example.tensors, [&](const auto&... x) {
    return exporting::recorded(exporting::recordable<Own...>(model), options, x...);
  });
}

/// Writes a model as an ONNX file, which appears whole or not at all.
/// throws as record, before the file is touched; DataError for a path that cannot be written
///
///     onnx::save("digits.onnx", model, zeros<float>({1, 784}));
///     onnx::save("gpt2.onnx", gpt2, tokens, {.inputs = {"tokens"}, .dynamic = {{"batch", 0}, {"length", 1}}});
template <class... Own, exporting::Recordable M, class X>
void save(const std::string& path, const M& model, const X& example, const ExportOptions& options = {}) {
  write_onnx(path, record<Own...>(model, example, options));
}

#include <locus/refuse/interop/onnx_export.inc>

}}}  // namespace locus::LOCUS_ABI::onnx
