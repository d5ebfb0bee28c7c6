// Runs on: host; alone.
// Networks of graphs. Traced ones have the few operators that are named below: all of them would double the time that
// this file takes to compile.
#include <doctest/doctest.h>
#include <locus/models/onnx.hpp>
#include <locus/ops/close.hpp>

#include <support/onnx_case.hpp>
#include <support/reference.hpp>
#include <support/temporary_folder.hpp>
#include <support/thrown.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace locus;
using namespace locus_test;

template <>
class locus::onnx::detail::Functions<Traced<float, Cpu>> {
  using F = Traced<float, Cpu>;

 public:
  static void run(const Call<F>& call, int operation) {
    const std::string_view name = operator_specs[operation].name;
    if (name == "BatchNormalization") return batch_normalize(call);
    if (name == "Gemm") return gemm(call);
    if (name == "MatMul") return multiply_matrices(call);
    if (name == "Softmax") return along_rows(call, [](const F& x, int axis) { return softmax(x, axis); });
    if (name == "Relu") return map_arithmetic(call, [](const auto& x) { return relu(x); });
    if (name == "Mul") return combine(call, [](const auto& a, const auto& b) { return a * b; });
    REQUIRE(name == "Add");
    combine(call, [](const auto& a, const auto& b) { return a + b; });
  }
};

/// Numbers of 16 bits have one operator, likewise.
template <>
class locus::onnx::detail::Functions<Tensor<half, Cpu>> {
 public:
  static void run(const Call<Tensor<half, Cpu>>& call, int operation) {
    REQUIRE(operator_specs[operation].name == "QLinearMatMul");
    multiply_quantized(call);
  }
};

namespace {

using onnx::DataType;

onnx::Model model_of(std::vector<onnx::Node> nodes, std::vector<onnx::TensorData> initializers = {},
                     std::vector<onnx::ValueInfo> inputs = {{"x", DataType::float32, {"n", "m"}}},
                     std::vector<onnx::ValueInfo> outputs = {
                         {.name = "y", .type = DataType::float32, .has_shape = false}}) {
  return {.graph = {.name = "test",
                    .nodes = std::move(nodes),
                    .initializers = std::move(initializers),
                    .inputs = std::move(inputs),
                    .outputs = std::move(outputs)}};
}
std::string complaint(const onnx::Model& model) {
  return message_of<DataError>([&] { (void)models::Onnx<float>(model); });
}
/// Two linear layers and an activation, and a softmax: the second layer by MatMul and Add.
onnx::Model perceptron() {
  return model_of(
      {{.op_type = "Gemm", .inputs = {"x", "w1", "b1"}, .outputs = {"h"}, .attributes = {{"transB", std::int64_t{1}}}},
       {.op_type = "Relu", .inputs = {"h"}, .outputs = {"a"}},
       {.op_type = "MatMul", .inputs = {"a", "w2"}, .outputs = {"p"}},
       {.op_type = "Add", .inputs = {"p", "b2"}, .outputs = {"s"}},
       {.op_type = "Softmax", .inputs = {"s"}, .outputs = {"y"}}},
      {onnx::tensor_data("w1", from({{1, -1}, {0.5, 2}, {-1, 1}})), onnx::tensor_data("b1", from({0, 0.5, 1})),
       onnx::tensor_data("w2", from({{1, 0}, {0, 1}, {1, 1}})), onnx::tensor_data("b2", from({0.25, -0.25}))});
}
Tensor<float, Cpu> perceptron_by_hand(const Tensor<float, Cpu>& x) {
  const Tensor h = relu(linear(x, from({{1, -1}, {0.5, 2}, {-1, 1}}), from({0, 0.5, 1})));
  return softmax(matmul(h, from({{1, 0}, {0, 1}, {1, 1}})) + from({0.25, -0.25}), 1);
}

}  // namespace

TEST_CASE("a network of a file is a layer: calls, parameters, copies, other types") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "net.onnx";
  onnx::write_onnx(path, perceptron());
  const auto net = models::load_onnx<float>(path);
  const Tensor x = from({{1, 2}, {-0.5, 0.25}});
  CHECK(allclose(net(x), perceptron_by_hand(x)));
  CHECK(
      (net.inputs().at(0).name == "x" && net.inputs()[0].shape.at(0).symbol == "n" && net.outputs().at(0).name == "y"));

  std::string names;
  for (const auto& [name, parameter] : net.named_parameters()) names += name + " ";
  CHECK(names == "w1 b1 w2 b2 ");

  const auto copy = net.clone();
  copy.named_parameters()[1].parameter.value().fill_(100);
  CHECK(allclose(net(x), perceptron_by_hand(x)));
  CHECK(!allclose(copy(x), net(x)));
  CHECK_CLOSE(net.as<double>().parameters()[3].value(), Reference({2}, {0.25, -0.25}));
}

