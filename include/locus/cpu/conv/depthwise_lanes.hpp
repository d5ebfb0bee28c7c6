#pragma once
// Depthwise convolutions of eight groups and more: lanes of vectors hold sixteen groups side by side, images with their
// border. A tap is a vector of weights, at the same offset from all results of a class. One thread computes each
// result, in an order that depends on the shape alone.

#include <locus/cpu/conv/depthwise.hpp>
#include <locus/cpu/conv/depthwise_kernels.hpp>
#include <locus/cpu/conv/direct_axis.hpp>
#include <locus/cpu/conv/staged_images.hpp>

LOCUS_LOOPS_BEGIN
namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Shared by the passes: images of sixteen groups at a time, in blocks of rows of results.
class DepthwiseBlocks {
 public:
  DepthwiseBlocks(const ConvShape& shape, bool adjoint)
      : rows{shape.axis[1], adjoint}, cols{shape.axis[2], adjoint}, kernel_cols_(shape.axis[2].kernel) {
    using locus::detail::larger, locus::detail::smaller;
    line = cols.origin(cols.results() - 1) + cols.span() + 1;
    const std::int64_t most = larger(block_elements / (line * depthwise_lanes) - rows.span(), std::int64_t{1});
    const std::int64_t affordable = adjoint ? most * rows.step() : larger(most / rows.origin_step(), std::int64_t{1});
    block_rows = smaller(rows.results(), affordable);
    block_rows = ceil_div(rows.results(), ceil_div(rows.results(), block_rows));
  }

  /// results: how many a thread holds for each position
  [[nodiscard]] bool fits(std::int64_t results) const {
    const std::int64_t windows = block_rows / rows.step() + 1;  // along dimension 1, of one class
    const auto height = static_cast<double>(rows.span() + rows.origin_step() * windows);
    const double staged = 2 * static_cast<double>(line) * height;  // images of 16 bits have a float copy, too
    const double sums = static_cast<double>(block_rows * cols.results()) * static_cast<double>(results);
    return (staged + sums) * depthwise_lanes * sizeof(float) <= most_scratch && rows.classes() <= most_classes &&
           cols.classes() <= most_classes;
  }
  [[nodiscard]] std::int64_t parts() const { return ceil_div(rows.results(), block_rows); }
  [[nodiscard]] std::int64_t rows_of(std::int64_t part) const {
    return locus::detail::smaller(block_rows, rows.results() - part * block_rows);
  }
  [[nodiscard]] std::int64_t top_of(std::int64_t part) const { return rows.origin(part * block_rows); }
  [[nodiscard]] std::int64_t height_of(std::int64_t part) const {
    return rows.origin(part * block_rows + rows_of(part) - 1) + rows.span() + 1 - top_of(part);
  }

  /// The taps of a class of results.
  std::int64_t list(int row_class, int col_class, LaneTap* taps) const {
    std::int64_t count = 0;
    for (int i = 0; i < rows.taps(row_class); ++i)
      for (int j = 0; j < cols.taps(col_class); ++j)
        taps[count++] = {(rows.offset(i) * line + cols.offset(j)) * depthwise_lanes,
                         (rows.tap(row_class, i) * kernel_cols_ + cols.tap(col_class, j)) * depthwise_lanes};
    return count;
  }

  DirectAxis rows, cols;
  std::int64_t line = 0, block_rows = 1;

 private:
  static constexpr std::int64_t block_elements = 1 << 14;
  static constexpr int most_classes = 8;
  std::int64_t kernel_cols_;
};

/// to[position * to_position + lane * to_lane] (+)= from[position * 16 + lane]
template <class T>
LOCUS_FN void store_lanes(const float* from, std::int64_t positions, std::int64_t lanes, T* to,
                          std::int64_t to_position, std::int64_t to_lane, bool adds) {
  const bool is_whole = lanes == depthwise_lanes && to_lane == 1 && !adds;
  for (std::int64_t at = 0; at < positions; ++at, from += depthwise_lanes, to += to_position) {
    if (is_whole) store_elements(from, depthwise_lanes, to, 1, false);
    else store_elements(from, lanes, to, to_lane, adds);
  }
}
/// to[position * 16 + lane] = from[position * step + lane]
template <class T>
LOCUS_FN void load_lanes(const T* from, std::int64_t step, std::int64_t lanes, std::int64_t positions, float* to) {
  for (std::int64_t at = 0; at < positions; ++at, from += step, to += depthwise_lanes) {
    if (lanes == depthwise_lanes) load_elements(from, 1, depthwise_lanes, to);
    else load_elements(from, 1, lanes, to);
  }
}

