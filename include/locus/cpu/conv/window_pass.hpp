#pragma once
// The value of a convolution of bfloat16, and the gradient of its input, as products of weights and windows. The
// channels of a block of images are copied in pairs, once for each tap along rows, so that a tap's elements of 16
// results lie side by side. With few channels, all taps are copied, as further channels. The gradient of the input is a
// convolution for each remainder of the strides. One thread computes each result, in float, in an order that depends on
// the shape alone.

#include <locus/cpu/conv/window_axis.hpp>
#include <locus/cpu/conv/window_kernels.hpp>
#include <locus/cpu/conv/window_rows.hpp>
#include <locus/cpu/threads/parallel.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Elements between planes: an odd number of cache lines, lest they share lines of a cache.
[[nodiscard]] inline std::int64_t apart(std::int64_t elements, std::int64_t line) {
  return (ceil_div(elements, line) | 1) * line;
}

/// Whether so few channels fill no more than half of a step, so that taps are folded into the depth.
[[nodiscard]] inline bool folds_taps(std::int64_t channels, std::int64_t taps) {
  return channels <= window_depth / 2 && taps > 1;
}

class WindowPass {
 public:
  WindowPass(const WindowKernels& kernels, const ConvShape& shape, const ConvImages<const bfloat16>& x,
             const bfloat16* w, const bfloat16* bias, const ConvImages<bfloat16>& y, bool adds, bool adjoint)
      : kernels_(kernels),
        rows_(shape.axis[1], adjoint),
        cols_(shape.axis[2], adjoint),
        adjoint_(adjoint),
        batch_(shape.batch),
        groups_(shape.groups),
        channels_(adjoint ? shape.group_out() : shape.group_in()),
        out_(adjoint ? shape.group_in() : shape.group_out()),
        kernel_cols_(shape.axis[2].kernel),
        taps_(shape.axis[1].kernel * kernel_cols_),
        x_{x, channels_ * groups_, rows_.given(), cols_.given()},
        w_(w),
        bias_(bias),
        y_(y),
        adds_(adds),
        folds_(!adjoint && folds_taps(channels_, taps_)),
        strips_(ceil_div(out_, window_tile)) {
    cut();
  }

  [[nodiscard]] bool fits() const { return fits_; }
  void run() const {
    const std::int64_t strip = taps_in_runs() * steps_ * window_tile * window_depth;
    bfloat16* const weights = of_this_thread<ConvScratch>().weights.reserve<bfloat16>(groups_ * strips_ * strip);
    parallel_for(groups_ * strips_, [&](std::int64_t task) { pack(task, weights + task * strip); });
    const std::int64_t parts = ceil_div(rows_.positions(), block_rows_), blocks = ceil_div(batch_, images_) * parts;
    // If blocks are few, threads share the results of a block: every thread copies the block's images.
    const std::int64_t wanted = ceil_div(std::int64_t{2} * max_threads(), blocks * groups_);
    const std::int64_t shares = max_threads() == 1 ? 1 : locus::detail::smaller(wanted, strips_);
    parallel_for(groups_ * blocks * shares, [&](std::int64_t task) {
      const std::int64_t share = task % shares, group = task / shares / blocks, block = task / shares % blocks;
      const std::int64_t image = block / parts * images_, row = block % parts * block_rows_;
      const Block of{group,
                     image,
                     locus::detail::smaller(images_, batch_ - image),
                     row,
                     locus::detail::smaller(block_rows_, rows_.positions() - row),
                     {strips_ * share / shares, strips_ * (share + 1) / shares}};
      compute(of, weights + group * strips_ * strip, strip);
    });
  }

 private:
  static constexpr std::int64_t most_positions = 1024;  ///< of a block
  static constexpr double block_bytes = 1 << 20;        ///< of the copies for a block

  /// Positions of some rows of some images, and strips of 32 channels of the result.
  struct Block {
    std::int64_t group, image, images, first_row, rows;
    Range strips;
  };

  [[nodiscard]] std::int64_t taps_in_runs() const { return folds_ ? 1 : taps_; }

