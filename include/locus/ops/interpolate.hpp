#pragma once
// Images of another size, by the nearest element or between the four nearest.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/pool.hpp>
#include <locus/ops/pool/interpolate_rows.hpp>

namespace locus { inline namespace LOCUS_ABI {

/// One number for both, or {height, width}.
struct Scale2d {
  double height = 0, width = 0;
  constexpr Scale2d() = default;
  constexpr Scale2d(double both) : height(both), width(both) {}
  constexpr Scale2d(double h, double w) : height(h), width(w) {}
  [[nodiscard]] friend constexpr bool operator==(const Scale2d&, const Scale2d&) = default;
};

enum class InterpolateMode { nearest, bilinear };

/// PyTorch's options, with its defaults: either `size` or `scale_factor`.
struct InterpolateOptions {
  Size2d size = 0;           ///< of the result; 0: by the factor
  Scale2d scale_factor = 0;  ///< the result has the input's extents times this, rounded down; 0: by the size
  InterpolateMode mode = InterpolateMode::nearest;
  bool align_corners = false;  ///< bilinear: the outermost elements of input and result coincide, also by a factor
};

namespace detail {

/// throws ArgumentError unless there is either a size or a factor, both positive, and align_corners is used with
/// bilinear interpolation alone
LOCUS_OUT_OF_LINE inline const InterpolateOptions& require_interpolation(const char* caller,
                                                                         const InterpolateOptions& options) {
  const bool sized = !(options.size == Size2d(0)), scaled = !(options.scale_factor == Scale2d(0));
  if (sized == scaled)
    fail<ArgumentError>({caller, ": ", sized ? "both a size and a scale factor" : "neither a size nor a scale factor",
                         "; expected one of them"});
  if (sized && (options.size.height < 1 || options.size.width < 1))
    fail<ArgumentError>({caller, ": a size of ", to_string(options.size), "; expected 1 or more of each"});
  const auto [height, width] = options.scale_factor;
  if (scaled && !(is_finite(height) && is_finite(width) && height > 0 && width > 0))
    fail<ArgumentError>({caller, ": a scale factor of ", height, " and ", width, "; expected finite numbers above 0"});
  if (options.align_corners && options.mode == InterpolateMode::nearest)
    fail<ArgumentError>({caller, ": align_corners, which bilinear interpolation has, with InterpolateMode::nearest"});
  return options;
}

/// One dimension of an interpolation. throws ShapeError
template <class R>
[[nodiscard]] InterpolatedAxis<R> interpolated_axis(const Shape& shape, std::int64_t extent, std::int64_t size,
                                                    double factor, const InterpolateOptions& options) {
  const double scaled = static_cast<double>(extent) * factor;
  const std::int64_t outputs = factor == 0 ? size : scaled < 4e18 ? static_cast<std::int64_t>(scaled) : INT64_MAX;
  if (outputs < 1) fail<ShapeError>({"interpolate: an input of shape ", shape, " times ", factor, " has no elements"});
  for (const std::int64_t count : {extent, outputs}) PoolRequest::require_few("interpolate", shape, count);
  InterpolatedAxis<R> axis{static_cast<PoolIndex>(extent), static_cast<PoolIndex>(outputs), R(0), R(0)};
  if (options.mode == InterpolateMode::bilinear && !options.align_corners) axis.centre = R(0.5);
  if (!options.align_corners)
    axis.scale = factor == 0 ? static_cast<R>(extent) / static_cast<R>(outputs) : static_cast<R>(1 / factor);
  else if (outputs > 1) axis.scale = static_cast<R>(extent - 1) / static_cast<R>(outputs - 1);
  return axis;
}

/// Both dimensions, of images of a shape.
template <class R>
struct InterpolatedAxes {
  InterpolatedAxis<R> rows, cols;
  InterpolatedAxes(const Shape& x, const InterpolateOptions& options)
      : rows(interpolated_axis<R>(x, x[-2], options.size.height, options.scale_factor.height, options)),
        cols(interpolated_axis<R>(x, x[-1], options.size.width, options.scale_factor.width, options)) {}
};

}  // namespace detail

namespace operation {

struct Interpolate {
  static constexpr const char* name = "interpolate";
  static constexpr bool linear = true;
  InterpolateOptions options;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    if (x.rank() != 4 || x.size(2) < 1 || x.size(3) < 1)
      fail<ShapeError>({name, ": an input of shape ", x.shape(), "; expected (batch, channels, height, width) with ",
                        "elements in its images"});
    using R = compute_t<T>;
    if (options.mode == InterpolateMode::nearest)
      return made<detail::NearestRow<T>, detail::NearestTaps<R>>(x,
                                                                 detail::InterpolatedAxes<float>(x.shape(), options));
    return made<detail::BilinearRow<T>, detail::BilinearTaps<R>>(x, detail::InterpolatedAxes<R>(x.shape(), options));
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    if (options.mode == InterpolateMode::nearest)
      give_back<detail::NearestWalk<T>, detail::NearestShare>(g, dx,
                                                              detail::InterpolatedAxes<float>(dx.shape(), options));
    else
      give_back<detail::BilinearWalk<T>, detail::LinearShare>(
          g, dx, detail::InterpolatedAxes<compute_t<T>>(dx.shape(), options));
  }

