#pragma once
// Versions for reports of faults: the GPU, its driver, and the libraries of the program. Type-checks everywhere, as
// cuda/backend.hpp.

#include <locus/cuda/device_info.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
/// 13.1.0 -> "13.1"
[[nodiscard]] inline std::string text_of_cuda(const Version& version) {
  return join(version.major, ".", version.minor);
}
/// "580.65.06, for CUDA 13.0", or "none".
[[nodiscard]] inline std::string driver_text(const DeviceInfo& info) {
  const bool answers = info.driver_cuda != Version{};
  if (info.driver.empty() && !answers) return "none";
  return join(info.driver.empty() ? "of unknown version" : info.driver.c_str(),
              answers ? ", for CUDA " + text_of_cuda(info.driver_cuda) : ", which does not answer");
}
}  // namespace detail

/// Two lines: the GPU and its driver; the CUDA runtime, cuBLASLt and cuDNN of this program. Starts no GPU, and does
/// not throw where there is none. device_info(Cuda{ordinal}) has the values.
[[nodiscard]] inline std::string versions(int ordinal = 0) {
  if (!LOCUS_CUDA) return join("cuda:", ordinal, ": none; this program was built without CUDA");
  const DeviceInfo info = detail::describe(ordinal);
  const std::string gpu = info.name.empty() ? "none" : info.name + ", " + info.architecture;
  return join("cuda:", ordinal, ": ", gpu, "; driver ", detail::driver_text(info), "\nCUDA runtime ",
              detail::text_of_cuda(info.runtime), "; cuBLASLt ", info.cublaslt,
              info.cudnn == Version{} ? "" : "; cuDNN " + to_string(info.cudnn));
}

}}}  // namespace locus::LOCUS_ABI::cuda
