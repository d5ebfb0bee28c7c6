#pragma once
// The options of a convolution, checked: strides, padding, dilations and groups, and the shapes that they allow.

#include <locus/core/size_2d.hpp>
#include <locus/core/size_3d.hpp>
#include <locus/core/std/bounds.hpp>
#include <locus/device/convolution.hpp>

#include <string_view>

namespace locus { inline namespace LOCUS_ABI {

/// The border of a convolution: one number for every side, one for each dimension, or "same", which keeps the input's
/// extents at stride 1. If "same" needs an odd total, the last side gets one more, as in PyTorch.
template <class Extent>
struct ConvPadding {
  Extent size = 0;
  bool same = false;
  constexpr ConvPadding() = default;
  template <class... N>
    requires(((std::integral<N> || std::same_as<N, Extent>)&&...) && sizeof...(N) > 0 &&
             std::constructible_from<Extent, N...>)
  constexpr ConvPadding(N... n) : size(n...) {}
  /// throws ArgumentError unless it is "same" or "valid", which is 0
  ConvPadding(const char* word) {
    const std::string_view given = word ? word : "";
    same = given == "same";
    if (!same && given != "valid")
      fail<ArgumentError>({"padding of \"", given, "\"; expected \"same\", \"valid\" or numbers"});
  }
};

namespace detail {

/// Extents of one to three dimensions, as of three.
struct ConvExtents {
  std::int64_t of[3] = {1, 1, 1};
  constexpr ConvExtents() = default;
  constexpr ConvExtents(std::int64_t only, std::int64_t others) : of{others, others, only} {}
  constexpr ConvExtents(const Size2d& size, std::int64_t others) : of{others, size.height, size.width} {}
  constexpr ConvExtents(const Size3d& size, std::int64_t) : of{size.depth, size.height, size.width} {}
};

/// The border of a dimension before and after.
struct ConvSides {
  std::int64_t before, after;
};

/// A convolution, transposed or not, of images of one to three dimensions; messages name `caller`.
struct ConvRequest {
  const char* caller;
  int dims;
  ConvExtents stride, padding, dilation;
  std::int64_t groups = 1;
  bool same = false;
  bool transposed = false;
  bool exact = false;
  ConvExtents output_padding = {0, 0};  ///< transposed: extra elements at the end

  template <class Extent>
  static ConvRequest plain(const char* caller, int dims, const Extent& stride, const ConvPadding<Extent>& padding,
                           const Extent& dilation, std::int64_t groups) {
    return ConvRequest{caller, dims, {stride, 1}, {padding.size, 0}, {dilation, 1}, groups, padding.same}.checked();
  }

  /// throws ArgumentError unless strides, dilations and groups are 1 or more, and borders 0 or more
  LOCUS_OUT_OF_LINE ConvRequest checked() const {
    bool positive = groups >= 1, borders = true, strided = false, longer = true;
    for (int d = 0; d < 3; ++d) {
      positive &= stride.of[d] >= 1 && dilation.of[d] >= 1;
      borders &= padding.of[d] >= 0 && output_padding.of[d] >= 0;
      strided |= stride.of[d] != 1;
      longer &= output_padding.of[d] == 0 || output_padding.of[d] < larger(stride.of[d], dilation.of[d]);
    }
    if (!positive)
      fail<ArgumentError>({caller, ": a stride of ", text(stride), ", a dilation of ", text(dilation), " and ", groups,
                           " groups; expected 1 or more of each"});
    if (!borders)
      fail<ArgumentError>({caller, ": padding of ", text(padding), transposed ? ", of the output " : "",
                           transposed ? text(output_padding) : "", "; expected 0 or more"});
    if (same && strided)
      fail<ArgumentError>(
          {caller, ": padding of \"same\" with a stride of ", text(stride), "; expected a stride of 1"});
    if (!longer)
      fail<ArgumentError>({caller, ": output padding of ", text(output_padding), " with a stride of ", text(stride),
                           " and a dilation of ", text(dilation), "; expected less than one of them"});
    return *this;
  }

  /// The border before and after a dimension for a kernel of so many taps.
  [[nodiscard]] ConvSides sides(int d, std::int64_t kernel) const {
    if (!same) return {padding.of[d], padding.of[d]};
    const std::int64_t total = reach(kernel, dilation.of[d]);
    return {total / 2, total - total / 2};
  }

