#pragma once
// Ranges for NVIDIA's profilers (Nsight Systems). Not in locus.hpp: their header takes half a second to compile.
// Without a CUDA toolkit, or a profiler, they do nothing.

#include <locus/device/trace/launch_trace.hpp>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define LOCUS_HAS_NVTX 1
#define LOCUS_NVTX with_toolkit
#else
#define LOCUS_HAS_NVTX 0
#define LOCUS_NVTX without_toolkit
#endif

// Files of one program may find different headers: definitions that differ have different names.
namespace locus { inline namespace LOCUS_ABI { namespace nvtx { inline namespace LOCUS_NVTX {

namespace detail {
inline void push([[maybe_unused]] const char* name) {
#if LOCUS_HAS_NVTX
  nvtxRangePushA(name);
#endif
}
inline void pop() {
#if LOCUS_HAS_NVTX
  nvtxRangePop();
#endif
}
inline constexpr locus::detail::LaunchRanges launches{&push, &pop};
}  // namespace detail

/// Whether every launch of the process, on any device, is a range that is named by its verb and expression.
inline void mark_launches(bool marked) { locus::detail::launch_ranges.store(marked ? &detail::launches : nullptr); }

/// A range from its construction to the end of its life, on the calling thread; they nest.
///
///     const nvtx::Range range("epoch");
class Range {
 public:
  explicit Range(const char* name) { detail::push(name); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() { detail::pop(); }
};

}}}}  // namespace locus::LOCUS_ABI::nvtx::LOCUS_NVTX

#undef LOCUS_NVTX
#undef LOCUS_HAS_NVTX
