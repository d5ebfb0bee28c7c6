#pragma once
// Elapsed time. (<chrono> would cost every file that includes Locus 0.1 s with g++ and 0.3 s with nvcc.)

#include <locus/core/config.hpp>

#include <ctime>

namespace locus::inline LOCUS_ABI {

/// Runs from its construction.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const { return now() - start_; }

 private:
  [[nodiscard]] static double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double start_ = now();
};

}  // namespace locus::inline LOCUS_ABI
