#pragma once
// Encoding a model as the messages of an ONNX file.

#include <locus/interop/onnx/graph.hpp>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

using Out = protozero::pbf_writer;

/// Tensors of a model that are written to a file beside it.
struct ExternalPart {
  std::string name = {};  ///< of the file, in the model's folder; empty: all tensors are in the model's file
  std::uint64_t at_least = 0;
  std::uint64_t written = 0;
  std::vector<std::string_view> parts = {};
};

inline void write_pair(Out& out, protozero::pbf_tag_type tag, std::string_view key, std::string_view value) {
  Out entry(out, tag);
  entry.add_string(1, key.data(), key.size());
  entry.add_string(2, value.data(), value.size());
}
inline void add_if_any(Out& out, protozero::pbf_tag_type tag, const std::string& text) {
  if (!text.empty()) out.add_string(tag, text);
}

class ModelWriter {
 public:
  explicit ModelWriter(ExternalPart& external) : external_(external) {}

  [[nodiscard]] std::string write(const Model& model) {
    std::string text;
    Out out(text);
    out.add_int64(1, model.ir_version);
    add_if_any(out, 2, model.producer_name);
    add_if_any(out, 3, model.producer_version);
    add_if_any(out, 4, model.domain);
    if (model.model_version != 0) out.add_int64(5, model.model_version);
    {
      Out graph(out, 7);
      write_graph(graph, model.graph);
    }
    for (const OperatorSet& set : model.operator_sets) {
      Out entry(out, 8);
      entry.add_string(1, set.domain);
      entry.add_int64(2, set.version);
    }
    for (const Metadata& entry : model.metadata) write_pair(out, 14, entry.key, entry.value);
    return text + model.rest;
  }

 private:
  /// Appends fields that were kept encoded.
  static void append(Out& out, const std::string& rest) {
    for (protozero::pbf_reader fields(rest); fields.next();) {
      const auto tag = fields.tag();  // before the value is read, which forgets it
      switch (fields.wire_type()) {
        case protozero::pbf_wire_type::varint: out.add_uint64(tag, fields.get_uint64()); break;
        case protozero::pbf_wire_type::fixed32: out.add_fixed32(tag, fields.get_fixed32()); break;
        case protozero::pbf_wire_type::fixed64: out.add_fixed64(tag, fields.get_fixed64()); break;
        default: {
          const auto view = fields.get_view();
          out.add_bytes(tag, view.data(), view.size());
        }
      }
    }
  }

  void write_graph(Out& out, const Graph& graph) {
    for (const Node& node : graph.nodes) {
      Out message(out, 1);
      write_node(message, node);
    }
    out.add_string(2, graph.name);  // always: a message without fields would be left out
    for (const TensorData& tensor : graph.initializers) {
      Out message(out, 5);
      write_tensor(message, tensor, true);
    }
    for (const auto& [tag, list] : {std::pair(11, &graph.inputs), {12, &graph.outputs}, {13, &graph.values}})
      for (const ValueInfo& info : *list) {
        Out message(out, static_cast<protozero::pbf_tag_type>(tag));
        write_value_info(message, info);
      }
    append(out, graph.rest);
  }
  void write_node(Out& out, const Node& node) {
    for (const auto& input : node.inputs) out.add_string(1, input);
    for (const auto& output : node.outputs) out.add_string(2, output);
    add_if_any(out, 3, node.name);
    out.add_string(4, node.op_type);
    for (const Attribute& attribute : node.attributes) {
      if (const auto* encoded = std::get_if<EncodedAttribute>(&attribute.value)) {
        out.add_bytes(5, encoded->bytes);
        continue;
      }
      Out message(out, 5);
      message.add_string(1, attribute.name);
      std::visit([&](const auto& value) { write_value(message, value); }, attribute.value);
    }
    add_if_any(out, 7, node.domain);
    append(out, node.rest);
  }

