// Products of matrices, beside direct calls of cuBLASLt. Sizes: rows, columns, length of the sums.

#include "../support/precision.hpp"
#include "operands.hpp"

#include <locus/ops/matmul.hpp>

namespace bench {
namespace {

struct Form {
  std::int64_t m, n, k;
};

std::vector<Form> forms(Scale scale, bool host) {
  if (scale == Scale::tiny) return {{16, 16, 16}, {7, 5, 9}};
  std::vector<Form> all;
  for (std::int64_t size = 256; size <= (host ? 2048 : 8192); size *= 2) all.push_back({size, size, size});
  for (const Form& odd : {Form{511, 511, 511}, Form{1023, 1021, 1025}}) all.push_back(odd);
  for (const Form& skinny : {Form{128, 128, 784}, Form{8192, 16, 1024}, Form{16, 8192, 1024}}) all.push_back(skinny);
  if (!host) all.push_back({4095, 4093, 4097}), all.push_back({16, 8192, 8192});
  return all;
}

#if LOCUS_CUDA
ProductType product_type(std::string_view dtype) {
  return dtype == "f32" ? ProductType::f32 : dtype == "tf32" ? ProductType::tf32 : ProductType::bf16;
}
#endif

template <class T, class D>
std::vector<Variant> prepare(const Form& form, const std::string& dtype, D device) {
  struct Set {
    Tensor<T, D> a, b, c;
  };
  const auto [m, n, k] = form;
  const auto bytes = static_cast<double>(sizeof(T)) * static_cast<double>(m * k + k * n + m * n);
  const auto sets = rotation(device, bytes, [m = m, n = n, k = k, device] {
    return Set{locus::randn<T>({m, k}, device), locus::randn<T>({k, n}, device), Tensor<T, D>({m, n}, device)};
  });
  const auto judged = [sets, dtype](auto multiply) {
    return [=] {
      Set& set = sets->next();
      multiply(set);
      return error_of(on_the_host(set.a), on_the_host(set.b), on_the_host(set.c), rounding_of(dtype));
    };
  };
  const bool tf32 = dtype == "tf32";
  const auto ours = [=](Set& set) {
    const Tf32Guard guard(tf32);
    set.c = matmul(set.a, set.b);
  };
  std::vector<Variant> variants{{"locus", [=] { ours(sets->next()); }, judged(ours)}};
#if LOCUS_CUDA
  if constexpr (!on_host<D>) {
    const BlasLtProduct direct(device.ordinal, product_type(dtype), m, n, k);
    const auto theirs = [=](Set& set) { direct.run(set.a.data(), set.b.data(), set.c.data()); };
    variants.push_back({"cuBLASLt", [=] { theirs(sets->next()); }, judged(theirs)});
  }
#endif
  return variants;
}

template <class T, class D>
Workload product(const Form& form, const std::string& dtype, D device) {
  const auto [m, n, k] = form;
  Workload w{"gemm", "product", dtype, {m, n, k}};
  w.bytes = static_cast<double>(sizeof(T)) * static_cast<double>(m * k + k * n + m * n);
  w.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  w.prepare = [=] { return prepare<T>(form, dtype, device); };
  return w;
}

}  // namespace

template <class D>
void add_products(Workloads& workloads, Scale scale, D device) {
  for (const Form& form : forms(scale, on_host<D>)) {
    workloads.push_back(product<float>(form, "f32", device));
    if (!on_host<D>) workloads.push_back(product<float>(form, "tf32", device));
    if (!on_host<D> || scale == Scale::tiny) workloads.push_back(product<locus::bfloat16>(form, "bf16", device));
  }
}

}  // namespace bench

LOCUS_BENCHMARK(add_products)
