#pragma once
// Cross-entropy of x w^T + b on plain tensors, chunk by chunk of rows: the logits of a chunk are computed, replaced by
// their gradients, and multiplied, so that the logits of all rows never exist (Hsu, Dai, Kothapalli et al., Liger
// Kernel, 2024).

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/loss/cross_entropy_rows.hpp>
#include <locus/ops/matmul.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Bytes of logits that a device computes at once; up to four times as many if a chunk would otherwise have fewer than
/// `least_chunk_rows` rows. Every chunk reads all weights for each of its three products, and reads and writes the
/// gradient of the weights. With 50,257 classes these chunks, 333 rows of float on hosts and 1,334 of 16 bits on Cuda,
/// multiply several times longer than they read.
template <class D>
inline constexpr std::int64_t logit_bytes = HostAccessible<D> ? std::int64_t{64} << 20 : std::int64_t{128} << 20;
inline constexpr std::int64_t least_chunk_rows = 128;
/// The extent of classes in products is a multiple of this: on a GPU, products with odd extents take up to five times
/// as long.
template <class D>
inline constexpr std::int64_t class_multiple = HostAccessible<D> ? 1 : 64;

/// All rows, in chunks of nearly equal size. `columns`: the classes, rounded up to class_multiple.
struct LogitChunks {
  std::int64_t rows, columns, at_once;

  LogitChunks(std::int64_t all, std::int64_t classes, std::int64_t multiple, std::int64_t most_elements)
      : rows(all), columns((classes + multiple - 1) / multiple * multiple), at_once(0) {
    if (rows == 0) return;
    const std::int64_t few = product_or_most(least_chunk_rows, columns);
    const std::int64_t room = within(few, most_elements, product_or_most(4, most_elements));
    at_once = equal_part(rows, larger(room / larger(columns, std::int64_t{1}), std::int64_t{1}));
  }
  /// Calls f(first row, number of rows).
  template <class F>
  void for_each(const F& f) const {
    for (std::int64_t row = 0; row < rows; row += at_once) f(row, smaller(at_once, rows - row));
  }
};

/// x with zeros behind it along its first dimension, to an extent of `rows`; x itself if it has as many. Two launches.
template <class T, class D>
[[nodiscard]] Tensor<T, D> with_zero_rows(const Tensor<T, D>& x, std::int64_t rows) {
  const std::int64_t given = x.size(0);
  if (given == rows) return x;
  Shape shape = x.shape();
  shape[0] = rows;
  const Tensor<T, D> padded(shape, x.device());
  padded.slice(0, 0, given).copy_(x);
  padded.slice(0, given).fill_(T(0.f));
  return padded;
}

/// Unscaled gradients of the sum of losses: of the rows, of the weights and of the bias, the last two summed in float
/// for 16-bit types, with LogitChunks::columns rows. Empty tensors where none is wanted.
template <class T, class D>
struct LinearCrossEntropyGradients {
  using R = compute_t<T>;
  Tensor<T, D> x;
  Tensor<R, D> weight, bias;
};

/// The passes of one call. x is (n, d), w (classes, d), b (classes) or empty; the rules have n labels.
template <class T, class D, bool weighted>
class LinearCrossEntropyPasses {
  using R = compute_t<T>;

 public:
  LinearCrossEntropyPasses(const Tensor<T, D>& x, const Tensor<T, D>& w, const Tensor<T, D>& b,
                           const LabelRules<T, weighted>& rules, const LogitChunks& chunks)
      : x_(x),
        w_(with_zero_rows(w, chunks.columns)),
        b_(b.buffer() ? with_zero_rows(b, chunks.columns).contiguous() : b),
        rules_(rules),
        chunks_(chunks),
        room_({chunks.at_once, chunks.columns}, x.device()) {}

  /// Memory for the wanted gradients.
  [[nodiscard]] LinearCrossEntropyGradients<T, D> gradients_to_write(bool x, bool w, bool b) const {
    const std::int64_t columns = chunks_.columns;
    LinearCrossEntropyGradients<T, D> gradients;
    if (x) gradients.x = Tensor<T, D>(x_.shape(), x_.device());
    if (w) gradients.weight = Tensor<R, D>({columns, x_.size(1)}, x_.device());
    if (b) gradients.bias = Tensor<R, D>(Shape{columns}, x_.device());
    return gradients;
  }

