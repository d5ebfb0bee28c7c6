#pragma once
// 16-bit floats for loops over floats: processors with AVX2 convert eight by one instruction, which compilers do not
// use in loops over single elements.

#include <locus/core/dtype.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/cpu/isa.hpp>
#include <locus/device/verbs.hpp>

#include <cstddef>
#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

namespace detail {
LOCUS_LOOPS_BEGIN
LOCUS_FN void halves_to_floats_loop(float* out, const half* in, std::int64_t n) {
  LOCUS_IVDEP
  for (std::int64_t i = 0; i < n; ++i) out[i] = load_as_register(in[i]);
}
LOCUS_FN void floats_to_halves_loop(half* out, const float* in, std::int64_t n) {
  LOCUS_IVDEP
  for (std::int64_t i = 0; i < n; ++i) out[i] = from_register<half>(in[i]);
}
LOCUS_LOOPS_END

#if defined(__x86_64__)
/// F16C, which Isa::avx2 includes.
#define LOCUS_F16C __attribute__((target("f16c,avx2")))
typedef short EightHalves __attribute__((vector_size(16)));
typedef float EightFloats __attribute__((vector_size(32)));
typedef float FourFloats __attribute__((vector_size(16)));
#if defined(__clang__)  // from version 22 on without the builtin function; this becomes the same instruction
typedef __fp16 EightNumbers __attribute__((vector_size(16)));
#define LOCUS_FLOATS_OF(halves) __builtin_convertvector((EightNumbers)(halves), EightFloats)
#else
#define LOCUS_FLOATS_OF(halves) __builtin_ia32_vcvtph2ps256(halves)
#endif

/// Eight at a time, the tail one by one: a partial copy into a register would stall the load after it.
[[gnu::noinline]] LOCUS_F16C inline void halves_to_floats_f16c(float* out, const half* in, std::int64_t n) {
  EightHalves halves{};
  EightFloats floats;
  for (; n >= 8; n -= 8, in += 8, out += 8) {
    std::memcpy(&halves, in, sizeof halves);
    floats = LOCUS_FLOATS_OF(halves);
    std::memcpy(out, &floats, sizeof floats);
  }
  for (; n > 0; --n, ++in, ++out) {
    halves = EightHalves{};
    std::memcpy(&halves, in, sizeof *in);
    floats = LOCUS_FLOATS_OF(halves);
    std::memcpy(out, &floats, sizeof *out);
  }
}
[[gnu::noinline]] LOCUS_F16C inline void floats_to_halves_f16c(half* out, const float* in, std::int64_t n) {
  constexpr int nearest_even = 0;
  EightHalves halves;
  EightFloats floats{};
  for (; n >= 8; n -= 8, in += 8, out += 8) {
    std::memcpy(&floats, in, sizeof floats);
    halves = __builtin_ia32_vcvtps2ph256(floats, nearest_even);
    std::memcpy(static_cast<void*>(out), &halves, sizeof halves);
  }
  for (; n > 0; --n, ++in, ++out) {
    FourFloats one{};
    std::memcpy(&one, in, sizeof *in);
    halves = __builtin_ia32_vcvtps2ph(one, nearest_even);
    std::memcpy(static_cast<void*>(out), &halves, sizeof *out);
  }
}
#undef LOCUS_FLOATS_OF
#undef LOCUS_F16C
#endif
}  // namespace detail

inline void halves_to_floats(float* out, const half* in, std::int64_t n) {
#if defined(__x86_64__)
  if (isa() >= Isa::avx2) return detail::halves_to_floats_f16c(out, in, n);
#endif
  Versions<&detail::halves_to_floats_loop>::once(out, in, n);
}
/// Rounds to nearest even.
inline void floats_to_halves(half* out, const float* in, std::int64_t n) {
#if defined(__x86_64__)
  if (isa() >= Isa::avx2) return detail::floats_to_halves_f16c(out, in, n);
#endif
  Versions<&detail::floats_to_halves_loop>::once(out, in, n);
}

/// An operand of a loop: a pointer to halves becomes one to floats.
template <class X>
struct Widened {
  using type = X;
  static constexpr bool is_half = false;
};
template <>
struct Widened<const half*> {
  using type = const float*;
  static constexpr bool is_half = true;
};
template <>
struct Widened<half*> {
  using type = float*;
  static constexpr bool is_half = true;
};

/// The loop of a map over one dense run.
using MapRun = void (*)(const void* f, std::int64_t n, std::int64_t first, const void* const* in, void* const* out);

/// One operand of a map that has halves.
struct MaybeHalves {
  int size;  ///< bytes between elements; 0 for indices, which are not read, and for one element of a run
  bool is_half;
};

/// Runs a loop over floats where operands, inputs before outputs, are halves: a tile of floats at a time.
LOCUS_OUT_OF_LINE inline void run_widened(MapRun run, const MaybeHalves* operands, int inputs, int outputs,
                                          const void* f, std::int64_t n, std::int64_t first, const void* const* in,
                                          void* const* out) {
  constexpr std::int64_t floats_per_tile = 256;
  using Tile = float[floats_per_tile];
  // On the stack, which may be small: a tile for each operand there is.
  auto* const tiles =
      static_cast<Tile*>(__builtin_alloca_with_align(static_cast<std::size_t>(inputs + outputs) * sizeof(Tile), 512));
  for (std::int64_t at = 0; at < n; at += floats_per_tile) {
    const std::int64_t count = locus::detail::smaller(n - at, floats_per_tile);
    const void* float_in[max_launch_operands];
    void* float_out[max_launch_operands];
    for (int i = 0; i < inputs; ++i) {
      const void* const source = static_cast<const std::byte*>(in[i]) + at * operands[i].size;
      if (operands[i].is_half)
        halves_to_floats(tiles[i], static_cast<const half*>(source), operands[i].size == 0 ? 1 : count);
      float_in[i] = operands[i].is_half ? tiles[i] : source;
    }
    const auto target = [&](int o) -> void* {
      return static_cast<std::byte*>(out[o]) + at * operands[inputs + o].size;
    };
    for (int o = 0; o < outputs; ++o) float_out[o] = operands[inputs + o].is_half ? tiles[inputs + o] : target(o);
    run(f, count, first + at, float_in, float_out);
    for (int o = 0; o < outputs; ++o)
      if (operands[inputs + o].is_half) floats_to_halves(static_cast<half*>(target(o)), tiles[inputs + o], count);
  }
}

}}}  // namespace locus::LOCUS_ABI::cpu
