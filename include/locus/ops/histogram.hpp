#pragma once
// Counts of elements by value: histogram, bincount. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/cpu/histogram.hpp>
#include <locus/cuda/histogram.hpp>
#include <locus/ops/extreme.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {

/// Most bins that are counted at once.
inline constexpr std::int64_t most_bins = INT32_MAX - 1;

/// The bin of an element, as torch.histc finds it; -1 outside.
template <class T>
struct BinOfElement {
  using R = std::conditional_t<std::is_same_v<compute_t<T>, float>, float, double>;
  R low, high, bins;
  std::int32_t last;
  LOCUS_FN void operator()(compute_t<T> x, std::int32_t& bin) const {
    const R value = static_cast<R>(x);
    bin = -1;
    if (!(value >= low && value <= high)) return;
    const R place = (value - low) * bins / (high - low);  // may be 2^31
    bin = place < static_cast<R>(last) ? static_cast<std::int32_t>(place) : last;
  }
};

/// counts[b] = how many of the numbers are b
template <class D>
[[nodiscard]] Tensor<std::int64_t, D> count_bins(const Tensor<std::int32_t, D>& bins, std::int64_t bin_count) {
  const Tensor<std::int64_t, D> counts({bin_count}, bins.device());
  counts.fill_(0);
  if (!bins.empty()) Histogram<D>::count(bins.device(), bins.data(), bins.elements(), counts.data(), bin_count);
  return counts;
}

template <class X>
concept CountedOperand = Operand<X> && HistogramDevice<device_of<X>> && !ComplexDType<value_of<X>>;
template <class X>
concept IntegerOperand = CountedOperand<X> && IntegerDType<value_of<X>>;

}  // namespace detail

/// Counts the elements in each of `bins` equal parts of low ... high: torch.histc, as int64. A bin's upper end belongs
/// to the next bin; the last bin includes its own. Elements outside, and NaN, are not counted. Bins are found in float
/// (double for double and integers), so that an element close to an end may count beyond it.
/// shape: any -> (bins,)     cost: two launches and the device's count
/// throws ArgumentError unless bins is 1 to 2^31 - 2 and low < high, both finite
template <detail::CountedOperand X>
[[nodiscard]] auto histogram(const X& x, std::int64_t bins, double low, double high) {
  using D = device_of<X>;
  using Bin = detail::BinOfElement<value_of<X>>;
  using R = typename Bin::R;
  if (bins < 1 || bins > detail::most_bins)
    fail<ArgumentError>({"histogram: ", bins, " bins; expected 1 to ", detail::most_bins});
  const R first = static_cast<R>(low), last = static_cast<R>(high), count = static_cast<R>(bins);
  if (!(first < last) || !__builtin_isfinite((last - first) * count)) {
    fail<ArgumentError>({"histogram: ", bins, " bins from ", low, " to ", high,
                         "; expected low < high, both finite, and their distance times the bins too"});
  }
  const Tensor<value_of<X>, D> given = x.value();
  const Tensor<std::int32_t, D> found(given.shape(), given.device());
  const auto plan = make_plan<2>(given.shape(), {detail::operand_of(given), detail::operand_of(found)});
  Backend<D>::map(given.device(), plan, Bin{first, last, count, static_cast<std::int32_t>(bins - 1)},
                  Pack<const value_of<X>*>(given.data()), Pack<std::int32_t*>(found.data()));
  return detail::count_bins(found, bins);
}

/// Counts each of the integers 0, 1, ... up to the largest element, but at least `minlength` of them: torch.bincount,
/// as int64.
/// shape: (n,) -> (max(x) + 1 or minlength,)
/// cost:  four launches, for int32 three, and the device's count; waits for the device, so it cannot be part of a CUDA
///        graph
/// throws ShapeError unless x is a list; ArgumentError for a negative element, one of 2^31 - 2 or more, or
/// minlength < 0
template <detail::IntegerOperand X>
[[nodiscard]] auto bincount(const X& x, std::int64_t minlength = 0) {
  using D = device_of<X>;
  const Tensor<value_of<X>, D> given = x.value();
  if (given.rank() != 1) fail<ShapeError>({"bincount: a tensor of shape ", given.shape(), "; expected a list"});
  if (minlength < 0 || minlength > detail::most_bins)
    fail<ArgumentError>({"bincount: minlength is ", minlength, "; expected 0 to ", detail::most_bins});
  std::int64_t count = minlength;
  if (!given.empty()) {
    const auto least = static_cast<std::int64_t>(min(given).item());
    const auto most = static_cast<std::int64_t>(max(given).item());
    if (least < 0 || most >= detail::most_bins) {
      fail<ArgumentError>({"bincount: elements from ", least, " to ", most, "; expected 0 to ", detail::most_bins - 1});
    }
    count = detail::larger(count, most + 1);
  }
  return detail::count_bins(given.template as<std::int32_t>().contiguous(), count);
}

#include <locus/refuse/ops/histogram.inc>

}}  // namespace locus::LOCUS_ABI
