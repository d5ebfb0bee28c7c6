#pragma once
// Cuda's gemm: floating-point products by cuBLASLt with as much of the epilogue as it can fuse, the rest in one map;
// integer products by a tiled kernel.

#include <locus/cuda/gemm.hpp>
#include <locus/cuda/gemm_epilogue.cuh>
#include <locus/cuda/gemm_integer.cuh>

namespace locus { inline namespace LOCUS_ABI { namespace cuda {

namespace detail {
template <class T>
[[nodiscard]] MatrixRef<T> transposed(const MatrixRef<T>& m) {
  return {m.data, m.cols, m.rows, m.col_stride, m.row_stride};
}

/// Whether the rows are dense and do not overlap.
template <class T>
[[nodiscard]] bool has_dense_rows(const MatrixRef<T>& m) {
  return (m.cols == 1 || m.col_stride == 1) && (m.rows == 1 || m.row_stride >= m.cols);
}
/// Elements from one row to the next of a matrix with dense rows.
template <class T>
[[nodiscard]] int64_t distance_of_rows(const MatrixRef<T>& m) {
  return m.rows == 1 ? m.cols : m.row_stride;
}

/// Whether cuBLAS takes a factor in place, without a copy.
template <class T>
[[nodiscard]] bool is_read_in_place(const MatrixRef<T>& x) {
  return has_dense_rows(x) || has_dense_rows(transposed(x));
}

/// Distance between rows of `cols` elements in scratch memory: all begin at a multiple of 16 bytes, the largest
/// alignment that cuBLASLt's algorithms ask for.
template <class T>
[[nodiscard]] constexpr int64_t aligned_distance(int64_t cols) {
  return divide_up(cols, 16 / int64_t{sizeof(T)}) * (16 / int64_t{sizeof(T)});
}

/// A copy of the factor x with dense, aligned rows, in cuBLAS's terms, for a product that is computed transposed.
template <class T>
[[nodiscard]] BlasOperand copied_operand(Context& context, MatrixRef<const T> x, int64_t count, int64_t batch_stride,
                                         Scratch& copy) {
  const int64_t copies = batch_stride == 0 ? 1 : count, ld = aligned_distance<T>(x.cols), size = x.rows * ld;
  copy.reserve(static_cast<std::size_t>(copies * size) * sizeof(T));
  T* const target = copy.template as<T>();
  const std::array<Strides, 2> strides{Strides{batch_stride, x.row_stride, x.col_stride}, Strides{size, ld, 1}};
  const auto plan = make_plan<2>(Shape{copies, x.rows, x.cols}, strides);
  map(context, plan, locus::detail::ConvertElement<T, T>{}, Pack<const T*>{x.data}, Pack<T*>{target});
  return {target, ld, copies == 1 ? 0 : size, false};
}

/// The factor x in cuBLAS's terms, for a product that is computed transposed: its memory, read column by column, is x's
/// transpose. Copied where neither its rows nor its columns are dense.
template <class T>
[[nodiscard]] BlasOperand blas_operand(Context& context, MatrixRef<const T> x, int64_t count, int64_t batch_stride,
                                       Scratch& copy) {
  const bool batch_fits = count == 1 || batch_stride >= 0;
  if (batch_fits && has_dense_rows(x)) return {x.data, distance_of_rows(x), batch_stride, false};
  if (batch_fits && has_dense_rows(transposed(x))) return {x.data, distance_of_rows(transposed(x)), batch_stride, true};
  return copied_operand(context, x, count, batch_stride, copy);
}

/// A batch of floating-point products, with the type of its epilogue erased.
template <class T>
struct BlasCall {
  GemmBatch batch;
  MatrixRef<const T> a, b;
  MatrixRef<T> c;
  FusedEpilogue fused;
  bool accumulates, symmetric;
  const void* epilogue;
  void (*end)(Context& context, const BlasCall& call, const T* product, const Strides& product_strides);

