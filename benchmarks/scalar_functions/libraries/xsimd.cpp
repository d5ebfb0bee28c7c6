// xsimd: functions of batches, compiled for this processor.

#include "../library.hpp"

#include <xsimd/xsimd.hpp>

#include <iterator>

namespace {

using Batch = xsimd::batch<float>;

/// The last batch of fewer numbers is filled up with ones.
template <auto f>
void unary(const void* first, const void*, void* result, std::size_t n) {
  const auto* const x = static_cast<const float*>(first);
  auto* const z = static_cast<float*>(result);
  std::size_t k = 0;
  for (; k + Batch::size <= n; k += Batch::size) f(Batch::load_unaligned(x + k)).store_unaligned(z + k);
  float last[Batch::size];
  for (std::size_t i = 0; i < Batch::size; ++i) last[i] = k + i < n ? x[k + i] : 1;
  f(Batch::load_unaligned(last)).store_unaligned(last);
  for (std::size_t i = k; i < n; ++i) z[i] = last[i - k];
}
template <auto f>
void binary(const void* first, const void* second, void* result, std::size_t n) {
  const auto* const x = static_cast<const float*>(first);
  const auto* const y = static_cast<const float*>(second);
  auto* const z = static_cast<float*>(result);
  std::size_t k = 0;
  for (; k + Batch::size <= n; k += Batch::size)
    f(Batch::load_unaligned(x + k), Batch::load_unaligned(y + k)).store_unaligned(z + k);
  float last[Batch::size], last_y[Batch::size];
  for (std::size_t i = 0; i < Batch::size; ++i) {
    last[i] = k + i < n ? x[k + i] : 1;
    last_y[i] = k + i < n ? y[k + i] : 1;
  }
  f(Batch::load_unaligned(last), Batch::load_unaligned(last_y)).store_unaligned(last);
  for (std::size_t i = k; i < n; ++i) z[i] = last[i - k];
}

// clang-format off
#define UNARY(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) \
  X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(sqrt) X(cbrt) X(erf) X(erfc) X(lgamma) X(floor) X(ceil) X(trunc)
// clang-format on
#define BINARY(X) X(pow) X(atan2) X(hypot) X(fmod)
#define ENTRY(name) {#name, &unary<[](const Batch& x) { return xsimd::name(x); }>},
#define PAIR(name) {#name, &binary<[](const Batch& x, const Batch& y) { return xsimd::name(x, y); }>},
constexpr accuracy::Function functions[] = {
    UNARY(ENTRY) BINARY(PAIR){"round", &unary<[](const Batch& x) { return xsimd::nearbyint(x); }>}};

#define TEXT(number) #number
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

}  // namespace

extern "C" accuracy::Libraries accuracy_libraries() {
  static const accuracy::Library all[] = {{"xsimd",
                                           VERSION(XSIMD_VERSION_MAJOR, XSIMD_VERSION_MINOR, XSIMD_VERSION_PATCH),
                                           "float", functions, std::size(functions)}};
  return {all, std::size(all)};
}
