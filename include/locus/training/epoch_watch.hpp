#pragma once
// Measures an epoch of training: time, waiting for data, memory.

#include <locus/core/std/bounds.hpp>
#include <locus/core/std/posix.hpp>
#include <locus/cuda/nvml.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/device/trace/phase_trace.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Runs from its construction.
template <class D>
class EpochWatch {
 public:
  explicit EpochWatch(D device) : device_(device), before_(memory_stats(device)) {}

  /// Calls f(), which waits for a batch; times it as waiting and returns its result.
  template <class F>
  decltype(auto) waiting(const F& f) {
    const Phase phase("data");
    const Waiting waiting{data_seconds_, {}};
    return f();
  }
  [[nodiscard]] double seconds() const { return watch_.seconds(); }
  [[nodiscard]] double data_seconds() const { return data_seconds_; }
  /// Operations of products, on this thread.
  [[nodiscard]] double operations() const { return log_.counts().operations; }

  /// Memory of the device now; requests and system allocations count from the beginning of the epoch.
  [[nodiscard]] MemoryStats memory() const {
    MemoryStats now = memory_stats(device_);
    now.requests -= before_.requests;
    now.system_allocations -= before_.system_allocations;
    return now;
  }

  /// Samples the device's utilization; NaN if unknown.
  double sample_utilization() {
    const double now = utilization_of(device_);
    if (now == now) {
      busy_ += now;
      ++sampled_;
    }
    return now;
  }
  /// Mean of the known samples; NaN if there are none.
  [[nodiscard]] double utilization() const { return busy_ / static_cast<double>(sampled_); }

 private:
  struct Waiting {
    double& seconds;
    Stopwatch watch;
    ~Waiting() { seconds += watch.seconds(); }
  };
  template <class Other> [[nodiscard]] static double utilization_of(Other) { return __builtin_nan(""); }
  [[nodiscard]] static double utilization_of(Cuda device) { return cuda::utilization(device); }

  D device_;
  MemoryStats before_;
  LaunchLog log_;
  Stopwatch watch_;
  double data_seconds_ = 0, busy_ = 0;
  int sampled_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::detail
