#pragma once
// Convolutions as products of windows in place: an image is copied once, with its border and channels side by side, and
// each tap of the kernel is a product of a row of windows, or of the same window of several images, by the tiles of
// cpu/gemm. The gradient of the input is a convolution for each remainder of the stride. One thread computes each
// result, with sums in an order that depends on the shape alone.

#include <locus/cpu/conv/direct_axis.hpp>
#include <locus/cpu/conv/staged_images.hpp>
#include <locus/cpu/threads/parallel.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Rows of results of some images.
struct DirectBlock {
  std::int64_t image, images, first_row, rows;
};

/// A convolution's value, or the gradient of its input.
class DirectPass {
 public:
  DirectPass(const ConvShape& shape, const ConvImages<const float>& x, const float* w, const float* bias,
             const ConvImages<float>& y, bool adds, bool adjoint)
      : DirectPass(adjoint ? ReadImages{shape, x} : elements_read(shape, x), w, bias, y, adds, adjoint) {}

  /// Whether the copies of images stay small, and classes few: dilations and strides may be of any size.
  [[nodiscard]] bool fits() const {
    const std::int64_t windows = block_rows_ / rows_.step() + 1;  // along dimension 1, of one class
    const auto rows = static_cast<double>(rows_.span() + rows_.origin_step() * windows);
    const double staged = static_cast<double>(line_ * padded_) * rows;
    const double results = static_cast<double>(block_rows_ * cols_.results() * width_);
    return static_cast<double>(images_) * (staged + results) * sizeof(float) <= most_scratch &&
           rows_.classes() <= most_classes && cols_.classes() <= most_classes;
  }
  void run() const {
    float* const weights = of_this_thread<ConvScratch>().weights.reserve<float>(strips_ * taps_ * x_.channels * width_);
    pack(weights);
    const std::int64_t parts = ceil_div(rows_.results(), block_rows_);
    parallel_for(ceil_div(batch_, images_) * parts, [&](std::int64_t task) {
      const std::int64_t image = task / parts * images_, row = task % parts * block_rows_;
      compute(weights, {image, locus::detail::smaller(images_, batch_ - image), row,
                        locus::detail::smaller(block_rows_, rows_.results() - row)});
    });
  }

 private:
  DirectPass(const ReadImages& read, const float* w, const float* bias, const ConvImages<float>& y, bool adds,
             bool adjoint)
      : kernels_(*kernels_in_use<float>()),
        rows_{read.shape.axis[1], adjoint},
        cols_{read.shape.axis[2], adjoint},
        x_{read.images, adjoint ? read.shape.out : read.shape.in, rows_.given(), cols_.given()},
        out_(adjoint ? read.shape.in : read.shape.out),
        batch_(read.shape.batch),
        w_(w),
        result_{bias, y, adds},
        width_(std::int64_t{2} * kernels_.lanes),
        strips_(ceil_div(out_, width_)),
        padded_(lanes_for(kernels_, x_.channels)),
        taps_(std::int64_t{read.shape.axis[1].kernel} * read.shape.axis[2].kernel) {
    using locus::detail::larger, locus::detail::smaller;
    line_ = cols_.origin(cols_.results() - 1) + cols_.span() + 1;
    const std::int64_t along = ceil_div(cols_.results(), cols_.step());
    images_ = along < 8 ? smaller(batch_, std::int64_t{kernels_.max_rows}) : 1;
    const std::int64_t row_bytes = images_ * line_ * padded_ * std::int64_t{sizeof(float)};
    const std::int64_t most = larger(block_bytes / row_bytes - rows_.span(), std::int64_t{1});
    block_rows_ =
        smaller(rows_.results(), adjoint ? most * rows_.step() : larger(most / rows_.origin_step(), std::int64_t{1}));
  }

  static constexpr std::int64_t block_bytes = std::int64_t{1} << 20;
  static constexpr int most_classes = 8;

  /// Weights as (strip, tap, summed channel, channel of the result).
  void pack(float* weights) const {
    const bool adjoint = rows_.adjoint;
    const std::int64_t channels = x_.channels;
    const std::int64_t in = adjoint ? out_ * taps_ : taps_, out = adjoint ? taps_ : channels * taps_;  // strides
    parallel_for(strips_ * channels, [&](std::int64_t task) {
      const std::int64_t strip = task / channels, c = task % channels, first = strip * width_;
      const std::int64_t valid = locus::detail::smaller(width_, out_ - first);
      float* const to = weights + (strip * taps_ * channels + c) * width_;
      if (valid < width_)
        for (std::int64_t tap = 0; tap < taps_; ++tap)
          std::memset(to + tap * channels * width_, 0, static_cast<std::size_t>(width_) * sizeof(float));
      to_lanes(kernels_, w_ + c * in + first * out, out, valid, taps_, to, channels * width_);
    });
  }