  /// Chooses blocks.
  void cut() {
    using locus::detail::larger, locus::detail::smaller;
    depth_ = round_up(folds_ ? channels_ * taps_ : channels_, window_depth), steps_ = depth_ / window_depth;
    line_ = cols_.positions();
    choose_copies();
    const double pairs = static_cast<double>(depth_) / 2;
    const double row = pairs * sizeof(WindowPair) * static_cast<double>(planes_) * static_cast<double>(pitch_);
    const double results =
        static_cast<double>(cols_.classes()) * window_tile * sizeof(float) * static_cast<double>(line_);
    const bool few = rows_.classes() <= WindowAxis::most_classes && cols_.classes() <= WindowAxis::most_classes;
    fits_ = few && (static_cast<double>(halo_) + 1) * row + results + pairs * 1024 <= most_scratch;
    if (!fits_) return;
    const double affordable = block_bytes / row - static_cast<double>(halo_);
    std::int64_t most = larger(most_positions / line_, std::int64_t{1});
    most = affordable < 1 ? 1 : smaller(most, static_cast<std::int64_t>(affordable));
    block_rows_ = smaller(most, rows_.positions());
    block_rows_ = ceil_div(rows_.positions(), ceil_div(rows_.positions(), block_rows_));
    plane_rows_ = block_rows_ + halo_;
    // Tiles are read, and borders written, beyond the last row.
    const std::int64_t beyond =
        pads_ ? border_ + 2 * window_lanes : round_up(block_rows_ * line_, window_lanes) - block_rows_ * line_;
    plane_ = apart(planes_ * plane_rows_ * pitch_ + beyond, window_lanes);
    images_ = 1;
    if (block_rows_ == rows_.positions()) {
      const double image = pairs * sizeof(WindowPair) * static_cast<double>(plane_);
      images_ = smaller(most_positions / larger(block_rows_ * line_, std::int64_t{1}),
                        static_cast<std::int64_t>(block_bytes / image));
      images_ = smaller(larger(images_, std::int64_t{1}), batch_);
      images_ = ceil_div(batch_, ceil_div(batch_, images_));
    }
  }
  /// Rows of many positions are copied once, with their border, and read at any shift. Other rows are copied for each
  /// tap; if 16 positions are whole rows, and planes are dense, several rows at once.
  void choose_copies() {
    pitch_ = line_;
    planes_ = halo_ = 0;
    if (folds_) {
      planes_ = 1;
      return;
    }
    halo_ = rows_.halo();
    planes_ = cols_.copies() * rows_.remainders();
    const std::int64_t least = cols_.shift_of_copy(0), most = cols_.shift_of_copy(cols_.copies() - 1);
    const std::int64_t before = locus::detail::larger<std::int64_t>(-least, 0);
    const std::int64_t border = locus::detail::larger(before, line_ + most - x_.width);
    if (cols_.step() != 1) return;
    if (line_ >= window_lanes && 5 * round_up(line_, window_lanes) <= 6 * line_ && border <= window_lanes) {
      pads_ = true, border_ = before, planes_ = rows_.remainders();
      pitch_ = x_.width + locus::detail::larger<std::int64_t>(border, 0);
    } else if (rows_.step() == 1 && line_ == x_.width && window_lanes % line_ == 0 && x_.has_dense_planes()) {
      flat_ = true;
    }
  }

  /// Weights of 32 results as (class of rows, class of columns, tap, step, result, 32 of the depth).
  void pack(std::int64_t task, bfloat16* to) const {
    const std::int64_t group = task / strips_, first = task % strips_ * window_tile;
    const std::int64_t valid = locus::detail::smaller(window_tile, out_ - first);
    const bfloat16* const from = w_ + group * channels_ * out_ * taps_;
    if (folds_) return pack_tap(from + first * channels_ * taps_, channels_ * taps_, 1, channels_ * taps_, valid, to);
    const std::int64_t result = adjoint_ ? taps_ : channels_ * taps_, channel = adjoint_ ? out_ * taps_ : taps_;
    for_each_class([&](int a, int b) {
      for (int i = 0; i < rows_.taps(a); ++i)
        for (int j = 0; j < cols_.taps(b); ++j, to += steps_ * window_tile * window_depth) {
          const std::int64_t tap = rows_.tap(a, i) * kernel_cols_ + cols_.tap(b, j);
          pack_tap(from + first * result + tap, result, channel, channels_, valid, to);
        }
    });
  }
  void pack_tap(const bfloat16* from, std::int64_t result, std::int64_t channel, std::int64_t channels,
                std::int64_t valid, bfloat16* to) const {
    for (std::int64_t c = 0; c < depth_; c += window_depth, to += window_tile * window_depth) {
      const std::int64_t count = locus::detail::smaller(window_depth, channels - c);
      if (count < window_depth || valid < window_tile)
        std::memset(static_cast<void*>(to), 0, window_tile * window_depth * sizeof(bfloat16));
      for (std::int64_t i = 0; i < valid; ++i)
        for (std::int64_t k = 0; k < count; ++k) to[i * window_depth + k] = from[i * result + (c + k) * channel];
    }
  }

