#pragma once
// Elements and rows picked by int64 indices: index_select, gather, embedding, one_hot.
//
// An index out of range throws IndexError where the host can read the indices. On a device whose memory it cannot read,
// nothing out of range is accessed: such an index picks NaN (0 for integers), and its gradient is dropped.

#include <locus/expr/operands.hpp>
#include <locus/ops/index/pick.hpp>
#include <locus/ops/reduction.hpp>

#include <optional>

namespace locus { inline namespace LOCUS_ABI {

namespace operation {

/// Rows along an axis, replaced in the shape by the dimensions of the indices. Row `padding` gets no gradient; -1:
/// none.
struct IndexSelect {
  const char* caller;
  int axis;
  std::int64_t padding = -1;
  static constexpr const char* name = "index_select";
  static constexpr bool linear = true;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x, const Tensor<std::int64_t, D>& given) const {
    detail::require_same_ordinal(caller, x, given);
    const int along = normalize_axis(axis, x.rank(), caller);
    const auto indices = given.contiguous();
    detail::require_indices(caller, indices, x.size(along));
    const auto source = detail::around_axis(x, along);
    Shape shape;
    for (int d = 0; d < along; ++d) shape.push_back(x.size(d));
    for (auto extent : indices.shape()) shape.push_back(extent);
    for (int d = along + 1; d < x.rank(); ++d) shape.push_back(x.size(d));
    Tensor<T, D> out(shape, x.device());
    if (out.empty()) return Forwarded{out, Tuple(indices)};
    detail::pick_rows(out, source, indices);
    return Forwarded{out, Tuple(indices)};
  }
  /// Row `padding` counts as constant.
  template <class T, class D>
  [[nodiscard]] Tensor<T, D> derivative(const Tensor<T, D>& along, const Tensor<std::int64_t, D>& given) const {
    if (padding < 0) return forward(along, given).output;
    const Tensor<T, D> learned = along.clone();
    learned.slice(axis, padding, padding + 1).fill_(T(0));
    return forward(learned, given).output;
  }
  template <class T, class D, class I>
  void backward(const Tuple<Tensor<std::int64_t, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx, I&) const {
    if (!dx) return;
    const Tensor<std::int64_t, D> indices = learning(get<0>(saved));
    const auto target = dx.open();
    const auto dense = g.contiguous();
    if (target.out.empty()) return;
    detail::add_picked_rows(target.out, target.accumulate, dense, indices,
                            normalize_axis(axis, target.out.rank(), caller));
  }

 private:
  /// The indices, with -1 in place of those that collect no gradient.
  template <class D>
  [[nodiscard]] Tensor<std::int64_t, D> learning(const Tensor<std::int64_t, D>& indices) const {
    if (padding < 0) return indices;
    const Tensor<std::int64_t, D> result(indices.shape(), indices.device());
    detail::map_into(result, detail::WithoutIndex{padding}, indices);
    return result;
  }
};

struct Gather {
  static constexpr const char* name = "gather";
  static constexpr bool linear = true;
  int axis;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x, const Tensor<std::int64_t, D>& index) const {
    detail::require_same_ordinal(name, x, index);
    const int along = normalize_axis(axis, x.rank(), name);
    require_shapes(x.shape(), index.shape(), along);
    const auto dense = index.contiguous();
    detail::require_indices(name, dense, x.size(along));
    const auto source = detail::around_axis(within(x, index.shape(), along), along);
    Tensor<T, D> out(index.shape(), x.device());
    if (out.empty()) return Forwarded{out, Tuple(dense)};
    detail::pick_elements(out, source, dense, index.size(along));
    return Forwarded{out, Tuple(dense)};
  }
  template <class T, class D, class I>
  void backward(const Tuple<Tensor<std::int64_t, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx, I&) const {
    if (!dx) return;
    const auto& index = get<0>(saved);
    const auto dense = g.contiguous();
    const auto target = dx.open();
    if (target.out.empty()) return;
    const int along = normalize_axis(axis, index.rank(), name);
    detail::add_picked_elements(target.out, within(target.out, index.shape(), along), target.accumulate, dense, index,
                                along);
  }

 private:
  static void require_shapes(const Shape& x, const Shape& index, int along) {
    bool fits = x.rank() == index.rank();
    for (int d = 0; d < x.rank() && fits; ++d) fits = d == along || index[d] <= x[d];
    if (!fits) {
      fail<ShapeError>({"gather: index of shape ", index, " for a tensor of shape ", x,
                        "; expected as many dimensions, and, except along axis ", along, ", no larger extents"});
    }
  }
  /// The part of x that the index covers.
  template <class T, class D>
  static Tensor<T, D> within(const Tensor<T, D>& x, const Shape& index, int along) {
    Tensor<T, D> part = x;
    for (int d = 0; d < x.rank(); ++d)
      if (d != along) part = part.slice(d, 0, index[d]);
    return part;
  }
};

}  // namespace operation

