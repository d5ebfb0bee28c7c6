#pragma once
// Values that describe the host.

#include <locus/core/system/proc.hpp>
#include <locus/cpu/backend.hpp>
#include <locus/device/device_info.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// The host: its processor, instruction set, cores and memory. throws ArgumentError for a LOCUS_CPU_ISA that this
/// processor lacks
///
///     const auto device = device_info(Cpu{});   // device.name, device.processors, device.has_fast_bfloat16
[[nodiscard]] LOCUS_COLD inline DeviceInfo device_info(Cpu device) {
  DeviceInfo info;
  info.name = detail::processor_in(detail::text_of_proc("/proc/cpuinfo"));
  info.architecture = to_string(cpu::isa());
  info.processors = static_cast<int>(cpu::detail::available_cores());
  info.memory = memory_info(device);
  info.has_fast_bfloat16 = cpu::isa() >= cpu::Isa::avx512_bf16;
  return info;
}

}}  // namespace locus::LOCUS_ABI
