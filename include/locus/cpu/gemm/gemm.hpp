#pragma once
// Matrix products on the host.

#include <locus/core/check.hpp>
#include <locus/core/math.hpp>
#include <locus/cpu/gemm/complex.hpp>
#include <locus/cpu/gemm/few_rows.hpp>
#include <locus/cpu/gemm/in_place.hpp>
#include <locus/cpu/gemm/narrow.hpp>
#include <locus/cpu/gemm/product.hpp>
#include <locus/cpu/gemm/small.hpp>
#include <locus/cpu/gemm/strategy.hpp>
#include <locus/cpu/gemm/vector.hpp>
#include <locus/device/verbs.hpp>

#include <concepts>
#include <type_traits>

// g++ vectorizes a conditional computation only if it may assume that nobody watches for traps.
#if defined(__clang__)
#define LOCUS_NO_OVERLAP  // clang finds out by itself
#else
#define LOCUS_NO_OVERLAP _Pragma("GCC ivdep")
#endif

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

namespace detail {
/// True of an epilogue that stores (or adds) the sums unchanged, so that they may be summed in c itself.
template <class E>
[[nodiscard]] constexpr bool is_plain(const E&) {
  return false;
}
template <class T, class Activation>
[[nodiscard]] constexpr bool is_plain(const Epilogue<T, Activation>& epilogue) {
  if constexpr (requires { Activation::is_identity; }) return Activation::is_identity && !epilogue.bias;
  else return false;
}

/// The epilogue over a tile if the rows of c are not dense, or the product adds to c.
template <class T, class E>
[[gnu::noinline]] void finish_scattered(const GemmCall<T>& call, const SumTile<compute_t<T>>& tile, const E& epilogue) {
  using R = compute_t<T>;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const std::int64_t row = tile.row + i;
    T* const c = call.c.data + row * call.c.row_stride;
    for (std::int64_t j = 0; j < tile.cols; ++j) {
      const std::int64_t col = tile.col + j;
      T& target = c[col * call.c.col_stride];
      const R previous = call.accumulates ? load_as_register(target) : R(0);
      target = from_register<T>(epilogue(tile.data[i * tile.stride + j], previous, row, col));
    }
  }
}

/// The epilogue over a tile whose rows are dense in c, without adding to c.
template <class T, class E>
LOCUS_VECTORIZED void finish_rows(const GemmCall<T>& call, const SumTile<compute_t<T>>& tile, const E epilogue) {
  using R = compute_t<T>;
  const std::int64_t cols = tile.cols;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const std::int64_t row = tile.row + i;
    const R* const sums = tile.data + i * tile.stride;
    T* const c = call.c.data + row * call.c.row_stride + tile.col;
    LOCUS_NO_OVERLAP
    for (std::int64_t j = 0; j < cols; ++j) c[j] = from_register<T>(epilogue(sums[j], R(0), row, tile.col + j));
  }
}

/// Whether an activation, or the conversion behind it, takes so much longer than a load that its loop is worth
/// compiling for each instruction set.
template <class T, class A>
inline constexpr bool is_costly = is_16_bit_float<T> || !(
                                                            requires { A::is_identity; } || requires { A::is_relu; });

/// sums += bias
template <class T>
LOCUS_VECTORIZED [[gnu::noinline]] void add_bias(const SumTile<compute_t<T>>& tile, const T* bias) {
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    compute_t<T>* const sums = tile.data + i * tile.stride;
    LOCUS_NO_OVERLAP
    for (std::int64_t j = 0; j < tile.cols; ++j) sums[j] += load_as_register(bias[tile.col + j]);
  }
}
/// c = activation(sums) over a tile whose rows are dense in c
template <class T, class A>
LOCUS_FN void activate_rows(T* c, std::int64_t c_stride, const SumTile<compute_t<T>>& tile, A activation) {
  const std::int64_t rows = tile.rows, cols = tile.cols, stride = tile.stride;
  const compute_t<T>* sums = tile.data;
  for (std::int64_t i = 0; i < rows; ++i, sums += stride, c += c_stride) {
    LOCUS_NO_OVERLAP
    for (std::int64_t j = 0; j < cols; ++j) c[j] = from_register<T>(activation(sums[j]));
  }
}

