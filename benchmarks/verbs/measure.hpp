#pragma once
// Samples of time of the variants of a workload, in turns.

#include "workload.hpp"

#include <memory>

namespace bench {

/// Seconds for one run.
struct Samples {
  std::vector<double> wall;  ///< wall time, from the first of many runs until all are finished
  std::vector<double> gpu;   ///< between events of the GPU
  std::vector<double> host;  ///< the host's time to enqueue a run
};

/// A clock, and synchronization with the timed work.
class Meter {
 public:
  virtual ~Meter() = default;
  virtual void synchronize() = 0;
  /// Adds a sample of `times` runs.
  virtual void sample(const std::function<void()>& run, std::int64_t times, bool blocks, Samples& samples) = 0;
  /// Seconds of one run, the mean of `times` runs.
  [[nodiscard]] double wall_seconds(const std::function<void()>& run, std::int64_t times);
};
/// The clock of the host, for work that is done when its function returns.
[[nodiscard]] std::unique_ptr<Meter> cpu_meter();

/// A workload with its operands in memory.
class Measurement {
 public:
  struct Result {
    Variant variant;
    std::int64_t times = 1;  ///< runs per sample
    Samples samples;
    double error = 0;
    std::string problem;  ///< reason why the time is void; empty: the time counts
  };

  /// Prepares the operands, and checks and tries each variant. A failure becomes the `problem` of its result.
  Measurement(const Workload& workload, Meter& meter, double sample_seconds);
  /// Samples every variant `turns` times, in turns, and discards earlier samples.
  void take(int turns);

  [[nodiscard]] const Workload& workload() const { return workload_; }
  [[nodiscard]] const std::vector<Result>& results() const { return results_; }

 private:
  template <class F>
  void attempt(Result& result, const F& f);
  void try_out(Result& result, double sample_seconds);

  Workload workload_;
  Meter& meter_;
  std::vector<Result> results_;
};

}  // namespace bench
