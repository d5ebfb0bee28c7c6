#pragma once
// The functions of LAPACK that Locus calls. Programs that use them link with -llapack.

#include <locus/core/config.hpp>

#include <cstddef>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

// Declared here by other names, as only some distributions have a header of LAPACK. Integers have 32 bits, except in
// builds for 64-bit integers, whose functions have other names. Fortran passes the length of a text behind all
// arguments.
#define LOCUS_LAPACK(T, letter)                                                                                        \
  void locus_##letter##getrf(const int* m, const int* n, T* a, const int* lda, int* pivots,                            \
                             int* info) __asm__(#letter "getrf_");                                                     \
  void locus_##letter##getrs(const char* trans, const int* n, const int* nrhs, const T* a, const int* lda,             \
                             const int* pivots, T* b, const int* ldb, int* info,                                       \
                             std::size_t) __asm__(#letter "getrs_");                                                   \
  void locus_##letter##potrf(const char* uplo, const int* n, T* a, const int* lda, int* info,                          \
                             std::size_t) __asm__(#letter "potrf_");                                                   \
  void locus_##letter##geqrf(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* lwork,      \
                             int* info) __asm__(#letter "geqrf_");                                                     \
  void locus_##letter##orgqr(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau, T* work,    \
                             const int* lwork, int* info) __asm__(#letter "orgqr_");                                   \
  void locus_##letter##gesdd(const char* jobz, const int* m, const int* n, T* a, const int* lda, T* s, T* u,           \
                             const int* ldu, T* vt, const int* ldvt, T* work, const int* lwork, int* iwork, int* info, \
                             std::size_t) __asm__(#letter "gesdd_");                                                   \
  void locus_##letter##syevd(const char* jobz, const char* uplo, const int* n, T* a, const int* lda, T* w, T* work,    \
                             const int* lwork, int* iwork, const int* liwork, int* info, std::size_t,                  \
                             std::size_t) __asm__(#letter "syevd_");                                                   \
  void locus_##letter##geev(const char* jobvl, const char* jobvr, const int* n, T* a, const int* lda, T* wr, T* wi,    \
                            T* vl, const int* ldvl, T* vr, const int* ldvr, T* work, const int* lwork, int* info,      \
                            std::size_t, std::size_t) __asm__(#letter "geev_");
extern "C" {
LOCUS_LAPACK(float, s)
LOCUS_LAPACK(double, d)
}
#undef LOCUS_LAPACK

/// LAPACK's functions for one element type. Not constexpr: g++ 16 warns about lambdas that call constexpr pointers.
template <class T>
struct Lapack;
#define LOCUS_LAPACK(T, letter)                               \
  template <>                                                 \
  struct Lapack<T> {                                          \
    static inline auto* const getrf = &locus_##letter##getrf; \
    static inline auto* const getrs = &locus_##letter##getrs; \
    static inline auto* const potrf = &locus_##letter##potrf; \
    static inline auto* const geqrf = &locus_##letter##geqrf; \
    static inline auto* const orgqr = &locus_##letter##orgqr; \
    static inline auto* const gesdd = &locus_##letter##gesdd; \
    static inline auto* const syevd = &locus_##letter##syevd; \
    static inline auto* const geev = &locus_##letter##geev;   \
  };
LOCUS_LAPACK(float, s)
LOCUS_LAPACK(double, d)
#undef LOCUS_LAPACK

}}}  // namespace locus::LOCUS_ABI::cpu::detail
