#pragma once
// A model with inputs and expected outputs, as tests/interop/onnx_nodes_test.py writes it: a folder with model.onnx;
// data.onnx, whose initial values "in:NAME" and "out:NAME" are the inputs and the outputs; and tolerances.

#include <locus/models/onnx.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace locus_test {
using namespace locus;

template <class D>
models::OnnxInput<float, D> input_of(const std::string& name, const onnx::TensorData& data) {
  switch (data.type) {
    case onnx::DataType::uint8: return {name, onnx::tensor_of<std::uint8_t>(data).template to<D>()};
    case onnx::DataType::int8: return {name, onnx::tensor_of<std::int8_t>(data).template to<D>()};
    case onnx::DataType::uint16: return {name, onnx::tensor_of<std::uint16_t>(data).template to<D>()};
    case onnx::DataType::int16: return {name, onnx::tensor_of<std::int16_t>(data).template to<D>()};
    case onnx::DataType::uint32: return {name, onnx::tensor_of<std::uint32_t>(data).template to<D>()};
    case onnx::DataType::int32: return {name, onnx::tensor_of<std::int32_t>(data).template to<D>()};
    case onnx::DataType::uint64: return {name, onnx::tensor_of<std::uint64_t>(data).template to<D>()};
    case onnx::DataType::int64: return {name, onnx::tensor_of<std::int64_t>(data).template to<D>()};
    case onnx::DataType::boolean: return {name, onnx::tensor_of<bool>(data).template to<D>()};
    default: return {name, onnx::tensor_as<float>(data).template to<D>()};
  }
}

/// "" if the tensors agree.
inline std::string difference(const nn::StateDict<Cpu>::Entry& given, const onnx::TensorData& expected, double rtol,
                              double atol) {
  if (given.shape != Shape(expected.shape)) return join("shape ", given.shape, "; expected ", Shape(expected.shape));
  const bool is_floating = onnx::detail::is_floating(expected.type);
  if (!is_floating && onnx::data_type(given.type) != expected.type)
    return join(dtype_name(given.type), "; expected ", to_string(expected.type));
  const onnx::TensorData result{"result", onnx::data_type(given.type), expected.shape, given.bytes, {}};
  if (!is_floating && expected.type != onnx::DataType::boolean) {
    const auto a = onnx::tensor_as<std::int64_t>(result), b = onnx::tensor_as<std::int64_t>(expected);
    for (std::int64_t i = 0; i < a.elements(); ++i)
      if (a.data()[i] != b.data()[i]) return join("element ", i, " is ", a.data()[i], "; expected ", b.data()[i]);
    return "";
  }
  if (expected.type == onnx::DataType::bfloat16)  // all values are rounded there
    rtol = std::max(rtol, 1.0 / 128), atol = std::max(atol, 1.0 / 512);
  const auto a = onnx::tensor_as<double>(result), b = onnx::tensor_as<double>(expected);
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.data()[i], y = b.data()[i];
    const bool agrees = std::isnan(y) ? std::isnan(x) : x == y || std::abs(x - y) <= atol + rtol * std::abs(y);
    if (!agrees) return join("element ", i, " is ", x, "; expected ", y);
  }
  return "";
}

/// How the outputs differ from the expected ones, or why the model does not run; "" if they agree.
template <class D>
std::string problem_of_case(const std::string& folder) {
  const onnx::Model data = onnx::read_onnx(folder + "/data.onnx");
  double rtol = 0, atol = 0;
  std::ifstream(folder + "/tolerances") >> rtol >> atol;
  const auto net = models::load_onnx<float, D>(folder + "/model.onnx");
  std::vector<models::OnnxInput<float, D>> inputs;
  for (const onnx::TensorData& tensor : data.graph.initializers)
    if (tensor.name.starts_with("in:")) inputs.push_back(input_of<D>(tensor.name.substr(3), tensor));
  const nn::StateDict<D> results = net.run(inputs);
  int compared = 0, expected = 0;
  for (const onnx::TensorData& tensor : data.graph.initializers) {
    expected += tensor.name.starts_with("out:");
    for (const auto& result : results) {
      if (tensor.name != "out:" + result.name) continue;
      const nn::StateDict<Cpu>::Entry on_host{result.name, result.type, result.shape, result.bytes.template to<Cpu>()};
      const std::string problem = difference(on_host, tensor, rtol, atol);
      if (!problem.empty()) return result.name + " has " + problem;
      ++compared;
    }
  }
  return compared > 0 && compared == expected ? "" : join(compared, " of ", expected, " outputs were compared");
}

}  // namespace locus_test
