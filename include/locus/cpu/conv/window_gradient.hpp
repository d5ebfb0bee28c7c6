#pragma once
// The gradient of the weights of a convolution of bfloat16: products of windows and gradients, over blocks of
// positions, rows of several images side by side. Channels are copied once for each tap along rows or, if they are few,
// for each tap. One thread computes each sum, in float, in an order that depends on the shape alone.

#include <locus/cpu/conv/window_pass.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// dw (out, in / groups, taps) (+)= the windows of x times g.
class WindowGradient {
 public:
  WindowGradient(const WindowKernels& kernels, const ConvShape& shape, const ConvImages<const bfloat16>& g,
                 const ConvImages<const bfloat16>& x, bfloat16* dw, bool adds)
      : kernels_(kernels),
        rows_(shape.axis[1], false),
        cols_(shape.axis[2], false),
        batch_(shape.batch),
        groups_(shape.groups),
        channels_(shape.group_in()),
        out_(shape.group_out()),
        kernel_rows_(shape.axis[1].kernel),
        kernel_cols_(shape.axis[2].kernel),
        x_{x, shape.in, shape.axis[1].extent, shape.axis[2].extent},
        g_{g, shape.out, shape.axis[1].outputs, shape.axis[2].outputs},
        dw_(dw),
        adds_(adds),
        flat_(is_flat()),
        folds_(g_.width < window_lanes || folds_taps(channels_, taps())),
        strips_(ceil_div(out_, window_tile)),
        chunks_(ceil_div(folds_ ? channels_ * taps() : channels_, window_tile)) {
    cut();
  }

  [[nodiscard]] bool fits() const { return fits_; }
  void run() const {
    ConvScratch& scratch = of_this_thread<ConvScratch>();
    WindowPair* const gradients = scratch.gradient.reserve<WindowPair>(strips_ * strip_size());
    const std::int64_t parts = ceil_div(height(), block_rows_), blocks = ceil_div(batch_, images_) * parts;
    const bool keeps = blocks > 1 || !folds_;
    float* const sums = keeps ? scratch.sums.reserve<float>(units() * unit_sums()) : nullptr;
    // Threads share units, and where these are few, the channels of the result.
    const std::int64_t threads = max_threads(), wanted = threads == 1 ? 1 : ceil_div(2 * threads, units());
    const std::int64_t shares = locus::detail::smaller(wanted, strips_);
    for (std::int64_t group = 0; group < groups_; ++group) {
      for (std::int64_t i = 0; i < blocks; ++i) {
        const std::int64_t image = i / parts * images_, row = i % parts * block_rows_;
        const Block block{group, image, locus::detail::smaller(images_, batch_ - image), row,
                          locus::detail::smaller(block_rows_, height() - row)};
        const std::int64_t at_once = locus::detail::larger(std::int64_t{256} / line_, std::int64_t{1});
        const std::int64_t pieces = ceil_div(block.rows, at_once);
        parallel_for(strips_ * pieces, [&](std::int64_t task) {
          const std::int64_t begin = task % pieces * at_once, end = locus::detail::smaller(begin + at_once, block.rows);
          copy_gradients(block, task / pieces, {begin, end}, gradients + task / pieces * strip_size());
        });
        parallel_for(units() * shares, [&](std::int64_t task) {
          const std::int64_t share = task % shares;
          multiply(block, task / shares, {strips_ * share / shares, strips_ * (share + 1) / shares}, gradients, sums,
                   i > 0, i + 1 == blocks);
        });
      }
      if (!folds_)
        parallel_for(chunks_ * strips_,
                     [&](std::int64_t task) { store_taps(group, task / strips_, task % strips_, sums); });
    }
  }

 private:
  static constexpr std::int64_t tiles = window_tile * window_tile;  ///< the sums of 32 channels of x times 32 of g
  static constexpr std::int64_t most_positions = 2048, wanted_positions = 1024;  ///< of a block

  /// Some rows of windows of some images, of one group.
  struct Block {
    std::int64_t group, image, images, first_row, rows;
  };

  [[nodiscard]] std::int64_t taps() const { return kernel_rows_ * kernel_cols_; }
  /// Units of work: each copies 32 channels, for the sums of some taps.
  [[nodiscard]] std::int64_t units() const { return chunks_ * (folds_ ? 1 : kernel_cols_); }
  [[nodiscard]] std::int64_t unit_taps() const { return folds_ ? 1 : kernel_rows_; }
  [[nodiscard]] std::int64_t unit_sums() const { return unit_taps() * strips_ * tiles; }
  /// Pairs in a strip of 32 channels of gradients.
  [[nodiscard]] std::int64_t strip_size() const { return block_rows_ * line_ / 2 * window_tile; }

  /// Whether whole planes of small images are copied for each tap, as one row.
  [[nodiscard]] bool is_flat() const {
    return rows_.step() == 1 && cols_.step() == 1 && x_.width == g_.width && x_.height == g_.height && x_.width > 0 &&
           window_lanes % x_.width == 0 && x_.width < window_lanes && x_.has_dense_planes() && g_.has_dense_planes();
  }
  [[nodiscard]] std::int64_t height() const { return flat_ ? 1 : g_.height; }
  [[nodiscard]] std::int64_t width() const { return flat_ ? g_.height * g_.width : g_.width; }