  /// The numbers that CrossEntropyRow writes, (4, n).
  void losses(const Tensor<R, D>& numbers) const {
    R* const to = numbers.data();
    const std::int64_t n = chunks_.rows;
    chunks_.for_each([&](std::int64_t first, std::int64_t count) {
      const Tensor<T, D> z = logits(first, count);
      launch(count, CrossEntropyRow<T, weighted>{rows_of<const T>(z), rules(first), to + first, to + n + first,
                                                 to + 2 * n + first, to + 3 * n + first});
    });
  }

  /// The losses and their shares, (2, n), and gradients of the sum of the losses.
  void losses_and_gradients(const Tensor<R, D>& numbers, const LinearCrossEntropyGradients<T, D>& gradients) const {
    R* const to = numbers.data();
    clear_if_no_rows(gradients);
    chunks_.for_each([&](std::int64_t first, std::int64_t count) {
      const Tensor<T, D> z = logits(first, count);
      launch(count,
             CrossEntropyRowInPlace<T, weighted>{rows_of(z), rules(first), to + first, to + chunks_.rows + first});
      multiply(z, first, count, gradients);
    });
  }

  /// Gradients of the sum of the losses weighted by g, (n). of_rows: the last two numbers of losses(), (2, n).
  void gradients(const Tensor<R, D>& g, const Tensor<R, D>& of_rows,
                 const LinearCrossEntropyGradients<T, D>& gradients) const {
    clear_if_no_rows(gradients);
    chunks_.for_each([&](std::int64_t first, std::int64_t count) {
      const Tensor<T, D> z = logits(first, count);
      const R* const numbers = of_rows.data() + first;
      launch(count,
             CrossEntropyRowBackward<T, weighted, R>{rows_of<const T>(z), rules(first), numbers, numbers + chunks_.rows,
                                                     g.data() + first, 1, nullptr, rows_of(z), false});
      multiply(z, first, count, gradients);
    });
  }

 private:
  /// The logits of some rows, (count, columns); behind the classes they are 0.
  [[nodiscard]] Tensor<T, D> logits(std::int64_t first, std::int64_t count) const {
    const Tensor<T, D> z = room_.slice(0, 0, count);
    multiply_into(z, x_.slice(0, first, first + count), w_.transpose(),
                  Epilogue<T, functor::Identity>{b_.data(), false, {}});
    return z;
  }
  template <class U = T>
  [[nodiscard]] Rows<U> rows_of(const Tensor<T, D>& z) const {
    return {z.data(), 1, chunks_.columns, 0, 1};
  }
  [[nodiscard]] LabelRules<T, weighted> rules(std::int64_t first) const {
    LabelRules<T, weighted> result = rules_;
    result.labels += first;
    return result;
  }
  template <class F>
  void launch(std::int64_t count, const F& f) const {
    Backend<D>::for_each_row(x_.device(), count, rules_.classes, f);
  }

  /// No chunk writes the sums over no rows.
  void clear_if_no_rows(const LinearCrossEntropyGradients<T, D>& gradients) const {
    if (chunks_.rows > 0) return;
    for (const auto* const sum : {&gradients.weight, &gradients.bias})
      if (sum->buffer()) sum->fill_(R(0));
  }

  /// Writes the gradient of x for some rows, and adds to the others, given the gradients dz of these rows' logits.
  void multiply(const Tensor<T, D>& dz, std::int64_t first, std::int64_t count,
                const LinearCrossEntropyGradients<T, D>& to) const {
    const bool adds = first > 0;
    if (to.x.buffer()) multiply_into(to.x.slice(0, first, first + count), dz, w_, plain_epilogue<T>());
    if (to.weight.buffer()) add_product(to.weight, adds, dz.transpose(), x_.slice(0, first, first + count));
    if (to.bias.buffer())
      reduce_into(to.bias, adds, dz.shape(), FoldedAxes("linear_cross_entropy", dz.shape(), 0), Symbol<0>{},
                  fold::Sum<T>{}, dz);
  }
  /// sum = a b, or sum += a b
  static void add_product(const Tensor<R, D>& sum, bool adds, const Tensor<T, D>& a, const Tensor<T, D>& b) {
    if constexpr (std::is_same_v<T, R>) {
      multiply_into(sum, a, b, plain_epilogue<T>(adds));
    } else {
      const Tensor<T, D> product(sum.shape(), sum.device());
      multiply_into(product, a, b, plain_epilogue<T>());
      if (adds) map_into(sum, functor::Add{}, sum, product);
      else map_into(sum, functor::Identity{}, product);
    }
  }

  Tensor<T, D> x_, w_, b_;
  LabelRules<T, weighted> rules_;
  LogitChunks chunks_;
  Tensor<T, D> room_;
};

}}}  // namespace locus::LOCUS_ABI::detail
