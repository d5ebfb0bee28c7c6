// Linear algebra on Cuda, over a stand-in for cuSOLVER: textbook algorithms in double, queued in the handle's stream.
// It fills all the working memory that it asked for, and stops at a call that cuSOLVER does not take.

#include <linalg/functions_of_matrices_test.cpp>
#include <linalg/linalg_test.cpp>
#include <locus/cuda/streams.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
#include <vector>

namespace {

constexpr int extra_work = 5;  ///< elements of working memory beyond those that a size follows from
cusolverStatus_t next_status = CUSOLVER_STATUS_SUCCESS;

/// A matrix of doubles, in column-major order as all here.
struct Matrix {
  int rows, cols;
  std::vector<double> values;
  Matrix(int m, int n) : rows(m), cols(n), values(static_cast<std::size_t>(m) * static_cast<std::size_t>(n)) {}
  template <class T>
  Matrix(int m, int n, const T* data) : Matrix(m, n) {
    std::copy_n(data, values.size(), values.begin());
  }
  double& operator()(int i, int j) { return values[static_cast<std::size_t>(i + j * rows)]; }
  double* column(int j) { return &(*this)(0, j); }
  template <class T>
  void store(T* data, int columns) const {
    std::transform(values.begin(), values.begin() + rows * columns, data, [](double x) { return static_cast<T>(x); });
  }
};
double dot(const double* x, const double* y, int n) { return std::inner_product(x, x + n, y, 0.); }

/// As cuSOLVER, it takes NaN for 0, and then for no pivot.
template <class T>
void factor_lu(int n, T* data, int* pivots, int* info) {
  Matrix a(n, n, data);
  for (double& x : a.values) x = x == x ? x : 0;
  *info = 0;
  for (int k = 0; k < n; ++k) {
    int p = k;
    for (int i = k + 1; i < n; ++i)
      if (std::abs(a(i, k)) > std::abs(a(p, k))) p = i;
    pivots[k] = p + 1;
    for (int j = 0; j < n; ++j) std::swap(a(k, j), a(p, j));
    if (a(k, k) == 0 && *info == 0) *info = k + 1;
    for (int i = k + 1; i < n && a(k, k) != 0; ++i) {
      a(i, k) /= a(k, k);
      for (int j = k + 1; j < n; ++j) a(i, j) -= a(i, k) * a(k, j);
    }
  }
  a.store(data, n);
}

template <class T>
void solve_lu(bool transposed, int n, int columns, const T* data, const int* pivots, T* right) {
  Matrix a(n, n, data), b(n, columns, right);
  for (int j = 0; j < columns; ++j) {
    double* const x = b.column(j);
    for (int k = 0; k < n && !transposed; ++k) std::swap(x[k], x[pivots[k] - 1]);
    for (int i = 0; i < n; ++i) {  // L, or U^T
      for (int k = 0; k < i; ++k) x[i] -= (transposed ? a(k, i) : a(i, k)) * x[k];
      if (transposed) x[i] /= a(i, i);
    }
    for (int i = n; i-- > 0;) {  // U, or L^T
      for (int k = i + 1; k < n; ++k) x[i] -= (transposed ? a(k, i) : a(i, k)) * x[k];
      if (!transposed) x[i] /= a(i, i);
    }
    for (int k = n; k-- > 0 && transposed;) std::swap(x[k], x[pivots[k] - 1]);
  }
  b.store(right, columns);
}

template <class T>
void factor_cholesky(int n, T* data, int* info) {
  Matrix a(n, n, data);
  *info = 0;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < j; ++i) a(i, j) = (a(i, j) - dot(a.column(i), a.column(j), i)) / a(i, i);
    const double square = a(j, j) - dot(a.column(j), a.column(j), j);
    if (square <= 0) return void(*info = j + 1);  // not so NaN
    a(j, j) = std::sqrt(square);
  }
  a.store(data, n);
}

