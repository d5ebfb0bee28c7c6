#pragma once
// Matrix products of any element type: the device's gemm, for duals three of it.

#include <locus/device/buffer.hpp>
#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

template <class T, class D, class E>
void multiply_matrices(D device, const GemmBatch& batch, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
                       const E& epilogue);

/// A matrix of duals as two matrices, of values and of tangents, in memory of their own.
template <class T, class D>
struct DualParts {
  using R = decltype(T::value);
  Buffer<D> memory;
  MatrixRef<R> value, tangent;
  std::int64_t batch_stride = 0;

  DualParts(D device, std::int64_t count, std::int64_t rows, std::int64_t cols, bool by_columns)
      : memory(device, 2 * static_cast<std::size_t>(count * rows * cols) * sizeof(R)) {
    R* const first = static_cast<R*>(memory.data());
    value = {first, rows, cols, by_columns ? 1 : cols, by_columns ? rows : 1};
    tangent = value;
    tangent.data = first + count * rows * cols;
    batch_stride = count == 1 ? 0 : rows * cols;
  }
  [[nodiscard]] Strides strides() const { return {batch_stride, value.row_stride, value.col_stride}; }
};

/// The activation of a product that has none.
struct NoActivation {
  static constexpr bool is_identity = true;
  template <class R> LOCUS_FN R operator()(R x) const { return x; }
};

/// The type that gemm takes for its factors.
template <class R>
[[nodiscard]] MatrixRef<const R> as_factor(const MatrixRef<R>& m) {
  return {m.data, m.rows, m.cols, m.row_stride, m.col_stride};
}

struct SplitDual {
  template <class T, class R>
  LOCUS_FN void operator()(const T& x, R& value, R& tangent) const {
    value = x.value;
    tangent = x.tangent;
  }
};

/// The matrices x in parts that keep the order of their memory. A batch that repeats one matrix is split once.
template <class T, class D>
[[nodiscard]] DualParts<T, D> split_duals(D device, const MatrixRef<const T>& x, std::int64_t count,
                                          std::int64_t batch_stride) {
  using R = decltype(T::value);
  const std::int64_t copies = batch_stride == 0 ? 1 : count;
  const auto step = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  DualParts<T, D> parts(device, copies, x.rows, x.cols, step(x.row_stride) < step(x.col_stride));
  const Strides there = parts.strides(), here{batch_stride, x.row_stride, x.col_stride};
  const std::array<Strides, 3> strides{here, there, there};
  const auto plan = in_memory_order(make_plan<3>(Shape{copies, x.rows, x.cols}, strides));
  if (plan.elements > 0)
    Backend<D>::map(device, plan, SplitDual{}, Pack<const T*>(x.data),
                    Pack<R*, R*>(parts.value.data, parts.tangent.data));
  return parts;
}

/// Joins the parts of a product to duals and applies its epilogue.
template <class T, class E>
struct JoinDuals {
  E epilogue;
  std::int64_t rows, cols;

  template <class R>
  LOCUS_FN void operator()(const R& value, const R& tangent, const T& previous, std::int64_t index, T& out) const {
    out = epilogue(T(value, tangent), previous, index / cols % rows, index % cols);
  }
};

/// c = epilogue(a b) for duals: values are a product of values, tangents two products, of a value and a tangent each.
/// cost: three launches of gemm, two of map that split the factors, one that joins the result
template <class T, class D, class E>
void multiply_duals(D device, const GemmBatch& batch, const MatrixRef<const T>& a, const MatrixRef<const T>& b,
                    const MatrixRef<T>& c, const E& epilogue) {
  using R = decltype(T::value);
  if (batch.count == 0 || c.rows == 0 || c.cols == 0) return;
  const auto left = split_duals(device, a, batch.count, batch.a_stride);
  const auto right = split_duals(device, b, batch.count, batch.b_stride);
  const DualParts<T, D> product(device, batch.count, c.rows, c.cols, false);
  const GemmBatch parts{batch.count, left.batch_stride, right.batch_stride, product.batch_stride};
  const Epilogue<R, NoActivation> first{nullptr, false, {}}, added{nullptr, true, {}};
  const auto multiply = [&](const MatrixRef<R>& x, const MatrixRef<R>& y, const MatrixRef<R>& out,
                            const Epilogue<R, NoActivation>& end) {
    multiply_matrices<R>(device, parts, as_factor(x), as_factor(y), out, end);
  };
  multiply(left.value, right.value, product.value, first);
  multiply(left.value, right.tangent, product.tangent, first);
  multiply(left.tangent, right.value, product.tangent, added);
  const Strides in = product.strides(), out{batch.c_stride, c.row_stride, c.col_stride};
  const std::array<Strides, 5> strides{in, in, out, Strides{0, 0, 0}, out};
  const auto plan = make_plan<5>(Shape{batch.count, c.rows, c.cols}, strides);
  Backend<D>::map(device, plan, JoinDuals<T, E>{epilogue, c.rows, c.cols},
                  Pack<const R*, const R*, const T*, LinearIndex>(product.value.data, product.tangent.data,
                                                                  epilogue.accumulates() ? c.data : nullptr, {}),
                  Pack<T*>(c.data));
}

/// Backend<D>::gemm for any element type.
template <class T, class D, class E>
void multiply_matrices(D device, const GemmBatch& batch, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
                       const E& epilogue) {
  if constexpr (is_dual<T>) multiply_duals(device, batch, a, b, c, epilogue);
  else Backend<D>::gemm(device, batch, a, b, c, epilogue);
}

}}}  // namespace locus::LOCUS_ABI::detail
