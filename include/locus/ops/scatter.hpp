#pragma once
// Elements and slices written to int64 indices: index_add, index_copy, scatter, scatter_add, index_put; and take,
// take_along_axis, masked_fill. Results are new tensors; x stays as it is.
//
// Indices count from 0: negative ones are out of range, as for all lookups by tensors of indices, and throw IndexError
// where the host can read them. On a device whose memory it cannot read, elements for such an index are dropped.
// Elements for equal indices are added in the order of the indices; on a GPU, more than 128 of them in parts of as
// many, whose sums are added in order. Of several elements written to one place, the last one stays, on every device.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/index.hpp>
#include <locus/ops/index/scatter_elements.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/view.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI {

namespace operation {

/// x + slices of source along an axis, at a list of indices.
struct IndexAdd {
  static constexpr const char* name = "index_add";
  static constexpr bool linear = true;
  int axis;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x, const Tensor<std::int64_t, D>& given, const Tensor<T, D>& source) const {
    detail::require_same_ordinal(name, x, given, source);
    const int along = normalize_axis(axis, x.rank(), name);
    detail::require_slices(name, x.shape(), given.shape(), source.shape(), along);
    const auto indices = given.contiguous();
    detail::require_indices(name, indices, x.size(along));
    const Tensor<T, D> out = x.clone();
    detail::add_at(out, source, indices, along, true);
    return Forwarded{out, Tuple(indices)};
  }
  template <class T, class D, class I>
  void backward(const Tuple<Tensor<std::int64_t, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx, I&,
                Gradient<T, D>& dsource) const {
    if (dx) dx.give(g);
    if (dsource) dsource.give(IndexSelect{name, axis}.forward(g, get<0>(saved)).output);
  }
};

/// x with slices of source along an axis, at a list of indices; the last one stays.
struct IndexCopy {
  static constexpr const char* name = "index_copy";
  static constexpr bool linear = true;
  int axis;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x, const Tensor<std::int64_t, D>& given, const Tensor<T, D>& source) const {
    detail::require_same_ordinal(name, x, given, source);
    const int along = normalize_axis(axis, x.rank(), name);
    detail::require_slices(name, x.shape(), given.shape(), source.shape(), along);
    const auto indices = given.contiguous();
    detail::require_indices(name, indices, x.size(along));
    const auto last = detail::last_named(indices, x.size(along));
    const detail::RowCount count(x.shape(), along);
    return Forwarded{detail::put_slices(x, source, last, count), Tuple(indices, last)};
  }
  template <class T, class D, class I>
  void backward(const Tuple<Tensor<std::int64_t, D>, Tensor<std::int64_t, D>>& saved, const Tensor<T, D>& g,
                Gradient<T, D>& dx, I&, Gradient<T, D>& dsource) const {
    const auto& [indices, last] = saved;
    const int along = normalize_axis(axis, g.rank(), name);
    Shape alone = Dims::filled(g.rank(), 1);
    alone[along] = g.size(along);
    detail::take_slices_back(g, indices, last.reshape(alone), {g.shape(), along}, dx, dsource);
  }
};

/// x + elements of source, at an index for each along an axis.
struct ScatterAdd {
  static constexpr const char* name = "scatter_add";
  static constexpr bool linear = true;
  int axis;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x, const Tensor<std::int64_t, D>& index, const Tensor<T, D>& source) const {
    detail::require_same_ordinal(name, x, index, source);
    const int along = normalize_axis(axis, x.rank(), name);
    detail::require_elements(name, x.shape(), index.shape(), source.shape(), along);
    const bool slices = detail::names_slices(x.shape(), index, along);
    const auto indices = slices ? detail::list_of(index, along) : index.contiguous();
    detail::require_indices(name, indices, x.size(along));
    const Tensor<T, D> out = x.clone();
    detail::add_at(out, source, indices, along, slices);
    return Forwarded{out, Tuple(index)};
  }
  template <class T, class D, class I>
  void backward(const Tuple<Tensor<std::int64_t, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx, I&,
                Gradient<T, D>& dsource) const {
    if (dx) dx.give(g);
    if (dsource) dsource.give(Gather{axis}.forward(g, get<0>(saved)).output);
  }
};

