#pragma once
// Products of linear layers that cuBLASLt fuses in one launch with a sum, or with an activation's derivative;
// device/linear_fusion.hpp specifies them.

#include <locus/cuda/gemm.cuh>
#include <locus/device/linear_fusion.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
/// Ends an unfused product: applies the epilogue, then calls then().
template <class T, class Then>
struct EndAndThen {
  ProductAlone<T> alone;
  const Then& then;
  static void finish(const void* self, void* c) {
    const auto& [alone, then] = *static_cast<const EndAndThen*>(self);
    ProductAlone<T>::finish(&alone, c);
    then();
  }
};

/// Queues a single product with its epilogue, into dense rows, in one launch. False, without effect, where that is
/// impossible or slower. The unfused alternative ends with then().
template <class T, class Then>
[[nodiscard]] bool multiply_at_once(Context& context, const BlasCall<T>& call, const Then& then) {
  if (call.a.cols == 0 || !call.fused.complete) return false;
  if (!is_read_in_place(call.a) || !is_read_in_place(call.b)) return false;
  Scratch a_copy(context), b_copy(context);
  const BlasProduct product = blas_product(context, call.batch, call.a, call.b, call.c, a_copy, b_copy);
  if (worthwhile_copies(product).any()) return false;
  const EndAndThen<T, Then> other{{context, call, {0, distance_of_rows(call.c), 1}}, then};
  return multiply_fused(context.state<Blas>(Context::blas), product, call.fused, &other.finish, &other);
}

/// Computes a factor's sums separately, after the product.
template <class Sum>
void finish_sums(const void* sum, void*) {
  (*static_cast<const Sum*>(sum))();
}

}  // namespace detail

/// Implements KeepsForDerivatives.
template <class T, class Activation>
inline constexpr bool keeps_for_derivative = [] {
  if constexpr (requires(const Activation& activation) { activation.visit(detail::AskActivation{nullptr}); })
    return true;
  else return detail::has_derivative<T>(epilogue_of<Activation>);
}();

/// The same.
template <class T, class Activation>
[[nodiscard]] int64_t kept_columns(const Activation& activation, int64_t cols) {
  return detail::kept_columns<T>(detail::fused_activation(activation), cols);
}

/// The same.
template <class T, class Activation>
[[nodiscard]] bool gemm_and_keep(Context& context, const MatrixRef<const T>& a, const MatrixRef<const T>& b,
                                 const MatrixRef<T>& c, const Epilogue<T, Activation>& epilogue, void* kept) {
  constexpr int keeping = CUBLASLT_EPILOGUE_RELU_AUX & ~CUBLASLT_EPILOGUE_RELU;
  auto call = detail::blas_call(GemmBatch{}, a, b, c, epilogue);
  call.fused.kind = static_cast<cublasLtEpilogue_t>(call.fused.kind | keeping);
  call.fused.kept = kept;
  return detail::multiply_at_once(context, call, [] {});
}

/// The same.
template <class T, class Activation, class Sum>
[[nodiscard]] bool gemm_and_column_sums(Context& context, const MatrixRef<const T>& a, const MatrixRef<const T>& b,
                                        const MatrixRef<T>& c, const DerivativeEpilogue<T, Activation>& epilogue,
                                        T* sums, const Sum& sum) {
  constexpr int summing = CUBLASLT_EPILOGUE_DRELU_BGRAD & ~CUBLASLT_EPILOGUE_DRELU;
  if (reinterpret_cast<std::uintptr_t>(sums) % 16 != 0) return false;
  auto call = detail::blas_call(GemmBatch{}, a, b, c, epilogue);
  call.fused.kind = static_cast<cublasLtEpilogue_t>(call.fused.kind | summing);
  call.fused.bias = sums;
  return detail::multiply_at_once(context, call, sum);
}

/// Implements SumsFactors. In cuBLASLt's terms c^T = b^T a^T, and a^T is summed over its rows; cuBLASLt sums a second
/// factor that is stored transposed.
template <class T, class Sum>
[[nodiscard]] bool gemm_and_sums(Context& context, const MatrixRef<const T>& a, const MatrixRef<const T>& b,
                                 const MatrixRef<T>& c, bool accumulate, T* sums, const Sum& sum) {
  if (a.cols == 0 || c.rows == 0 || c.cols == 0 || reinterpret_cast<std::uintptr_t>(sums) % 16 != 0) return false;
  if (!detail::is_read_in_place(a) || !detail::is_read_in_place(b)) return false;
  Scratch a_copy(context), b_copy(context);
  BlasProduct product = detail::blas_product(context, GemmBatch{}, a, b, c, a_copy, b_copy);
  if (const auto stored = detail::transposed(a); detail::has_dense_rows(stored))
    product.b = {a.data, detail::distance_of_rows(stored), 0, true};
  if (detail::worthwhile_copies(product).any()) return false;
  product.accumulate = accumulate;
  const UnfusedProduct other{product, &detail::finish_sums<Sum>, &sum};
  product.epilogue = CUBLASLT_EPILOGUE_BGRADB;
  product.bias = sums;
  const bool is_queued = context.state<Blas>(Context::blas).multiply(product, &other);
  if (is_queued) ++locus::detail::launches.gemm;
  return is_queued;
}

}}}  // namespace locus::LOCUS_ABI::cuda
