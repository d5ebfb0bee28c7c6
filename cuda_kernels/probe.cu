// Compiled once while configuring: does this nvcc work with this host compiler and these architectures?
#include <string>

__global__ void probe(int* out) { *out = static_cast<int>(threadIdx.x); }

std::string probe_host(int* out) {
  probe<<<1, 1>>>(out);
  return "probe";
}
