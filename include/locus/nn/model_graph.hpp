#pragma once
// The calls of a model's layers as a graph, for TensorBoard.

#include <locus/nn/summary.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace nn::detail {

/// A call of a layer that calls no other layer; an input or the output of the model.
struct GraphNode {
  std::string name;  ///< "Sequential/1"; a slash divides a layer from the layers within it
  std::string kind, options;
  std::vector<std::string> inputs;  ///< names of nodes
  Shape output = {};
  std::string type = {};  ///< element type of the output
};

/// Makes a node of each call of an innermost layer. Edges follow memory: a layer's input is the result of the node that
/// wrote it. Operations between layers, such as the addition of a residual connection, are no nodes: their results come
/// from the node that ended last.
class GraphObserver final : public LayerObserver {
 public:
  GraphObserver(const std::vector<LayerSummary>& layers, const std::vector<LayerId>& ids)
      : layers_(layers), ids_(ids) {}

  void enter(const LayerId& layer, Span<const SeenTensor> inputs) override {
    const std::size_t row = row_of(layer, layers_, ids_);
    const bool again = !open_.empty() && open_.back().listed == row;
    Call call{row, again ? layers_.size() : row, nodes_.size(), {}};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const SeenTensor& input = inputs.data()[i];
      if (open_.empty()) {
        nodes_.push_back(
            {i == 0 ? "input" : join("input_", i), "Placeholder", "", {}, input.shape, std::string(input.type)});
        made(input, nodes_.back().name);
        call.first = nodes_.size();
      }
      call.inputs.push_back(source_of(input));
    }
    open_.push_back(std::move(call));
  }
  void result(const SeenTensor& output) override {
    const Call& call = open_.back();
    if (call.row < layers_.size() && call.first == nodes_.size()) {
      const LayerSummary& layer = layers_[call.row];
      nodes_.push_back({named(layer), layer.kind, layer.options, call.inputs, output.shape, std::string(output.type)});
      made(output, nodes_.back().name);
    } else if (!knows(output)) {
      made(output, nodes_.empty() ? "" : nodes_.back().name);
    }
    if (open_.size() == 1)
      nodes_.push_back({"output", "Identity", "", {source_of(output)}, output.shape, std::string(output.type)});
  }
  void leave() noexcept override { open_.pop_back(); }
  [[nodiscard]] bool keeps() const override { return true; }
  [[nodiscard]] const std::vector<GraphNode>& nodes() const { return nodes_; }

 private:
  struct Call {
    std::size_t listed, row;  ///< of the layer, and that which becomes a node; behind the last: none
    std::size_t first;        ///< number of the first node made within it
    std::vector<std::string> inputs;
  };
  struct Made {
    SeenTensor tensor;
    std::string by;
  };
  void made(const SeenTensor& tensor, const std::string& by) {
    if (tensor.memory) made_.push_back({tensor, by});
  }
  [[nodiscard]] bool knows(const SeenTensor& tensor) const {
    for (const Made& each : made_)
      if (each.tensor.memory == tensor.memory) return true;
    return false;
  }
  [[nodiscard]] std::string source_of(const SeenTensor& tensor) const {
    for (std::size_t i = made_.size(); i-- > 0;)
      if (made_[i].tensor.memory == tensor.memory) return made_[i].by;
    return nodes_.empty() ? "" : nodes_.back().name;
  }
  /// The name with slashes, below the model's class; "_2" is added for the second call.
  [[nodiscard]] std::string named(const LayerSummary& layer) const {
    std::string name = join(layers_.front().kind, layer.name.empty() ? "" : "/", layer.name);
    for (char& c : name)
      if (c == '.') c = '/';
    const auto is_taken = [&](const std::string& wanted) {
      for (const GraphNode& node : nodes_)
        if (node.name == wanted) return true;
      return false;
    };
    if (!is_taken(name)) return name;
    int call = 2;
    while (is_taken(join(name, "_", call))) ++call;
    return join(name, "_", call);
  }

  const std::vector<LayerSummary>& layers_;
  const std::vector<LayerId>& ids_;
  std::vector<Call> open_;
  std::vector<GraphNode> nodes_;
  std::vector<Made> made_;
};

/// The graph of one call of a model on plain inputs.
template <class M, class... X>
[[nodiscard]] std::vector<GraphNode> model_graph(const M& model, const X&... inputs) {
  using T = value_of<M>;
  using D = device_of<M>;
  SummaryWalk<T, D> walk;
  walk_members<Depth::all, T, D>(model, "", walk);
  GraphObserver observer(walk.layers, walk.ids);
  call_observed(observer, model, inputs...);
  return observer.nodes();
}

}}}  // namespace locus::LOCUS_ABI::nn::detail
