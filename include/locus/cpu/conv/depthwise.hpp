#pragma once
// Depthwise convolutions of few groups, which would leave the lanes of depthwise_lanes.hpp empty: one input channel and
// few output channels per group. A plane is copied as floats with its border, split by remainders of the strides, so
// that a tap has the same offset from all results: loops run over rows and borders alike. One thread computes each
// result, in an order that depends on the shape alone.

#include <locus/cpu/conv/pass.hpp>
#include <locus/cpu/conv/window_axis.hpp>
#include <locus/cpu/isa.hpp>
#include <locus/cpu/threads/parallel.hpp>

#include <cstring>

LOCUS_LOOPS_BEGIN
namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// Working memory of a thread.
struct DepthwiseScratch {
  Scratch plane, gradient, sums, offsets;
};

/// sums[i] += w0 * x0[i] + w1 * x1[i] + w2 * x2[i]
LOCUS_FN void add_three_taps(const float* x0, const float* x1, const float* x2, float w0, float w1, float w2,
                             std::int64_t count, float* sums) {
  LOCUS_IVDEP
  for (std::int64_t i = 0; i < count; ++i) sums[i] += w0 * x0[i] + w1 * x1[i] + w2 * x2[i];
}
LOCUS_FN void add_tap(const float* x, float w, std::int64_t count, float* sums) {
  LOCUS_IVDEP
  for (std::int64_t i = 0; i < count; ++i) sums[i] += w * x[i];
}
/// The sums of g[i] * x0[i], g[i] * x1[i] and g[i] * x2[i], over a multiple of 16 elements.
LOCUS_FN void dot_three_taps(const float* g, const float* x0, const float* x1, const float* x2, std::int64_t count,
                             float* sums) {
  typedef float Lanes __attribute__((vector_size(64)));
  typedef float InMemory __attribute__((vector_size(64), aligned(4), may_alias));
  Lanes lanes[3] = {};
  for (std::int64_t i = 0; i < count; i += 16) {
    const Lanes gradient = *reinterpret_cast<const InMemory*>(g + i);
    lanes[0] += gradient * *reinterpret_cast<const InMemory*>(x0 + i);
    lanes[1] += gradient * *reinterpret_cast<const InMemory*>(x1 + i);
    lanes[2] += gradient * *reinterpret_cast<const InMemory*>(x2 + i);
  }
  for (int t = 0; t < 3; ++t) {
    float sum = 0;
    for (int i = 0; i < 16; ++i) sum += lanes[t][i];
    sums[t] = sum;
  }
}
/// to[i] = from[i * step]
template <class T>
LOCUS_FN void load_elements(const T* from, std::int64_t step, std::int64_t count, float* to) {
  if (step == 1) {
    LOCUS_IVDEP
    for (std::int64_t i = 0; i < count; ++i) to[i] = load_as_register(from[i]);
  } else {
    LOCUS_IVDEP
    for (std::int64_t i = 0; i < count; ++i) to[i] = load_as_register(from[i * step]);
  }
}
/// to[i * step] (+)= from[i]
template <class T>
LOCUS_FN void store_elements(const float* from, std::int64_t count, T* to, std::int64_t step, bool adds) {
  if (adds) {
    LOCUS_IVDEP
    for (std::int64_t i = 0; i < count; ++i) to[i * step] = from_register<T>(load_as_register(to[i * step]) + from[i]);
  } else if (step == 1) {
    LOCUS_IVDEP
    for (std::int64_t i = 0; i < count; ++i) to[i] = from_register<T>(from[i]);
  } else {
    LOCUS_IVDEP
    for (std::int64_t i = 0; i < count; ++i) to[i * step] = from_register<T>(from[i]);
  }
}

