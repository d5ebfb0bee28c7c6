#pragma once
// Whether cuDNN computes convolutions, and by which of its engines. Needs no headers of cuDNN.

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
inline std::atomic<bool> nondeterministic_cudnn{false};
}  // namespace detail

/// Whether convolutions, of all threads, may be computed by cuDNN. At first true, unless the environment variable
/// LOCUS_CUDNN is 0. As torch.backends.cudnn.enabled.
inline void allow_cudnn(bool allow) { detail::cudnn_flag().store(allow, std::memory_order_relaxed); }
[[nodiscard]] inline bool cudnn_allowed() { return detail::cudnn_flag().load(std::memory_order_relaxed); }

/// Whether cuDNN may add up gradients in another order each time. Off at first: one program gives the same bits in
/// every run. As torch.backends.cudnn.deterministic, which is the opposite.
inline void allow_nondeterministic_cudnn(bool allow) {
  detail::nondeterministic_cudnn.store(allow, std::memory_order_relaxed);
}
[[nodiscard]] inline bool nondeterministic_cudnn_allowed() {
  return detail::nondeterministic_cudnn.load(std::memory_order_relaxed);
}

}}}  // namespace locus::LOCUS_ABI::cuda
