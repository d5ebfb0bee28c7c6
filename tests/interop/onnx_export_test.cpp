// Runs on: host.
// Recorded models: their nodes, names and extents, and the models that are refused. onnx_export_test.py runs exported
// models in onnxruntime.

#include <doctest/doctest.h>
#include <locus/interop/onnx_export.hpp>
#include <locus/locus.hpp>

#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

using namespace locus;

namespace {

using Linear = nn::Linear<float, Cpu>;

std::vector<std::string> operators(const onnx::Model& model) {
  std::vector<std::string> result;
  for (const onnx::Node& node : model.graph.nodes) result.push_back(node.op_type);
  return result;
}
std::vector<std::string> initializers(const onnx::Model& model) {
  std::vector<std::string> result;
  for (const auto& tensor : model.graph.initializers) result.push_back(tensor.name);
  return result;
}
std::string text(const onnx::ValueInfo& value) {
  std::string result = value.name;
  for (const onnx::Dimension& extent : value.shape)
    result += " " + (extent.symbol.empty() ? std::to_string(extent.extent) : extent.symbol);
  return result;
}

/// A function whose to_onnx writes nothing.
struct Forgetful {
  template <class T> LOCUS_FN T operator()(T x) const { return x; }
  template <class T> LOCUS_FN T by_output(T) const { return T(1); }
  onnx::Value to_onnx(onnx::Recorder&, const onnx::Value&) const { return {}; }
};
/// A node without inputs, whose type nothing tells.
struct Rootless {
  template <class T> LOCUS_FN T operator()(T x) const { return x; }
  template <class T> LOCUS_FN T by_output(T) const { return T(1); }
  onnx::Value to_onnx(onnx::Recorder& graph, const onnx::Value&) const { return graph.node("Constant", {}); }
};

const auto two_rows = [] { return from({{1, 2, 3, 4}, {5, 6, 7, 8}}); };
template <class F>
std::string complaint(const F& f, const onnx::ExportOptions& options = {}) {
  return locus_test::message_of<Error>([&] { (void)onnx::record(f, two_rows(), options); });
}

}  // namespace

TEST_CASE("a sequence of layers is a graph of its calls, with the names of its state") {
  const nn::Sequential<float, Cpu> net{Linear{4, 3}, nn::ReLU{}, Linear{3, 2, false}};
  const auto model = onnx::record<Linear, nn::ReLU>(net, two_rows());
  CHECK(operators(model) == std::vector<std::string>{"Gemm", "Relu", "Gemm"});
  CHECK(initializers(model) == std::vector<std::string>{"0.weight", "0.bias", "2.weight"});
  CHECK(text(model.graph.inputs[0]) == "input batch 4");
  CHECK(text(model.graph.outputs[0]) == "output batch 2");
  const auto weight = onnx::tensor_of<float>(model.graph.initializers[0]);
  CHECK(all(weight == net.named_parameters()[0].parameter.value()).item());
}

TEST_CASE("options name the inputs, outputs, extents, operators and metadata") {
  const nn::Sequential<float, Cpu> net{Linear{4, 3}};
  const auto model = onnx::record<Linear>(net, zeros<float>({1, 5, 4}),
                                          {.inputs = {"x"},
                                           .outputs = {"y"},
                                           .dynamic = {{"n"}, {"length", -2}},
                                           .opset = 22,
                                           .name = "net",
                                           .metadata = {{"a", "b"}}});
  CHECK(text(model.graph.inputs[0]) == "x n length 4");
  CHECK(text(model.graph.outputs[0]) == "y n length 3");
  CHECK(model.operator_sets[0].version == 22);
  CHECK(model.graph.name == "net");
  CHECK(model.metadata[0].value == "b");
  const auto fixed = onnx::record<Linear>(net, zeros<float>({1, 5, 4}), {.dynamic = {}});
  CHECK(text(fixed.graph.inputs[0]) == "input 1 5 4");
}

TEST_CASE("a file is written whole, and read back") {
  const locus_test::TemporaryFolder folder;
  const std::string path = (folder.path / "net.onnx").string();
  onnx::save(
      path, [](const auto& x) { return relu(x) + 1; }, two_rows());
  const auto model = onnx::read_onnx(path);
  CHECK(operators(model) == std::vector<std::string>{"Relu", "Add"});
  const std::string missing = (folder.path / "none" / "net.onnx").string();
  CHECK_THROWS_AS(onnx::save(
                      missing, [](const auto& x) { return relu(x); }, two_rows()),
                  DataError);
}

TEST_CASE("numbers that follow from the batch are computed in the graph") {
  const auto reshaped = onnx::record([](const auto& x) { return reshape(x, {x.size(0) * 2, 2}); }, two_rows());
  CHECK(operators(reshaped) == std::vector<std::string>{"Reshape"});
  const auto shape = onnx::tensor_of<std::int64_t>(reshaped.graph.initializers[0]);
  CHECK(shape(0) == -1);
  CHECK(shape(1) == 2);
  const auto expanded = onnx::record(
      [](const auto& x) {
        return expand(slice(x, 0, 0, 1), {2 * x.size(0) + 1, 4});
      },
      two_rows());
  CHECK(operators(expanded) == std::vector<std::string>{"Slice", "Shape", "Mul", "Add", "Concat", "Expand"});
}