/// Copies of the planes that windows read: rows and columns split by remainders, all with one pitch.
template <class T>
class DepthwisePlanes {
 public:
  /// beside: floats that a thread has for each position, besides the planes
  DepthwisePlanes(const ConvShape& shape, const ConvImages<const T>& x, bool adjoint, std::int64_t beside)
      : rows(shape.axis[1], adjoint), cols(shape.axis[2], adjoint), x_(x) {
    using locus::detail::larger, locus::detail::smaller;
    pitch = cols.positions() + cols.halo();
    planes_ = rows.remainders() * cols.remainders();
    const double row = static_cast<double>(planes_) * static_cast<double>(pitch),
                 halo = static_cast<double>(rows.halo());
    const double least = (halo + 1) * row + static_cast<double>(beside) * static_cast<double>(pitch);
    fits = least * sizeof(float) <= most_scratch && rows.classes() <= WindowAxis::most_classes &&
           cols.classes() <= WindowAxis::most_classes;
    if (!fits) return;
    const double affordable = block_elements / row - halo;
    block_rows = affordable < 1 ? 1 : smaller(static_cast<std::int64_t>(affordable), rows.positions());
    block_rows = ceil_div(rows.positions(), ceil_div(rows.positions(), block_rows));
    plane_rows_ = block_rows + rows.halo();
  }

  [[nodiscard]] std::int64_t parts() const { return ceil_div(rows.positions(), block_rows); }
  [[nodiscard]] std::int64_t rows_of(std::int64_t part) const {
    return locus::detail::smaller(block_rows, rows.positions() - part * block_rows);
  }
  /// Where tap (i, j) of class (a, b) begins in a copy.
  [[nodiscard]] std::int64_t offset(int a, int i, int b, int j) const {
    const std::int64_t down = rows.shift(a, i), across = cols.shift(b, j);
    const std::int64_t plane = rows.remainder_of(down) * cols.remainders() + cols.remainder_of(across);
    return (plane * plane_rows_ + rows.row_of(down)) * pitch + cols.row_of(across);
  }
  /// Copies a block of a channel, with zeros where loops read beyond it.
  [[nodiscard]] const float* copy(std::int64_t image, std::int64_t channel, std::int64_t part, Scratch& scratch) const {
    const std::int64_t size = planes_ * plane_rows_ * pitch + pitch + 16;
    float* const to = scratch.reserve<float>(size);
    std::memset(to, 0, static_cast<std::size_t>(size) * sizeof(float));
    const T* const from = x_.data + image * x_.stride[0] + channel * x_.stride[1];
    const std::int64_t height = rows.given(), width = cols.given(), step = cols.step();
    for (std::int64_t plane = 0; plane < planes_; ++plane)
      for (std::int64_t row = 0; row < rows_of(part) + rows.halo(); ++row) {
        const std::int64_t source = rows.source_of(part * block_rows, plane / cols.remainders(), row);
        const std::int64_t first = cols.source_of(0, plane % cols.remainders(), 0);
        const std::int64_t begin = first >= 0 ? 0 : ceil_div(-first, step);
        const std::int64_t end = locus::detail::smaller(pitch, first < width ? ceil_div(width - first, step) : 0);
        if (source < 0 || source >= height || begin >= end) continue;
        Versions<&load_elements<T>>::call(from + source * x_.stride[3] + (first + begin * step) * x_.stride[4],
                                          step * x_.stride[4], end - begin,
                                          to + (plane * plane_rows_ + row) * pitch + begin);
      }
    return to;
  }

  WindowAxis rows, cols;
  std::int64_t pitch = 0, block_rows = 1;
  bool fits = false;

 private:
  static constexpr double block_elements = 1 << 14;  ///< of the planes, where a row of results needs no more

  ConvImages<const T> x_;
  std::int64_t planes_ = 1, plane_rows_ = 0;
};

/// The value of a depthwise convolution, or the gradient of its input.
template <class T>
class DepthwisePass {
 public:
  DepthwisePass(const ConvShape& shape, const ConvImages<const T>& x, const T* w, const T* bias, const ConvImages<T>& y,
                bool adds, bool adjoint)
      : planes_(shape, x, adjoint,
                adjoint ? std::int64_t{shape.axis[1].stride} * shape.axis[2].stride : shape.group_out()),
        batch_(shape.batch),
        given_(adjoint ? shape.out : shape.in),
        out_(adjoint ? shape.in : shape.out),
        taps_(shape.taps()),
        kernel_cols_(shape.axis[2].kernel),
        w_(w),
        bias_(bias),
        y_(y),
        adds_(adds) {}

