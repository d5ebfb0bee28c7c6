#pragma once
// Whether cuDNN computes convolutions and attention, by which of its engines, and in how much memory. Needs no headers
// of cuDNN.

#include <locus/core/system/environment.hpp>

#include <atomic>
#include <cstddef>

extern "C" std::size_t cudnnGetVersion();

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// cuDNN's version, as 10000 * major + 100 * minor + patch; 0: this program has none, or finds none here.
[[nodiscard]] inline std::size_t cudnn_version() {
  static const std::size_t version = cudnnGetVersion();
  return version;
}

namespace detail {
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::atomic<bool>& cudnn_flag() {
  static std::atomic<bool> allowed{locus::detail::switch_from_environment("LOCUS_CUDNN", true)};
  return allowed;
}
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::atomic<bool>& nondeterministic_cudnn() {
  static std::atomic<bool> allowed{locus::detail::switch_from_environment("LOCUS_CUDNN_NONDETERMINISTIC", false)};
  return allowed;
}
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::atomic<std::int64_t>& cudnn_workspace() {
  constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
  static std::atomic<std::int64_t> bytes{[] {
    const int given = locus::detail::number_from_environment("LOCUS_CUDNN_WORKSPACE", "MiB", 0, mebibyte);
    return given < 0 ? 1024 * mebibyte : given * mebibyte;
  }()};
  return bytes;
}
}  // namespace detail

inline void allow_cudnn(bool allow) { detail::cudnn_flag().store(allow, std::memory_order_relaxed); }
[[nodiscard]] inline bool cudnn_allowed() { return detail::cudnn_flag().load(std::memory_order_relaxed); }

inline void allow_nondeterministic_cudnn(bool allow) {
  detail::nondeterministic_cudnn().store(allow, std::memory_order_relaxed);
}
[[nodiscard]] inline bool nondeterministic_cudnn_allowed() {
  return detail::nondeterministic_cudnn().load(std::memory_order_relaxed);
}

inline void limit_cudnn_workspace(std::int64_t bytes) {
  if (bytes < 0) fail<ArgumentError>({"limit_cudnn_workspace: ", bytes, " bytes; expected 0 or more"});
  detail::cudnn_workspace().store(bytes, std::memory_order_relaxed);
}
[[nodiscard]] inline std::int64_t cudnn_workspace_limit() {
  return detail::cudnn_workspace().load(std::memory_order_relaxed);
}

}}}  // namespace locus::LOCUS_ABI::cuda
