#pragma once
// Records of training, epoch by epoch: as numbers, as a table, as JSON, and as curves.

#include <locus/core/check.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/device/trace/launch_trace.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace locus { inline namespace LOCUS_ABI {

struct MetricValue {
  std::string name;
  double value = 0;  ///< mean over the samples
};

namespace detail {
/// "12.3 Munit", with three digits
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string scaled(double value, const char* unit) {
  const char* const prefix = scale(value);
  char text[64];
  std::snprintf(text, sizeof text, "%.3g %s%s", value, prefix, unit);
  return text;
}
/// The metric of a name; null if it was not measured.
[[nodiscard]] inline const MetricValue* find_metric(const std::vector<MetricValue>& metrics, std::string_view name) {
  for (const auto& metric : metrics)
    if (metric.name == name) return &metric;
  return nullptr;
}
/// throws ArgumentError for a name that was not measured
[[nodiscard]] LOCUS_OUT_OF_LINE inline double value_of_metric(const std::vector<MetricValue>& metrics,
                                                              std::string_view name) {
  if (const MetricValue* const found = find_metric(metrics, name)) return found->value;
  std::string names;
  for (const auto& metric : metrics) names += join(names.empty() ? "" : ", ", metric.name);
  fail<ArgumentError>({"there is no metric '", name, "'; there are: ", names.empty() ? "none" : names});
}
}  // namespace detail

struct EpochRecord {
  int epoch = 0;  ///< counted from 1
  double learning_rate = 0;
  double train_loss = 0;  ///< mean over the samples while they were trained on
  double valid_loss = 0;
  double valid_accuracy = 0;  ///< in [0, 1]; NaN if a loss was given without a metric of that name
  double seconds = 0;         ///< of training; validation not included
  double samples_per_second = 0;
  std::vector<MetricValue> metrics = {};  ///< of the validation

  // Numbers of training; of several ranks, the largest.
  std::int64_t batches = 0;  ///< of an epoch
  double data_seconds = 0;   ///< of `seconds`, until the loader had the next batch
  /// Memory of the device at the end of training, before the validation. Requests count from the epoch's beginning, the
  /// peak from the program's.
  MemoryStats memory = {};
  double gpu_utilization = __builtin_nan("");  ///< in [0, 1], mean of samples; NaN if unknown
  double operations = 0;  ///< of products and convolutions, by LaunchCounts; of several ranks, of all
  double peak = 0;        ///< FitOptions::peak; of several ranks, of all

  /// operations / seconds / peak; NaN where no peak was given.
  [[nodiscard]] double share_of_peak() const { return detail::share_of_peak(operations, seconds, peak); }

  /// throws ArgumentError for a name that was not measured
  [[nodiscard]] double metric(std::string_view name) const { return detail::value_of_metric(metrics, name); }
};

namespace detail {
[[nodiscard]] inline bool has_accuracy(const EpochRecord& record) {
  return record.valid_accuracy == record.valid_accuracy;
}
/// Whether any record has an accuracy, or there are no records yet.
[[nodiscard]] inline bool show_accuracy(const std::vector<EpochRecord>& records) {
  for (const auto& record : records)
    if (has_accuracy(record)) return true;
  return records.empty();
}
}  // namespace detail

/// The records of all epochs, in order, of one call of fit or several. Write it with report/history_file.hpp: as JSON,
/// or as a plot.
class History {
 public:
  void add(const EpochRecord& record) { records_.push_back(record); }
  [[nodiscard]] const std::vector<EpochRecord>& records() const { return records_; }
  /// Adds a number to the last epoch's record: of another model than the trained one, for example.
  /// throws IndexError before the first epoch
  void add_metric(std::string name, double value) {
    (void)last();
    records_.back().metrics.push_back({std::move(name), value});
  }
  [[nodiscard]] bool empty() const { return records_.empty(); }
  [[nodiscard]] const EpochRecord& last() const {
    if (empty()) fail<IndexError>({"history: no epoch has been recorded yet"});
    return records_.back();
  }

