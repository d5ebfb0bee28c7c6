#pragma once
// What is measured: workloads, and ways of doing each, ours and others'.

#include <locus/fwd.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// Sizes to measure, or to try the program with.
enum class Scale { tiny, full };

/// A way of doing a workload.
struct Variant {
  std::string name;               ///< locus, locus unfused, cuBLASLt, CUB, copy
  std::function<void()> run;      ///< once; on a GPU, queues it
  std::function<double()> error;  ///< the largest of what run makes, over what rounding allows; above 1 or NaN: wrong
  double bytes = 0;               ///< that it moves, where it is another number than the workload's
};

/// Named work. Its operands are made by `prepare` and live as long as the variants.
struct Workload {
  std::string group;  ///< gemm, linear, expression, ...
  std::string operation, dtype;
  std::vector<std::int64_t> sizes;  ///< what they mean, the group says
  double bytes = 0;                 ///< that every way has to read or to write
  double flops = 0;
  bool blocks = false;  ///< the host waits within it: only wall time says something
  std::function<std::vector<Variant>()> prepare{};

  [[nodiscard]] std::string name() const {
    std::string text = group + ' ' + operation + ' ' + dtype + ' ';
    for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? "x" : "") + std::to_string(sizes[i]);
    return text;
  }
};
using Workloads = std::vector<Workload>;

// Each in a source of its own, for Cpu and for Cuda.
template <class D>
void add_products(Workloads& workloads, Scale scale, D device);
template <class D>
void add_linear(Workloads& workloads, Scale scale, D device);
template <class D>
void add_linear_bf16(Workloads& workloads, Scale scale, D device);
template <class D>
void add_expressions(Workloads& workloads, Scale scale, D device);
template <class D>
void add_rows(Workloads& workloads, Scale scale, D device);
template <class D>
void add_reductions(Workloads& workloads, Scale scale, D device);
template <class D>
void add_optimizer(Workloads& workloads, Scale scale, D device);
template <class D>
void add_step(Workloads& workloads, Scale scale, D device);
template <class D>
void add_small(Workloads& workloads, Scale scale, D device);
template <class D>
void add_conv(Workloads& workloads, Scale scale, D device);
/// Only a GPU is another place.
void add_transfers(Workloads& workloads, Scale scale, locus::Cuda device);

}  // namespace bench

/// Compiles a function above for every device of this program.
#if LOCUS_CUDA
#define LOCUS_BENCHMARK(add)                                             \
  template void bench::add(bench::Workloads&, bench::Scale, locus::Cpu); \
  template void bench::add(bench::Workloads&, bench::Scale, locus::Cuda);
#else
#define LOCUS_BENCHMARK(add) template void bench::add(bench::Workloads&, bench::Scale, locus::Cpu);
#endif
