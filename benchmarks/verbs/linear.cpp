#include "linear.hpp"

namespace bench {

template <class D>
void add_linear(Workloads& workloads, Scale scale, D device) {
  linear::add_both<float>(workloads, scale, on_host<D> ? "f32" : "tf32", device);
}

}  // namespace bench

LOCUS_BENCHMARK(add_linear)