  [[nodiscard]] Shape shape() const { return {batch.count, c.rows, c.cols}; }
  /// The same, with every matrix transposed.
  [[nodiscard]] BlasCall swapped() const {
    BlasCall other = *this;
    other.batch = {batch.count, batch.b_stride, batch.a_stride, batch.c_stride};
    other.a = transposed(b);
    other.b = transposed(a);
    other.c = transposed(c);
    return other;
  }
};

template <class T, class E>
[[nodiscard]] BlasCall<T> blas_call(const GemmBatch& batch, const MatrixRef<const T>& a, const MatrixRef<const T>& b,
                                    const MatrixRef<T>& c, const E& epilogue) {
  const auto end = [](Context& of, const BlasCall<T>& call, const T* product, const Strides& strides) {
    end_product<T>(of, call.shape(), product, strides, call.c, call.batch.c_stride,
                   *static_cast<const E*>(call.epilogue));
  };
  return {batch, a, b, c, fuse<T>(epilogue), epilogue.accumulates(), is_symmetric<T>(epilogue), &epilogue, end};
}

/// A product without its epilogue, written to c or, where the epilogue needs c, to memory of its own; one launch of map
/// applies the epilogue.
template <class T>
struct ProductAlone {
  Context& context;
  const BlasCall<T>& call;
  Strides strides;  ///< of the product's matrices

