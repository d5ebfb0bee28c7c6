// Properties of the machine, and its answers to requests for memory.

#include <locus/cuda/memory.hpp>
#include <locus/cuda/versions.hpp>

#include "experiment.hpp"

namespace first_run {
namespace {
using namespace locus;

std::string name_of(cudaError_t error) {
  (void)cudaGetLastError();
  return cudaGetErrorName(error);
}

void describe_machine() {
  const std::string versions = locus::cuda::versions();
  note("machine", versions.substr(0, versions.find('\n')));
  note("libraries", versions.substr(versions.find('\n') + 1));
  const struct {
    const char* name;
    cudaDeviceAttr attribute;
  } attributes[] = {
      {"multiprocessors", cudaDevAttrMultiProcessorCount},
      {"threads of a multiprocessor", cudaDevAttrMaxThreadsPerMultiProcessor},
      {"shared memory of a block", cudaDevAttrMaxSharedMemoryPerBlock},
      {"shared memory of a block that asks for it", cudaDevAttrMaxSharedMemoryPerBlockOptin},
      {"shared memory of a multiprocessor", cudaDevAttrMaxSharedMemoryPerMultiprocessor},
      {"shared memory reserved in a block", cudaDevAttrReservedSharedMemoryPerBlock},
      {"L2 cache", cudaDevAttrL2CacheSize},
      {"launches of clusters", cudaDevAttrClusterLaunch},
      {"memory pools", cudaDevAttrMemoryPoolsSupported},
      {"compute mode", cudaDevAttrComputeMode},
  };
  for (const auto& [name, attribute] : attributes) {
    int value = 0;
    const cudaError_t error = cudaDeviceGetAttribute(&value, attribute, 0);
    note(name, error == cudaSuccess ? std::to_string(value) : name_of(error));
  }
  std::size_t unused = 0, total = 0;
  const cudaError_t error = cudaMemGetInfo(&unused, &total);
  note("memory", error == cudaSuccess ? join(unused, " of ", total, " bytes are free") : name_of(error));
}

struct Stream {
  cudaStream_t handle = nullptr;
  Stream() { locus::cuda::check(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~Stream() { (void)cudaStreamDestroy(handle); }
};

cudaError_t make_pool(cudaMemPool_t& pool) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  return cudaMemPoolCreate(&pool, &properties);
}

/// Notes the status of an allocation of so many bytes in each way; frees the memory again.
void ask_for(const std::string& what, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  void* block = nullptr;
  cudaError_t error = cudaMalloc(&block, bytes);
  note(what + " by cudaMalloc", name_of(error));
  if (error == cudaSuccess) (void)cudaFree(block);
  error = cudaMallocAsync(&block, bytes, stream);
  note(what + " by cudaMallocAsync", name_of(error));
  if (error == cudaSuccess) (void)cudaFreeAsync(block, stream);
  if (pool) {
    error = cudaMallocFromPoolAsync(&block, bytes, pool, stream);
    note(what + " by cudaMallocFromPoolAsync", name_of(error));
    if (error == cudaSuccess) (void)cudaFreeAsync(block, stream);
  }
  error = cudaHostAlloc(&block, bytes, cudaHostAllocPortable);
  note(what + " by cudaHostAlloc", name_of(error));
  if (error == cudaSuccess) (void)cudaFreeHost(block);
  note(what + " and then cudaStreamSynchronize", name_of(cudaStreamSynchronize(stream)));
}

void ask_for_pools() {
  int supported = 0;
  const cudaError_t error = cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0);
  note("cudaDevAttrMemoryPoolsSupported", error == cudaSuccess ? std::to_string(supported) : name_of(error));
  cudaMemPool_t pool = nullptr;
  note("cudaMemPoolCreate", name_of(make_pool(pool)));
  const Stream stream;
  ask_for("1 MiB", std::size_t{1} << 20, pool, stream.handle);
}

void ask_for_absurd_sizes() {
  const Stream stream;
  cudaMemPool_t pool = nullptr;
  if (make_pool(pool) != cudaSuccess) pool = nullptr, (void)cudaGetLastError();
  for (const int bits : {52, 62}) ask_for(join("2^", bits, " bytes"), std::size_t{1} << bits, pool, stream.handle);
  ask_for("1 MiB afterwards", std::size_t{1} << 20, pool, stream.handle);
}

}  // namespace

std::vector<Experiment> machine_experiments() {
  return {
      {"machine", "what are the GPU, its limits and the libraries?", &describe_machine},
      {"memory_pools", "are memory pools supported?", &ask_for_pools, true},
      {"memory_sizes", "which errors do requests for 2^52 and 2^62 bytes give, and does the GPU work afterwards?",
       &ask_for_absurd_sizes, true},
  };
}

}  // namespace first_run
