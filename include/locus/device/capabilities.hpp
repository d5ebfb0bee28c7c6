#pragma once
// What a device may have beside the verbs, all of it optional. Operations ask for a concept of this header; what they
// do on a device without it:
//
//   SumsColumns           for_each_row sums over the rows as well         a reduction beside it
//   SumsFactors           gemm sums a factor that it reads                a reduction beside it
//   KeepsForDerivatives   gemm keeps what a derivative needs              a map beside it
//   AddsRunningSums       running sums by one pass                        several maps
//   SortingDevice         sorts and selects                               does not compile
//   HistogramDevice       counts                                          does not compile
//   StreamingDevice       queues work in streams, which events order      does not compile
//   CapturingDevice       replays a captured step as one launch           the step runs each time

#include <locus/device/verbs.hpp>

namespace locus::inline LOCUS_ABI {

/// A device whose for_each_row also sums over the rows, in the same launch.
///
///     Backend<D>::for_each_row(device, rows, cols, f, sums)
///
/// fills the array of two sums. The team of f(row, team) then has team.add(map, x...), which adds the Addends that
/// map(x[c]..., c) gives to element c of both sums and to the totals of the row, and returns these, RowTotals. The
/// order of summing depends on rows and cols alone.
template <class D>
concept SumsColumns = requires(D device, detail::ProbeRows f, const ColumnSum<float>* sums) {
  Backend<D>::for_each_row(device, std::int64_t{}, std::int64_t{}, f, sums);
};

/// A device whose product also sums the rows of its left factor, in one launch.
///
///     Backend<D>::gemm_and_sums(device, a, b, c, accumulate, sums, sum)
///
/// makes c = a b (+ c where `accumulate`) and sums[i] = sum over k of a(i, k). False, and then nothing happened, where
/// it cannot, or where the product alone and sum(), which launches what writes the sums, are faster.
template <class D>
concept SumsFactors = requires(D device, MatrixRef<const float> a, MatrixRef<float> c, void (*sum)()) {
  { Backend<D>::gemm_and_sums(device, a, a, c, bool{}, c.data, sum) } -> std::same_as<bool>;
};

/// A device whose product with an activation keeps what the activation's derivative needs, and whose product with a
/// DerivativeEpilogue reads that. What it keeps has as many rows as c, of
///
///     Backend<D>::template kept_columns<T>(activation, c.cols)
///
/// elements, 0 where products apply no such derivative: always, unless Backend<D>::template keeps<T, Activation>. Where
/// the derivative follows from the activation's input, that is what is kept, at the beginning of each row.
///
///     Backend<D>::gemm_and_keep(device, a, b, c, epilogue, kept)          c = activation(a b + bias)
///     Backend<D>::gemm_and_column_sums(device, a, b, c, derivative_epilogue, sums, sum)
///
/// The latter also makes sums[j] = sum over i of c(i, j). False, and then nothing happened, where it cannot, or where
/// separate launches are faster: of the product, of its epilogue, and of sum(), which writes the sums.
template <class D>
concept KeepsForDerivatives =
    requires(D device, MatrixRef<const float> a, MatrixRef<float> c, void* kept,
             Epilogue<float, detail::ProbeActivation<float>> epilogue,
             DerivativeEpilogue<float, detail::ProbeActivation<float>> derivative, void (*sum)()) {
      { Backend<D>::template keeps<float, detail::ProbeActivation<float>> } -> std::convertible_to<bool>;
      { Backend<D>::template kept_columns<float>(epilogue.activation, c.cols) } -> std::same_as<std::int64_t>;
      { Backend<D>::gemm_and_keep(device, a, a, c, epilogue, kept) } -> std::same_as<bool>;
      { Backend<D>::gemm_and_column_sums(device, a, a, c, derivative, c.data, sum) } -> std::same_as<bool>;
    };

/// Running sums on a device; specialize it to add them to one.
///
///     RunningSums<D>::add(device, in, out, outer, cols, inner, reverse)
///
/// makes out the running sums of in along the second extent of (outer, cols, inner), both dense; in reverse, from the
/// end. Integers wrap around.
template <class D>
struct RunningSums;
template <class D>
concept AddsRunningSums = Device<D> && requires(D device, const float* in, float* out, std::int64_t n) {
  RunningSums<D>::add(device, in, out, n, n, n, false);
};

/// Sorting and selecting on a device; specialize it to add them to one. Equal on every device, bit for bit.
///
///     Sorting<D>::order(device, keys, positions, rows, cols, bits, first)
///
/// sorts every row of a dense (rows, cols) matrix of unsigned keys below 2^bits. `positions` holds 0, 1, 2, ... (of all
/// rows together, modulo 2^32) and is moved with the keys: afterwards the first `first` positions of a row are those of
/// its smallest keys, in order, equal ones in the order in which they were. The others, and the keys, are left in any
/// order. first: 1 to cols, which is at most most_sorted
///
///     Sorting<D>::select(device, flags, n, positions)
///
/// writes the positions of all flags that are set, of which there are as many as there is room for.
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

/// Counting on a device; specialize it to add it to one.
///
///     Histogram<D>::count(device, bins, n, counts, bin_count)
///
/// adds to counts[b] how many of n numbers are b, for b from 0 to bin_count - 1. Others are left out.
template <class D>
struct Histogram;
template <class D>
concept HistogramDevice = Device<D> && requires(D device, const std::int32_t* bins, std::int64_t* counts,
                                                std::int64_t n) { Histogram<D>::count(device, bins, n, counts, n); };

// Streams, events and captured steps: stream.hpp and capture.hpp say what they are.
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

}  // namespace locus::inline LOCUS_ABI
