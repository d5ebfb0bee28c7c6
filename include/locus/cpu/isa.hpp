#pragma once
// Instruction sets, chosen at run time: a program built with plain -O2 also has its loops for AVX2 and AVX-512, and
// uses the best version that the processor runs. A program built for AVX-512 has its loops once. Products of bfloat16
// have levels of their own above AVX-512, among which every program chooses at run time.

#include <locus/core/check.hpp>
#include <locus/core/std/atomic.hpp>

#include <cstdlib>
#include <string_view>

/// Sets the vector width of loops, whichever processor the program is compiled for: tuned for many of Intel's,
/// compilers halve the vectors of AVX-512, which costs a fifth to a quarter of the speed of exp, softmax and the like.
/// clang has no such option for a function, but derives the width from the processor that it tunes for; it obeys a
/// user's -mprefer-vector-width.
#if defined(__clang__)
#define LOCUS_WIDE_VECTORS , min_vector_width(512)
#define LOCUS_VECTORS_OF_512_BITS ",tune=x86-64"
#if defined(__AVX512F__)
#define LOCUS_VECTORS_OF_256_BITS ",tune=skylake-avx512"
#else
#define LOCUS_VECTORS_OF_256_BITS ",tune=x86-64"
#endif
#else
#define LOCUS_WIDE_VECTORS
#define LOCUS_VECTORS_OF_512_BITS ",prefer-vector-width=512"
#define LOCUS_VECTORS_OF_256_BITS ",prefer-vector-width=256"
#endif
/// 1 where loops are compiled for several instruction sets. At -O0, where no loop is vectorized, all versions would be
/// equally slow, and take a fifth of the compiler's time: there is one. Products of matrices have kernels for each
/// instruction set, at -O0 too.
#if !defined(__x86_64__)
#undef LOCUS_LOOP_VERSIONS
#define LOCUS_LOOP_VERSIONS 0
#elif !defined(LOCUS_LOOP_VERSIONS)
#if defined(__OPTIMIZE__)
#define LOCUS_LOOP_VERSIONS 1
#else
#define LOCUS_LOOP_VERSIONS 0
#endif
#endif

#define LOCUS_AVX512_TARGET "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma" LOCUS_VECTORS_OF_512_BITS
#define LOCUS_AVX512 __attribute__((target(LOCUS_AVX512_TARGET) LOCUS_WIDE_VECTORS))
#define LOCUS_AVX512_BF16 __attribute__((target("avx512bf16," LOCUS_AVX512_TARGET) LOCUS_WIDE_VECTORS))
#define LOCUS_AVX2 __attribute__((target("avx2,fma,f16c" LOCUS_VECTORS_OF_256_BITS)))

/// In a function without floating-point arithmetic of its own, g++ takes the flags of such arithmetic from inlined
/// functions. The program's flags let comparisons trap: loops with conditionals would stay scalar. LOCUS_OWN_FLOAT
/// gives a function such arithmetic.
#if defined(__clang__)
#define LOCUS_OWN_FLOAT
#else
#define LOCUS_OWN_FLOAT          \
  const volatile float zero = 0; \
  [[maybe_unused]] const float own = zero;
#endif

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

/// Instruction sets of x86-64, each including all before it; `generic` is the set that the program is compiled for, and
/// the only one on other processors. Loops use at most avx512; the later sets have instructions that multiply bfloat16,
/// amx_bf16 in tiles of 16 rows of 32.
enum class Isa : int { generic, avx2, avx512, avx512_bf16, amx_bf16 };
inline constexpr int isa_count = 5;
inline constexpr Isa every_isa[isa_count] = {Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx_bf16};

[[nodiscard]] constexpr std::string_view to_string(Isa isa) {
  constexpr std::string_view names[isa_count] = {"generic", "avx2", "avx512", "avx512_bf16", "amx_bf16"};
  return names[static_cast<int>(isa)];
}

/// The program's own instruction set: the lowest choice.
#if defined(__AVX512F__) && defined(__AVX512DQ__)
inline constexpr Isa lowest_isa = Isa::avx512;
#elif defined(__AVX2__) && defined(__FMA__)
inline constexpr Isa lowest_isa = Isa::avx2;
#else
inline constexpr Isa lowest_isa = Isa::generic;
#endif

#if defined(__x86_64__)
namespace detail {
/// Registers of CPUID, for features that clang 14's __builtin_cpu_supports does not name.
struct Cpuid {
  unsigned ecx, edx;
};
[[nodiscard]] inline Cpuid cpuid(unsigned leaf) {
  unsigned ecx = 0, edx = 0;
  __asm__("cpuid" : "+a"(leaf), "+c"(ecx), "=d"(edx) : : "rbx");
  return {ecx, edx};
}
/// Whether the processor converts halves.
[[nodiscard]] inline bool has_f16c() { return (cpuid(1).ecx >> 29 & 1) != 0; }
/// Whether the processor multiplies tiles of bfloat16, and the system saves the registers that hold them.
[[nodiscard]] inline bool has_amx_bf16() {
#if defined(__linux__)  // elsewhere, it is not known how to request their use
  constexpr unsigned bf16 = 1u << 22, tile = 1u << 24, saved = 3u << 17;
  unsigned state = 0;
  if ((cpuid(7).edx & (bf16 | tile)) != (bf16 | tile)) return false;
  __asm__("xgetbv" : "=a"(state) : "c"(0) : "edx");
  return (state & saved) == saved;
#else
  return false;
#endif
}
}  // namespace detail
#endif