  template <class F>
  void for_each_class(const F& f) const {
    for (int a = 0; a < rows_.classes(); ++a)
      for (int b = 0; b < cols_.classes(); ++b) f(a, b);
  }

  void compute(const Block& block, const bfloat16* weights, std::int64_t strip_size) const {
    ConvScratch& scratch = of_this_thread<ConvScratch>();
    const std::int64_t image = depth_ / 2 * plane_;
    WindowPair* const copied = scratch.images.reserve<WindowPair>(block.images * image);
    for (std::int64_t i = 0; i < block.images; ++i) copy_image(block, i, copied + i * image);
    std::int64_t* const runs = scratch.taps.reserve<std::int64_t>(taps_);
    kernels_.begin();
    for (std::int64_t strip = block.strips.begin; strip < block.strips.end; ++strip) {
      const std::int64_t first = strip * window_tile, valid = locus::detail::smaller(window_tile, out_ - first);
      float bias[window_tile] = {};
      if (bias_)
        for (std::int64_t i = 0; i < valid; ++i) bias[i] = load_as_register(bias_[block.group * out_ + first + i]);
      const bfloat16* left = weights + strip * strip_size;
      for (int a = 0; a < rows_.classes(); ++a) {
        const std::int64_t rows =
            locus::detail::smaller(block.first_row + block.rows, rows_.positions(a)) - block.first_row;
        for (int b = 0; b < cols_.classes(); ++b) {
          const std::int64_t taps = folds_ ? 1 : list_runs(a, b, runs);
          if (folds_) runs[0] = 0;
          if (rows > 0) multiply(block, {left, copied, runs, taps, rows}, valid, first, bias, b);
          left += taps * steps_ * window_tile * window_depth;
        }
        if (rows > 0 && weaves()) weave(block, a, rows, valid, first, bias);
      }
    }
    kernels_.end();
  }