/// The planes of up to sixteen channels.
template <class T>
struct LanePlanes {
  const T* data;
  std::int64_t channel_stride, row_stride, col_stride, channels, height, width;
};

/// Copies the planes as floats with their border, channels side by side.
template <class T>
const float* stage_lanes(const KernelSet<float>& kernels, const LanePlanes<T>& x, const StagedLines& lines,
                         Scratch& staged, Scratch& converted) {
  float* const to = staged.reserve<float>(lines.height * lines.width * depthwise_lanes);
  if (x.channels < depthwise_lanes)
    std::memset(to, 0, static_cast<std::size_t>(lines.height * lines.width * depthwise_lanes) * sizeof(float));
  bool is_staged = false;
  if constexpr (std::is_same_v<T, float>) {
    is_staged = x.col_stride == 1 || x.channel_stride == 1;
    const ConvImages<const float> images{x.data, {0, x.channel_stride, 0, x.row_stride, x.col_stride}};
    if (is_staged) stage_lines(kernels, {images, x.channels, x.height, x.width}, 0, lines, to);
  }
  if (!is_staged) {
    using locus::detail::larger, locus::detail::smaller;
    const std::int64_t first = larger(lines.top, std::int64_t{0});
    const std::int64_t count = larger(smaller(x.height, lines.top + lines.height) - first, std::int64_t{0});
    float* const floats = converted.reserve<float>(depthwise_lanes * count * x.width);
    const StagedLines within{lines.top - first, lines.height, lines.border, lines.width, lines.lanes};
    if (x.channel_stride == 1) {
      for (std::int64_t row = 0; row < count; ++row)
        Versions<&load_lanes<T>>::call(x.data + (first + row) * x.row_stride, x.col_stride, x.channels, x.width,
                                       floats + row * x.width * depthwise_lanes);
      const ConvImages<const float> images{floats, {0, 1, 0, x.width * depthwise_lanes, depthwise_lanes}};
      stage_lines(kernels, {images, x.channels, count, x.width}, 0, within, to);
      return to;
    }
    const bool is_dense = x.col_stride == 1 && x.row_stride == x.width;
    const std::int64_t rows_at_once = is_dense ? count : 1;
    for (std::int64_t c = 0; c < x.channels; ++c)
      for (std::int64_t row = 0; row < count; row += rows_at_once)
        Versions<&load_elements<T>>::call(x.data + c * x.channel_stride + (first + row) * x.row_stride, x.col_stride,
                                          rows_at_once * x.width, floats + (c * count + row) * x.width);
    const ConvImages<const float> images{floats, {0, count * x.width, 0, x.width, 1}};
    stage_lines(kernels, {images, x.channels, count, x.width}, 0, within, to);
  }
  return to;
}

/// The value of a depthwise convolution, or the gradient of its input.
template <class T>
class DepthwiseLanesPass {
 public:
  DepthwiseLanesPass(const ConvShape& shape, const ConvImages<const T>& x, const T* w, const T* bias,
                     const ConvImages<T>& y, bool adds, bool adjoint)
      : kernels_(*kernels_in_use<float>()),
        blocks_(shape, adjoint),
        x_(x),
        batch_(shape.batch),
        groups_(shape.groups),
        given_(adjoint ? shape.group_out() : 1),
        outs_(adjoint ? 1 : shape.group_out()),
        taps_(shape.taps()),
        w_(w),
        bias_(bias),
        y_(y),
        adds_(adds) {}