TEST_CASE("a traced input records: parameters learn") {
  const models::Onnx<float> net(perceptron());
  const Tensor x = from({{1, 2}, {-0.5, 0.25}});
  sum(square(net(trace(x)).slice(1, 0, 1))).backward();

  const auto w1 = variable(from({{1, -1}, {0.5, 2}, {-1, 1}})), b1 = variable(from({0, 0.5, 1}));
  const auto w2 = variable(from({{1, 0}, {0, 1}, {1, 1}})), b2 = variable(from({0.25, -0.25}));
  const auto scores = (matmul(relu(linear(trace(x), w1, b1)), w2) + b2).eval();
  sum(square(softmax(scores, 1).slice(1, 0, 1))).backward();
  const auto parameters = net.parameters();
  REQUIRE(parameters.size() == 4);
  CHECK(allclose(parameters[0].grad(), w1.grad()));
  CHECK(allclose(parameters[1].grad(), b1.grad()));
  CHECK(allclose(parameters[2].grad(), w2.grad()));
  CHECK(allclose(parameters[3].grad(), b2.grad()));
}

TEST_CASE("statistics and single numbers are buffers; batch norm uses the file's statistics") {
  const auto model = model_of({{.op_type = "BatchNormalization",
                                .inputs = {"x", "scale", "bias", "mean", "var"},
                                .outputs = {"n"},
                                .attributes = {{"epsilon", 0.f}}},
                               {.op_type = "Constant", .outputs = {"c"}, .attributes = {{"value_float", 10.f}}},
                               {.op_type = "Mul", .inputs = {"n", "c"}, .outputs = {"p"}},
                               {.op_type = "Add", .inputs = {"p", "shift"}, .outputs = {"y"}}},
                              {onnx::tensor_data("scale", from({1, 2})), onnx::tensor_data("bias", from({0, 1})),
                               onnx::tensor_data("mean", from({1, 2})), onnx::tensor_data("var", from({4, 16})),
                               onnx::tensor_data("shift", full({}, 0.5f))});
  const models::Onnx<float> net(model);
  CHECK_CLOSE(net(from({{5, 6}, {1, 2}})), Reference({2, 2}, {20.5, 30.5, 0.5, 10.5}));
  CHECK_CLOSE(net(trace(from({{5, 6}, {1, 2}}))).value(), Reference({2, 2}, {20.5, 30.5, 0.5, 10.5}));
  CHECK(net.parameters().size() == 2);
  CHECK(net.named_buffers().size() == 4);
}

TEST_CASE("shapes are computed from shapes, on the host") {
  // y = reshape(x, {shape(x)[0], -1}), of a (n, 2, 3), as exporters write it.
  const auto model = model_of(
      {{.op_type = "Shape", .inputs = {"x"}, .outputs = {"shape"}},
       {.op_type = "Gather", .inputs = {"shape", "zero"}, .outputs = {"n"}},
       {.op_type = "Unsqueeze", .inputs = {"n", "axes"}, .outputs = {"ns"}},
       {.op_type = "Concat",
        .inputs = {"ns", "rest"},
        .outputs = {"wanted"},
        .attributes = {{"axis", std::int64_t{0}}}},
       {.op_type = "Reshape", .inputs = {"x", "wanted"}, .outputs = {"y"}}},
      {onnx::tensor_data("zero", full<std::int64_t>({}, 0)), onnx::tensor_data("axes", from<std::int64_t>({0})),
       onnx::tensor_data("rest", from<std::int64_t>({-1}))});
  const models::Onnx<float> net(model);
  CHECK(net(zeros({4, 2, 3})).shape() == Shape{4, 6});
  CHECK(net(zeros({1, 5})).shape() == Shape{1, 5});
  CHECK(net.parameters().empty());
}

TEST_CASE("several inputs and outputs, of several types") {
  const auto model = model_of(
      {{.op_type = "Gather", .inputs = {"table", "ids"}, .outputs = {"rows"}},
       {.op_type = "Where", .inputs = {"mask", "rows", "zero"}, .outputs = {"y"}},
       {.op_type = "Add", .inputs = {"ids", "ids"}, .outputs = {"twice"}},
       {.op_type = "Not", .inputs = {"mask"}, .outputs = {"other"}}},
      {onnx::tensor_data("table", from({{1, 2}, {3, 4}, {5, 6}})), onnx::tensor_data("zero", full({}, 0.f))},
      {{"ids", DataType::uint8, {"n"}}, {"mask", DataType::boolean, {"n", 1}}},
      {{"y", DataType::float32, {"n", 2}}, {"twice", DataType::uint8, {"n"}}, {"other", DataType::boolean, {"n", 1}}});
  const models::Onnx<float> net(model);
  const Tensor ids = from<std::uint8_t>({2, 0, 1});
  const Tensor mask = from<bool>({{1}, {0}, {1}});
  const auto outputs = net.run({{"ids", ids}, {"mask", mask}});
  CHECK_CLOSE(outputs.get<float>("y"), Reference({3, 2}, {5, 6, 0, 0, 3, 4}));
  CHECK_CLOSE(outputs.get<std::uint8_t>("twice"), Reference({3}, {4, 0, 2}));
  CHECK_CLOSE(outputs.get<bool>("other"), Reference({3, 1}, {0, 1, 0}));

  const auto refused = [&](std::vector<models::OnnxInput<float, Cpu>> inputs) {
    return message_of<ArgumentError>([&] { (void)net.run(inputs); });
  };
  CHECK(refused({{"ids", ids}}) == "Onnx::run: input 'mask' is missing; expected 'ids', 'mask'");
  CHECK(refused({{"ids", ids}, {"ids", ids}}) == "Onnx::run: input 'ids' is given twice");
  CHECK(refused({{"id", ids}}) == "Onnx::run: there is no input 'id'; expected 'ids', 'mask'");
  CHECK(refused({{"ids", mask}}) == "Onnx::run: input 'ids' holds bool; expected uint8");
  CHECK(contains(message_of<ArgumentError>([&] { (void)net(zeros({1})); }),
                 "2 inputs and 3 outputs ('ids', 'mask'): use run"));
  CHECK_THROWS_AS((void)net.run({{"ids", from<std::uint8_t>({3})}, {"mask", from<bool>({1})}}), IndexError);
}