  /// For each pair of channels, copies planes by copies and by remainders of the rows.
  void copy_image(const Block& block, std::int64_t index, WindowPair* to) const {
    ConvScratch& scratch = of_this_thread<ConvScratch>();
    const std::int64_t image = block.image + index, depth = folds_ ? channels_ * taps_ : channels_;
    const std::int64_t copies = folds_ || pads_ ? 1 : cols_.copies(), remainders = folds_ ? 1 : rows_.remainders();
    const std::int64_t rows = block.rows + halo_;
    WindowGrid grid{x_.height, x_.width, plane_row(x_), rows_.step(), cols_.step(), rows, line_};
    if (flat_) {
      grid = {1, x_.height * x_.width, 0, 1, 1, 1, rows * line_};
    } else if (pads_) {
      grid.count = x_.width;
    }
    // A copy that begins at this row of the image, with this shift of columns.
    const auto rows_of = [&](std::int64_t d, std::int64_t row, std::int64_t shift, Scratch& room) {
      if (d >= depth) return WindowRows{nullptr, 0, 0};
      const std::int64_t channel = block.group * channels_ + (folds_ ? d / taps_ : d);
      const bfloat16* const plane = plane_of(x_, image, channel, row, (grid.rows - 1) * grid.row_step + 1, room);
      return flat_ ? WindowRows{plane, 0, row * line_ + shift} : WindowRows{plane, row, shift};
    };
    const auto tap_of = [&](std::int64_t d, Scratch& room) {
      const std::int64_t tap = d % taps_;
      return rows_of(d, block.first_row * rows_.step() + rows_.shift(0, static_cast<int>(tap / kernel_cols_)),
                     cols_.shift(0, static_cast<int>(tap % kernel_cols_)), room);
    };
    for (std::int64_t d = 0; d < depth_; d += 2, to += plane_) {
      if (d >= depth) {
        std::memset(to, 0, static_cast<std::size_t>(plane_) * sizeof(WindowPair));
      } else if (folds_) {
        avx512_bf16::pair_rows(grid, tap_of(d, scratch.tiles), tap_of(d + 1, scratch.products), to, line_, false);
      } else {
        for (std::int64_t copy = 0; copy < copies; ++copy) {
          const std::int64_t shift = pads_ ? 0 : cols_.shift_of_copy(copy);
          if (flat_) grid.lanes = lanes_inside(line_, shift);
          for (std::int64_t remainder = 0; remainder < remainders; ++remainder) {
            const std::int64_t row = rows_.source_of(block.first_row, remainder, 0);
            WindowPair* const plane = to + (copy * remainders + remainder) * plane_rows_ * pitch_;
            std::memset(plane, 0, static_cast<std::size_t>(border_) * sizeof(WindowPair));
            avx512_bf16::pair_rows(grid, rows_of(d, row, shift, scratch.tiles),
                                   rows_of(d + 1, row, shift, scratch.products), plane + border_, pitch_, pads_);
          }
        }
      }
    }
  }
  /// Where the taps of a class begin in the copy of a pair of channels.
  std::int64_t list_runs(int a, int b, std::int64_t* runs) const {
    std::int64_t count = 0;
    for (int i = 0; i < rows_.taps(a); ++i) {
      const std::int64_t down = rows_.shift(a, i);
      for (int j = 0; j < cols_.taps(b); ++j, ++count) {
        const std::int64_t across = cols_.shift(b, j), copy = pads_ ? 0 : cols_.copy_of(across);
        const std::int64_t row =
            (copy * rows_.remainders() + rows_.remainder_of(down)) * plane_rows_ + rows_.row_of(down);
        runs[count] = row * pitch_ + (pads_ ? border_ + across : 0);
      }
    }
    return count;
  }

  /// Operands of the products of a class.
  struct Operands {
    const bfloat16* left;
    const WindowPair* copied;
    const std::int64_t* runs;
    std::int64_t taps, rows;
  };
  /// Without classes the results are stored; otherwise the sums of a class of columns, for weave().
  void multiply(const Block& block, const Operands& of, std::int64_t valid, std::int64_t first, const float* bias,
                int col_class) const {
    const bool weaves = this->weaves();
    alignas(64) float sums[window_tile * window_tile];
    WindowTile tile{of.left,     window_depth, window_tile * window_depth, {}, plane_, of.runs, of.taps, steps_, {},
                    window_tile, false};
    float* planes = nullptr;
    if (weaves) {
      tile.out_row = sums_row();
      planes = of_this_thread<ConvScratch>().result.reserve<float>(cols_.classes() * window_tile * sums_row()) +
               col_class * window_tile * sums_row();
    }
    const std::int64_t run = pads_ ? line_ : of.rows * line_, in_run = ceil_div(run, window_lanes);
    const std::int64_t per_image = tiles_of(of.rows), tiles = per_image * block.images;
    const auto place = [&](std::int64_t t) {
      const std::int64_t image = t / per_image, row = t % per_image / in_run,
                         at = t % per_image % in_run * window_lanes;
      return Place{image, row, at, locus::detail::smaller(window_lanes, run - at)};
    };
    for (std::int64_t t = 0; t < tiles; t += 2) {
      const int count = t + 1 < tiles ? 2 : 1;
      for (int n = 0; n < count; ++n) {
        const Place at = place(t + n);
        tile.right[n] = of.copied + at.image * (depth_ / 2) * plane_ + at.row * pitch_ + at.position;
        tile.out[n] = weaves ? planes + (t + n) * window_lanes : sums + n * window_lanes;
      }
      kernels_.product[valid > window_lanes][count - 1](tile);
      for (int n = 0; n < count && !weaves; ++n) {
        const Place at = place(t + n);
        bfloat16* const to =
            y_.at(block.image + at.image, block.group * out_ + first, block.first_row + at.row, at.position);
        if (!y_.is_channels_last()) {
          avx512_bf16::store_sums(tile.out[n], window_tile, bias, valid, at.count, to, y_.stride[1], adds_);
          continue;
        }
        for (std::int64_t c = 0; c < valid; c += window_lanes)
          avx512_bf16::store_transposed(tile.out[n] + c * window_tile, window_tile, bias + c, at.count,
                                        locus::detail::smaller(window_lanes, valid - c), to + c, y_.stride[4], adds_);
      }
    }
  }
  struct Place {
    std::int64_t image, row, position, count;
  };
  /// Tiles of the positions of `rows` rows: row by row with a border, otherwise of all rows together.
  [[nodiscard]] std::int64_t tiles_of(std::int64_t rows) const {
    return pads_ ? rows * ceil_div(line_, window_lanes) : ceil_div(rows * line_, window_lanes);
  }
  /// Whether the results of a class do not lie side by side.
  [[nodiscard]] bool weaves() const { return rows_.classes() * cols_.classes() > 1; }
  /// Size of the sums of a class of columns, for one channel.
  [[nodiscard]] std::int64_t sums_row() const {
    return apart((images_ * tiles_of(block_rows_) + 1) * window_lanes, window_lanes);
  }

