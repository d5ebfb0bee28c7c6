#pragma once
// Depthwise convolutions of channels-last floats: sixteen channels lie side by side already, so that windows are read
// and results written in place. Results whose windows have the same taps inside the image are computed together. One
// thread computes each result, in an order that depends on the shape alone.

#include <locus/cpu/conv/depthwise_kernels.hpp>
#include <locus/cpu/conv/direct_axis.hpp>
#include <locus/cpu/conv/pass.hpp>
#include <locus/cpu/threads/parallel.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Results of a dimension, axis.step() apart, whose taps [begin, end) of their class lie inside the image.
struct TapRun {
  std::int64_t first, count;
  int of_class, begin, end;
};
/// Calls f(run) for all results in [begin, end).
template <class F>
void for_each_tap_run(const DirectAxis& axis, std::int64_t begin, std::int64_t end, const F& f) {
  const auto taps_of = [&](std::int64_t result, int of_class) {
    TapRun run{result, 1, of_class, 0, axis.taps(of_class)};
    const auto is_inside = [&](int i) {
      const std::int64_t at = axis.origin(result) + axis.offset(i) - axis.border();
      return at >= 0 && at < axis.given();
    };
    while (run.begin < run.end && !is_inside(run.begin)) ++run.begin;
    while (run.begin < run.end && !is_inside(run.end - 1)) --run.end;
    return run;
  };
  for (int c = 0; c < axis.classes(); ++c) {
    const std::int64_t past = (begin + axis.step() - axis.first(c)) % axis.step();
    std::int64_t result = past == 0 ? begin : begin + axis.step() - past;
    if (result >= end) continue;
    TapRun run = taps_of(result, c);
    for (result += axis.step(); result < end; result += axis.step()) {
      const TapRun next = taps_of(result, c);
      if (next.begin == run.begin && next.end == run.end) {
        ++run.count;
        continue;
      }
      f(run);
      run = next;
    }
    f(run);
  }
}

/// Whether sixteen channels of each position are aligned, whole, and neighbours.
[[nodiscard]] inline bool has_aligned_lanes(const ConvImages<const float>& x, std::int64_t channels) {
  const auto& stride = x.stride;
  return stride[1] == 1 && (stride[0] | stride[3] | stride[4] | channels) % depthwise_lanes == 0 &&
         reinterpret_cast<std::uintptr_t>(x.data) % (depthwise_lanes * sizeof(float)) == 0;
}
[[nodiscard]] inline ConvImages<const float> read_only(const ConvImages<float>& y) {
  return {y.data, {y.stride[0], y.stride[1], y.stride[2], y.stride[3], y.stride[4]}};
}

/// Windows of some rows and columns.
struct InPlaceWindows {
  DirectAxis rows, cols;
  const ConvImages<const float>& x;
  const ConvImages<const float>& results;

  /// The element of the first tap that is inside the image.
  [[nodiscard]] const float* begin(const TapRun& row, const TapRun& col, std::int64_t image,
                                   std::int64_t channel) const {
    return x.at(image, channel, rows.origin(row.first) + rows.offset(row.begin) - rows.border(),
                cols.origin(col.first) + cols.offset(col.begin) - cols.border());
  }
  [[nodiscard]] LaneWindows of(const TapRun& row, const TapRun& col, LaneTap* taps) const {
    LaneWindows windows{taps,
                        0,
                        row.count,
                        col.count,
                        rows.origin_step() * x.stride[3],
                        cols.origin_step() * x.stride[4],
                        rows.step() * results.stride[3],
                        cols.step() * results.stride[4]};
    for (int i = row.begin; i < row.end; ++i)
      for (int j = col.begin; j < col.end; ++j)
        taps[windows.tap_count++] = {
            (rows.offset(i) - rows.offset(row.begin)) * x.stride[3] +
                (cols.offset(j) - cols.offset(col.begin)) * x.stride[4],
            (rows.tap(row.of_class, i) * std::int64_t{cols.axis.kernel} + cols.tap(col.of_class, j)) * depthwise_lanes};
    return windows;
  }
};

