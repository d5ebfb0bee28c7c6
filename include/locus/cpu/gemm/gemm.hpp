#pragma once
// Matrix products on the host.

#include <locus/core/check.hpp>
#include <locus/core/math.hpp>
#include <locus/cpu/gemm/cblas.hpp>
#include <locus/cpu/gemm/in_place.hpp>
#include <locus/cpu/gemm/narrow.hpp>
#include <locus/cpu/gemm/product.hpp>
#include <locus/cpu/gemm/vector.hpp>
#include <locus/device/verbs.hpp>

#include <concepts>
#include <type_traits>

// g++ vectorizes a conditional that computes something only where it may assume that no one watches for traps.
#if defined(__clang__)
#define LOCUS_NO_OVERLAP  // clang finds out by itself
#else
#define LOCUS_NO_OVERLAP _Pragma("GCC ivdep")
#endif

namespace locus::inline LOCUS_ABI {
namespace cpu {

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

/// The epilogue over a tile of a c whose rows are not dense, or that adds to what is there.
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

/// The epilogue over a tile whose rows are dense in c, and where nothing is added.
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
/// c = activation(sums) over such a tile
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

/// The same with the epilogue's type erased. An activation chosen at run time is chosen here, outside the loops, where
/// they can be fast.
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
void multiply(const GemmCall<T>& call);

/// c (+)= a b, tile by tile, where the operands lie.
template <class T>
void multiply_few_tiles(const KernelSet<T>& kernels, const GemmCall<T>& call) {
  TileProduct<T> product{call.a.cols,       call.a.data,       call.a.row_stride, call.a.col_stride,
                         call.b.row_stride, call.c.row_stride, call.accumulates};
  const std::int64_t n = call.c.cols;
  T* out = call.c.data;
  for (std::int64_t left = call.c.rows, rows = 0; left > 0; left -= rows) {
    rows = left == 1 ? 1 : smaller<std::int64_t>(left & -2, kernels.max_rows);
    if (n <= kernels.lanes) {
      narrow_tile(kernels, rows, product)(product, call.b.data, out, n);
    } else {
      for (std::int64_t col = 0, width = 0; col < n; col += width) {
        const Strip<T> strip = strip_at(kernels, n - col, rows, true);
        width = strip.width;
        strip.multiply(product, call.b.data + col, strip.tile_width, out + col, width);
      }
    }
    product.left += rows * call.a.row_stride;
    out += rows * call.c.row_stride;
  }
}
/// c (+)= a b, one number after the other, along the longer side of c.
template <class T>
void multiply_numbers(const GemmCall<T>& call) {
  const bool by_columns = call.c.cols < call.c.rows;
  const MatrixRef<const T> left = by_columns ? transposed(call.b) : call.a,
                           right = by_columns ? transposed(call.a) : call.b;
  const MatrixRef<T> c = by_columns ? transposed(call.c) : call.c;
  const bool adds = call.accumulates;
  for (std::int64_t i = 0; i < c.rows; ++i) {
    const T* const row = left.data + i * left.row_stride;
    const T* column = right.data;
    T* out = c.data + i * c.row_stride;
    for (std::int64_t j = c.cols; j > 0; --j, column += right.col_stride, out += c.col_stride) {
      T sum = 0;
      for (std::int64_t k = 0; k < left.cols; ++k) sum += row[k * left.col_stride] * column[k * right.row_stride];
      *out = adds ? *out + sum : sum;
    }
  }
}
/// Whether so few tiles take less time than to choose how the product is cut. Of a few columns, dot products do.
template <class T>
[[nodiscard]] bool has_few_tiles(const KernelSet<T>& kernels, const GemmCall<T>& call) {
  const std::int64_t m = call.c.rows, n = call.c.cols, k = call.a.cols;
  if (!kernels.masks || call.b.col_stride != 1 || call.c.col_stride != 1 || k > direct_depth) return false;
  if (n < 2 || (n == 2 && m > 2 && k > 8)) return false;
  return m * k * registers_for(n, kernels.lanes) <= (n <= 4 && m > 2 ? most_narrow_work : most_small_work);
}
/// A product so small that to choose how it is cut takes longer than the product; false, and nothing done, for others.
template <class T>
[[nodiscard]] bool multiply_small(const GemmCall<T>& call) {
  const std::int64_t work = call.c.rows * call.a.cols;
  if (!call.plain || work > most_small_work) return false;
  if (call.c.rows * call.c.cols <= fewest_sums && work * call.c.cols <= fewest_work)
    return multiply_numbers(call), true;
  const KernelSet<T>& kernels = *kernels_in_use<T>();
  if (call.a.cols <= most_shallow_depth && !is_faster_transposed(call) && multiply_narrow(call)) return true;
  if (has_few_tiles(kernels, call)) return multiply_few_tiles(kernels, call), true;
  const std::int64_t most = call.a.cols > 2 && call.a.row_stride != 1 ? most_tiny_work : most_shallow_work;
  return work * call.c.cols <= most && (multiply_numbers(call), true);
}

/// The product without its last columns, and these by themselves, where they are so few that a tile of them would waste
/// most of its registers; false, and nothing done, where that is not faster.
template <class T>
[[nodiscard]] bool multiply_apart(const GemmCall<T>& call) {
  const KernelSet<T>& kernels = *kernels_in_use<T>();
  const std::int64_t rest = call.c.cols & (kernels.lanes - 1), whole = call.c.cols - rest;
  if (rest == 0 || rest > most_apart || whole == 0 || !call.plain || call.c.rows * call.a.cols > most_read_twice)
    return false;
  if (call.c.rows <= 2 && kernels.masks) return false;
  GemmCall<T> last = call, others = call;
  last.b = columns_of(call.b, whole, rest), last.c = columns_of(call.c, whole, rest);
  if (find_vectors(last) == Vectors::none && !is_faster_transposed(last)) return false;
  others.b = columns_of(call.b, 0, whole), others.c = columns_of(call.c, 0, whole);
  multiply(last);
  multiply(others);
  return true;
}

template <class T>
void multiply(const GemmCall<T>& call) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    if (multiply_small(call)) return;
    if (const Vectors vectors = find_vectors(call); vectors != Vectors::none)
      return multiply_by_vectors(call, vectors == Vectors::columns_of_b);
    if (is_transposed(call)) return multiply(transposed(call));
#if LOCUS_CBLAS
    if (multiply_with_cblas(call)) return;
#endif
    if (is_faster_transposed(call)) {
      const GemmCall<T> across = transposed(call);
      if (!multiply_in_place(across)) multiply_by_tiles(across);
      return;
    }
    if (multiply_narrow(call) || multiply_apart(call) || multiply_in_place(call)) return;
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
/// threads. With Isa::avx512_bf16 and later, bfloat16 and sums of theirs below 2^-126 count as zeros.
/// throws ShapeError unless the extents fit
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

}  // namespace cpu
}  // namespace locus::inline LOCUS_ABI

#undef LOCUS_NO_OVERLAP
