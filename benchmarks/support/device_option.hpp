#pragma once
// The option --device of benchmarks that compare the CPU with a GPU.

#include <string>

/// Empty for a device that `places_from` accepts; else an error message.
[[nodiscard]] inline std::string check_device(const std::string& device) {
  const bool ordinal = device.starts_with("cuda:") && device.size() > 5 && device.size() <= 8 &&
                       device.find_first_not_of("0123456789", 5) == std::string::npos;
  if (ordinal || device == "auto" || device == "both" || device == "cpu" || device == "cuda") return "";
  return "'" + device + "' is not a device; expected auto, cpu, cuda, cuda:N or both";
}
