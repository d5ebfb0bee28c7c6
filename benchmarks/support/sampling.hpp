#pragma once
// Times several cases in turns, so that other load on the machine affects all of them alike.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

/// A case to time.
class Timed {
 public:
  virtual ~Timed() = default;
  /// Runs the case `times` times and waits until all runs are finished.
  virtual void run(std::int64_t times) = 0;

  [[nodiscard]] double seconds(std::int64_t times) {
    const auto start = std::chrono::steady_clock::now();
    run(times);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / static_cast<double>(times);
  }
};

/// Seconds of one run, over all samples.
struct Quantiles {
  double median = 0, p10 = 0, p90 = 0;
  std::int64_t samples = 0;
};

[[nodiscard]] inline Quantiles quantiles(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    const double position = share * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, samples.size() - 1);
    return samples[below] + (position - static_cast<double>(below)) * (samples[above] - samples[below]);
  };
  return {at(0.5), at(0.1), at(0.9), static_cast<std::int64_t>(samples.size())};
}

/// Samples all `cases` in turns, for about `min_seconds` each. A sample repeats its case long enough to hide the cost
/// of the clock. A case that takes longer is still sampled three times.
[[nodiscard]] inline std::vector<Quantiles> measure_in_turns(const std::vector<Timed*>& cases, double min_seconds) {
  constexpr int wanted = 15, at_least = 3;
  std::vector<std::int64_t> times, counts;
  for (Timed* timed : cases) {
    (void)timed->seconds(1);  // warm-up: loads code, memory and library handles
    double once = timed->seconds(1);
    if (once < min_seconds / 50) once = timed->seconds(10);
    const double sample = min_seconds / wanted;
    times.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(sample / once)));
    counts.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(min_seconds / once), at_least, wanted));
  }
  std::vector<std::vector<double>> samples(cases.size());
  for (std::int64_t turn = 0; turn < wanted; ++turn) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (turn < counts[i]) samples[i].push_back(cases[i]->seconds(times[i]));
    }
  }
  std::vector<Quantiles> result;
  for (auto& of_case : samples) result.push_back(quantiles(std::move(of_case)));
  return result;
}