  void cut() {
    using locus::detail::larger, locus::detail::smaller;
    const std::int64_t width = this->width(), height = this->height();
    remainders_ = folds_ ? 1 : rows_.remainders();
    halo_ = folds_ ? 0 : rows_.halo();
    const double least = static_cast<double>(window_tile * remainders_) * (static_cast<double>(halo_) + 1) *
                         static_cast<double>(width + window_tile) * sizeof(bfloat16);
    const double gradients = static_cast<double>(strips_ * window_tile) *
                             (static_cast<double>(width) + static_cast<double>(most_positions)) * sizeof(bfloat16);
    fits_ = least <= most_scratch && gradients <= most_scratch;
    if (!fits_) return;
    // Lays rows of so many images side by side that little is lost to padding up to whole steps.
    images_ = smaller(larger(wanted_positions / larger(width * height, std::int64_t{1}), std::int64_t{1}), batch_);
    std::int64_t best = images_;
    const auto filled = [&](std::int64_t images) { return round_up(images * width, window_tile); };
    for (std::int64_t i = images_; i <= batch_ && i <= images_ + window_tile && filled(i) <= most_positions; ++i)
      if (filled(i) * best < filled(best) * i) best = i;
    images_ = best;
    line_ = filled(images_);
    block_rows_ = smaller(larger(most_positions / line_, std::int64_t{1}), height);
    block_rows_ = ceil_div(height, ceil_div(height, block_rows_));
    plane_rows_ = block_rows_ + halo_;
    channel_ = apart(remainders_ * plane_rows_ * line_ + window_tile, window_tile);
    fits_ = static_cast<double>(channel_) * window_tile * sizeof(bfloat16) <= most_scratch;
  }

  /// Rows of gradients of 32 channels: pairs of positions, channels side by side.
  void copy_gradients(const Block& block, std::int64_t strip, Range range, WindowPair* to) const {
    ConvScratch& scratch = of_this_thread<ConvScratch>();
    const std::int64_t first = strip * window_tile, valid = locus::detail::smaller(window_tile, out_ - first);
    const std::int64_t at = block.first_row + range.begin, size = range.size() * line_;
    const std::int64_t channel_size = apart(size, window_tile), written = block.images * width();
    bfloat16* const rows = scratch.result.reserve<bfloat16>(window_tile * channel_size);
    const WindowGrid grid{height(), width(), plane_row(g_), 1, 1, range.size(), width()};
    for (std::int64_t c = 0; c < window_tile; ++c) {
      bfloat16* const target = rows + c * channel_size;
      if (c >= valid || written < line_)
        std::memset(static_cast<void*>(target), 0, static_cast<std::size_t>(size) * sizeof(bfloat16));
      for (std::int64_t i = 0; i < block.images && c < valid; ++i) {
        const std::int64_t channel = block.group * out_ + first + c;
        const bfloat16* const plane = plane_of(g_, block.image + i, channel, at, range.size(), scratch.tiles);
        avx512_bf16::copy_rows(grid, {plane, at, 0}, target + i * width(), line_);
      }
    }
    to += range.begin * line_ / 2 * window_tile;
    for (std::int64_t p = 0; p < size; p += window_tile, to += window_lanes * window_tile)
      for (std::int64_t c = 0; c < window_tile; c += window_lanes)
        avx512_bf16::transpose_pairs(rows + c * channel_size + p, channel_size, to + c, window_tile);
  }

  void multiply(const Block& block, std::int64_t unit, Range strips, const WindowPair* gradients, float* sums,
                bool adds, bool is_last) const {
    ConvScratch& scratch = of_this_thread<ConvScratch>();
    const std::int64_t chunk = folds_ ? unit : unit / kernel_cols_, first = chunk * window_tile;
    const std::int64_t all = folds_ ? channels_ * taps() : channels_;
    const std::int64_t valid = locus::detail::smaller(window_tile, all - first);
    bfloat16* const copied = scratch.images.reserve<bfloat16>(window_tile * channel_);
    for (std::int64_t c = 0; c < valid; ++c) copy_channel(block, unit, first + c, copied + c * channel_);
    const std::int64_t start = 0;
    alignas(64) float one[tiles];
    kernels_.begin();
    for (std::int64_t strip = strips.begin; strip < strips.end; ++strip) {
      const WindowPair* const right = gradients + strip * strip_size();
      const bool wide = out_ - strip * window_tile > window_lanes;
      for (std::int64_t i = 0; i < unit_taps(); ++i) {
        const std::int64_t down = rows_.shift(0, static_cast<int>(i));
        const std::int64_t offset = folds_ ? 0 : (rows_.remainder_of(down) * plane_rows_ + rows_.row_of(down)) * line_;
        float* const out = sums ? sums + unit * unit_sums() + (i * strips_ + strip) * tiles : one;
        kernels_.product[valid > window_lanes][wide]({copied + offset,
                                                      channel_,
                                                      window_depth,
                                                      {right, right + window_lanes},
                                                      window_tile,
                                                      &start,
                                                      1,
                                                      block.rows * line_ / window_depth,
                                                      {out, out + window_lanes},
                                                      window_tile,
                                                      adds});
        if (folds_ && is_last) store(block.group, chunk, strip, out);
      }
    }
    kernels_.end();
  }

