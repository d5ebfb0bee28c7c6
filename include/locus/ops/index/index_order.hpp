#pragma once
// Sorts indices, for devices that do not process them one after the other: equal indices become a run, which one thread
// adds up in the original order, and a long run several. A counting sort by the verbs, without atomics.

#include <locus/core/std/bounds.hpp>
#include <locus/ops/scan.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// The indices in ascending order, and their original positions; the order is stable.
template <class D>
struct IndexOrder {
  Tensor<std::int64_t, D> keys, positions;
};

/// Six bits of a key at a time. Within a chunk, each element counts the elements before it.
struct SortDigits {
  static constexpr std::int64_t digits = 64, chunk = 256;
  const std::int64_t* keys;
  std::int64_t count, chunks;
  int shift;
  [[nodiscard]] LOCUS_FN std::int64_t digit(std::int64_t at) const { return keys[at] >> shift & (digits - 1); }
  /// Counts the elements of [first, last) that have the digit `wanted`.
  [[nodiscard]] LOCUS_FN std::int64_t with_digit(std::int64_t wanted, std::int64_t first, std::int64_t last) const {
    std::int64_t found = 0;
    for (std::int64_t i = first; i < last; ++i) found += digit(i) == wanted;
    return found;
  }
};
/// How often each digit occurs in each chunk: (chunks, digits).
struct CountDigits {
  SortDigits sort;
  LOCUS_FN void operator()(std::int64_t at, std::int64_t& found) const {
    const std::int64_t chunk = at / SortDigits::digits, first = chunk * SortDigits::chunk;
    found = sort.with_digit(at - chunk * SortDigits::digits, first, smaller(first + SortDigits::chunk, sort.count));
  }
};
/// Moves each element to the place of its digit. `sums` are the running sums of (digits, chunks).
struct MoveByDigit {
  SortDigits sort;
  const std::int64_t *sums, *positions;  ///< null: every element is at its original position
  std::int64_t *keys_to, *positions_to;
  LOCUS_FN void operator()(std::int64_t at) const {
    const std::int64_t chunk = at / SortDigits::chunk, digit = sort.digit(at), bin = digit * sort.chunks + chunk;
    const std::int64_t to = (bin == 0 ? 0 : sums[bin - 1]) + sort.with_digit(digit, chunk * SortDigits::chunk, at);
    keys_to[to] = sort.keys[at];
    positions_to[to] = positions ? positions[at] : at;
  }
};

/// Calls f(i) for every i below n. One launch.
template <class D, class F>
void launch_indices(D device, std::int64_t n, const F& f) {
  const Strides alone{1};
  Backend<D>::map(device, make_plan<1>({n}, std::array<Strides, 1>{alone}), f, Pack<LinearIndex>(LinearIndex{}),
                  Pack<>{});
}

/// A list of indices from 0 to `most` in order. cost: for each six bits of `most`, two launches and a running sum
/// of 1/4 as many elements
template <class D>
[[nodiscard]] IndexOrder<D> in_order(const Tensor<std::int64_t, D>& indices, std::int64_t most) {
  const std::int64_t count = indices.elements(), chunks = (count - 1) / SortDigits::chunk + 1;
  IndexOrder<D> order{indices.contiguous(), {}};
  for (int shift = 0; shift == 0 || (shift < 63 && most >> shift > 0); shift += 6) {
    const SortDigits sort{order.keys.data(), count, chunks, shift};
    const Tensor<std::int64_t, D> found({SortDigits::digits, chunks}, indices.device());
    const Strides by_chunk{1, chunks}, dense{SortDigits::digits, 1};
    Backend<D>::map(indices.device(),
                    make_plan<2>({chunks, SortDigits::digits}, std::array<Strides, 2>{dense, by_chunk}),
                    CountDigits{sort}, Pack<LinearIndex>(LinearIndex{}), Pack<std::int64_t*>(found.data()));
    const Tensor<std::int64_t, D> sums = scan(found.reshape({found.elements()}), 0, false);
    const IndexOrder<D> next{Tensor<std::int64_t, D>({count}, indices.device()),
                             Tensor<std::int64_t, D>({count}, indices.device())};
    launch_indices(indices.device(), count,
                   MoveByDigit{sort, sums.data(), order.positions.buffer() ? order.positions.data() : nullptr,
                               next.keys.data(), next.positions.data()});
    order = next;
  }
  return order;
}

