#pragma once
// Distinct elements and slices, and the positions of nonzero elements. Not part of locus/locus.hpp: nvcc takes five
// seconds more for it, and in its files `cuda::` must be written locus::cuda:: (see cuda/sorting.hpp).
//
// The device alone knows how many there are, so that these functions wait for it. They cannot be part of a CUDA graph.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/index.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/scatter.hpp>
#include <locus/ops/sort.hpp>
#include <locus/tensor/factory.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// The results that unique computes beside the values.
struct UniqueOptions {
  bool return_inverse = false;
  bool return_counts = false;
  bool return_first = false;  ///< where each value occurs first: numpy.unique's return_index
  bool sorted = true;         ///< false: in the order of first occurrence
};

/// The results of unique. Along an axis, each value is a slice.
template <class T, class D>
struct Unique {
  Tensor<T, D> values;              ///< in ascending order unless asked otherwise, each once
  Tensor<std::int64_t, D> inverse;  ///< the number of each element's value, in the shape of x; empty unless asked for
  Tensor<std::int64_t, D> counts;   ///< how often each value occurs; empty unless asked for
  Tensor<std::int64_t, D> first;    ///< where it occurs first, in row-major order; empty unless asked for
};

namespace detail {

/// Whether an element of a sorted list differs from the one before it.
template <class T>
struct BeginsRun {
  using Key = SortKey<T>;
  const typename Key::Stored* sorted;
  LOCUS_FN void operator()(std::int64_t at, bool& begins) const {
    begins = at == 0 || Key::of(sorted[at]) != Key::of(sorted[at - 1]);
  }
};

struct LengthOfRun {
  const std::int64_t* begins;
  std::int64_t runs, elements;
  LOCUS_FN void operator()(std::int64_t run, std::int64_t& length) const {
    length = (run + 1 < runs ? begins[run + 1] : elements) - begins[run];
  }
};

/// The number of an element among sorted values, by bisection.
template <class T>
struct FindValue {
  using Key = SortKey<T>;
  const typename Key::Stored* values;
  std::int64_t count;
  LOCUS_FN void operator()(typename Key::Stored x, std::int64_t& index) const {
    const sort_key_t<T> key = Key::of(x);
    std::int64_t low = 0, high = count - 1;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (Key::of(values[middle]) < key) low = middle + 1;
      else high = middle;
    }
    index = low;
  }
};

/// The indices along the dimensions of an element, given its place in row-major order.
struct CoordinateOfElement {
  std::int64_t stride[max_rank], extent[max_rank];
  std::int64_t rank;
  LOCUS_FN void operator()(std::int64_t element, std::int64_t at, std::int64_t& coordinate) const {
    const std::int64_t d = at % rank;
    coordinate = element / stride[d] % extent[d];
  }
};

/// The elements of a tensor in memory, as the type that launches load to make keys.
template <class T, class D>
[[nodiscard]] const typename SortKey<T>::Stored* stored(const Tensor<T, D>& x) {
  return reinterpret_cast<const typename SortKey<T>::Stored*>(x.data());
}

/// The places of the set flags in row-major order. Waits for the device, to know their number.
template <class D>
[[nodiscard]] Tensor<std::int64_t, D> places_of(const char* name, const Tensor<bool, D>& flags) {
  const auto count = reduce<std::int64_t>(name, fold::Sum<bool>{}, flags, ReduceAxes{}, false);
  const Tensor<std::int64_t, D> places({count.item()}, flags.device());
  if (!places.empty()) Sorting<D>::select(flags.device(), flags.data(), flags.elements(), places.data());
  return places;
}

template <class T, class D>
[[nodiscard]] Tensor<std::int64_t, D> inverse_of_unique(const Tensor<T, D>& x, const Tensor<T, D>& values) {
  const Tensor<std::int64_t, D> inverse(x.shape(), x.device());
  const auto plan = make_plan<2>(x.shape(), {operand_of(x), operand_of(inverse)});
  Backend<D>::map(x.device(), plan, FindValue<T>{stored(values), values.elements()},
                  Pack<const typename SortKey<T>::Stored*>(stored(x)), Pack<std::int64_t*>(inverse.data()));
  return inverse;
}

/// The results in the order of first occurrence.
template <class T, class D>
void order_by_occurrence(Unique<T, D>& found, const UniqueOptions& options) {
  const auto [first, order] = sort(found.first);
  found.values = index_select(found.values, 0, order);
  if (options.return_counts) found.counts = index_select(found.counts, 0, order);
  if (options.return_inverse && !order.empty()) {
    const Tensor<std::int64_t, D> renamed = take(argsort(order), found.inverse);
    found.inverse = renamed;
  }
  found.first = options.return_first ? first : Tensor<std::int64_t, D>();
}

}  // namespace detail

