#pragma once
// Curves, histograms, images, texts and hyperparameters for TensorBoard, without Python.

#include <locus/io/png.hpp>
#include <locus/nn/model_graph.hpp>
#include <locus/report/event_file.hpp>
#include <locus/report/named_value.hpp>
#include <locus/training/history.hpp>
#include <locus/training/progress.hpp>

#include <initializer_list>

namespace locus { inline namespace LOCUS_ABI { namespace io {

namespace detail {
/// DataType of tensorboard/plugins/hparams/api.proto: a text, a truth value, a number.
template <class V>
inline constexpr std::uint64_t hyper_parameter_type = std::is_same_v<V, bool>   ? 2
                                                      : std::is_arithmetic_v<V> ? 3
                                                                                : 1;
}  // namespace detail

struct TensorBoardOptions {
  /// First step that a resumed run writes again. TensorBoard hides events at this step and later ones in earlier files
  /// of the folder, under any tag, as with PyTorch's SummaryWriter(purge_step=...). -1: hides nothing
  std::int64_t purge_step = -1;
};

/// Writes an event file that TensorBoard shows (tensorboard --logdir FOLDER), also while it is written: every call adds
/// a whole record. The records of a killed process stay. Copies share the file. Several threads may add to it.
///
/// It is a callback of fit: after an epoch it adds loss/train, loss/valid, accuracy/valid, valid/NAME of each metric,
/// learning_rate, samples_per_second, and the costs of training: cost/wait_per_step in seconds, cost/memory and
/// cost/peak_memory in bytes, cost/tensors, cost/allocations, cost/gpu_utilization,
/// cost/operations_per_second, cost/share_of_peak; as on_progress, it adds step/loss, step/learning_rate and
/// step/samples_per_second, by the number of the step. With several ranks, give it to one.
///
///     io::TensorBoard board("runs/mnist");
///     fit(model, optimizer, train, valid, history, {.epochs = 5, .on_progress = board, .on_epoch = board});
///
/// A run that resumes after it was killed repeats the steps after its last save: purge_step hides the old events.
/// Epochs and steps count differently, so that their events need separate folders.
///
///     io::resume_training("run.safetensors", model, optimizer, train, history);
///     const std::int64_t step = std::int64_t(train.position().epoch) * train.size() + train.position().batch;
///     io::TensorBoard epochs("runs/mnist", {.purge_step = std::int64_t(history.records().size()) + 1});
///     io::TensorBoard steps("runs/mnist/steps", {.purge_step = step + 1});
///     fit(model, optimizer, train, valid, history, {.on_progress = steps, .on_epoch = epochs});
///
/// Events that cannot be written after the constructor, as to a full disk, are lost: training goes on, stderr reports
/// it once, and the file keeps its whole records.
class TensorBoard {
 public:
  /// Creates a new event file in the folder, which is created if missing. throws DataError if either fails;
  /// ArgumentError for a purge_step below -1
  explicit TensorBoard(const std::string& folder, const TensorBoardOptions& options = {}) {
    if (options.purge_step < -1)
      fail<ArgumentError>({"TensorBoard: purge_step is ", options.purge_step, "; expected a step, or -1 for none"});
    detail::make_folders(folder);
    file_ = Shared(new detail::EventFile(detail::event_file_in(folder)));
    if (options.purge_step >= 0) file_->add_start(options.purge_step);
  }

  /// Path of the event file.
  [[nodiscard]] const std::string& path() const { return file_->path(); }

  /// Adds a point of a curve. Tags with a slash are grouped by the part before it. Kept as float.
  void add_scalar(std::string_view tag, double value, std::int64_t step) const {
    file_->add(step, detail::Message().bytes(1, tag).real32(2, static_cast<float>(value)));
  }

  /// Adds a histogram of values, in `buckets` equal parts of their range. NaN and infinity are left out.
  /// throws ArgumentError for less than one bucket
  ///
  ///     board.add_histogram("weight", layer.weight.value().to<Cpu>(), epoch);
  template <class T>
  void add_histogram(std::string_view tag, const Tensor<T, Cpu>& values, std::int64_t step, int buckets = 30) const {
    const Tensor<T, Cpu> dense = values.contiguous();
    std::vector<double> finite;
    finite.reserve(static_cast<std::size_t>(dense.elements()));
    for (std::int64_t i = 0; i < dense.elements(); ++i) {
      const auto value = static_cast<double>(dense.data()[i]);
      if (value - value == 0) finite.push_back(value);
    }
    add_finite(tag, finite, step, buckets);
  }

