#pragma once
// One dimension of a convolution on windows: copies of the images in which the results of a tap lie side by side.

#include <locus/cpu/gemm/tiles.hpp>
#include <locus/device/convolution.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// One dimension of a convolution, or of the gradient of its input. The adjoint's results fall into classes with taps
/// of their own: one class for each remainder of the stride. The results of a class are positions 0, 1, ...: tap i of
/// position p is element p * step() + shift(class, i) of the input. Shifts from the least to the most are numbered as
/// copies or, along rows, as a remainder of the step and a row.
class WindowAxis {
 public:
  WindowAxis(const ConvAxis& axis, bool adjoint) : axis_(axis), adjoint_(adjoint) {
    if (adjoint) list_classes();
    bool is_first = true;
    for (int c = 0; c < locus::detail::smaller(classes(), most_classes); ++c) {
      if (taps(c) == 0) continue;
      for (const int i : {0, taps(c) - 1}) {
        const std::int64_t at = shift(c, i);
        least_ = is_first || at < least_ ? at : least_;
        most_ = is_first || at > most_ ? at : most_;
        is_first = false;
      }
    }
  }

  static constexpr int most_classes = 8;  ///< with more classes, callers ask about none

  [[nodiscard]] std::int64_t given() const { return adjoint_ ? axis_.outputs : axis_.extent; }
  [[nodiscard]] std::int64_t results() const { return adjoint_ ? axis_.extent : axis_.outputs; }
  [[nodiscard]] int classes() const { return adjoint_ ? axis_.stride : 1; }
  /// The first result of a class; from there on, every classes()-th result belongs to it.
  [[nodiscard]] std::int64_t first(int of_class) const {
    return adjoint_ ? (of_class + axis_.stride - axis_.before % axis_.stride) % axis_.stride : 0;
  }
  [[nodiscard]] int taps(int of_class) const {
    if (!adjoint_) return axis_.kernel;
    return static_cast<int>(ceil_div(axis_.kernel - first_tap_[of_class], period_));
  }
  /// Tap i of a class, as a tap of the kernel.
  [[nodiscard]] ConvIndex tap(int of_class, int i) const { return adjoint_ ? first_tap_[of_class] + i * period_ : i; }
  /// Positions of the largest class.
  [[nodiscard]] std::int64_t positions() const { return ceil_div(results(), classes()); }
  [[nodiscard]] std::int64_t positions(int of_class) const { return ceil_div(results() - first(of_class), classes()); }

  [[nodiscard]] std::int64_t step() const { return adjoint_ ? 1 : axis_.stride; }
  [[nodiscard]] std::int64_t shift(int of_class, int i) const {
    const std::int64_t at = std::int64_t{tap(of_class, i)} * axis_.dilation - axis_.before;
    return adjoint_ ? (first(of_class) - at) / axis_.stride : at;
  }

  [[nodiscard]] std::int64_t copies() const { return (most_ - least_) / spacing() + 1; }
  [[nodiscard]] std::int64_t copy_of(std::int64_t shift) const { return (shift - least_) / spacing(); }
  [[nodiscard]] std::int64_t shift_of_copy(std::int64_t copy) const { return least_ + copy * spacing(); }

  [[nodiscard]] std::int64_t remainders() const { return locus::detail::smaller(step(), most_ - least_ + 1); }
  [[nodiscard]] std::int64_t remainder_of(std::int64_t shift) const { return (shift - least_) % step(); }
  [[nodiscard]] std::int64_t row_of(std::int64_t shift) const { return (shift - least_) / step(); }
  /// Rows that are copied beyond the rows of the positions.
  [[nodiscard]] std::int64_t halo() const { return (most_ - least_) / step(); }
  /// The row of the images that is row `row` of a remainder, for positions from `first` on.
  [[nodiscard]] std::int64_t source_of(std::int64_t first, std::int64_t remainder, std::int64_t row) const {
    return (first + row) * step() + least_ + remainder;
  }

 private:
  /// Class c has the taps k with k * dilation % stride == c: every period_-th tap from its first on.
  void list_classes() {
    for (ConvIndex& first : first_tap_) first = axis_.kernel;
    std::int64_t remainder = 0;
    period_ = 0;
    do {
      if (remainder < most_classes) first_tap_[remainder] = period_;
      remainder = (remainder + axis_.dilation) % axis_.stride;
    } while (++period_ < axis_.kernel && remainder != 0);
  }
  [[nodiscard]] std::int64_t spacing() const { return adjoint_ && axis_.stride > 1 ? 1 : axis_.dilation; }

  ConvAxis axis_;
  bool adjoint_;
  ConvIndex period_ = 1, first_tap_[most_classes] = {};
  std::int64_t least_ = 0, most_ = 0;
};

}}}  // namespace locus::LOCUS_ABI::cpu::detail
