// xsimd: functions of batches, compiled for this processor.

#include "../library.hpp"
#include "../vectors.hpp"

#include <xsimd/xsimd.hpp>

#include <iterator>

namespace {

using accuracy::by_vectors;
using Batch = xsimd::batch<float>;

struct Batches {
  using Type = Batch;
  static constexpr std::size_t size = Batch::size;
  static Batch load(const float* x) { return Batch::load_unaligned(x); }
  static void store(float* z, const Batch& v) { v.store_unaligned(z); }
};

// clang-format off
#define UNARY(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) \
  X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(sqrt) X(cbrt) X(erf) X(erfc) X(lgamma) X(floor) X(ceil) X(trunc)
// clang-format on
#define BINARY(X) X(pow) X(atan2) X(hypot) X(fmod)
#define ENTRY(name) {#name, &by_vectors<Batches, [](const Batch& x) { return xsimd::name(x); }>},
#define PAIR(name) {#name, &by_vectors<Batches, [](const Batch& x, const Batch& y) { return xsimd::name(x, y); }>},
constexpr accuracy::Function functions[] = {
    UNARY(ENTRY) BINARY(PAIR){"round", &by_vectors<Batches, [](const Batch& x) { return xsimd::nearbyint(x); }>}};

#define TEXT(number) #number
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

}  // namespace

extern "C" accuracy::Libraries accuracy_libraries() {
  static const accuracy::Library all[] = {{"xsimd",
                                           VERSION(XSIMD_VERSION_MAJOR, XSIMD_VERSION_MINOR, XSIMD_VERSION_PATCH),
                                           "float", functions, std::size(functions)}};
  return {all, std::size(all)};
}
