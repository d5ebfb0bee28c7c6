#include "linear.hpp"

template <class D>
void bench::add_linear(Workloads& workloads, Scale scale, D device) {
  linear::add_both<float>(workloads, scale, on_host<D> ? "f32" : "tf32", device);
}

LOCUS_BENCHMARK(add_linear)
