// The C library: its scalar functions, and its vectors (libmvec), which compilers call with -ffast-math.

#include "../library.hpp"
#include "../vectors.hpp"

#include <gnu/libc-version.h>

#include <cmath>
#include <iterator>

namespace {

using accuracy::by_vectors;
using accuracy::Function;
using accuracy::Library;

template <auto f>
void each(const void* first, const void*, void* result, std::size_t n) {
  const auto* const x = static_cast<const float*>(first);
  auto* const z = static_cast<float*>(result);
  for (std::size_t k = 0; k < n; ++k) z[k] = f(x[k]);
}
template <auto f>
void each_pair(const void* first, const void* second, void* result, std::size_t n) {
  const auto* const x = static_cast<const float*>(first);
  const auto* const y = static_cast<const float*>(second);
  auto* const z = static_cast<float*>(result);
  for (std::size_t k = 0; k < n; ++k) z[k] = f(x[k], y[k]);
}
float log_of_gamma(float x) {
  int sign = 0;
  return ::lgammaf_r(x, &sign);
}

// clang-format off
#define SCALAR(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) \
  X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(sqrt) X(cbrt) X(erf) X(erfc) X(floor) X(ceil) X(trunc)
// clang-format on
#define SCALAR_OF_TWO(X) X(pow) X(atan2) X(hypot) X(fmod)
#define ENTRY(name) {#name, &each<&::name##f>},
#define ENTRY_OF_TWO(name) {#name, &each_pair<&::name##f>},
constexpr Function scalars[] = {SCALAR(ENTRY) SCALAR_OF_TWO(ENTRY_OF_TWO){"round", &each<&::rintf>},
                                {"lgamma", &each<&log_of_gamma>}};

#if defined(__AVX512F__)
using Vector [[gnu::vector_size(64), gnu::aligned(4)]] = float;
#define VECTOR_NAME(arguments, name) _ZGVeN16##arguments##_##name##f
#elif defined(__AVX2__)
using Vector [[gnu::vector_size(32), gnu::aligned(4)]] = float;
#define VECTOR_NAME(arguments, name) _ZGVdN8##arguments##_##name##f
#endif

#if defined(VECTOR_NAME)
struct Vectors {
  using Type = Vector;
  static constexpr std::size_t size = sizeof(Vector) / sizeof(float);
  static Vector load(const float* x) { return *reinterpret_cast<const Vector*>(x); }
  static void store(float* z, Vector v) { *reinterpret_cast<Vector*>(z) = v; }
};

// clang-format off
#define VECTOR(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) \
  X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(cbrt) X(erf) X(erfc)
// clang-format on
#define VECTOR_OF_TWO(X) X(pow) X(atan2) X(hypot)
extern "C" {
#define DECLARE(name) Vector VECTOR_NAME(v, name)(Vector);
#define DECLARE_OF_TWO(name) Vector VECTOR_NAME(vv, name)(Vector, Vector);
VECTOR(DECLARE)
VECTOR_OF_TWO(DECLARE_OF_TWO)
}
#define VECTOR_ENTRY(name) {#name, &by_vectors<Vectors, [](Vector x) { return VECTOR_NAME(v, name)(x); }>},
#define VECTOR_ENTRY_OF_TWO(name) \
  {#name, &by_vectors<Vectors, [](Vector x, Vector y) { return VECTOR_NAME(vv, name)(x, y); }>},
constexpr Function of_vectors[] = {VECTOR(VECTOR_ENTRY) VECTOR_OF_TWO(VECTOR_ENTRY_OF_TWO)};
#endif

}  // namespace

extern "C" accuracy::Libraries accuracy_libraries() {
  static const Library all[] = {
    {"glibc", gnu_get_libc_version(), "float", scalars, std::size(scalars)},
#if defined(VECTOR_NAME)
    {"libmvec", gnu_get_libc_version(), "float", of_vectors, std::size(of_vectors)}
#endif
  };
  return {all, std::size(all)};
}