TEST_CASE("all missing operators and attributes are named at once") {
  auto model = model_of(
      {{.op_type = "SequenceMap", .inputs = {"x"}, .outputs = {"a"}, .name = "body"},
       {.op_type = "Relu", .inputs = {"a"}, .outputs = {"b"}, .attributes = {{"slope", 0.5f}}, .name = "steep"},
       {.op_type = "FusedMatMul", .inputs = {"b"}, .outputs = {"c"}, .domain = "com.microsoft"},
       {.op_type = "SequenceMap", .inputs = {"c"}, .outputs = {"y"}}});
  const std::string message = complaint(model);
  CHECK(contains(message,
                 "of opset 17: Locus does not run these operators: SequenceMap (2 nodes, first node 'body' "
                 "(SequenceMap)), "
                 "com.microsoft.FusedMatMul (1 node, first the node of 'c' (com.microsoft.FusedMatMul)); "
                 "it does not read these attributes: 'slope' of node 'steep' (Relu)"));
  model.operator_sets = {{"", 5}};
  CHECK(contains(complaint(model), "it uses opset 5; expected 7 to"));
  model.operator_sets = {{"", 999}};
  CHECK(contains(complaint(model), "it uses opset 999"));
  model.operator_sets = {{"com.microsoft", 1}};
  CHECK(contains(complaint(model), "it names no version of the operators"));
}

TEST_CASE("graphs that cannot be run are refused with the node and the value") {
  CHECK(contains(complaint(model_of({{.op_type = "Add", .inputs = {"x", "b"}, .outputs = {"a"}, .name = "first"},
                                     {.op_type = "Relu", .inputs = {"a"}, .outputs = {"b"}, .name = "second"}})),
                 "node 'first' (Add) reads 'b', which node 'second' (Relu) writes later; expected nodes in order: sort "
                 "them, or break the cycle"));
  CHECK(contains(complaint(model_of({{.op_type = "Relu", .inputs = {"z"}, .outputs = {"y"}}})),
                 "reads 'z', which is no input, no initial value and no output of a node"));
  CHECK(contains(complaint(model_of({{.op_type = "Relu", .inputs = {"x"}, .outputs = {"x"}}})),
                 "two values have the name 'x'"));
  CHECK(contains(complaint(model_of({{.op_type = "Relu", .inputs = {"x", "x"}, .outputs = {"y"}}})),
                 "has 2 inputs; expected 1"));
  CHECK(contains(complaint(model_of({{.op_type = "Add", .inputs = {"x", ""}, .outputs = {"y"}}})), "lacks input 1"));
  CHECK(contains(complaint(model_of({{.op_type = "Relu", .inputs = {"x"}, .outputs = {"z"}}})),
                 "the list of outputs reads 'y'"));
  CHECK(contains(complaint(model_of({}, {}, {}, {})), "the graph has no output"));
  CHECK(contains(
      complaint(model_of({{.op_type = "Relu", .inputs = {"x"}, .outputs = {"y"}}}, {}, {{"x", DataType::string, {}}})),
      "input 'x' is of string; expected a tensor of numbers or bool"));
  const auto net =
      models::Onnx<float>(model_of({{.op_type = "Add", .inputs = {"x", "w"}, .outputs = {"y"}, .name = "sum"}},
                                   {onnx::tensor_data("w", from({1, 2, 3}))}));
  CHECK(contains(message_of<ShapeError>([&] { (void)net(zeros({2, 2})); }), "ONNX node 'sum' (Add): "));
  const auto typed =
      models::Onnx<float>(model_of({{.op_type = "MatMul", .inputs = {"x", "i"}, .outputs = {"y"}, .name = "m"}},
                                   {onnx::tensor_data("i", from<std::int64_t>({1, 2}))}));
  CHECK(contains(message_of<DataError>([&] {
                   (void)typed(zeros({2, 2}));
                 }),
                 "ONNX node 'm' (MatMul): input 1 holds int64; expected floating-point numbers"));
}

