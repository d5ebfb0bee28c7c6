#pragma once
// Factorizations by cuSOLVER, one matrix after another; device/factorization.hpp specifies them. Programs that use them
// link with -lcusolver.

#include <locus/cuda/event.hpp>
#include <locus/cuda/stream.hpp>
#include <locus/device/factorization.hpp>

#include <cusolverDn.h>

#include <vector>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

/// cuSOLVER's functions for one element type.
template <class T>
struct CusolverCalls;
#define LOCUS_CUSOLVER(T, letter)                                              \
  template <>                                                                  \
  struct CusolverCalls<T> {                                                    \
    static constexpr auto* getrf_size = &cusolverDn##letter##getrf_bufferSize; \
    static constexpr auto* getrf = &cusolverDn##letter##getrf;                 \
    static constexpr auto* getrs = &cusolverDn##letter##getrs;                 \
    static constexpr auto* potrf_size = &cusolverDn##letter##potrf_bufferSize; \
    static constexpr auto* potrf = &cusolverDn##letter##potrf;                 \
    static constexpr auto* geqrf_size = &cusolverDn##letter##geqrf_bufferSize; \
    static constexpr auto* geqrf = &cusolverDn##letter##geqrf;                 \
    static constexpr auto* orgqr_size = &cusolverDn##letter##orgqr_bufferSize; \
    static constexpr auto* orgqr = &cusolverDn##letter##orgqr;                 \
    static constexpr auto* gesvd_size = &cusolverDn##letter##gesvd_bufferSize; \
    static constexpr auto* gesvd = &cusolverDn##letter##gesvd;                 \
    static constexpr auto* syevd_size = &cusolverDn##letter##syevd_bufferSize; \
    static constexpr auto* syevd = &cusolverDn##letter##syevd;                 \
  };
LOCUS_CUSOLVER(float, S)
LOCUS_CUSOLVER(double, D)
#undef LOCUS_CUSOLVER

/// One context's cuSOLVER. Working memory comes from the context; the host never waits.
class Solver {
 public:
  explicit Solver(Context& context) : context_(context) {
    const UncapturedCalls anything_goes;
    check(cusolverDnCreate(&handle_), "cusolverDnCreate");
    check(cusolverDnSetStream(handle_, context.stream()), "cusolverDnSetStream");
  }
  ~Solver() { (void)cusolverDnDestroy(handle_); }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  template <class T>
  void lu(const MatrixBatch& batch, T* a, int* pivots, int* info) {
    const int n = batch.rows;
    if (batch.is_empty()) return;
    check_order("lu", batch, a, pivots, info);
    int size = 0;
    check(CusolverCalls<T>::getrf_size(handle_, n, n, a, n, &size), "cusolverDngetrf_bufferSize");
    const Scratch work = working_memory<T>(size);
    for (std::int64_t i = 0; i < batch.count; ++i)
      check(CusolverCalls<T>::getrf(handle_, n, n, a + i * n * n, n, work.as<T>(), pivots + i * n, info + i),
            "cusolverDngetrf");
  }

  template <class T>
  void lu_solve(const MatrixBatch& batch, bool transposed, const T* factors, const int* pivots, int columns, T* b) {
    const int n = batch.rows;
    if (batch.is_empty() || columns == 0) return;
    check_order("lu_solve", batch, factors, pivots, b);
    const Scratch info = working_memory<int>(1);
    for (std::int64_t i = 0; i < batch.count; ++i)
      check(CusolverCalls<T>::getrs(handle_, transposed ? CUBLAS_OP_T : CUBLAS_OP_N, n, columns, factors + i * n * n, n,
                                    pivots + i * n, b + i * n * columns, n, info.as<int>()),
            "cusolverDngetrs");
  }

  template <class T>
  void cholesky(const MatrixBatch& batch, T* a, int* info) {
    const int n = batch.rows;
    if (batch.is_empty()) return;
    check_order("cholesky", batch, a, info);
    int size = 0;
    check(CusolverCalls<T>::potrf_size(handle_, CUBLAS_FILL_MODE_UPPER, n, a, n, &size), "cusolverDnpotrf_bufferSize");
    const Scratch work = working_memory<T>(size);
    for (std::int64_t i = 0; i < batch.count; ++i)
      check(CusolverCalls<T>::potrf(handle_, CUBLAS_FILL_MODE_UPPER, n, a + i * n * n, n, work.as<T>(), size, info + i),
            "cusolverDnpotrf");
  }

  template <class T>
  void householder(const MatrixBatch& batch, T* a, T* tau) {
    const auto [count, m, n] = batch;
    if (batch.is_empty()) return;
    check_order("householder", batch, a, tau);
    int size = 0;
    check(CusolverCalls<T>::geqrf_size(handle_, m, n, a, m, &size), "cusolverDngeqrf_bufferSize");
    const Scratch work = working_memory<T>(size), info = working_memory<int>(1);
    const std::int64_t elements = std::int64_t{m} * n;
    for (std::int64_t i = 0; i < count; ++i)
      check(CusolverCalls<T>::geqrf(handle_, m, n, a + i * elements, m, tau + i * (m < n ? m : n), work.as<T>(), size,
                                    info.as<int>()),
            "cusolverDngeqrf");
  }

