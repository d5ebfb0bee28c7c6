// The devices of this machine: names, versions, memory, temperature and power, or why no GPU can be used.
//
//     devices
//     LOCUS_MEMORY_LIMIT=cpu=8G,cuda=20G devices

#include <locus/locus.hpp>

#include <cmath>
#include <cstdio>

using namespace locus;

namespace {
std::string gibibytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

template <Device D>
void print(D device) {
  const DeviceInfo info = device_info(device);
  const std::int64_t limit = memory_limit(device);
  std::printf("%s: %s\n", to_string(device).c_str(), info.name.empty() ? "unknown" : info.name.c_str());
  std::printf("  processors  %d, %s\n", info.processors, info.architecture.c_str());
  std::printf("  memory      %s, %s free\n", gibibytes(info.memory.total).c_str(), gibibytes(info.memory.free).c_str());
  std::printf("  limit       %s\n", limit > 0 ? gibibytes(limit).c_str() : "none");
  std::printf("  bfloat16    %s\n", info.has_fast_bfloat16 ? "fast" : "slow");
  if (!std::isnan(info.temperature)) std::printf("  sensors     %.0f C, %.0f W\n", info.temperature, info.power);
}
}  // namespace

int main() try {
  print(Cpu{});
  for (int ordinal = 0; ordinal < cuda::device_count(); ++ordinal) print(Cuda{ordinal});
  if (!cuda::is_available()) {
    std::printf("cuda: %s\n", cuda::unavailable_reason().c_str());
    return 0;
  }
  const DeviceInfo gpu = device_info(Cuda{});
  std::printf("driver %s, for CUDA %s; CUDA runtime %s, cuBLASLt %s, cuDNN %s\n", gpu.driver.c_str(),
              to_string(gpu.driver_cuda).c_str(), to_string(gpu.runtime).c_str(), to_string(gpu.cublaslt).c_str(),
              gpu.cudnn == Version{} ? "none" : to_string(gpu.cudnn).c_str());
} catch (const Error& error) {
  std::fprintf(stderr, "devices: %s\n", error.what());
  return 1;
}