/// x -= tau v (v^T x), where v is 1, followed by `below`.
void reflect(double tau, const double* below, double* x, int n) {
  const double scaled = tau * (x[0] + dot(below, x + 1, n));
  x[0] -= scaled;
  for (int i = 0; i < n; ++i) x[i + 1] -= scaled * below[i];
}
template <class T>
void factor_qr(int m, int n, T* data, T* tau) {
  Matrix a(m, n, data);
  for (int k = 0; k < std::min(m, n); ++k) {
    double* const x = a.column(k) + k;
    const double length = std::sqrt(dot(x, x, m - k)), beta = x[0] > 0 ? -length : length;
    const bool is_done = k + 1 == m || length == std::abs(x[0]);
    const double factor = is_done ? 0 : (beta - x[0]) / beta;
    for (int i = 1; i < m - k && !is_done; ++i) x[i] /= x[0] - beta;
    for (int j = k + 1; j < n && !is_done; ++j) reflect(factor, x + 1, a.column(j) + k, m - k - 1);
    if (!is_done) x[0] = beta;
    tau[k] = static_cast<T>(factor);
  }
  a.store(data, n);
}
template <class T>
void form_q(int m, int n, T* data, const T* tau) {
  Matrix reflectors(m, n, data), q(m, n);
  for (int j = 0; j < n; ++j) {
    q(j, j) = 1;
    for (int k = n; k-- > 0;)
      reflect(static_cast<double>(tau[k]), reflectors.column(k) + k + 1, q.column(j) + k, m - k - 1);
  }
  q.store(data, n);
}

void rotate(double* x, double* y, int n, double c, double s) {
  for (int i = 0; i < n; ++i) {
    const double before = x[i];
    x[i] = c * before - s * y[i];
    y[i] = s * before + c * y[i];
  }
}
/// Rotates columns of a until they are orthogonal, and the same columns of v with them.
void orthogonalize(Matrix& a, Matrix& v) {
  for (int sweep = 0; sweep < 60; ++sweep)
    for (int i = 0; i < a.cols; ++i)
      for (int j = i + 1; j < a.cols; ++j) {
        const double ii = dot(a.column(i), a.column(i), a.rows), jj = dot(a.column(j), a.column(j), a.rows);
        const double ij = dot(a.column(i), a.column(j), a.rows);
        if (ij == 0) continue;
        const double z = (jj - ii) / (2 * ij), t = (z < 0 ? -1 : 1) / (std::abs(z) + std::sqrt(1 + z * z));
        const double c = 1 / std::sqrt(1 + t * t);
        rotate(a.column(i), a.column(j), a.rows, c, c * t);
        rotate(v.column(i), v.column(j), v.rows, c, c * t);
      }
}
[[nodiscard]] Matrix identity_of(int n) {
  Matrix v(n, n);
  for (int i = 0; i < n; ++i) v(i, i) = 1;
  return v;
}

template <class T>
void decompose(int m, int n, const T* data, T* values, T* left, int left_columns, T* right) {
  Matrix a(m, n, data), v = identity_of(n), u(m, std::max(left_columns, n)), rows(n, n);
  orthogonalize(a, v);
  std::vector<double> lengths;
  for (int j = 0; j < n; ++j) lengths.push_back(std::sqrt(dot(a.column(j), a.column(j), m)));
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int i, int j) { return lengths[i] > lengths[j]; });
  for (int j = 0; j < n; ++j) {
    const double length = lengths[order[j]];
    values[j] = static_cast<T>(length);
    for (int i = 0; i < n; ++i) rows(j, i) = v(i, order[j]);
    for (int i = 0; i < m; ++i) u(i, j) = length > 1e-14 * lengths[order[0]] ? a(i, order[j]) / length : 0;
  }
  for (int j = 0; j < u.cols; ++j)  // columns without a singular value: anything orthogonal to all before
    for (int unit = 0; unit < m && dot(u.column(j), u.column(j), m) < 0.5; ++unit) {
      std::fill_n(u.column(j), m, 0.);
      u(unit, j) = 1;
      for (int pass = 0; pass < 2; ++pass)
        for (int k = 0; k < u.cols; ++k) {
          const double part = k == j ? 0 : dot(u.column(k), u.column(j), m);
          for (int i = 0; i < m; ++i) u(i, j) -= part * u(i, k);
        }
      const double length = std::sqrt(dot(u.column(j), u.column(j), m));
      for (int i = 0; i < m; ++i) u(i, j) = length > 0.1 / m ? u(i, j) / length : 0;
    }
  if (left) u.store(left, left_columns);
  if (right) rows.store(right, n);
}