TEST_CASE("attributes and inputs out of range are refused with the node") {
  const auto refused = [](const onnx::Node& node, const Tensor<float, Cpu>& x,
                          const std::vector<onnx::TensorData>& initializers = {}) {
    const models::Onnx<float> net(model_of({node}, initializers));
    return message_of<DataError>([&] { (void)net(x); });
  };
  for (const char* operation : {"DepthToSpace", "SpaceToDepth"})
    CHECK(contains(
        refused(
            {.op_type = operation, .inputs = {"x"}, .outputs = {"y"}, .attributes = {{"blocksize", std::int64_t{0}}}},
            zeros({1, 4, 2, 2})),
        "blocksize 0; expected 1 or more"));
  CHECK(contains(refused({.op_type = "MaxPool",
                          .inputs = {"x"},
                          .outputs = {"y"},
                          .attributes = {{"kernel_shape", std::vector<std::int64_t>{2, 2}}, {"auto_pad", "SAME"}}},
                         zeros({1, 1, 4, 4})),
                 "auto_pad = 'SAME', which Locus does not run"));
  CHECK(contains(refused({.op_type = "Mean", .inputs = {"i", "i"}, .outputs = {"y"}}, zeros({1}),
                         {onnx::tensor_data("i", from<std::int64_t>({1, 2}))}),
                 "input 0 holds int64; expected floating-point numbers"));
  CHECK(contains(refused({.op_type = "GatherND",
                          .inputs = {"x", "i"},
                          .outputs = {"y"},
                          .attributes = {{"batch_dims", std::int64_t{1}}}},
                         zeros({2, 2}), {onnx::tensor_data("i", from<std::int64_t>({{0}, {1}, {0}, {1}}))}),
                 "indices of shape (4, 1) for a tensor of shape (2, 2)"));
  CHECK(contains(refused({.op_type = "Resize", .inputs = {"x", "", "s"}, .outputs = {"y"}}, zeros({1, 1, 1, 10}),
                         {onnx::tensor_data("s", from({1.f, 1.f, 1.f, __builtin_inff()}))}),
                 "expected more than 0, and fewer than 2^53 elements"));
  const auto transform = [&](const char* operation, const Shape& shape, std::vector<onnx::Attribute> attributes,
                             std::int64_t length) {
    return refused({.op_type = operation, .inputs = {"x", "n"}, .outputs = {"y"}, .attributes = std::move(attributes)},
                   zeros(shape), {onnx::tensor_data("n", full<std::int64_t>({}, length))});
  };
  constexpr std::int64_t yes = 1;
  CHECK(
      contains(transform("DFT", {2, 8, 3}, {}, 8), "a signal of shape (2, 8, 3); expected (..., 1), real numbers, or"));
  CHECK(contains(transform("DFT", {2, 8, 1}, {{"axis", std::int64_t{2}}}, 8), "axis 2 of shape (2, 8, 1)"));
  CHECK(contains(transform("DFT", {2, 8, 2}, {{"onesided", yes}}, 8), "onesided of a complex signal"));
  for (const std::int64_t length : {std::int64_t{0}, INT64_MAX})
    CHECK(contains(transform("DFT", {2, 8, 1}, {}, length), "expected 1 to 2^30"));
  CHECK(contains(transform("STFT", {2, 8}, {}, 1), "a signal of shape (2, 8); expected (..., 1)"));
  CHECK(contains(transform("STFT", {2, 8, 1}, {}, 0), "a length of 0; expected 1 to 2^30"));
  CHECK(contains(transform("STFT", {2, 8, 2}, {}, 1), "onesided of a complex signal"));
  CHECK(contains(refused({.op_type = "DeformConv", .inputs = {"x", "w", "o"}, .outputs = {"y"}}, zeros({1, 1, 3, 3}),
                         {onnx::tensor_data("w", zeros({1, 1, 2, 2})), onnx::tensor_data("o", zeros({1, 8, 3, 3}))}),
                 "input 2 of shape (1, 8, 3, 3); expected (1, 8, 2, 2)"));
  // Numbers of a file whose sums and products are beyond 64 bits.
  constexpr std::int64_t huge = INT64_MAX;
  using List = std::vector<std::int64_t>;
  for (const char* pool : {"MaxPool", "AveragePool", "LpPool"})
    for (const char* name : {"strides", "dilations", "kernel_shape", "pads"}) {
      CAPTURE(name);
      std::vector<onnx::Attribute> attributes{{"kernel_shape", List{2, 2}}, {"ceil_mode", std::int64_t{1}}};
      const List numbers = name == std::string("pads") ? List{0, 0, huge, 0} : List{1, huge};
      if (name == std::string("kernel_shape")) attributes.erase(attributes.begin());
      attributes.push_back({name, numbers});
      const std::string why =
          refused({.op_type = pool, .inputs = {"x"}, .outputs = {"y"}, .attributes = attributes}, zeros({1, 1, 4, 4}));
      CHECK_MESSAGE((contains(why, "expected 1 to 2^30 of each") || contains(why, "expected numbers within 2^30")),
                    why);
    }
  CHECK(contains(refused({.op_type = "ConvTranspose",
                          .inputs = {"x", "w"},
                          .outputs = {"y"},
                          .attributes = {{"output_shape", List{huge, 1}}}},
                         zeros({1, 1, 4, 4}), {onnx::tensor_data("w", zeros({1, 1, 2, 2}))}),
                 "in output_shape"));
  CHECK(contains(
      refused({.op_type = "SpaceToDepth", .inputs = {"x"}, .outputs = {"y"}, .attributes = {{"blocksize", huge}}},
              zeros({0, 4, 2, 2})),
      "beyond 64 bits"));
  CHECK(contains(refused({.op_type = "LSTM", .inputs = {"x", "w", "w"}, .outputs = {"y"}}, zeros({2, 1, 3}),
                         {onnx::tensor_data("w", zeros({1, 5, 1}))}),
                 "weights of shapes (1, 5, 1) and (1, 5, 1) for 4 gates"));
  constexpr std::int64_t many = std::int64_t{1} << 40;
  CHECK(contains(
      refused({.op_type = "LpPool", .inputs = {"x"}, .outputs = {"y"}, .attributes = {{"kernel_shape", List{2, 2}}}},
              zeros({many, many, 0, 4})),
      "expected extents of at most 2^30"));
  CHECK(contains(refused({.op_type = "Resize",
                          .inputs = {"x", "", "", "s"},
                          .outputs = {"y"},
                          .attributes = {{"mode", "linear"}, {"antialias", std::int64_t{1}}, {"axes", List{1}}}},
                         zeros({0, many}), {onnx::tensor_data("s", from<std::int64_t>({1}))}),
                 "antialias of 1099511627776 elements as 1"));
}

