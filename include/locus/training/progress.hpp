#pragma once
// Reports of fit during an epoch.

#include <locus/device/trace/launch_log.hpp>
#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// Progress of training after a batch. With several ranks, reported on rank 0.
struct Progress {
  int epoch;                    ///< counted from 1
  std::int64_t batch, batches;  ///< done, of the epoch
  double samples_per_second;
  double loss;  ///< mean over the samples of the epoch so far; read from the device only every `report_every` batches
  double learning_rate = 0;
  double seconds = 0;                          ///< of the epoch so far
  double data_seconds = 0;                     ///< of them, until the loader had the next batch
  MemoryStats memory = {};                     ///< of the device
  double gpu_utilization = __builtin_nan("");  ///< in [0, 1], recent; NaN if unknown
  double operations = 0;                       ///< of the epoch's products and convolutions so far, by LaunchCounts
  double peak = 0;                             ///< FitOptions::peak

  /// Batches done since the first epoch, where all epochs have as many.
  [[nodiscard]] std::int64_t step() const { return (epoch - 1) * batches + batch; }
  /// operations / seconds / peak; NaN where no peak was given.
  [[nodiscard]] double share_of_peak() const { return detail::share_of_peak(operations, seconds, peak); }
};

}}  // namespace locus::LOCUS_ABI
