// A source for the C++ compiler in a program with Cuda tensors: compiled with LOCUS_CUDA, calls CUDA's libraries.
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <locus/core/shape.hpp>
#include <locus/cuda/indexing.hpp>

static_assert(LOCUS_CUDA == 1, "a program with Cuda tensors is compiled with -DLOCUS_CUDA=1");

int main() {
  int runtime = 0;
  const bool answered = cudaRuntimeGetVersion(&runtime) == cudaSuccess;
  std::printf("CUDA %d, cuBLASLt %zu, %s\n", runtime, cublasLtGetVersion(), to_string(locus::Shape{4, 3}).c_str());
  return answered && runtime >= 12040 ? 0 : 1;
}