TEST_CASE("inputs and attributes that do not fit each other are refused, not broadcast or ignored") {
  const auto refused = [](const onnx::Node& node, const Tensor<float, Cpu>& x,
                          const std::vector<onnx::TensorData>& initializers) {
    const models::Onnx<float> net(model_of({node}, initializers));
    return message_of<DataError>([&] { (void)net(x); });
  };
  const auto lstm = [&](const std::vector<onnx::Attribute>& attributes, const Shape& bias) {
    return refused({.op_type = "LSTM", .inputs = {"x", "w", "r", "b"}, .outputs = {"y"}, .attributes = attributes},
                   zeros({2, 1, 3}),
                   {onnx::tensor_data("w", zeros({1, 8, 3})), onnx::tensor_data("r", zeros({1, 8, 2})),
                    onnx::tensor_data("b", zeros(bias))});
  };
  CHECK(lstm({{"hidden_size", std::int64_t{2}}}, {1, 16}).empty());
  CHECK(contains(lstm({{"hidden_size", std::int64_t{3}}}, {1, 16}), "hidden_size = 3, which Locus does not run"));
  CHECK(contains(lstm({}, {1, 9}), "input 3 of shape (1, 9); expected (1, 16)"));
  CHECK(contains(lstm({{"activations", std::vector<std::string>{"Relu"}}}, {1, 16}), "1 activations; expected 3"));

  const onnx::Node quantize{.op_type = "QuantizeLinear", .inputs = {"x", "s"}, .outputs = {"y"}};
  CHECK(contains(refused(quantize, zeros({2, 1}), {onnx::tensor_data("s", ones({3}))}),
                 "scales of shape (3,) for x of shape (2, 1) in blocks of 0"));
  CHECK(contains(
      refused({.op_type = "QuantizeLinear",
               .inputs = {"x", "s", "z"},
               .outputs = {"y"},
               .attributes = {{"output_dtype", static_cast<std::int64_t>(DataType::int8)}}},
              zeros({2}), {onnx::tensor_data("s", full({}, 1.f)), onnx::tensor_data("z", full<std::uint8_t>({}, 0))}),
      "output_dtype int8 with a zero point of uint8"));
  CHECK(contains(refused({.op_type = "NegativeLogLikelihoodLoss", .inputs = {"x", "labels"}, .outputs = {"y"}},
                         zeros({4, 2}), {onnx::tensor_data("labels", zeros<std::int64_t>({3}))}),
                 "labels of shape (3,) for classes of shape (4, 2)"));
  CHECK(contains(refused({.op_type = "ScatterElements",
                          .inputs = {"x", "i", "u"},
                          .outputs = {"y"},
                          .attributes = {{"reduction", "mul"}}},
                         zeros({2, 2}),
                         {onnx::tensor_data("i", zeros<std::int64_t>({1, 2})), onnx::tensor_data("u", ones({2, 2}))}),
                 "updates of shape (2, 2) for indices of shape (1, 2)"));
  CHECK(contains(complaint(model_of({{.op_type = "MaxPool",
                                      .inputs = {"x"},
                                      .outputs = {"y"},
                                      .attributes = {{"kernel_shape", std::vector<std::int64_t>{2}},
                                                     {"count_include_pad", std::int64_t{1}}}}})),
                 "it does not read these attributes: 'count_include_pad'"));
}