template <class T, class E>
void finish_dense(const GemmCall<T>& call, const SumTile<compute_t<T>>& tile, const E& epilogue) {
  finish_rows<T>(call, tile, epilogue);
}
template <class T, class A>
  requires is_costly<T, A>
void finish_dense(const GemmCall<T>& call, const SumTile<compute_t<T>>& tile, const Epilogue<T, A>& epilogue) {
  if (epilogue.bias) add_bias<T>(tile, epilogue.bias);
  T* const c = call.c.data + tile.row * call.c.row_stride + tile.col;
  Versions<&activate_rows<T, A>>::call(c, call.c.row_stride, tile, epilogue.activation);
}

/// The same with the epilogue's type erased. An activation chosen at run time is dispatched here, outside the loops, so
/// that the loops stay fast.
template <class T, class E>
void finish_tile(const GemmCall<T>& call, const SumTile<compute_t<T>>& tile) {
  const E& epilogue = *static_cast<const E*>(call.epilogue);
  if (call.c.col_stride != 1 || call.accumulates) return finish_scattered(call, tile, epilogue);
  if constexpr (requires { epilogue.activation.visit([](auto) {}); }) {
    epilogue.activation.visit([&](auto activation) { finish_dense<T>(call, tile, epilogue.with(activation)); });
  } else {
    finish_dense<T>(call, tile, epilogue);
  }
}

template <class T>
void multiply(const GemmCall<T>& call) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    const KernelSet<T>& kernels = *kernels_in_use<T>();
    switch (strategy_of(kernels, call)) {
      case GemmStrategy::numbers: return multiply_numbers(call);
      case GemmStrategy::few_tiles: return multiply_few_tiles(kernels, call);
      case GemmStrategy::narrow: return multiply_narrow(kernels, call);
      case GemmStrategy::columns_of_b: return multiply_by_vectors(kernels, call, true);
      case GemmStrategy::rows_of_a: return multiply_by_vectors(kernels, call, false);
      case GemmStrategy::few_rows: return multiply_few_rows(call);
      case GemmStrategy::transposed: return multiply(transposed(call));
      case GemmStrategy::transposed_in_place: return multiply_in_place(kernels, transposed(call));
      case GemmStrategy::transposed_tiles: return multiply_by_tiles(transposed(call));
      case GemmStrategy::in_place: return multiply_in_place(kernels, call);
      case GemmStrategy::apart: {
        const std::int64_t whole = whole_columns(kernels, call);
        multiply(with_columns(call, whole, call.c.cols - whole));
        return multiply(with_columns(call, 0, whole));
      }
      case GemmStrategy::library:
#if LOCUS_CBLAS
        return multiply_by_library(call);
#endif
      case GemmStrategy::tiles: break;
    }
  } else {
    const GemmStrategy strategy = strategy_of(call);
    if (strategy == GemmStrategy::few_rows) return multiply_few_rows(call);
    if (strategy != GemmStrategy::tiles)
      return multiply_by_vectors(few_row_kernels<T>(*kernels_in_use<T>()), call,
                                 strategy == GemmStrategy::columns_of_b);
  }
  multiply_by_tiles(call);
}

template <class T, class E>
LOCUS_VECTORIZED void multiply_integer_row(MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
                                           const E& epilogue, std::int64_t row) {
  using W = math::wrapping_t<T>;  // unsigned numbers wrap around
  constexpr std::int64_t width = 64;
  const bool plain = is_plain(epilogue), reads = epilogue.accumulates();
  for (std::int64_t first = 0; first < c.cols; first += width) {
    const std::int64_t cols = smaller(c.cols - first, width);
    W sums[width] = {};
    for (std::int64_t k = 0; k < a.cols; ++k) {
      const W left = static_cast<W>(a.data[row * a.row_stride + k * a.col_stride]);
      const T* const right = b.data + k * b.row_stride + first * b.col_stride;
      if (b.col_stride == 1)
        for (std::int64_t j = 0; j < cols; ++j) sums[j] += left * static_cast<W>(right[j]);
      else
        for (std::int64_t j = 0; j < cols; ++j) sums[j] += left * static_cast<W>(right[j * b.col_stride]);
    }
    for (std::int64_t j = 0; j < cols; ++j) {
      T& target = c.data[row * c.row_stride + (first + j) * c.col_stride];
      const T previous = reads ? target : T(0);
      if (plain) target = static_cast<T>(sums[j] + static_cast<W>(previous));
      else target = epilogue(static_cast<T>(sums[j]), previous, row, first + j);
    }
  }
}
}  // namespace detail

