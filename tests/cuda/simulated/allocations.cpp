// Allocations of the CUDA runtime that Locus itself does without, for programs that try them. Weak: what runtime.cpp
// has of them counts.

#include <cuda_runtime_api.h>

#include <cstdlib>

#include "simulator.hpp"

extern "C" {
[[gnu::weak]] cudaError_t cudaMalloc(void** block, std::size_t bytes) {
  if (bytes > simulated::most_memory) return cudaErrorMemoryAllocation;
  *block = std::malloc(bytes);
  return cudaSuccess;
}
[[gnu::weak]] cudaError_t cudaFree(void* block) {
  std::free(block);
  return cudaSuccess;
}
[[gnu::weak]] cudaError_t cudaMallocAsync(void** block, std::size_t bytes, cudaStream_t stream) {
  return cudaMallocFromPoolAsync(block, bytes, nullptr, stream);
}
}