  void compute(const float* weights, const DirectBlock& block) const {
    ConvScratch& scratch = of_this_thread<ConvScratch>();
    const std::int64_t top = rows_.origin(block.first_row);
    const std::int64_t height = rows_.origin(block.first_row + block.rows - 1) + rows_.span() + 1 - top;
    const std::int64_t image = height * line_ * padded_ + plane_gap;
    float* const staged = scratch.images.reserve<float>(block.images * image);
    stage(block, top, height, staged, image);
    const std::int64_t positions = block.rows * cols_.results(), result = positions * width_ + plane_gap;
    float* const sums = scratch.result.reserve<float>(block.images * result + width_);
    float* const bias = sums + block.images * result;
    for (std::int64_t strip = 0; strip < strips_; ++strip) {
      const std::int64_t first = strip * width_, valid = locus::detail::smaller(width_, out_ - first);
      for (std::int64_t lane = 0; lane < width_; ++lane)
        bias[lane] = result_.bias && lane < valid ? result_.bias[first + lane] : 0.0f;
      for (std::int64_t i = 0; i < block.images; ++i)
        for (std::int64_t at = 0; at < positions; ++at)
          std::memcpy(sums + i * result + at * width_, bias, static_cast<std::size_t>(width_) * sizeof(float));
      multiply(weights + strip * taps_ * x_.channels * width_, block, top, staged, image, sums, result);
      for (std::int64_t i = 0; i < block.images; ++i)
        result_.store(kernels_, sums + i * result, width_, valid, positions,
                      result_.images.at(block.image + i, first, block.first_row, 0));
    }
  }

  void stage(const DirectBlock& block, std::int64_t top, std::int64_t height, float* to, std::int64_t image) const {
    const StagedLines lines{top - rows_.border(), height, cols_.border(), line_, padded_};
    for (std::int64_t i = 0; i < block.images; ++i) stage_lines(kernels_, x_, block.image + i, lines, to + i * image);
  }

  void multiply(const float* weights, const DirectBlock& block, std::int64_t top, const float* staged,
                std::int64_t image, float* sums, std::int64_t result) const {
    const std::int64_t cols = cols_.results();
    // Taps that lie side by side in the staged rows, as their weights do, are one product.
    const bool is_run = !cols_.adjoint && cols_.axis.dilation == 1 && padded_ == x_.channels;
    for (std::int64_t row = 0; row < block.rows; ++row) {
      const std::int64_t at = rows_.origin(block.first_row + row) - top;
      const int row_class = rows_.class_of(block.first_row + row);
      for (int i = 0; i < rows_.taps(row_class); ++i) {
        const float* const line = staged + (at + rows_.offset(i)) * line_ * padded_;
        for (int col_class = 0; col_class < cols_.classes(); ++col_class) {
          const std::int64_t first = cols_.first(col_class);
          if (first >= cols) continue;
          const std::int64_t count = (cols - first - 1) / cols_.step() + 1, taps = cols_.taps(col_class);
          for (int j = 0; j < (is_run && taps > 0 ? 1 : taps); ++j) {
            const std::int64_t tap =
                rows_.tap(row_class, i) * std::int64_t{cols_.axis.kernel} + cols_.tap(col_class, j);
            const float* const left = line + (cols_.origin(first) + cols_.offset(j)) * padded_;
            float* const to = sums + (row * cols + first) * width_;
            TileProduct<float> product{is_run ? taps * x_.channels : x_.channels,
                                       left,
                                       cols_.origin_step() * padded_,
                                       1,
                                       width_,
                                       cols_.step() * width_,
                                       true};
            const float* const right = weights + tap * x_.channels * width_;
            if (images_ == 1) {
              multiply_strip(kernels_, product, count, right, to);
              continue;
            }
            product.left_row = image, product.out_stride = result;
            for (std::int64_t col = 0; col < count; ++col) {
              product.left = left + col * cols_.origin_step() * padded_;
              multiply_strip(kernels_, product, block.images, right, to + col * cols_.step() * width_);
            }
          }
        }
      }
    }
  }

  const KernelSet<float>& kernels_;
  DirectAxis rows_, cols_;
  LaneImages x_;
  std::int64_t out_, batch_;
  const float* w_;
  ConvResult result_;
  std::int64_t width_, strips_, padded_, taps_, line_, images_, block_rows_;
};

}}}  // namespace locus::LOCUS_ABI::cpu::detail