  /// Adds an image, (1 or 3, height, width). throws ShapeError for another shape
  void add_image(std::string_view tag, const Tensor<std::uint8_t, Cpu>& image, std::int64_t step) const {
    const std::string png = encode_png(image);
    const detail::Message content = detail::Message()
                                        .integer(1, static_cast<std::uint64_t>(image.size(1)))
                                        .integer(2, static_cast<std::uint64_t>(image.size(2)))
                                        .integer(3, static_cast<std::uint64_t>(image.size(0)))
                                        .bytes(4, png);
    file_->add(step, detail::Message().bytes(1, tag).message(4, content));
  }

  /// Adds a text, in Markdown.
  LOCUS_OUT_OF_LINE void add_text(std::string_view tag, std::string_view text, std::int64_t step) const {
    const detail::Message one = detail::Message().integer(1, 1);
    const detail::Message tensor =
        detail::Message().integer(1, 7).message(2, detail::Message().message(2, one)).bytes(8, text);  // DT_STRING
    file_->add(step, detail::Message().bytes(1, tag).message(8, tensor).message(9, metadata("text", "")));
  }

  /// Adds the graph of a model, for the tab GRAPHS: calls it once on plain inputs, as nn::summary does, and draws a
  /// node for each innermost layer, nested by names, with its options and output shape. Edges are the tensors that
  /// layers take and return; operations between layers are no nodes. A file shows its last graph.
  /// cost: a forward pass that keeps the result of each layer
  /// throws as the model
  ///
  ///     board.add_graph(model, images);
  template <class M, class... X>
    requires(nn::detail::ListsMembers<M> && requires(const M& model, const X&... x) { model(x...); })
  void add_graph(const M& model, const X&... inputs) const {
    add_nodes(nn::detail::model_graph(model, inputs...), to_string(get<0>(Tuple(inputs...)).device()));
  }

  /// Adds the hyperparameters and results of this run, once: a row of the table HPARAMS, which compares the runs in the
  /// folder. The metrics are also scalars at step 0.
  ///
  ///     board.add_hparams({{"lr", 0.1}, {"optimizer", "Adam"}}, {{"accuracy", 0.97}});
  LOCUS_OUT_OF_LINE void add_hparams(std::initializer_list<NamedValue> hyper_parameters,
                                     std::initializer_list<MetricValue> metrics) const {
    detail::Message experiment, start;
    for (const NamedValue& each : hyper_parameters)
      each.visit([&]<class V>(const V& value) {
        constexpr std::uint64_t type = detail::hyper_parameter_type<V>;
        detail::Message of_value;  // google.protobuf.Value
        if constexpr (std::is_same_v<V, bool>) of_value.integer(4, value);
        else if constexpr (std::is_arithmetic_v<V>) of_value.real(2, static_cast<double>(value));
        else of_value.bytes(3, value);
        experiment.message(4, detail::Message().bytes(1, each.name()).integer(4, type));
        start.message(1, detail::Message().bytes(1, each.name()).message(2, of_value));
      });
    for (const MetricValue& metric : metrics)
      experiment.message(5, detail::Message().message(1, detail::Message().bytes(2, metric.name)));
    start.real(5, detail::wall_time());
    add_session("experiment", 2, experiment);
    add_session("session_start_info", 3, start);
    add_session("session_end_info", 4, detail::Message().integer(1, 1).real(2, detail::wall_time()));  // success
    for (const MetricValue& metric : metrics) add_scalar(metric.name, metric.value, 0);
  }