/// The value of a depthwise convolution, or the gradient of its input.
class DepthwiseInPlace {
 public:
  DepthwiseInPlace(const ConvShape& shape, const ConvImages<const float>& x, const float* w, const float* bias,
                   const ConvImages<float>& y, bool adds, bool adjoint)
      : kernels_(*kernels_in_use<float>()),
        shape_(shape),
        rows_{shape.axis[1], adjoint},
        cols_{shape.axis[2], adjoint},
        x_(x),
        w_(w),
        bias_(bias),
        y_(y),
        adds_(adds) {}

  [[nodiscard]] bool fits() const {
    return shape_.in == shape_.groups && shape_.out == shape_.groups && has_aligned_lanes(x_, shape_.groups) &&
           has_aligned_lanes(read_only(y_), shape_.groups) && !(adds_ && bias_);
  }
  void run() const {
    using locus::detail::larger, locus::detail::smaller;
    const std::int64_t taps = shape_.taps(), strips = shape_.groups / depthwise_lanes, results = rows_.results();
    ConvScratch& scratch = of_this_thread<ConvScratch>();
    float* const weights = scratch.weights.reserve<float>(strips * taps * depthwise_lanes);
    for (std::int64_t strip = 0; strip < strips; ++strip)
      to_lanes(kernels_, w_ + strip * depthwise_lanes * taps, taps, depthwise_lanes, taps,
               weights + strip * taps * depthwise_lanes, depthwise_lanes);
    float* const bias = scratch.products.reserve<float>(shape_.groups);  // aligned
    for (std::int64_t channel = 0; channel < shape_.groups; ++channel) bias[channel] = bias_ ? bias_[channel] : 0.f;
    const std::int64_t most = larger(block_elements / (cols_.results() * shape_.groups), std::int64_t{1});
    const std::int64_t parts = ceil_div(results, most), block = ceil_div(results, parts);
    parallel_for(shape_.batch * parts, [&](std::int64_t task) {
      const std::int64_t begin = task % parts * block;
      compute(weights, adds_ ? nullptr : bias, task / parts, begin, smaller(begin + block, results));
    });
  }

 private:
  static constexpr std::int64_t block_elements = 1 << 15, long_row = 1 << 12;

  void compute(const float* weights, const float* bias, std::int64_t image, std::int64_t begin,
               std::int64_t end) const {
    LaneTap* const listed = of_this_thread<ConvScratch>().taps.reserve<LaneTap>(shape_.taps());
    const ConvImages<const float> results = read_only(y_);
    const DepthwiseKernels& kernels = depthwise_kernels(kernels_);
    const InPlaceWindows all{rows_, cols_, x_, results};
    for_each_tap_run(rows_, begin, end, [&](const TapRun& row) {
      for_each_tap_run(cols_, 0, cols_.results(), [&](const TapRun& col) {
        LaneWindows windows = all.of(row, col, listed);
        windows.strips = shape_.groups / depthwise_lanes, windows.strip_weights = shape_.taps() * depthwise_lanes;
        windows.in_order = rows_.axis.stride == 1 && x_.stride[3] > long_row;
        kernels.add_windows(windows, windows.tap_count == 0 ? x_.data : all.begin(row, col, image, 0), weights, bias,
                            y_.at(image, 0, row.first, col.first));
      });
    });
  }

  const KernelSet<float>& kernels_;
  ConvShape shape_;
  DirectAxis rows_, cols_;
  ConvImages<const float> x_;
  const float *w_, *bias_;
  ConvImages<float> y_;
  bool adds_;
};

/// dw (out, 1, taps) (+)= the windows of x times g: sums of a few hundred windows in float, of all in double.
class DepthwiseInPlaceGradient {
 public:
  DepthwiseInPlaceGradient(const ConvShape& shape, const ConvImages<const float>& g, const ConvImages<const float>& x,
                           float* dw, bool adds)
      : kernels_(*kernels_in_use<float>()), shape_(shape), g_(g), x_(x), dw_(dw), adds_(adds) {}

