#pragma once
// CUDA and cuBLAS errors as exceptions that name the operation, and whether a GPU answers at all.

#include <locus/core/check.hpp>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
/// 12040 -> "12.4"
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string version_text(int version) {
  return join(version / 1000, ".", version % 1000 / 10);
}

[[nodiscard]] inline bool means_unavailable(cudaError_t error) {
  switch (error) {
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInitializationError:
    case cudaErrorStubLibrary:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorSystemNotReady:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorDevicesUnavailable: return true;
    default: return false;
  }
}

inline constexpr int oldest_toolkit = 12040;  ///< that Locus builds with

[[nodiscard]] inline std::string explain_old_driver(int driver, int runtime) {
  return join("the NVIDIA driver is for CUDA ", version_text(driver), " and this program for CUDA ",
              version_text(runtime), ": update the driver to one for CUDA ", version_text(runtime), " or newer, ",
              driver >= oldest_toolkit ? join("build with CUDA toolkit ", version_text(driver), ", ") : "",
              "or run on Cpu");
}

/// Why the runtime found no device: the versions of driver and runtime, and the remedy.
[[nodiscard]] inline std::string explain_unavailable(cudaError_t error) {
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = CUDART_VERSION;
  (void)cudaGetLastError();
  if (driver == 0) {
    return join("no NVIDIA driver answers (", cudaGetErrorName(error), "); this program needs one for CUDA ",
                version_text(runtime), " or newer: install it, or run on Cpu");
  }
  if (driver / 1000 < runtime / 1000 || error == cudaErrorInsufficientDriver) {
    return explain_old_driver(driver, runtime);
  }
  if (error == cudaErrorNoDevice) {
    return join("the NVIDIA driver (CUDA ", version_text(driver),
                ") shows no GPU to this program: check nvidia-smi and CUDA_VISIBLE_DEVICES");
  }
  return join("the NVIDIA driver (CUDA ", version_text(driver), ") cannot start: ", cudaGetErrorName(error), ", ",
              cudaGetErrorString(error), "; check nvidia-smi");
}

/// Whether a call was refused because a step is being captured.
[[nodiscard]] inline bool means_uncapturable(cudaError_t error) {
  return error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureWrongThread;
}

/// Whether a launch was refused because the program has no code for the GPU at hand: neither machine code for it, nor
/// PTX of an older architecture, from which the driver would compile it.
[[nodiscard]] inline bool means_no_code(cudaError_t error) {
  return error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction ||
         error == cudaErrorUnsupportedPtxVersion;
}

/// How to compile for an architecture, given as 10 * major + minor.
[[nodiscard]] inline std::string how_to_compile_for(int architecture) {
  constexpr int oldest_of_cuda_13 = 75;
  const bool is_dropped = CUDART_VERSION >= 13000 && architecture < oldest_of_cuda_13;
  return join("compile with ", is_dropped ? "a CUDA toolkit of version 12, which still knows it, and " : "",
              "nvcc -arch=sm_", architecture, " (with Meson, -Dgpu_arch=sm_", architecture, ")");
}

[[nodiscard]] inline std::string explain_no_code(cudaError_t error) {
  int ordinal = 0, major = 0, minor = 0, driver = 0;
  if (cudaGetDevice(&ordinal) != cudaSuccess || cudaDriverGetVersion(&driver) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal) != cudaSuccess) {
    (void)cudaGetLastError();
    return "this program has no code that this GPU can run: compile it with nvcc -arch=native, or run on Cpu";
  }
  const int architecture = 10 * major + minor;
  const std::string gpu = join("cuda:", ordinal, ", of architecture sm_", architecture);
  if (error == cudaErrorUnsupportedPtxVersion) {
    return join("for ", gpu, ", this program has only PTX of CUDA ", version_text(CUDART_VERSION),
                ", which the NVIDIA driver (CUDA ", version_text(driver),
                ") is too old to compile: ", how_to_compile_for(architecture), ", update the driver, or run on Cpu");
  }
  return join("this program has no code that ", gpu, ", can run: ", how_to_compile_for(architecture),
              ", or run on Cpu");
}

[[nodiscard]] inline std::string remedy(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure: return "; an earlier launch may be the cause: run under compute-sanitizer";
    default: return "";
  }
}