  /// A line per epoch under a heading: with the accuracy and the metrics of any epoch, blank in the others. Numbers too
  /// long for their column are rounded and written as powers of ten.
  [[nodiscard]] std::string table() const {
    const bool shows_accuracy = detail::show_accuracy(records_);
    const std::vector<MetricValue> metrics = columns();
    std::string text = join("epoch      lr   train loss   valid loss", shows_accuracy ? "   valid accuracy" : "");
    for (const auto& column : metrics) text += std::string(width_of(column) - column.name.size(), ' ') + column.name;
    text += "   seconds   samples/s\n";
    for (const auto& r : records_) {
      char epoch[16];
      std::snprintf(epoch, sizeof epoch, "%5d", r.epoch);
      text += join(epoch, general(r.learning_rate, 8, 3), fixed(r.train_loss, 13, 4), fixed(r.valid_loss, 13, 4));
      if (shows_accuracy)
        text += detail::has_accuracy(r) ? fixed(100 * r.valid_accuracy, 16, 2) + "%" : std::string(17, ' ');
      for (const auto& column : metrics) {
        const MetricValue* const metric = detail::find_metric(r.metrics, column.name);
        text +=
            metric ? fixed(metric->value, static_cast<int>(width_of(column)), 4) : std::string(width_of(column), ' ');
      }
      text += join(fixed(r.seconds, 10, 2), fixed(r.samples_per_second, 12, 0), "\n");
    }
    return text;
  }

  /// Cost of training, a line per epoch: how long a step waited for its batch, in milliseconds and as a share; bytes of
  /// tensors on the device at the end and at most; how many tensors requested memory, and how many allocations the
  /// system served. Blank for epochs without these numbers. If known, also the share of the peak and the utilization of
  /// the GPU.
  [[nodiscard]] LOCUS_OUT_OF_LINE std::string cost_table() const {
    bool shows_gpu = false, shows_peak = false;
    for (const auto& r : records_) {
      shows_gpu |= r.gpu_utilization == r.gpu_utilization;
      shows_peak |= r.share_of_peak() == r.share_of_peak();
    }
    std::string text =
        "epoch   seconds   samples/s   wait/step   waiting     memory       peak   tensors   allocations";
    text += join(shows_peak ? "   of peak" : "", shows_gpu ? "     GPU" : "", "\n");
    for (const auto& r : records_) {
      char line[400];
      std::snprintf(line, sizeof line, "%5d", r.epoch);
      text += join(line, fixed(r.seconds, 10, 2), fixed(r.samples_per_second, 12, 0));
      if (r.batches > 0) {
        std::snprintf(line, sizeof line, "%9.3f ms%9.1f%%%11s%11s%10lld%14lld",
                      1e3 * r.data_seconds / static_cast<double>(r.batches), 100 * r.data_seconds / r.seconds,
                      detail::scaled(static_cast<double>(r.memory.allocated_bytes), "B").c_str(),
                      detail::scaled(static_cast<double>(r.memory.peak_bytes), "B").c_str(),
                      static_cast<long long>(r.memory.requests), static_cast<long long>(r.memory.system_allocations));
        text += line;
      }
      if (r.share_of_peak() == r.share_of_peak()) text += fixed(100 * r.share_of_peak(), 9, 1) + "%";
      else if (shows_peak && r.gpu_utilization == r.gpu_utilization) text += std::string(10, ' ');
      if (r.gpu_utilization == r.gpu_utilization) text += fixed(100 * r.gpu_utilization, 7, 0) + "%";
      text += "\n";
    }
    return text;
  }

 private:
  /// One metric of each name, in order of appearance, without the accuracy that has a column of its own.
  [[nodiscard]] std::vector<MetricValue> columns() const {
    std::vector<MetricValue> found;
    for (const auto& r : records_)
      for (const auto& metric : r.metrics)
        if (!(detail::has_accuracy(r) && metric.name == "accuracy") && !detail::find_metric(found, metric.name))
          found.push_back(metric);
    return found;
  }
  [[nodiscard]] static std::size_t width_of(const MetricValue& column) {
    return 3 + detail::larger(column.name.size(), std::size_t{10});
  }
  /// A number right-aligned in a column, with at least a space before it and `digits` digits after the point.
  [[nodiscard]] static std::string fixed(double number, int width, int digits) {
    char text[400];  // room for any number
    const int length = std::snprintf(text, sizeof text, "%*.*f", width, digits, number);
    return length > width || text[0] != ' ' ? general(number, width, 4) : text;
  }
  /// A number with `digits` significant digits, or fewer if these do not fit.
  [[nodiscard]] static std::string general(double number, int width, int digits) {
    char text[64];
    int length = std::snprintf(text, sizeof text, "%*.*g", width, digits, number);
    while (digits > 1 && (length > width || text[0] != ' '))
      length = std::snprintf(text, sizeof text, "%*.*g", width, --digits, number);
    return text;
  }

  std::vector<EpochRecord> records_;
};

}}  // namespace locus::LOCUS_ABI
