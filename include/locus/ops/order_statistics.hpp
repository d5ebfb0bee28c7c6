#pragma once
// Median, quantile, k-th smallest and most frequent element of rows. Not part of locus/locus.hpp: nvcc takes five
// seconds more for it, and in its files `cuda::` must be written locus::cuda:: (see cuda/sorting.hpp).

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/expr/elementwise.hpp>
#include <locus/expr/functions/special.hpp>
#include <locus/ops/cumulative.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/sort.hpp>

#include <vector>

namespace locus { inline namespace LOCUS_ABI {

/// The quantile between two elements: linear, as far from the lower element as the quantile is; the lower or the higher
/// element; the nearest, of equal distances the one of even rank; or their mean.
enum class Interpolation : std::uint8_t { linear, lower, higher, nearest, midpoint };

namespace detail {

/// The index of an element; the index of the last element in order if that element is NaN.
struct UnlessNaN {
  template <class R>
  LOCUS_FN std::int64_t operator()(R last, std::int64_t index, std::int64_t of_last) const {
    return last == last ? index : of_last;
  }
};

/// Sorted rows, whose elements are taken by rank. A row with NaN has NaN at every rank.
template <class T, class D>
class OrderedRows {
 public:
  OrderedRows(const char* name, const Tensor<T, D>& x, int axis) : x_(x), along_(normalize_axis(axis, x.rank(), name)) {
    if (extent() == 0)
      fail<ShapeError>({name, ": a tensor of shape ", x.shape(), " has no elements along axis ", along_});
    order_ = argsort(x, along_);
    if constexpr (FloatingDType<T>) {
      of_last_ = order_.slice(along_, extent() - 1);
      const Tensor<T, D> last = operation::Gather{along_}.forward(x, of_last_).output;
      last_ = last;
    }
  }
  [[nodiscard]] std::int64_t extent() const { return x_.size(along_); }
  [[nodiscard]] int along() const { return along_; }
  /// The positions of the elements of a rank: extent 1 along the axis.
  [[nodiscard]] Tensor<std::int64_t, D> at(std::int64_t rank, bool nan_wins) const {
    const auto index = order_.slice(along_, rank, rank + 1);
    if constexpr (FloatingDType<T>) {
      if (nan_wins) {
        const Tensor<std::int64_t, D> result(index.shape(), index.device());
        map_into(result, UnlessNaN{}, last_, index, of_last_);
        return result;
      }
    }
    return index.contiguous();
  }

