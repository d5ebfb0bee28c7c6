#pragma once
// An ONNX model in memory, as plain data: graphs, nodes, attributes, initial values. onnx/file.hpp reads and writes it.

#include <locus/core/element_type.hpp>
#include <locus/core/printable.hpp>
#include <locus/tensor/copy.hpp>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace onnx {

/// The element type of a tensor in a file, with the numbers of TensorProto.DataType. Numbers that are not named here
/// are kept as they are; element_type() refuses them.
enum class DataType : std::int32_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16
};

namespace detail {
struct TypePair {
  DataType file;
  ElementType element;
};
inline constexpr TypePair type_pairs[] = {
    {DataType::float32, ElementType::float32}, {DataType::float64, ElementType::float64},
    {DataType::float16, ElementType::float16}, {DataType::bfloat16, ElementType::bfloat16},
    {DataType::int8, ElementType::int8},       {DataType::int16, ElementType::int16},
    {DataType::int32, ElementType::int32},     {DataType::int64, ElementType::int64},
    {DataType::uint8, ElementType::uint8},     {DataType::uint16, ElementType::uint16},
    {DataType::uint32, ElementType::uint32},   {DataType::uint64, ElementType::uint64},
    {DataType::boolean, ElementType::boolean}};
/// Whether Locus has floating-point numbers of this type.
[[nodiscard]] constexpr bool is_floating(DataType type) {
  return type == DataType::float32 || type == DataType::float64 || type == DataType::float16 ||
         type == DataType::bfloat16;
}
}  // namespace detail

/// Whether Locus has tensors of this type.
[[nodiscard]] constexpr bool has_element_type(DataType type) {
  for (const auto& pair : detail::type_pairs)
    if (pair.file == type) return true;
  return false;
}
/// ONNX's name of the type in lower case, such as "float32"; "type 17" for a number without a name.
[[nodiscard]] inline std::string to_string(DataType type) {
  for (const auto& pair : detail::type_pairs)
    if (pair.file == type) return std::string(dtype_name(pair.element));
  if (type == DataType::string) return "string";
  return join("type ", static_cast<std::int32_t>(type));
}
/// throws DataError for a type of which Locus has no tensors
[[nodiscard]] inline ElementType element_type(DataType type) {
  for (const auto& pair : detail::type_pairs)
    if (pair.file == type) return pair.element;
  fail<DataError>({"ONNX: elements of ", to_string(type), ", of which Locus has no tensors"});
}
[[nodiscard]] constexpr DataType data_type(ElementType type) {
  for (const auto& pair : detail::type_pairs)
    if (pair.element == type) return pair.file;
  return DataType::undefined;
}
template <DType T>
[[nodiscard]] constexpr DataType data_type() {
  return data_type(locus::element_type<T>);
}

/// A tensor of a file: an initial value or an attribute. The bytes are in row-major order and little-endian; tensors
/// read from a file refer to its mapped memory where they can.
struct TensorData {
  std::string name = {};
  DataType type = DataType::undefined;
  std::vector<std::int64_t> shape = {};  ///< of any rank
  Tensor<std::uint8_t, Cpu> bytes = {};
  std::vector<std::string> strings = {};  ///< the elements, if type is string
};

namespace detail {
/// The number of elements. throws DataError for a negative extent, and for a product of 2^63 or more
[[nodiscard]] inline std::uint64_t element_count(const std::string& what, const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  bool overflows = false, is_empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) fail<DataError>({what, ": extent ", extent, " in its shape; expected 0 or more"});
    overflows |= __builtin_mul_overflow(count, extent, &count);
    is_empty |= extent == 0;
  }
  if (overflows && !is_empty) fail<DataError>({what, ": its shape has more than 2^63 elements"});
  return is_empty ? 0 : static_cast<std::uint64_t>(count);
}
[[nodiscard]] inline std::string name_of(const TensorData& tensor) {
  return join("ONNX tensor '", locus::detail::printable(tensor.name), "'");
}
/// throws DataError
[[nodiscard]] inline Shape shape_of(const TensorData& tensor) {
  if (tensor.shape.size() > static_cast<std::size_t>(max_rank))
    fail<DataError>({name_of(tensor), " has ", tensor.shape.size(), " dimensions; expected at most ", max_rank});
  return Shape(tensor.shape);
}
}  // namespace detail

