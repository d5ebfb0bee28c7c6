// SLEEF: functions of at most 1.0 ulp (erfc 1.5) by its promise, and of at most 3.5.

#include "../library.hpp"

#include <sleef.h>

#include <immintrin.h>

#include <iterator>

namespace {

using accuracy::Function;

#define TEXT(number) #number
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)
constexpr const char* version = VERSION(SLEEF_VERSION_MAJOR, SLEEF_VERSION_MINOR, SLEEF_VERSION_PATCHLEVEL);

#if defined(__AVX512F__)
using Vector = __m512;
#define NAME(name, bound) Sleef_##name##f16_##bound
#define EXACT_NAME(name) Sleef_##name##f16
Vector load(const float* x) { return _mm512_loadu_ps(x); }
void store(float* z, Vector v) { _mm512_storeu_ps(z, v); }
#else
using Vector = __m256;
#define NAME(name, bound) Sleef_##name##f8_##bound
#define EXACT_NAME(name) Sleef_##name##f8
Vector load(const float* x) { return _mm256_loadu_ps(x); }
void store(float* z, Vector v) { _mm256_storeu_ps(z, v); }
#endif
constexpr std::size_t width = sizeof(Vector) / sizeof(float);

/// The last vector of fewer numbers is filled up with zeros.
template <auto f>
void vectors(const void* first, const void*, void* result, std::size_t n) {
  const auto* const x = static_cast<const float*>(first);
  auto* const z = static_cast<float*>(result);
  std::size_t k = 0;
  for (; k + width <= n; k += width) store(z + k, f(load(x + k)));
  float last[width] = {};
  for (std::size_t i = k; i < n; ++i) last[i - k] = x[i];
  store(last, f(load(last)));
  for (std::size_t i = k; i < n; ++i) z[i] = last[i - k];
}
template <auto f>
void vectors_of_pairs(const void* first, const void* second, void* result, std::size_t n) {
  const auto* const x = static_cast<const float*>(first);
  const auto* const y = static_cast<const float*>(second);
  auto* const z = static_cast<float*>(result);
  std::size_t k = 0;
  for (; k + width <= n; k += width) store(z + k, f(load(x + k), load(y + k)));
  float last[width] = {}, last_y[width] = {};
  for (std::size_t i = k; i < n; ++i) {
    last[i - k] = x[i];
    last_y[i - k] = y[i];
  }
  store(last, f(load(last), load(last_y)));
  for (std::size_t i = k; i < n; ++i) z[i] = last[i - k];
}

#define ENTRY(name, bound) {#name, &vectors<[](Vector x) { return NAME(name, bound)(x); }>},
#define PAIR(name, bound) {#name, &vectors_of_pairs<[](Vector x, Vector y) { return NAME(name, bound)(x, y); }>},
// clang-format off
#define U10(X) \
  X(exp, u10) X(exp2, u10) X(expm1, u10) X(log, u10) X(log2, u10) X(log10, u10) X(log1p, u10) X(sin, u10) \
  X(cos, u10) X(tan, u10) X(asin, u10) X(acos, u10) X(atan, u10) X(sinh, u10) X(cosh, u10) X(tanh, u10) \
  X(asinh, u10) X(acosh, u10) X(atanh, u10) X(cbrt, u10) X(erf, u10) X(erfc, u15) X(lgamma, u10)
#define U35(X) \
  X(exp2, u35) X(log, u35) X(log2, u35) X(sin, u35) X(cos, u35) X(tan, u35) X(asin, u35) X(acos, u35) X(atan, u35) \
  X(sinh, u35) X(cosh, u35) X(tanh, u35) X(cbrt, u35)
// clang-format on
constexpr Function exact[] = {U10(ENTRY) PAIR(pow, u10) PAIR(atan2, u10)
                                  PAIR(hypot, u05){"sqrt", &vectors<[](Vector x) { return NAME(sqrt, u05)(x); }>}};
constexpr Function fast[] = {U35(ENTRY) PAIR(atan2, u35) PAIR(hypot, u35)};

}  // namespace

extern "C" accuracy::Libraries accuracy_libraries() {
  static const accuracy::Library all[] = {{"sleef-u10", version, "float", exact, std::size(exact)},
                                          {"sleef-u35", version, "float", fast, std::size(fast)}};
  return {all, std::size(all)};
}
