#pragma once
// Values that describe a GPU, its driver, and the libraries of the program. Type-checks everywhere, as
// cuda/backend.hpp.

#include <locus/core/system/proc.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/cuda/convolution.hpp>
#include <locus/cuda/nvml.hpp>
#include <locus/device/device_info.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace cuda::detail {
#if LOCUS_CUDA
/// 13010 -> 13.1
[[nodiscard]] inline Version cuda_version(int number) { return {number / 1000, number % 1000 / 10, 0}; }
/// 130102 -> 13.1.2, of cuBLASLt and cuDNN.
[[nodiscard]] inline Version library_version(std::size_t number) {
  const int version = static_cast<int>(number);
  return {version / 10000, version % 10000 / 100, version % 100};
}
inline void describe_gpu(int ordinal, DeviceInfo& info) {
  cudaDeviceProp gpu{};
  if (ordinal < 0 || ordinal >= device_count() || cudaGetDeviceProperties(&gpu, ordinal) != cudaSuccess) {
    (void)cudaGetLastError();
    return;
  }
  info.name = gpu.name;
  info.architecture = join("sm_", gpu.major, gpu.minor);
  info.compute_capability = {gpu.major, gpu.minor, 0};
  info.processors = gpu.multiProcessorCount;
  info.has_fast_bfloat16 = info.has_tf32 = gpu.major >= 8;
}
/// The values that need neither a GPU nor a driver, or that a GPU tells without being started: all but memory,
/// temperature and power.
[[nodiscard]] LOCUS_COLD inline DeviceInfo describe(int ordinal) {
  DeviceInfo info;
  describe_gpu(ordinal, info);
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = CUDART_VERSION;
  (void)cudaGetLastError();
  info.driver = locus::detail::driver_in(locus::detail::text_of_proc("/proc/driver/nvidia/version"));
  info.driver_cuda = cuda_version(driver), info.runtime = cuda_version(runtime);
  info.cublaslt = library_version(cublasLtGetVersion()), info.cudnn = library_version(cudnn_version());
  return info;
}
#else
[[nodiscard]] inline DeviceInfo describe(int) { return {}; }
#endif
}  // namespace cuda::detail

/// A GPU: its name, compute capability, multiprocessors, memory, temperature and power, and the versions of driver and
/// libraries. cost: the call starts the GPU for this process, to ask for its memory. throws CudaUnavailable
///
///     const auto gpu = device_info(Cuda{});   // gpu.name: torch.cuda.get_device_name(0)
[[nodiscard]] inline DeviceInfo device_info(Cuda device) {
  cuda::require_device(device.ordinal);
  DeviceInfo info = cuda::detail::describe(device.ordinal);
  info.memory = memory_info(device);
  info.temperature = cuda::temperature(device);
  info.power = cuda::power(device);
  return info;
}

}}  // namespace locus::LOCUS_ABI
