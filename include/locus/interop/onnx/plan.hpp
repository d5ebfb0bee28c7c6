#pragma once
// The plan of a model: its graph checked, values numbered, and the last use of each value found.

#include <locus/core/std/iterator.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/interop/onnx/graph.hpp>
#include <locus/interop/onnx/operators.hpp>

#include <map>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// A node whose operator Locus runs. Values are numbers; -1 stands for an optional one that is absent.
struct Step {
  Node node;
  int operation;  ///< its number in operator_specs
  std::vector<int> inputs, outputs;
  std::vector<int> released;  ///< values that no later step reads
};

/// "node 'conv1' (Conv)", or the first output in place of a name.
[[nodiscard]] inline std::string text_of(const Node& node) {
  const std::string& name = !node.name.empty() || node.outputs.empty() ? node.name : node.outputs[0];
  return join(node.name.empty() ? "the node of '" : "node '", locus::detail::printable(name), "' (",
              node.domain.empty() ? "" : locus::detail::printable(node.domain) + ".",
              locus::detail::printable(node.op_type), ")");
}

/// A model's plan, which copies of the model share.
struct Plan : Counted {
  std::vector<Step> steps;
  std::vector<std::string> names;          ///< of values
  std::vector<int> constant_values;        ///< the value of each constant
  std::vector<bool> is_buffer;             ///< whether a constant of floating-point numbers is no parameter
  std::vector<ValueInfo> inputs, outputs;  ///< without inputs that have an initial value
  std::vector<int> input_values, output_values;
  std::int64_t opset = 0;
};
struct PlannedModel {
  Shared<const Plan> plan;
  std::vector<TensorData> constants;  ///< initial values, and the values of Constant nodes
};