/// x with elements of source, at an index for each along an axis; the last one stays.
struct Scatter {
  static constexpr const char* name = "scatter";
  static constexpr bool linear = true;
  int axis;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x, const Tensor<std::int64_t, D>& given, const Tensor<T, D>& source) const {
    detail::require_same_ordinal(name, x, given, source);
    const int along = normalize_axis(axis, x.rank(), name);
    detail::require_elements(name, x.shape(), given.shape(), source.shape(), along);
    const auto index = given.contiguous();
    detail::require_indices(name, index, x.size(along));
    const auto places = detail::places_in(x, index, along);
    const auto last = detail::last_named(places, x.elements());
    const Tensor<T, D> flat = x.reshape({x.elements()}), put = source.reshape({source.elements()});
    return Forwarded{detail::put_slices(flat, put, last, {flat.shape(), 0}).reshape(x.shape()), Tuple(places, last)};
  }
  template <class T, class D, class I>
  void backward(const Tuple<Tensor<std::int64_t, D>, Tensor<std::int64_t, D>>& saved, const Tensor<T, D>& g,
                Gradient<T, D>& dx, I&, Gradient<T, D>& dsource) const {
    const auto& [places, last] = saved;
    detail::take_slices_back(g, places, last.reshape(g.shape()), {Shape{g.elements()}, 0}, dx, dsource);
  }
};

}  // namespace operation

namespace detail {
template <class X, class I, class S>
concept PutOperands = IndexedOperands<X, I> && TensorLike<S> && CombinablePair<X, S> && SameDevice<X, S> &&
                      std::is_same_v<value_of<X>, value_of<S>>;
}  // namespace detail

/// x with slices of `source` added along an axis, at a list of indices, repetitions included.
/// shape:    (..., n, ...), (m,), (..., m, ...) -> the shape of x
/// gradient: for x, g; for the source, the slices of g at the indices
/// cost:     a copy of x, and the backward pass of index_select
/// throws ShapeError; IndexError, see the top of the file
///
///     auto totals = index_add(zeros({classes, 1}), 0, labels, amounts);
template <class X, class I, class S>
  requires detail::PutOperands<X, I, S>
[[nodiscard]] auto index_add(const X& x, int axis, const I& indices, const S& source) {
  return apply(operation::IndexAdd{axis}, x, indices, source);
}

/// x with the slices along an axis that a list of indices names replaced by slices of `source`. Of several for one
/// place the last one stays.
/// shape:    (..., n, ...), (m,), (..., m, ...) -> the shape of x
/// gradient: for x, g, but 0 where something was put; for the source, the slices of g, but 0 for those that did not
///           stay
/// cost:     three launches on hosts, on Cuda as for sorting indices, see index_select; backward two
/// throws ShapeError; IndexError, see the top of the file
template <class X, class I, class S>
  requires detail::PutOperands<X, I, S>
[[nodiscard]] auto index_copy(const X& x, int axis, const I& indices, const S& source) {
  return apply(operation::IndexCopy{axis}, x, indices, source);
}

/// x with each element of `source` added at its index: for axis 0,
/// out[index[i][j][k]][j][k] += source[i][j][k], and likewise for others. torch.scatter_add; gather is its gradient.
/// shape:    index and source alike, of the dimensions of x, no larger except along the axis
/// cost:     a copy of x, and one pass over source and index; as index_add if the index is an expanded list. On Cuda,
///           places are sorted, see index_select
/// throws ShapeError; IndexError, see the top of the file
template <class X, class I, class S>
  requires detail::PutOperands<X, I, S>
[[nodiscard]] auto scatter_add(const X& x, int axis, const I& index, const S& source) {
  return apply(operation::ScatterAdd{axis}, x, index, source);
}

/// The same, with elements of x replaced by elements of `source`. Of several for one place the last one in row-major
/// order stays.
/// gradient: as of index_copy     cost: four launches on hosts, and memory for two indices for each element
template <class X, class I, class S>
  requires detail::PutOperands<X, I, S>
[[nodiscard]] auto scatter(const X& x, int axis, const I& index, const S& source) {
  return apply(operation::Scatter{axis}, x, index, source);
}

