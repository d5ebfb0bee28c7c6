#pragma once
// Non-temporal (streaming) stores: lines that are written are neither read first nor kept in cache.

#include <locus/core/system/proc.hpp>
#include <locus/cpu/isa.hpp>

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

namespace detail {
/// Bytes of the last-level cache according to the C library; 0 if unknown. On AMD's processors some libraries count all
/// caches of the package.
[[nodiscard]] inline std::int64_t package_cache_bytes() {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  if (const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE); bytes > 0) return bytes;
#endif
  return 0;
}
/// Bytes of a core's last-level cache, from Linux, which counts them better.
[[nodiscard]] LOCUS_COLD inline std::int64_t core_cache_bytes() {
#if defined(__linux__)
  const std::string text = locus::detail::text_of_proc("/sys/devices/system/cpu/cpu0/cache/index3/size");  // "32768K"
  if (const long kilobytes = std::strtol(text.c_str(), nullptr, 10); kilobytes > 0)
    return std::int64_t{kilobytes} << 10;
#endif
  return package_cache_bytes();
}
inline constexpr std::int64_t usual_cache_bytes = 32 << 20;
}  // namespace detail

/// Outputs of maps of at least as many bytes are written by non-temporal stores: they would not stay in cache, and
/// their lines need not be read first. Linux's smaller figure made some maps faster and others slower. (A test may set
/// it.)
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::int64_t& bytes_worth_streaming() {
  static std::int64_t bytes = [] {
    const std::int64_t caches = detail::package_cache_bytes();
    return caches > 0 ? caches : detail::usual_cache_bytes;
  }();
  return bytes;
}

/// Rows are written by non-temporal stores if their launch moves at least as many bytes. (A test may set it.)
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::int64_t& bytes_worth_streaming_rows() {
  static std::int64_t bytes = [] {
    const std::int64_t cache = detail::core_cache_bytes();
    return (cache > 0 ? cache : detail::usual_cache_bytes) / 4 * 3;
  }();
  return bytes;
}

#if defined(__x86_64__)
namespace detail {
/// Copies whole cache lines. A wide store takes one entry of the store buffer; narrow stores would fill it.
#if defined(__clang__)
#define LOCUS_STREAM(builtin, value, target) __builtin_nontemporal_store(value, target)
#else
#define LOCUS_STREAM(builtin, value, target) builtin(target, value)
#endif
#define LOCUS_STREAM_LINES(name, bytes_of_vector, builtin)                             \
  inline void name(std::byte* target, const std::byte* tile, std::size_t bytes) {      \
    typedef long long Vector __attribute__((vector_size(bytes_of_vector), may_alias)); \
    for (std::size_t i = 0; i < bytes; i += bytes_of_vector) {                         \
      Vector value;                                                                    \
      std::memcpy(&value, tile + i, bytes_of_vector);                                  \
      LOCUS_STREAM(builtin, value, reinterpret_cast<Vector*>(target + i));             \
    }                                                                                  \
  }
LOCUS_STREAM_LINES(stream_lines, 16, __builtin_ia32_movntdq)
LOCUS_AVX2 LOCUS_STREAM_LINES(stream_lines_avx2, 32, __builtin_ia32_movntdq256) LOCUS_AVX512
    LOCUS_STREAM_LINES(stream_lines_avx512, 64, __builtin_ia32_movntdq512)
#undef LOCUS_STREAM_LINES
#undef LOCUS_STREAM
}  // namespace detail
#endif

/// Copies a tile to memory by non-temporal stores; partly filled lines are written through the cache. Call
/// finish_streams() after the last copy.
[[gnu::noinline]] inline void stream(std::byte* target, const std::byte* tile, std::size_t bytes) {
#if defined(__x86_64__)
  constexpr std::size_t line = 64;
  std::size_t begin = (line - reinterpret_cast<std::uintptr_t>(target) % line) % line;
  if (begin > bytes) begin = bytes;
  const std::size_t lines = (bytes - begin) / line * line, end = begin + lines;
  std::memcpy(target, tile, begin);
  if (isa() >= Isa::avx512) detail::stream_lines_avx512(target + begin, tile + begin, lines);
  else if (isa() == Isa::avx2) detail::stream_lines_avx2(target + begin, tile + begin, lines);
  else detail::stream_lines(target + begin, tile + begin, lines);
  std::memcpy(target + end, tile + end, bytes - end);
#else
  std::memcpy(target, tile, bytes);
#endif
}

/// A store fence: other threads see the non-temporal stores only after it.
inline void finish_streams() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

}}}  // namespace locus::LOCUS_ABI::cpu