/// Whether an operator reads an input as numbers that say how it computes: they are no weights.
[[nodiscard]] constexpr bool is_setting(std::string_view operation, std::size_t input) {
  if (operation == "BatchNormalization") return input == 3 || input == 4;
  for (const std::string_view name :
       {"Resize", "Upsample", "Clip", "Pad", "Range", "OneHot", "Dropout", "RotaryEmbedding", "QuantizeLinear",
        "DequantizeLinear", "QLinearMatMul", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"})
    if (operation == name) return input > 0 || name == "Range";
  return false;
}

class PlanMaker {
 public:
  PlanMaker(const Model& model, std::string what) : model_(model), graph_(model.graph), what_(std::move(what)) {}

  /// throws DataError for operators that Locus does not run, all of them at once, and for a graph that cannot be run
  [[nodiscard]] PlannedModel make() {
    plan_.opset = opset();
    require_operators();
    for (const TensorData& tensor : graph_.initializers) add_constant(tensor.name, tensor, false);
    for (const ValueInfo& input : graph_.inputs) add_input(input);
    for (const Node& node : graph_.nodes) names_to_come_.insert({node.outputs.begin(), node.outputs.end(), &node});
    for (const Node& node : graph_.nodes) add_step(node);
    for (const ValueInfo& output : graph_.outputs) {
      plan_.outputs.push_back(output);
      plan_.output_values.push_back(find(output.name, "the list of outputs"));
    }
    if (plan_.outputs.empty()) fail<DataError>({what_, ": the graph has no output"});
    leave_out_unused();
    note_last_uses();
    note_buffers();
    return {Shared<const Plan>(owned_.get()), std::move(constants_)};
  }

 private:
  /// The node that makes each value.
  struct Makers {
    std::map<std::string_view, const Node*> list;
    struct Entry {
      std::vector<std::string>::const_iterator begin, end;
      const Node* node;
    };
    void insert(const Entry& entry) {
      for (auto name = entry.begin; name != entry.end; ++name) list.emplace(*name, entry.node);
    }
  };

  [[nodiscard]] std::int64_t opset() const {
    for (const OperatorSet& set : model_.operator_sets) {
      if (!set.domain.empty()) continue;
      if (set.version < oldest_opset || set.version > newest_opset)
        fail<DataError>({what_, ": it uses opset ", set.version, "; expected ", oldest_opset, " to ", newest_opset,
                         ": export it for opset ", newest_opset < 20 ? newest_opset : 20});
      return set.version;
    }
    fail<DataError>({what_, ": it names no version of the operators of ai.onnx"});
  }

  /// Each operator that is missing once, with the first node that uses it and the number of nodes; each attribute
  /// that Locus does not read.
  void require_operators() const {
    std::map<std::string, std::pair<const Node*, int>> missing;
    std::string attributes;
    for (const Node& node : graph_.nodes) {
      const int found = node.domain.empty() ? find_operator(node.op_type) : -1;
      if (found < 0) {
        auto& entry =
            missing.try_emplace((node.domain.empty() ? "" : node.domain + ".") + node.op_type, &node, 0).first->second;
        ++entry.second;
        continue;
      }
      for (const Attribute& attribute : node.attributes)
        if (!operator_specs[found].has_attribute(attribute.name))
          attributes += join(attributes.empty() ? "" : ", ", "'", locus::detail::printable(attribute.name), "' of ",
                             text_of(node));
    }
    std::string list;
    for (const auto& [name, entry] : missing)
      list += join(list.empty() ? "" : ", ", locus::detail::printable(name), " (", entry.second,
                   entry.second == 1 ? " node" : " nodes", ", first ", text_of(*entry.first), ")");
    if (list.empty() && attributes.empty()) return;
    fail<DataError>({what_, " of opset ", plan_.opset, ":", list.empty() ? "" : " Locus does not run these operators: ",
                     list, list.empty() || attributes.empty() ? "" : ";",
                     attributes.empty() ? "" : " it does not read these attributes: ", attributes,
                     "; docs/onnx.md lists the operators"});
  }

  int add_value(const std::string& name, const char* kind) {
    const int number = static_cast<int>(plan_.names.size());
    if (name.empty()) fail<DataError>({what_, ": ", kind, " without a name"});
    if (!numbers_.emplace(name, number).second)
      fail<DataError>(
          {what_, ": two values have the name '", locus::detail::printable(name), "'; the second is ", kind});
    plan_.names.push_back(name);
    return number;
  }
  void add_constant(const std::string& name, const TensorData& tensor, bool is_node) {
    plan_.constant_values.push_back(add_value(name, "an initial value"));
    constants_.push_back(tensor);
    constants_.back().name = name;
    const TensorData& added = constants_.back();
    plan_.is_buffer.push_back(is_node || shape_of(added).rank() == 0);
    if (!has_element_type(added.type))
      fail<DataError>(
          {what_, ": ", name_of(added), " has elements of ", to_string(added.type), ", of which Locus has no tensors"});
  }
  void add_input(const ValueInfo& input) {
    if (numbers_.contains(input.name)) {
      for (const TensorData& tensor : graph_.initializers)
        if (tensor.name == input.name) return;  // an initial value that files of old versions list among the inputs
    }
    if (!input.other.empty() || !has_element_type(input.type))
      fail<DataError>({what_, ": input '", locus::detail::printable(input.name), "' is ",
                       input.other.empty() ? "of " + to_string(input.type) : "no tensor",
                       "; expected a tensor of numbers or bool"});
    plan_.input_values.push_back(add_value(input.name, "an input"));
    plan_.inputs.push_back(input);
  }

  [[nodiscard]] int find(const std::string& name, const std::string& reader) const {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    const auto later = names_to_come_.list.find(name);
    if (later != names_to_come_.list.end())
      fail<DataError>({what_, ": ", reader, " reads '", locus::detail::printable(name), "', which ",
                       text_of(*later->second),
                       " writes later; expected nodes in order: sort them, or break the cycle between them"});
    fail<DataError>({what_, ": ", reader, " reads '", locus::detail::printable(name),
                     "', which is no input, no initial value and no output of a node"});
  }

  void add_step(const Node& node) {
    const OperatorSpec& spec = operator_specs[find_operator(node.op_type)];
    require_count(node, "inputs", node.inputs.size(), spec.least_inputs, spec.most_inputs);
    require_count(node, "outputs", node.outputs.size(), 1, spec.most_outputs);
    Step step{node, find_operator(node.op_type), {}, {}, {}};
    for (const auto& name : node.inputs) step.inputs.push_back(name.empty() ? -1 : find(name, text_of(node)));
    for (int i = 0; i < spec.least_inputs; ++i)
      if (step.inputs[static_cast<std::size_t>(i)] < 0)
        fail<DataError>({what_, ": ", text_of(node), " lacks input ", i});
    if (spec.name == "Constant") return add_constant(node.outputs[0], constant_of(node), true);
    for (const auto& name : node.outputs) step.outputs.push_back(name.empty() ? -1 : add_value(name, "an output"));
    plan_.steps.push_back(std::move(step));
  }
  void require_count(const Node& node, const char* kind, std::size_t given, int least, int most) const {
    if (given < static_cast<std::size_t>(least) || (most != any_number && given > static_cast<std::size_t>(most)))
      fail<DataError>({what_, ": ", text_of(node), " has ", given, " ", kind, "; expected ", least,
                       most == least        ? ""
                       : most == any_number ? " or more"
                                            : join(" to ", most)});
  }
  template <class T>
  [[nodiscard]] static TensorData listed(const std::vector<T>& values, bool is_scalar) {
    TensorData data{.type = data_type<T>(),
                    .bytes = Tensor<std::uint8_t, Cpu>(Shape{static_cast<std::int64_t>(values.size() * sizeof(T))})};
    if (!values.empty()) std::memcpy(data.bytes.data(), values.data(), values.size() * sizeof(T));
    if (!is_scalar) data.shape = {static_cast<std::int64_t>(values.size())};
    return data;
  }
  [[nodiscard]] TensorData constant_of(const Node& node) const {
    if (const auto* tensor = find_attribute<TensorData>(node, "value")) return *tensor;
    if (const auto* list = find_attribute<std::vector<std::int64_t>>(node, "value_ints")) return listed(*list, false);
    if (const auto* list = find_attribute<std::vector<float>>(node, "value_floats")) return listed(*list, false);
    if (const auto* number = find_attribute<std::int64_t>(node, "value_int"))
      return listed(std::vector<std::int64_t>{*number}, true);
    if (const auto* number = find_attribute<float>(node, "value_float"))
      return listed(std::vector<float>{*number}, true);
    fail<DataError>({what_, ": ", text_of(node), " has no value of numbers"});
  }

  void leave_out_unused() {
    std::vector<bool> is_used(plan_.names.size());
    for (const int value : plan_.output_values) is_used[static_cast<std::size_t>(value)] = true;
    std::vector<Step> kept;
    for (auto step = plan_.steps.rbegin(); step != plan_.steps.rend(); ++step) {
      bool is_needed = false;
      for (const int value : step->outputs) is_needed |= value >= 0 && is_used[static_cast<std::size_t>(value)];
      if (!is_needed) continue;
      for (const int value : step->inputs)
        if (value >= 0) is_used[static_cast<std::size_t>(value)] = true;
      kept.push_back(std::move(*step));
    }
    plan_.steps.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  }
  void note_last_uses() {
    std::vector<bool> is_released(plan_.names.size());
    for (const int value : plan_.output_values) is_released[static_cast<std::size_t>(value)] = true;
    for (auto step = plan_.steps.rbegin(); step != plan_.steps.rend(); ++step)
      for (const auto* list : {&step->outputs, &step->inputs})
        for (const int value : *list)
          if (value >= 0 && !is_released[static_cast<std::size_t>(value)]) {
            is_released[static_cast<std::size_t>(value)] = true;
            step->released.push_back(value);
          }
  }
  void note_buffers() {
    std::vector<bool> is_buffer(plan_.names.size());
    for (const Step& step : plan_.steps)
      for (std::size_t i = 0; i < step.inputs.size(); ++i)
        if (step.inputs[i] >= 0 && is_setting(operator_specs[step.operation].name, i))
          is_buffer[static_cast<std::size_t>(step.inputs[i])] = true;
    for (std::size_t i = 0; i < constants_.size(); ++i)
      if (is_buffer[static_cast<std::size_t>(plan_.constant_values[i])]) plan_.is_buffer[i] = true;
  }

  const Model& model_;
  const Graph& graph_;
  std::string what_;
  Shared<Plan> owned_{new Plan};
  Plan& plan_ = *owned_;
  std::vector<TensorData> constants_;
  std::map<std::string, int, std::less<>> numbers_;
  Makers names_to_come_;
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
