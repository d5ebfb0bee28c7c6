#pragma once
// Reading the messages of ONNX files but for tensors.

#include <locus/interop/onnx/tensor_reader.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

class ModelReader {
 public:
  explicit ModelReader(Files& files) : files_(files), tensors_(files) {}

  [[nodiscard]] Model read_model(protozero::data_view bytes) {
    Model model{.ir_version = 0, .operator_sets = {}, .producer_name = {}};
    bool has_graph = false;
    for (Fields fields = of("Model", bytes); fields.next();) {
      switch (fields.tag()) {
        case 1: model.ir_version = fields.integer(); break;
        case 2: model.producer_name = fields.text(); break;
        case 3: model.producer_version = fields.text(); break;
        case 4: model.domain = fields.text(); break;
        case 5: model.model_version = fields.integer(); break;
        case 7:
          model.graph = read_graph(fields.view(), 0);
          has_graph = true;
          break;
        case 8: model.operator_sets.push_back(read_operator_set(fields.view())); break;
        case 14: model.metadata.push_back(read_metadata(fields.view())); break;
        default: fields.skip_to(model.rest);
      }
    }
    if (!has_graph) fail<DataError>({files_.what(), " as ONNX: it has no graph; expected a ModelProto"});
    return model;
  }

 private:
  static constexpr int most_nested = 32;  ///< graphs in attributes of graphs