  template <class T>
  void orthogonal(const MatrixBatch& batch, T* q, const T* tau) {
    const auto [count, m, n] = batch;
    if (batch.is_empty()) return;
    check_order("orthogonal", batch, q, tau);
    int size = 0;
    check(CusolverCalls<T>::orgqr_size(handle_, m, n, n, q, m, tau, &size), "cusolverDnorgqr_bufferSize");
    const Scratch work = working_memory<T>(size), info = working_memory<int>(1);
    const std::int64_t elements = std::int64_t{m} * n;
    for (std::int64_t i = 0; i < count; ++i)
      check(CusolverCalls<T>::orgqr(handle_, m, n, n, q + i * elements, m, tau + i * n, work.as<T>(), size,
                                    info.as<int>()),
            "cusolverDnorgqr");
  }

  template <class T>
  void svd(const MatrixBatch& batch, T* a, int u_columns, T* s, T* u, T* vt, int* info) {
    const auto [count, m, n] = batch;
    if (batch.is_empty()) return;
    check_order("svd", batch, a, s, u, vt, info);
    int size = 0;
    check(CusolverCalls<T>::gesvd_size(handle_, m, n, &size), "cusolverDngesvd_bufferSize");
    const Scratch work = working_memory<T>(size), superdiagonal = working_memory<T>(n);
    const auto left = static_cast<signed char>(!u ? 'N' : u_columns == n ? 'S' : 'A');
    const std::int64_t rows = m, cols = n;
    for (std::int64_t i = 0; i < count; ++i)
      check(CusolverCalls<T>::gesvd(handle_, left, vt ? 'A' : 'N', m, n, a + i * rows * cols, m, s + i * cols,
                                    u ? u + i * rows * u_columns : nullptr, m, vt ? vt + i * cols * cols : nullptr, n,
                                    work.as<T>(), size, superdiagonal.as<T>(), info + i),
            "cusolverDngesvd");
  }

  template <class T>
  void eigh(const MatrixBatch& batch, bool vectors, T* a, T* values, int* info) {
    const int n = batch.rows;
    if (batch.is_empty()) return;
    const cusolverEigMode_t job = vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
    check_order("eigh", batch, a, values, info);
    int size = 0;
    check(CusolverCalls<T>::syevd_size(handle_, job, CUBLAS_FILL_MODE_UPPER, n, a, n, values, &size),
          "cusolverDnsyevd_bufferSize");
    const Scratch work = working_memory<T>(size);
    for (std::int64_t i = 0; i < batch.count; ++i)
      check(CusolverCalls<T>::syevd(handle_, job, CUBLAS_FILL_MODE_UPPER, n, a + i * n * n, n, values + i * n,
                                    work.as<T>(), size, info + i),
            "cusolverDnsyevd");
  }

  template <class T>
  void eig(const MatrixBatch& batch, T* a, T* values, T* vectors, int* info) {
    if (batch.is_empty()) return;
#if CUSOLVER_VERSION < 11702
    fail<CudaError>(
        {"linalg::eig: cuSOLVER of CUDA before 12.8 finds no eigenvalues of matrices that are not symmetric; ",
         "move the matrices to Cpu with .to<Cpu>(), or compile with a newer CUDA"});
#else
    const std::int64_t n = batch.rows;
    const cusolverEigMode_t none = CUSOLVER_EIG_MODE_NOVECTOR, job = vectors ? CUSOLVER_EIG_MODE_VECTOR : none;
    constexpr cudaDataType type = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;
    check_order("eig", batch, a, values, vectors, info);
    std::size_t size = 0, host_size = 0;
    check(cusolverDnXgeev_bufferSize(handle_, nullptr, none, job, n, type, a, n, type, values, type, nullptr, n, type,
                                     vectors, n, type, &size, &host_size),
          "cusolverDnXgeev_bufferSize");
    const Scratch work(context_, size > 0 ? size : 1);
    if (host_work_.size() < host_size) host_work_.resize(host_size);
    for (std::int64_t i = 0; i < batch.count; ++i)
      check(cusolverDnXgeev(handle_, nullptr, none, job, n, type, a + i * n * n, n, type, values + 2 * i * n, type,
                            nullptr, n, type, vectors ? vectors + i * n * n : nullptr, n, type, work.as<void>(), size,
                            host_work_.data(), host_size, info + i),
            "cusolverDnXgeev");
#endif
  }

 private:
  static void check(cusolverStatus_t status, const char* call) {
    if (status == CUSOLVER_STATUS_SUCCESS) return;
    if (status == CUSOLVER_STATUS_ALLOC_FAILED)
      fail<OutOfMemory>({call, ": cuSOLVER found no GPU memory; use smaller matrices, or free tensors"});
    fail<CudaError>({call, ": cuSOLVER answers status ", static_cast<int>(status)});
  }
  template <class... Operands>
  void check_order(const char* operation, const MatrixBatch& batch, Operands*... operands) {
    if (streams_are_checked()) [[unlikely]]
      context_.check_order_of({operation, nullptr, Shape{batch.count, batch.rows, batch.cols}}, operands...);
  }
  /// 1 element at least, as a null pointer is no working memory.
  template <class T>
  [[nodiscard]] Scratch working_memory(int size) {
    return Scratch(context_, static_cast<std::size_t>(size > 0 ? size : 1) * sizeof(T));
  }

  Context& context_;
  cusolverDnHandle_t handle_ = nullptr;
  std::vector<std::byte>
      host_work_;  ///< of eig; lives as long as the handle, because calls may go on after they return
};

}}}  // namespace locus::LOCUS_ABI::cuda
