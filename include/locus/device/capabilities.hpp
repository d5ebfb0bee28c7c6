#pragma once
// Optional capabilities of a device beside the verbs. Operations test the concepts of this header; on the right, their
// fallback on a device without the capability:
//
//   SumsColumns           for_each_row sums over the rows as well         separate reductions
//   AddsRunningSums       running sums in one pass                        several maps
//   SortingDevice         sorts and selects                               does not compile
//   HistogramDevice       counts                                          does not compile
//   StreamingDevice       queues work in streams, which events order      does not compile
//   CapturingDevice       replays a captured step as one launch           the step runs each time
//
// Fusions for one operation are concepts in a header of its name: linear_fusion.hpp.

#include <locus/device/verbs.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// A device whose for_each_row also sums over the rows, in the same launch.
///
///     Backend<D>::for_each_row(device, rows, cols, f, sums)
///
/// fills the array of two sums and returns true, or does nothing and returns false where separate passes cost less. The
/// team of f(row, team) has team.add(map, x...): it adds the Addends from map(x[c]..., c) to element c of both sums and
/// to the totals of the row, and returns the RowTotals. The order of summation of columns depends on the device, rows,
/// cols and the types alone. The order of summation of totals also depends on the alignment and stride of the rows.
template <class D>
concept SumsColumns = requires(D device, detail::ProbeRows f, const ColumnSum<float>* sums) {
  { Backend<D>::for_each_row(device, std::int64_t{}, std::int64_t{}, f, sums) } -> std::convertible_to<bool>;
};
/// The same for any rows: it returns std::true_type, and operations compile no separate passes.
template <class D>
concept AlwaysSumsColumns = requires(D device, detail::ProbeRows f, const ColumnSum<float>* sums) {
  { Backend<D>::for_each_row(device, std::int64_t{}, std::int64_t{}, f, sums) } -> std::same_as<std::true_type>;
};

/// Running sums on a device; specialize it to add them.
///
///     RunningSums<D>::add(device, in, out, outer, cols, inner, reverse)
///
/// writes to `out` the running sums of `in` along the second extent of (outer, cols, inner), both dense; in reverse,
/// from the end. Integers wrap around.
template <class D>
struct RunningSums;
template <class D>
concept AddsRunningSums = Device<D> && requires(D device, const float* in, float* out, std::int64_t n) {
  RunningSums<D>::add(device, in, out, n, n, n, false);
};

/// Sorting and selecting on a device; specialize it to add them. Results are bitwise equal on every device.
///
///     Sorting<D>::order(device, keys, positions, rows, cols, bits, first)
///
/// sorts every row of a dense (rows, cols) matrix of unsigned keys below 2^bits. `positions` holds 0, 1, 2, ... (over
/// all rows, modulo 2^32) and is permuted with the keys: afterwards the first `first` positions of a row belong to its
/// smallest keys, in order; the sort is stable. The other positions, and the keys, are left in any order. first: 1 to
/// cols, which is at most most_sorted
///
///     Sorting<D>::select(device, flags, n, positions)
///
/// writes the positions of all set flags; `positions` has room for exactly as many.
template <class D>
struct Sorting;
/// Most keys that a row may have: positions within rows have 32 bits.
inline constexpr std::int64_t most_sorted = INT32_MAX;
template <class D>
concept SortingDevice =
    Device<D> && requires(D device, std::uint32_t* keys, const bool* flags, std::int64_t* places, std::int64_t n) {
      Sorting<D>::order(device, keys, keys, n, n, 32, n);
      Sorting<D>::select(device, flags, n, places);
    };

/// Counting on a device; specialize it to add it.
///
///     Histogram<D>::count(device, bins, n, counts, bin_count)
///
/// adds to counts[b] how many of the n numbers in `bins` equal b, for b from 0 to bin_count - 1. Other numbers are
/// ignored.
template <class D>
struct Histogram;
template <class D>
concept HistogramDevice = Device<D> && requires(D device, const std::int32_t* bins, std::int64_t* counts,
                                                std::int64_t n) { Histogram<D>::count(device, bins, n, counts, n); };

// Streams, events and captured steps: see stream.hpp and capture.hpp.
template <class D>
class Event;
template <class D>
class Stream;
template <class D>
concept StreamingDevice = Device<D> && requires(D device, const Stream<D>& stream, const Event<D>& event) {
  Stream<D>(device);
  typename Stream<D>::Current;
  { Stream<D>::current(device) } -> std::same_as<Stream<D>>;
  { stream.device() } -> std::same_as<D>;
  { stream.record() } -> std::same_as<Event<D>>;
  stream.wait(event);
  stream.synchronize();
  event.wait();
  { event.done() } -> std::same_as<bool>;
};

namespace detail {
template <class D>
class StepRunner;
}
template <class D>
concept CapturingDevice = Device<D> && requires { requires detail::StepRunner<D>::captures; };

}}  // namespace locus::LOCUS_ABI
