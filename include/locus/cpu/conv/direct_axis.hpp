#pragma once
// One dimension of a direct convolution.

#include <locus/device/convolution.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace cpu::detail {

/// One dimension of a convolution, or of the gradient of its input. The adjoint's results fall into classes with taps
/// of their own: one class for each remainder of the stride.
struct DirectAxis {
  ConvAxis axis;
  bool adjoint;

  [[nodiscard]] std::int64_t given() const { return adjoint ? axis.outputs : axis.extent; }
  [[nodiscard]] std::int64_t results() const { return adjoint ? axis.extent : axis.outputs; }
  [[nodiscard]] int classes() const { return adjoint ? axis.stride : 1; }
  /// The first result of a class; results of a class are step() apart.
  [[nodiscard]] std::int64_t first(int of_class) const {
    return adjoint ? (of_class + axis.stride - axis.before % axis.stride) % axis.stride : 0;
  }
  [[nodiscard]] std::int64_t step() const { return classes(); }
  [[nodiscard]] int class_of(std::int64_t result) const {
    return adjoint ? static_cast<int>((result + axis.before) % axis.stride) : 0;
  }
  /// Where the window of a result begins in the input with its border; windows of a class are origin_step() apart.
  [[nodiscard]] std::int64_t origin(std::int64_t result) const {
    return adjoint ? (result + axis.before) / axis.stride : result * axis.stride;
  }
  [[nodiscard]] std::int64_t origin_step() const { return adjoint ? 1 : axis.stride; }
  /// Elements of the border before the first element.
  [[nodiscard]] std::int64_t border() const { return adjoint ? span() : axis.before; }
  /// Distance from the first element of a window to its last.
  [[nodiscard]] std::int64_t span() const {
    return adjoint ? (axis.kernel - 1) / axis.stride : std::int64_t{axis.kernel - 1} * axis.dilation;
  }
  [[nodiscard]] int taps(int of_class) const {
    return adjoint ? (axis.kernel - of_class + axis.stride - 1) / axis.stride : axis.kernel;
  }
  /// Tap i of a class: its number in the kernel, and its offset in the window.
  [[nodiscard]] int tap(int of_class, int i) const { return adjoint ? of_class + i * axis.stride : i; }
  [[nodiscard]] std::int64_t offset(int i) const { return adjoint ? span() - i : std::int64_t{i} * axis.dilation; }
};

}}}  // namespace locus::LOCUS_ABI::cpu::detail