 private:
  template <class Row, class Taps, class T, class D, class R>
  [[nodiscard]] static Forwarded<Tensor<T, D>> made(const Tensor<T, D>& x, const detail::InterpolatedAxes<R>& axes) {
    const Tensor<T, D> y = detail::pooled_like<T>(x, 2, axes.rows, axes.cols);
    if (detail::has_pixels(y)) {
      detail::sum_pixels(y, false, x, Taps{axes.rows, axes.cols});
    } else if (!y.empty()) {
      const Tensor<T, D> planes = detail::as_planes(x, 2);
      Backend<D>::for_each_row(x.device(), planes.size(0) * axes.rows.outputs, axes.cols.outputs,
                               Row{detail::planes_of(planes), axes.rows, axes.cols, y.data()});
    }
    return {y, {}};
  }
  template <class Walk, class Share, class T, class D, class R>
  static void give_back(const Tensor<T, D>& g, Gradient<T, D>& dx, const detail::InterpolatedAxes<R>& axes) {
    const auto [out, accumulate] = dx.open_in_format();
    if (out.empty()) return;
    const auto& [rows, cols] = axes;
    if (detail::has_pixels(out)) {
      using Taps = detail::ShareTaps<compute_t<T>, Share, detail::InterpolatedAxis<R>>;
      return detail::sum_pixels(out, accumulate, g, Taps{rows, cols});
    }
    const Tensor<T, D> dense = g.contiguous();
    const std::int64_t planes = detail::plane_count(out.shape(), 2);
    using Row = detail::InterpolateGradientRow<T, Share, detail::InterpolatedAxis<R>>;
    detail::add_from_windows(out, accumulate, planes, rows.extent, cols.extent, Walk{rows, cols, dense.data()},
                             Row{rows, cols, dense.data(), out.data(), accumulate});
  }
};

}  // namespace operation

/// Images of another size, as F.interpolate: the nearest element, or linear between the four nearest. With a factor,
/// coordinates are divided by the factor, as PyTorch does unless recompute_scale_factor is given; a dimension that
/// keeps its extent keeps its elements. Where an extent doubles, the nearest element to o is o / 2, as in PyTorch's
/// gradient and its channels_last images: its other images take a neighbour at times, for factors that are not quite 2
/// (or 1). With align_corners, coordinates are o (h - 1) / (floor(h factor) - 1), by the rounded extent as in PyTorch.
/// ONNX's Resize divides by h factor - 1, so that its last element is not the input's where h factor is no whole
/// number.
/// shape:    (batch, c, h, w) -> (batch, c, size), or (batch, c, floor(h factor), floor(w factor))
/// gradient: to each element its shares of the outputs that it is part of; in the same order in every run
/// cost:     one launch; backward one, which stores nothing
/// throws ShapeError for another shape, or a result without elements; ArgumentError for neither or both of size and
/// factor, or for align_corners without bilinear
///
///     auto doubled = interpolate(images, {.scale_factor = 2});
///     auto y = interpolate(x, {.size = {224, 224}, .mode = InterpolateMode::bilinear});
template <detail::FloatingOperand X>
[[nodiscard]] auto interpolate(const X& x, const InterpolateOptions& options) {
  return apply(operation::Interpolate{detail::require_interpolation("interpolate", options)}, x);
}

#include <locus/refuse/ops/interpolate.inc>

}}  // namespace locus::LOCUS_ABI
