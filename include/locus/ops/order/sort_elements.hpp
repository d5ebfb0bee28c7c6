#pragma once
// The launches around a device's sort: keys of elements, and elements picked in sorted order.

#include <locus/cpu/sorting.hpp>
#include <locus/cuda/sorting.hpp>
#include <locus/ops/rows.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace detail {

/// Elements as unsigned numbers below 2^bits in the same order: -0 equals 0, and all NaN are equal, above infinity.
template <class T>
struct SortKey {
  static constexpr int bits = std::is_same_v<T, bool> ? 1 : 8 * static_cast<int>(sizeof(T));
  using type = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  /// The type that a launch loads: the bits of 16-bit floats, which it does not treat as numbers.
  using Stored = std::conditional_t<is_16_bit_float<T>, std::uint16_t, T>;

  static constexpr type largest = static_cast<type>(~std::uint64_t{0} >> (64 - bits));
  static constexpr type sign = static_cast<type>(std::uint64_t{1} << (bits - 1));

  [[nodiscard]] LOCUS_FN static type of(Stored x) {
    if constexpr (std::is_unsigned_v<T>) return x;
    else if constexpr (std::is_integral_v<T>)
      return (static_cast<type>(x) ^ sign) & largest;  // of a short type, its bits
    else if constexpr (is_16_bit_float<T>) return of_float(x);
    else return of_float(__builtin_bit_cast(type, x));
  }

 private:
  static constexpr type infinity = std::is_same_v<T, double>  ? static_cast<type>(0x7ff0000000000000u)
                                   : std::is_same_v<T, half>  ? static_cast<type>(0x7c00u)
                                   : std::is_same_v<T, float> ? static_cast<type>(0x7f800000u)
                                                              : static_cast<type>(0x7f80u);
  /// Magnitudes order as integers do; negative numbers reverse the order.
  [[nodiscard]] LOCUS_FN static type of_float(type x) {
    const type magnitude = x & (sign - 1);
    if (magnitude > infinity) return largest;
    if (magnitude == 0) return sign;
    return (x & sign) != 0 ? x ^ largest : x | sign;
  }
};
/// Duals are ordered by their values.
template <class R>
struct SortKey<Dual<R>> : SortKey<R> {
  using Stored = Dual<R>;
  [[nodiscard]] LOCUS_FN static typename SortKey<R>::type of(const Stored& x) { return SortKey<R>::of(x.value); }
};
template <class T>
using sort_key_t = typename SortKey<T>::type;

/// The key of every element, inverted for descending order, which keeps the sort stable.
template <class T>
struct KeyElement {
  sort_key_t<T> inverted;
  LOCUS_FN void operator()(typename SortKey<T>::Stored x, std::int64_t at, sort_key_t<T>& key,
                           std::uint32_t& position) const {
    key = SortKey<T>::of(x) ^ inverted;
    position = static_cast<std::uint32_t>(at);
  }
};

/// The place within its row, of `cols` elements, of a position counted over all rows.
[[nodiscard]] LOCUS_FN std::int64_t place_in_row(std::uint32_t position, std::int64_t row, std::int64_t cols) {
  return static_cast<std::uint32_t>(position - static_cast<std::uint32_t>(row * cols));
}

/// The first `first` elements of each row in order, and their positions.
template <class T>
struct PickInOrder {
  Rows<const T> x;
  std::int64_t cols, first;
  LOCUS_FN void operator()(std::uint32_t position, std::int64_t at, compute_t<T>& value, std::int64_t& index) const {
    const std::int64_t row = at / first;
    index = place_in_row(position, row, cols);
    value = load_as_register(x.row(row)[index * x.stride]);
  }
};
struct PlaceInOrder {
  std::int64_t cols;
  LOCUS_FN void operator()(std::uint32_t position, std::int64_t at, std::int64_t& index) const {
    index = place_in_row(position, at / cols, cols);
  }
};