[[noreturn]] [[gnu::cold]] inline void raise(cudaError_t error, const char* operation) {
  (void)cudaGetLastError();  // clears a recoverable error, so that no later call reports it again
  if (means_unavailable(error)) fail<CudaUnavailable>({operation, ": ", explain_unavailable(error)});
  if (means_no_code(error))
    fail<CudaUnavailable>({operation, ": ", cudaGetErrorName(error), ": ", explain_no_code(error)});
  if (error == cudaErrorMemoryAllocation) {
    fail<OutOfMemory>({operation, ": out of GPU memory; use smaller batches or free tensors"});
  }
  if (means_uncapturable(error)) {
    fail<CaptureError>({operation, ": cannot be captured for replay: ", cudaGetErrorName(error), ", ",
                        cudaGetErrorString(error), "; do it before or after the step"});
  }
  fail<CudaError>({operation, ": ", cudaGetErrorName(error), ", ", cudaGetErrorString(error), remedy(error)});
}
[[noreturn]] [[gnu::cold]] inline void raise(cublasStatus_t status, const char* operation) {
  if (status == CUBLAS_STATUS_ALLOC_FAILED) fail<OutOfMemory>({operation, ": cuBLAS found no GPU memory"});
  fail<CudaError>({operation, ": ", cublasLtGetStatusName(status), ", ", cublasLtGetStatusString(status)});
}
}  // namespace detail

/// Clears the error of a call whose failure changes nothing, as in destructors, so that no later launch reports it.
inline void disregard(cudaError_t error) noexcept {
  if (error != cudaSuccess) (void)cudaGetLastError();
}
/// throws CudaUnavailable, OutOfMemory or CudaError naming the operation, unless the call succeeded
inline void check(cudaError_t error, const char* operation) {
  if (error != cudaSuccess) detail::raise(error, operation);
}
inline void check(cublasStatus_t status, const char* operation) {
  if (status != CUBLAS_STATUS_SUCCESS) detail::raise(status, operation);
}

namespace detail {
/// The devices that the driver reports, asked once per process.
struct Availability {
  int devices = 0;
  std::string reason;  ///< why there is no device; empty where there is one

  [[nodiscard]] static const Availability& of_process() {
    static const Availability* const answer = new Availability(ask());
    return *answer;
  }

 private:
  [[nodiscard]] static Availability ask() {
    Availability answer;
    const cudaError_t error = cudaGetDeviceCount(&answer.devices);
    if (error == cudaSuccess && answer.devices > 0) return answer;
    answer.devices = 0;
    answer.reason = explain_unavailable(error == cudaSuccess ? cudaErrorNoDevice : error);
    return answer;
  }
};
}  // namespace detail

[[nodiscard]] inline int device_count() { return detail::Availability::of_process().devices; }

[[nodiscard]] inline bool is_available() { return device_count() > 0; }

namespace detail {
/// Set by files that nvcc compiles; null in a program without kernels.
inline bool (*kernels_run_on_answer)(int ordinal) = nullptr;
}  // namespace detail
/// Whether a GPU can run this program's kernels: they were compiled for its architecture, or as PTX for an older one.
/// Starts that GPU for this process. throws CudaError where it does not start
[[nodiscard]] inline bool has_code_for(int ordinal) {
  return detail::kernels_run_on_answer == nullptr || detail::kernels_run_on_answer(ordinal);
}

[[nodiscard]] inline std::string unavailable_reason() { return detail::Availability::of_process().reason; }

/// throws CudaUnavailable unless the GPU exists
inline void require_device(int ordinal) {
  if (ordinal >= 0 && ordinal < device_count()) return;
  if (!is_available()) fail<CudaUnavailable>({"cuda:", ordinal, ": ", unavailable_reason()});
  fail<CudaUnavailable>({"cuda:", ordinal, " does not exist: this program sees ", device_count(),
                         device_count() == 1 ? " GPU, cuda:0" : join(" GPUs, cuda:0 to cuda:", device_count() - 1),
                         "; check nvidia-smi and CUDA_VISIBLE_DEVICES"});
}

/// throws ArgumentError for a pointer to memory of the host, DeviceError for one to memory of another GPU
LOCUS_OUT_OF_LINE inline void require_memory_of(int ordinal, const void* data, std::string_view caller) {
  require_device(ordinal);
  cudaPointerAttributes memory{};
  check(cudaPointerGetAttributes(&memory, data), "cudaPointerGetAttributes");
  if (memory.type == cudaMemoryTypeManaged) return;
  if (memory.type != cudaMemoryTypeDevice)
    fail<ArgumentError>({caller, ": the memory is the host's, and the tensor would be on cuda:", ordinal,
                         "; make it on Cpu, and copy it with .to<Cuda>()"});
  if (memory.device != ordinal)
    fail<DeviceError>({caller, ": the memory is on cuda:", memory.device, ", and the tensor would be on cuda:", ordinal,
                       "; name the GPU of the memory"});
}

}}}  // namespace locus::LOCUS_ABI::cuda
