#pragma once
// Runs of a model with inputs of other extents, as one graph. Numbers that differ between the runs follow from
// dynamic extents, and are computed from them in the graph.

#include <locus/interop/onnx/recorder.hpp>

#include <set>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::exporting {

/// A dynamic extent: its name, one of the places where the inputs have it, and its value in each run.
struct DynamicExtent {
  std::string name;
  int input, dim;
  std::vector<std::int64_t> in_runs;
};
struct Run {
  Recorder recorder;
  std::vector<int> outputs;  ///< numbers of values
};

[[nodiscard]] inline bool same_tensor(const TensorData& a, const TensorData& b) {
  if (a.type != b.type || a.shape != b.shape || a.bytes.elements() != b.bytes.elements()) return false;
  return a.bytes.data() == b.bytes.data() ||
         std::memcmp(a.bytes.data(), b.bytes.data(), static_cast<std::size_t>(a.bytes.elements())) == 0;
}
template <class V, class... Plain>
concept AmongPlain = (std::is_same_v<V, Plain> || ...);
/// Attributes that hold graphs or lists of tensors are not compared: no form has them.
[[nodiscard]] inline bool same_value(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  const auto same = [&]<class V>(const V& value) {
    if constexpr (std::is_same_v<V, TensorData>) return same_tensor(value, std::get<V>(b));
    else if constexpr (AmongPlain<V, std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                                  std::vector<std::string>>)
      return value == std::get<V>(b);
    else return true;
  };
  return std::visit(same, a);
}