TEST_CASE("no window of a pool begins behind the input, also with uneven borders") {
  const std::vector<onnx::Attribute> uneven{{"kernel_shape", std::vector<std::int64_t>{2}},
                                            {"strides", std::vector<std::int64_t>{2}},
                                            {"pads", std::vector<std::int64_t>{0, 4}},
                                            {"ceil_mode", std::int64_t{1}}};
  std::vector<onnx::Attribute> counting = uneven;
  counting.push_back({"count_include_pad", std::int64_t{1}});
  const models::Onnx<float> net(
      model_of({{.op_type = "MaxPool", .inputs = {"x"}, .outputs = {"largest", "places"}, .attributes = uneven},
                {.op_type = "AveragePool", .inputs = {"x"}, .outputs = {"mean"}, .attributes = counting}},
               {}, {{"x", DataType::float32, {1, 1, 4}}},
               {{"largest", DataType::float32, {1, 1, 3}},
                {"places", DataType::int64, {1, 1, 3}},
                {"mean", DataType::float32, {1, 1, 3}}}));
  const auto outputs = net.run({{"x", from({1, 2, 3, 4}).reshape({1, 1, 4})}});
  REQUIRE(outputs.get<float>("largest").shape() == Shape{1, 1, 3});
  CHECK_CLOSE(outputs.get<float>("largest").slice(2, 0, 2), Reference({1, 1, 2}, {2, 4}));
  REQUIRE(outputs.get<std::int64_t>("places").shape() == Shape{1, 1, 3});
  CHECK_CLOSE(outputs.get<std::int64_t>("places").slice(2, 0, 2), Reference({1, 1, 2}, {1, 3}));
  CHECK_CLOSE(outputs.get<float>("mean"), Reference({1, 1, 3}, {1.5, 3.5, 0}));
}

TEST_CASE("products of a scatter wrap to the type, and a scatter of no updates leaves the tensor") {
  const auto scattered = [](const onnx::TensorData& x, const onnx::TensorData& updates, std::int64_t count) {
    const std::vector<onnx::Attribute> multiplies{{"reduction", "mul"}}, to_float{{"to", std::int64_t{1}}};
    const models::Onnx<float> net(
        model_of({{.op_type = "ScatterElements", .inputs = {"x", "i", "u"}, .outputs = {"z"}, .attributes = multiplies},
                  {.op_type = "Cast", .inputs = {"z"}, .outputs = {"y"}, .attributes = to_float}},
                 {x, updates, onnx::tensor_data("i", zeros<std::int64_t>({count}))}, {}));
    return net.run({}).get<float>("y");
  };
  CHECK_CLOSE(scattered(onnx::tensor_data("x", from<std::uint8_t>({200, 7})),
                        onnx::tensor_data("u", from<std::uint8_t>({2, 3})), 2),
              Reference({2}, {1200 % 256, 7}));
  CHECK_CLOSE(scattered(onnx::tensor_data("x", from({1, 2})), onnx::tensor_data("u", zeros(Shape{0})), 0),
              Reference({2}, {1, 2}));
}

TEST_CASE("sums of a quantized product are beyond the range of half") {
  const models::Onnx<half> net(
      model_of({{.op_type = "QLinearMatMul", .inputs = {"a", "s", "z", "b", "s", "z", "one", "z"}, .outputs = {"y"}}},
               {onnx::tensor_data("a", full<std::int8_t>({1, 64}, 127)),
                onnx::tensor_data("b", full<std::int8_t>({64, 1}, 127)), onnx::tensor_data("s", full({}, 0x1p-7f)),
                onnx::tensor_data("one", full({}, 1.f)), onnx::tensor_data("z", full<std::int8_t>({}, 0))},
               {}, {{"y", DataType::int8, {1, 1}}}));
  CHECK_CLOSE(net.run({}).get<std::int8_t>("y"), Reference({1, 1}, {63}));  // 64 * 127 * 127 / 2^14
}

TEST_CASE("scales, tables of angles and weights of classes are buffers") {
  const models::Onnx<float> net(
      model_of({{.op_type = "RotaryEmbedding", .inputs = {"x", "cos", "sin", "places"}, .outputs = {"turned"}},
                {.op_type = "DequantizeLinear", .inputs = {"bytes", "scale"}, .outputs = {"numbers"}},
                {.op_type = "Mul", .inputs = {"turned", "numbers"}, .outputs = {"scores"}},
                {.op_type = "SoftmaxCrossEntropyLoss", .inputs = {"scores", "labels", "classes"}, .outputs = {"y"}}},
               {onnx::tensor_data("cos", ones({2, 1})), onnx::tensor_data("sin", zeros({2, 1})),
                onnx::tensor_data("places", zeros<std::int64_t>({1, 2})),
                onnx::tensor_data("bytes", zeros<std::uint8_t>({2, 2})), onnx::tensor_data("scale", ones({2})),
                onnx::tensor_data("labels", zeros<std::int64_t>({1, 2, 2})), onnx::tensor_data("classes", ones({1}))}));
  CHECK(net.parameters().empty());
  CHECK(net.named_buffers().size() == 4);
}