  /// The convolution of x; for a transposed one, the convolution whose adjoint it is. throws ShapeError where shapes do
  /// not fit
  LOCUS_OUT_OF_LINE ConvShape plan(const Shape& x, const Shape& w, const Shape* bias) const {
    require_ranks(x, w);
    ConvShape shape;
    const std::int64_t channels = x[-dims - 1];
    shape.batch = x.rank() == dims + 2 ? x[0] : 1;
    shape.groups = groups;
    shape.exact = exact;
    if (w[0] % groups != 0 || channels % groups != 0)
      fail<ShapeError>({caller, ": ", groups, " groups of ", channels, " channels and of weights of shape ", w,
                        "; expected a number that divides both, the channels and the weights' first extent"});
    shape.out = w[0], shape.in = w[1] * groups;
    if (channels != (transposed ? shape.out : shape.in))
      fail<ShapeError>({caller, ": an input of shape ", x, " has ", channels, " channels, weights of shape ", w,
                        groups == 1 ? "" : join(" in ", groups, " groups"), " take ",
                        transposed ? shape.out : shape.in});
    const std::int64_t results = transposed ? shape.in : shape.out;
    if (bias && !(*bias == Shape{results}))
      fail<ShapeError>({caller, ": bias of shape ", *bias, " with weights of shape ", w,
                        groups == 1 ? "" : join(" in ", groups, " groups"), "; expected (", results, ",)"});
    for (int d = 3 - dims; d < 3; ++d) shape.axis[d] = axis(x, w, d);
    return shape;
  }
  /// The result's shape: with a batch where x has one.
  [[nodiscard]] Shape result(const Shape& x, const ConvShape& shape) const {
    Shape y = x;
    y[-dims - 1] = transposed ? shape.in : shape.out;
    for (int d = 3 - dims; d < 3; ++d) y[d - 3] = transposed ? shape.axis[d].extent : shape.axis[d].outputs;
    return y;
  }

 private:
  [[nodiscard]] std::string text(const ConvExtents& extents) const {
    if (dims == 1) return std::to_string(extents.of[2]);
    return dims == 2 ? to_string(Dims{extents.of[1], extents.of[2]})
                     : to_string(Dims{extents.of[0], extents.of[1], extents.of[2]});
  }
  void require_ranks(const Shape& x, const Shape& w) const {
    const char* const names = dims == 1 ? "length" : dims == 2 ? "height, width" : "depth, height, width";
    if (x.rank() != dims + 1 && x.rank() != dims + 2)
      fail<ShapeError>({caller, ": an input of shape ", x, "; expected (batch, channels, ", names,
                        "), or the same without the batch"});
    bool fits = w.rank() == dims + 2;
    for (int d = 2; d < w.rank(); ++d) fits &= w[d] >= 1;
    if (!fits)
      fail<ShapeError>({caller, ": weights of shape ", w, "; expected ",
                        transposed ? "(in, out / groups, " : "(out, in / groups, ", names, "), a kernel of 1 or more"});
  }
  /// The distance from a window's first tap to its last, at most INT64_MAX / 2.
  [[nodiscard]] static std::int64_t reach(std::int64_t kernel, std::int64_t dilation) {
    std::int64_t product = 0;
    const bool overflows = __builtin_mul_overflow(kernel - 1, dilation, &product);
    return overflows ? INT64_MAX / 2 : smaller(product, INT64_MAX / 2);
  }
  [[nodiscard]] ConvAxis axis(const Shape& x, const Shape& w, int d) const {
    const std::int64_t given = x[d - 3], kernel = w[d - 3], taken = reach(kernel, dilation.of[d]);
    const ConvSides border = sides(d, kernel);
    if (larger(larger(border.before, border.after), taken) > most_convolved) refuse_many(x, d);
    if (larger(given, output_padding.of[d]) > most_convolved) refuse_many(x, d);
    std::int64_t extent = given, outputs = given;
    if (transposed) {
      if (given > 0) {
        std::int64_t span = 0;
        if (__builtin_mul_overflow(given - 1, stride.of[d], &span) || span > most_convolved) refuse_many(x, d);
        extent = span - border.before - border.after + taken + output_padding.of[d] + 1;
      }
      if (extent < 1 || given < 1)
        fail<ShapeError>({caller, ": an input of shape ", x, " and a kernel of ", kernel, " leave ", extent,
                          " elements along dimension ", d - 3, " with padding of ", text(padding),
                          "; expected elements, and less padding"});
    } else {
      const std::int64_t last = given + border.before + border.after - taken - 1;
      if (last < 0)
        fail<ShapeError>({caller, ": a kernel of ", kernel, " dilated by ", dilation.of[d], " along dimension ", d - 3,
                          " of an input of shape ", x, " padded by ", border.before, " and ", border.after,
                          "; expected a kernel no larger than the padded input"});
      outputs = last / stride.of[d] + 1;
    }
    if (extent + border.before + border.after > most_convolved) refuse_many(x, d);
    const auto index = [](std::int64_t i) { return static_cast<ConvIndex>(smaller(i, most_convolved)); };
    return {index(extent),        index(kernel), index(stride.of[d]), kernel == 1 ? 1 : index(dilation.of[d]),
            index(border.before), index(outputs)};
  }
  [[noreturn]] void refuse_many(const Shape& x, int d) const {
    fail<ShapeError>({caller, ": the windows along dimension ", d - 3, " of an input of shape ", x,
                      " reach over more than ", most_convolved, " elements, the border included; expected less"});
  }
};

}  // namespace detail
}}  // namespace locus::LOCUS_ABI