  [[nodiscard]] bool fits() const { return planes_.fits; }
  void run() const {
    const std::int64_t channels = locus::detail::smaller(given_, out_), parts = planes_.parts();
    parallel_for(batch_ * channels * parts,
                 [&](std::int64_t task) { compute(task / parts / channels, task / parts % channels, task % parts); });
  }

 private:
  /// The results of a group: several from its only given channel, or one from all its given channels.
  void compute(std::int64_t image, std::int64_t group, std::int64_t part) const {
    const std::int64_t channels = locus::detail::smaller(given_, out_), given = given_ / channels,
                       outs = out_ / channels;
    DepthwiseScratch& scratch = of_this_thread<DepthwiseScratch>();
    const std::int64_t rows = planes_.rows_of(part), count = rows * planes_.pitch;
    const int classes = planes_.rows.classes() * planes_.cols.classes();
    float* const sums = scratch.sums.reserve<float>(outs * classes * count);
    for (std::int64_t o = 0; o < outs; ++o)
      for (std::int64_t i = 0; i < classes * count; ++i)
        sums[o * classes * count + i] = bias_ ? load_as_register(bias_[group * outs + o]) : 0.f;
    for (std::int64_t i = 0; i < given; ++i) {
      const float* const plane = planes_.copy(image, group * given + i, part, scratch.plane);
      for (std::int64_t o = 0; o < outs; ++o)
        for (int c = 0; c < classes; ++c)
          add(plane, w_ + (group * given * outs + i + o) * taps_, c, count, sums + (o * classes + c) * count);
    }
    for (std::int64_t o = 0; o < outs; ++o)
      for (int c = 0; c < classes; ++c) store(image, group * outs + o, c, part, rows, sums + (o * classes + c) * count);
  }

  void add(const float* plane, const T* w, int of_class, std::int64_t count, float* sums) const {
    const int a = of_class / planes_.cols.classes(), b = of_class % planes_.cols.classes();
    const int across = planes_.cols.taps(b), taps = planes_.rows.taps(a) * across;
    const auto at = [&](int t) { return plane + planes_.offset(a, t / across, b, t % across); };
    const auto weight = [&](int t) {
      return load_as_register(w[planes_.rows.tap(a, t / across) * kernel_cols_ + planes_.cols.tap(b, t % across)]);
    };
    int t = 0;
    for (; t + 3 <= taps; t += 3)
      Versions<&add_three_taps>::call(at(t), at(t + 1), at(t + 2), weight(t), weight(t + 1), weight(t + 2), count,
                                      sums);
    for (; t < taps; ++t) Versions<&add_tap>::call(at(t), weight(t), count, sums);
  }
  void store(std::int64_t image, std::int64_t channel, int of_class, std::int64_t part, std::int64_t rows,
             const float* sums) const {
    const WindowAxis &down = planes_.rows, &across = planes_.cols;
    const int a = of_class / across.classes(), b = of_class % across.classes();
    const std::int64_t first = part * planes_.block_rows;
    for (std::int64_t i = 0; i < rows && first + i < down.positions(a); ++i) {
      const std::int64_t row = down.first(a) + (first + i) * down.classes();
      Versions<&store_elements<T>>::call(sums + i * planes_.pitch, across.positions(b),
                                         y_.at(image, channel, row, across.first(b)), across.classes() * y_.stride[4],
                                         adds_);
    }
  }

  DepthwisePlanes<T> planes_;
  std::int64_t batch_, given_, out_, taps_, kernel_cols_;
  const T *w_, *bias_;
  ConvImages<T> y_;
  bool adds_;
};

/// dw (out, 1, taps) (+)= the windows of x times g.
template <class T>
class DepthwiseGradient {
 public:
  DepthwiseGradient(const ConvShape& shape, const ConvImages<const T>& g, const ConvImages<const T>& x, T* dw,
                    bool adds)
      : planes_(shape, x, false, 1),
        g_(g),
        batch_(shape.batch),
        out_(shape.out),
        outs_(shape.group_out()),
        taps_(shape.taps()),
        kernel_cols_(shape.axis[2].kernel),
        dw_(dw),
        adds_(adds) {}