  // The values of attributes, and their types, field 20.
  void write_value(Out& out, float value) { out.add_float(2, value), out.add_int32(20, 1); }
  void write_value(Out& out, std::int64_t value) { out.add_int64(3, value), out.add_int32(20, 2); }
  void write_value(Out& out, const std::string& value) { out.add_bytes(4, value), out.add_int32(20, 3); }
  void write_value(Out& out, const TensorData& value) {
    {
      Out message(out, 5);
      write_tensor(message, value, false);
    }
    out.add_int32(20, 4);
  }
  void write_value(Out& out, const Graphs& value) {
    for (const Graph& graph : value.list) {
      Out message(out, value.is_list ? 11 : 6);
      write_graph(message, graph);
    }
    out.add_int32(20, value.is_list ? 10 : 5);
  }
  void write_value(Out& out, const std::vector<float>& values) {
    for (const float value : values) out.add_float(7, value);  // not packed: the format is proto2
    out.add_int32(20, 6);
  }
  void write_value(Out& out, const std::vector<std::int64_t>& values) {
    for (const std::int64_t value : values) out.add_int64(8, value);
    out.add_int32(20, 7);
  }
  void write_value(Out& out, const std::vector<std::string>& values) {
    for (const auto& value : values) out.add_bytes(9, value);
    out.add_int32(20, 8);
  }
  void write_value(Out& out, const std::vector<TensorData>& values) {
    for (const TensorData& value : values) {
      Out message(out, 10);
      write_tensor(message, value, false);
    }
    out.add_int32(20, 9);
  }
  void write_value(Out&, const EncodedAttribute&) {}

  void write_tensor(Out& out, const TensorData& tensor, bool may_be_external) {
    out.add_packed_int64(1, tensor.shape.begin(), tensor.shape.end());
    out.add_int32(2, static_cast<std::int32_t>(tensor.type));
    for (const auto& text : tensor.strings) out.add_bytes(6, text);
    add_if_any(out, 8, tensor.name);
    if (tensor.type == DataType::string) return;
    tensor.bytes.buffer().require_readable();
    const auto count = static_cast<std::uint64_t>(tensor.bytes.elements());
    const auto* const data = reinterpret_cast<const char*>(tensor.bytes.data());
    if (!may_be_external || external_.name.empty() || count < external_.at_least) return out.add_bytes(9, data, count);
    align_external();
    write_pair(out, 13, "location", external_.name);
    write_pair(out, 13, "offset", std::to_string(external_.written));
    write_pair(out, 13, "length", std::to_string(count));
    out.add_int32(14, 1);
    external_.parts.emplace_back(data, count);
    external_.written += count;
  }
  /// Begins the next external tensor at a multiple of 64 bytes, so that mapped elements are aligned.
  void align_external() {
    static constexpr char zeros[64] = {};
    const std::uint64_t missing = (64 - external_.written % 64) % 64;
    if (missing > 0) external_.parts.emplace_back(zeros, missing);
    external_.written += missing;
  }

  /// protozero leaves out messages that are begun and get no field, but not those that are added.
  static void write_shape(Out& tensor, const std::vector<Dimension>& dimensions) {
    if (dimensions.empty()) return tensor.add_message(2, "", 0);
    Out shape(tensor, 2);
    for (const Dimension& dimension : dimensions) {
      if (dimension.extent < 0 && dimension.symbol.empty()) {
        shape.add_message(1, "", 0);
        continue;
      }
      Out message(shape, 1);
      if (dimension.extent >= 0) message.add_int64(1, dimension.extent);
      else message.add_string(2, dimension.symbol);
    }
  }
  void write_value_info(Out& out, const ValueInfo& info) {
    out.add_string(1, info.name);
    if (!info.other.empty()) {
      out.add_bytes(2, info.other);
    } else if (info.type != DataType::undefined || info.has_shape) {
      Out type(out, 2);
      Out tensor(type, 1);
      tensor.add_int32(1, static_cast<std::int32_t>(info.type));
      if (info.has_shape) write_shape(tensor, info.shape);
    }
    append(out, info.rest);
  }

  ExternalPart& external_;
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