 private:
  Tensor<T, D> x_, last_;
  int along_;
  Tensor<std::int64_t, D> order_, of_last_;
};
template <class T, class D>
OrderedRows(const char*, const Tensor<T, D>&, int) -> OrderedRows<T, D>;

/// Two ranks, and the weight of the second in the quantile.
struct QuantilePlace {
  std::int64_t low, high;
  double weight = 0;
  LOCUS_OUT_OF_LINE QuantilePlace(double q, std::int64_t extent, Interpolation how) {
    if (!(q >= 0 && q <= 1)) fail<ArgumentError>({"quantile: q = ", q, "; expected 0 to 1"});
    const double place = q * static_cast<double>(extent - 1);
    low = static_cast<std::int64_t>(place);
    high = smaller(low + (place > static_cast<double>(low) ? 1 : 0), extent - 1);
    const double rest = place - static_cast<double>(low);
    if (how == Interpolation::lower || low == high) high = low;
    else if (how == Interpolation::higher) low = high;
    else if (how == Interpolation::nearest) low = high = rest > 0.5 || (rest == 0.5 && low % 2 == 1) ? high : low;
    else weight = how == Interpolation::midpoint ? 0.5 : rest;
  }
};

/// Interpolates from a to b; exact at both ends, and where both are the same infinity.
struct Between {
  double weight;
  static constexpr unsigned reads(int) { return 0; }
  template <class R>
  LOCUS_FN R operator()(R a, R b) const {
    if (a == b) return a;
    return functor::Lerp::between(a, b, static_cast<R>(weight), static_cast<R>(1 - weight));
  }
  template <class R>
  LOCUS_FN Pack<R, R> by_inputs(R, R) const {
    return {static_cast<R>(1 - weight), static_cast<R>(weight)};
  }
};

template <class X, class T, class D>
[[nodiscard]] auto quantile_of(const X& x, const OrderedRows<T, D>& ranks, double q, bool keepdim, Interpolation how) {
  const QuantilePlace place(q, ranks.extent(), how);
  const auto low = picked_along(x, ranks.at(place.low, true), ranks.along(), keepdim).values;
  if (place.low == place.high) return low;
  const auto high = picked_along(x, ranks.at(place.high, true), ranks.along(), keepdim).values;
  using Result = std::remove_cvref_t<decltype(low)>;
  return Result(elementwise(Between{place.weight}, low, high));
}

/// The rank of an element of a sorted row if a run of equal elements begins there, else 0.
template <class T>
struct BeginOfRun {
  const T* sorted;
  std::int64_t cols, inner;
  LOCUS_FN void operator()(std::int64_t at, std::int64_t& begin) const {
    const std::int64_t rank = (inner == 1 ? at : at / inner) % cols;
    const bool begins = rank == 0 || load_as_register(sorted[at]) != load_as_register(sorted[at - inner]);
    begin = begins ? rank : 0;
  }
};
struct LengthSoFar {
  std::int64_t cols, inner;
  LOCUS_FN void operator()(std::int64_t begin, std::int64_t at, std::int64_t& length) const {
    length = (inner == 1 ? at : at / inner) % cols - begin + 1;
  }
};

/// The position of the last of the most frequent elements of each row: extent 1 along the axis.
template <class T, class D>
[[nodiscard]] Tensor<std::int64_t, D> most_frequent(const Tensor<T, D>& x, int along) {
  const auto [sorted, order] = sort(x, along);
  const RowCount count(x.shape(), along);
  const Tensor<std::int64_t, D> begins(x.shape(), x.device()), lengths(x.shape(), x.device());
  const auto by_place = make_plan<2>(x.shape(), {operand_of(begins), operand_of(begins)});
  Backend<D>::map(x.device(), by_place, BeginOfRun<T>{sorted.data(), count.cols, count.inner},
                  Pack<LinearIndex>(LinearIndex{}), Pack<std::int64_t*>(begins.data()));
  const auto runs = scan<functor::Maximum>(begins, along, false);
  const auto plan = make_plan<3>(x.shape(), {operand_of(runs), operand_of(runs), operand_of(lengths)});
  Backend<D>::map(x.device(), plan, LengthSoFar{count.cols, count.inner},
                  Pack<const std::int64_t*, LinearIndex>(runs.data(), LinearIndex{}),
                  Pack<std::int64_t*>(lengths.data()));
  return operation::Gather{along}.forward(order, argmax(lengths, along, true)).output;
}

template <class X>
concept RankedOperand = SortOperand<X> && !IsParameter<X>;

}  // namespace detail

/// The k-th smallest element along an axis, the first for k = 1, and its position: torch.kthvalue. NaN is largest.
/// shape: without the axis, or 1 along it if keepdim, both     gradient: for the values, g at their positions
/// cost:  as argsort, and three launches
/// throws ArgumentError unless k is 1 to n; ShapeError over no elements; otherwise as sort
template <detail::RankedOperand X>
[[nodiscard]] auto kthvalue(const X& x, std::int64_t k, int axis = -1, bool keepdim = false) {
  const detail::OrderedRows ranks("kthvalue", x.eval().value(), axis);
  if (k < 1 || k > ranks.extent())
    fail<ArgumentError>(
        {"kthvalue: k is ", k, " for a tensor of shape ", x.shape(), "; expected 1 to ", ranks.extent()});
  return detail::picked_along(x, ranks.at(k - 1, false), ranks.along(), keepdim);
}

/// The median along an axis, of two the lower as in PyTorch, and its position; NaN if any element is NaN. NumPy's
/// median, the mean of both, is quantile(x, 0.5, axis). Otherwise as kthvalue.
///
///     auto [values, indices] = median(x, 1);
template <detail::RankedOperand X>
[[nodiscard]] auto median(const X& x, int axis = -1, bool keepdim = false) {
  const detail::OrderedRows ranks("median", x.eval().value(), axis);
  return detail::picked_along(x, ranks.at((ranks.extent() - 1) / 2, true), ranks.along(), keepdim);
}

/// The most frequent element along an axis, of several the smallest, and the position of its last occurrence. NaN
/// equals nothing. Otherwise as kthvalue, at five more launches and a scan.
template <detail::RankedOperand X>
[[nodiscard]] auto mode(const X& x, int axis = -1, bool keepdim = false) {
  const auto& value = x.eval().value();
  const int along = normalize_axis(axis, value.rank(), "mode");
  if (value.size(along) == 0)
    fail<ShapeError>({"mode: a tensor of shape ", value.shape(), " has no elements along axis ", along});
  return detail::picked_along(x, detail::most_frequent(value, along), along, keepdim);
}

/// The q-quantile of the elements along an axis, for q from 0 to 1, between two of them as `how` says; NaN if any
/// element is NaN: numpy.quantile. Without an axis, of all elements.
/// shape: without the axis, or 1 along it if keepdim; of a list of q, which share the sort, (list, ...)
/// gradient: g, in parts to the two elements
/// cost:  as argsort, and seven launches for each q
/// throws ArgumentError for another q; otherwise as kthvalue
///
///     auto middle = quantile(x, 0.5, 1);
template <detail::RankedOperand X>
  requires FloatingDType<value_of<X>>
[[nodiscard]] auto quantile(const X& x, double q, int axis, bool keepdim = false,
                            Interpolation how = Interpolation::linear) {
  return detail::quantile_of(x, detail::OrderedRows("quantile", x.eval().value(), axis), q, keepdim, how);
}
template <detail::RankedOperand X>
  requires FloatingDType<value_of<X>>
[[nodiscard]] auto quantile(const X& x, double q) {
  return quantile(reshape(x, {inferred}), q, 0);
}
template <detail::RankedOperand X>
  requires FloatingDType<value_of<X>>
[[nodiscard]] auto quantile(const X& x, const std::vector<double>& q, int axis, bool keepdim = false,
                            Interpolation how = Interpolation::linear) {
  const detail::OrderedRows ranks("quantile", x.eval().value(), axis);
  std::vector<decltype(detail::quantile_of(x, ranks, 0.0, keepdim, how))> each;
  for (const double part : q) each.push_back(detail::quantile_of(x, ranks, part, keepdim, how));
  return stack(each);
}

#include <locus/refuse/ops/order_statistics.inc>

}}  // namespace locus::LOCUS_ABI
