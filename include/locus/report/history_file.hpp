#pragma once
// A training history as a file: JSON, or curves of loss and accuracy.

#include <locus/io/json.hpp>
#include <locus/report/plot.hpp>
#include <locus/training/history.hpp>

#include <optional>

namespace locus { inline namespace LOCUS_ABI { namespace io {

namespace detail {
/// The costs of an epoch's training.
inline void write_costs(JsonWriter& json, const EpochRecord& r) {
  json.member("batches", r.batches).member("data_seconds", r.data_seconds);
  json.key("memory")
      .begin_object()
      .member("allocated_bytes", r.memory.allocated_bytes)
      .member("peak_bytes", r.memory.peak_bytes)
      .member("reserved_bytes", r.memory.reserved_bytes)
      .member("requests", r.memory.requests)
      .member("system_allocations", r.memory.system_allocations)
      .end_object();
  if (r.gpu_utilization == r.gpu_utilization) json.member("gpu_utilization", r.gpu_utilization);
  if (r.operations > 0) json.member("operations", r.operations);
  if (r.peak > 0) json.member("peak", r.peak).member("share_of_peak", r.share_of_peak());
}
}  // namespace detail

/// Writes an array of objects: epoch, learning_rate, train_loss, valid_loss, valid_accuracy where there is one,
/// seconds, samples_per_second, batches, data_seconds, the device's memory in an object `memory`, gpu_utilization where
/// it is known, operations, peak and share_of_peak where a peak was given, and the metrics by name in an object
/// `metrics`. throws DataError if the file cannot be written
inline void write_history(const std::string& path, const History& history) {
  JsonWriter json;
  json.begin_array();
  for (const auto& r : history.records()) {
    json.begin_object()
        .member("epoch", r.epoch)
        .member("learning_rate", r.learning_rate)
        .member("train_loss", r.train_loss)
        .member("valid_loss", r.valid_loss);
    if (locus::detail::has_accuracy(r)) json.member("valid_accuracy", r.valid_accuracy);
    json.member("seconds", r.seconds).member("samples_per_second", r.samples_per_second);
    if (r.batches > 0) detail::write_costs(json, r);
    if (!r.metrics.empty()) {
      json.key("metrics").begin_object();
      for (const auto& metric : r.metrics) json.member(metric.name, metric.value);
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
  write_file_atomically(path, json.text());
}

/// The line below the title of curves; empty members are left out.
struct PlotLabels {
  std::string data = {};                     ///< "10,000 drawn digits"
  std::string model = {};                    ///< "784-32-10"
  std::optional<double> test_accuracy = {};  ///< in [0, 1]
};

namespace detail {
/// "784-32-10 on drawn digits · test accuracy 96.12 % · final validation accuracy 95.80 %"
[[nodiscard]] inline std::string subtitle_of(const PlotLabels& labels, const History& history) {
  std::string text = labels.model;
  const auto add = [&text](const std::string& part) { text += join(text.empty() || part.empty() ? "" : " · ", part); };
  if (labels.model.empty()) text = labels.data;
  else if (!labels.data.empty()) text += " on " + labels.data;
  if (labels.test_accuracy) add(join("test accuracy ", plot::detail::fixed(100 * *labels.test_accuracy, 2), " %"));
  if (!history.empty() && locus::detail::has_accuracy(history.last()))
    add(join("final validation accuracy ", plot::detail::fixed(100 * history.last().valid_accuracy, 2), " %"));
  return text;
}

/// Marks the epochs where the learning rate changes, unless the marks are too many to read.
inline void mark_learning_rates(plot::Panel& panel, const History& history) {
  constexpr int most = 5;
  const auto& records = history.records();
  const auto for_each_change = [&](auto visit) {
    for (std::size_t i = 1; i < records.size(); ++i)
      if (records[i].learning_rate != records[i - 1].learning_rate) visit(records[i]);
  };
  int changes = 0;
  for_each_change([&](const EpochRecord&) { ++changes; });
  if (changes > most) return;
  for_each_change([&](const EpochRecord& r) { panel.mark(r.epoch, join("lr ", r.learning_rate)); });
}
}  // namespace detail

namespace detail {
/// The curves of the loss, and of the accuracy where there is one.
[[nodiscard]] inline plot::Figure figure_of(const History& history, const std::string& title,
                                            const PlotLabels& labels) {
  std::vector<double> epochs, train_loss, valid_loss, accuracy;
  for (const auto& r : history.records()) {
    epochs.push_back(r.epoch);
    train_loss.push_back(r.train_loss);
    valid_loss.push_back(r.valid_loss);
    accuracy.push_back(100 * r.valid_accuracy);
  }
  plot::Figure figure(title, subtitle_of(labels, history));
  const bool classifies = locus::detail::show_accuracy(history.records());
  auto& loss =
      figure.panel("Loss", {.label = "epoch", .integer = true}, {.label = classifies ? "cross-entropy" : "loss"})
          .line("training", epochs, train_loss)
          .line("validation", epochs, valid_loss);
  mark_learning_rates(loss, history);
  if (classifies) {
    auto& accuracies = figure.panel("Accuracy", {.label = "epoch", .integer = true}, {.label = "accuracy", .unit = "%"})
                           .line("validation", epochs, accuracy, {.colour = 1});
    mark_learning_rates(accuracies, history);
  }
  return figure;
}
}  // namespace detail

/// Writes the curves of the loss, and of the accuracy where an epoch has one, over the epochs as SVG, with a gap for
/// epochs without accuracy, and a mark where the learning rate changes. throws DataError if the file cannot be written
///
///     io::plot_history("curves.svg", history, "Digits", {.data = "MNIST", .model = "784-32-10"});
inline void plot_history(const std::string& path, const History& history, const std::string& title,
                         const PlotLabels& labels = {}) {
  detail::figure_of(history, title, labels).write(path);
}

}}}  // namespace locus::LOCUS_ABI::io
