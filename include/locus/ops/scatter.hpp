#pragma once
// Elements and slices written to int64 indices: index_add, index_copy, scatter, scatter_add, index_put; and take,
// take_along_axis, masked_fill. Results are new tensors; x stays as it is.
//
// Indices count from 0: negative ones are out of range, as for all lookups by tensors of indices, and throw IndexError
// where the host can read them. On a device whose memory it cannot read, elements for such an index are dropped.
// Elements for equal indices are added in the order of the indices; of several elements written to one place, the last
// one stays, on every device.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/index.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/view.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// last[v] = the last position whose index is v, sequentially. One row of work.
struct NoteLast {
  static constexpr int fragments = 0;
  const std::int64_t* indices;
  std::int64_t count, extent;
  std::int64_t* last;
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t, Team&) const {
    for (std::int64_t j = 0; j < count; ++j)
      if (indices[j] >= 0 && indices[j] < extent) last[indices[j]] = j;
  }
};

/// For each of `extent` places, the last position in a list that names it, or -1.
template <class D>
[[nodiscard]] Tensor<std::int64_t, D> last_named(const Tensor<std::int64_t, D>& given, std::int64_t extent) {
  const Tensor<std::int64_t, D> indices = given.contiguous();
  const Tensor<std::int64_t, D> last({extent}, indices.device());
  last.fill_(-1);
  const std::int64_t count = indices.elements();
  if (count == 0 || extent == 0) return last;
  if constexpr (CostModel<D>::follows_indices) {
    Backend<D>::for_each_row(last.device(), 1, 1, NoteLast{indices.data(), count, extent, last.data()});
  } else {
    const Tensor<std::int64_t, D> valid({count}, indices.device());
    map_into(valid, IndexOrOutside{extent}, indices.reshape({count}));
    const auto order = in_order(valid, extent);
    launch_indices(last.device(), count,
                   LastOfRun{order.keys.data(), order.positions.data(), count, extent, last.data()});
  }
  return last;
}

/// out(outer, v, inner) = source(outer, last[v], inner), or x where nothing is put.
template <class T>
struct PutElement {
  const T* source;
  std::int64_t per_outer, source_per_outer, inner;
  LOCUS_FN void operator()(compute_t<T> x, std::int64_t last, std::int64_t at, compute_t<T>& out) const {
    const std::int64_t outer = at / per_outer;
    const std::int64_t row = inner == 1 ? 0 : at % inner;
    out = last < 0 ? x : load_as_register(source[outer * source_per_outer + last * inner + row]);
  }
};
/// The same by rows of inner, if these are long enough.
template <class T>
struct PutRow {
  static constexpr int fragments = 1;
  static constexpr std::int64_t bytes_per_element = 2 * sizeof(T), shortest = 16;
  const T *x, *source;
  const std::int64_t* last;
  std::int64_t extent, count;
  T* out;
  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    const std::int64_t outer = row / extent, from = last[row - outer * extent], cols = team.cols();
    const auto values = team.load(RowInput<T>{from < 0 ? x + row * cols : source + (outer * count + from) * cols});
    team.store(
        RowOutput<T>{out + row * cols}, [](compute_t<T> v, std::int64_t) LOCUS_INLINED { return v; }, values);
  }
};
/// The gradient of x: 0 where something was put.
struct UnlessPut {
  template <class R>
  LOCUS_FN R operator()(R g, std::int64_t last) const {
    return last < 0 ? g : R(0);
  }
};
/// The gradient of a put element: g at its place, or 0 if another element was put there later.
template <class T>
struct TakeBack {
  const T* g;
  const std::int64_t* last;
  std::int64_t extent, count, inner;
  LOCUS_FN void operator()(std::int64_t index, std::int64_t at, compute_t<T> previous, compute_t<T>& out) const {
    const std::int64_t row = inner == 1 ? at : at / inner, outer = row / count, j = row - outer * count;
    const bool stayed = index >= 0 && index < extent && last[index] == j;
    out = stayed ? previous + load_as_register(g[(outer * extent + index) * inner + (at - row * inner)]) : previous;
  }
};

