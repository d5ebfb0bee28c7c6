// Eigen: functions of arrays, compiled for this processor.

#include "../library.hpp"

#include <Eigen/Core>
#include <unsupported/Eigen/SpecialFunctions>

#include <iterator>

namespace {

Eigen::Map<const Eigen::ArrayXf> array(const void* x, std::size_t n) {
  return {static_cast<const float*>(x), static_cast<Eigen::Index>(n)};
}
Eigen::Map<Eigen::ArrayXf> array(void* x, std::size_t n) {
  return {static_cast<float*>(x), static_cast<Eigen::Index>(n)};
}

template <auto f>
void unary(const void* x, const void*, void* z, std::size_t n) {
  array(z, n) = f(array(x, n));
}
template <auto f>
void binary(const void* x, const void* y, void* z, std::size_t n) {
  array(z, n) = f(array(x, n), array(y, n));
}

// clang-format off
#define UNARY(X) \
  X(exp) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) \
  X(tanh) X(asinh) X(acosh) X(atanh) X(sqrt) X(rsqrt) X(erf) X(erfc) X(lgamma) X(digamma) X(floor) X(ceil)
// clang-format on
#define ENTRY(name) {#name, &unary<[](const auto& x) { return x.name(); }>},
constexpr accuracy::Function functions[] = {UNARY(ENTRY){"sigmoid", &unary<[](const auto& x) { return x.logistic(); }>},
                                            {"reciprocal", &unary<[](const auto& x) { return x.inverse(); }>},
                                            {"round", &unary<[](const auto& x) { return x.rint(); }>},
                                            {"pow", &binary<[](const auto& x, const auto& y) { return x.pow(y); }>}};

#define TEXT(number) #number
#define VERSION(world, major, minor) TEXT(world) "." TEXT(major) "." TEXT(minor)

}  // namespace

extern "C" accuracy::Libraries accuracy_libraries() {
  static const accuracy::Library all[] = {{"eigen",
                                           VERSION(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION),
                                           "float", functions, std::size(functions)}};
  return {all, std::size(all)};
}
