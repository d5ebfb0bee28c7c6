#pragma once
// The gradient of the weights of a direct convolution.

#include <locus/cpu/conv/direct_axis.hpp>
#include <locus/cpu/conv/staged_images.hpp>
#include <locus/cpu/threads/parallel.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// dw (out, in, taps) (+)= the windows of x times g, over as many windows at once as stay in cache. Windows are copied
/// side by side, so that their taps and channels are rows of a product; threads share the rows.
class DirectGradient {
 public:
  DirectGradient(const ConvShape& shape, const ConvImages<const float>& g, const ConvImages<const float>& x, float* dw,
                 bool adds)
      : DirectGradient(elements_read(shape, x), g, dw, adds) {}

  [[nodiscard]] bool fits() const {
    const double rows = static_cast<double>(rows_.span() + rows_.origin_step() * block_rows_);
    const double windows = static_cast<double>(blocks_ * block_rows_ * g_.width);
    const double elements =
        static_cast<double>(in_) * (rows * static_cast<double>(line_) + windows * static_cast<double>(taps_)) +
        windows * static_cast<double>(out_);
    return elements * sizeof(float) <= most_scratch;
  }
  void run() const {
    const std::int64_t depth = taps_ * in_, most = blocks_ * block_rows_ * g_.width, strips = out_ / width_;
    ConvScratch& scratch = of_this_thread<ConvScratch>();
    float* const windows = scratch.input.reserve<float>(most * depth);
    float* const gradients = scratch.gradient.reserve<float>(most * out_);
    float* const sums = scratch.sums.reserve<float>(taps_ * x_.channels * out_);
    const std::int64_t blocks = batch_ * parts_;
    for (std::int64_t first = 0; first < blocks; first += blocks_) {
      const std::int64_t count = locus::detail::smaller(blocks_, blocks - first), begin = windows_before(first);
      parallel_for(count, [&](std::int64_t i) {
        const std::int64_t at = windows_before(first + i) - begin;
        copy_windows(first + i, windows + at * depth);
        copy_gradients(first + i, gradients + at * out_);
      });
      const std::int64_t all = windows_before(first + count) - begin;
      // Each tap is a product or, if the channels of successive taps are contiguous, each half of the taps.
      const std::int64_t parts = in_ == x_.channels ? 2 : taps_;
      parallel_for(parts * strips, [&](std::int64_t task) {
        const std::int64_t part = task / strips, out = task % strips * width_;
        const std::int64_t tap = taps_ * part / parts, taps = taps_ * (part + 1) / parts - tap;
        multiply_strip(kernels_, {all, windows + tap * in_, 1, depth, out_, out_, first > 0}, taps * x_.channels,
                       gradients + out, sums + tap * x_.channels * out_ + out);
      });
    }
    parallel_for(strips * x_.channels, [&](std::int64_t task) {
      const std::int64_t out = task / x_.channels * width_, in = task % x_.channels;
      from_lanes(kernels_, sums + in * out_ + out, x_.channels * out_,
                 locus::detail::smaller(width_, g_.channels - out), taps_, dw_ + (out * x_.channels + in) * taps_,
                 x_.channels * taps_, adds_);
    });
  }

 private:
  DirectGradient(const ReadImages& read, const ConvImages<const float>& g, float* dw, bool adds)
      : kernels_(*kernels_in_use<float>()),
        rows_{read.shape.axis[1], false},
        cols_{read.shape.axis[2], false},
        x_{read.images, read.shape.in, rows_.given(), cols_.given()},
        g_{g, read.shape.out, rows_.results(), cols_.results()},
        batch_(read.shape.batch),
        dw_(dw),
        adds_(adds),
        width_(std::int64_t{2} * kernels_.lanes),
        in_(lanes_for(kernels_, read.shape.in)),
        out_(round_up(read.shape.out, width_)),
        taps_(std::int64_t{read.shape.axis[1].kernel} * read.shape.axis[2].kernel) {
    using locus::detail::larger, locus::detail::smaller;
    line_ = cols_.origin(g_.width - 1) + cols_.span() + 1;
    const std::int64_t at_once = larger(elements_at_once / (taps_ * in_ + out_), fewest_windows);
    block_rows_ = smaller(larger(at_once / (2 * g_.width), std::int64_t{1}), g_.height);
    parts_ = ceil_div(g_.height, block_rows_);
    blocks_ = larger(at_once / (block_rows_ * g_.width), std::int64_t{1});
  }

  /// Elements of windows and gradients that are multiplied together; at least `fewest_windows` windows.
  static constexpr std::int64_t elements_at_once = std::int64_t{1} << 18, fewest_windows = 256;

  /// Windows before a block: rows of windows of an image.
  [[nodiscard]] std::int64_t windows_before(std::int64_t block) const {
    return (block / parts_ * g_.height + block % parts_ * block_rows_) * g_.width;
  }
  [[nodiscard]] std::int64_t height_of(std::int64_t block) const {
    return locus::detail::smaller(block_rows_, g_.height - block % parts_ * block_rows_);
  }
  void copy_windows(std::int64_t block, float* to) const {
    const std::int64_t first = block % parts_ * block_rows_, rows = height_of(block);
    const std::int64_t height = rows_.origin(rows - 1) + rows_.span() + 1, step = cols_.axis.dilation;
    float* const staged = of_this_thread<ConvScratch>().images.reserve<float>(height * line_ * in_);
    const StagedLines lines{rows_.origin(first) - rows_.border(), height, cols_.border(), line_, in_};
    stage_lines(kernels_, x_, block / parts_, lines, staged);
    const std::int64_t run = step == 1 ? cols_.axis.kernel : 1;  // taps side by side
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t col = 0; col < g_.width; ++col)
        for (int i = 0; i < rows_.axis.kernel; ++i)
          for (std::int64_t j = 0; j < cols_.axis.kernel; j += run, to += run * in_)
            std::memcpy(to,
                        staged + ((rows_.origin(row) + rows_.offset(i)) * line_ + cols_.origin(col) + j * step) * in_,
                        static_cast<std::size_t>(run * in_) * sizeof(float));
  }
  void copy_gradients(std::int64_t block, float* to) const {
    const auto& stride = g_.images.stride;
    const float* from = g_.images.data + block / parts_ * stride[0] + block % parts_ * block_rows_ * stride[3];
    const std::int64_t rows = height_of(block);
    const std::int64_t step = stride[1] == 1 ? stride[4] : 1;
    const bool is_run = stride[3] == g_.width * step;
    const std::int64_t run = is_run ? rows * g_.width : g_.width;
    for (std::int64_t row = 0; row < (is_run ? 1 : rows); ++row, from += stride[3], to += g_.width * out_) {
      if (stride[1] == 1) copy_positions(from, step, g_.channels, run, to, out_);
      else to_lanes(kernels_, from, stride[1], g_.channels, run, to, out_);
    }
  }

  const KernelSet<float>& kernels_;
  DirectAxis rows_, cols_;
  LaneImages x_, g_;
  std::int64_t batch_;
  float* dw_;
  bool adds_;
  std::int64_t width_, in_, out_, taps_, line_, block_rows_, parts_, blocks_;
};

}}}  // namespace locus::LOCUS_ABI::cpu::detail