TEST_CASE("an extent of the example may be one at which a slice is the whole tensor") {
  const auto model = onnx::record([](const auto& x) { return relu(slice(x, 1, 0, x.size(0))); }, zeros<float>({6, 6}));
  CHECK(operators(model) == std::vector<std::string>{"Shape", "Slice", "Relu"});
  CHECK(text(model.graph.outputs[0]) == "output batch batch");
}

TEST_CASE("models that a graph cannot follow are refused") {
  CHECK(complaint([](const auto& x) {
          return x + sum(x).item();
        }).starts_with("onnx: the model copies a tensor to the host"));
  CHECK(complaint([](const auto& x) {
          return x * Tensor(exp(x.value()));
        }).starts_with("onnx: a tensor of shape (2, 4) follows from the input in a way that is not recorded"));
  CHECK(complaint([](const auto& x) {
          return x.size(0) > 2 ? relu(x).eval() : tanh(x).eval();
        }).starts_with("onnx: the model computes Tanh as operation 0 for some extents, Relu for others"));
  CHECK(complaint([](const auto& x) { return lgamma(x); }).starts_with("onnx: lgamma has no form in ONNX"));
  CHECK(complaint([](const auto& x) { return cumprod(x, 1); }).starts_with("onnx: cumprod has no form in ONNX"));
  CHECK(complaint([](const auto& x) { return argmax(x, 2); }).starts_with("argmax: "));
  CHECK(complaint([](const auto& x) {
          return expand(slice(x, 0, 0, 1), {x.size(0) * x.size(0), 4});
        }).starts_with("onnx: the model uses a number that is "));
}

TEST_CASE("positions are computed in the graph, of traced tensors and of their values") {
  const auto of_row = onnx::record([](const auto& x) { return argmax(x, 1); }, two_rows());
  CHECK(operators(of_row) == std::vector<std::string>{"ArgMax"});
  CHECK(of_row.graph.outputs[0].type == onnx::DataType::int64);
  const auto of_all = onnx::record([](const auto& x) { return argmin(x.value(), {}, true); }, two_rows());
  CHECK(operators(of_all) == std::vector<std::string>{"Reshape", "ArgMin", "Reshape"});
  CHECK(text(of_all.graph.outputs[0]) == "output 1 1");
  const auto looked_up = onnx::record([](const auto& x) { return max_with_indices(x, 1).values; }, two_rows());
  CHECK(operators(looked_up) == std::vector<std::string>{"ArgMax", "GatherElements", "Reshape"});
}

TEST_CASE("forms of a program that give no value are refused") {
  CHECK(locus_test::contains(complaint([](const auto& x) { return elementwise(Forgetful{}, x); }),
                             "returned no value; return that of its last node"));
  CHECK(complaint([](const auto& x) {
          return elementwise(Rootless{}, x);
        }).starts_with("onnx: node(\"Constant\") without inputs"));
}

TEST_CASE("integers are divided as in Locus, and bits of bool are logic") {
  const auto of = [](const auto& f, const auto& x) { return operators(onnx::record(f, x)); };
  const auto half_of = [](const auto& x) { return x / 2; };
  CHECK(of(half_of, from<std::int64_t>({{-7, 7}})) == std::vector<std::string>{"Mod", "Sub", "Div"});
  CHECK(of(half_of, two_rows()) == std::vector<std::string>{"Div"});
  CHECK(of([](const auto& x) { return x % 4; }, from<std::int8_t>({{-7, 7}})) == std::vector<std::string>{"Mod"});
  CHECK(of([](const auto& x) { return x & 4; }, from<std::int8_t>({{-7, 7}})) ==
        std::vector<std::string>{"BitwiseAnd"});
  CHECK(of([](const auto& x) { return ~x | x; }, from<bool>({{1, 0}})) == std::vector<std::string>{"Not", "Or"});
}

TEST_CASE("several inputs have one extent of one name, which is not multiplied by itself") {
  const Tensor row = from({{1, 2}});
  const auto model = onnx::record([](const auto& x, const auto& y) { return x + y; }, onnx::inputs(row, row));
  CHECK(operators(model) == std::vector<std::string>{"Add"});
  CHECK(text(model.graph.inputs.at(0)) == "input_0 batch 2");
  CHECK(text(model.graph.inputs.at(1)) == "input_1 batch 2");
  CHECK(text(model.graph.outputs.at(0)) == "output batch 2");
  const auto squared = [](const auto& x, const auto& y) { return expand(sum(x), {x.size(0) * y.size(0), 1}); };
  CHECK(locus_test::message_of<ArgumentError>([&] {
          (void)onnx::record(squared, onnx::inputs(row, row));
        }).starts_with("onnx: the model uses a number that is "));
}

TEST_CASE("options that fit no input are refused") {
  const auto f = [](const auto& x) { return relu(x); };
  CHECK(complaint(f, {.opset = 20}) == "onnx: .opset = 20; expected 21 to 23");
  CHECK(complaint(f, {.inputs = {"a", "b"}}) == "onnx: 2 names of inputs for a model with 1");
  CHECK(complaint(f, {.dynamic = {{"n", 2}}}) ==
        "onnx: .dynamic \"n\" is dimension 2 of an input of shape (2, 4); say .dynamic = {} for fixed extents");
  CHECK(complaint(f, {.dynamic = {{"n", 0, 1}}}) == "onnx: .dynamic \"n\" names input 1 of 1");
  CHECK(complaint(f, {.dynamic = {{"n", 0}, {"m", -2}}}) == "onnx: .dynamic names dimension 0 of input 0 twice");
}