  void operator()(const Progress& progress) const {
    const std::int64_t step = progress.step();
    add_scalar("step/loss", progress.loss, step);
    add_scalar("step/learning_rate", progress.learning_rate, step);
    add_scalar("step/samples_per_second", progress.samples_per_second, step);
  }
  LOCUS_OUT_OF_LINE void operator()(const EpochRecord& record) const {
    add_scalar("loss/train", record.train_loss, record.epoch);
    add_scalar("loss/valid", record.valid_loss, record.epoch);
    if (locus::detail::has_accuracy(record)) add_scalar("accuracy/valid", record.valid_accuracy, record.epoch);
    for (const MetricValue& metric : record.metrics)
      if (!(locus::detail::has_accuracy(record) && metric.name == "accuracy"))
        add_scalar("valid/" + metric.name, metric.value, record.epoch);
    add_scalar("learning_rate", record.learning_rate, record.epoch);
    add_scalar("samples_per_second", record.samples_per_second, record.epoch);
    if (record.batches == 0) return;
    add_scalar("cost/wait_per_step", record.data_seconds / static_cast<double>(record.batches), record.epoch);
    add_scalar("cost/memory", static_cast<double>(record.memory.allocated_bytes), record.epoch);
    add_scalar("cost/peak_memory", static_cast<double>(record.memory.peak_bytes), record.epoch);
    add_scalar("cost/tensors", static_cast<double>(record.memory.requests), record.epoch);
    add_scalar("cost/allocations", static_cast<double>(record.memory.system_allocations), record.epoch);
    if (record.gpu_utilization == record.gpu_utilization)
      add_scalar("cost/gpu_utilization", record.gpu_utilization, record.epoch);
    if (record.operations > 0)
      add_scalar("cost/operations_per_second", record.operations / record.seconds, record.epoch);
    if (record.share_of_peak() == record.share_of_peak())
      add_scalar("cost/share_of_peak", record.share_of_peak(), record.epoch);
  }

 private:
  /// GraphDef of tensorboard/compat/proto/graph.proto.
  LOCUS_OUT_OF_LINE void add_nodes(const std::vector<nn::detail::GraphNode>& nodes, const std::string& device) const {
    detail::Message graph;
    for (const nn::detail::GraphNode& node : nodes) {
      detail::Message written, shape;
      written.bytes(1, node.name).bytes(2, node.kind);
      for (const std::string& input : node.inputs)
        if (!input.empty()) written.bytes(3, input);
      written.bytes(4, device);
      for (const std::int64_t extent : node.output)
        shape.message(2, detail::Message().integer(1, static_cast<std::uint64_t>(extent)));
      const auto attribute = [&](const char* name, const detail::Message& value) {
        written.message(5, detail::Message().bytes(1, name).message(2, value));
      };
      attribute("_output_shapes", detail::Message().message(1, detail::Message().message(7, shape)));
      attribute("dtype", detail::Message().bytes(2, node.type));
      if (!node.options.empty()) attribute("options", detail::Message().bytes(2, node.options));
      graph.message(1, written);
    }
    file_->add_graph(graph.message(4, detail::Message().integer(1, 22)));  // VersionDef
  }
  /// SummaryMetadata: which part of TensorBoard shows a value.
  [[nodiscard]] static detail::Message metadata(std::string_view plugin, std::string_view content) {
    return detail::Message().message(1, detail::Message().bytes(1, plugin).bytes(2, content));
  }
  /// A member of HParamsPluginData.
  void add_session(const char* name, int field, const detail::Message& content) const {
    const detail::Message data = detail::Message().message(field, content);
    file_->add(0, detail::Message().bytes(1, join("_hparams_/", name)).message(9, metadata("hparams", data.text())));
  }
  LOCUS_OUT_OF_LINE void add_finite(std::string_view tag, const std::vector<double>& values, std::int64_t step,
                                    int buckets) const {
    if (buckets < 1) fail<ArgumentError>({"TensorBoard: a histogram of ", buckets, " buckets; expected 1 or more"});
    double low = values.empty() ? 0 : values[0], high = low, sum = 0, squares = 0;
    for (const double value : values) {
      low = locus::detail::smaller(low, value);
      high = locus::detail::larger(high, value);
      sum += value;
      squares += value * value;
    }
    const double range = high - low;
    const bool divides = range > 0 && range - range == 0;  // false: all are equal, or too far apart for a double
    const auto parts = static_cast<std::size_t>(divides ? buckets : 1);
    std::vector<double> limits(parts), counts(parts);
    for (std::size_t i = 1; i < parts; ++i) limits[i - 1] = low + range * static_cast<double>(i) / buckets;
    limits.back() = high;
    for (const double value : values) {
      const double at = divides ? (value - low) / range * buckets : 0;
      counts[locus::detail::smaller(static_cast<std::size_t>(at), parts - 1)] += 1;
    }
    const detail::Message content = detail::Message()
                                        .real(1, low)
                                        .real(2, high)
                                        .real(3, static_cast<double>(values.size()))
                                        .real(4, sum)
                                        .real(5, squares)
                                        .reals(6, limits)
                                        .reals(7, counts);
    file_->add(step, detail::Message().bytes(1, tag).message(5, content));
  }

  Shared<detail::EventFile> file_;
};

}}}  // namespace locus::LOCUS_ABI::io