namespace detail {
/// number * extent + index, or -1 if one of them is out of range
struct NextDimension {
  std::int64_t extent;
  LOCUS_FN std::int64_t operator()(std::int64_t number, std::int64_t index) const {
    return number < 0 || index < 0 || index >= extent ? -1 : number * extent + index;
  }
};

/// The numbers of the slices at lists of indices, one list for each of the first dimensions; the lists broadcast.
template <class D>
[[nodiscard]] Tensor<std::int64_t, D> numbers_of_slices(const Shape& x,
                                                        const std::vector<Tensor<std::int64_t, D>>& at) {
  if (at.empty() || at.size() > static_cast<std::size_t>(x.rank()))
    fail<IndexError>(
        {"index_put: indices for ", at.size(), " dimensions of a tensor of shape ", x, "; expected 1 to ", x.rank()});
  Shape shape = at[0].shape();
  for (const auto& index : at) shape = broadcast(shape, index.shape(), "index_put");
  Tensor<std::int64_t, D> numbers(shape, at[0].device());
  numbers.fill_(0);
  for (std::size_t d = 0; d < at.size(); ++d) {
    require_same_ordinal("index_put", numbers, at[d]);
    require_indices("index_put", at[d].contiguous(), x[static_cast<int>(d)]);
    map_into(numbers, NextDimension{x[static_cast<int>(d)]}, numbers, at[d]);
  }
  return numbers.reshape({numbers.elements()});
}
}  // namespace detail

/// x with values put, or with `accumulate` added, at indices for each of its first dimensions: NumPy's
/// x[i, j] = values. The indices broadcast, and the values broadcast to their shape with the other dimensions of x.
/// gradient and cost: as of index_copy, index_add, and a launch for each list of indices
/// throws ShapeError; IndexError, see the top of the file
///
///     auto y = index_put(x, {rows, columns}, from({1, 2, 3}));
template <class X, class S, class D = device_of<X>>
  requires detail::PutOperands<X, Tensor<std::int64_t, D>, S>
[[nodiscard]] auto index_put(const X& x, const std::vector<Tensor<std::int64_t, D>>& indices, const S& values,
                             bool accumulate = false) {
  const Shape whole = x.shape();
  Shape joined{1}, slices;
  const auto numbers = detail::numbers_of_slices(whole, indices);
  for (const auto& index : indices) slices = broadcast(slices, index.shape());
  Shape listed{numbers.elements()};
  for (int d = 0; d < whole.rank(); ++d) {
    if (d < static_cast<int>(indices.size())) joined[0] *= whole[d];
    else joined.push_back(whole[d]), slices.push_back(whole[d]), listed.push_back(whole[d]);
  }
  const auto source = reshape(expand(detail::as_met<detail::joint_role<X::role, S::role>>(values), slices), listed);
  const auto flat = reshape(detail::as_met<detail::joint_role<X::role, S::role>>(x), joined);
  return accumulate ? reshape(index_add(flat, 0, numbers, source), whole)
                    : reshape(index_copy(flat, 0, numbers, source), whole);
}

/// Elements of x at positions in row-major order: numpy.take without an axis.
/// shape: as the indices     gradient and cost: as index_select
/// throws IndexError, see the top of the file
template <class X, class I>
  requires(detail::IndexedOperands<X, I> && !detail::IsParameter<X>)
[[nodiscard]] auto take(const X& x, const I& indices) {
  return apply(operation::IndexSelect{"take", 0}, reshape(x, {inferred}), indices);
}

/// Elements along an axis by an index that broadcasts with x in the other dimensions: numpy.take_along_axis. The
/// indices of argsort and argmax (with keepdim) have such shapes.
/// shape: as the index, broadcast     gradient and cost: as gather, which does not broadcast
template <class X, class I>
  requires(detail::IndexedOperands<X, I> && !detail::IsParameter<X>)
[[nodiscard]] auto take_along_axis(const X& x, const I& index, int axis) {
  const int along = normalize_axis(axis, x.shape().rank(), "take_along_axis");
  if (index.shape().rank() != x.shape().rank()) {
    fail<ShapeError>({"take_along_axis: index of shape ", index.shape(), " for a tensor of shape ", x.shape(),
                      "; expected as many dimensions"});
  }
  Shape from = x.shape(), to = index.shape();
  from[along] = to[along] = 1;
  from = to = broadcast(from, to, "take_along_axis");
  from[along] = x.shape()[along];
  to[along] = index.shape()[along];
  return gather(expand(x, from), along, expand(index, to));
}

/// x with a number where the mask, a bool tensor that broadcasts, holds: where(mask, value, x), pending.
template <class X, class M, class V>
  requires requires(X&& x, M&& mask, V value) { where(std::forward<M>(mask), value, std::forward<X>(x)); }
[[nodiscard]] auto masked_fill(X&& x, M&& mask, V value) {
  return where(std::forward<M>(mask), value, std::forward<X>(x));
}

#include <locus/refuse/ops/scatter.inc>

}}  // namespace locus::LOCUS_ABI
