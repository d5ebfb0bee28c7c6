#pragma once
// Matrix products.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/device/product.hpp>
#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// The last two dimensions of a tensor, whatever their strides.
template <class T, class D>
[[nodiscard]] MatrixRef<const T> matrix(const Tensor<T, D>& x) {
  return {x.data(), x.size(-2), x.size(-1), x.strides()[-2], x.strides()[-1]};
}

/// A tensor of two dimensions, to be written.
template <class T, class D>
[[nodiscard]] MatrixRef<T> target(const Tensor<T, D>& x) {
  return {x.data(), x.size(0), x.size(1), x.strides()[0], x.strides()[1]};
}

/// All dimensions but the last two.
[[nodiscard]] inline Shape batch_shape(const Shape& shape) {
  Shape batch = shape;
  batch.erase(batch.rank() - 1);
  batch.erase(batch.rank() - 1);
  return batch;
}

/// Multiplies a run of matrices at equal distances by one launch.
template <class T>
using MultiplyRun = void (*)(const void* context, const GemmBatch& run, const MatrixRef<const T>& a,
                             const MatrixRef<const T>& b, const MatrixRef<T>& c);

/// Cuts out = a b, over matrices in the last two dimensions, into runs; the dimensions before broadcast to out's.
template <class T, class D>
void for_each_run(const Tensor<T, D>& out, const Tensor<T, D>& a, const Tensor<T, D>& b, MultiplyRun<T> multiply,
                  const void* context) {
  require_same_ordinal("matmul", out, a, b);
  const unsigned batch = (1u << (out.rank() - 2)) - 1u;
  const auto plan = make_plan<3>(out.shape(), {operand_of(a), operand_of(b), operand_of(out)}, batch);
  if (plan.elements == 0) return;
  count_products(plan.elements, out.size(-2), out.size(-1), a.size(-1));
  const int inner = plan.rank - 1;
  const GemmBatch one_run{plan.extent[inner], plan.stride[0][inner], plan.stride[1][inner], plan.stride[2][inner]};
  auto left = matrix(a), right = matrix(b);
  MatrixRef<T> target{out.data(), out.size(-2), out.size(-1), out.strides()[-2], out.strides()[-1]};
  for (std::int64_t run = 0; run < plan.elements / plan.extent[inner]; ++run) {
    std::int64_t offset[3];
    outer_offsets(plan, run, offset);
    left.data = a.data() + offset[0];
    right.data = b.data() + offset[1];
    target.data = out.data() + offset[2];
    multiply(context, one_run, left, right, target);
  }
}

/// out = epilogue(a b) over matrices in the last two dimensions; those before broadcast to out's.
/// One launch where the batch dimensions of all three merge into one, one per outer index otherwise.
template <class T, class D, class E>
void multiply_into(const Tensor<T, D>& out, const Tensor<T, D>& a, const Tensor<T, D>& b, const E& epilogue) {
  struct Target {
    D device;
    const E& epilogue;
  };
  const Target target{out.device(), epilogue};
  const auto multiply = [](const void* context, const GemmBatch& run, const MatrixRef<const T>& left,
                           const MatrixRef<const T>& right, const MatrixRef<T>& result) {
    const auto& to = *static_cast<const Target*>(context);
    multiply_matrices(to.device, run, left, right, result, to.epilogue);
  };
  for_each_run(out, a, b, MultiplyRun<T>(multiply), &target);
}

template <class T>
[[nodiscard]] Epilogue<T, functor::Identity> plain_epilogue(bool accumulate = false) {
  return {nullptr, accumulate, {}};
}

/// The transpose of a factor, for the gradient of the other one; of complex numbers its conjugate, in one launch.
template <class T, class D>
[[nodiscard]] Tensor<T, D> conjugate_transposed(const Tensor<T, D>& x) {
  if constexpr (!is_complex<T>) {
    return x.transpose();
  } else {
    const Tensor<T, D> conjugates(x.shape(), x.device());
    map_into(conjugates, functor::Conjugate{}, x);
    return conjugates.transpose();
  }
}

/// All dimensions before the last one merged: (..., k) -> (rows, k).
template <class T, class D>
[[nodiscard]] Tensor<T, D> as_rows(const Tensor<T, D>& x) {
  std::int64_t rows = 1;
  for (int d = 0; d + 1 < x.rank(); ++d) rows = product_or_most(rows, x.size(d));
  return x.reshape({rows, x.size(-1)});
}

/// Whether as_rows is a view.
[[nodiscard]] inline bool merges_into_rows(const Shape& shape, const Strides& strides) {
  std::int64_t rows = 1;
  for (int d = 0; d + 1 < shape.rank(); ++d) rows = product_or_most(rows, shape[d]);
  Strides merged;
  return view_strides(shape, strides, {rows, shape[-1]}, merged);
}

