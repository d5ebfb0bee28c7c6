#pragma once
// Pooling: the largest element, or the mean, of windows along the last one or two dimensions.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/core/size_2d.hpp>
#include <locus/ops/pool/pool_pixels.hpp>
#include <locus/ops/pool/pool_rows.hpp>
#include <locus/ops/reduction.hpp>

namespace locus { inline namespace LOCUS_ABI {

struct MaxPool1dOptions {
  std::int64_t dilation = 1;  ///< from one element of a window to the next
  bool ceil_mode = false;     ///< the last window may reach beyond the border
};
struct MaxPool2dOptions {
  Size2d dilation = 1;
  bool ceil_mode = false;
};
struct AvgPoolOptions {
  bool ceil_mode = false;             ///< the last window may reach beyond the border
  bool count_include_pad = true;      ///< the border's zeros count
  std::int64_t divisor_override = 0;  ///< divisor of sums; 0: the number of a window's elements
};

namespace detail {

/// How many planes a shape has, each of its last `dims` dimensions.
[[nodiscard]] inline std::int64_t plane_count(const Shape& shape, int dims) {
  std::int64_t count = 1;
  for (int d = 0; d < shape.rank() - dims; ++d) count *= shape[d];
  return count;
}
/// A tensor as planes: a view where its strides allow it.
template <class T, class D>
[[nodiscard]] Tensor<T, D> as_planes(const Tensor<T, D>& x, int dims) {
  return x.reshape({plane_count(x.shape(), dims), dims == 2 ? x.size(-2) : 1, x.size(-1)});
}
template <class T, class D>
[[nodiscard]] Planes<const T> planes_of(const Tensor<T, D>& planes) {
  return {planes.data(), planes.strides()[0], planes.strides()[1], planes.strides()[2]};
}
/// Whether a tensor is a batch of channels-last images of more than one channel: these have launches of their own.
template <class T, class D>
[[nodiscard]] bool has_pixels(const Tensor<T, D>& x) {
  return x.rank() == 4 && x.size(1) > 1 && x.is_channels_last();
}
/// An uninitialized result of pooling, in the format of x.
template <class T, class Axis, class D>
[[nodiscard]] Tensor<T, D> pooled_like(const Tensor<T, D>& x, int dims, const Axis& rows, const Axis& cols) {
  Shape shape = x.shape();
  if (dims == 2) shape[-2] = rows.outputs;
  shape[-1] = cols.outputs;
  return Tensor<T, D>(shape, dims == 2 && has_pixels(x) ? MemoryFormat::channels_last : MemoryFormat::row_major,
                      x.device());
}
/// A row of work for the channels of each element of images.
template <class T, class D, class F>
void for_each_pixel(const Tensor<T, D>& images, const F& f) {
  Backend<D>::for_each_row(images.device(), images.size(0) * images.size(2) * images.size(3), images.size(1), f);
}
/// to = weighted sums of elements of `from`, both channels-last images. One launch.
template <class T, class D, class Taps>
void sum_pixels(const Tensor<T, D>& to, bool accumulate, const Tensor<T, D>& from, const Taps& taps) {
  const Tensor<T, D> images = from.channels_last();
  const auto index = [](std::int64_t extent) { return static_cast<PoolIndex>(extent); };
  for_each_pixel(to, WeightedPixel<T, Taps>{taps,
                                            {images.data(), index(images.size(2)), index(images.size(3))},
                                            index(to.size(2)),
                                            index(to.size(3)),
                                            to.data(),
                                            accumulate});
}

/// The means of windows along rows and cols.
template <class T, class D, class Axis>
[[nodiscard]] Tensor<T, D> mean_of_windows(const Tensor<T, D>& x, int dims, const Axis& rows, const Axis& cols,
                                           const PoolDivisor& divisor) {
  const Tensor<T, D> y = pooled_like<T>(x, dims, rows, cols);
  if (y.empty()) return y;
  if (has_pixels(y)) {
    sum_pixels(y, false, x, MeanTaps<compute_t<T>, Axis>{rows, cols, divisor});
    return y;
  }
  const Tensor<T, D> planes = as_planes(x, dims);
  Backend<D>::for_each_row(x.device(), planes.size(0) * rows.outputs, cols.outputs,
                           MeanPoolRow<T, Axis>{planes_of(planes), rows, cols, divisor, y.data()});
  return y;
}
/// The gradient of mean_of_windows.
template <class T, class D, class Axis>
void share_among_windows(Gradient<T, D>& dx, int dims, const Tensor<T, D>& g, const Axis& rows, const Axis& cols,
                         const PoolDivisor& divisor) {
  const auto [out, accumulate] = dx.open_in_format();
  if (out.empty()) return;
  if (has_pixels(out)) return sum_pixels(out, accumulate, g, MeanGradientTaps<compute_t<T>, Axis>{rows, cols, divisor});
  const Tensor<T, D> dense = g.contiguous();
  const std::int64_t planes = plane_count(out.shape(), dims);
  add_from_windows(out, accumulate, planes, rows.extent, cols.extent,
                   MeanPoolWalk<T, Axis>{rows, cols, divisor, dense.data()},
                   MeanPoolGradientRow<T, Axis>{rows, cols, divisor, dense.data(), out.data(), accumulate});
}

}  // namespace detail

namespace operation {

struct MaxPool {
  static constexpr const char* name = "max pooling";
  static constexpr bool runs_on_duals = true;
  detail::PoolRequest request;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    detail::DilatedAxis rows, cols;
    request.plan(x.shape(), rows, cols);
    const Tensor<T, D> y = detail::pooled_like<T>(x, request.dims, rows, cols);
    if (detail::has_pixels(y)) {
      const Tensor<T, D> images = x.channels_last();
      detail::for_each_pixel(y, detail::MaxPoolPixel<T>{images.data(), rows, cols, y.data()});
    } else if (!y.empty()) {
      const Tensor<T, D> planes = detail::as_planes(x, request.dims);
      Backend<D>::for_each_row(x.device(), planes.size(0) * rows.outputs, cols.outputs,
                               detail::MaxPoolRow<T>{detail::planes_of(planes), rows, cols, y.data()});
    }
    return Forwarded{y, Tuple(x, y)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto& [x, y] = saved;
    detail::DilatedAxis rows, cols;
    request.plan(x.shape(), rows, cols);
    const auto [out, accumulate] = dx.open_in_format();
    if (out.empty()) return;
    if (detail::has_pixels(out)) {
      const Tensor<T, D> images = x.channels_last(), results = y.channels_last(), gradients = g.channels_last();
      return detail::for_each_pixel(out, detail::MaxPoolGradientPixel<T>{images.data(), rows, cols, results.data(),
                                                                         gradients.data(), out.data(), accumulate});
    }
    const Tensor<T, D> planes = detail::as_planes(x, request.dims), results = y.contiguous(), dense = g.contiguous();
    detail::add_from_windows(
        out, accumulate, planes.size(0), rows.extent, cols.extent,
        detail::MaxPoolWalk<T>{detail::planes_of(planes), rows, cols, results.data(), dense.data()},
        detail::MaxPoolGradientRow<T>{detail::planes_of(planes), rows, cols, results.data(), dense.data(), out.data(),
                                      accumulate});
  }
};

struct AvgPool {
  static constexpr const char* name = "average pooling";
  static constexpr bool linear = true;
  detail::PoolRequest request;
  detail::PoolDivisor divisor;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    detail::DilatedAxis rows, cols;
    request.plan(x.shape(), rows, cols);
    return Forwarded{detail::mean_of_windows(x, request.dims, detail::PoolAxis(rows), detail::PoolAxis(cols), divisor),
                     Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    detail::DilatedAxis rows, cols;
    request.plan(dx.shape(), rows, cols);
    detail::share_among_windows(dx, request.dims, g, detail::PoolAxis(rows), detail::PoolAxis(cols), divisor);
  }
};

struct AdaptiveAvgPool {
  static constexpr const char* name = "adaptive average pooling";
  static constexpr bool linear = true;
  detail::AdaptiveRequest request;

  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    const auto axes = request.plan(x.shape());
    if (request.size == Size3d(1)) {
      const ReduceAxes pooled = request.dims == 1 ? ReduceAxes{-1} : ReduceAxes{-2, -1};
      const fold::Mean<T> mean(std::int64_t{axes.of[1].extent} * axes.of[2].extent);
      return Forwarded{detail::reduce<T>(name, mean, x, pooled, true), Tuple<>()};
    }
    return Forwarded{detail::mean_of_windows(x, request.dims, axes.of[1], axes.of[2], {}), Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto axes = request.plan(dx.shape());
    detail::share_among_windows(dx, request.dims, g, axes.of[1], axes.of[2], {});
  }
};

}  // namespace operation

namespace detail {
/// throws ArgumentError
[[nodiscard]] inline operation::MaxPool max_pool1d(std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                                                   const MaxPool1dOptions& options) {
  return {pool_request("max_pool1d", 1, kernel, stride, padding, options.dilation, options.ceil_mode)};
}
[[nodiscard]] inline operation::MaxPool max_pool2d(const Size2d& kernel, const Size2d& stride, const Size2d& padding,
                                                   const MaxPool2dOptions& options) {
  return {pool_request("max_pool2d", 2, kernel, stride, padding, options.dilation, options.ceil_mode)};
}
[[nodiscard]] inline operation::AvgPool avg_pool1d(std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                                                   const AvgPoolOptions& options) {
  return {pool_request("avg_pool1d", 1, kernel, stride, padding, std::int64_t{1}, options.ceil_mode),
          {options.divisor_override, options.count_include_pad}};
}
[[nodiscard]] inline operation::AvgPool avg_pool2d(const Size2d& kernel, const Size2d& stride, const Size2d& padding,
                                                   const AvgPoolOptions& options) {
  return {pool_request("avg_pool2d", 2, kernel, stride, padding, Size2d(1), options.ceil_mode),
          {options.divisor_override, options.count_include_pad}};
}
[[nodiscard]] inline operation::AdaptiveAvgPool adaptive_avg_pool1d(std::int64_t size) {
  return {AdaptiveRequest{{"adaptive_avg_pool1d", 1}, pooled_size(size)}.checked()};
}
[[nodiscard]] inline operation::AdaptiveAvgPool adaptive_avg_pool2d(const Size2d& size) {
  return {AdaptiveRequest{{"adaptive_avg_pool2d", 2}, pooled_size(size)}.checked()};
}
}  // namespace detail

/// The largest element of each window of images, as F.max_pool2d: the border is -infinity, NaN is larger than any.
/// shape:    (batch, c, h, w) -> (batch, c, rows, cols), with or without the batch, where rows, likewise cols, is
///           (h + 2 padding - dilation (kernel - 1) - 1) / stride + 1, rounded up with ceil_mode
/// gradient: g to the largest element of each window; of equal ones (or NaN) to the first
/// cost:     one launch; backward one, which stores nothing but x and y
/// throws ShapeError where the kernel is larger than the padded input; ArgumentError for a border of more than half a
/// kernel, and a kernel, stride or dilation below 1
///
///     auto halved = max_pool2d(images, 2);
///     auto y = max_pool2d(x, 3, 2, 1, {.ceil_mode = true});   // kernel 3, stride 2, padding 1
template <detail::FloatingOperand X>
[[nodiscard]] auto max_pool2d(const X& x, Size2d kernel, Size2d stride = same_as_kernel, Size2d padding = 0,
                              const MaxPool2dOptions& options = {}) {
  return apply(detail::max_pool2d(kernel, stride, padding, options), x);
}
/// The same along one dimension.
/// shape: (batch, c, length) -> (batch, c, windows), with or without the batch
template <detail::FloatingOperand X>
[[nodiscard]] auto max_pool1d(const X& x, std::int64_t kernel, std::int64_t stride = same_as_kernel,
                              std::int64_t padding = 0, const MaxPool1dOptions& options = {}) {
  return apply(detail::max_pool1d(kernel, stride, padding, options), x);
}

/// The mean of each window of images, as F.avg_pool2d: the border is 0, and counts unless options say otherwise.
/// shape:    as max_pool2d, without dilation
/// gradient: g divided as the sum was, to every element of the window
/// cost:     one launch; backward one, which stores nothing
/// throws as max_pool2d
///
///     auto y = avg_pool2d(x, 3, 2, 1, {.count_include_pad = false});
template <detail::FloatingOperand X>
[[nodiscard]] auto avg_pool2d(const X& x, Size2d kernel, Size2d stride = same_as_kernel, Size2d padding = 0,
                              const AvgPoolOptions& options = {}) {
  return apply(detail::avg_pool2d(kernel, stride, padding, options), x);
}
/// The same along one dimension.
/// shape: (batch, c, length) -> (batch, c, windows), with or without the batch
template <detail::FloatingOperand X>
[[nodiscard]] auto avg_pool1d(const X& x, std::int64_t kernel, std::int64_t stride = same_as_kernel,
                              std::int64_t padding = 0, const AvgPoolOptions& options = {}) {
  return apply(detail::avg_pool1d(kernel, stride, padding, options), x);
}

/// The means of windows that divide images into `size` parts, as equal as may be: window i of n goes from
/// floor(i h / n) to ceil((i + 1) h / n).
/// shape:    (batch, c, h, w) -> (batch, c, size), with or without the batch
/// gradient and cost: as avg_pool2d     throws ShapeError for images without elements; ArgumentError for a size below 1
///
///     auto features = adaptive_avg_pool2d(maps, 1).flatten(1);
template <detail::FloatingOperand X>
[[nodiscard]] auto adaptive_avg_pool2d(const X& x, Size2d size) {
  return apply(detail::adaptive_avg_pool2d(size), x);
}
/// The same along one dimension.
/// shape: (batch, c, length) -> (batch, c, size), with or without the batch
template <detail::FloatingOperand X>
[[nodiscard]] auto adaptive_avg_pool1d(const X& x, std::int64_t size) {
  return apply(detail::adaptive_avg_pool1d(size), x);
}

#include <locus/refuse/ops/pool.inc>

}}  // namespace locus::LOCUS_ABI
