#pragma once
// What happened in training, epoch by epoch: as numbers, as a table, as JSON, and as curves.

#include <locus/core/check.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace locus::inline LOCUS_ABI {

struct MetricValue {
  std::string name;
  double value = 0;  ///< mean over the samples
};

namespace detail {
/// throws ArgumentError for a name that was not measured
[[nodiscard]] LOCUS_OUT_OF_LINE inline double value_of_metric(const std::vector<MetricValue>& metrics,
                                                              std::string_view name) {
  std::string names;
  for (const auto& metric : metrics) {
    if (metric.name == name) return metric.value;
    names += join(names.empty() ? "" : ", ", metric.name);
  }
  fail<ArgumentError>({"there is no metric '", name, "'; there are: ", names.empty() ? "none" : names});
}
}  // namespace detail

struct EpochRecord {
  int epoch = 0;  ///< counted from 1
  double learning_rate = 0;
  double train_loss = 0;  ///< mean over the samples while they were trained on
  double valid_loss = 0;
  double valid_accuracy = 0;  ///< in [0, 1]; NaN where a loss was given
  double seconds = 0;         ///< of training; validation not included
  double samples_per_second = 0;
  std::vector<MetricValue> metrics = {};  ///< of the validation

  /// throws ArgumentError for a name that was not measured
  [[nodiscard]] double metric(std::string_view name) const { return detail::value_of_metric(metrics, name); }
};

/// The records of all epochs, in order. Write it with io/history.hpp: as JSON, or as a plot.
class History {
 public:
  void add(const EpochRecord& record) { records_.push_back(record); }
  [[nodiscard]] const std::vector<EpochRecord>& records() const { return records_; }
  [[nodiscard]] bool empty() const { return records_.empty(); }
  [[nodiscard]] const EpochRecord& last() const {
    if (empty()) fail<IndexError>({"history: no epoch has been recorded yet"});
    return records_.back();
  }

  /// A line per epoch under a heading: with the accuracy where there is one, and the metrics of the first epoch.
  /// Numbers too long for their column are rounded and written as powers of ten.
  [[nodiscard]] std::string table() const {
    const bool has_accuracy = empty() || records_[0].valid_accuracy == records_[0].valid_accuracy;
    std::vector<std::string> names;
    if (!empty())
      for (const auto& metric : records_[0].metrics)
        if (!has_accuracy || metric.name != "accuracy") names.push_back(metric.name);
    std::string text = join("epoch      lr   train loss   valid loss", has_accuracy ? "   valid accuracy" : "");
    for (const auto& name : names) text += "   " + std::string(name.size() < 10 ? 10 - name.size() : 0, ' ') + name;
    text += "   seconds   samples/s\n";
    for (const auto& r : records_) {
      char epoch[16];
      std::snprintf(epoch, sizeof epoch, "%5d", r.epoch);
      text += join(epoch, general(r.learning_rate, 8, 3), fixed(r.train_loss, 13, 4), fixed(r.valid_loss, 13, 4));
      if (has_accuracy) text += fixed(100 * r.valid_accuracy, 16, 2) + "%";
      for (const auto& name : names)
        text += fixed(r.metric(name), 3 + static_cast<int>(name.size() < 10 ? 10 : name.size()), 4);
      text += join(fixed(r.seconds, 10, 2), fixed(r.samples_per_second, 12, 0), "\n");
    }
    return text;
  }

 private:
  /// Right-aligned in a column, with at least a space before it and so many digits after the point.
  [[nodiscard]] static std::string fixed(double number, int width, int digits) {
    char text[400];  // room for any number
    const int length = std::snprintf(text, sizeof text, "%*.*f", width, digits, number);
    return length > width || text[0] != ' ' ? general(number, width, 4) : text;
  }
  /// The same with so many significant digits, or with fewer where these do not fit.
  [[nodiscard]] static std::string general(double number, int width, int digits) {
    char text[64];
    int length = std::snprintf(text, sizeof text, "%*.*g", width, digits, number);
    while (digits > 1 && (length > width || text[0] != ' '))
      length = std::snprintf(text, sizeof text, "%*.*g", width, --digits, number);
    return text;
  }

  std::vector<EpochRecord> records_;
};

}  // namespace locus::inline LOCUS_ABI
