#pragma once
// Convolutions as products of windows where they lie: an image is copied once, with its border and channels side by
// side, and each tap of the kernel is a product of a row of windows, or of the same window of several images, by the
// tiles of cpu/gemm. The gradient of the input is a convolution for each remainder of the stride. A result is one
// thread's, and its sums are in an order that depends on the shape alone.

#include <locus/cpu/conv/winograd.hpp>

namespace locus::inline LOCUS_ABI {
namespace cpu::detail {

/// One dimension of a convolution, or of the gradient of its input, whose results fall into classes that have taps of
/// their own: one for each remainder of the stride.
struct DirectAxis {
  ConvAxis axis;
  bool adjoint;

  [[nodiscard]] std::int64_t given() const { return adjoint ? axis.outputs : axis.extent; }
  [[nodiscard]] std::int64_t results() const { return adjoint ? axis.extent : axis.outputs; }
  [[nodiscard]] int classes() const { return adjoint ? axis.stride : 1; }
  /// The first result of a class, and from one to the next.
  [[nodiscard]] std::int64_t first(int of_class) const {
    return adjoint ? (of_class + axis.stride - axis.before % axis.stride) % axis.stride : 0;
  }
  [[nodiscard]] std::int64_t step() const { return classes(); }
  [[nodiscard]] int class_of(std::int64_t result) const {
    return adjoint ? static_cast<int>((result + axis.before) % axis.stride) : 0;
  }
  /// Where the window of a result begins in what is given with its border; from one of a class to the next.
  [[nodiscard]] std::int64_t origin(std::int64_t result) const {
    return adjoint ? (result + axis.before) / axis.stride : result * axis.stride;
  }
  [[nodiscard]] std::int64_t origin_step() const { return adjoint ? 1 : axis.stride; }
  /// How far the border goes before the first element, and a window beyond its origin.
  [[nodiscard]] std::int64_t border() const { return adjoint ? reach() : axis.before; }
  [[nodiscard]] std::int64_t reach() const {
    return adjoint ? (axis.kernel - 1) / axis.stride : std::int64_t{axis.kernel - 1} * axis.dilation;
  }
  [[nodiscard]] int taps(int of_class) const {
    return adjoint ? (axis.kernel - of_class + axis.stride - 1) / axis.stride : axis.kernel;
  }
  /// Tap i of a class: which of the kernel, and where in the window.
  [[nodiscard]] int tap(int of_class, int i) const { return adjoint ? of_class + i * axis.stride : i; }
  [[nodiscard]] std::int64_t offset(int i) const { return adjoint ? reach() - i : std::int64_t{i} * axis.dilation; }
};

/// Rows of an image with their border: from `top` on, of `width` columns, the first `border` of which come before it.
struct StagedLines {
  std::int64_t top, height, border, width;
};

/// Copies them, channels side by side.
inline void stage_lines(const KernelSet<float>& kernels, const LaneImages& x, std::int64_t image,
                        const StagedLines& lines, float* to) {
  const auto& stride = x.images.stride;
  const std::int64_t padded = rounded_up(x.channels, kernels.lanes);
  const std::int64_t width = locus::detail::smaller(x.width, lines.width - lines.border);
  const auto zero = [&](float* at, std::int64_t cols) {
    if (cols > 0) std::memset(at, 0, static_cast<std::size_t>(cols * padded) * sizeof(float));
  };
  for (std::int64_t row = 0; row < lines.height; ++row) {
    float* const line = to + row * lines.width * padded;
    const std::int64_t r = lines.top + row;
    if (r < 0 || r >= x.height || width <= 0) {
      zero(line, lines.width);
      continue;
    }
    zero(line, lines.border);
    zero(line + (lines.border + width) * padded, lines.width - lines.border - width);
    const float* const from = x.images.data + image * stride[0] + r * stride[3];
    float* const target = line + lines.border * padded;
    if (stride[1] == 1) {
      for (std::int64_t col = 0; col < width; ++col)
        std::memcpy(target + col * padded, from + col * stride[4],
                    static_cast<std::size_t>(x.channels) * sizeof(float));
    } else {
      to_lanes(kernels, from, stride[1], x.channels, width, target, padded);
    }
  }
}

/// A convolution's value, or the gradient of its input.
class DirectPass {
 public:
  DirectPass(const ConvShape& shape, const ConvImages<const float>& x, const float* w, const float* bias, float* y,
             bool adds, bool adjoint)
      : kernels_(*kernels_in_use<float>()),
        rows_{shape.axis[1], adjoint},
        cols_{shape.axis[2], adjoint},
        x_{x, adjoint ? shape.out : shape.in, rows_.given(), cols_.given()},
        out_(adjoint ? shape.in : shape.out),
        batch_(shape.batch),
        w_(w),
        result_{bias, y, adds},
        width_(2 * kernels_.lanes),
        strips_(quotient_up(out_, width_)),
        padded_(rounded_up(x_.channels, kernels_.lanes)),
        taps_(std::int64_t{shape.axis[1].kernel} * shape.axis[2].kernel) {
    using locus::detail::larger, locus::detail::smaller;
    line_ = cols_.origin(cols_.results() - 1) + cols_.reach() + 1;
    const std::int64_t along = quotient_up(cols_.results(), cols_.step());
    images_ = along < 8 ? smaller(batch_, std::int64_t{kernels_.max_rows}) : 1;
    const std::int64_t row_bytes = images_ * line_ * padded_ * std::int64_t{sizeof(float)};
    const std::int64_t most = larger(block_bytes / row_bytes - rows_.reach(), std::int64_t{1});
    block_rows_ =
        smaller(rows_.results(), adjoint ? most * rows_.step() : larger(most / rows_.origin_step(), std::int64_t{1}));
  }

