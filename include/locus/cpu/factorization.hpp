#pragma once
// Factorizations on the host, by LAPACK. Matrices of a batch are shared among threads.

#include <locus/cpu/backend.hpp>
#include <locus/cpu/lapack.hpp>
#include <locus/cpu/threads/parallel.hpp>
#include <locus/cpu/threads/scratch.hpp>
#include <locus/device/factorization.hpp>

#include <limits>

namespace locus { inline namespace LOCUS_ABI {
namespace cpu::detail {

struct FactorizationScratch {
  Scratch numbers, integers;
};

/// f(i) for every matrix of a batch. Threads share them where there is work for several.
template <class F>
void for_each_matrix(const MatrixBatch& batch, const F& f) {
  if (batch.is_empty()) return;
  constexpr double work_per_thread = 1 << 16;
  const double work = static_cast<double>(batch.rows) * batch.cols * locus::detail::smaller(batch.rows, batch.cols);
  const double count = static_cast<double>(batch.count);
  const auto parts = static_cast<std::int64_t>(locus::detail::within(work * count / work_per_thread, 1., count));
  parallel_for(parts, [&](std::int64_t part) {
    for (std::int64_t i = batch.count * part / parts; i < batch.count * (part + 1) / parts; ++i) f(i);
  });
}

/// The size of working memory from LAPACK's answer, which may be rounded down in float.
template <class T>
[[nodiscard]] int answered_size(T answer) {
  const double size = static_cast<double>(answer) * (1 + 4 * std::numeric_limits<T>::epsilon());
  if (size > INT32_MAX)
    fail<ShapeError>({"linalg: matrices that need ", size, " elements of working memory; expected fewer than 2^31"});
  return static_cast<int>(size) + 1;
}

/// call(work, size, info) for each matrix, with working memory of the size that call(answer, -1, info) says.
template <class T, class Call>
void with_working_memory(const MatrixBatch& batch, const Call& call) {
  if (batch.is_empty()) return;
  T answer = 0;
  const int asks = -1;
  int unused = 0;
  call(0, &answer, &asks, &unused);
  const int size = answered_size(answer);
  for_each_matrix(batch, [&](std::int64_t i) {
    int info = 0;
    call(i, of_this_thread<FactorizationScratch>().numbers.template reserve<T>(size), &size, &info);
  });
}

}  // namespace cpu::detail

template <>
struct Factorization<Cpu> {
  static constexpr bool finds_nan = true;

  template <class T>
  static void lu(Cpu, const MatrixBatch& batch, T* a, std::int32_t* pivots, std::int32_t* info) {
    const std::int64_t n = batch.rows;
    cpu::detail::for_each_matrix(batch, [&](std::int64_t i) {
      Lapack<T>::getrf(&batch.rows, &batch.rows, a + i * n * n, &batch.rows, pivots + i * n, info + i);
    });
  }

  template <class T>
  static void lu_solve(Cpu, const MatrixBatch& batch, bool transposed, const T* factors, const std::int32_t* pivots,
                       int columns, T* b) {
    const std::int64_t n = batch.rows;
    if (columns == 0) return;
    const char trans = transposed ? 'T' : 'N';
    cpu::detail::for_each_matrix(batch, [&](std::int64_t i) {
      int info = 0;
      Lapack<T>::getrs(&trans, &batch.rows, &columns, factors + i * n * n, &batch.rows, pivots + i * n,
                       b + i * n * columns, &batch.rows, &info, 1);
    });
  }

  template <class T>
  static void cholesky(Cpu, const MatrixBatch& batch, T* a, std::int32_t* info) {
    const std::int64_t n = batch.rows;
    cpu::detail::for_each_matrix(
        batch, [&](std::int64_t i) { Lapack<T>::potrf("U", &batch.rows, a + i * n * n, &batch.rows, info + i, 1); });
  }

  template <class T>
  static void householder(Cpu, const MatrixBatch& batch, T* a, T* tau) {
    const std::int64_t size = std::int64_t{batch.rows} * batch.cols;
    const std::int64_t reflectors = batch.rows < batch.cols ? batch.rows : batch.cols;
    cpu::detail::with_working_memory<T>(batch, [&](std::int64_t i, T* work, const int* work_size, int* info) {
      Lapack<T>::geqrf(&batch.rows, &batch.cols, a + i * size, &batch.rows, tau + i * reflectors, work, work_size,
                       info);
    });
  }

  template <class T>
  static void orthogonal(Cpu, const MatrixBatch& batch, T* q, const T* tau) {
    const std::int64_t size = std::int64_t{batch.rows} * batch.cols;
    cpu::detail::with_working_memory<T>(batch, [&](std::int64_t i, T* work, const int* work_size, int* info) {
      Lapack<T>::orgqr(&batch.rows, &batch.cols, &batch.cols, q + i * size, &batch.rows, tau + i * batch.cols, work,
                       work_size, info);
    });
  }

  template <class T>
  static void svd(Cpu, const MatrixBatch& batch, T* a, int u_columns, T* s, T* u, T* vt, std::int32_t* info) {
    const std::int64_t rows = batch.rows, cols = batch.cols;
    const char* const job = u == nullptr ? "N" : u_columns == batch.cols ? "S" : "A";
    cpu::detail::with_working_memory<T>(batch, [&](std::int64_t i, T* work, const int* work_size, int* answer) {
      int* const integers =
          *work_size < 0
              ? answer
              : cpu::detail::of_this_thread<cpu::detail::FactorizationScratch>().integers.reserve<int>(8 * cols);
      Lapack<T>::gesdd(job, &batch.rows, &batch.cols, a + i * rows * cols, &batch.rows, s + i * cols,
                       u ? u + i * rows * u_columns : nullptr, &batch.rows, vt ? vt + i * cols * cols : nullptr,
                       &batch.cols, work, work_size, integers, *work_size < 0 ? answer : info + i, 1);
    });
  }

  template <class T>
  static void eigh(Cpu, const MatrixBatch& batch, bool vectors, T* a, T* values, std::int32_t* info) {
    const std::int64_t n = batch.rows;
    const char* const job = vectors ? "V" : "N";
    const int integer_count = vectors ? 3 + 5 * batch.rows : 1;
    cpu::detail::with_working_memory<T>(batch, [&](std::int64_t i, T* work, const int* work_size, int* answer) {
      int* const integers =
          cpu::detail::of_this_thread<cpu::detail::FactorizationScratch>().integers.reserve<int>(integer_count);
      Lapack<T>::syevd(job, "U", &batch.rows, a + i * n * n, &batch.rows, values + i * n, work, work_size, integers,
                       &integer_count, *work_size < 0 ? answer : info + i, 1, 1);
    });
  }

  template <class T>
  static void eig(Cpu, const MatrixBatch& batch, T* a, T* values, T* vectors, std::int32_t* info) {
    const std::int64_t n = batch.rows;
    cpu::detail::with_working_memory<T>(batch, [&](std::int64_t i, T* work, const int* work_size, int* answer) {
      T* const real = values + 2 * i * n;
      Lapack<T>::geev("N", vectors ? "V" : "N", &batch.rows, a + i * n * n, &batch.rows, real, real + n, nullptr,
                      &batch.rows, vectors ? vectors + i * n * n : nullptr, &batch.rows, work, work_size,
                      *work_size < 0 ? answer : info + i, 1, 1);
    });
  }

 private:
  template <class T>
  using Lapack = cpu::detail::Lapack<T>;
};

static_assert(FactorizingDevice<Cpu>);

}}  // namespace locus::LOCUS_ABI
