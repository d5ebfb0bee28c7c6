#pragma once
// Values that describe a device; cpu/device_info.hpp and cuda/device_info.hpp find them.

#include <locus/device/memory.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// The version of a driver or library. {0, 0, 0}: there is none, or it is unknown.
struct Version {
  int major = 0, minor = 0, patch = 0;

  friend constexpr bool operator==(const Version&, const Version&) = default;
  friend constexpr auto operator<=>(const Version&, const Version&) = default;
};
/// "13.0.2"
[[nodiscard]] inline std::string to_string(const Version& version) {
  return join(version.major, ".", version.minor, ".", version.patch);
}

/// A device's values: torch.cuda.get_device_properties() and nvidia-smi. Unknown texts are empty, unknown numbers 0,
/// temperature and power NaN.
struct DeviceInfo {
  std::string name;                        ///< "NVIDIA H100 80GB HBM3"; of Cpu, the processor's
  std::string architecture;                ///< "sm_90"; of Cpu, the instruction set that operations use: "avx512"
  Version compute_capability;              ///< {9, 0}: torch.cuda.get_device_capability(); none of Cpu
  int processors = 0;                      ///< multiprocessors; of Cpu, the cores that this process may use
  MemoryInfo memory;                       ///< of memory_info()
  std::string driver;                      ///< version of NVIDIA's driver: "580.65.06"
  Version driver_cuda;                     ///< the newest CUDA that the driver runs
  Version runtime;                         ///< of the program's CUDA runtime: torch.version.cuda
  Version cublaslt;                        ///< of the library in use
  Version cudnn;                           ///< of the library in use: torch.backends.cudnn.version()
  double temperature = __builtin_nan("");  ///< in degrees Celsius
  double power = __builtin_nan("");        ///< in watts
  bool has_fast_bfloat16 = false;          ///< in products: compute capability 8, AVX-512 BF16 or AMX
  bool has_tf32 = false;                   ///< whether cuda::allow_tf32 makes products faster: compute capability 8
};

}}  // namespace locus::LOCUS_ABI