  [[nodiscard]] bool fits() const { return blocks_.fits(2 * outs_); }
  void run() const {
    const std::int64_t strips = ceil_div(groups_, depthwise_lanes), parts = blocks_.parts();
    float* const weights =
        of_this_thread<ConvScratch>().weights.reserve<float>(strips * given_ * outs_ * taps_ * depthwise_lanes);
    pack(weights);
    parallel_for(batch_ * strips * parts, [&](std::int64_t task) {
      compute(weights, task / parts / strips, task / parts % strips, task % parts);
    });
  }

 private:
  [[nodiscard]] std::int64_t lanes_of(std::int64_t strip) const {
    return locus::detail::smaller(depthwise_lanes, groups_ - strip * depthwise_lanes);
  }
  /// Weights as (strip, channel of the group, tap, group).
  void pack(float* weights) const {
    const std::int64_t channels = given_ * outs_, strips = ceil_div(groups_, depthwise_lanes);
    float* const floats = of_this_thread<ConvScratch>().taps.reserve<float>(depthwise_lanes * channels * taps_);
    for (std::int64_t strip = 0; strip < strips; ++strip) {
      Versions<&load_elements<T>>::call(w_ + strip * depthwise_lanes * channels * taps_, 1,
                                        lanes_of(strip) * channels * taps_, floats);
      for (std::int64_t c = 0; c < channels; ++c)
        to_lanes(kernels_, floats + c * taps_, channels * taps_, lanes_of(strip), taps_,
                 weights + (strip * channels + c) * taps_ * depthwise_lanes, depthwise_lanes);
    }
  }

  void compute(const float* weights, std::int64_t image, std::int64_t strip, std::int64_t part) const {
    ConvScratch& scratch = of_this_thread<ConvScratch>();
    const std::int64_t positions = blocks_.rows_of(part) * blocks_.cols.results();
    const std::int64_t size = positions * depthwise_lanes, first = strip * depthwise_lanes;
    float* const sums = scratch.result.reserve<float>(outs_ * size);
    for (std::int64_t i = 0; i < given_; ++i) {
      const float* const x = stage(image, first * given_ + i, lanes_of(strip), part, scratch);
      for (std::int64_t o = 0; o < outs_; ++o) {
        alignas(64) float bias[depthwise_lanes];
        if (i == 0) load_bias(first, o, bias);
        add(x, weights + (strip * given_ * outs_ + i + o) * taps_ * depthwise_lanes, i == 0 ? bias : nullptr, part,
            sums + o * size, scratch);
      }
    }
    for (std::int64_t o = 0; o < outs_; ++o)
      store(y_.at(image, first * outs_ + o, part * blocks_.block_rows, 0), lanes_of(strip), positions, sums + o * size,
            scratch);
  }
  void load_bias(std::int64_t first, std::int64_t o, float* bias) const {
    for (std::int64_t lane = 0; lane < depthwise_lanes; ++lane)
      bias[lane] = bias_ && first + lane < groups_ ? load_as_register(bias_[(first + lane) * outs_ + o]) : 0.f;
  }
  [[nodiscard]] const float* stage(std::int64_t image, std::int64_t channel, std::int64_t channels, std::int64_t part,
                                   ConvScratch& scratch) const {
    const StagedLines lines{blocks_.top_of(part) - blocks_.rows.border(), blocks_.height_of(part),
                            blocks_.cols.border(), blocks_.line, depthwise_lanes};
    return stage_lanes<T>(kernels_,
                          {x_.data + image * x_.stride[0] + channel * x_.stride[1], given_ * x_.stride[1], x_.stride[3],
                           x_.stride[4], channels, blocks_.rows.given(), blocks_.cols.given()},
                          lines, scratch.images, scratch.tiles);
  }

