// SLEEF: functions of at most 1.0 ulp (erfc 1.5) by its promise, and of at most 3.5.

#include "../library.hpp"
#include "../vectors.hpp"

#include <sleef.h>

#include <immintrin.h>

#include <iterator>

namespace {

using accuracy::by_vectors;
using accuracy::Function;

#define TEXT(number) #number
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)
constexpr const char* version = VERSION(SLEEF_VERSION_MAJOR, SLEEF_VERSION_MINOR, SLEEF_VERSION_PATCHLEVEL);

#if defined(__AVX512F__)
struct Vector {
  using Type = __m512;
  static constexpr std::size_t size = 16;
  static Type load(const float* x) { return _mm512_loadu_ps(x); }
  static void store(float* z, Type v) { _mm512_storeu_ps(z, v); }
};
#define NAME(name, bound) Sleef_##name##f16_##bound
#else
struct Vector {
  using Type = __m256;
  static constexpr std::size_t size = 8;
  static Type load(const float* x) { return _mm256_loadu_ps(x); }
  static void store(float* z, Type v) { _mm256_storeu_ps(z, v); }
};
#define NAME(name, bound) Sleef_##name##f8_##bound
#endif

#define ENTRY(name, bound) {#name, &by_vectors<Vector, [](Vector::Type x) { return NAME(name, bound)(x); }>},
#define PAIR(name, bound) \
  {#name, &by_vectors<Vector, [](Vector::Type x, Vector::Type y) { return NAME(name, bound)(x, y); }>},
// clang-format off
#define U10(X) \
  X(exp, u10) X(exp2, u10) X(expm1, u10) X(log, u10) X(log2, u10) X(log10, u10) X(log1p, u10) X(sin, u10) \
  X(cos, u10) X(tan, u10) X(asin, u10) X(acos, u10) X(atan, u10) X(sinh, u10) X(cosh, u10) X(tanh, u10) \
  X(asinh, u10) X(acosh, u10) X(atanh, u10) X(cbrt, u10) X(erf, u10) X(erfc, u15) X(lgamma, u10)
#define U35(X) \
  X(exp2, u35) X(log, u35) X(log2, u35) X(sin, u35) X(cos, u35) X(tan, u35) X(asin, u35) X(acos, u35) X(atan, u35) \
  X(sinh, u35) X(cosh, u35) X(tanh, u35) X(cbrt, u35)
// clang-format on
constexpr Function exact[] = {U10(ENTRY) PAIR(pow, u10) PAIR(atan2, u10) PAIR(hypot, u05){
    "sqrt", &by_vectors<Vector, [](Vector::Type x) { return NAME(sqrt, u05)(x); }>}};
constexpr Function fast[] = {U35(ENTRY) PAIR(atan2, u35) PAIR(hypot, u35)};

}  // namespace

extern "C" accuracy::Libraries accuracy_libraries() {
  static const accuracy::Library all[] = {{"sleef-u10", version, "float", exact, std::size(exact)},
                                          {"sleef-u35", version, "float", fast, std::size(fast)}};
  return {all, std::size(all)};
}