/// The distinct elements in ascending order; of equal ones the first, so that 0 and -0 are one. All NaN are one value,
/// the last (as in NumPy; PyTorch keeps each).
/// shape: (u,)
/// cost:  as sort of all elements, and four launches, one more for counts, one for the inverse, one for first places;
///        waits for the device once. Unsorted, a sort of the values more, and a launch or three for each result
/// throws as sort
///
///     auto found = unique(labels, {.return_counts = true});
///     found.values, found.counts
template <detail::SortOperand X>
[[nodiscard]] auto unique(const X& x, const UniqueOptions& options = {}) {
  using T = value_of<X>;
  using D = device_of<X>;
  const Tensor<T, D> given = x.value();
  const auto [sorted, order] = sort(given.reshape({given.elements()}));
  const auto begins =
      detail::from_indices<bool>(sorted.shape(), sorted.device(), detail::BeginsRun<T>{detail::stored(sorted)});
  const auto places = detail::places_of("unique", begins);
  Unique<T, D> result{index_select(sorted, 0, places), {}, {}, {}};
  if (options.return_inverse) result.inverse = detail::inverse_of_unique(given, result.values);
  if (options.return_counts) {
    result.counts = detail::from_indices<std::int64_t>(
        places.shape(), places.device(), detail::LengthOfRun{places.data(), places.elements(), sorted.elements()});
  }
  // The sort is stable: the first of equal elements is the first one that occurs.
  if (options.return_first || !options.sorted) result.first = index_select(order, 0, places);
  if (!options.sorted) detail::order_by_occurrence(result, options);
  return result;
}

namespace detail {
/// A number for each slice along an axis: equal for equal slices, and larger for later ones in lexicographic order.
/// Ranks of elements become ranks of pairs of neighbours, then of pairs of pairs, until one is left.
template <class T, class D>
[[nodiscard]] Tensor<std::int64_t, D> ranks_of_slices(const Tensor<T, D>& x, int axis) {
  const Shape slices{x.size(axis)};
  if (x.empty()) return zeros<std::int64_t>(slices, x.device());
  const auto ranked = [](const auto& keys) { return unique(keys, {.return_inverse = true}); };
  const Tensor<T, D> rows = movedim(x, axis, 0).reshape({x.size(axis), inferred});
  auto [values, ranks, counts, first] = ranked(rows);
  std::int64_t distinct = values.elements();
  while (ranks.size(1) > 1) {
    if (ranks.size(1) % 2 != 0) ranks = concat(1, ranks, zeros<std::int64_t>({x.size(axis), 1}, x.device()));
    // Below 2^62, for no more than 2^31 elements are sorted.
    const auto pairs = ranked(ranks.slice(1, 0, to_end, 2) * distinct + ranks.slice(1, 1, to_end, 2));
    ranks = pairs.inverse, distinct = pairs.values.elements();
  }
  return ranks.reshape(slices);
}
}  // namespace detail

/// The distinct slices along an axis, such as rows, in lexicographic order: torch.unique with dim, numpy.unique with
/// axis. Elements are equal as above, all NaN included. `inverse` has one number for each slice; `counts` and `first`
/// count slices.
/// shape: as x, with as many slices as are distinct along the axis
/// cost:  as unique of all elements with the inverse, then of half as many, a quarter, and so on down to one for each
///        slice, with a launch or two between; waits for the device once for each
/// throws IndexError for a bad axis; otherwise as sort
///
///     auto rows = unique(x, 0, {.return_counts = true});
template <detail::SortOperand X, std::integral Axis>
[[nodiscard]] auto unique(const X& x, Axis axis, UniqueOptions options = {}) {
  using T = value_of<X>;
  using D = device_of<X>;
  const Tensor<T, D> given = x.value();
  const int along = normalize_axis(axis, given.rank(), "unique");
  const bool wants_first = std::exchange(options.return_first, true);
  auto found = unique(detail::ranks_of_slices(given, along), options);
  Unique<T, D> result{index_select(given, along, found.first), found.inverse, found.counts, {}};
  if (wants_first) result.first = found.first;
  return result;
}

/// The positions of the nonzero elements (NaN is nonzero), in row-major order: torch.nonzero.
/// shape: (count, rank of x), of int64
/// cost:  four launches, for bool three; waits for the device once
///
///     auto rows = nonzero(loss > 1.f).select(1, 0);
template <detail::SortOperand X>
[[nodiscard]] auto nonzero(const X& x) {
  using D = device_of<X>;
  const Tensor<bool, D> flags = x.value().template as<bool>().contiguous();
  const auto places = detail::places_of("nonzero", flags);
  const int rank = flags.rank();
  const Shape shape{places.elements(), rank};
  const Tensor<std::int64_t, D> coordinates(shape, flags.device());
  if (coordinates.empty()) return coordinates;
  detail::CoordinateOfElement f{{}, {}, rank};
  for (int d = 0; d < rank; ++d) f.stride[d] = flags.strides()[d], f.extent[d] = flags.size(d);
  const Strides dense = row_major(shape), repeated{1, 0};
  const auto plan = make_plan<3>(shape, std::array<Strides, 3>{repeated, dense, dense});
  Backend<D>::map(flags.device(), plan, f, Pack<const std::int64_t*, LinearIndex>(places.data(), LinearIndex{}),
                  Pack<std::int64_t*>(coordinates.data()));
  return coordinates;
}

#include <locus/refuse/ops/unique.inc>

}}  // namespace locus::LOCUS_ABI
