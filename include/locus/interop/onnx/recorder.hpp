#pragma once
// The record of one run of a model: its values, the nodes that compute them, and the memory where they lie.

#include <locus/interop/onnx/graph.hpp>
#include <locus/interop/onnx/recording.hpp>
#include <locus/tensor/copy.hpp>
#include <locus/tensor/from_blob.hpp>

#include <initializer_list>
#include <map>

namespace locus { inline namespace LOCUS_ABI { namespace onnx {

class Recorder;

/// A value of the graph that is being recorded: an input, a constant, or the result of a node.
class Value {
 public:
  Value() = default;  ///< an optional input that is left out
  [[nodiscard]] explicit operator bool() const { return number_ >= 0; }
  [[nodiscard]] DataType type() const { return type_; }
  /// The extents in this run. Known of operands; results of node() have none until the operation ends.
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] int rank() const { return shape_.rank(); }

 private:
  friend class Recorder;
  Value(int number, DataType type, const Shape& shape) : number_(number), type_(type), shape_(shape) {}
  int number_ = -1;
  DataType type_ = DataType::undefined;
  Shape shape_;
};

namespace exporting {

/// How a value came about.
enum class Origin {
  input,     ///< of the model
  constant,  ///< a tensor of the model, or a number
  extents,   ///< a list of numbers that may follow from extents of inputs
  node
};
struct RecordedValue {
  Origin origin;
  DataType type;
  Shape shape = {};                        ///< of tensors
  std::string name = {};                   ///< of inputs, and of parameters and buffers
  Tensor<std::uint8_t, Cpu> bytes = {};    ///< of constants
  std::vector<std::int64_t> numbers = {};  ///< of extents
  int reshaped = -1;                       ///< of extents: the value whose elements get them as their shape
  int node = -1;                           ///< of results
};
struct RecordedNode {
  std::string op_type;
  std::vector<int> inputs;   ///< numbers of values; -1: left out
  std::vector<int> outputs;  ///< likewise
  std::vector<Attribute> attributes = {};
};

/// The elements that a tensor has in memory.
struct Place {
  const void* first;
  Shape shape;
  Strides strides;
  DataType type;
  [[nodiscard]] friend bool operator==(const Place&, const Place&) = default;
};
template <class T>
[[nodiscard]] Place place_of(const Tensor<T, Recording>& x) {
  return {x.data(), x.shape(), x.strides(), data_type<T>()};
}

/// The elements of a tensor in row-major order, in its own memory if it is dense.
template <class T>
[[nodiscard]] Tensor<std::uint8_t, Cpu> bytes_on_host(const Tensor<T, Recording>& x) {
  const Tensor<T, Recording> dense = x.contiguous();
  const Shape size{dense.elements() * static_cast<std::int64_t>(sizeof(T))};
  return from_blob(reinterpret_cast<std::uint8_t*>(dense.data()), size, [dense](std::uint8_t*) {});
}

}  // namespace exporting

/// Writes the nodes of operations. A class of your own gets one in to_onnx(recorder, x...), and returns the value of
/// its result:
///
///     onnx::Value to_onnx(onnx::Recorder& graph, const onnx::Value& x) const {
///       return graph.node("Div", {x, graph.node("Add", {graph.number(1, x), graph.node("Abs", {x})})});
///     }
class Recorder {
 public:
  using Inputs = std::initializer_list<Value>;
  using Attributes = std::initializer_list<Attribute>;

  /// The first result of a node of ONNX's own operators, of the first input's type. The names and attributes are
  /// ONNX's; a default-constructed Value is an input that is left out. throws ArgumentError if there are no inputs
  Value node(std::string_view op_type, Inputs inputs, Attributes attributes = {}) {
    if (inputs.size() == 0)
      fail<ArgumentError>({"onnx: node(\"", op_type, "\") without inputs has no element type; use typed_node"});
    return typed_node(op_type, inputs.begin()->type(), inputs, attributes);
  }
  /// A result of another type, as of Cast and comparisons.
  Value typed_node(std::string_view op_type, DataType type, Inputs inputs, Attributes attributes = {}) {
    return typed_node(op_type, type, std::vector<Value>(inputs), attributes);
  }
  Value typed_node(std::string_view op_type, DataType type, const std::vector<Value>& inputs,
                   Attributes attributes = {}) {
    exporting::RecordedNode added{std::string(op_type), {}, {static_cast<int>(values_.size())}};
    for (const Value& input : inputs) added.inputs.push_back(input.number_);
    added.attributes = attributes;
    nodes_.push_back(std::move(added));
    exporting::RecordedValue result{exporting::Origin::node, type};
    result.node = static_cast<int>(nodes_.size()) - 1;
    return value(std::move(result));
  }
  /// The next result of the node that was added last, such as the indices of TopK after its values.
  Value next_result(DataType type) {
    if (nodes_.empty()) fail<ArgumentError>({"onnx: next_result(", to_string(type), ") before any node"});
    exporting::RecordedValue result{exporting::Origin::node, type};
    result.node = static_cast<int>(nodes_.size()) - 1;
    nodes_.back().outputs.push_back(static_cast<int>(values_.size()));
    return value(std::move(result));
  }