  /// Whether what is copied of images stays small, and classes few: dilations and strides may be of any size.
  [[nodiscard]] bool fits() const {
    const double rows = static_cast<double>(rows_.reach() + rows_.origin_step() * (block_rows_ / rows_.step() + 1));
    const double bytes = static_cast<double>(images_ * line_ * padded_) * sizeof(float) * rows;
    return bytes <= most_bytes && rows_.classes() <= most_classes && cols_.classes() <= most_classes;
  }
  void run() const {
    float* const weights =
        of_this_thread<WinogradScratch>().weights.reserve<float>(strips_ * taps_ * x_.channels * width_);
    pack(weights);
    const std::int64_t parts = quotient_up(rows_.results(), block_rows_);
    parallel_for(quotient_up(batch_, images_) * parts, [&](std::int64_t task) {
      const std::int64_t image = task / parts * images_, row = task % parts * block_rows_;
      compute(weights, {image, locus::detail::smaller(images_, batch_ - image), row,
                        locus::detail::smaller(block_rows_, rows_.results() - row)});
    });
  }

 private:
  static constexpr std::int64_t block_bytes = std::int64_t{1} << 20;
  static constexpr double most_bytes = 16 * block_bytes;
  static constexpr int most_classes = 8;

  /// Weights as (strip, tap, channel that is summed over, channel of the result).
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

  void compute(const float* weights, const TileBlock& block) const {
    WinogradScratch& scratch = of_this_thread<WinogradScratch>();
    const std::int64_t top = rows_.origin(block.first_row);
    const std::int64_t height = rows_.origin(block.first_row + block.rows - 1) + rows_.reach() + 1 - top;
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
      const std::int64_t size = rows_.results() * cols_.results();
      for (std::int64_t i = 0; i < block.images; ++i)
        from_lanes(kernels_, sums + i * result, width_, valid, positions,
                   result_.data + ((block.image + i) * out_ + first) * size + block.first_row * cols_.results(), size,
                   result_.adds);
    }
  }

  void stage(const TileBlock& block, std::int64_t top, std::int64_t height, float* to, std::int64_t image) const {
    const StagedLines lines{top - rows_.border(), height, cols_.border(), line_};
    for (std::int64_t i = 0; i < block.images; ++i) stage_lines(kernels_, x_, block.image + i, lines, to + i * image);
  }

