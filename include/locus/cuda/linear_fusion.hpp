#pragma once
// Products of linear layers that cuBLASLt fuses; device/linear_fusion.hpp specifies them. Only nvcc sees them, because
// it alone compiles their callers.

#include <locus/device/linear_fusion.hpp>

#if LOCUS_NVCC
#include <locus/cuda/backend.hpp>
#include <locus/cuda/linear_fusion.cuh>

namespace locus { inline namespace LOCUS_ABI {

template <>
struct LinearFusion<Cuda> {
  template <class T, class Sum>
  [[nodiscard]] static bool gemm_and_sums(Cuda device, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
                                          bool accumulate, T* sums, const Sum& sum) {
    const cuda::OrdinalGuard guard(device.ordinal);
    return cuda::gemm_and_sums(cuda::Context::current(device.ordinal), a, b, c, accumulate, sums, sum);
  }

  template <class T, class Activation>
  static constexpr bool keeps = cuda::keeps_for_derivative<T, Activation>;
  template <class T, class Activation>
  [[nodiscard]] static std::int64_t kept_columns(const Activation& activation, std::int64_t cols) {
    return cuda::kept_columns<T>(activation, cols);
  }
  template <class T, class Activation>
  [[nodiscard]] static bool gemm_and_keep(Cuda device, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
                                          const Epilogue<T, Activation>& epilogue, void* kept) {
    const cuda::OrdinalGuard guard(device.ordinal);
    return cuda::gemm_and_keep(cuda::Context::current(device.ordinal), a, b, c, epilogue, kept);
  }
  template <class T, class Activation, class Sum>
  [[nodiscard]] static bool gemm_and_column_sums(Cuda device, MatrixRef<const T> a, MatrixRef<const T> b,
                                                 MatrixRef<T> c, const DerivativeEpilogue<T, Activation>& epilogue,
                                                 T* sums, const Sum& sum) {
    if (c.rows == 0 || c.cols == 0) return false;
    const cuda::OrdinalGuard guard(device.ordinal);
    return cuda::gemm_and_column_sums(cuda::Context::current(device.ordinal), a, b, c, epilogue, sums, sum);
  }
};

}}  // namespace locus::LOCUS_ABI
#endif
