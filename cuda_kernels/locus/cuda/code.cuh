#pragma once
// Answers whether a GPU can run this program's kernels. nvcc compiles it; files of other compilers call it by pointer.

#include <locus/cuda/ordinal.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda::detail {

/// A kernel to query in place of all others: all are compiled for the same architectures. Never launched.
template <class>
__global__ void any_kernel() {}

[[nodiscard]] inline bool kernels_run_on(int ordinal) {
  const OrdinalGuard guard(ordinal);
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, any_kernel<void>);
  disregard(error);
  return !means_no_code(error);
}
inline const bool kernels_are_known = (kernels_run_on_answer = &kernels_run_on, true);

}}}  // namespace locus::LOCUS_ABI::cuda::detail
