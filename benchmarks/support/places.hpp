#pragma once
// Places of a benchmark that compares the CPU with a GPU.

#include "environment.hpp"

#include <locus/cpu/backend.hpp>
#include <locus/select.hpp>

#include <optional>
#include <string>

struct Places {
  bool cpu = false;
  std::optional<locus::Cuda> cuda;
  std::string no_gpu = "";  ///< reason, if a GPU was requested but there is none
};

/// The single place of a device. A class, because nvcc hangs on a generic lambda in an inline function.
struct PlaceOf {
  Places operator()(locus::Cpu) const { return {true, std::nullopt}; }
  Places operator()(locus::Cuda device) const { return {false, device}; }
};

/// auto and both: the CPU, and a GPU if there is one. throws CudaUnavailable for a named GPU that is not available
[[nodiscard]] inline Places places_from(const std::string& device) {
  using namespace locus;
  if (device == "auto" || device == "both") {
    if (cuda::is_available()) return {true, Cuda{}};
    return {true, std::nullopt, cuda::unavailable_reason()};
  }
  return with_device(parse_device(device), PlaceOf{});
}

/// The environment of the host, and of the measured GPU.
[[nodiscard]] inline Environment environment_of(const Places& places) {
  Environment environment = host_environment();
  environment.threads = locus::cpu::max_threads();
#if LOCUS_CUDA
  if (places.cuda) {
    cudaDeviceProp properties{};
    int version = 0;
    if (cudaGetDeviceProperties(&properties, places.cuda->ordinal) == cudaSuccess) environment.gpu = properties.name;
    if (cudaRuntimeGetVersion(&version) == cudaSuccess)
      environment.cuda = locus::join(version / 1000, ".", version % 1000 / 10);
    (void)cudaDriverGetVersion(&environment.driver);
  }
#else
  (void)places;
#endif
  return environment;
}
