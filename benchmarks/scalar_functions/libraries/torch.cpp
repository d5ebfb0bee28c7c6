// libtorch: its operations on tensors, by the instructions that it chooses.

#include "../library.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/version.h>

#include <iterator>

namespace {

at::Tensor tensor(const void* x, std::size_t n, at::ScalarType type) {
  return at::from_blob(const_cast<void*>(x), {static_cast<std::int64_t>(n)}, type);
}

template <at::ScalarType type, auto f>
void unary(const void* x, const void*, void* z, std::size_t n) {
  const c10::InferenceMode no_gradients;
  tensor(z, n, type).copy_(f(tensor(x, n, type)));
}
template <at::ScalarType type, auto f>
void binary(const void* x, const void* y, void* z, std::size_t n) {
  const c10::InferenceMode no_gradients;
  tensor(z, n, type).copy_(f(tensor(x, n, type), tensor(y, n, type)));
}

// clang-format off
#define UNARY(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) \
  X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(sqrt) X(rsqrt) X(reciprocal) X(erf) X(erfc) X(erfinv) X(lgamma) \
  X(digamma) X(sigmoid) X(logit) X(silu) X(softplus) X(mish) X(elu) X(round) X(floor) X(ceil) X(trunc)
// clang-format on
#define BINARY(X) X(pow) X(atan2) X(hypot) X(fmod) X(remainder) X(xlogy) X(divide) X(maximum) X(minimum)
#define ENTRY(name) {#name, &unary<type, [](const at::Tensor& x) { return at::name(x); }>},
#define PAIR(name) {#name, &binary<type, [](const at::Tensor& x, const at::Tensor& y) { return at::name(x, y); }>},
template <at::ScalarType type>
constexpr accuracy::Function functions[] = {
    UNARY(ENTRY)
        BINARY(PAIR){"add", &binary<type, [](const at::Tensor& x, const at::Tensor& y) { return at::add(x, y); }>},
    {"multiply", &binary<type, [](const at::Tensor& x, const at::Tensor& y) { return at::mul(x, y); }>},
    {"gelu", &unary<type, [](const at::Tensor& x) { return at::gelu(x); }>},
    {"gelu_tanh", &unary<type, [](const at::Tensor& x) { return at::gelu(x, "tanh"); }>}};

template <at::ScalarType type>
accuracy::Library library(const char* name) {
  return {"libtorch", TORCH_VERSION, name, functions<type>, std::size(functions<type>)};
}

}  // namespace

extern "C" accuracy::Libraries accuracy_libraries() {
  at::set_num_threads(1);
  static const accuracy::Library all[] = {library<at::kFloat>("float"), library<at::kHalf>("half"),
                                          library<at::kBFloat16>("bfloat16")};
  return {all, std::size(all)};
}
