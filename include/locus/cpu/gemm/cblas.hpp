#pragma once
// Matrix products by a CBLAS library, in programs built with one (-DLOCUS_CBLAS=1; Meson: -Dblas=openblas).

#if LOCUS_CBLAS
#include <locus/cpu/gemm/tiles.hpp>

#include <climits>
#include <cstdio>
#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

// Declared here by other names: OpenBLAS' header defines a bfloat16 of its own. Enumerations and integers of CBLAS have
// 32 bits, except in builds for 64-bit integers, whose functions have other names.
extern "C" {
void locus_sgemm(int order, int a_transposition, int b_transposition, int m, int n, int k, float alpha, const float* a,
                 int a_stride, const float* b, int b_stride, float beta, float* c, int c_stride) __asm__("cblas_sgemm");
void locus_dgemm(int order, int a_transposition, int b_transposition, int m, int n, int k, double alpha,
                 const double* a, int a_stride, const double* b, int b_stride, double beta, double* c,
                 int c_stride) __asm__("cblas_dgemm");
char* locus_openblas_corename() __asm__("openblas_get_corename") __attribute__((weak));
}
inline constexpr int cblas_row_major = 101, cblas_as_it_is = 111, cblas_transposed = 112;

/// OpenBLAS 0.3.21 takes processors newer than itself for a Pentium 4 and is ten times slower than it could be.
inline void warn_of_slow_openblas() {
#if defined(__x86_64__)
  if (!locus_openblas_corename || std::strcmp(locus_openblas_corename(), "Prescott") != 0) return;
  if (!__builtin_cpu_supports("avx2")) return;
  std::fprintf(stderr,
               "locus: OpenBLAS does not know this processor and uses kernels made for a Pentium 4 (Prescott). Set "
               "OPENBLAS_CORETYPE=%s in the environment, or build with -Dblas=none to use Locus' own products.\n",
               __builtin_cpu_supports("avx512f") ? "SkylakeX" : "Haswell");
#endif
}

struct CblasOperand {
  int transposition;
  int stride;  ///< 0 where CBLAS cannot read the matrix as it lies
};

template <class T>
[[nodiscard]] CblasOperand cblas_operand(const MatrixRef<T>& x) {
  const auto fits = [](std::int64_t stride, std::int64_t length) { return stride >= length && stride <= INT_MAX; };
  if (x.col_stride == 1 && x.cols > 0 && fits(x.row_stride, x.cols))
    return {cblas_as_it_is, static_cast<int>(x.row_stride)};
  if (x.row_stride == 1 && x.rows > 0 && fits(x.col_stride, x.rows))
    return {cblas_transposed, static_cast<int>(x.col_stride)};
  return {cblas_as_it_is, 0};
}

/// Whether CBLAS takes the operands.
template <class T>
[[nodiscard]] bool library_takes(const GemmCall<T>& call) {
  const CblasOperand c = cblas_operand(call.c);
  if (!cblas_operand(call.a).stride || !cblas_operand(call.b).stride || !c.stride || c.transposition != cblas_as_it_is)
    return false;
  return call.c.rows <= INT_MAX && (call.plain || !call.accumulates);
}
template <class T>
void multiply_by_library(const GemmCall<T>& call) {
  const CblasOperand a = cblas_operand(call.a), b = cblas_operand(call.b), c = cblas_operand(call.c);
  [[maybe_unused]] static const bool warned = (warn_of_slow_openblas(), true);
  const int m = static_cast<int>(call.c.rows), n = static_cast<int>(call.c.cols), k = static_cast<int>(call.a.cols);
  const T kept = call.accumulates ? T(1) : T(0);
  const auto product = [&] {
    if constexpr (std::is_same_v<T, float>) return &locus_sgemm;
    else return &locus_dgemm;
  }();
  product(cblas_row_major, a.transposition, b.transposition, m, n, k, T(1), call.a.data, a.stride, call.b.data,
          b.stride, kept, call.c.data, c.stride);
  if (!call.plain) call.finish(call, {call.c.data, call.c.row_stride, 0, 0, call.c.rows, call.c.cols});
}

}}}  // namespace locus::LOCUS_ABI::cpu::detail

#endif  // LOCUS_CBLAS
