#pragma once
// Where values belong among sorted ones: searchsorted, bucketize.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/rows.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// How many of a row of sorted numbers are below x, or with `right` not above it. NaN is above all numbers.
template <class T>
struct CountBelow {
  using R = compute_t<T>;
  const T* sorted;
  std::int64_t length, values_per_row;
  bool right;
  LOCUS_FN void operator()(R x, std::int64_t at, std::int64_t& place) const {
    const T* const row = sorted + (values_per_row == 0 ? 0 : at / values_per_row * length);
    std::int64_t low = 0, high = length;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const R m = load_as_register(row[middle]);
      if (right ? !is_less(x, m) : is_less(m, x)) low = middle + 1;
      else high = middle;
    }
    place = low;
  }

 private:
  LOCUS_FN static bool is_less(R a, R b) { return a < b || (b != b && a == a); }
};

/// Numbers alone, for results that have no derivative.
template <class T, class D>
[[nodiscard]] Tensor<primal_t<T>, D> without_tangents(const Tensor<T, D>& x) {
  return x.template as<primal_t<T>>();
}

/// throws ShapeError unless sorted is one row, or has a row for each of the values'
LOCUS_OUT_OF_LINE inline void require_rows(std::string_view name, const Shape& sorted, const Shape& values) {
  bool fits = sorted.rank() == 1 || (sorted.rank() > 1 && sorted.rank() == values.rank());
  for (int d = 0; fits && sorted.rank() > 1 && d + 1 < sorted.rank(); ++d) fits = sorted[d] == values[d];
  if (!fits) {
    fail<ShapeError>({name, ": sorted numbers of shape ", sorted, " for values of shape ", values,
                      "; expected one row of them, or rows like those of the values"});
  }
}

template <class T, class D>
[[nodiscard]] Tensor<std::int64_t, D> places_among(std::string_view name, const Tensor<T, D>& given,
                                                   const Tensor<T, D>& values, bool right) {
  require_same_ordinal(name, given, values);
  require_rows(name, given.shape(), values.shape());
  const Tensor<T, D> sorted = given.contiguous();
  const Tensor<std::int64_t, D> places(values.shape(), values.device());
  const auto plan = make_plan<3>(values.shape(), {operand_of(values), operand_of(places), operand_of(places)});
  const std::int64_t per_row = sorted.rank() == 1 || values.empty() ? 0 : values.size(-1);
  Backend<D>::map(values.device(), plan, CountBelow<T>{sorted.data(), sorted.size(-1), per_row, right},
                  Pack<const T*, LinearIndex>(values.data(), LinearIndex{}), Pack<std::int64_t*>(places.data()));
  return places;
}

template <class X, class Y>
concept AlikeOperands = TensorLike<X> && TensorLike<Y> && Computes<X> && SameDevice<X, Y> &&
                        std::is_same_v<primal_t<value_of<X>>, primal_t<value_of<Y>>> && !ComplexDType<value_of<X>>;

template <class X, class V>
concept SearchedForANumber = TensorLike<X> && Computes<X> && ScalarFits<V, value_of<X>> && !ComplexDType<value_of<X>>;
template <class X, class V>
[[nodiscard]] auto number_beside(std::string_view name, const X& x, V value) {
  using T = value_of<X>;
  require_fits<T>(name, value, "; convert the tensor first, by x.as<std::int64_t>()");
  return Tensor<T, device_of<X>>({}, x.device()).fill_(convert<T>(value));
}
}  // namespace detail

/// For each value its insertion point among numbers in ascending order: before equal ones, or with `right` after them.
/// numpy.searchsorted. NaN counts as largest. Plain, of int64. Whether the numbers are sorted is not checked.
/// shape: (n,), (...) -> (...), or, row by row, (..., n), (..., m) -> (..., m)
/// cost:  one launch     throws ShapeError
///
///     auto places = searchsorted(from({1, 3, 5}), from({3, 6}));   // 1 3
template <class X, class V>
  requires detail::AlikeOperands<X, V>
[[nodiscard]] auto searchsorted(const X& sorted, const V& values, bool right = false) {
  return detail::places_among("searchsorted", detail::without_tangents(sorted.eval().value()),
                              detail::without_tangents(values.eval().value()), right);
}

/// The place of one number, as a tensor of no dimensions: searchsorted(sorted, 3.f).
/// cost: two launches     throws ShapeError unless sorted has one dimension; ArgumentError for an integer that its
/// element type cannot hold
template <class X, class V>
  requires detail::SearchedForANumber<X, V>
[[nodiscard]] auto searchsorted(const X& sorted, V value, bool right = false) {
  return searchsorted(sorted, detail::number_beside("searchsorted", sorted, value), right);
}

/// Which bucket each value is in, given their sorted boundaries: torch.bucketize. Bucket i ends with boundary i, which
/// belongs to it, or with `right` to the next one. As searchsorted otherwise.
template <class V, class X>
  requires detail::AlikeOperands<V, X>
[[nodiscard]] auto bucketize(const V& values, const X& boundaries, bool right = false) {
  if (boundaries.shape().rank() != 1) {
    fail<ShapeError>({"bucketize: boundaries of shape ", boundaries.shape(), "; expected a list, of one dimension"});
  }
  return detail::places_among("bucketize", detail::without_tangents(boundaries.eval().value()),
                              detail::without_tangents(values.eval().value()), right);
}

/// The bucket of one number, as a tensor of no dimensions.
template <class V, class X>
  requires detail::SearchedForANumber<X, V>
[[nodiscard]] auto bucketize(V value, const X& boundaries, bool right = false) {
  return bucketize(detail::number_beside("bucketize", boundaries, value), boundaries, right);
}

#include <locus/refuse/ops/search.inc>

}}  // namespace locus::LOCUS_ABI