/// By the singular values of a shifted matrix, which are its eigenvalues then.
template <class T>
void find_eigenvalues(bool vectors, int n, T* data, T* values) {
  Matrix a(n, n, data), v = identity_of(n);
  double shift = 1;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < j; ++i) shift += 2 * std::abs(a(j, i) = a(i, j));
  for (int j = 0; j < n; ++j) shift += std::abs(a(j, j));
  for (int j = 0; j < n; ++j) a(j, j) += shift;
  orthogonalize(a, v);
  std::vector<std::pair<double, int>> order;
  for (int j = 0; j < n; ++j) order.emplace_back(std::sqrt(dot(a.column(j), a.column(j), n)) - shift, j);
  std::sort(order.begin(), order.end());
  for (int j = 0; j < n; ++j) {
    values[j] = static_cast<T>(order[j].first);
    for (int i = 0; i < n && vectors; ++i) data[i + j * n] = static_cast<T>(v(i, order[j].second));
  }
}

using Complex = std::complex<double>;

/// x of a x = b, by elimination; a pivot of 0 counts as a small number.
std::vector<Complex> solved(std::vector<std::vector<Complex>> a, std::vector<Complex> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t p = k;
    for (std::size_t i = k + 1; i < n; ++i) p = std::abs(a[i][k]) > std::abs(a[p][k]) ? i : p;
    std::swap(a[k], a[p]), std::swap(b[k], b[p]);
    if (std::abs(a[k][k]) < 1e-15) a[k][k] = 1e-15;
    for (std::size_t i = k + 1; i < n; ++i) {
      const Complex factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

/// Eigenvalues by QR steps of the leading matrix, shifted near its last element, until its last row vanishes beside it.
std::vector<Complex> general_eigenvalues(std::vector<std::vector<Complex>> a) {
  std::vector<Complex> values;
  for (std::size_t n = a.size(); n > 0;) {
    double rest = 0;
    for (std::size_t j = 0; j + 1 < n; ++j) rest += std::abs(a[n - 1][j]);
    if (rest < 1e-14) {
      values.push_back(a[--n][n]);
      continue;
    }
    const Complex shift = a[n - 1][n - 1] + Complex(0.03, 0.1) * rest;
    // Gram-Schmidt of the columns of a - shift, q r, and then r q + shift.
    std::vector<std::vector<Complex>> q(n, std::vector<Complex>(n)), r(n, std::vector<Complex>(n));
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) q[i][j] = a[i][j] - (i == j ? shift : 0);
      for (std::size_t k = 0; k < j; ++k) {
        for (std::size_t i = 0; i < n; ++i) r[k][j] += std::conj(q[i][k]) * q[i][j];
        for (std::size_t i = 0; i < n; ++i) q[i][j] -= r[k][j] * q[i][k];
      }
      double length = 0;
      for (std::size_t i = 0; i < n; ++i) length += std::norm(q[i][j]);
      r[j][j] = std::sqrt(length);
      for (std::size_t i = 0; i < n; ++i) q[i][j] /= r[j][j];
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        a[i][j] = i == j ? shift : 0;
        for (std::size_t k = 0; k < n; ++k) a[i][j] += r[i][k] * q[k][j];
      }
  }
  return values;
}

