#pragma once
// Versions for reports of faults: the GPU, its driver, and the libraries of the program. Type-checks everywhere, as
// cuda/backend.hpp.

#include <locus/cuda/backend.hpp>
#include <locus/cuda/convolution.hpp>

#include <cstdio>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

#if LOCUS_CUDA
namespace detail {
/// "580.65.06, for CUDA 13.0", or "none". The kernel module alone knows its own version.
[[nodiscard]] inline std::string driver_text() {
  int cuda_version = 0;
  if (cudaDriverGetVersion(&cuda_version) != cudaSuccess) cuda_version = 0;
  char version[64] = "";
  if (std::FILE* const file = std::fopen("/proc/driver/nvidia/version", "r")) {
    char line[512] = "";
    if (std::fgets(line, sizeof line, file)) {
      for (const char* word = line; *word != '\0'; ++word) {  // the first word of digits and dots
        const bool begins = word == line || word[-1] == ' ';
        if (begins && std::sscanf(word, "%63[0-9.]", version) == 1) break;
      }
    }
    (void)std::fclose(file);
  }
  if (version[0] == '\0' && cuda_version == 0) return "none";
  return join(version[0] ? version : "of unknown version", cuda_version ? ", for CUDA " : ", which does not answer",
              cuda_version ? version_text(cuda_version) : "");
}
/// 130100 -> "13.1.0"
[[nodiscard]] inline std::string blas_version_text(std::size_t version) {
  return join(version / 10000, ".", version % 10000 / 100, ".", version % 100);
}
/// "NVIDIA H100 80GB HBM3, sm_90"
[[nodiscard]] inline std::string gpu_text(int ordinal) {
  cudaDeviceProp gpu{};
  if (ordinal < 0 || ordinal >= device_count() || cudaGetDeviceProperties(&gpu, ordinal) != cudaSuccess) {
    (void)cudaGetLastError();
    return "none";
  }
  return join(gpu.name, ", sm_", gpu.major, gpu.minor);
}
}  // namespace detail

/// Two lines: the GPU and its driver; the CUDA runtime, cuBLASLt and cuDNN of this program. Never throws for want of a
/// GPU.
[[nodiscard]] inline std::string versions(int ordinal = 0) {
  int runtime = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = CUDART_VERSION;
  return join("cuda:", ordinal, ": ", detail::gpu_text(ordinal), "; driver ", detail::driver_text(), "\nCUDA runtime ",
              detail::version_text(runtime), "; cuBLASLt ", detail::blas_version_text(cublasLtGetVersion()),
              cudnn_version() ? "; cuDNN " + detail::blas_version_text(cudnn_version()) : "");
}
#else
[[nodiscard]] inline std::string versions(int ordinal = 0) {
  return join("cuda:", ordinal, ": none; this program was built without CUDA");
}
#endif

}}}  // namespace locus::LOCUS_ABI::cuda