/// One graph from runs that have the same nodes.
class JoinedRuns {
 public:
  /// outputs: names. throws ArgumentError where the runs differ in another way than by dynamic extents
  JoinedRuns(const std::vector<Run>& runs, std::vector<DynamicExtent> dynamic, const std::vector<std::string>& outputs)
      : runs_(runs),
        dynamic_(std::move(dynamic)),
        distinct_(distinct(dynamic_)),
        names_(first().values().size()),
        live_(first().values().size()) {
    require_same_nodes();
    for (const int output : runs_[0].outputs) mark(output);
    name_inputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      std::string& name = names_[index(runs_[0].outputs[i])];
      if (value(runs_[0].outputs[i]).origin == Origin::node && name.empty()) name = unique(outputs[i]);
    }
    for (const RecordedNode& node : first().nodes())
      if (is_live(node)) add(node);
    for (std::size_t i = 0; i < outputs.size(); ++i) add_output(i, outputs[i]);
  }
  [[nodiscard]] Graph graph() && { return std::move(graph_); }

 private:
  /// The first dynamic extent of each name: those of one name are equal.
  [[nodiscard]] static std::vector<DynamicExtent> distinct(const std::vector<DynamicExtent>& dynamic) {
    std::vector<DynamicExtent> result;
    std::set<std::string> names;
    for (const DynamicExtent& extent : dynamic)
      if (names.insert(extent.name).second) result.push_back(extent);
    return result;
  }
  [[nodiscard]] static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  [[nodiscard]] const Recorder& first() const { return runs_[0].recorder; }
  [[nodiscard]] const RecordedValue& value(int number, std::size_t run = 0) const {
    return runs_[run].recorder.values()[index(number)];
  }
  /// f(run) of all runs.
  template <class F>
  [[nodiscard]] std::vector<std::int64_t> in_runs(const F& f) const {
    std::vector<std::int64_t> result;
    for (std::size_t run = 0; run < runs_.size(); ++run) result.push_back(f(run));
    return result;
  }
  [[nodiscard]] static bool is_constant(const std::vector<std::int64_t>& numbers) {
    for (const std::int64_t number : numbers)
      if (number != numbers[0]) return false;
    return true;
  }

  [[nodiscard]] bool is_live(const RecordedNode& node) const {
    for (const int output : node.outputs)
      if (live_[index(output)]) return true;
    return false;
  }

  void require_same_nodes() const {
    for (const Run& run : runs_) {
      const auto &nodes = first().nodes(), &others = run.recorder.nodes();
      for (std::size_t i = 0; i < nodes.size() && i < others.size(); ++i) {
        if (nodes[i].op_type != others[i].op_type || nodes[i].inputs != others[i].inputs)
          fail<ArgumentError>({"onnx: the model computes ", nodes[i].op_type, " as operation ", i,
                               " for some extents, ",
                               nodes[i].op_type != others[i].op_type ? others[i].op_type : "that of other operands",
                               " for others; leave out of .dynamic the extents that decide this"});
        require_same_attributes(nodes[i], others[i]);
      }
      if (nodes.size() != others.size() || run.outputs != runs_[0].outputs ||
          run.recorder.values().size() != first().values().size())
        fail<ArgumentError>({"onnx: the model has ", nodes.size(), " operations for some extents, ", others.size(),
                             " for others; leave out of .dynamic the extents that decide this"});
    }
  }
  static void require_same_attributes(const RecordedNode& node, const RecordedNode& other) {
    for (std::size_t i = 0; i < node.attributes.size(); ++i)
      if (i >= other.attributes.size() || !same_value(node.attributes[i].value, other.attributes[i].value))
        fail<ArgumentError>(
            {"onnx: the attribute ", node.attributes[i].name, " of ", node.op_type,
             " follows from a dynamic extent, but is a number in ONNX; leave the extent out of .dynamic"});
  }

  /// Marks the values that a value is computed from.
  void mark(int number) {
    std::vector<int> open{number};
    while (!open.empty()) {
      const int next = open.back();
      open.pop_back();
      if (next < 0 || live_[index(next)]) continue;
      live_[index(next)] = true;
      if (const int node = value(next).node; node >= 0)
        for (const int input : first().nodes()[index(node)].inputs) open.push_back(input);
    }
  }

  [[nodiscard]] std::string unique(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !taken_.insert(name).second; ++i) name = join(wanted, "_", i);
    return name;
  }
  void name_inputs() {
    int number = 0;
    for (std::size_t v = 0; v < names_.size(); ++v) {
      const RecordedValue& entry = first().values()[v];
      if (entry.origin != Origin::input) continue;
      names_[v] = unique(entry.name);
      ValueInfo info{names_[v], entry.type};
      for (int d = 0; d < entry.shape.rank(); ++d) info.shape.push_back(extent_of(number, d, entry.shape[d]));
      graph_.inputs.push_back(std::move(info));
      ++number;
    }
    for (std::size_t v = 0; v < names_.size(); ++v)
      if (live_[v] && !first().values()[v].name.empty() && names_[v].empty())
        names_[v] = unique(first().values()[v].name);
  }
  [[nodiscard]] Dimension extent_of(int input, int dim, std::int64_t extent) const {
    for (const DynamicExtent& dynamic : dynamic_)
      if (dynamic.input == input && dynamic.dim == dim) return dynamic.name;
    return extent;
  }

  void add(const RecordedNode& recorded) {
    Node node;
    for (const int input : recorded.inputs) node.inputs.push_back(input < 0 ? std::string() : name_of(input));
    while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
    const std::size_t colons = recorded.op_type.find("::");
    node.op_type = colons == std::string::npos ? recorded.op_type : recorded.op_type.substr(colons + 2);
    if (colons != std::string::npos) node.domain = recorded.op_type.substr(0, colons);
    node.name = join("node_", graph_.nodes.size(), "_", node.op_type);
    node.attributes = recorded.attributes;
    for (const int output : recorded.outputs) {
      std::string& name = names_[index(output)];
      if (name.empty()) name = unique(join("value_", output));
      node.outputs.push_back(name);
    }
    graph_.nodes.push_back(std::move(node));
  }
  /// The name of a value; of constants and extents, which become initializers or nodes when they are first used.
  [[nodiscard]] const std::string& name_of(int number) {
    const RecordedValue& entry = value(number);
    if (is_added_.count(number) == 0 && entry.origin == Origin::constant) {
      add_constant(number);
    } else if (is_added_.count(number) == 0 && entry.origin == Origin::extents) {
      names_[index(number)] = add_extents(number);
    }
    is_added_.insert(number);
    return names_[index(number)];
  }
  void add_constant(int number) {
    const RecordedValue& entry = value(number);
    std::string& name = names_[index(number)];
    if (name.empty()) name = unique(join("constant_", number));
    for (std::size_t run = 1; run < runs_.size(); ++run) {
      const RecordedValue& other = value(number, run);
      if (!same_tensor(data_of(entry, name), data_of(other, name)))
        fail<ArgumentError>({"onnx: a tensor of shape ", entry.shape,
                             " follows from the input in a way that is not "
                             "recorded, as by value(), argmax, sort or arange(x.size(0)); compute it by recorded "
                             "functions of the input, or leave an extent that decides it out of .dynamic"});
    }
    graph_.initializers.push_back(data_of(entry, name));
  }
  [[nodiscard]] static TensorData data_of(const RecordedValue& entry, const std::string& name) {
    return {.name = name, .type = entry.type, .shape = {entry.shape.begin(), entry.shape.end()}, .bytes = entry.bytes};
  }

  // Numbers that follow from extents

  [[nodiscard]] std::string add_extents(int number) {
    const RecordedValue& entry = value(number);
    std::vector<std::int64_t> known;  ///< those that are constant, 0 or -1 of a reshape, and places
    std::vector<std::vector<std::int64_t>> computed;
    bool is_inferred = false, computes = false;
    for (std::size_t i = 0; i < entry.numbers.size(); ++i) is_inferred |= entry.numbers[i] == -1;
    for (std::size_t i = 0; i < entry.numbers.size(); ++i) {
      auto numbers = in_runs([&](std::size_t run) { return value(number, run).numbers[i]; });
      computed.emplace_back();
      if (is_constant(numbers)) known.push_back(numbers[0]);
      else if (entry.reshaped >= 0 && keeps_extent(entry.reshaped, i, numbers)) known.push_back(0);
      else if (entry.reshaped >= 0 && !is_inferred) known.push_back(-1), is_inferred = true;
      else known.push_back(0), computed.back() = std::move(numbers), computes = true;
    }
    if (!computes) return add_numbers(known);
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < known.size(); ++i)
      parts.push_back(computed[i].empty() ? add_numbers({known[i]}) : add_computed(computed[i]));
    if (parts.size() == 1) return parts[0];
    return add_node("Concat", std::move(parts), {{"axis", 0}});
  }
  /// Whether the reshaped value has these extents in the same dimension.
  [[nodiscard]] bool keeps_extent(int reshaped, std::size_t dim, const std::vector<std::int64_t>& numbers) const {
    const int d = static_cast<int>(dim);
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const Shape& shape = value(reshaped, run).shape;
      if (d >= shape.rank() || shape[d] != numbers[run]) return false;
    }
    return true;
  }
  [[nodiscard]] std::string add_numbers(const std::vector<std::int64_t>& numbers) {
    std::string& name = lists_[numbers];
    if (!name.empty()) return name;
    name = unique(join("numbers_", lists_.size() - 1));
    const Tensor<std::int64_t, Cpu> data(Shape{static_cast<std::int64_t>(numbers.size())});
    for (std::size_t i = 0; i < numbers.size(); ++i) data.data()[i] = numbers[i];
    graph_.initializers.push_back(tensor_data(name, data));
    return name;
  }
  [[nodiscard]] std::string add_node(const char* op_type, std::vector<std::string> inputs,
                                     std::vector<Attribute> attributes = {}) {
    std::string name = unique(join("extent_", graph_.nodes.size()));
    graph_.nodes.push_back({.op_type = op_type,
                            .inputs = std::move(inputs),
                            .outputs = {name},
                            .attributes = std::move(attributes),
                            .name = join("node_", graph_.nodes.size(), "_", op_type)});
    return name;
  }
  /// A list of one number: factor * product of some dynamic extents + offset.
  struct Formula {
    std::int64_t factor, offset;
    unsigned extents;  ///< a bit for each of distinct_
  };
  /// throws ArgumentError for numbers that no such formula gives
  [[nodiscard]] std::string add_computed(const std::vector<std::int64_t>& numbers) {
    std::string& known = computed_[numbers];
    if (!known.empty()) return known;
    const Formula formula = formula_of(numbers);
    if (formula.extents == 0)
      fail<ArgumentError>({"onnx: the model uses a number that is ", numbers[0], " in one run and ",
                           other_than(numbers),
                           " in another, which is not an integer times dynamic extents plus an integer; leave the ",
                           "extent that decides it out of .dynamic"});
    std::string name;
    for (std::size_t i = 0; i < distinct_.size(); ++i) {
      if ((formula.extents >> i & 1u) == 0) continue;
      const std::string extent = add_extent(i);
      name = name.empty() ? extent : add_node("Mul", {name, extent});
    }
    if (formula.factor != 1) name = add_node("Mul", {name, add_numbers({formula.factor})});
    if (formula.offset != 0) name = add_node("Add", {name, add_numbers({formula.offset})});
    return known = name;
  }
  /// The first number that differs from the one of the first run.
  [[nodiscard]] static std::int64_t other_than(const std::vector<std::int64_t>& numbers) {
    for (const std::int64_t number : numbers)
      if (number != numbers[0]) return number;
    return numbers[0];
  }
  [[nodiscard]] std::string add_extent(std::size_t i) {
    std::string& name = extents_[i];
    const DynamicExtent& dynamic = distinct_[i];
    if (name.empty())
      name = add_node("Shape", {graph_.inputs[index(dynamic.input)].name},
                      {{"start", std::int64_t{dynamic.dim}}, {"end", std::int64_t{dynamic.dim} + 1}});
    return name;
  }
  /// Without extents if there is none. A formula without an offset is preferred.
  [[nodiscard]] Formula formula_of(const std::vector<std::int64_t>& numbers) const {
    for (const bool has_offset : {false, true}) {
      for (unsigned extents = 1; extents < 1u << distinct_.size(); ++extents) {
        const auto products = in_runs([&](std::size_t run) {
          std::int64_t product = 1;
          for (std::size_t i = 0; i < distinct_.size(); ++i)
            if ((extents >> i & 1u) != 0) product *= distinct_[i].in_runs[run];
          return product;
        });
        Formula formula{numbers[0] / products[0], 0, extents};
        if (has_offset) {
          const std::size_t last = runs_.size() - 1;
          if (products[last] == products[0]) continue;
          formula.factor = (numbers[last] - numbers[0]) / (products[last] - products[0]);
          formula.offset = numbers[0] - formula.factor * products[0];
        }
        bool fits = formula.factor != 0;
        for (std::size_t run = 0; run < runs_.size(); ++run)
          fits = fits && formula.factor * products[run] + formula.offset == numbers[run];
        if (fits) return formula;
      }
    }
    return {0, 0, 0};
  }

  void add_output(std::size_t i, const std::string& name) {
    const int number = runs_[0].outputs[i];
    const std::string made = name_of(number);
    if (made != name)  // an input, a constant, or an output twice
      graph_.nodes.push_back({.op_type = "Identity",
                              .inputs = {made},
                              .outputs = {unique(name)},
                              .name = join("node_", graph_.nodes.size(), "_Identity")});
    ValueInfo info{made != name ? graph_.nodes.back().outputs[0] : name, value(number).type};
    for (int d = 0; d < value(number).shape.rank(); ++d)
      info.shape.push_back(output_extent(in_runs([&](std::size_t run) { return value(number, run).shape[d]; })));
    graph_.outputs.push_back(std::move(info));
  }
  [[nodiscard]] Dimension output_extent(const std::vector<std::int64_t>& extents) const {
    if (is_constant(extents)) return extents[0];
    for (const DynamicExtent& dynamic : dynamic_)
      if (dynamic.in_runs == extents) return dynamic.name;
    return {};
  }

  const std::vector<Run>& runs_;
  std::vector<DynamicExtent> dynamic_, distinct_;
  std::vector<std::string> names_;  ///< of values
  std::vector<bool> live_;          ///< values that outputs are computed from
  std::set<std::string> taken_;
  std::set<int> is_added_;
  std::map<std::vector<std::int64_t>, std::string> lists_, computed_;
  std::map<std::size_t, std::string> extents_;
  Graph graph_;
};

}}}  // namespace locus::LOCUS_ABI::onnx::exporting
