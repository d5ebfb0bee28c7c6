#pragma once
// What fit tells while an epoch goes on.

#include <cstdint>

#include <locus/core/config.hpp>

namespace locus::inline LOCUS_ABI {

/// Where training stands after a batch.
struct Progress {
  int epoch;                    ///< counted from 1
  std::int64_t batch, batches;  ///< done, of the epoch
  double samples_per_second;    ///< of several ranks, of rank 0
  double loss;  ///< mean over the samples of the epoch so far; read from the device only every `report_every` batches
  double learning_rate = 0;
};

}  // namespace locus::inline LOCUS_ABI
