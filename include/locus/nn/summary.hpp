#pragma once
// A table of a model's layers: output shapes, parameters, bytes, multiply-adds.

#include <locus/device/trace/launch_log.hpp>
#include <locus/device/trace/launch_trace.hpp>
#include <locus/nn/module.hpp>

#include <cstdio>
#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace nn {

/// A layer of a Summary. Parameters, buffers and multiply-adds are the layer's own; layers within it have their own
/// rows, and parameters that several layers share count in the first: columns add up to the totals.
struct LayerSummary {
  std::string name;               ///< full, such as "layer1.0.conv1"; empty for the model itself
  std::string kind;               ///< name of its class, such as "Conv2d"
  std::string options;            ///< as std::cout << layer shows them
  int depth = 0;                  ///< layers around it
  bool has_layers = false;        ///< whether there are layers within it
  int calls = 0;                  ///< 0: it was not called
  Shape output = {};              ///< of the last call
  std::string output_type = {};   ///< element type of the output
  std::int64_t output_bytes = 0;  ///< of all calls
  std::int64_t parameters = 0, trainable = 0, parameter_bytes = 0, buffer_bytes = 0;
  double multiply_adds = 0;  ///< of products and convolutions, in all calls
};

/// Result of summary().
struct Summary {
  std::vector<LayerSummary> layers;  ///< in the order in which members are listed, the model first
  std::int64_t parameters = 0, trainable = 0, frozen = 0;
  std::int64_t parameter_bytes = 0, buffer_bytes = 0;
  std::int64_t activation_bytes = 0;  ///< results of the layers that have no layers within them
  double multiply_adds = 0;

  /// The table, a line per layer, and the totals.
  [[nodiscard]] std::string text() const;
};
[[nodiscard]] inline std::string to_string(const Summary& summary) { return summary.text(); }
/// A summary, written as by text().
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Summary& summary) {
  return out << summary.text();
}

namespace detail {
/// Lists the layers of a model, and their own parameters and buffers.
template <class T, class D>
class SummaryWalk final : public MemberWalk<T, D> {
 public:
  std::vector<LayerSummary> layers;
  std::vector<LayerId> ids;  ///< of the layers

  void begin(const std::string& name, const LayerText& layer) override {
    if (!open_.empty()) layers[open_.back()].has_layers = true;
    LayerSummary row{name, std::string(layer_name(layer.type)), layer.options ? layer.options(layer.layer) : ""};
    row.depth = static_cast<int>(open_.size());
    open_.push_back(layers.size());
    layers.push_back(std::move(row));
    ids.push_back({layer.layer, layer.type_info});
  }
  void end() override { open_.pop_back(); }
  void parameter(const std::string&, const Parameter<T, D>& parameter) override {
    for (const auto& known : parameters_)
      if (known == parameter) return;
    parameters_.push_back(parameter);
    LayerSummary& row = layers[open_.back()];
    const std::int64_t count = elements(parameter.shape());
    row.parameters += count;
    if (parameter.requires_grad()) row.trainable += count;
    row.parameter_bytes += count * static_cast<std::int64_t>(sizeof(T));
  }
  void buffer(const std::string&, const AnyBuffer<D>& buffer) override {
    for (const auto& known : buffers_)
      if (known == buffer) return;
    buffers_.push_back(buffer);
    layers[open_.back()].buffer_bytes += buffer.bytes().elements();
  }

 private:
  std::vector<std::size_t> open_;
  std::vector<Parameter<T, D>> parameters_;
  std::vector<AnyBuffer<D>> buffers_;
};

/// The row of a layer that is called; behind the last for a layer that is not listed. Where types do not tell layers of
/// one address apart, as for a call of a base class, it is the innermost layer's.
[[nodiscard]] inline std::size_t row_of(const LayerId& called, const std::vector<LayerSummary>& layers,
                                        const std::vector<LayerId>& ids) {
  std::size_t found = layers.size();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i].address != called.address) continue;
    if (*ids[i].type == *called.type) return i;
    if (found == layers.size() || layers[i].depth > layers[found].depth) found = i;
  }
  return found;
}

/// Adds the calls of layers to their rows. A layer that stands in a model several times has its calls
/// in its first row.
class SummaryObserver final : public LayerObserver {
 public:
  SummaryObserver(std::vector<LayerSummary>& layers, const std::vector<LayerId>& ids) : layers_(layers), ids_(ids) {}

  void enter(const LayerId& layer, Span<const SeenTensor>) override {
    const std::size_t row = row_of(layer, layers_, ids_);
    const bool again = !open_.empty() && open_.back().listed == row;  // forward_with() of the layer just entered
    open_.push_back({row, again ? layers_.size() : row, locus::detail::launches.operations, 0});
  }
  void result(const SeenTensor& output) override {
    if (open_.back().row == layers_.size()) return;
    LayerSummary& row = layers_[open_.back().row];
    ++row.calls;
    row.output = output.shape;
    row.output_type = output.type;
    row.output_bytes += output.bytes;
  }
  void leave() noexcept override {
    const Open call = open_.back();
    open_.pop_back();
    const double all = locus::detail::launches.operations - call.before;
    if (call.row < layers_.size()) {
      layers_[call.row].multiply_adds += (all - call.within) / 2;
      if (!open_.empty()) open_.back().within += all;
    } else if (!open_.empty()) {  // a layer that is no member: its operations count for the layer around it
      open_.back().within += call.within;
    }
  }