  /// Adds to the sums or, with a bias, starts them from it.
  void add(const float* x, const float* weights, const float* bias, std::int64_t part, float* sums,
           ConvScratch& scratch) const {
    const DirectAxis &rows = blocks_.rows, &cols = blocks_.cols;
    LaneTap* const taps = scratch.taps.reserve<LaneTap>(taps_);
    const std::int64_t begin = part * blocks_.block_rows, end = begin + blocks_.rows_of(part), width = cols.results();
    for (int a = 0; a < rows.classes(); ++a) {
      const std::int64_t past = (begin + rows.step() - rows.first(a)) % rows.step();
      const std::int64_t row = past == 0 ? begin : begin + rows.step() - past;
      if (row >= end) continue;
      for (int b = 0; b < cols.classes(); ++b) {
        const std::int64_t col = cols.first(b);
        if (col >= width) continue;
        const LaneWindows windows{taps,
                                  blocks_.list(a, b, taps),
                                  (end - row - 1) / rows.step() + 1,
                                  (width - col - 1) / cols.step() + 1,
                                  rows.origin_step() * blocks_.line * depthwise_lanes,
                                  cols.origin_step() * depthwise_lanes,
                                  rows.step() * width * depthwise_lanes,
                                  cols.step() * depthwise_lanes};
        const std::int64_t at = (rows.origin(row) - blocks_.top_of(part)) * blocks_.line + cols.origin(col);
        depthwise_kernels(kernels_).add_windows(windows, x + at * depthwise_lanes, weights, bias,
                                                sums + ((row - begin) * width + col) * depthwise_lanes);
      }
    }
  }
  void store(T* to, std::int64_t lanes, std::int64_t positions, const float* sums, ConvScratch& scratch) const {
    const std::int64_t next = outs_ * y_.stride[1];  // channel of the same place in its group
    if (y_.is_channels_last()) {
      Versions<&store_lanes<T>>::call(sums, positions, lanes, to, y_.stride[4], next, adds_);
    } else if constexpr (std::is_same_v<T, float>) {
      from_lanes(kernels_, sums, depthwise_lanes, lanes, positions, to, next, adds_);
    } else {
      float* const floats = scratch.products.reserve<float>(depthwise_lanes * positions);
      from_lanes(kernels_, sums, depthwise_lanes, lanes, positions, floats, positions, false);
      for (std::int64_t lane = 0; lane < lanes; ++lane)
        Versions<&store_elements<T>>::call(floats + lane * positions, positions, to + lane * next, 1, adds_);
    }
  }

  const KernelSet<float>& kernels_;
  DepthwiseBlocks blocks_;
  ConvImages<const T> x_;
  std::int64_t batch_, groups_, given_, outs_, taps_;
  const T *w_, *bias_;
  ConvImages<T> y_;
  bool adds_;
};

/// dw (out, 1, taps) (+)= the windows of x times g: sums of a few hundred windows in float, of all in double.
template <class T>
class DepthwiseLanesGradient {
 public:
  DepthwiseLanesGradient(const ConvShape& shape, const ConvImages<const T>& g, const ConvImages<const T>& x, T* dw,
                         bool adds)
      : kernels_(*kernels_in_use<float>()),
        blocks_(shape, false),
        g_(g),
        x_(x),
        batch_(shape.batch),
        groups_(shape.groups),
        outs_(shape.group_out()),
        taps_(shape.taps()),
        dw_(dw),
        adds_(adds) {}

  [[nodiscard]] bool fits() const { return blocks_.fits(2); }
  void run() const {
    const std::int64_t strips = ceil_div(groups_, depthwise_lanes), count = taps_ * depthwise_lanes;
    const std::int64_t chunks = locus::detail::smaller(batch_, ceil_div(wanted_tasks, strips * outs_));
    double* const sums = of_this_thread<ConvScratch>().gradient.reserve<double>(strips * outs_ * chunks * count);
    parallel_for(strips * outs_ * chunks, [&](std::int64_t task) {
      const std::int64_t chunk = task % chunks, of = task / chunks;
      compute(of / outs_, of % outs_, {batch_ * chunk / chunks, batch_ * (chunk + 1) / chunks}, sums + task * count);
    });
    for (std::int64_t of = 0; of < strips * outs_; ++of)
      store(of / outs_, of % outs_, chunks, sums + of * chunks * count);
  }

 private:
  static constexpr std::int64_t wanted_tasks = 64;   ///< by chunks of the batch, for any number of threads
  static constexpr std::int64_t most_windows = 256;  ///< that are added in float

