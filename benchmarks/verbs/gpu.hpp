#pragma once
// The GPU's clock, and NVIDIA's libraries for comparison. Defined only in programs built with CUDA.

#include "measure.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace bench {

struct GpuFacts {
  std::string name, toolkit;
  int driver = 0;  ///< newest CUDA that it supports, as 1000 * major + 10 * minor
};
[[nodiscard]] GpuFacts gpu_facts(int ordinal);
[[nodiscard]] std::int64_t level_2_bytes(int ordinal);

/// Measures the time between events in this thread's stream; all runs of a sample are enqueued before the first starts.
[[nodiscard]] std::unique_ptr<Meter> gpu_meter(int ordinal);

/// cudaMemcpyAsync, and CUB's sums of floats, in this thread's stream.
void copy_on_gpu(int ordinal, void* to, const void* from, std::size_t bytes);
class CubSum {
 public:
  /// Sums `segments` segments of equal length, each to one element.
  CubSum(int ordinal, std::int64_t segments, std::int64_t length);
  void run(const float* from, float* to) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

enum class ProductType { f32, tf32, bf16 };
/// c = a b of row-major matrices (m, k) and (k, n) by cuBLASLt: the fastest of its heuristic algorithms, by timing
/// each.
class BlasLtProduct {
 public:
  BlasLtProduct(int ordinal, ProductType type, std::int64_t m, std::int64_t n, std::int64_t k);
  void run(const void* a, const void* b, void* c) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace bench
