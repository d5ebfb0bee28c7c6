#pragma once
// Counts the launches of a piece of code: the unit of the library's stated costs.

#include <locus/core/config.hpp>

#include <cstdint>

namespace locus { inline namespace LOCUS_ABI {

/// Launches of the calling thread, by verb, and replays of captured steps; a replay is one launch, whatever it
/// contains. A copy between devices is not a launch.
struct LaunchCounts {
  std::int64_t map = 0, rows = 0, reduce = 0, gemm = 0, replay = 0;
  /// Floating-point operations of matrix products and convolutions, including replays: two per multiply-add of the
  /// formula, whatever the algorithm. Other operations are not counted.
  double operations = 0;
  [[nodiscard]] constexpr std::int64_t total() const { return map + rows + reduce + gemm + replay; }
  friend constexpr LaunchCounts operator-(const LaunchCounts& a, const LaunchCounts& b) {
    return {a.map - b.map,   a.rows - b.rows,     a.reduce - b.reduce,
            a.gemm - b.gemm, a.replay - b.replay, a.operations - b.operations};
  }
};

namespace detail {
inline thread_local LaunchCounts launches;

/// Counts the operations of `count` products of (rows, depth) by (depth, cols).
inline void count_products(std::int64_t count, std::int64_t rows, std::int64_t cols, std::int64_t depth) {
  const auto factor = [](std::int64_t extent) { return static_cast<double>(extent); };
  launches.operations += 2. * factor(count) * factor(rows) * factor(cols) * factor(depth);
}
/// NaN if the peak is not known.
[[nodiscard]] inline double share_of_peak(double operations, double seconds, double peak) {
  return peak > 0 && seconds > 0 ? operations / seconds / peak : __builtin_nan("");
}
}  // namespace detail

/// Counts the launches made since it was created, on this thread, on any device.
///
///     LaunchLog log;
///     Tensor y = relu(a * b + c);
///     log.launches();   // 1
class LaunchLog {
 public:
  [[nodiscard]] LaunchCounts counts() const { return detail::launches - start_; }
  [[nodiscard]] std::int64_t launches() const { return counts().total(); }

 private:
  LaunchCounts start_ = detail::launches;
};

}}  // namespace locus::LOCUS_ABI
