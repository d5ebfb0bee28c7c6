#pragma once
// Samples of time of the variants of a workload, in turns.

#include "workload.hpp"

#include <memory>

namespace bench {

/// Seconds for one run.
struct Samples {
  std::vector<double> wall;  ///< of the host, from the first of many runs until all are finished
  std::vector<double> gpu;   ///< between events of the GPU
  std::vector<double> host;  ///< that the host needs to queue it
};

/// A clock, and how to wait for what it times.
class Meter {
 public:
  virtual ~Meter() = default;
  virtual void synchronize() = 0;
  /// Adds a sample of so many runs.
  virtual void sample(const std::function<void()>& run, std::int64_t times, bool blocks, Samples& samples) = 0;
  /// Seconds of one of so many runs.
  [[nodiscard]] double wall_seconds(const std::function<void()>& run, std::int64_t times);
};
/// The clock of the host, for work that is done when its function returns.
[[nodiscard]] std::unique_ptr<Meter> cpu_meter();

/// A workload with its operands in memory.
class Measurement {
 public:
  struct Result {
    Variant variant;
    std::int64_t times = 1;  ///< runs of a sample
    Samples samples;
    double error = 0;
    std::string problem;  ///< why its time is void; empty: it counts
  };

  /// Makes the operands, and checks and tries each variant. What cannot be made or run has a problem.
  Measurement(const Workload& workload, Meter& meter, double sample_seconds);
  /// Samples every variant so many times, in turns, and forgets those before.
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