  /// Stores rows of a class, weaving the columns of all classes.
  void weave(const Block& block, int a, std::int64_t rows, std::int64_t valid, std::int64_t first,
             const float* bias) const {
    const std::int64_t row = sums_row(), per_image = tiles_of(rows) * window_lanes;
    const std::int64_t line = pads_ ? round_up(line_, window_lanes) : line_;
    const int classes = cols_.classes();
    const float* const sums = of_this_thread<ConvScratch>().result.reserve<float>(classes * window_tile * row);
    const std::int64_t width = cols_.results();
    for (std::int64_t image = 0; image < block.images; ++image)
      for (std::int64_t c = 0; c < valid; ++c)
        for (std::int64_t i = 0; i < rows; ++i) {
          bfloat16* const to = y_.at(block.image + image, block.group * out_ + first + c,
                                     rows_.first(a) + (block.first_row + i) * rows_.classes(), 0);
          const float* const from = sums + c * row + image * per_image + i * line;
          if (classes == 2 && !y_.is_channels_last()) {
            const int even = cols_.first(0) == 0 ? 0 : 1;
            avx512_bf16::store_woven(from + even * window_tile * row, from + (1 - even) * window_tile * row, bias[c],
                                     width, to, adds_);
            continue;
          }
          for (int b = 0; b < classes; ++b) {
            const std::int64_t count = cols_.positions(b);
            bfloat16* const element = to + cols_.first(b) * y_.stride[4];
            for (std::int64_t j = 0; j < count; ++j) {
              bfloat16& target = element[j * classes * y_.stride[4]];
              const float sum = from[b * window_tile * row + j] + bias[c];
              target = from_register<bfloat16>(adds_ ? sum + load_as_register(target) : sum);
            }
          }
        }
  }

  const WindowKernels& kernels_;
  WindowAxis rows_, cols_;
  bool adjoint_;
  std::int64_t batch_, groups_, channels_, out_, kernel_cols_, taps_;
  WordImages x_;
  const bfloat16 *w_, *bias_;
  ConvImages<bfloat16> y_;
  bool adds_, folds_, pads_ = false, flat_ = false, fits_ = false;
  std::int64_t strips_;
  std::int64_t depth_ = 0, steps_ = 0;
  /// Positions of a row. Of the copy of a pair of channels: distance between rows, elements of the border before the
  /// first one, planes, rows of a plane (block and halo), rows of the halo, total.
  std::int64_t line_ = 0, pitch_ = 0, border_ = 0, planes_ = 0, plane_rows_ = 0, halo_ = 0, plane_ = 0;
  std::int64_t block_rows_ = 1, images_ = 1;  ///< of a block, at most
};

}}}  // namespace locus::LOCUS_ABI::cpu::detail