  /// The rows of a channel, or of a channel's tap, at the windows of a block and beyond.
  void copy_channel(const Block& block, std::int64_t unit, std::int64_t index, bfloat16* to) const {
    const std::int64_t tap = folds_ ? index % taps() : unit % kernel_cols_;
    const std::int64_t channel = block.group * channels_ + (folds_ ? index / taps() : index);
    const std::int64_t shift = cols_.shift(0, static_cast<int>(tap % kernel_cols_));
    const std::int64_t row_shift = folds_ ? rows_.shift(0, static_cast<int>(tap / kernel_cols_)) : 0;
    const std::int64_t rows = block.rows + halo_, written = block.images * width();
    WindowGrid grid{x_.height, x_.width, plane_row(x_), rows_.step(), cols_.step(), rows, g_.width};
    if (flat_) {
      grid = {1, width(), 0, 1, 1, 1, width()};
      grid.lanes = lanes_inside(x_.width, shift);
    }
    for (std::int64_t remainder = 0; remainder < remainders_; ++remainder) {
      const std::int64_t first =
          folds_ ? block.first_row * rows_.step() + row_shift : rows_.source_of(block.first_row, remainder, 0);
      bfloat16* const plane = to + remainder * plane_rows_ * line_;
      for (std::int64_t i = 0; i < block.images; ++i) {
        const bfloat16* const from = plane_of(x_, block.image + i, channel, first, (rows - 1) * rows_.step() + 1,
                                              of_this_thread<ConvScratch>().tiles);
        avx512_bf16::copy_rows(
            grid, flat_ ? WindowRows{from, 0, row_shift * x_.width + shift} : WindowRows{from, first, shift},
            plane + i * width(), line_);
      }
      for (std::int64_t row = 0; row < rows && written < line_; ++row)
        std::memset(static_cast<void*>(plane + row * line_ + written), 0,
                    static_cast<std::size_t>(line_ - written) * sizeof(bfloat16));
    }
  }

  /// dw of 32 channels of the input, or of their taps, and of the result.
  void store(std::int64_t group, std::int64_t chunk, std::int64_t strip, const float* sums) const {
    const std::int64_t depth = channels_ * taps(), first = chunk * window_tile;
    const std::int64_t ins = locus::detail::smaller(window_tile, depth - first);
    const std::int64_t outs = locus::detail::smaller(window_tile, out_ - strip * window_tile);
    for (std::int64_t o = 0; o < outs; o += window_lanes)
      for (std::int64_t c = 0; c < ins; c += window_lanes)
        avx512_bf16::store_transposed(sums + c * window_tile + o, window_tile, nullptr,
                                      locus::detail::smaller(window_lanes, outs - o),
                                      locus::detail::smaller(window_lanes, ins - c),
                                      dw_ + (group * out_ + strip * window_tile + o) * depth + first + c, depth, adds_);
  }
  /// The same where the sums of taps lie apart.
  void store_taps(std::int64_t group, std::int64_t chunk, std::int64_t strip, const float* sums) const {
    const std::int64_t depth = channels_ * taps(), first = chunk * window_tile;
    const std::int64_t ins = locus::detail::smaller(window_tile, channels_ - first);
    const std::int64_t outs = locus::detail::smaller(window_tile, out_ - strip * window_tile);
    const float* const from = sums + chunk * kernel_cols_ * unit_sums() + strip * tiles;
    for (std::int64_t o = 0; o < outs; ++o) {
      bfloat16* to = dw_ + (group * out_ + strip * window_tile + o) * depth + first * taps();
      for (std::int64_t c = 0; c < ins; ++c)
        for (std::int64_t i = 0; i < kernel_rows_; ++i)
          for (std::int64_t j = 0; j < kernel_cols_; ++j, ++to) {
            const float sum = from[j * unit_sums() + i * strips_ * tiles + c * window_tile + o];
            *to = from_register<bfloat16>(adds_ ? sum + load_as_register(*to) : sum);
          }
    }
  }

  const WindowKernels& kernels_;
  WindowAxis rows_, cols_;
  std::int64_t batch_, groups_, channels_, out_, kernel_rows_, kernel_cols_;
  WordImages x_, g_;
  bfloat16* dw_;
  bool adds_, flat_, folds_, fits_ = false;
  std::int64_t strips_, chunks_;  ///< of 32 channels of g and of x
  /// Sizes of the copy of a channel: remainders of rows, rows of the halo, rows of a plane (block and halo), length of
  /// a row (of all images), total.
  std::int64_t remainders_ = 1, halo_ = 0, plane_rows_ = 0, line_ = 0, channel_ = 0;
  std::int64_t block_rows_ = 1, images_ = 1;  ///< of a block, at most
};

}}}  // namespace locus::LOCUS_ABI::cpu::detail