TEST_CASE("numbers that no integer holds are quantized to the ends of the range, and NaN to 0") {
  const std::vector<onnx::Attribute> given{{"output_dtype", std::int64_t{0}}};  // as left out: uint8
  const models::Onnx<float> net(model_of(
      {{.op_type = "QuantizeLinear", .inputs = {"x", "scale"}, .outputs = {"y"}, .attributes = given}},
      {onnx::tensor_data("scale", full({}, 1e-30f))}, {{"x", DataType::float32, {4}}}, {{"y", DataType::uint8, {4}}}));
  const float infinite = __builtin_inff();
  CHECK_CLOSE(net.run({{"x", from({infinite, -infinite, __builtin_nanf(""), 1e30f})}}).get<std::uint8_t>("y"),
              Reference({4}, {255, 0, 0, 255}));
}

TEST_CASE("powers of integers are exact, and sizes of Resize are onnxruntime's") {
  const models::Onnx<float> power(model_of({{.op_type = "Pow", .inputs = {"base", "exponent"}, .outputs = {"y"}}},
                                           {onnx::tensor_data("base", from<std::int64_t>({3, -2})),
                                            onnx::tensor_data("exponent", from<std::int64_t>({21, 3}))},
                                           {}, {{"y", DataType::int64, {2}}}));
  CHECK_CLOSE(power.run({}).get<std::int64_t>("y") - from<std::int64_t>({10460353203, -8}), Reference({2}, {0, 0}));
  const models::Onnx<float> resize(model_of({{.op_type = "Resize", .inputs = {"x", "", "s"}, .outputs = {"y"}}},
                                            {onnx::tensor_data("s", from({1, 1, 1, 0.7}))}));
  CHECK(resize(zeros({1, 1, 1, 10})).shape() == Shape{1, 1, 1, 7});
}

TEST_CASE("every operator of the list has a function") {
  using F = Tensor<float, Cpu>;
  for (int i = 0; i < onnx::detail::operator_count; ++i)
    CHECK_MESSAGE((onnx::detail::Functions<F>::has(i) || onnx::detail::operator_specs[i].name == "Constant"),
                  onnx::detail::operator_specs[i].name);
  CHECK(onnx::detail::find_operator("SequenceMap") == -1);
}

namespace {
onnx::Attribute graph_of(const char* name, onnx::Graph graph) {
  return {name, onnx::Graphs(std::vector<onnx::Graph>{std::move(graph)})};
}
/// x doubled three times, or until an element is above `most`; the output "all" has each x on the way. `scale` is a
/// value of the graph around.
onnx::Model doubling() {
  const onnx::Graph body{
      .name = "body",
      .nodes = {{.op_type = "Mul", .inputs = {"before", "scale"}, .outputs = {"after"}},
                {.op_type = "ReduceMax",
                 .inputs = {"after"},
                 .outputs = {"top"},
                 .attributes = {{"keepdims", std::int64_t{0}}}},
                {.op_type = "Less", .inputs = {"top", "most"}, .outputs = {"goes_on"}},
                {.op_type = "Identity", .inputs = {"after"}, .outputs = {"step"}}},
      .initializers = {onnx::tensor_data("most", full({}, 20.f))},
      .inputs = {{"i", DataType::int64}, {"was_going_on", DataType::boolean}, {"before", DataType::float32}},
      .outputs = {{"goes_on", DataType::boolean}, {"after", DataType::float32}, {"step", DataType::float32}}};
  auto model =
      model_of({{.op_type = "Add", .inputs = {"one", "one"}, .outputs = {"scale"}},
                {.op_type = "Loop",
                 .inputs = {"times", "", "x"},
                 .outputs = {"y", "all"},
                 .attributes = {graph_of("body", body)},
                 .name = "loop"}},
               {onnx::tensor_data("one", full({}, 1.f)), onnx::tensor_data("times", full<std::int64_t>({}, 3))});
  model.graph.outputs.push_back({.name = "all", .type = DataType::float32, .has_shape = false});
  return model;
}
}  // namespace

