#pragma once
// What happened in training, epoch by epoch: as numbers, as a table, as JSON, and as curves.

#include <locus/core/check.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace locus::inline LOCUS_ABI {

struct EpochRecord {
  int epoch = 0;  ///< counted from 1
  double learning_rate = 0;
  double train_loss = 0;  ///< mean over the samples while they were trained on
  double valid_loss = 0;
  double valid_accuracy = 0;  ///< in [0, 1]
  double seconds = 0;         ///< of training; validation not included
  double images_per_second = 0;
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

  /// A line per epoch under a heading. Numbers too long for their column are rounded and written as powers of ten.
  [[nodiscard]] std::string table() const {
    std::string text = "epoch      lr   train loss   valid loss   valid accuracy   seconds   images/s\n";
    for (const auto& r : records_) {
      char epoch[16];
      std::snprintf(epoch, sizeof epoch, "%5d", r.epoch);
      text += join(epoch, general(r.learning_rate, 8, 3), fixed(r.train_loss, 13, 4), fixed(r.valid_loss, 13, 4),
                   fixed(100 * r.valid_accuracy, 16, 2), "%", fixed(r.seconds, 10, 2),
                   fixed(r.images_per_second, 11, 0), "\n");
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
