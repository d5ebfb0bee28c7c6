#pragma once
// GPU utilization, as nvidia-smi shows it: from NVIDIA's management library (NVML), loaded at run time if present.

#include <locus/cuda/backend.hpp>

#include <dlfcn.h>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {

/// The functions of NVML that are called. (nvml.h is no part of every toolkit.)
class Nvml {
 public:
  /// `find`: the address of a function by its name, or null.
  explicit Nvml(void* (*find)(const char* name)) {
    const auto init = reinterpret_cast<int (*)()>(find("nvmlInit_v2"));
    const auto by_bus = reinterpret_cast<HandleByBus>(find("nvmlDeviceGetHandleByPciBusId_v2"));
    const auto rates = reinterpret_cast<Rates>(find("nvmlDeviceGetUtilizationRates"));
    if (!init || !by_bus || !rates || init() != 0) return;
    by_bus_ = by_bus;
    rates_ = rates;
  }
  /// The library of the driver, if present.
  [[nodiscard]] static const Nvml& instance() {
    static const Nvml library([](const char* name) -> void* {
      static void* const opened = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
      return opened ? dlsym(opened, name) : nullptr;
    });
    return library;
  }

  /// The share of the last second or less, in [0, 1], in which a kernel ran on the GPU at this PCI bus; NaN if the
  /// library is missing or does not know, as for a part of a GPU (MIG).
  [[nodiscard]] double utilization(const char* bus) const {
    void* device = nullptr;
    Utilization percent{};
    const bool known = rates_ && by_bus_(bus, &device) == 0 && rates_(device, &percent) == 0;
    return known ? percent.gpu / 100. : __builtin_nan("");
  }

 private:
  struct Utilization {
    unsigned gpu, memory;
  };
  using HandleByBus = int (*)(const char*, void**);
  using Rates = int (*)(void*, Utilization*);
  HandleByBus by_bus_ = nullptr;
  Rates rates_ = nullptr;
};

}  // namespace detail

#if LOCUS_CUDA
/// How busy the GPU was lately, in [0, 1]; NaN if NVIDIA's management library is missing or does not know.
[[nodiscard]] inline double utilization(Cuda device) {
  char bus[32] = "";
  if (cudaDeviceGetPCIBusId(bus, sizeof bus, device.ordinal) == cudaSuccess)
    return detail::Nvml::instance().utilization(bus);
  (void)cudaGetLastError();
  return __builtin_nan("");
}
#else
[[nodiscard]] inline double utilization(Cuda) { return __builtin_nan(""); }
#endif

}}}  // namespace locus::LOCUS_ABI::cuda
