#pragma once
// Utilization, temperature and power of a GPU, as nvidia-smi shows them: from NVIDIA's management library (NVML),
// loaded at run time if present.

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
    temperature_ = reinterpret_cast<Temperature>(find("nvmlDeviceGetTemperature"));
    power_ = reinterpret_cast<Power>(find("nvmlDeviceGetPowerUsage"));
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

  /// Of the GPU at this PCI bus, in degrees Celsius; NaN if unknown.
  [[nodiscard]] double temperature(const char* bus) const {
    void* device = nullptr;
    unsigned degrees = 0;
    constexpr int of_chip = 0;
    const bool known = temperature_ && by_bus_(bus, &device) == 0 && temperature_(device, of_chip, &degrees) == 0;
    return known ? degrees : __builtin_nan("");
  }
  /// Drawn by the board of the GPU at this PCI bus, in watts; NaN if unknown.
  [[nodiscard]] double power(const char* bus) const {
    void* device = nullptr;
    unsigned milliwatts = 0;
    const bool known = power_ && by_bus_(bus, &device) == 0 && power_(device, &milliwatts) == 0;
    return known ? milliwatts / 1000. : __builtin_nan("");
  }

 private:
  struct Utilization {
    unsigned gpu, memory;
  };
  using HandleByBus = int (*)(const char*, void**);
  using Rates = int (*)(void*, Utilization*);
  HandleByBus by_bus_ = nullptr;
  Rates rates_ = nullptr;
  using Temperature = int (*)(void*, int sensor, unsigned*);
  using Power = int (*)(void*, unsigned*);
  Temperature temperature_ = nullptr;
  Power power_ = nullptr;
};

#if LOCUS_CUDA
/// NVML's answer about a GPU; NaN if unknown.
[[nodiscard]] inline double ask_nvml(Cuda device, double (Nvml::*ask)(const char*) const) {
  char bus[32] = "";
  if (cudaDeviceGetPCIBusId(bus, sizeof bus, device.ordinal) == cudaSuccess) return (Nvml::instance().*ask)(bus);
  (void)cudaGetLastError();
  return __builtin_nan("");
}
#else
[[nodiscard]] inline double ask_nvml(Cuda, double (Nvml::*)(const char*) const) { return __builtin_nan(""); }
#endif

}  // namespace detail

/// How busy the GPU was lately, in [0, 1]; NaN if NVIDIA's management library is missing or does not know.
[[nodiscard]] inline double utilization(Cuda device) { return detail::ask_nvml(device, &detail::Nvml::utilization); }
/// Temperature of the GPU in degrees Celsius; NaN if unknown. As torch.cuda.temperature.
[[nodiscard]] inline double temperature(Cuda device) { return detail::ask_nvml(device, &detail::Nvml::temperature); }
/// Power that the GPU's board draws, in watts; NaN if unknown. As torch.cuda.power_draw, in milliwatts there.
[[nodiscard]] inline double power(Cuda device) { return detail::ask_nvml(device, &detail::Nvml::power); }

}}}  // namespace locus::LOCUS_ABI::cuda