/// Adds a b to the gradient of a factor, whose batch dimensions may have been broadcast.
template <class T, class D>
void multiply_to(Gradient<T, D>& gradient, const Shape& matrices, const Tensor<T, D>& a, const Tensor<T, D>& b) {
  const Shape batch = broadcast(batch_shape(a.shape()), batch_shape(b.shape()));
  Shape full = batch;
  full.push_back(a.size(-2));
  full.push_back(b.size(-1));
  if (full == matrices) {
    const auto target = gradient.open();
    multiply_into(target.out.reshape(matrices), a, b, plain_epilogue<T>(target.accumulate));
  } else {
    Tensor<T, D> product(full, a.device());
    multiply_into(product, a, b, plain_epilogue<T>());
    if (matrices.rank() != gradient.shape().rank()) {  // a vector: it is repeated along the whole batch
      const int vector_axis = product.size(-1) == 1 ? -1 : -2;
      product = product.squeeze(vector_axis);
    }
    sum_to(product, gradient);
  }
}

}  // namespace detail

namespace operation {

struct Matmul {
  static constexpr const char* name = "matmul";
  [[nodiscard]] static constexpr bool is_bilinear() { return true; }

  template <class T, class D>
  auto forward(const Tensor<T, D>& a, const Tensor<T, D>& b) const {
    if (a.rank() == 0 || b.rank() == 0) {
      fail<ShapeError>({"matmul: ", a.shape(), " x ", b.shape(),
                        "; expected at least one dimension each; multiply by a "
                        "scalar with *"});
    }
    const auto left = as_left(a), right = as_right(b);
    if (left.size(-1) != right.size(-2)) {
      fail<ShapeError>({"matmul: ", a.shape(), " x ", b.shape(), ": ", left.size(-1), " columns meet ", right.size(-2),
                        " rows; expected (..., m, k) x (..., k, n)"});
    }
    Shape shape = batches(a.shape(), b.shape(), detail::batch_shape(left.shape()), detail::batch_shape(right.shape()));
    shape.push_back(left.size(-2));
    shape.push_back(right.size(-1));
    Tensor<T, D> out(shape, a.device());
    if (folds(left, right)) {
      detail::multiply_into(detail::as_rows(out), detail::as_rows(left), right, detail::plain_epilogue<T>());
    } else {
      detail::multiply_into(out, left, right, detail::plain_epilogue<T>());
    }
    if (a.rank() == 1) out = out.select(-2, 0);
    if (b.rank() == 1) out = out.select(-1, 0);
    return Forwarded{out, Tuple(a, b)};
  }

  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& gradient, Gradient<T, D>& da,
                Gradient<T, D>& db) const {
    const auto& [a, b] = saved;
    auto left = as_left(a), right = as_right(b);
    auto g = a.rank() == 1 ? gradient.unsqueeze(b.rank() == 1 ? -1 : -2) : gradient;
    if (b.rank() == 1) g = g.unsqueeze(-1);
    if (folds(left, right)) left = detail::as_rows(left), g = detail::as_rows(g);
    if (da) detail::multiply_to(da, left.shape(), g, detail::conjugate_transposed(right));
    if (db) detail::multiply_to(db, right.shape(), detail::conjugate_transposed(left), g);
  }

 private:
  /// The batch dimensions of the result.
  [[nodiscard]] static Shape batches(const Shape& a, const Shape& b, const Shape& left, const Shape& right) {
    for (int i = 1; i <= left.rank() && i <= right.rank(); ++i) {
      if (left[-i] == right[-i] || left[-i] == 1 || right[-i] == 1) continue;
      fail<ShapeError>({"matmul: ", a, " x ", b, ": ", left[-i], " matrices meet ", right[-i],
                        "; batches broadcast only where their extents are equal or 1"});
    }
    return broadcast(left, right);
  }
  template <class T, class D>
  static Tensor<T, D> as_left(const Tensor<T, D>& a) {
    return a.rank() == 1 ? a.unsqueeze(0) : a;
  }
  template <class T, class D>
  static Tensor<T, D> as_right(const Tensor<T, D>& b) {
    return b.rank() == 1 ? b.unsqueeze(1) : b;
  }

  /// Whether a batch of matrices times one matrix is one product: all their rows times that matrix.
  template <class T, class D>
  static bool folds(const Tensor<T, D>& left, const Tensor<T, D>& right) {
    return left.rank() > 2 && right.rank() == 2 && detail::merges_into_rows(left.shape(), left.strides());
  }
};

}  // namespace operation

namespace detail {
template <class A, class B>
concept Multipliable = TensorLike<A> && TensorLike<B> && Combinable<A, B> && !std::is_same_v<value_of<A>, bool>;
}

/// Matrix product with torch.matmul's rules: a vector on the left is a row and on the right a column, and disappears
/// from the result; dimensions before the last two are a batch and broadcast. Transposed operands are not copied.
/// half and bfloat16 are summed in float. On Cpu with AVX-512 BF16 or AMX, denormal bfloat16 and denormal sums of
/// products (below 2^-126) count as zeros, in linear layers, too, but in products of up to eight rows or columns.
/// shape: (..., m, k) x (..., k, n) -> (..., m, n)     gradient: g b^T and a^T g, of complex numbers with
/// conjugates, summed over broadcast dimensions
/// cost:  one launch, and one for each gradient plus one where a batch was broadcast; one per outer index instead where
///        batch dimensions do not merge into one, as in a transposed batch
/// throws ShapeError naming both shapes
template <class A, class B>
  requires detail::Multipliable<A, B>
[[nodiscard]] auto matmul(const A& a, const B& b) {
  return apply(operation::Matmul{}, a, b);
}
#include <locus/refuse/ops/matmul.inc>

}}  // namespace locus::LOCUS_ABI