/// A dense tensor's data under a name. The bytes are shared, not copied, if the tensor is contiguous.
template <DType T>
[[nodiscard]] TensorData tensor_data(std::string_view name, const Tensor<T, Cpu>& tensor) {
  const Tensor<T, Cpu> dense = tensor.contiguous();
  const auto count = static_cast<std::size_t>(dense.elements()) * sizeof(T);
  auto* const data = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(dense.data()));
  const Shape flat{static_cast<std::int64_t>(count)};
  return {.name = std::string(name),
          .type = data_type<T>(),
          .shape = {dense.shape().begin(), dense.shape().end()},
          .bytes = Tensor<std::uint8_t, Cpu>(dense.buffer().part(data, count), data, flat, row_major(flat))};
}

/// The tensor that the data holds: a view of its bytes where they are aligned to T, a copy elsewhere.
/// throws DataError for data of another type, of more than eight dimensions, of another size than its shape has, and
/// for bool of other bytes than 0 and 1
template <DType T>
[[nodiscard]] Tensor<T, Cpu> tensor_of(const TensorData& data) {
  if (data.type != data_type<T>())
    fail<DataError>({detail::name_of(data), " holds ", to_string(data.type), "; expected ", dtype_name<T>()});
  const Shape shape = detail::shape_of(data);
  const auto bytes = detail::element_count(detail::name_of(data), data.shape) * sizeof(T);
  if (bytes != static_cast<std::uint64_t>(data.bytes.elements()))
    fail<DataError>(
        {detail::name_of(data), " of shape ", shape, " has ", data.bytes.elements(), " bytes; expected ", bytes});
  data.bytes.buffer().require_readable();
  if constexpr (std::is_same_v<T, bool>)
    for (const std::uint8_t* byte = data.bytes.data(); byte != data.bytes.data() + bytes; ++byte)
      if (*byte > 1) fail<DataError>({detail::name_of(data), " of bool holds other bytes than 0 and 1"});
  auto* const begin = const_cast<std::uint8_t*>(data.bytes.data());
  if (bytes > 0 && reinterpret_cast<std::uintptr_t>(begin) % alignof(T) == 0)
    return Tensor<T, Cpu>(data.bytes.buffer().part(begin, bytes), reinterpret_cast<T*>(begin), shape, row_major(shape));
  Tensor<T, Cpu> copy(shape);
  if (bytes > 0) std::memcpy(copy.data(), begin, bytes);
  return copy;
}

namespace detail {
template <class To, class From>
[[nodiscard]] Tensor<To, Cpu> converted(const TensorData& data) {
  const Tensor<From, Cpu> given = tensor_of<From>(data);
  if constexpr (std::is_same_v<To, From>) {
    return given;
  } else {
    Tensor<To, Cpu> result(given.shape());
    for (std::int64_t i = 0; i < given.elements(); ++i) result.data()[i] = convert<To>(given.data()[i]);
    return result;
  }
}
}  // namespace detail

/// The tensor that the data holds, its elements converted to To, from any type of Locus. Otherwise as tensor_of.
template <DType To>
[[nodiscard]] Tensor<To, Cpu> tensor_as(const TensorData& data) {
  switch (element_type(data.type)) {
    case ElementType::float32: return detail::converted<To, float>(data);
    case ElementType::float64: return detail::converted<To, double>(data);
    case ElementType::float16: return detail::converted<To, half>(data);
    case ElementType::bfloat16: return detail::converted<To, bfloat16>(data);
    case ElementType::int8: return detail::converted<To, std::int8_t>(data);
    case ElementType::int16: return detail::converted<To, std::int16_t>(data);
    case ElementType::int32: return detail::converted<To, std::int32_t>(data);
    case ElementType::int64: return detail::converted<To, std::int64_t>(data);
    case ElementType::uint8: return detail::converted<To, std::uint8_t>(data);
    case ElementType::uint16: return detail::converted<To, std::uint16_t>(data);
    case ElementType::uint32: return detail::converted<To, std::uint32_t>(data);
    case ElementType::uint64: return detail::converted<To, std::uint64_t>(data);
    case ElementType::boolean: return detail::converted<To, bool>(data);
    case ElementType::complex64:
    case ElementType::complex128: break;  // tensor_of refuses them
  }
  fail<DataError>({detail::name_of(data), " holds elements of an unknown type"});
}

struct Graph;
/// Graphs in an attribute: the branches of If, the body of Loop.
struct Graphs {
  std::vector<Graph> list;
  bool is_list = false;  ///< the attribute's type is GRAPHS, not GRAPH

