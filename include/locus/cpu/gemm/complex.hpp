#pragma once
// Complex products by real ones.
//
//     [re(x) im(x)] [ re(y) im(y)]  =  [re(x y) im(x y)]
//                   [-im(y) re(y)]
//
// So a, whose rows are read as real and imaginary parts in turn, times b with each element expanded to four numbers is
// c as it lies in memory: one real product of the same shape but for doubled columns, with all multiplications that a
// complex product needs.

#include <locus/core/check.hpp>
#include <locus/cpu/gemm/tiles.hpp>
#include <locus/cpu/memory.hpp>
#include <locus/cpu/threads/parallel.hpp>
#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu {

template <class T, class E>
void gemm(const GemmBatch& batch, MatrixRef<const std::type_identity_t<T>> a,
          MatrixRef<const std::type_identity_t<T>> b, MatrixRef<T> c, const E& epilogue);

namespace detail {

struct RealSums {
  static constexpr bool is_identity = true;
  template <class R> LOCUS_FN R operator()(R x) const { return x; }
};

/// Matrices of numbers in memory of their own, one behind the other.
template <class R>
class RealMatrices {
 public:
  RealMatrices(std::int64_t count, std::int64_t rows, std::int64_t cols)
      : count_(count), rows_(rows), cols_(cols), memory_(static_cast<std::size_t>(count * rows * cols) * sizeof(R)) {}
  [[nodiscard]] R* data() const { return reinterpret_cast<R*>(memory_.data()); }
  [[nodiscard]] MatrixRef<R> ref() const { return {data(), rows_, cols_, cols_, 1}; }
  [[nodiscard]] std::int64_t batch_stride() const { return count_ == 1 ? 0 : rows_ * cols_; }
  /// write(i, row, first number of the row), for each row of each matrix.
  template <class Write>
  void fill(std::int64_t step, const Write& write) const {
    const auto fill_row = [&](std::int64_t at) {
      const std::int64_t i = at / (rows_ / step), row = at % (rows_ / step);
      write(i, row, data() + (i * rows_ + row * step) * cols_);
    };
    const std::int64_t tasks = count_ * rows_ / step;
    if (count_ * rows_ * cols_ >= shared_elements) return parallel_for(tasks, fill_row);
    for (std::int64_t at = 0; at < tasks; ++at) fill_row(at);
  }

 private:
  static constexpr std::int64_t shared_elements = 1 << 16;
  std::int64_t count_, rows_, cols_;
  PoolMemory memory_;
};

/// Element (row, col) of matrix i of a batch.
template <class T>
[[nodiscard]] const T* element_of(const MatrixRef<T>& x, std::int64_t batch_stride, std::int64_t i, std::int64_t row) {
  return x.data + i * batch_stride + row * x.row_stride;
}

/// The numbers of a matrix whose rows are dense.
template <class R, class T>
[[nodiscard]] MatrixRef<R> as_numbers(const MatrixRef<T>& x) {
  return {reinterpret_cast<R*>(x.data), x.rows, 2 * x.cols, 2 * x.row_stride, 1};
}
template <class T>
[[nodiscard]] bool has_dense_rows(const MatrixRef<T>& x) {
  return x.cols == 1 || x.col_stride == 1;
}

/// Writes b, each element expanded to four numbers.
template <class R>
void expand(const MatrixRef<const Complex<R>>& b, std::int64_t stride, const RealMatrices<R>& result) {
  result.fill(2, [&](std::int64_t i, std::int64_t row, R* out) {
    const Complex<R>* const from = element_of(b, stride, i, row);
    R* const below = out + 2 * b.cols;
    for (std::int64_t col = 0; col < b.cols; ++col) {
      const Complex<R> y = from[col * b.col_stride];
      out[2 * col] = y.real;
      out[2 * col + 1] = y.imag;
      below[2 * col] = -y.imag;
      below[2 * col + 1] = y.real;
    }
  });
}
/// Writes a with dense rows.
template <class R>
void make_dense(const MatrixRef<const Complex<R>>& a, std::int64_t stride, const RealMatrices<R>& result) {
  result.fill(1, [&](std::int64_t i, std::int64_t row, R* out) {
    const Complex<R>* const from = element_of(a, stride, i, row);
    for (std::int64_t col = 0; col < a.cols; ++col) {
      out[2 * col] = from[col * a.col_stride].real;
      out[2 * col + 1] = from[col * a.col_stride].imag;
    }
  });
}

/// c = epilogue(a b). A batch that repeats a factor has it once; a is read in place or copied, and c in place or, where
/// the epilogue does more than add, through a product of its own.
template <class R, class E>
void multiply_complex(const GemmBatch& batch, const MatrixRef<const Complex<R>>& a,
                      const MatrixRef<const Complex<R>>& b, const MatrixRef<Complex<R>>& c, bool is_plain,
                      const E& epilogue) {
  const RealMatrices<R> right(batch.b_stride == 0 ? 1 : batch.count, 2 * b.rows, 2 * b.cols);
  expand(b, batch.b_stride, right);
  GemmBatch numbers{batch.count, 2 * batch.a_stride, right.batch_stride(), 2 * batch.c_stride};
  const MatrixRef<R> factor = right.ref();
  const auto multiply = [&](const MatrixRef<R>& out, bool accumulate) {
    const Epilogue<R, RealSums> sums{nullptr, accumulate, {}};
    const MatrixRef<const R> y{factor.data, factor.rows, factor.cols, factor.row_stride, 1};
    if (has_dense_rows(a)) return gemm(numbers, as_numbers<const R>(a), y, out, sums);
    const RealMatrices<R> left(batch.a_stride == 0 ? 1 : batch.count, a.rows, 2 * a.cols);
    make_dense(a, batch.a_stride, left);
    numbers.a_stride = left.batch_stride();
    const MatrixRef<R> x = left.ref();
    gemm(numbers, {x.data, x.rows, x.cols, x.row_stride, 1}, y, out, sums);
  };
  if (is_plain && has_dense_rows(c)) return multiply(as_numbers<R>(c), epilogue.accumulates());
  const RealMatrices<R> product(batch.count, c.rows, 2 * c.cols);
  numbers.c_stride = product.batch_stride();
  multiply(product.ref(), false);
  for (std::int64_t i = 0; i < batch.count; ++i)
    for (std::int64_t row = 0; row < c.rows; ++row)
      for (std::int64_t col = 0; col < c.cols; ++col) {
        const R* const sum = product.data() + (i * c.rows + row) * 2 * c.cols + 2 * col;
        Complex<R>& target = c.data[i * batch.c_stride + row * c.row_stride + col * c.col_stride];
        target = epilogue(Complex<R>(sum[0], sum[1]), epilogue.accumulates() ? target : Complex<R>(0), row, col);
      }
}

}  // namespace detail
}}}  // namespace locus::LOCUS_ABI::cpu
