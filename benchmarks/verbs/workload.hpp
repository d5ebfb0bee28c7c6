#pragma once
// Workloads to measure, and variants of each, by Locus and by other libraries.

#include <locus/fwd.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// full: sizes to measure; tiny: sizes to test the program.
enum class Scale { tiny, full };

/// An implementation of a workload.
struct Variant {
  std::string name;               ///< locus, locus unfused, cuBLASLt, CUB, copy
  std::function<void()> run;      ///< runs once; on a GPU, enqueues
  std::function<double()> error;  ///< largest error of a run, relative to its rounding bound; above 1 or NaN: wrong
  double bytes = 0;               ///< that it moves; 0: as many as the workload
};

/// A named workload. `prepare` creates its operands, which live as long as the variants.
struct Workload {
  std::string group;  ///< gemm, linear, expression, ...
  std::string operation, dtype;
  std::vector<std::int64_t> sizes;  ///< see the source of the group for their meaning
  double bytes = 0;                 ///< that every variant has to read or write
  double flops = 0;
  bool blocks = false;  ///< the host waits within a run: only wall time is meaningful
  std::function<std::vector<Variant>()> prepare{};

  [[nodiscard]] std::string name() const {
    std::string text = group + ' ' + operation + ' ' + dtype + ' ';
    for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? "x" : "") + std::to_string(sizes[i]);
    return text;
  }
};
using Workloads = std::vector<Workload>;

// Each is defined in its own source, for Cpu and for Cuda.
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
template <class D>
void add_attention(Workloads& workloads, Scale scale, D device);
template <class D>
void add_batch_norm(Workloads& workloads, Scale scale, D device);
template <class D>
void add_embedding(Workloads& workloads, Scale scale, D device);
template <class D>
void add_transposes(Workloads& workloads, Scale scale, D device);
template <class D>
void add_networks(Workloads& workloads, Scale scale, D device);
/// Transfers between the host and a GPU, which exist only for Cuda.
void add_transfers(Workloads& workloads, Scale scale, locus::Cuda device);

}  // namespace bench

/// Instantiates a function above for every device of this program.
#if LOCUS_CUDA
#define LOCUS_BENCHMARK(add)                                             \
  template void bench::add(bench::Workloads&, bench::Scale, locus::Cpu); \
  template void bench::add(bench::Workloads&, bench::Scale, locus::Cuda);
#else
#define LOCUS_BENCHMARK(add) template void bench::add(bench::Workloads&, bench::Scale, locus::Cpu);
#endif