  Graphs();
  explicit Graphs(std::vector<Graph> graphs, bool are_list = false);
  Graphs(const Graphs& other);
  Graphs(Graphs&& other) noexcept;
  Graphs& operator=(const Graphs& other);
  Graphs& operator=(Graphs&& other) noexcept;
  ~Graphs();
};
/// An attribute as it is in the file, of a type that is not named here.
struct EncodedAttribute {
  std::string bytes = {};  ///< the whole AttributeProto
};

using AttributeValue =
    std::variant<std::int64_t, float, std::string, TensorData, std::vector<std::int64_t>, std::vector<float>,
                 std::vector<std::string>, std::vector<TensorData>, Graphs, EncodedAttribute>;

struct Attribute {
  std::string name = {};
  AttributeValue value = {};
};

/// An operation. An empty name among `inputs` or `outputs` is an optional one that is not there.
struct Node {
  std::string op_type = {};
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  std::vector<Attribute> attributes = {};
  std::string name = {};
  std::string domain = {};  ///< empty: ai.onnx
  std::string rest = {};    ///< encoded fields that are not named here, such as the documentation; written back
};

/// An extent of a shape: a number, a symbol such as "batch", or, if it has neither, unknown.
struct Dimension {
  std::int64_t extent = -1;  ///< -1: not a number
  std::string symbol = {};

  Dimension() = default;
  Dimension(std::int64_t number) : extent(number) {}
  Dimension(const char* name) : symbol(name) {}
  Dimension(std::string name) : symbol(std::move(name)) {}
};

/// An input, an output or an intermediate value: its name, type and shape.
struct ValueInfo {
  std::string name = {};
  DataType type = DataType::undefined;
  std::vector<Dimension> shape = {};
  bool has_shape = true;   ///< false: of any rank
  std::string rest = {};   ///< encoded fields that are not named here; written back
  std::string other = {};  ///< the encoded TypeProto of a value that is no tensor, such as a sequence; written back
};

struct Graph {
  std::string name = {};
  std::vector<Node> nodes = {};  ///< each after the nodes whose outputs it reads
  std::vector<TensorData> initializers = {};
  std::vector<ValueInfo> inputs = {};
  std::vector<ValueInfo> outputs = {};
  std::vector<ValueInfo> values = {};  ///< types of intermediate values; may be empty
  std::string rest = {};               ///< encoded fields that are not named here; written back
};

// Here, where a Graph is complete.
inline Graphs::Graphs() = default;
inline Graphs::Graphs(std::vector<Graph> graphs, bool are_list) : list(std::move(graphs)), is_list(are_list) {}
inline Graphs::Graphs(const Graphs& other) = default;
inline Graphs::Graphs(Graphs&& other) noexcept = default;
inline Graphs& Graphs::operator=(const Graphs& other) = default;
inline Graphs& Graphs::operator=(Graphs&& other) noexcept = default;
inline Graphs::~Graphs() = default;

/// A set of operators that a model uses, and its version. The domain of ONNX's own operators is empty.
struct OperatorSet {
  std::string domain = {};
  std::int64_t version = 0;
};

struct Metadata {
  std::string key = {};
  std::string value = {};
};

/// A whole model.
///
///     onnx::Model model{.graph = {.name = "double",
///                                 .nodes = {{.op_type = "Add", .inputs = {"x", "x"}, .outputs = {"y"}}},
///                                 .inputs = {{"x", onnx::DataType::float32, {"batch", 8}}},
///                                 .outputs = {{"y", onnx::DataType::float32, {"batch", 8}}}}};
///     onnx::write_onnx("double.onnx", model);
struct Model {
  std::int64_t ir_version = 8;
  std::vector<OperatorSet> operator_sets = {{"", 17}};
  std::string producer_name = "locus";
  std::string producer_version = {};
  std::string domain = {};
  std::int64_t model_version = 0;
  Graph graph = {};
  std::vector<Metadata> metadata = {};
  std::string rest = {};  ///< encoded fields that are not named here, such as local functions; written back
};

/// The attribute of this name, as T; null if the node has none, or one of another type.
template <class T>
[[nodiscard]] const T* find_attribute(const Node& node, std::string_view name) {
  for (const Attribute& attribute : node.attributes)
    if (attribute.name == name) return std::get_if<T>(&attribute.value);
  return nullptr;
}

}}}  // namespace locus::LOCUS_ABI::onnx