  [[nodiscard]] bool fits() const { return planes_.fits; }
  void run() const {
    parallel_for(out_, [&](std::int64_t o) { compute(o); });
  }

 private:
  /// Sums over a block in float, over all blocks in double.
  void compute(std::int64_t o) const {
    DepthwiseScratch& scratch = of_this_thread<DepthwiseScratch>();
    double* const sums = scratch.sums.reserve<double>(taps_);
    float* const block = reinterpret_cast<float*>(scratch.offsets.reserve<double>(taps_));
    for (std::int64_t t = 0; t < taps_; ++t) sums[t] = 0;
    for (std::int64_t image = 0; image < batch_; ++image)
      for (std::int64_t part = 0; part < planes_.parts(); ++part) {
        const float* const plane = planes_.copy(image, o / outs_, part, scratch.plane);
        const std::int64_t rows = planes_.rows_of(part);
        const float* const g = copy_gradient(image, o, part, rows, scratch.gradient);
        add(plane, g, rows, block);
        for (std::int64_t t = 0; t < taps_; ++t) sums[t] += block[t];
      }
    for (std::int64_t t = 0; t < taps_; ++t) {
      T& to = dw_[o * taps_ + t];
      const auto sum = static_cast<float>(sums[t]);
      to = from_register<T>(adds_ ? load_as_register(to) + sum : sum);
    }
  }
  /// Gradients at the positions of the windows, with zeros between rows.
  [[nodiscard]] const float* copy_gradient(std::int64_t image, std::int64_t o, std::int64_t part, std::int64_t rows,
                                           Scratch& scratch) const {
    const std::int64_t size = round_up(rows * planes_.pitch, 16), width = planes_.cols.positions();
    float* const to = scratch.reserve<float>(size);
    std::memset(to, 0, static_cast<std::size_t>(size) * sizeof(float));
    const T* const from = g_.data + image * g_.stride[0] + o * g_.stride[1] + part * planes_.block_rows * g_.stride[3];
    for (std::int64_t row = 0; row < rows; ++row)
      Versions<&load_elements<T>>::call(from + row * g_.stride[3], g_.stride[4], width, to + row * planes_.pitch);
    return to;
  }
  void add(const float* plane, const float* g, std::int64_t rows, float* sums) const {
    const auto at = [&](std::int64_t t) {
      return plane + planes_.offset(0, static_cast<int>(t / kernel_cols_), 0, static_cast<int>(t % kernel_cols_));
    };
    for (std::int64_t t = 0; t < taps_; t += 3) {
      const std::int64_t last = taps_ - 1;
      const auto clamped = [&](std::int64_t tap) { return at(locus::detail::smaller(tap, last)); };
      float three[3];
      Versions<&dot_three_taps>::call(g, at(t), clamped(t + 1), clamped(t + 2), round_up(rows * planes_.pitch, 16),
                                      three);
      for (std::int64_t i = 0; i < 3 && t + i < taps_; ++i) {
        // Zeros between rows times a non-finite element that no window contains are NaN: sums the windows alone.
        const bool is_finite = three[i] - three[i] == 0.f;
        sums[t + i] = is_finite ? three[i] : sum_of_windows(at(t + i), g, rows);
      }
    }
  }
  [[nodiscard]] float sum_of_windows(const float* x, const float* g, std::int64_t rows) const {
    float sum = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t col = 0; col < planes_.cols.positions(); ++col)
        sum += g[row * planes_.pitch + col] * x[row * planes_.pitch + col];
    return sum;
  }

  DepthwisePlanes<T> planes_;
  ConvImages<const T> g_;
  std::int64_t batch_, out_, outs_, taps_, kernel_cols_;
  T* dw_;
  bool adds_;
};

}}}  // namespace locus::LOCUS_ABI::cpu::detail
LOCUS_LOOPS_END
