#pragma once
// Blocks that run at the same time and see each other's shared memory, on GPUs of compute capability 9.0 and later.

#include <locus/cuda/indexing.hpp>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define LOCUS_CLUSTERS 0
#else
#define LOCUS_CLUSTERS LOCUS_ON_DEVICE
#endif

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// Waits for all threads of the cluster. Their earlier writes, also to other blocks' shared memory, are visible
/// afterwards.
LOCUS_FN void synchronize_cluster() {
#if LOCUS_CLUSTERS
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
#endif
}

/// The address in block `rank` of the cluster that corresponds to `shared` in this block's shared memory.
[[nodiscard]] LOCUS_FN unsigned char* in_block_of_cluster(unsigned char* shared, int rank) {
#if LOCUS_CLUSTERS
  return static_cast<unsigned char*>(__cluster_map_shared_rank(shared, static_cast<unsigned>(rank)));
#else
  (void)rank;
  return shared;
#endif
}

}}}  // namespace locus::LOCUS_ABI::cuda