namespace detail {
template <class X, class I>
concept IndexedOperands = TensorLike<X> && Computes<X> && IndexOperand<I> && SameDevice<X, I>;
template <class X, class I>
struct IndexedMistake : FirstMistake<PlaceMistake<X, I, error::tensor_is_on, error::indices_are_on>, MemoryMistake<X>,
                                     IndexTypeMistake<I, error::indices_hold>> {};
}  // namespace detail

/// The slices of x along an axis at a list of indices, repetitions included.
/// shape:    (..., n, ...), (m,) -> (..., m, ...)
/// gradient: slices of g added up at their sources, in the order of the indices
/// cost:     one launch; backward one pass over g, one launch, one more where the work is split among threads, and one
///           to clear the gradient, unless it is added to; 16 bits are summed in floats, which are rounded by one more.
///           On Cuda up to 1024 indices are compared with each other; more are put in order first, by eight launches
///           and more for every six bits of n, and added up by two, equal ones in parts of 128
/// throws ShapeError unless the indices are a list; IndexError, see the top of the file
template <class X, class I>
  requires detail::IndexedOperands<X, I>
[[nodiscard]] auto index_select(const X& x, int axis, const I& indices) {
  if (indices.shape().rank() != 1) {
    fail<ShapeError>({"index_select: indices of shape ", indices.shape(), "; expected a list, of one dimension"});
  }
  return apply(operation::IndexSelect{"index_select", axis}, x, indices);
}

/// out[i][j][k] = x[index[i][j][k]][j][k] for axis 0, and likewise for others: torch.gather.
/// shape: as the index, which has the dimensions of x, no larger except along the axis
/// gradient: g added up at its sources, in a fixed order
/// cost:  one launch; backward on hosts as index_select. On Cuda one, which compares every element of x with all the
///        indices along the axis, and one to clear the part of the gradient that a smaller index does not cover. Beyond
///        4 million comparisons, the elements' places are sorted as in index_select
/// throws ShapeError; IndexError, see the top of the file
template <class X, class I>
  requires detail::IndexedOperands<X, I>
[[nodiscard]] auto gather(const X& x, int axis, const I& index) {
  return apply(operation::Gather{axis}, x, index);
}

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_idx = std::nullopt;  ///< a row that gets no gradient; below 0 from the end
};

namespace detail {
/// The row that is padding in a table of so many entries, or -1. throws ArgumentError for a row outside the table
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::int64_t padding_row(const char* caller, std::int64_t entries,
                                                                const EmbeddingOptions& options) {
  if (!options.padding_idx) return -1;
  const std::int64_t given = *options.padding_idx, row = given < 0 ? given + entries : given;
  if (row < 0 || row >= entries)
    fail<ArgumentError>(
        {caller, ": padding_idx is ", given, "; expected ", -entries, " to ", entries - 1, ", the rows of the table"});
  return row;
}
}  // namespace detail

/// Rows of a table (entries, d) by number. A table that is a parameter learns if the indices are traced.
/// shape: (...) -> (..., d)
/// gradient and cost: as index_select along axis 0; nothing for the row of padding_idx, at one more launch
/// throws ShapeError; IndexError, see the top of the file; ArgumentError for a padding_idx that is no row
template <class X, class I>
  requires detail::IndexedOperands<X, I>
[[nodiscard]] auto embedding(const X& table, const I& indices, const EmbeddingOptions& options = {}) {
  if (table.shape().rank() != 2) {
    fail<ShapeError>({"embedding: table of shape ", table.shape(), "; expected (entries, features)"});
  }
  const std::int64_t padding = detail::padding_row("embedding", table.shape()[0], options);
  return apply(operation::IndexSelect{"embedding", 0, padding}, table, indices);
}

/// 1 where the last index is the label, 0 elsewhere; of int64 unless another type is named: one_hot<float>(labels, 10).
/// shape: (...) -> (..., classes)     cost: one launch
/// throws IndexError for a label out of range, if the host can read it (elsewhere its row is all 0); ArgumentError
template <DType T = std::int64_t, detail::IndexOperand I>
[[nodiscard]] auto one_hot(const I& labels, std::int64_t classes) {
  using D = device_of<I>;
  if (classes < 1) fail<ArgumentError>({"one_hot: ", classes, " classes; expected 1 or more"});
  const Tensor<std::int64_t, D> dense = labels.value().contiguous();
  detail::require_indices("one_hot", dense, classes);
  Shape shape = dense.shape();
  shape.push_back(classes);
  Tensor<T, D> out(shape, dense.device());
  Backend<D>::for_each_row(dense.device(), dense.elements(), classes, detail::OneHotRow<T>{dense.data(), out.data()});
  return out;
}

#include <locus/refuse/ops/index.inc>

}}  // namespace locus::LOCUS_ABI
