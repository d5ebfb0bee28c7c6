// In a source of its own, for nvcc's sake.

#include "linear.hpp"

template <class D>
void bench::add_linear_bf16(Workloads& workloads, Scale scale, D device) {
  if (!on_host<D> || scale == Scale::tiny) linear::add_both<locus::bfloat16>(workloads, scale, "bf16", device);
}

LOCUS_BENCHMARK(add_linear_bf16)
