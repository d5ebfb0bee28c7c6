#include "measure.hpp"

#include <locus/core/check.hpp>
#include <locus/core/std/posix.hpp>

#include <algorithm>

namespace bench {

double Meter::wall_seconds(const std::function<void()>& run, std::int64_t times) {
  synchronize();
  const locus::Stopwatch watch;
  for (std::int64_t i = 0; i < times; ++i) run();
  synchronize();
  return watch.seconds() / static_cast<double>(times);
}

namespace {

class CpuMeter final : public Meter {
 public:
  void synchronize() override {}
  void sample(const std::function<void()>& run, std::int64_t times, bool, Samples& samples) override {
    samples.wall.push_back(wall_seconds(run, times));
  }
};

}  // namespace

std::unique_ptr<Meter> cpu_meter() { return std::make_unique<CpuMeter>(); }

template <class F>
void Measurement::attempt(Result& result, const F& f) {
  if (!result.problem.empty()) return;
  try {
    f();
  } catch (const std::exception& error) {
    result.problem = error.what();
  }
}

Measurement::Measurement(const Workload& workload, Meter& meter, double sample_seconds)
    : workload_(workload), meter_(meter) {
  Result unprepared{{"locus", {}, {}, 0}, 1, {}, 0, ""};
  attempt(unprepared, [&] {
    for (auto& variant : workload.prepare()) results_.push_back({std::move(variant), 1, {}, 0, ""});
  });
  if (!unprepared.problem.empty()) results_ = {std::move(unprepared)};
  for (auto& result : results_) attempt(result, [&] { try_out(result, sample_seconds); });
}

/// Checks the result, then sets the runs per sample, at most 100: a GPU's stream must queue them all.
void Measurement::try_out(Result& result, double sample_seconds) {
  result.error = result.variant.error();
  if (!(result.error <= 1)) {
    result.problem = locus::join("wrong: off by ", result.error, " times what rounding allows");
    return;
  }
  double once = meter_.wall_seconds(result.variant.run, 1);
  if (once < sample_seconds / 20) once = meter_.wall_seconds(result.variant.run, 10);
  result.times = std::clamp<std::int64_t>(static_cast<std::int64_t>(sample_seconds / once), 1, 100);
}

void Measurement::take(int turns) {
  for (auto& result : results_) {
    result.samples = {};
    attempt(result, [&] { (void)meter_.wall_seconds(result.variant.run, 1); });  // warm-up after other programs
  }
  for (int turn = 0; turn < turns; ++turn) {
    for (auto& result : results_) {
      attempt(result, [&] { meter_.sample(result.variant.run, result.times, workload_.blocks, result.samples); });
    }
  }
}

}  // namespace bench
