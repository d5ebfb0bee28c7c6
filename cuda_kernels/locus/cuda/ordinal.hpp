#pragma once
// The calling thread's current GPU.

#include <locus/cuda/check.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
/// Whether this process uses a GPU already. Making a GPU current starts it, which takes hundreds of MB and fails where
/// another process holds it exclusively.
[[nodiscard]] inline bool is_in_use(int ordinal) {
  using GetState = int (*)(int device, unsigned* flags, int* active);  // cuDevicePrimaryCtxGetState
  static const auto get_state = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &function, 12000, cudaEnableDefault, &found);
#else
    const cudaError_t error =
        cudaGetDriverEntryPoint("cuDevicePrimaryCtxGetState", &function, cudaEnableDefault, &found);
#endif
    const bool answered = error == cudaSuccess && found == cudaDriverEntryPointSuccess;
    if (!answered) (void)cudaGetLastError();
    return reinterpret_cast<GetState>(answered ? function : nullptr);
  }();
  unsigned flags = 0;
  int active = 1;
  return !get_state || get_state(ordinal, &flags, &active) != 0 || active != 0;
}

/// A GPU that this process uses, for calls that need one but do not care which; the first where none is used yet.
[[nodiscard]] inline int any_in_use() {
  for (int ordinal = 0; ordinal < device_count(); ++ordinal)
    if (is_in_use(ordinal)) return ordinal;
  return 0;
}
}  // namespace detail

/// Makes a GPU current for this thread; restores the previous one at the end, if this process uses that.
class OrdinalGuard {
 public:
  explicit OrdinalGuard(int ordinal) {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    if (previous_ == ordinal) {
      previous_ = -1;
    } else {
      if (!detail::is_in_use(previous_)) previous_ = -1;
      check(cudaSetDevice(ordinal), "cudaSetDevice");
    }
  }
  LOCUS_OUT_OF_LINE ~OrdinalGuard() {
    if (previous_ >= 0 && cudaSetDevice(previous_) != cudaSuccess) (void)cudaGetLastError();
  }
  OrdinalGuard(const OrdinalGuard&) = delete;
  OrdinalGuard& operator=(const OrdinalGuard&) = delete;

 private:
  int previous_ = -1;
};

}}}  // namespace locus::LOCUS_ABI::cuda