/// Whether this program can use an instruction set on this processor.
[[nodiscard]] inline bool has_isa(Isa isa) {
  if (isa <= lowest_isa) return isa == lowest_isa;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && detail::has_f16c();
  if (isa == Isa::avx2 || !avx2) return avx2;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (isa == Isa::avx512 || !avx512) return avx512;
  const bool pairs = __builtin_cpu_supports("avx512bf16");
  return isa == Isa::avx512_bf16 || !pairs ? pairs : detail::has_amx_bf16();
#else
  return false;
#endif
}

/// The best instruction set that this program can use on this processor.
[[nodiscard]] inline Isa best_isa() {
  Isa best = lowest_isa;
  for (const Isa isa : every_isa)
    if (has_isa(isa)) best = isa;
  return best;
}

namespace detail {
inline constexpr int isa_unknown = -1;
inline Atomic<int> isa_in_use{isa_unknown};

/// throws ArgumentError unless this program can use the set on this processor
[[nodiscard]] LOCUS_COLD inline Isa checked_isa(std::string_view text) {
  for (const Isa isa : every_isa) {
    if (text != to_string(isa)) continue;
    if (has_isa(isa)) return isa;
    if (isa < lowest_isa)
      fail<ArgumentError>({"LOCUS_CPU_ISA: ", text, " is less than this program is compiled for; expected ",
                           to_string(lowest_isa), " or later, or another build"});
    fail<ArgumentError>({"LOCUS_CPU_ISA: this processor lacks ", text, "; expected ", to_string(best_isa()),
                         " or less, or no value, which chooses the best"});
  }
  fail<ArgumentError>({"LOCUS_CPU_ISA: \"", text,
                       "\"; expected generic, avx2, avx512, avx512_bf16, amx_bf16, or no "
                       "value"});
}

LOCUS_COLD inline Isa choose_isa() {
  const char* const wanted = std::getenv("LOCUS_CPU_ISA");
  const Isa isa = wanted && *wanted ? checked_isa(wanted) : best_isa();
  isa_in_use.store(static_cast<int>(isa), Order::relaxed);
  return isa;
}
}  // namespace detail

/// The instruction set that loops use: named by the environment variable LOCUS_CPU_ISA (read at the first call),
/// otherwise the best. throws ArgumentError if the variable names no set that this program can use here
[[nodiscard]] inline Isa isa() {
  const int isa = detail::isa_in_use.load(Order::relaxed);
  return isa == detail::isa_unknown ? detail::choose_isa() : static_cast<Isa>(isa);
}

/// From now on, loops use this set. throws ArgumentError unless this program can use it on this processor
inline void set_isa(Isa isa) {
  detail::isa_in_use.store(static_cast<int>(detail::checked_isa(to_string(isa))), Order::relaxed);
}

/// Before a function that is host-only, though marked `__device__` because its callers are: silences nvcc's check.
#if LOCUS_NVCC
#define LOCUS_HOST_ALONE _Pragma("nv_exec_check_disable")
#else
#define LOCUS_HOST_ALONE
#endif

LOCUS_LOOPS_BEGIN
/// A function of one loop, or few, compiled for each instruction set: Versions<&loop>::call(arguments...). The loop and
/// its callees are LOCUS_FN, or they are not compiled for the set. In a program with other versions, the generic
/// version runs only on processors from before 2013: it is left scalar, which spares every loop a compilation.
template <auto loop>
struct Versions;
template <class R, class... A, R (*loop)(A...)>
struct Versions<loop> {
  LOCUS_HOST_ALONE LOCUS_FN static R call(A... a) {
#if LOCUS_LOOP_VERSIONS
    if constexpr (lowest_isa >= Isa::avx512) {
      return avx512(a...);
    } else {
      if (isa() >= Isa::avx512) return avx512(a...);
      return narrow(a...);
    }
#else
    return once(a...);
#endif
  }

  /// The same for AVX2 at most, where wider registers do not pay.
  LOCUS_HOST_ALONE LOCUS_FN static R narrow(A... a) {
#if LOCUS_LOOP_VERSIONS
    if constexpr (lowest_isa >= Isa::avx2) {
      return avx2(a...);
    } else {
      if (isa() >= Isa::avx2) return avx2(a...);
      return scalar(a...);
    }
#else
    return once(a...);
#endif
  }

  /// A single version, where other instruction sets do not pay.
  LOCUS_HD LOCUS_VECTORIZED static R once(A... a) {
    LOCUS_OWN_FLOAT
    return loop(a...);
  }

 private:
#if LOCUS_LOOP_VERSIONS
  [[gnu::noinline]] LOCUS_HD LOCUS_VECTORIZED LOCUS_AVX512 static R avx512(A... a) {
    LOCUS_OWN_FLOAT
    return loop(a...);
  }
  [[gnu::noinline]] LOCUS_HD LOCUS_VECTORIZED LOCUS_AVX2 static R avx2(A... a) {
    LOCUS_OWN_FLOAT
    return loop(a...);
  }
  LOCUS_HD [[gnu::noinline]] static R scalar(A... a) { return loop(a...); }
#endif
};
LOCUS_LOOPS_END
#undef LOCUS_HOST_ALONE

}}}  // namespace locus::LOCUS_ABI::cpu