/// An index, or `extent` if it is out of range.
struct IndexOrOutside {
  std::int64_t extent;
  LOCUS_FN std::int64_t operator()(std::int64_t index) const { return index < 0 || index >= extent ? extent : index; }
};

/// Runs of equal keys, and rows of elements at their positions: from(outer, position, inner), to(outer, key, inner). A
/// run of more than `part` keys is added up in parts of as many, and then its parts are. `parts` has two rows for each
/// `part` keys, as long runs begin at most once among so many, and go on at most once.
template <class T>
struct KeyRuns {
  static constexpr std::int64_t part = 128;
  const T* from;
  const std::int64_t *keys, *positions;
  std::int64_t count, extent, inner_count;
  T* to;
  compute_t<T>* parts;  ///< null if there are no more than `part` keys

  [[nodiscard]] LOCUS_FN bool begins(std::int64_t at) const { return at == 0 || keys[at - 1] != keys[at]; }
  [[nodiscard]] LOCUS_FN bool is_long(std::int64_t begin) const {
    return begin + part < count && keys[begin + part] == keys[begin];
  }
  /// Where the run of a key at `at` begins.
  [[nodiscard]] LOCUS_FN std::int64_t begin_of(std::int64_t at) const {
    std::int64_t low = 0, high = at;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (keys[middle] < keys[at]) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  [[nodiscard]] LOCUS_FN compute_t<T>* part_at(std::int64_t outer, std::int64_t at, bool begins,
                                               std::int64_t inner) const {
    const std::int64_t rows = (count - 1) / part + 1;
    return parts + ((outer * rows + at / part) * 2 + begins) * inner_count + inner;
  }
  [[nodiscard]] LOCUS_FN T* target(std::int64_t outer, std::int64_t key, std::int64_t inner) const {
    return to + (outer * extent + key) * inner_count + inner;
  }
};

/// to(outer, v, inner) += the sum of from(outer, j, inner) for the j whose index is v, in their order; or one part of
/// it. The thread at its first key computes it, one for each outer and inner.
template <class T>
struct AddRun {
  KeyRuns<T> runs;
  LOCUS_FN void operator()(std::int64_t at) const {
    const KeyRuns<T>& r = runs;
    const std::int64_t row = r.inner_count == 1 ? at : at / r.inner_count, inner = at - row * r.inner_count;
    const std::int64_t outer = row / r.count, first = row - outer * r.count, key = r.keys[first];
    if (key >= r.extent) return;
    const bool begins = r.begins(first);
    if (!begins) {
      if (first < r.part || r.keys[first - r.part] != key) return;  // not even the second part begins
      if ((first - r.begin_of(first)) % r.part != 0) return;
    }
    const bool is_part = !begins || r.is_long(first);
    compute_t<T> sum = is_part ? compute_t<T>(0) : load_as_register(*r.target(outer, key, inner));
    const std::int64_t end = smaller(first + r.part, r.count);
    for (std::int64_t i = first; i < end && r.keys[i] == key; ++i)
      sum = functor::Add{}(sum, load_as_register(r.from[(outer * r.count + r.positions[i]) * r.inner_count + inner]));
    if (is_part) *r.part_at(outer, first, begins, inner) = sum;
    else *r.target(outer, key, inner) = from_register<T>(sum);
  }
};
/// to(outer, v, inner) += the parts of v's long run. The thread at the begin of the run computes it; there is one for
/// each `part` keys, outer and inner.
template <class T>
struct AddParts {
  KeyRuns<T> runs;
  LOCUS_FN void operator()(std::int64_t at) const {
    const KeyRuns<T>& r = runs;
    const std::int64_t rows = (r.count - 1) / r.part + 1;
    const std::int64_t row = at / r.inner_count, inner = at - row * r.inner_count, outer = row / rows;
    const std::int64_t block = (row - outer * rows) * r.part, end = smaller(block + r.part, r.count);
    // A long run that begins in the block goes on behind it.
    if (end == r.count || r.keys[end] >= r.extent) return;
    const std::int64_t first = r.begin_of(end), key = r.keys[end];
    if (first < block || first >= end || !r.is_long(first)) return;
    T* const target = r.target(outer, key, inner);
    compute_t<T> sum = functor::Add{}(load_as_register(*target), *r.part_at(outer, first, true, inner));
    for (std::int64_t i = first + r.part; i < r.count && r.keys[i] == key; i += r.part)
      sum = functor::Add{}(sum, *r.part_at(outer, i, false, inner));
    *target = from_register<T>(sum);
  }
};

/// last[v] = the last position whose index is v
struct LastOfRun {
  const std::int64_t *keys, *positions;
  std::int64_t count, extent;
  std::int64_t* last;
  LOCUS_FN void operator()(std::int64_t at) const {
    const std::int64_t key = keys[at];
    if (key < extent && (at + 1 == count || keys[at + 1] != key)) last[key] = positions[at];
  }
};

/// The place in dense memory of the element that an index along an axis names; the other coordinates are the index's
/// own. -1 if it is out of range.
struct PlaceOfElement {
  std::int64_t extent[max_rank] = {}, stride[max_rank] = {};  ///< of the index, and of the tensor that it indexes
  int rank, axis;
  std::int64_t along;
  LOCUS_FN void operator()(std::int64_t index, std::int64_t at, std::int64_t& place) const {
    const bool valid = index >= 0 && index < along;
    std::int64_t found = valid ? index * stride[axis] : 0;
    for (int d = rank - 1; d >= 0; --d) {
      const std::int64_t before = at / extent[d];
      if (d != axis) found += (at - before * extent[d]) * stride[d];
      at = before;
    }
    place = valid ? found : -1;
  }
};
/// The places in x, which is dense, of the elements that an index names along an axis: a dense tensor like the index.
template <class T, class D>
[[nodiscard]] Tensor<std::int64_t, D> places_in(const Tensor<T, D>& x, const Tensor<std::int64_t, D>& index, int axis) {
  const Tensor<std::int64_t, D> places(index.shape(), index.device());
  PlaceOfElement f{{}, {}, index.rank(), axis, x.size(axis)};
  const Strides strides = row_major(x.shape());
  for (int d = 0; d < f.rank; ++d) f.extent[d] = index.size(d), f.stride[d] = strides[d];
  const Strides dense = row_major(index.shape());
  const auto plan = make_plan<3>(index.shape(), std::array<Strides, 3>{index.strides(), dense, dense});
  Backend<D>::map(index.device(), plan, f, Pack<const std::int64_t*, LinearIndex>(index.data(), LinearIndex{}),
                  Pack<std::int64_t*>(places.data()));
  return places;
}

/// throws ShapeError unless `to`, whose elements are added to by their places, is dense
template <class T, class D>
LOCUS_OUT_OF_LINE void require_dense(std::string_view name, const Tensor<T, D>& to) {
  if (!to.is_contiguous())
    fail<ShapeError>({name, ": adds to a view of shape ", to.shape(), " with strides ", to.strides(),
                      "; expected a dense tensor: add to one, and copy it to the view"});
}

/// Adds `given`, (outer, indices, inner), to `to`, dense, (outer, extent, inner), at the indices: those that are equal
/// in their order, more than 128 of them in parts of as many.
/// throws ShapeError unless `to` is dense
template <class T, class D>
void add_in_order(const Tensor<T, D>& to, const Tensor<T, D>& given, const Tensor<std::int64_t, D>& indices,
                  std::int64_t outer, std::int64_t extent, std::int64_t inner) {
  require_dense("add_in_order", to);
  const std::int64_t count = indices.elements();
  if (given.empty()) return;
  const Tensor<T, D> from = given.contiguous();
  const Tensor<std::int64_t, D> valid({count}, indices.device());
  map_into(valid, IndexOrOutside{extent}, indices.reshape({count}));
  const auto order = in_order(valid, extent);
  KeyRuns<T> runs{from.data(), order.keys.data(), order.positions.data(), count, extent, inner, to.data(), nullptr};
  if (count <= runs.part) return launch_indices(to.device(), outer * count * inner, AddRun<T>{runs});
  const std::int64_t blocks = (count - 1) / runs.part + 1;
  const Tensor<compute_t<T>, D> parts({outer, blocks, 2, inner}, to.device());
  runs.parts = parts.data();
  launch_indices(to.device(), outer * count * inner, AddRun<T>{runs});
  launch_indices(to.device(), outer * blocks * inner, AddParts<T>{runs});
}

}}}  // namespace locus::LOCUS_ABI::detail
