#pragma once
// Models of ONNX files, run by Locus's functions.

#include <locus/interop/onnx/file.hpp>
#include <locus/interop/onnx/run.hpp>
#include <locus/nn/layer.hpp>
#include <locus/nn/state_dict.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace models {

/// A named input of Onnx<T, D>::run: a tensor of any element type on D. Numbers are converted to T, integers to int64.
template <class T, class D>
struct OnnxInput {
  std::string name;
  onnx::detail::Value<Tensor<T, D>> value;

  template <DType U>
  OnnxInput(std::string its_name, const Tensor<U, D>& x) : name(std::move(its_name)), value(value_of_input(x)) {}

#include <locus/refuse/models/onnx_input_class.inc>

 private:
  template <class U>
  [[nodiscard]] static onnx::detail::Value<Tensor<T, D>> value_of_input(const Tensor<U, D>& x) {
    if constexpr (FloatingDType<U>) return {onnx::data_type<U>(), x.template as<T>()};
    else if constexpr (std::is_same_v<U, bool>) return {onnx::data_type<U>(), x};
    else return {onnx::data_type<U>(), x.template as<std::int64_t>()};
  }
};

/// A network that an ONNX file describes. The file's floating-point tensors of every type become T; initial values are
/// parameters under their names, and statistics of batch norms, single numbers and bounds are buffers. A call with a
/// plain tensor is inference; a call with a traced one records, for fine-tuning. Batch norms use the file's statistics
/// in both. Integers and bools are computed on the host while they follow from shapes and constants, and on D where
/// they meet values on D: the type of a value decides, as `docs/onnx.md` explains.
/// cost: the operations of each node; an intermediate value is released after its last use
///
///     auto net = models::load_onnx<float, Cuda>("net.onnx");
///     auto scores = net(images);
///     auto outputs = net.run({{"ids", ids}, {"mask", mask}});
///     auto logits = outputs.get<float>("logits");
template <class T, class D = Cpu>
class Onnx final : public nn::Layer<Onnx<T, D>, T, D> {
  template <class F>
  using Values = std::vector<onnx::detail::Value<F>>;

 public:
  using input_type = T;

  /// Initial values of T on the host share the memory of `model` where they are aligned: train a clone() to keep it.
  /// throws DataError for a graph that cannot be run, naming all operators that Locus lacks; OutOfMemory
  explicit Onnx(const onnx::Model& model, D device = {}) : Onnx(model, device, "ONNX model") {}

  /// The names, types and shapes of the inputs; initial values are none of them.
  [[nodiscard]] const std::vector<onnx::ValueInfo>& inputs() const { return plan_->inputs; }
  [[nodiscard]] const std::vector<onnx::ValueInfo>& outputs() const { return plan_->outputs; }

  /// The output of a network with one input and one output, both of floating-point numbers.
  /// throws ArgumentError for another network; ShapeError, ArgumentError and IndexError as the operations do, which
  /// begin with the node
  [[nodiscard]] Tensor<T, D> forward(const Tensor<T, D>& x) const { return apply_to(x); }
  [[nodiscard]] Traced<T, D> forward(const Traced<T, D>& x) const { return apply_to(x); }

  /// All outputs by name, of any number of inputs. Outputs have the types that the file states, floating-point ones T.
  /// throws ArgumentError for an input that is missing, given twice, unknown or of another type; otherwise as forward
  [[nodiscard]] nn::StateDict<D> run(const std::vector<OnnxInput<T, D>>& given) const {
    auto values = start<Tensor<T, D>>();
    D device = this->device();
    for (const OnnxInput<T, D>& input : given) {
      const std::size_t i = require_input(input);
      auto& value = values[static_cast<std::size_t>(plan_->input_values[i])];
      if (value.defined()) fail<ArgumentError>({"Onnx::run: input '", input.name, "' is given twice"});
      value = input.value;
      if (const auto* numbers = value.numbers()) device = numbers->device();
    }
    for (std::size_t i = 0; i < plan_->inputs.size(); ++i)
      if (!values[static_cast<std::size_t>(plan_->input_values[i])].defined())
        fail<ArgumentError>({"Onnx::run: input '", locus::detail::printable(plan_->inputs[i].name),
                             "' is missing; expected ", input_names()});
    onnx::detail::run_steps(plan_->steps, plan_->opset, values, device);
    nn::StateDict<D> result;
    for (std::size_t i = 0; i < plan_->outputs.size(); ++i)
      add_output(result, plan_->outputs[i].name, values[static_cast<std::size_t>(plan_->output_values[i])], device);
    return result;
  }