  /// Applies the epilogue to a product that was written to c.
  static void finish(const void* self, void* c) {
    const auto& [context, call, strides] = *static_cast<const ProductAlone*>(self);
    BlasCall<T> there = call;
    there.c.data = static_cast<T*>(c);
    there.end(context, there, there.c.data, strides);
  }
};

/// Queues the product with its epilogue in one launch. False, without effect, where that is impossible or slower. The
/// unfused alternative calls finish(state, c) after the product.
[[nodiscard]] inline bool multiply_fused(Blas& blas, const BlasProduct& product, const FusedEpilogue& fused,
                                         void (*finish)(const void* state, void* c), const void* state) {
  BlasProduct whole = product;
  whole.epilogue = fused.kind;
  whole.bias = fused.bias;
  whole.accumulate = fused.accumulate;
  whole.kept = fused.kept;
  if (whole.applies_derivative() && product.k == 1) return false;  // an illegal access in some versions of cuBLASLt
  const UnfusedProduct other{product, finish, state};
  const bool keeps_bits =
      (fused.kind & CUBLASLT_EPILOGUE_RELU_AUX) == CUBLASLT_EPILOGUE_RELU_AUX;  // no other epilogue does
  const bool has_other_way = fused.kind != CUBLASLT_EPILOGUE_DEFAULT && !fused.accumulate && !keeps_bits;
  const bool is_queued = blas.multiply(whole, has_other_way ? &other : nullptr);
  if (is_queued) ++locus::detail::launches.gemm;
  return is_queued;
}

/// A row-major c is c^T in column-major order, so cuBLASLt computes c^T = b^T a^T, with one bias entry per row. The
/// caller fills in the factors.
template <class T>
[[nodiscard]] BlasProduct blas_shape(int64_t count, const MatrixRef<const T>& a, const MatrixRef<T>& c) {
  BlasProduct product;
  product.type = blas_type<T>();
  product.m = c.cols;
  product.n = c.rows;
  product.k = a.cols;
  product.count = count;
  return product;
}

/// The product in cuBLAS's terms. A single product gets batch strides of 0, as strides enter the alignment of its
/// matrices.
template <class T>
[[nodiscard]] BlasProduct blas_product(Context& context, const GemmBatch& given, const MatrixRef<const T>& a,
                                       const MatrixRef<const T>& b, const MatrixRef<T>& c, Scratch& a_copy,
                                       Scratch& b_copy) {
  const GemmBatch batch = given.count == 1 ? GemmBatch{} : given;
  BlasProduct product = blas_shape<T>(batch.count, a, c);
  product.a = blas_operand<T>(context, b, batch.count, batch.b_stride, b_copy);
  product.b = blas_operand<T>(context, a, batch.count, batch.a_stride, a_copy);
  product.c = c.data;
  product.c_batch_stride = batch.c_stride;
  product.c_ld = distance_of_rows(c);
  return product;
}

/// Multiplies copies of the factors into memory of its own, aligned so that every algorithm takes them. False, without
/// effect, if there is no algorithm.
template <class T>
[[nodiscard]] bool multiply_copies(Context& context, const BlasCall<T>& call) {
  const GemmBatch& batch = call.batch;
  Scratch a_copy(context), b_copy(context), own(context);
  BlasProduct product = blas_shape<T>(batch.count, call.a, call.c);
  product.a = copied_operand<T>(context, call.b, batch.count, batch.b_stride, b_copy);
  product.b = copied_operand<T>(context, call.a, batch.count, batch.a_stride, a_copy);
  product.c_ld = aligned_distance<T>(call.c.cols);
  product.c_batch_stride = batch.count == 1 ? 0 : call.c.rows * product.c_ld;
  own.reserve(static_cast<std::size_t>(batch.count * call.c.rows * product.c_ld) * sizeof(T));
  product.c = own.template as<void>();
  if (!context.state<Blas>(Context::blas).multiply(product)) return false;
  ++locus::detail::launches.gemm;
  call.end(context, call, own.template as<T>(), {product.c_batch_stride, product.c_ld, 1});
  return true;
}

/// Products of at most 65,535 matrices.
template <class T>
void blas_gemm(Context& context, const BlasCall<T>& call) {
  const auto& [batch, a, b, c, fused, accumulates, symmetric, epilogue, end] = call;
  const Shape shape = call.shape();
  if (a.cols == 0) return end(context, call, nullptr, row_major(shape));
  if (!has_dense_rows(c) && has_dense_rows(transposed(c)) && symmetric) return blas_gemm(context, call.swapped());
  Blas& blas = context.state<Blas>(Context::blas);
  Scratch a_copy(context), b_copy(context), own(context);
  BlasProduct product = blas_product(context, batch, a, b, c, a_copy, b_copy);

  const AlignedCopies copies = worthwhile_copies(product);
  if (copies.a) product.a = copied_operand<T>(context, b, batch.count, batch.b_stride, b_copy);
  if (copies.b) product.b = copied_operand<T>(context, a, batch.count, batch.a_stride, a_copy);
  const bool in_place = has_dense_rows(c) && (batch.count == 1 || batch.c_stride > 0) && !copies.c;
  ProductAlone<T> alone{context, call, {batch.c_stride, distance_of_rows(c), 1}};
  if (in_place && fused.complete && multiply_fused(blas, product, fused, &ProductAlone<T>::finish, &alone)) return;
  if (!in_place || accumulates) {
    product.c_ld = aligned_distance<T>(c.cols);
    alone.strides = {c.rows * product.c_ld, product.c_ld, 1};
    own.reserve(static_cast<std::size_t>(batch.count * alone.strides[0]) * sizeof(T));
    product.c = own.template as<void>();
    product.c_batch_stride = batch.count == 1 ? 0 : alone.strides[0];
  }
  if (!blas.multiply(product)) {
    if (!multiply_copies(context, call)) blas.refuse(product);
    return;
  }
  ++locus::detail::launches.gemm;
  end(context, call, static_cast<const T*>(product.c), alone.strides);
}

}  // namespace detail

template <class T, class E>
void gemm(Context& context, const GemmBatch& batch, const MatrixRef<const T>& a, const MatrixRef<const T>& b,
          const MatrixRef<T>& c, const E& epilogue) {
  static_assert(
      std::is_trivially_copyable_v<E>,
      "gemm: the epilogue is copied to the GPU, so it must be trivially copyable: values and device pointers only");
  if (a.rows != c.rows || b.cols != c.cols || a.cols != b.rows)
    fail<ShapeError>({"gemm: (", a.rows, ", ", a.cols, ") x (", b.rows, ", ", b.cols, ") -> (", c.rows, ", ", c.cols,
                      "); expected (m, k) x (k, n) -> (m, n)"});
  if constexpr (std::is_integral_v<T>) {
    detail::integer_gemm(context, batch, a, b, c, epilogue);
  } else {
    auto call = detail::blas_call(batch, a, b, c, epilogue);
    constexpr int64_t most = 65535;  // matrices per launch
    for (int64_t first = 0; first < batch.count; first += most) {
      call.batch.count = batch.count - first < most ? batch.count - first : most;
      call.a.data = a.data + first * batch.a_stride;
      call.b.data = b.data + first * batch.b_stride;
      call.c.data = c.data + first * batch.c_stride;
      detail::blas_gemm(context, call);
    }
  }
}

}}}  // namespace locus::LOCUS_ABI::cuda
