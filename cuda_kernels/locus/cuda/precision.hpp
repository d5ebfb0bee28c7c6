#pragma once
// Whether products and convolutions of float32 on a GPU may round their operands to TF32. Needs no toolkit.

#include <locus/core/system/environment.hpp>

#include <atomic>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::atomic<bool>& tf32_flag() {
  static std::atomic<bool> allowed{locus::detail::switch_from_environment("LOCUS_TF32", false)};
  return allowed;
}
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::atomic<bool>& tf32_convolutions_flag() {
  static std::atomic<bool> allowed{locus::detail::switch_from_environment("LOCUS_TF32_CONVOLUTIONS", true)};
  return allowed;
}
}  // namespace detail

inline void allow_tf32(bool allow) { detail::tf32_flag().store(allow, std::memory_order_relaxed); }
[[nodiscard]] inline bool tf32_allowed() { return detail::tf32_flag().load(std::memory_order_relaxed); }

inline void allow_tf32_convolutions(bool allow) {
  detail::tf32_convolutions_flag().store(allow, std::memory_order_relaxed);
}
[[nodiscard]] inline bool tf32_convolutions_allowed() {
  return detail::tf32_convolutions_flag().load(std::memory_order_relaxed);
}

namespace detail {
/// Whether products of this thread are part of a convolution, and then whether they may round to TF32.
enum class ProductsOf { themselves, exact_convolution, rounded_convolution };
inline thread_local ProductsOf products_of = ProductsOf::themselves;

[[nodiscard]] inline bool product_rounds_to_tf32() {
  return products_of == ProductsOf::themselves ? tf32_allowed() : products_of == ProductsOf::rounded_convolution;
}

/// In its lifetime, products of this thread have the precision of a convolution.
class ConvolutionPrecision {
 public:
  explicit ConvolutionPrecision(bool exact) : before_(products_of) {
    products_of =
        tf32_convolutions_allowed() && !exact ? ProductsOf::rounded_convolution : ProductsOf::exact_convolution;
  }
  ~ConvolutionPrecision() { products_of = before_; }
  ConvolutionPrecision(const ConvolutionPrecision&) = delete;
  ConvolutionPrecision& operator=(const ConvolutionPrecision&) = delete;

 private:
  ProductsOf before_;
};
}  // namespace detail

}}}  // namespace locus::LOCUS_ABI::cuda