  void members(const auto& visit) const {
    for (const Named<Parameter<T, D>>& each : parameters_) visit(name_of(each), each.tensor);
    for (const Named<nn::Buffer<T, D>>& each : buffers_) visit(name_of(each), each.tensor);
  }
  /// A copy for U on E, with parameters and buffers of its own.
  template <class U, class E, class... Own>
  [[nodiscard]] Onnx<U, E> copied(nn::detail::ModelCopy<T, D, U, E, Own...>& copy) const {
    nn::detail::require_present(*this);
    Onnx<U, E> result(plan_);
    for (const auto& each : parameters_) result.parameters_.push_back({each.value, copy(each.tensor), each.type});
    for (const auto& each : buffers_)
      result.buffers_.push_back({each.value, copy.template buffer<U>(each.tensor), each.type});
    for (const auto& each : integers_)
      result.integers_.push_back(
          {each.value, onnx::detail::Placed<std::int64_t, E>(each.tensor.host(), result.device()), each.type});
    for (const auto& each : bools_)
      result.bools_.push_back(
          {each.value, onnx::detail::Placed<bool, E>(each.tensor.host(), result.device()), each.type});
    return result;
  }

 private:
  template <class, class>
  friend class Onnx;
  template <class X, class E>
  friend Onnx<X, E> load_onnx(const std::string& path, E device);

  /// A constant of the plan: the number of its value.
  template <class X>
  struct Named {
    int value;
    X tensor;
    onnx::DataType type;
  };

  explicit Onnx(Shared<const onnx::detail::Plan> plan) : plan_(std::move(plan)) {}
  Onnx(const onnx::Model& model, D device, const std::string& what) {
    const auto planned = onnx::detail::PlanMaker(model, what).make();
    plan_ = planned.plan;
    for (std::size_t i = 0; i < planned.constants.size(); ++i) {
      const onnx::TensorData& data = planned.constants[i];
      const int value = plan_->constant_values[i];
      if (data.type == onnx::DataType::boolean)
        bools_.push_back({value, onnx::detail::Placed<bool, D>(onnx::tensor_of<bool>(data), device), data.type});
      else if (!onnx::detail::is_floating(data.type))
        integers_.push_back(
            {value, onnx::detail::Placed<std::int64_t, D>(onnx::tensor_as<std::int64_t>(data), device), data.type});
      else if (Tensor<T, D> tensor = onnx::tensor_as<T>(data).template to<D>(device); plan_->is_buffer[i])
        buffers_.push_back({value, nn::Buffer<T, D>(std::move(tensor)), data.type});
      else parameters_.push_back({value, Parameter<T, D>(std::move(tensor)), data.type});
    }
  }

  [[nodiscard]] const std::string& name_of(const auto& each) const {
    return plan_->names[static_cast<std::size_t>(each.value)];
  }
  [[nodiscard]] D device() const {
    if (!parameters_.empty()) return parameters_.front().tensor.device();
    return buffers_.empty() ? D{} : buffers_.front().tensor.value().device();
  }
  /// All values before the first step: constants alone are there.
  template <class F>
  [[nodiscard]] Values<F> start() const {
    nn::detail::require_present(*this);
    Values<F> values(plan_->names.size());
    const auto set = [&](const auto& each, auto value) {
      values[static_cast<std::size_t>(each.value)] = onnx::detail::Value<F>(each.type, std::move(value));
    };
    for (const auto& each : parameters_) {
      if constexpr (F::role == Role::traced) set(each, trace(each.tensor));
      else set(each, each.tensor.value());
    }
    for (const auto& each : buffers_) set(each, F(onnx::detail::Call<F>::handle(each.tensor.value())));
    for (const auto& each : integers_) set(each, each.tensor);
    for (const auto& each : bools_) set(each, each.tensor);
    return values;
  }
  template <class F>
  [[nodiscard]] F apply_to(const F& x) const {
    if (plan_->inputs.size() != 1 || plan_->outputs.size() != 1)
      fail<ArgumentError>({"Onnx: a call takes one input and returns one output; this network has ",
                           plan_->inputs.size(), " inputs and ", plan_->outputs.size(), " outputs (", input_names(),
                           "): use run({{\"name\", tensor}, ...})"});
    if (!onnx::detail::is_floating(plan_->inputs[0].type))
      fail<ArgumentError>({"Onnx: the input is of ", to_string(plan_->inputs[0].type),
                           "; a call takes floating-point numbers: use run({{\"name\", tensor}})"});
    auto values = start<F>();
    values[static_cast<std::size_t>(plan_->input_values[0])] = onnx::detail::Value<F>(plan_->inputs[0].type, x);
    onnx::detail::run_steps(plan_->steps, plan_->opset, values, x.device());
    const auto& result = values[static_cast<std::size_t>(plan_->output_values[0])];
    if (!result.numbers())
      fail<ArgumentError>({"Onnx: the output is of ", to_string(result.type()),
                           "; a call returns floating-point numbers: use run({{\"name\", tensor}})"});
    return *result.numbers();
  }