  [[nodiscard]] Fields of(const char* message, protozero::data_view bytes) const {
    return Fields(files_.what(), message, bytes);
  }
  [[nodiscard]] OperatorSet read_operator_set(protozero::data_view bytes) const {
    OperatorSet set;
    for (Fields fields = of("OperatorSetId", bytes); fields.next();) {
      if (fields.tag() == 1) set.domain = fields.text();
      else if (fields.tag() == 2) set.version = fields.integer();
      else fields.skip();
    }
    if (set.domain == "ai.onnx") set.domain.clear();
    return set;
  }
  [[nodiscard]] Metadata read_metadata(protozero::data_view bytes) const {
    Metadata entry;
    for (Fields fields = of("StringStringEntry", bytes); fields.next();) {
      if (fields.tag() == 1) entry.key = fields.text();
      else if (fields.tag() == 2) entry.value = fields.text();
      else fields.skip();
    }
    return entry;
  }
  [[nodiscard]] Graph read_graph(protozero::data_view bytes, int depth) {
    if (depth > most_nested) fail<DataError>({files_.what(), " as ONNX: graphs are nested deeper than ", most_nested});
    Graph graph;
    for (Fields fields = of("Graph", bytes); fields.next();) {
      switch (fields.tag()) {
        case 1: graph.nodes.push_back(read_node(fields.view(), depth)); break;
        case 2: graph.name = fields.text(); break;
        case 5: graph.initializers.push_back(tensors_.read(fields.view())); break;
        case 11: graph.inputs.push_back(read_value_info(fields.view())); break;
        case 12: graph.outputs.push_back(read_value_info(fields.view())); break;
        case 13: graph.values.push_back(read_value_info(fields.view())); break;
        default: fields.skip_to(graph.rest);
      }
    }
    return graph;
  }
  [[nodiscard]] Node read_node(protozero::data_view bytes, int depth) {
    Node node;
    for (Fields fields = of("Node", bytes); fields.next();) {
      switch (fields.tag()) {
        case 1: node.inputs.push_back(fields.text()); break;
        case 2: node.outputs.push_back(fields.text()); break;
        case 3: node.name = fields.text(); break;
        case 4: node.op_type = fields.text(); break;
        case 5: node.attributes.push_back(read_attribute(fields.view(), depth)); break;
        case 7: node.domain = fields.text(); break;
        default: fields.skip_to(node.rest);
      }
    }
    if (node.domain == "ai.onnx") node.domain.clear();
    return node;
  }
  [[nodiscard]] Attribute read_attribute(protozero::data_view bytes, int depth) {
    // The type comes after the values, so the fields are read into one of each first.
    std::int64_t type = 0, integer = 0;
    float number = 0;
    std::string name, text, other;
    std::vector<std::int64_t> integers;
    std::vector<float> numbers;
    std::vector<std::string> texts;
    std::vector<TensorData> tensors, list_of_tensors;
    Graphs one, list{.is_list = true};
    for (Fields fields = of("Attribute", bytes); fields.next();) {
      switch (fields.tag()) {
        case 1: name = fields.text(); break;
        case 2: number = fields.number(); break;
        case 3: integer = fields.integer(); break;
        case 4: text = fields.text(); break;
        case 5: tensors.push_back(tensors_.read(fields.view())); break;
        case 6: one.list.push_back(read_graph(fields.view(), depth + 1)); break;
        case 7: fields.append_to(numbers); break;
        case 8: fields.append_to(integers); break;
        case 9: texts.push_back(fields.text()); break;
        case 10: list_of_tensors.push_back(tensors_.read(fields.view())); break;
        case 11: list.list.push_back(read_graph(fields.view(), depth + 1)); break;
        case 13: fields.skip(); break;  // documentation
        case 20: type = fields.integer(); break;
        default: fields.skip_to(other);
      }
    }
    const auto of_type = [&](auto value) { return Attribute{std::move(name), AttributeValue(std::move(value))}; };
    if (!other.empty()) return of_type(EncodedAttribute{{bytes.data(), bytes.size()}});
    switch (type) {
      case 1: return of_type(number);
      case 2: return of_type(integer);
      case 3: return of_type(std::move(text));
      case 4:
        if (tensors.empty()) break;
        return of_type(std::move(tensors.back()));
      case 5:
        if (one.list.empty()) break;
        one.list.erase(one.list.begin(), one.list.end() - 1);
        return of_type(std::move(one));
      case 6: return of_type(std::move(numbers));
      case 7: return of_type(std::move(integers));
      case 8: return of_type(std::move(texts));
      case 9: return of_type(std::move(list_of_tensors));
      case 10: return of_type(std::move(list));
      default: return of_type(EncodedAttribute{{bytes.data(), bytes.size()}});
    }
    fail<DataError>({files_.what(), " as ONNX: attribute '", locus::detail::printable(name), "' has no value"});
  }
  [[nodiscard]] ValueInfo read_value_info(protozero::data_view bytes) const {
    ValueInfo info{.has_shape = false};
    for (Fields fields = of("ValueInfo", bytes); fields.next();) {
      if (fields.tag() == 1) info.name = fields.text();
      else if (fields.tag() == 2) read_type(fields.view(), info);
      else fields.skip_to(info.rest);
    }
    return info;
  }
  void read_type(protozero::data_view bytes, ValueInfo& info) const {
    bool is_tensor = false;
    for (Fields fields = of("Type", bytes); fields.next();) {
      if (fields.tag() == 1) {
        is_tensor = true;
        read_tensor_type(fields.view(), info);
      } else {
        fields.skip();
      }
    }
    if (!is_tensor) info.other = {bytes.data(), bytes.size()};
  }
  void read_tensor_type(protozero::data_view bytes, ValueInfo& info) const {
    for (Fields fields = of("Tensor type", bytes); fields.next();) {
      if (fields.tag() == 1) {
        info.type = static_cast<DataType>(fields.integer());
      } else if (fields.tag() == 2) {
        info.has_shape = true;
        for (Fields shape = of("TensorShape", fields.view()); shape.next();) {
          if (shape.tag() == 1) info.shape.push_back(read_dimension(shape.view()));
          else shape.skip();
        }
      } else {
        fields.skip();
      }
    }
  }
  [[nodiscard]] Dimension read_dimension(protozero::data_view bytes) const {
    Dimension dimension;
    for (Fields fields = of("Dimension", bytes); fields.next();) {
      if (fields.tag() == 1) dimension.extent = fields.integer();
      else if (fields.tag() == 2) dimension.symbol = fields.text();
      else fields.skip();
    }
    return dimension;
  }

  Files& files_;
  TensorReader tensors_;
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
