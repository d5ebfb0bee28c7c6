#pragma once
// Factorizations on NVIDIA GPUs, by cuSOLVER. Type-checks everywhere, as cuda/backend.hpp.

#include <locus/cuda/backend.hpp>
#include <locus/device/factorization.hpp>

#if LOCUS_NVCC
#include <locus/cuda/cusolver.hpp>
#endif

namespace locus { inline namespace LOCUS_ABI {

template <>
struct Factorization<Cuda> {
  /// cuSOLVER passes over NaN when it looks for pivots: the determinant of a matrix that holds one may be a number.
  static constexpr bool finds_nan = false;

  template <class T>
  static void lu(Cuda device, const MatrixBatch& batch, T* a, std::int32_t* pivots, std::int32_t* info) {
    with_solver<T>(device, [&](auto& solver) { solver.lu(batch, a, pivots, info); });
  }
  template <class T>
  static void lu_solve(Cuda device, const MatrixBatch& batch, bool transposed, const T* factors,
                       const std::int32_t* pivots, int columns, T* b) {
    with_solver<T>(device, [&](auto& solver) { solver.lu_solve(batch, transposed, factors, pivots, columns, b); });
  }
  template <class T>
  static void cholesky(Cuda device, const MatrixBatch& batch, T* a, std::int32_t* info) {
    with_solver<T>(device, [&](auto& solver) { solver.cholesky(batch, a, info); });
  }
  template <class T>
  static void householder(Cuda device, const MatrixBatch& batch, T* a, T* tau) {
    with_solver<T>(device, [&](auto& solver) { solver.householder(batch, a, tau); });
  }
  template <class T>
  static void orthogonal(Cuda device, const MatrixBatch& batch, T* q, const T* tau) {
    with_solver<T>(device, [&](auto& solver) { solver.orthogonal(batch, q, tau); });
  }
  template <class T>
  static void svd(Cuda device, const MatrixBatch& batch, T* a, int u_columns, T* s, T* u, T* vt, std::int32_t* info) {
    with_solver<T>(device, [&](auto& solver) { solver.svd(batch, a, u_columns, s, u, vt, info); });
  }
  template <class T>
  static void eigh(Cuda device, const MatrixBatch& batch, bool vectors, T* a, T* values, std::int32_t* info) {
    with_solver<T>(device, [&](auto& solver) { solver.eigh(batch, vectors, a, values, info); });
  }
  template <class T>
  static void eig(Cuda device, const MatrixBatch& batch, T* a, T* values, T* vectors, std::int32_t* info) {
    with_solver<T>(device, [&](auto& solver) { solver.eig(batch, a, values, vectors, info); });
  }

 private:
  template <class T, class F>
  static void with_solver(Cuda device, [[maybe_unused]] const F& call) {
#if LOCUS_NVCC
    const cuda::OrdinalGuard guard(device.ordinal);
    cuda::Context& context = cuda::Context::current(device.ordinal);
    call(context.state<cuda::Solver>(cuda::Context::solver));
#else
    detail::require_kernels<T>(device);
#endif
  }
};

static_assert(FactorizingDevice<Cuda>);

}}  // namespace locus::LOCUS_ABI
