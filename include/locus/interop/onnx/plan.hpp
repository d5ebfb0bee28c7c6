#pragma once
// The plan of a model: its graph checked, values numbered, and the last use of each value found.

#include <locus/core/std/iterator.hpp>
#include <locus/core/std/shared.hpp>
#include <locus/interop/onnx/graph.hpp>
#include <locus/interop/onnx/operators.hpp>

#include <map>
#include <set>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

struct Body;
/// A node whose operator Locus runs. Values are numbers; -1 stands for an optional one that is absent.
struct Step {
  Node node;
  int operation;  ///< its number in operator_specs
  std::vector<int> inputs, outputs;
  std::vector<int> captured;  ///< values that the bodies read besides
  std::vector<int> released;  ///< values that no later step reads
  std::vector<Body> bodies;   ///< the branches of If, the body of Loop or Scan

  /// f(value) for every value that the step reads.
  template <class Do>
  void for_each_read(const Do& f) const {
    for (const auto* list : {&inputs, &captured})
      for (const int value : *list)
        if (value >= 0) f(value);
  }
};
/// A graph within a node. Each of its values has a number of its own in the plan.
struct Body {
  std::vector<Step> steps;
  std::vector<int> inputs, outputs;
  std::vector<int> locals;  ///< values that each run of the body makes
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
        "DequantizeLinear", "QLinearConv", "QLinearMatMul", "NonMaxSuppression", "RoiAlign", "STFT",
        "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"})
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
    Scope scope;
    scope_ = &scope;
    for (const TensorData& tensor : graph_.initializers) add_constant(tensor.name, tensor, false);
    for (const ValueInfo& input : graph_.inputs) add_input(input);
    plan_.steps = steps_of(graph_);
    for (const ValueInfo& output : graph_.outputs) {
      plan_.outputs.push_back(output);
      plan_.output_values.push_back(find(output.name, "the list of outputs"));
    }
    if (plan_.outputs.empty()) fail<DataError>({what_, ": the graph has no output"});
    leave_out_unused(plan_.steps, plan_.output_values);
    note_last_uses(plan_.steps, plan_.output_values);
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

  /// The names that the nodes of a graph see: its own, and names of the graphs around it.
  struct Scope {
    Scope* outer = nullptr;
    std::string prefix = {};  ///< of names of constants, so that each parameter has a name of its own
    std::map<std::string, int, std::less<>> numbers = {};
    Makers names_to_come = {};
    std::set<int> captured = {};  ///< values of outer graphs
    std::set<int> constants = {};
    std::vector<int> locals = {};  ///< values but for constants
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
    Missing missing;
    std::string attributes, list;
    note_missing(graph_, missing, attributes);

    for (const auto& [name, entry] : missing)
      list += join(list.empty() ? "" : ", ", locus::detail::printable(name), " (", entry.second,
                   entry.second == 1 ? " node" : " nodes", ", first ", text_of(*entry.first), ")");
    if (list.empty() && attributes.empty()) return;
    fail<DataError>({what_, " of opset ", plan_.opset, ":", list.empty() ? "" : " Locus does not run these operators: ",
                     list, list.empty() || attributes.empty() ? "" : ";",
                     attributes.empty() ? "" : " it does not read these attributes: ", attributes,
                     "; docs/onnx.md lists the operators"});
  }

  using Missing = std::map<std::string, std::pair<const Node*, int>>;
  static void note_missing(const Graph& graph, Missing& missing, std::string& attributes) {
    for (const Node& node : graph.nodes) {
      for (const Attribute& attribute : node.attributes)
        if (const auto* graphs = std::get_if<Graphs>(&attribute.value))
          for (const Graph& nested : graphs->list) note_missing(nested, missing, attributes);
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
  }

  int add_value(const std::string& name, const char* kind) {
    const int number = static_cast<int>(plan_.names.size());
    if (name.empty()) fail<DataError>({what_, ": ", kind, " without a name"});
    if (!scope_->numbers.emplace(name, number).second)
      fail<DataError>(
          {what_, ": two values have the name '", locus::detail::printable(name), "'; the second is ", kind});
    plan_.names.push_back(scope_->prefix + name);
    return number;
  }
  int add_local(const std::string& name, const char* kind) {
    scope_->locals.push_back(add_value(name, kind));
    return scope_->locals.back();
  }
  void add_constant(const std::string& name, const TensorData& tensor, bool is_node) {
    plan_.constant_values.push_back(add_value(name, "an initial value"));
    scope_->constants.insert(plan_.constant_values.back());
    constants_.push_back(tensor);
    constants_.back().name = plan_.names.back();
    const TensorData& added = constants_.back();
    plan_.is_buffer.push_back(is_node || shape_of(added).rank() == 0);
    if (!has_element_type(added.type))
      fail<DataError>(
          {what_, ": ", name_of(added), " has elements of ", to_string(added.type), ", of which Locus has no tensors"});
  }
  void add_input(const ValueInfo& input) {
    if (scope_->numbers.contains(input.name)) {
      for (const TensorData& tensor : graph_.initializers)
        if (tensor.name == input.name) return;  // an initial value that files of old versions list among the inputs
    }
    if (!input.other.empty() || !has_element_type(input.type))
      fail<DataError>({what_, ": input '", locus::detail::printable(input.name), "' is ",
                       input.other.empty() ? "of " + to_string(input.type) : "no tensor",
                       "; expected a tensor of numbers or bool"});
    plan_.input_values.push_back(add_local(input.name, "an input"));
    plan_.inputs.push_back(input);
  }

  /// The value with a name: of this graph, or of a graph around it, which the nodes between capture.
  [[nodiscard]] int find(const std::string& name, const std::string& reader) const {
    for (Scope* scope = scope_; scope; scope = scope->outer) {
      const auto found = scope->numbers.find(name);
      if (found == scope->numbers.end()) continue;
      for (Scope* inner = scope_; inner != scope; inner = inner->outer) inner->captured.insert(found->second);
      return found->second;
    }
    for (Scope* scope = scope_; scope; scope = scope->outer)
      if (const auto later = scope->names_to_come.list.find(name); later != scope->names_to_come.list.end())
        fail<DataError>({what_, ": ", reader, " reads '", locus::detail::printable(name), "', which ",
                         text_of(*later->second),
                         " writes later; expected nodes in order: sort them, or break the cycle between them"});
    fail<DataError>({what_, ": ", reader, " reads '", locus::detail::printable(name),
                     "', which is no input, no initial value and no output of a node"});
  }

  [[nodiscard]] std::vector<Step> steps_of(const Graph& graph) {
    for (const Node& node : graph.nodes)
      scope_->names_to_come.insert({node.outputs.begin(), node.outputs.end(), &node});
    std::vector<Step> steps;
    for (const Node& node : graph.nodes) add_step(steps, node);
    return steps;
  }
  /// The graph of an attribute of a node, which reads values of the graphs around it by their names.
  [[nodiscard]] Body body_of(Step& step, const char* attribute) {
    const auto* graphs = find_attribute<Graphs>(step.node, attribute);
    if (!graphs || graphs->list.size() != 1)
      fail<DataError>({what_, ": ", text_of(step.node), " has no graph '", attribute, "'"});
    const Graph& graph = graphs->list[0];
    const std::string& name = step.node.name.empty() ? step.node.outputs[0] : step.node.name;
    Scope scope{.outer = scope_, .prefix = join(scope_->prefix, name, "/", attribute, "/")};
    scope_ = &scope;
    Body body;
    for (const TensorData& tensor : graph.initializers) add_constant(tensor.name, tensor, false);
    for (const ValueInfo& input : graph.inputs) body.inputs.push_back(add_local(input.name, "an input"));
    body.steps = steps_of(graph);
    for (const ValueInfo& output : graph.outputs) body.outputs.push_back(find(output.name, "the list of outputs"));
    leave_out_unused(body.steps, body.outputs);
    std::vector<int> kept = body.outputs;
    kept.insert(kept.end(), scope.constants.begin(), scope.constants.end());
    kept.insert(kept.end(), scope.captured.begin(), scope.captured.end());
    note_last_uses(body.steps, kept);
    body.locals = std::move(scope.locals);
    scope_ = scope.outer;
    for (const int value : scope.captured) step.captured.push_back(value);
    return body;
  }
  void add_bodies(Step& step) {
    const std::string_view name = operator_specs[step.operation].name;
    if (name == "If") {
      step.bodies.push_back(body_of(step, "then_branch"));
      step.bodies.push_back(body_of(step, "else_branch"));
      for (const Body& branch : step.bodies) require_body(step, branch, 0, 0, step.outputs.size());
    } else if (name == "Loop") {
      require_count(step.node, "inputs", step.inputs.size(), 2, any_number);  // the first two may be absent
      step.bodies.push_back(body_of(step, "body"));
      const std::size_t carried = step.inputs.size() - 2;
      require_body(step, step.bodies[0], carried + 2, 1, step.outputs.size());
      require_carried(step, carried);
    } else if (name == "Scan") {
      step.bodies.push_back(body_of(step, "body"));
      const auto* scanned = find_attribute<std::int64_t>(step.node, "num_scan_inputs");
      if (!scanned || *scanned < 1 || *scanned > static_cast<std::int64_t>(step.inputs.size()))
        fail<DataError>({what_, ": ", text_of(step.node), ": num_scan_inputs is ", scanned ? *scanned : 0, " of ",
                         step.inputs.size(), " inputs"});
      require_body(step, step.bodies[0], step.inputs.size(), 0, step.outputs.size());
      require_carried(step, step.inputs.size() - static_cast<std::size_t>(*scanned));
    }
  }
  void require_carried(const Step& step, std::size_t carried) const {
    if (step.outputs.size() < carried)
      fail<DataError>({what_, ": ", text_of(step.node), " has ", step.outputs.size(), " outputs; expected ", carried,
                       " carried values or more"});
  }
  void require_body(const Step& step, const Body& body, std::size_t inputs, std::size_t more,
                    std::size_t outputs) const {
    if (body.inputs.size() != inputs || body.outputs.size() != outputs + more)
      fail<DataError>({what_, ": ", text_of(step.node), ": its graph has ", body.inputs.size(), " inputs and ",
                       body.outputs.size(), " outputs; expected ", inputs, " and ", outputs + more});
  }

  void add_step(std::vector<Step>& steps, const Node& node) {
    const OperatorSpec& spec = operator_specs[find_operator(node.op_type)];
    require_count(node, "inputs", node.inputs.size(), spec.least_inputs, spec.most_inputs);
    require_count(node, "outputs", node.outputs.size(), 1, spec.most_outputs);
    Step step{node, find_operator(node.op_type), {}, {}, {}, {}, {}};
    for (const auto& name : node.inputs) step.inputs.push_back(name.empty() ? -1 : find(name, text_of(node)));
    for (int i = 0; i < spec.least_inputs; ++i)
      if (step.inputs[static_cast<std::size_t>(i)] < 0)
        fail<DataError>({what_, ": ", text_of(node), " lacks input ", i});
    if (spec.name == "Constant") return add_constant(node.outputs[0], constant_of(node), true);
    if (spec.name == "If" || spec.name == "Loop" || spec.name == "Scan") {
      step.outputs.resize(node.outputs.size());
      add_bodies(step);
      step.outputs.clear();
      std::erase_if(step.node.attributes, [](const Attribute& each) { return std::get_if<Graphs>(&each.value); });
    }
    for (const auto& name : node.outputs) step.outputs.push_back(name.empty() ? -1 : add_local(name, "an output"));
    steps.push_back(std::move(step));
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

  void leave_out_unused(std::vector<Step>& steps, const std::vector<int>& outputs) const {
    std::vector<bool> is_used(plan_.names.size());
    for (const int value : outputs) is_used[static_cast<std::size_t>(value)] = true;
    std::vector<Step> kept;
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      bool is_needed = false;
      for (const int value : step->outputs) is_needed |= value >= 0 && is_used[static_cast<std::size_t>(value)];
      if (!is_needed) continue;
      step->for_each_read([&](int value) { is_used[static_cast<std::size_t>(value)] = true; });
      kept.push_back(std::move(*step));
    }
    steps.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  }
  /// `kept`: values that no step releases.
  void note_last_uses(std::vector<Step>& steps, const std::vector<int>& kept) const {
    std::vector<bool> is_released(plan_.names.size());
    for (const int value : kept) is_released[static_cast<std::size_t>(value)] = true;
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      const auto release = [&](int value) {
        if (is_released[static_cast<std::size_t>(value)]) return;
        is_released[static_cast<std::size_t>(value)] = true;
        step->released.push_back(value);
      };
      for (const int value : step->outputs)
        if (value >= 0) release(value);
      step->for_each_read(release);
    }
  }
  static void mark_settings(const std::vector<Step>& steps, std::vector<bool>& is_buffer) {
    for (const Step& step : steps) {
      for (std::size_t i = 0; i < step.inputs.size(); ++i)
        if (step.inputs[i] >= 0 && is_setting(operator_specs[step.operation].name, i))
          is_buffer[static_cast<std::size_t>(step.inputs[i])] = true;
      for (const Body& body : step.bodies) mark_settings(body.steps, is_buffer);
    }
  }
  void note_buffers() {
    std::vector<bool> is_buffer(plan_.names.size());
    mark_settings(plan_.steps, is_buffer);
    for (std::size_t i = 0; i < constants_.size(); ++i)
      if (is_buffer[static_cast<std::size_t>(plan_.constant_values[i])]) plan_.is_buffer[i] = true;
  }

  const Model& model_;
  const Graph& graph_;
  std::string what_;
  Shared<Plan> owned_{new Plan};
  Plan& plan_ = *owned_;
  std::vector<TensorData> constants_;
  Scope* scope_ = nullptr;  ///< of the graph that is planned
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