 private:
  struct Open {
    std::size_t listed, row;  ///< of the layer, and that which counts; behind the last: none
    double before, within;
  };
  std::vector<LayerSummary>& layers_;
  const std::vector<LayerId>& ids_;
  std::vector<Open> open_;
};

/// Calls a model for an observer; the default generators stay.
template <class M, class... X>
void call_observed(LayerObserver& observer, const M& model, const X&... inputs) {
  const KeepGenerator<device_of<M>> numbers;
  const KeepGenerator<Cpu> of_host;
  const Observing observing(observer);
  (void)model(inputs...);
}

[[nodiscard]] LOCUS_OUT_OF_LINE inline Summary summed(std::vector<LayerSummary> layers) {
  Summary result{std::move(layers)};
  for (const LayerSummary& row : result.layers) {
    result.parameters += row.parameters;
    result.trainable += row.trainable;
    result.parameter_bytes += row.parameter_bytes;
    result.buffer_bytes += row.buffer_bytes;
    result.multiply_adds += row.multiply_adds;
    if (!row.has_layers) result.activation_bytes += row.output_bytes;
  }
  result.frozen = result.parameters - result.trainable;
  return result;
}
/// "1,234,567"
[[nodiscard]] inline std::string grouped(std::int64_t number) {
  std::string text = join(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}
}  // namespace detail

LOCUS_OUT_OF_LINE inline std::string Summary::text() const {
  constexpr std::size_t columns = 5;
  std::vector<std::string> cells{"layer", "output", "parameters", "bytes", "multiply-adds"};
  std::vector<std::string_view> around;  // names of the layers that are open
  for (const LayerSummary& row : layers) {
    const auto depth = static_cast<std::size_t>(row.depth);
    around.resize(depth);
    const std::string_view shown = depth > 0 ? detail::name_within(around.back(), row.name) : row.name;
    around.push_back(row.name);
    cells.push_back(join(std::string(2 * depth, ' '), shown, shown.empty() ? "" : ": ", row.kind));
    cells.push_back(row.calls == 0 ? "not called"
                                   : join(row.output, row.calls > 1 ? join(" x ", row.calls) : std::string()));
    cells.push_back(row.parameters > 0 ? detail::grouped(row.parameters) : "");
    const std::int64_t bytes = row.parameter_bytes + row.buffer_bytes;
    cells.push_back(bytes > 0 ? detail::grouped(bytes) : "");
    cells.push_back(row.multiply_adds > 0 ? detail::grouped(static_cast<std::int64_t>(row.multiply_adds)) : "");
  }
  std::size_t width[columns] = {};
  for (std::size_t i = 0; i < cells.size(); ++i)
    width[i % columns] = locus::detail::larger(width[i % columns], cells[i].size());
  std::string table;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string fill(width[i % columns] - cells[i].size(), ' ');
    table += i % columns < 2 ? cells[i] + fill : fill + cells[i];
    table += i % columns + 1 < columns ? "  " : "\n";
  }
  for (std::size_t at = 0; (at = table.find(" \n", at)) != std::string::npos; at = at > 0 ? at - 1 : 0)
    table.erase(at, 1);
  return table + join("parameters ", detail::grouped(parameters), ", trainable ", detail::grouped(trainable),
                      ", frozen ", detail::grouped(frozen), "\nbytes of parameters ", detail::grouped(parameter_bytes),
                      ", of buffers ", detail::grouped(buffer_bytes), ", of activations ",
                      detail::grouped(activation_bytes), "\nmultiply-adds ",
                      detail::grouped(static_cast<std::int64_t>(multiply_adds)), "\n");
}

/// Calls the model once on plain inputs, as in inference, and lists its layers: output shapes, parameters, bytes,
/// multiply-adds by the formulas of products and convolutions (LaunchCounts). Nothing is recorded, weights and running
/// statistics stay, and the default generators are restored. An activation is a row of its own, although a Sequential
/// computes it together with the layer before it. Layers that a model calls by another function than operator(),
/// forward_with() or a Sequential may show as not called; their multiply-adds then belong to the layer around them.
/// throws as the model
///
///     std::cout << nn::summary(model, randn<float>({1, 784}));
///     nn::summary(model, images).parameters
template <class M, class... X>
  requires(detail::ListsMembers<M> && detail::IsWrong<detail::CallMistake<M, X...>, detail::Wrong::nothing>)
[[nodiscard]] Summary summary(const M& model, const X&... inputs) {
  using T = value_of<M>;
  using D = device_of<M>;
  detail::SummaryWalk<T, D> walk;
  detail::walk_members<detail::Depth::all, T, D>(model, "", walk);
  detail::SummaryObserver observer(walk.layers, walk.ids);
  detail::call_observed(observer, model, inputs...);
  return detail::summed(std::move(walk.layers));
}
#include <locus/refuse/nn/summary.inc>

}}}  // namespace locus::LOCUS_ABI::nn