/// x with slices of `source` along an axis put at the indices.
template <class T, class D>
[[nodiscard]] Tensor<T, D> put_slices(const Tensor<T, D>& x, const Tensor<T, D>& source,
                                      const Tensor<std::int64_t, D>& last, const RowCount& count) {
  const Tensor<T, D> out(x.shape(), x.device());
  if (out.empty()) return out;
  const Tensor<T, D> dense = source.contiguous(), from = x.contiguous();
  const std::int64_t picked = dense.elements() / count.rows;
  if (count.inner >= PutRow<T>::shortest) {
    Backend<D>::for_each_row(out.device(), count.outer * count.cols, count.inner,
                             PutRow<T>{from.data(), dense.data(), last.data(), count.cols, picked, out.data()});
    return out;
  }
  const Shape shape{count.outer, count.cols, count.inner};
  const Strides strides = row_major(shape), along{0, 1, 0};
  const auto plan = make_plan<4>(shape, std::array<Strides, 4>{strides, along, strides, strides});
  Backend<D>::map(
      out.device(), plan, PutElement<T>{dense.data(), count.cols * count.inner, picked * count.inner, count.inner},
      Pack<const T*, const std::int64_t*, LinearIndex>(from.data(), last.data(), LinearIndex{}), Pack<T*>(out.data()));
  return out;
}
/// The gradients of put_slices. `last` broadcasts to x.
template <class T, class D>
void take_slices_back(const Tensor<T, D>& g, const Tensor<std::int64_t, D>& indices,
                      const Tensor<std::int64_t, D>& last, const RowCount& count, Gradient<T, D>& dx,
                      Gradient<T, D>& dsource) {
  if (dx) map_to(dx, UnlessPut{}, g, last);
  if (!dsource) return;
  const auto target = dsource.open();
  if (target.out.empty()) return;
  const Tensor<T, D> dense = g.contiguous();
  const Shape shape{count.outer, indices.elements(), count.inner};
  const Strides strides = row_major(shape), along{0, 1, 0};
  const auto plan = make_plan<4>(shape, std::array<Strides, 4>{along, strides, strides, strides});
  Backend<D>::map(g.device(), plan, TakeBack<T>{dense.data(), last.data(), count.cols, indices.elements(), count.inner},
                  Pack<const std::int64_t*, LinearIndex, const T*>(indices.data(), LinearIndex{},
                                                                   target.accumulate ? target.out.data() : nullptr),
                  Pack<T*>(target.out.data()));
}

/// throws ShapeError unless source is x with as many slices along an axis as there are indices
LOCUS_OUT_OF_LINE inline void require_slices(std::string_view name, const Shape& x, const Shape& indices,
                                             const Shape& source, int along) {
  Shape expected = x;
  expected[along] = elements(indices);
  if (indices.rank() != 1 || !(source == expected)) {
    fail<ShapeError>({name, ": indices of shape ", indices, " and slices of shape ", source, " for a tensor of shape ",
                      x, "; expected a list of indices, and slices of shape ", expected});
  }
}
/// throws ShapeError unless an index has the shape of source, and fits x
LOCUS_OUT_OF_LINE inline void require_elements(std::string_view name, const Shape& x, const Shape& index,
                                               const Shape& source, int along) {
  bool fits = x.rank() == index.rank() && index == source;
  for (int d = 0; d < x.rank() && fits; ++d) fits = d == along || index[d] <= x[d];
  if (!fits) {
    fail<ShapeError>({name, ": index of shape ", index, " and source of shape ", source, " for a tensor of shape ", x,
                      "; expected index and source alike, of as many dimensions as the tensor, and, except along axis ",
                      along, ", no larger"});
  }
}

/// Whether an index along an axis is one list, expanded over all other dimensions of x: then whole slices are put.
template <class D>
[[nodiscard]] bool names_slices(const Shape& x, const Tensor<std::int64_t, D>& index, int along) {
  for (int d = 0; d < x.rank(); ++d)
    if (d != along && (index.size(d) != x[d] || (index.size(d) != 1 && index.strides()[d] != 0))) return false;
  return true;
}
/// The list of such an index.
template <class D>
[[nodiscard]] Tensor<std::int64_t, D> list_of(Tensor<std::int64_t, D> index, int along) {
  const std::int64_t count = index.size(along);
  for (int d = 0; d < index.rank(); ++d)
    if (d != along) index = index.slice(d, 0, 1);
  return index.reshape({count}).contiguous();
}

/// out, dense, + the elements of source at the indices, which are `shared` or one for each element.
/// throws ShapeError unless out is dense
template <class T, class D>
void add_at(const Tensor<T, D>& out, const Tensor<T, D>& source, const Tensor<std::int64_t, D>& indices, int along,
            bool shared) {
  require_dense("add_at", out);
  if (out.empty() || source.empty()) return;
  const RowCount count(out.shape(), along);
  const std::int64_t picked = shared ? indices.elements() : indices.size(along);
  if constexpr (CostModel<D>::follows_indices) {
    Shape covered = indices.shape();
    if (!shared) covered[along] = out.size(along);
    if (shared || covered == out.shape()) {
      return scatter_add(out, true, source, indices, along, picked, shared);
    }
    const Tensor<std::int64_t, D> places = places_in(out, indices, along).reshape({indices.elements()});
    scatter_add(out.reshape({out.elements()}), true, source.reshape({source.elements()}), places, 0, source.elements(),
                true);
  } else if (shared) {
    add_in_order(out, source, indices, count.outer, count.cols, count.inner);
  } else {
    add_in_order(out, source, places_in(out, indices, along), 1, out.elements(), 1);
  }
}

}  // namespace detail

namespace operation {

/// x + slices of source along an axis, at a list of indices.
struct IndexAdd {
  static constexpr const char* name = "index_add";
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