  /// A number as a constant without dimensions, of the type of `like`.
  Value number(double number, const Value& like) {
    switch (like.type()) {
      case DataType::float32: return this->number(static_cast<float>(number));
      case DataType::float64: return this->number(number);
      case DataType::float16: return this->number(convert<half>(number));
      case DataType::bfloat16: return this->number(convert<bfloat16>(number));
      case DataType::int32: return this->number(static_cast<std::int32_t>(number));
      case DataType::int64: return this->number(static_cast<std::int64_t>(number));
      default:
        fail<ArgumentError>({"onnx: a number of ", to_string(like.type()), "; write number(T) with the type itself"});
    }
  }
  template <DType T>
  Value number(T number) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof(T));
    const auto [known, is_new] = numbers_.try_emplace({data_type<T>(), bits}, Value());
    if (is_new) {
      const Tensor<T, Recording> x{Shape{}};
      *x.data() = number;
      known->second = value({exporting::Origin::constant, data_type<T>(), {}, {}, exporting::bytes_on_host(x)});
    }
    return known->second;
  }
  /// A list of int64 with one dimension. Numbers that differ with an extent of an input are computed from it.
  Value extents(std::vector<std::int64_t> numbers) { return list(std::move(numbers), -1); }
  Value extents_of(const Shape& shape) { return list({shape.begin(), shape.end()}, -1); }
  /// x under another shape.
  Value reshape(const Value& x, const Shape& shape) {
    return node("Reshape", {x, list({shape.begin(), shape.end()}, x.number_)});
  }
  /// A tensor of the model, or one that is computed already; no value for a tensor without memory.
  template <class T>
  Value operand(const Tensor<T, Recording>& x) {
    if (!x.buffer()) return {};
    const exporting::Place place = exporting::place_of(x);
    if (const Known* known = find(place)) {
      if (known->version != x.version())
        fail<ArgumentError>({"onnx: the model changes a tensor of shape ", place.shape,
                             " in place between two uses; compute a new tensor instead"});
      return known->value;
    }
    return keep(x, place,
                value({exporting::Origin::constant, place.type, place.shape, {}, exporting::bytes_on_host(x)}));
  }
  /// The matrix of which `x` is the transpose, or a node that transposes x.
  Value transposed(const Value& x) {
    const int made_by = values_[static_cast<std::size_t>(x.number_)].node;
    if (made_by >= 0 && nodes_[static_cast<std::size_t>(made_by)].op_type == "Transpose")
      return at(nodes_[static_cast<std::size_t>(made_by)].inputs[0]);
    return this->node("Transpose", {x}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  }

  // The recording itself.

  /// An input of the model; a parameter or buffer, which is read when it is used.
  template <class T>
  void input(std::string name, const Tensor<T, Recording>& x) {
    const exporting::Place place = exporting::place_of(x);
    keep(x, place, value({exporting::Origin::input, place.type, place.shape, std::move(name)}));
  }
  template <class T>
  void member(const std::string& name, const Tensor<T, Recording>& x) {
    if (!x.buffer() || find(exporting::place_of(x))) return;  // absent, or shared by layers
    const Value added = operand(x);
    values_[static_cast<std::size_t>(added.number_)].name = name;
  }
  /// The result of an operation lies in y.
  template <class T>
  void result(const Tensor<T, Recording>& y, Value computed) {
    const exporting::Place place = exporting::place_of(y);
    exporting::RecordedValue& entry = values_[static_cast<std::size_t>(computed.number_)];
    if (entry.origin == exporting::Origin::node) entry.shape = place.shape, entry.type = place.type;
    computed.shape_ = place.shape, computed.type_ = place.type;
    if (!find(place)) keep(y, place, computed);
  }
  template <class T> [[nodiscard]] int number_of(const Tensor<T, Recording>& x) { return operand(x).number_; }
  [[nodiscard]] const std::vector<exporting::RecordedValue>& values() const { return values_; }
  [[nodiscard]] const std::vector<exporting::RecordedNode>& nodes() const { return nodes_; }

 private:
  struct Known {
    exporting::Place place;
    Value value;
    Buffer<Recording> memory;  ///< kept, so that no later tensor lies there
    std::uint32_t version;
  };

  Value value(exporting::RecordedValue added) {
    const Value result(static_cast<int>(values_.size()), added.type, added.shape);
    values_.push_back(std::move(added));
    return result;
  }
  [[nodiscard]] Value at(int number) const {
    const exporting::RecordedValue& entry = values_[static_cast<std::size_t>(number)];
    return {number, entry.type, entry.shape};
  }
  Value list(std::vector<std::int64_t> numbers, int reshaped) {
    const Shape shape{static_cast<std::int64_t>(numbers.size())};
    return value({exporting::Origin::extents, DataType::int64, shape, {}, {}, std::move(numbers), reshaped});
  }
  [[nodiscard]] const Known* find(const exporting::Place& place) const {
    const auto [first, last] = known_.equal_range(place.first);
    for (auto it = first; it != last; ++it)
      if (it->second.place == place) return &it->second;
    return nullptr;
  }
  template <class T>
  Value keep(const Tensor<T, Recording>& x, const exporting::Place& place, const Value& value) {
    known_.emplace(place.first, Known{place, value, x.buffer(), x.version()});
    return value;
  }

  std::vector<exporting::RecordedValue> values_;
  std::vector<exporting::RecordedNode> nodes_;
  std::multimap<const void*, Known> known_;
  std::map<std::pair<DataType, std::uint64_t>, Value> numbers_;  ///< by type and bits
};

namespace exporting {
/// Where this thread records; null: it does not.
inline thread_local Recorder* recorder = nullptr;
}  // namespace exporting

}}}  // namespace locus::LOCUS_ABI::onnx
