#pragma once
// Elements and slices written to the places that indices name, and the gradients of both.

#include <locus/ops/index/pick.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

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
  static constexpr int fragment_bytes = sizeof(compute_t<T>);
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
  template <class R> LOCUS_FN R operator()(R g, std::int64_t last) const { return last < 0 ? g : R(0); }
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

}}}  // namespace locus::LOCUS_ABI::detail
