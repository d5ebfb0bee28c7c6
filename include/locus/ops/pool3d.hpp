#pragma once
// Means of windows of volumes, and power means of windows. Not part of locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/pool.hpp>
#include <locus/ops/view.hpp>

namespace locus { inline namespace LOCUS_ABI {

namespace detail {
/// A pool of volumes as two pools: `images` of the last two dimensions, then `planes` of (depth, pixels).
template <class X, class Images, class Planes>
[[nodiscard]] auto pool_volumes(const X& x, const Images& images, const Planes& planes) {
  Shape shape = x.shape();
  const auto flat = images(reshape(x, {plane_count(shape, 3), shape[-3], shape[-2], shape[-1]}));
  shape[-2] = flat.size(2), shape[-1] = flat.size(3);
  const auto pooled = planes(reshape(flat, {flat.size(0), flat.size(1), flat.size(2) * flat.size(3)}));
  shape[-3] = pooled.size(1);
  return reshape(pooled, shape);
}
[[nodiscard]] inline PoolRequest avg_pool3d_request(const Size3d& kernel, const Size3d& stride, const Size3d& padding,
                                                    const AvgPoolOptions& options) {
  return pool_request("avg_pool3d", 3, kernel, stride, padding, Size3d(1), options.ceil_mode);
}
[[nodiscard]] inline AdaptiveRequest adaptive_avg_pool3d_request(const Size3d& size) {
  return AdaptiveRequest{{"adaptive_avg_pool3d", 3}, size}.checked();
}
}  // namespace detail

/// The mean of each window of volumes, as F.avg_pool3d: a mean over rows and columns, then over planes.
/// shape:    (batch, c, d, h, w) -> (batch, c, planes, rows, cols), with or without the batch; extents as of max_pool2d
/// gradient: g divided as the sum was, to every element of the window
/// cost:     two launches, and a copy of x if it is not dense; backward two. 16 bits are rounded between them
/// throws as avg_pool2d
template <detail::FloatingOperand X>
[[nodiscard]] auto avg_pool3d(const X& x, Size3d kernel, Size3d stride = same_as_kernel, Size3d padding = 0,
                              const AvgPoolOptions& options = {}) {
  const detail::PoolRequest request = detail::avg_pool3d_request(kernel, stride, padding, options);
  (void)request.plan(x.shape());
  AvgPoolOptions of_images = options;
  if (options.divisor_override != 0) of_images.divisor_override = 1;
  return detail::pool_volumes(
      x,
      [&](const auto& images) {
        return avg_pool2d(images, {kernel.height, kernel.width}, {request.stride.height, request.stride.width},
                          {padding.height, padding.width}, of_images);
      },
      [&](const auto& planes) {
        return avg_pool2d(planes, {kernel.depth, 1}, {request.stride.depth, 1}, {padding.depth, 0}, options);
      });
}

/// The means of windows that divide volumes into `size` parts, as adaptive_avg_pool2d.
/// shape:    (batch, c, d, h, w) -> (batch, c, size), with or without the batch
/// gradient and cost: as avg_pool3d     throws as adaptive_avg_pool2d
template <detail::FloatingOperand X>
[[nodiscard]] auto adaptive_avg_pool3d(const X& x, Size3d size) {
  (void)detail::adaptive_avg_pool3d_request(size).plan(x.shape());
  return detail::pool_volumes(
      x,
      [&](const auto& images) {
        return adaptive_avg_pool2d(images, {size.height, size.width});
      },
      [&](const auto& planes) {
        return adaptive_avg_pool2d(planes, {size.depth, planes.size(2)});
      });
}

namespace detail {
/// (sum of x^p)^(1/p) over windows of `count` elements, whose means `pool` computes. The gradient of a sum of 0 is 0.
template <class X, class Pool>
[[nodiscard]] auto power_means(const char* caller, const X& x, double p, std::int64_t count, const Pool& pool) {
  using T = value_of<X>;
  using R = compute_t<T>;
  if (!(finite_as<R>(caller, "p", p) > 0)) fail<ArgumentError>({caller, ": p is ", p, "; expected more than 0"});
  const R order = static_cast<R>(p), elements = static_cast<R>(count);
  const auto root = [=](auto mean) {
    auto sum = mean * elements;
    return where(sum == R(0), R(0), pow(where(sum == R(0), R(1), sum), R(1) / order));
  };
  if constexpr (std::is_same_v<T, R>) return fuse(root, pool(pow(x, order).eval())).eval();
  else return fuse(root, pool(pow(x.template as<R>(), order).eval())).template as<T>().eval();
}
}  // namespace detail

/// (sum of x^p)^(1/p) of each window of images, as F.lp_pool2d: p = 1 gives sums, a large p nearly the largest element.
/// As in PyTorch, a negative sum has no root and gives NaN, and a window that reaches beyond the border in ceil_mode is
/// scaled up to a whole one.
/// shape:    (batch, c, h, w) -> (batch, c, rows, cols), with or without the batch; extents as of max_pool2d
/// gradient: g (x / y)^(p - 1); 0 where the sum is 0
/// cost:     three launches; backward three. 16 bits are computed in float
/// throws ArgumentError unless p is finite and above 0, and as avg_pool2d
template <detail::FloatingOperand X>
[[nodiscard]] auto lp_pool2d(const X& x, double p, Size2d kernel, Size2d stride = same_as_kernel,
                             bool ceil_mode = false) {
  (void)detail::pool_request("lp_pool2d", 2, kernel, stride, Size2d(0), Size2d(1), ceil_mode);
  return detail::power_means("lp_pool2d", x, p, kernel.height * kernel.width, [&](const auto& powers) {
    return avg_pool2d(powers, kernel, stride, 0, {.ceil_mode = ceil_mode});
  });
}
/// The same along one dimension.
template <detail::FloatingOperand X>
[[nodiscard]] auto lp_pool1d(const X& x, double p, std::int64_t kernel, std::int64_t stride = same_as_kernel,
                             bool ceil_mode = false) {
  (void)detail::pool_request("lp_pool1d", 1, kernel, stride, std::int64_t{0}, std::int64_t{1}, ceil_mode);
  return detail::power_means("lp_pool1d", x, p, kernel, [&](const auto& powers) {
    return avg_pool1d(powers, kernel, stride, 0, {.ceil_mode = ceil_mode});
  });
}
/// The same for volumes.
template <detail::FloatingOperand X>
[[nodiscard]] auto lp_pool3d(const X& x, double p, Size3d kernel, Size3d stride = same_as_kernel,
                             bool ceil_mode = false) {
  (void)detail::pool_request("lp_pool3d", 3, kernel, stride, Size3d(0), Size3d(1), ceil_mode);
  return detail::power_means("lp_pool3d", x, p, kernel.depth * kernel.height * kernel.width, [&](const auto& powers) {
    return avg_pool3d(powers, kernel, stride, 0, {.ceil_mode = ceil_mode});
  });
}

#include <locus/refuse/ops/pool3d.inc>

}}  // namespace locus::LOCUS_ABI
