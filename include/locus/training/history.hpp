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

  /// A line per epoch under a heading.
  [[nodiscard]] std::string table() const {
    std::string text = "epoch      lr   train loss   valid loss   valid accuracy   seconds   images/s\n";
    for (const auto& r : records_) {
      char line[512];  // room for any numbers
      std::snprintf(line, sizeof line, "%5d  %6.3g   %10.4f   %10.4f   %13.2f%%   %7.2f   %8.0f\n", r.epoch,
                    r.learning_rate, r.train_loss, r.valid_loss, 100 * r.valid_accuracy, r.seconds,
                    r.images_per_second);
      text += line;
    }
    return text;
  }

 private:
  std::vector<EpochRecord> records_;
};

}  // namespace locus::inline LOCUS_ABI
