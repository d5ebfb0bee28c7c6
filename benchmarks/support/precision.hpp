#pragma once
// Matrix products: their precision, and the check of their results.

#include <locus/core/rng.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/tensor/tensor.hpp>

#include <cmath>
#include <string_view>

/// In its lifetime products and convolutions on a GPU may round to TF32, or may not.
class Tf32Guard {
 public:
  explicit Tf32Guard(bool allowed)
      : products_(locus::cuda::tf32_allowed()), convolutions_(locus::cuda::tf32_convolutions_allowed()) {
    allow(allowed, allowed);
  }
  ~Tf32Guard() { allow(products_, convolutions_); }
  Tf32Guard(const Tf32Guard&) = delete;
  Tf32Guard& operator=(const Tf32Guard&) = delete;

 private:
  static void allow(bool products, bool convolutions) {
    locus::cuda::allow_tf32(products), locus::cuda::allow_tf32_convolutions(convolutions);
  }
  bool products_, convolutions_;
};

/// Relative rounding bounds: of the sum, relative to the sum of absolute products, and of the result.
struct Rounding {
  double sum, result;
};
[[nodiscard]] inline Rounding rounding_of(std::string_view dtype) {
  if (dtype == "f64") return {8 * 0x1p-53, 0};
  if (dtype == "tf32") return {0x1p-10, 0};
  if (dtype == "bf16") return {8 * 0x1p-24, 0x1p-8};
  return {8 * 0x1p-24, 0};
}

/// The largest error of some elements of c = a b, including corners, relative to the rounding bound: c is wrong if it
/// is more than 1, or NaN.
template <class T>
[[nodiscard]] double error_of(const locus::Tensor<T, locus::Cpu>& a, const locus::Tensor<T, locus::Cpu>& b,
                              const locus::Tensor<T, locus::Cpu>& c, const Rounding& rounding) {
  using locus::convert;
  constexpr int samples = 24;
  locus::Philox random(7, 0);
  double worst = 0;
  for (int sample = 0; sample < samples; ++sample) {
    const std::int64_t i = sample & 1 ? c.size(0) - 1 : random() % c.size(0);
    const std::int64_t j = sample & 2 ? c.size(1) - 1 : random() % c.size(1);
    double sum = 0, magnitude = 0;
    for (std::int64_t k = 0; k < a.size(1); ++k) {
      const double product = convert<double>(a(i, k)) * convert<double>(b(k, j));
      sum += product;
      magnitude += std::abs(product);
    }
    const double allowed = rounding.sum * magnitude + rounding.result * std::abs(sum);
    const double error = std::abs(convert<double>(c(i, j)) - sum) / allowed;
    if (!(error <= worst)) worst = error;
  }
  return worst;
}