namespace detail {
template <class T, class E>
void multiply_integers(MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c, const E& epilogue) {
  const auto multiply = [&](std::int64_t row) { multiply_integer_row<T>(a, b, c, epilogue, row); };
  if (work_of(c, a.cols) >= shared_work) return parallel_for(c.rows, multiply);
  for (std::int64_t row = 0; row < c.rows; ++row) multiply(row);
}

/// Operand i of a batch begins i * stride elements after the first.
template <class T>
[[nodiscard]] MatrixRef<T> advanced(MatrixRef<T> first, std::int64_t elements) {
  first.data += elements;
  return first;
}

/// Threads share each product where it is large, the batch where its products are small.
template <class T>
void multiply(const GemmBatch& batch, const GemmCall<T>& call) {
  if (batch.count == 1) return multiply(call);
  const auto multiply_one = [&](std::int64_t i) {
    GemmCall<T> one = call;
    one.a = advanced(call.a, i * batch.a_stride);
    one.b = advanced(call.b, i * batch.b_stride);
    one.c = advanced(call.c, i * batch.c_stride);
    multiply(one);
  };
  const double work = work_of(call.c, call.a.cols);
  if (work < shared_work && work * static_cast<double>(batch.count) >= shared_work)
    return parallel_for(batch.count, multiply_one);
  for (std::int64_t i = 0; i < batch.count; ++i) multiply_one(i);
}
}  // namespace detail

/// Every product of a batch: c(i, j) = epilogue(sum over k of a(i, k) * b(k, j), previous c(i, j) or 0, i, j); c is
/// read only where the epilogue accumulates. Operands may have any strides; c must not overlap a or b. An empty k gives
/// a sum of 0. half and bfloat16 are summed in float, integers wrap around. Results do not depend on the number of
/// threads. With Isa::avx512_bf16 and later, bfloat16 and sums of theirs below 2^-126 count as zeros, except in
/// products of few rows or columns, which are summed in float. throws ShapeError unless the extents fit
template <class T, class E>
void gemm(const GemmBatch& batch, MatrixRef<const std::type_identity_t<T>> a,
          MatrixRef<const std::type_identity_t<T>> b, MatrixRef<T> c, const E& epilogue) {
  if (a.rows != c.rows || b.cols != c.cols || a.cols != b.rows)
    fail<ShapeError>({"gemm: (", a.rows, ", ", a.cols, ") x (", b.rows, ", ", b.cols, ") -> (", c.rows, ", ", c.cols,
                      "); expected (m, k) x (k, n) -> (m, n)"});
  if (c.rows == 0 || c.cols == 0) return;
  if constexpr (std::is_integral_v<T>) {
    for (std::int64_t i = 0; i < batch.count; ++i)
      detail::multiply_integers<T>(detail::advanced(a, i * batch.a_stride), detail::advanced(b, i * batch.b_stride),
                                   detail::advanced(c, i * batch.c_stride), epilogue);
  } else if constexpr (is_complex<T>) {
    detail::multiply_complex(batch, a, b, c, detail::is_plain(epilogue), epilogue);
  } else {
    detail::multiply(batch, detail::GemmCall<T>{a, b, c, epilogue.accumulates(), detail::is_plain(epilogue),
                                                detail::finish_tile<T, E>, &epilogue});
  }
}

/// One product.
template <class T, class E>
void gemm(MatrixRef<const std::type_identity_t<T>> a, MatrixRef<const std::type_identity_t<T>> b, MatrixRef<T> c,
          const E& epilogue) {
  gemm({1, 0, 0, 0}, a, b, c, epilogue);
}

}}}  // namespace locus::LOCUS_ABI::cpu

#undef LOCUS_NO_OVERLAP
