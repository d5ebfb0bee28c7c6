// A separate source, to limit nvcc's work per file.

#include "linear.hpp"

namespace bench {

template <class D>
void add_linear_bf16(Workloads& workloads, Scale scale, D device) {
  if (!on_host<D> || scale == Scale::tiny) linear::add_both<locus::bfloat16>(workloads, scale, "bf16", device);
}

}  // namespace bench

LOCUS_BENCHMARK(add_linear_bf16)