template <class T>
void find_general_eigenvalues(int n, const T* data, T* values, T* vectors) {
  std::vector<std::vector<Complex>> a(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a[static_cast<std::size_t>(i)].push_back(static_cast<double>(data[i + j * n]));
  int column = 0;
  const auto store = [&](Complex value, const std::vector<Complex>& x, bool imaginary) {
    values[column] = static_cast<T>(value.real());
    values[n + column] = static_cast<T>(value.imag());
    for (int i = 0; vectors && i < n; ++i) {
      const Complex element = x[static_cast<std::size_t>(i)];
      vectors[i + column * n] = static_cast<T>(imaginary ? element.imag() : element.real());
    }
    ++column;
  };
  for (Complex value : general_eigenvalues(a)) {
    const bool is_real = std::abs(value.imag()) < 1e-9;
    if (is_real) value = value.real();
    else if (value.imag() < 0) continue;
    auto shifted = a;
    for (std::size_t i = 0; i < a.size(); ++i) shifted[i][i] -= value + 1e-10;
    std::vector<Complex> x(a.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1. / static_cast<double>(i + 1);
    for (int step = 0; step < 4; ++step) {
      x = solved(shifted, x);
      double length = 0;
      for (const Complex& element : x) length += std::norm(element);
      for (Complex& element : x) element /= std::sqrt(length);
    }
    store(value, x, false);
    if (!is_real) store(std::conj(value), x, true);
  }
}

cudaStream_t stream_of(cusolverDnHandle_t handle) { return *reinterpret_cast<cudaStream_t*>(handle); }

/// Queues f where the arguments are right; all of the working memory is overwritten first.
template <class T, class F>
cusolverStatus_t queue(cusolverDnHandle_t handle, bool is_right, T* work, int size, const F& f) {
  if (!is_right) simulated::stop("a factorization with arguments that cuSOLVER does not take");
  if (next_status != CUSOLVER_STATUS_SUCCESS) return std::exchange(next_status, CUSOLVER_STATUS_SUCCESS);
  simulated::enqueue(stream_of(handle), [=] {
    std::fill_n(work, size, T(-7));
    f();
  });
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace

extern "C" {
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  *handle = reinterpret_cast<cusolverDnHandle_t>(new cudaStream_t{});
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  delete reinterpret_cast<cudaStream_t*>(handle);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  *reinterpret_cast<cudaStream_t*>(handle) = stream;
  return CUSOLVER_STATUS_SUCCESS;
}

#define LOCUS_STAND_IN(T, letter)                                                                                     \
  cusolverStatus_t cusolverDn##letter##getrf_bufferSize(cusolverDnHandle_t, int m, int, T*, int, int* size) {         \
    return *size = m + extra_work, CUSOLVER_STATUS_SUCCESS;                                                           \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##getrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T* work,         \
                                             int* pivots, int* info) {                                                \
    return queue(handle, m == n && lda == m && n > 0, work, m + extra_work, [=] { factor_lu(n, a, pivots, info); });  \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##getrs(cusolverDnHandle_t handle, cublasOperation_t how, int n, int columns,    \
                                             const T* a, int lda, const int* pivots, T* b, int ldb, int* info) {      \
    return queue(handle, lda == n && ldb == n && n > 0 && columns > 0, info, 1,                                       \
                 [=] { solve_lu(how == CUBLAS_OP_T, n, columns, a, pivots, b); });                                    \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##potrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int n, T*, int,         \
                                                        int* size) {                                                  \
    return *size = n + extra_work, CUSOLVER_STATUS_SUCCESS;                                                           \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##potrf(cusolverDnHandle_t handle, cublasFillMode_t part, int n, T* a, int lda,  \
                                             T* work, int size, int* info) {                                          \
    return queue(handle, part == CUBLAS_FILL_MODE_UPPER && lda == n && size == n + extra_work, work, size,            \
                 [=] { factor_cholesky(n, a, info); });                                                               \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##geqrf_bufferSize(cusolverDnHandle_t, int, int n, T*, int, int* size) {         \
    return *size = n + extra_work, CUSOLVER_STATUS_SUCCESS;                                                           \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##geqrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T* tau, T* work, \
                                             int size, int* info) {                                                   \
    return queue(handle, lda == m && size == n + extra_work && info, work, size, [=] { factor_qr(m, n, a, tau); });   \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##orgqr_bufferSize(cusolverDnHandle_t, int, int n, int, const T*, int, const T*, \
                                                        int* size) {                                                  \
    return *size = n + extra_work, CUSOLVER_STATUS_SUCCESS;                                                           \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##orgqr(cusolverDnHandle_t handle, int m, int n, int k, T* a, int lda,           \
                                             const T* tau, T* work, int size, int* info) {                            \
    return queue(handle, m >= n && n == k && lda == m && size == n + extra_work && info, work, size,                  \
                 [=] { form_q(m, n, a, tau); });                                                                      \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##gesvd_bufferSize(cusolverDnHandle_t, int m, int, int* size) {                  \
    return *size = m + extra_work, CUSOLVER_STATUS_SUCCESS;                                                           \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##gesvd(cusolverDnHandle_t handle, signed char left, signed char right, int m,   \
                                             int n, T* a, int lda, T* s, T* u, int ldu, T* vt, int ldvt, T* work,     \
                                             int size, T* superdiagonal, int* info) {                                 \
    const bool has_vectors = left != 'N',                                                                             \
               is_right = (left == 'A' || left == 'S') == has_vectors && has_vectors == !!u;                          \
    const bool fits = lda == m && ldu == m && ldvt == n && (right == 'A') == has_vectors && !!vt == has_vectors;      \
    return queue(handle, m >= n && is_right && fits && size == m + extra_work && superdiagonal, work, size, [=] {     \
      decompose(m, n, a, s, u, left == 'A' ? m : n, vt);                                                              \
      *info = 0;                                                                                                      \
    });                                                                                                               \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##syevd_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t,      \
                                                        int n, const T*, int, const T*, int* size) {                  \
    return *size = n + extra_work, CUSOLVER_STATUS_SUCCESS;                                                           \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##letter##syevd(cusolverDnHandle_t handle, cusolverEigMode_t how, cublasFillMode_t part, \
                                             int n, T* a, int lda, T* values, T* work, int size, int* info) {         \
    return queue(handle, part == CUBLAS_FILL_MODE_UPPER && lda == n && size == n + extra_work, work, size, [=] {      \
      find_eigenvalues(how == CUSOLVER_EIG_MODE_VECTOR, n, a, values);                                                \
      *info = 0;                                                                                                      \
    });                                                                                                               \
  }
LOCUS_STAND_IN(float, S)
LOCUS_STAND_IN(double, D)
#undef LOCUS_STAND_IN

cusolverStatus_t cusolverDnXgeev_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
                                            cusolverEigMode_t, int64_t n, cudaDataType, const void*, int64_t,
                                            cudaDataType, const void*, cudaDataType, const void*, int64_t, cudaDataType,
                                            const void*, int64_t, cudaDataType, size_t* device, size_t* host) {
  *device = *host = static_cast<size_t>(n + extra_work) * sizeof(double);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnXgeev(cusolverDnHandle_t handle, cusolverDnParams_t, cusolverEigMode_t left,
                                 cusolverEigMode_t right, int64_t n, cudaDataType type, void* a, int64_t lda,
                                 cudaDataType type_of_values, void* values, cudaDataType, void*, int64_t,
                                 cudaDataType type_of_vectors, void* vectors, int64_t ldvr, cudaDataType compute,
                                 void* work, size_t size, void* host_work, size_t host_size, int* info) {
  const size_t needed = static_cast<size_t>(n + extra_work) * sizeof(double);
  const bool is_right = left == CUSOLVER_EIG_MODE_NOVECTOR && lda == n && ldvr == n && type_of_values == type &&
                        type_of_vectors == type && compute == type && size == needed && host_size == needed &&
                        (right == CUSOLVER_EIG_MODE_VECTOR) == (vectors != nullptr);
  std::fill_n(static_cast<std::byte*>(host_work), host_size, std::byte{77});
  return queue(handle, is_right, static_cast<double*>(work), static_cast<int>(n) + extra_work, [=] {
    const auto find = [&](auto* numbers) {
      using T = std::remove_pointer_t<decltype(numbers)>;
      find_general_eigenvalues(static_cast<int>(n), numbers, static_cast<T*>(values), static_cast<T*>(vectors));
    };
    if (type == CUDA_R_64F) find(static_cast<double*>(a));
    else find(static_cast<float*>(a));
    *info = 0;
  });
}
}

TEST_CASE("what cuSOLVER refuses is an exception that names the call") {
  const Tensor<double, Cuda> x = eye<double>(3, Cuda{});
  next_status = CUSOLVER_STATUS_ALLOC_FAILED;
  CHECK_THROWS_WITH_AS((void)linalg::qr(x), doctest::Contains("cusolverDngeqrf: cuSOLVER found no GPU memory"),
                       OutOfMemory);
  next_status = CUSOLVER_STATUS_EXECUTION_FAILED;
  CHECK_THROWS_WITH_AS((void)linalg::det(x), doctest::Contains("cusolverDngetrf: cuSOLVER answers status 6"),
                       CudaError);
  CHECK_CLOSE(linalg::det(x), 1);
}

TEST_CASE("factorizations follow the uses of their matrices by other streams") {
  const bool before = cuda::streams_are_checked();
  cuda::check_streams(true);
  const Stream<Cuda> side;
  const auto here = Stream<Cuda>::current();
  const Tensor<double, Cuda> a = eye<double>(3, Cuda{});
  const Tensor<std::int32_t, Cuda> info({1});
  const auto cholesky = [&] { Factorization<Cuda>::cholesky(Cuda{}, {1, 3, 3}, a.data(), info.data()); };
  CHECK_THROWS_WITH_AS(with_stream(side, cholesky), doctest::Contains("cholesky over (1, 3, 3) in stream "),
                       StreamError);
  side.wait(here.record());
  with_stream(side, cholesky);
  CHECK_THROWS_WITH_AS((void)sum(a), doctest::Contains("reads memory that cholesky over "), StreamError);
  here.wait(side.record());
  CHECK(sum(a).item() == 3);
  cuda::check_streams(before);
}