  void multiply(const float* weights, const TileBlock& block, std::int64_t top, const float* staged, std::int64_t image,
                float* sums, std::int64_t result) const {
    const std::int64_t cols = cols_.results();
    // Taps side by side in what is staged, and their weights, too, are one product.
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
  WinogradResult result_;
  std::int64_t width_, strips_, padded_, taps_, line_, images_, block_rows_;
};

/// dw (out, in, taps) (+)= the windows of x times g, of so many windows at once as stay in cache. Windows are copied
/// side by side, so that their taps and channels are rows of a product; threads share these.
class DirectGradient {
 public:
  DirectGradient(const ConvShape& shape, const ConvImages<const float>& g, const ConvImages<const float>& x, float* dw,
                 bool adds)
      : kernels_(*kernels_in_use<float>()),
        rows_{shape.axis[1], false},
        cols_{shape.axis[2], false},
        x_{x, shape.in, rows_.given(), cols_.given()},
        g_{g, shape.out, rows_.results(), cols_.results()},
        batch_(shape.batch),
        dw_(dw),
        adds_(adds),
        width_(2 * kernels_.lanes),
        in_(rounded_up(shape.in, kernels_.lanes)),
        out_(rounded_up(shape.out, width_)),
        taps_(std::int64_t{shape.axis[1].kernel} * shape.axis[2].kernel) {
    using locus::detail::larger, locus::detail::smaller;
    line_ = cols_.origin(g_.width - 1) + cols_.reach() + 1;
    block_rows_ = smaller(larger(windows_at_once / (2 * g_.width), std::int64_t{1}), g_.height);
    parts_ = quotient_up(g_.height, block_rows_);
    blocks_ = larger(windows_at_once / (block_rows_ * g_.width), std::int64_t{1});
  }

  [[nodiscard]] bool fits() const {
    const double rows = static_cast<double>(rows_.reach() + rows_.origin_step() * block_rows_);
    const double windows = static_cast<double>(blocks_ * block_rows_ * g_.width * taps_);
    return static_cast<double>(in_) * sizeof(float) * (rows * static_cast<double>(line_) + windows) <= most_bytes;
  }
  void run() const {
    const std::int64_t depth = taps_ * in_, most = blocks_ * block_rows_ * g_.width, strips = out_ / width_;
    WinogradScratch& scratch = of_this_thread<WinogradScratch>();
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
      parallel_for(taps_ * strips, [&](std::int64_t task) {
        const std::int64_t tap = task / strips, out = task % strips * width_;
        multiply_strip(kernels_, {all, windows + tap * in_, 1, depth, out_, out_, first > 0}, x_.channels,
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
  static constexpr std::int64_t windows_at_once = 256;
  static constexpr double most_bytes = std::int64_t{32} << 20;

  /// Windows before a block: rows of windows of an image.
  [[nodiscard]] std::int64_t windows_before(std::int64_t block) const {
    return (block / parts_ * g_.height + block % parts_ * block_rows_) * g_.width;
  }
  [[nodiscard]] std::int64_t height_of(std::int64_t block) const {
    return locus::detail::smaller(block_rows_, g_.height - block % parts_ * block_rows_);
  }
  void copy_windows(std::int64_t block, float* to) const {
    const std::int64_t first = block % parts_ * block_rows_, rows = height_of(block);
    const std::int64_t height = rows_.origin(rows - 1) + rows_.reach() + 1, step = cols_.axis.dilation;
    float* const staged = of_this_thread<WinogradScratch>().images.reserve<float>(height * line_ * in_);
    stage_lines(kernels_, x_, block / parts_, {rows_.origin(first) - rows_.border(), height, cols_.border(), line_},
                staged);
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
    const bool is_run = stride[3] == g_.width && stride[1] != 1;
    for (std::int64_t row = 0; row < (is_run ? 1 : rows); ++row, from += stride[3], to += g_.width * out_) {
      if (stride[1] != 1) {
        to_lanes(kernels_, from, stride[1], g_.channels, is_run ? rows * g_.width : g_.width, to, out_);
        continue;
      }
      for (std::int64_t col = 0; col < g_.width; ++col)
        std::memcpy(to + col * out_, from + col * stride[4], static_cast<std::size_t>(g_.channels) * sizeof(float));
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

}  // namespace cpu::detail
}  // namespace locus::inline LOCUS_ABI