  [[nodiscard]] std::string input_names() const {
    locus::detail::NameList names;
    for (const auto& input : plan_->inputs) names.add(input.name);
    return names.text();
  }
  [[nodiscard]] std::size_t require_input(const OnnxInput<T, D>& given) const {
    for (std::size_t i = 0; i < plan_->inputs.size(); ++i) {
      const onnx::ValueInfo& expected = plan_->inputs[i];
      if (expected.name != given.name) continue;
      const bool agrees = given.value.type() == expected.type ||
                          (onnx::detail::is_floating(given.value.type()) && onnx::detail::is_floating(expected.type));
      if (!agrees)
        fail<ArgumentError>({"Onnx::run: input '", given.name, "' holds ", to_string(given.value.type()), "; expected ",
                             to_string(expected.type)});
      return i;
    }
    fail<ArgumentError>(
        {"Onnx::run: there is no input '", locus::detail::printable(given.name), "'; expected ", input_names()});
  }
  static void add_output(nn::StateDict<D>& result, const std::string& name,
                         const onnx::detail::Value<Tensor<T, D>>& value, D device) {
    if (const auto* numbers = value.numbers()) return result.add(name, *numbers);
    if (const auto* bools = value.bools()) return result.add(name, bools->there(device));
    const Tensor<std::int64_t, D>& integers = value.integers()->there(device);
    switch (value.type()) {
      case onnx::DataType::uint8: return result.add(name, integers.template as<std::uint8_t>());
      case onnx::DataType::int8: return result.add(name, integers.template as<std::int8_t>());
      case onnx::DataType::uint16: return result.add(name, integers.template as<std::uint16_t>());
      case onnx::DataType::int16: return result.add(name, integers.template as<std::int16_t>());
      case onnx::DataType::int32: return result.add(name, integers.template as<std::int32_t>());
      case onnx::DataType::uint32: return result.add(name, integers.template as<std::uint32_t>());
      case onnx::DataType::uint64: return result.add(name, integers.template as<std::uint64_t>());
      default: return result.add(name, integers);
    }
  }

  Shared<const onnx::detail::Plan> plan_;
  std::vector<Named<Parameter<T, D>>> parameters_;
  std::vector<Named<nn::Buffer<T, D>>> buffers_;
  std::vector<Named<onnx::detail::Placed<std::int64_t, D>>> integers_;
  std::vector<Named<onnx::detail::Placed<bool, D>>> bools_;
};

/// The network of an ONNX file, on D. Its tensors are mapped, not read, where their type is T and D is the host: see
/// onnx::read_onnx.
/// throws DataError for a file that is missing or malformed, and for a graph that cannot be run, naming all operators
/// and attributes that Locus lacks; OutOfMemory
///
///     auto net = models::load_onnx<float, Cuda>("net.onnx");
template <class T, class D = Cpu>
[[nodiscard]] Onnx<T, D> load_onnx(const std::string& path, D device = {}) {
  return Onnx<T, D>(onnx::read_onnx(path), device, join("cannot run '", path, "'"));
}

}}}  // namespace locus::LOCUS_ABI::models