/// dx(row, index) = g, or is increased by g. No two threads write to one place: the indices of a row differ.
template <class T>
struct ScatterElement {
  Rows<T> dx;
  std::int64_t first;
  bool accumulate;
  LOCUS_FN void operator()(std::int64_t index, compute_t<T> g, std::int64_t at) const {
    T& target = dx.row(at / first)[index * dx.stride];
    target = from_register<T>(accumulate ? load_as_register(target) + g : g);
  }
};

/// Rows that are sorted: the axis, and how many elements of each are wanted.
struct SortedRows {
  int axis;
  std::int64_t first;
  bool descending;

  /// throws IndexError for an axis out of range, ArgumentError for rows too long to sort. A scalar is a row of one.
  LOCUS_OUT_OF_LINE SortedRows(const char* name, const Shape& shape, int dim, bool from_the_largest)
      : axis(normalize_axis(dim, shape.rank() > 0 ? shape.rank() : 1, name)),
        first(shape.rank() > 0 ? shape[axis] : 1),
        descending(from_the_largest) {
    if (first > most_sorted) {
      fail<ArgumentError>({name, ": rows of ", first, " elements along axis ", axis, "; expected at most ", most_sorted,
                           ": sort parts of them"});
    }
  }
  [[nodiscard]] Shape result(Shape shape) const {
    if (shape.rank() > 0) shape[axis] = first;
    return shape;
  }
};

template <class T, class D>
[[nodiscard]] Tensor<T, D> at_least_a_row(const Tensor<T, D>& x) {
  return x.rank() > 0 ? x : x.reshape({1});
}

/// Positions, counted over all rows, of the elements of x (outer, cols, inner) in the wanted order, as (outer, inner,
/// cols). Only the first positions of each row count. One launch and the device's sort.
template <class T, class D>
[[nodiscard]] Buffer<D> positions_in_order(const Tensor<T, D>& x, const SortedRows& wanted) {
  using Key = SortKey<T>;
  using Stored = typename Key::Stored;
  const std::int64_t n = x.elements(), cols = x.size(1);
  const Tensor<T, D> by_row = x.transpose(1, 2);
  const Strides dense = row_major(by_row.shape());
  const Buffer<D> keys(x.device(), static_cast<std::size_t>(n) * sizeof(sort_key_t<T>));
  const Buffer<D> positions(x.device(), static_cast<std::size_t>(n) * sizeof(std::uint32_t));
  auto* const key = static_cast<sort_key_t<T>*>(keys.data());
  auto* const position = static_cast<std::uint32_t*>(positions.data());
  const PlanOperand written{nullptr, &dense};
  const auto plan = make_plan<4>(by_row.shape(), {operand_of(by_row), written, written, written});
  Backend<D>::map(x.device(), plan, KeyElement<T>{wanted.descending ? Key::largest : sort_key_t<T>{0}},
                  Pack<const Stored*, LinearIndex>(reinterpret_cast<const Stored*>(x.data()), LinearIndex{}),
                  Pack<sort_key_t<T>*, std::uint32_t*>(key, position));
  Sorting<D>::order(x.device(), key, position, n / cols, cols, Key::bits, wanted.first);
  return positions;
}

/// The plan of a launch over (outer, inner, first) that reads the positions of rows of `cols` and its own index, and
/// writes tensors of shape (outer, first, inner).
template <int N>
[[nodiscard]] LOCUS_OUT_OF_LINE Plan<N> plan_in_order(std::int64_t outer, std::int64_t inner, std::int64_t cols,
                                                      std::int64_t first) {
  const Strides read{inner * cols, cols, 1}, index{inner * first, first, 1}, written{first * inner, 1, inner};
  std::array<PlanOperand, N> operands;
  for (auto& operand : operands) operand.strides = &written;
  operands[0].strides = &read;
  operands[1].strides = &index;
  return make_plan<N>({outer, inner, first}, operands);
}

}}}  // namespace locus::LOCUS_ABI::detail
