#pragma once
// Where the memory of a GPU comes from: a stream-ordered pool of the driver, or cudaMalloc.

#include <locus/cuda/event.hpp>

#include <cstdlib>
#include <string_view>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
/// The value of LOCUS_CUDA_POOL in the environment; see docs/build-options.md. throws ArgumentError
[[nodiscard]] LOCUS_COLD inline bool pools_memory() {
  const char* const text = std::getenv("LOCUS_CUDA_POOL");
  const std::string_view value = text ? text : "";
  if (value.empty() || value == "1") return true;
  if (value == "0") return false;
  fail<ArgumentError>({"LOCUS_CUDA_POOL=", value, ": expected 1, or nothing, for memory from a pool, or 0 for a ",
                       "cudaMalloc of its own for each allocation, as compute-sanitizer needs it"});
}

/// Whether an allocation failed for want of memory. Sizes beyond any GPU's are invalid values to some drivers.
[[nodiscard]] inline bool means_out_of_memory(cudaError_t error) {
  return error == cudaErrorMemoryAllocation || error == cudaErrorInvalidValue;
}
}  // namespace detail

/// Blocks of one GPU's memory, from the system. Without pools (disabled or not supported), each is a cudaMalloc.
class SystemMemory {
 public:
  SystemMemory(int ordinal, bool pooled) : ordinal_(ordinal) {
    const OrdinalGuard guard(ordinal);
    int has_pools = 0;
    if (pooled) check(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, ordinal), "memory pools");
    if (has_pools != 0) create_pool();
  }
  SystemMemory(const SystemMemory&) = delete;
  SystemMemory& operator=(const SystemMemory&) = delete;

  /// Allocates for work queued in the stream from now on. The GPU must be current.
  [[nodiscard]] cudaError_t allocate(void** block, std::size_t bytes, cudaStream_t stream) const {
    if (pool_) return cudaMallocFromPoolAsync(block, bytes, pool_, stream);
    // cuBLASLt reads the whole word or vector that holds a last element; compute-sanitizer would report the bytes after
    // the element.
    constexpr std::size_t vector = 16, most = ~std::size_t{0} - vector;
    return cudaMalloc(block, bytes < most ? (bytes + vector - 1) / vector * vector : bytes);
  }
  /// Frees after the work queued in the stream; without a pool, the host waits for that work.
  void free(void* block, cudaStream_t stream) const noexcept {
    if (pool_) {
      disregard(cudaFreeAsync(block, stream));
      return;
    }
    try {
      const OrdinalGuard guard(ordinal_);
      const UncapturedCalls anything_goes;
      disregard(cudaStreamSynchronize(stream));
      disregard(cudaFree(block));
    } catch (const Error&) {  // the GPU does not answer
    }
  }
  /// Lets kernels of another GPU, which the machine connects with this one, use memory of the pool.
  void open_to(int reader) const {
    if (!pool_) return;
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = reader;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    check(cudaMemPoolSetAccess(pool_, &access, 1), "cudaMemPoolSetAccess");
  }
  /// The driver's pool keeps at most so many bytes, unused ones included, when the host waits for the GPU; 0: all.
  void keep(std::int64_t bytes) const {
    unsigned long long kept = bytes > 0 ? static_cast<unsigned long long>(bytes) : ~0ull;
    if (pool_) check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &kept), "cudaMemPoolSetAttribute");
  }
  /// Returns the pool's unused memory to the system.
  void trim() const noexcept {
    if (pool_) disregard(cudaMemPoolTrimTo(pool_, 0));
  }

 private:
  /// Leaves pool_ null where the driver has no such pool.
  void create_pool() {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = ordinal_;
    const cudaError_t error = cudaMemPoolCreate(&pool_, &properties);
    if (error == cudaErrorNotSupported) {
      (void)cudaGetLastError();
      pool_ = nullptr;
      return;
    }
    check(error, "cudaMemPoolCreate");
  }

  int ordinal_;
  cudaMemPool_t pool_ = nullptr;
};

}}}  // namespace locus::LOCUS_ABI::cuda