  [[nodiscard]] bool fits() const {
    return shape_.in == shape_.groups && shape_.out == shape_.groups && has_aligned_lanes(x_, shape_.groups) &&
           has_aligned_lanes(g_, shape_.groups) && of_chunks() * sizeof(double) <= most_scratch;
  }
  void run() const {
    const std::int64_t sums_of_chunk = shape_.groups * shape_.taps(), chunks = this->chunks();
    double* const sums = of_this_thread<ConvScratch>().gradient.reserve<double>(chunks * sums_of_chunk);
    parallel_for(chunks, [&](std::int64_t chunk) {
      double* const to = sums + chunk * sums_of_chunk;
      for (std::int64_t i = 0; i < sums_of_chunk; ++i) to[i] = 0;
      for (std::int64_t image = shape_.batch * chunk / chunks; image < shape_.batch * (chunk + 1) / chunks; ++image)
        add(image, to);
    });
    for (std::int64_t channel = 0; channel < shape_.groups; ++channel)
      for (std::int64_t t = 0; t < shape_.taps(); ++t) {
        const std::int64_t strip = channel / depthwise_lanes, lane = channel % depthwise_lanes;
        double all = 0;
        for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
          all += sums[chunk * sums_of_chunk + (strip * shape_.taps() + t) * depthwise_lanes + lane];
        float& to = dw_[channel * shape_.taps() + t];
        to = static_cast<float>(adds_ ? all + static_cast<double>(to) : all);
      }
  }

 private:
  static constexpr std::int64_t most_chunks = 16;    ///< of the batch, for any number of threads
  static constexpr std::int64_t most_windows = 256;  ///< that are added in float

  [[nodiscard]] std::int64_t chunks() const { return locus::detail::smaller(shape_.batch, most_chunks); }
  [[nodiscard]] double of_chunks() const {
    return static_cast<double>(chunks()) * static_cast<double>(shape_.groups) * static_cast<double>(shape_.taps());
  }
  void add(std::int64_t image, double* sums) const {
    using locus::detail::larger, locus::detail::smaller;
    const std::int64_t taps = shape_.taps();
    ConvScratch& scratch = of_this_thread<ConvScratch>();
    LaneTap* const listed = scratch.taps.reserve<LaneTap>(taps);
    float* const few = scratch.result.reserve<float>(taps * depthwise_lanes);
    const InPlaceWindows all{{shape_.axis[1], false}, {shape_.axis[2], false}, x_, g_};
    const DepthwiseKernels& kernels = depthwise_kernels(kernels_);
    const auto add_windows = [&](const TapRun& row, const TapRun& col) {
      const LaneWindows windows = all.of(row, col, listed);
      if (windows.tap_count == 0) return;
      const float* const g = g_.at(image, 0, row.first, col.first);
      const float* const x = all.begin(row, col, image, 0);
      for (std::int64_t channel = 0; channel < shape_.groups; channel += depthwise_lanes) {
        kernels.sum_products(windows, g + channel, x + channel, few);
        double* const to = sums + channel * taps;
        for (std::int64_t t = 0; t < windows.tap_count; ++t)
          for (std::int64_t lane = 0; lane < depthwise_lanes; ++lane)
            to[listed[t].weight + lane] += static_cast<double>(few[t * depthwise_lanes + lane]);
      }
    };
    for_each_tap_run(all.rows, 0, all.rows.results(), [&](const TapRun& row) {
      for_each_tap_run(all.cols, 0, all.cols.results(), [&](const TapRun& col) {
        const std::int64_t wide = smaller(col.count, most_windows), high = larger(most_windows / wide, std::int64_t{1});
        for (std::int64_t i = 0; i < row.count; i += high)
          for (std::int64_t j = 0; j < col.count; j += wide)
            add_windows(
                {row.first + i * all.rows.step(), smaller(high, row.count - i), row.of_class, row.begin, row.end},
                {col.first + j * all.cols.step(), smaller(wide, col.count - j), col.of_class, col.begin, col.end});
      });
    });
  }

  const KernelSet<float>& kernels_;
  ConvShape shape_;
  ConvImages<const float> g_, x_;
  float* dw_;
  bool adds_;
};

}}}  // namespace locus::LOCUS_ABI::cpu::detail