TEST_CASE("graphs within nodes see the values around them, run again and again, and keep their constants") {
  const models::Onnx<float> net(doubling());
  for (const float start : {1.f, 7.f}) {
    const auto outputs = net.run({{"x", from({{start, 2}})}});
    const double steps = start == 1 ? 3 : 2, factor = std::pow(2, steps);  // 28 is above 20, 8 is not
    CHECK_CLOSE(outputs.get<float>("y"), {{1, 2}, {static_cast<double>(start) * factor, 2 * factor}});
    CHECK(outputs.get<float>("all").shape() == Shape{static_cast<std::int64_t>(steps), 1, 2});
  }
  const auto copy = net.clone();  // the constants of the body travel along
  CHECK_CLOSE(copy.run({{"x", from({{1, 2}})}}).get<float>("y"), {{1, 2}, {8, 16}});

  // Branches may use one name for their values, and return a value of the graph around.
  const onnx::Graph then{.name = "then",
                         .nodes = {{.op_type = "Neg", .inputs = {"x"}, .outputs = {"r"}}},
                         .outputs = {{"r", DataType::float32}}};
  const onnx::Graph otherwise{.name = "else", .outputs = {{"x", DataType::float32}}};
  const auto choice = model_of(
      {{.op_type = "ReduceSum", .inputs = {"x"}, .outputs = {"s"}, .attributes = {{"keepdims", std::int64_t{0}}}},
       {.op_type = "Less", .inputs = {"s", "zero"}, .outputs = {"c"}},
       {.op_type = "If",
        .inputs = {"c"},
        .outputs = {"r"},
        .attributes = {graph_of("then_branch", then), graph_of("else_branch", otherwise)}},
       {.op_type = "Relu", .inputs = {"r"}, .outputs = {"y"}}},
      {onnx::tensor_data("zero", full({}, 0.f))});
  const models::Onnx<float> absolute(choice);
  CHECK_CLOSE(absolute(from({-3, 1})), {3, 0});
  CHECK_CLOSE(absolute(from({3, 1})), {3, 1});
}

TEST_CASE("graphs within nodes that cannot run are refused") {
  auto model = doubling();
  auto& loop = model.graph.nodes[1];
  auto& body = std::get<onnx::Graphs>(loop.attributes[0].value).list[0];
  body.nodes[0].inputs[1] = "missing";
  CHECK(contains(complaint(model), "(Mul) reads 'missing', which is no input"));
  body.nodes[0].inputs[1] = "y";
  CHECK(contains(complaint(model), "reads 'y', which node 'loop' (Loop) writes later"));
  body.nodes[0].inputs[1] = "scale";
  body.nodes[3].op_type = "Warp";
  CHECK(contains(complaint(model), "does not run these operators: Warp"));
  body.nodes[3].op_type = "Identity";
  body.inputs.pop_back();
  CHECK(contains(complaint(model), "(Mul) reads 'before'"));
  body.inputs.push_back({"before", DataType::float32});
  body.outputs.pop_back();
  CHECK(contains(complaint(model), "node 'loop' (Loop): its graph has 3 inputs and 2 outputs; expected 3 and 3"));
  loop.attributes.clear();
  CHECK(contains(complaint(model), "node 'loop' (Loop) has no graph 'body'"));
  auto never = doubling();
  never.graph.initializers[1] = onnx::tensor_data("times", full<std::int64_t>({}, 0));
  CHECK(contains(message_of<DataError>([&] {
                   (void)models::Onnx<float>(never).run({{"x", from({{1, 2}})}});
                 }),
                 "no iteration, so that the shape of an output is unknown"));
}

TEST_CASE("draws follow their attributes; a seed gives the same numbers again") {
  const auto seeded = [](const char* operation, std::vector<onnx::Attribute> attributes) {
    attributes.push_back({"seed", 3.f});
    return models::Onnx<float>(
        model_of({{.op_type = operation, .inputs = {"x"}, .outputs = {"y"}, .attributes = std::move(attributes)}}));
  };
  const auto x = full({100, 100}, 0.25f);
  const auto uniform = seeded("RandomUniformLike", {{"low", 2.f}, {"high", 4.f}});
  const auto normal = seeded("RandomNormalLike", {{"mean", 5.f}, {"scale", 2.f}});
  const auto bernoulli = seeded("Bernoulli", {});
  CHECK_CLOSE(uniform(x), reference(uniform(x)), 0);
  CHECK((min(uniform(x)).item() >= 2 && max(uniform(x)).item() <= 4));
  CHECK(std::abs(mean(uniform(x)).item() - 3) < 0.03);
  CHECK(std::abs(mean(normal(x)).item() - 5) < 0.1);
  CHECK(std::abs(stddev(normal(x)).item() - 2) < 0.1);
  CHECK(std::abs(mean(bernoulli(x)).item() - 0.25) < 0.02);
  CHECK(max(abs(bernoulli(x) * (1 - bernoulli(x)))).item() == 0);
}

// tests/interop/onnx_nodes_test.py makes the folders, which the file LOCUS_ONNX_CASES lists.
TEST_CASE("cases of the packages of ONNX" * doctest::skip()) {
  const char* const list = std::getenv("LOCUS_ONNX_CASES");
  REQUIRE(list != nullptr);
  std::ifstream folders(list);
  for (std::string folder; std::getline(folders, folder);) {
    const std::string name = folder.substr(folder.find_last_of('/') + 1);
    std::string problem;
    try {
      problem = problem_of_case<Cpu>(folder);
    } catch (const Error& error) {
      problem = error.what();
    }
    std::printf("%s %s%s%s\n", problem.empty() ? "passed" : "failed", name.c_str(), problem.empty() ? "" : ": ",
                problem.c_str());
    std::fflush(stdout);
  }
}