  [[nodiscard]] std::int64_t lanes_of(std::int64_t strip) const {
    return locus::detail::smaller(depthwise_lanes, groups_ - strip * depthwise_lanes);
  }
  /// The sums over some images.
  void compute(std::int64_t strip, std::int64_t o, const Range& images, double* sums) const {
    ConvScratch& scratch = of_this_thread<ConvScratch>();
    LaneTap* const taps = scratch.taps.reserve<LaneTap>(taps_);
    blocks_.list(0, 0, taps);
    for (std::int64_t i = 0; i < taps_ * depthwise_lanes; ++i) sums[i] = 0;
    for (std::int64_t image = images.begin; image < images.end; ++image)
      for (std::int64_t part = 0; part < blocks_.parts(); ++part) add(image, strip, o, part, taps, sums, scratch);
  }
  void add(std::int64_t image, std::int64_t strip, std::int64_t o, std::int64_t part, const LaneTap* taps, double* sums,
           ConvScratch& scratch) const {
    using locus::detail::larger, locus::detail::smaller;
    const DirectAxis &rows = blocks_.rows, &cols = blocks_.cols;
    const std::int64_t first = strip * depthwise_lanes, lanes = lanes_of(strip);
    const std::int64_t height = blocks_.rows_of(part), width = cols.results();
    const float* const g =
        stage_lanes<T>(kernels_,
                       {g_.data + image * g_.stride[0] + (first * outs_ + o) * g_.stride[1], outs_ * g_.stride[1],
                        g_.stride[3], g_.stride[4], lanes, rows.results(), width},
                       {part * blocks_.block_rows, height, 0, width, depthwise_lanes}, scratch.products, scratch.tiles);
    const float* const x = stage_lanes<T>(
        kernels_,
        {x_.data + image * x_.stride[0] + first * x_.stride[1], x_.stride[1], x_.stride[3], x_.stride[4], lanes,
         rows.given(), cols.given()},
        {blocks_.top_of(part) - rows.border(), blocks_.height_of(part), cols.border(), blocks_.line, depthwise_lanes},
        scratch.images, scratch.tiles);
    float* const few = scratch.result.reserve<float>(taps_ * depthwise_lanes);
    const std::int64_t rows_at_once = larger(most_windows / width, std::int64_t{1});
    const std::int64_t row_step = rows.origin_step() * blocks_.line * depthwise_lanes;
    const std::int64_t col_step = cols.origin_step() * depthwise_lanes;
    for (std::int64_t row = 0; row < height; row += rows_at_once)
      for (std::int64_t col = 0; col < width; col += most_windows) {
        const LaneWindows windows{taps,
                                  taps_,
                                  smaller(rows_at_once, height - row),
                                  smaller(most_windows, width - col),
                                  row_step,
                                  col_step,
                                  width * depthwise_lanes,
                                  depthwise_lanes};
        depthwise_kernels(kernels_).sum_products(windows, g + (row * width + col) * depthwise_lanes,
                                                 x + row * row_step + col * col_step, few);
        for (std::int64_t i = 0; i < taps_ * depthwise_lanes; ++i) sums[i] += few[i];
      }
  }
  /// The sums of all chunks, in order.
  void store(std::int64_t strip, std::int64_t o, std::int64_t chunks, const double* sums) const {
    for (std::int64_t lane = 0; lane < lanes_of(strip); ++lane)
      for (std::int64_t t = 0; t < taps_; ++t) {
        double all = 0;
        for (std::int64_t chunk = 0; chunk < chunks; ++chunk) all += sums[(chunk * taps_ + t) * depthwise_lanes + lane];
        T& to = dw_[((strip * depthwise_lanes + lane) * outs_ + o) * taps_ + t];
        const auto sum = static_cast<float>(all);
        to = from_register<T>(adds_ ? load_as_register(to) + sum : sum);
      }
  }

  const KernelSet<float>& kernels_;
  DepthwiseBlocks blocks_;
  ConvImages<const T> g_, x_;
  std::int64_t batch_, groups_, outs_, taps_;
  T* dw_;
  bool adds_;
};

}}}  // namespace locus::LOCUS_ABI::cpu::detail
LOCUS_LOOPS_END
