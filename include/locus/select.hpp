#pragma once
// The run-time choice of a device, turned into a type.

#include <locus/cpu/backend.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/refuse/mistake.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// A device chosen at run time.
struct AnyDevice {
  enum class Kind { cpu, cuda } kind = Kind::cpu;
  int ordinal = 0;  ///< of a cuda device
  friend constexpr bool operator==(const AnyDevice&, const AnyDevice&) = default;
};
[[nodiscard]] inline std::string to_string(const AnyDevice& device) {
  return device.kind == AnyDevice::Kind::cpu ? to_string(Cpu{}) : to_string(Cuda{device.ordinal});
}

/// The first GPU that can run this program's kernels, otherwise the host. If a GPU is skipped because the program has
/// no code for its architecture, with_device(parse_device("cuda"), ...) names the architecture to compile for at its
/// first launch.
[[nodiscard]] inline AnyDevice best_available() {
  for (int ordinal = 0; ordinal < cuda::device_count(); ++ordinal)
    if (cuda::has_code_for(ordinal)) return {AnyDevice::Kind::cuda, ordinal};
  return {};
}

/// "cpu", "cuda", "cuda:1", or "auto" for best_available(). throws ArgumentError
[[nodiscard]] inline AnyDevice parse_device(std::string_view text) {
  if (text == "cpu") return {};
  if (text == "auto") return best_available();
  if (text == "cuda") return {AnyDevice::Kind::cuda, 0};
  if (text.starts_with("cuda:") && text.size() > 5 && text.size() <= 8) {
    int ordinal = 0;
    bool digits = true;
    for (char c : text.substr(5)) {
      digits &= c >= '0' && c <= '9';
      ordinal = ordinal * 10 + (c - '0');
    }
    if (digits) return {AnyDevice::Kind::cuda, ordinal};
  }
  fail<ArgumentError>({"--device: '", text, "' is not a device; expected cpu, cuda, cuda:N or auto"});
}

/// The device named by `--device X` or `--device=X` among a program's arguments; "auto" if there is none.
/// throws ArgumentError
[[nodiscard]] inline AnyDevice device_from(int argc, const char* const* argv) {
  constexpr std::string_view option = "--device";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == option) {
      if (i + 1 == argc) fail<ArgumentError>({"--device: expected cpu, cuda, cuda:N or auto after it"});
      return parse_device(argv[i + 1]);
    }
    if (argument.starts_with(option) && argument.substr(option.size()).starts_with('=')) {
      return parse_device(argument.substr(option.size() + 1));
    }
  }
  return best_available();
}

namespace detail {
template <class F>
concept ForEveryDevice = requires(F& f) { f(Cpu{}), f(Cuda{}); };
template <class F>
concept SameForEveryDevice = std::is_same_v<decltype(std::declval<F&>()(Cpu{})), decltype(std::declval<F&>()(Cuda{}))>;
}  // namespace detail

/// Calls f with the device as a value of its own type; f is compiled for each kind:
///
///     with_device(device_from(argc, argv), []<Device D>(D device) { train<D>(device); });
///
/// Without CUDA in the build, f(Cuda) is type-checked all the same, but no code is generated for it.
/// throws CudaUnavailable, with the reason and the remedy, for a GPU that cannot be used
template <class F>
  requires detail::SameForEveryDevice<F>
decltype(auto) with_device(const AnyDevice& device, F&& f) {
  if (device.kind == AnyDevice::Kind::cpu) return std::forward<F>(f)(Cpu{});
  if (!cuda::is_available()) fail<CudaUnavailable>({to_string(device), ": ", cuda::unavailable_reason()});
  if (device.ordinal >= cuda::device_count()) {
    fail<CudaUnavailable>({to_string(device), ": there are ", cuda::device_count(), " GPUs, numbered from 0"});
  }
#if LOCUS_CUDA
  return std::forward<F>(f)(Cuda{device.ordinal});
#else
  cuda::require_device(device.ordinal);
#endif
}

#include <locus/refuse/select.inc>

}}  // namespace locus::LOCUS_ABI
