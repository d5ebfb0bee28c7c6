#pragma once
// Max pooling with the positions of the largest elements, adaptive and of volumes, and its inverse, unpooling. Not part
// of locus/locus.hpp.
//
// Positions count the elements of an image, or of a line or a volume, in row-major order, as in PyTorch.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/extreme.hpp>
#include <locus/ops/pool.hpp>
#include <locus/ops/pool/window_rows.hpp>
#include <locus/ops/scatter.hpp>

namespace locus { inline namespace LOCUS_ABI {

struct MaxPool3dOptions {
  Size3d dilation = 1;     ///< from one element of a window to the next
  bool ceil_mode = false;  ///< the last window may reach beyond the border
};

namespace detail {
/// The result's shape of a pool by these windows.
template <class Axis>
[[nodiscard]] Shape windowed_shape(const Shape& x, int dims, const WindowAxes<Axis>& axes) {
  Shape shape = x;
  for (int d = 3 - dims; d < 3; ++d) shape[d - 3] = axes.of[d].outputs;
  return shape;
}
}  // namespace detail

namespace operation {

/// The largest element of each window. `Request` is detail::PoolRequest or detail::AdaptiveRequest.
template <class Request, class D>
struct MaxWindows {
  static constexpr const char* name = "max pooling";
  static constexpr bool runs_on_duals = true;
  Request request;
  Tensor<std::int64_t, D> known = {};  ///< places(x), if they are computed already

  /// The place of each window's largest element in its plane.
  template <class T>
  [[nodiscard]] Tensor<std::int64_t, D> places(const Tensor<T, D>& x) const {
    const auto axes = request.plan(x.shape());
    const Tensor<std::int64_t, D> result(detail::windowed_shape(x.shape(), request.dims, axes), x.device());
    if (result.empty()) return result;
    const Tensor<T, D> dense = x.contiguous();
    const std::int64_t cols = axes.of[2].outputs;
    using Row = detail::LargestPlaceRow<T, std::remove_cvref_t<decltype(axes.of[0])>>;
    Backend<D>::for_each_row(x.device(), result.elements() / cols, cols, Row{dense.data(), axes, result.data()});
    return result;
  }
  template <class T>
  auto forward(const Tensor<T, D>& x) const {
    const Tensor<std::int64_t, D> at = known.buffer() ? known : places(x);
    const Tensor<T, D> y(at.shape(), x.device());
    if (!y.empty()) {
      const Tensor<T, D> dense = x.contiguous();
      const std::int64_t planes = detail::plane_count(x.shape(), request.dims);
      Backend<D>::for_each_row(x.device(), planes, y.elements() / planes,
                               detail::PlacedPlane<T>{dense.data(), at.data(), dense.elements() / planes, y.data()});
    }
    return Forwarded{y, Tuple(at)};
  }
  template <class T>
  void backward(const Tuple<Tensor<std::int64_t, D>>& saved, const Tensor<T, D>& given, Gradient<T, D>& dx) const {
    const auto axes = request.plan(dx.shape());
    const auto [out, accumulate] = dx.open();
    if (out.empty()) return;
    const Tensor<T, D> g = given.contiguous();
    const auto& at = get<0>(saved);
    const std::int64_t planes = detail::plane_count(out.shape(), request.dims), cols = axes.of[2].extent;
    using Row = detail::PlacedGradientRow<T, std::remove_cvref_t<decltype(axes.of[0])>>;
    detail::add_from_windows(out, accumulate, planes, std::int64_t{axes.of[0].extent} * axes.of[1].extent, cols,
                             detail::PlacedWalk<T>{at.data(), g.data(), g.elements() / planes},
                             Row{axes, at.data(), g.data(), out.data(), accumulate});
  }
};

}  // namespace operation

namespace detail {
template <class X, class Request>
[[nodiscard]] auto max_windows(const X& x, const Request& request) {
  return apply(operation::MaxWindows<Request, device_of<X>>{request}, x);
}
template <class X, class Request>
[[nodiscard]] auto max_windows_with_indices(const X& x, const Request& request) {
  using Op = operation::MaxWindows<Request, device_of<X>>;
  decltype(auto) handle = x.eval();
  auto places = Op{request}.places(handle.value());
  auto values = apply(Op{request, places}, handle);
  return ValuesAndIndices<decltype(values), decltype(places)>{std::move(values), std::move(places)};
}
[[nodiscard]] inline PoolRequest max_pool3d_request(const Size3d& kernel, const Size3d& stride, const Size3d& padding,
                                                    const MaxPool3dOptions& options) {
  return pool_request("max_pool3d", 3, kernel, stride, padding, options.dilation, options.ceil_mode);
}
template <class Extent>
[[nodiscard]] AdaptiveRequest adaptive_request(const char* caller, int dims, const Extent& size) {
  return AdaptiveRequest{{caller, dims}, pooled_size(size)}.checked();
}
}  // namespace detail

/// The largest element of each window of volumes, as F.max_pool3d.
/// shape:    (batch, c, d, h, w) -> (batch, c, planes, rows, cols), with or without the batch; extents as of max_pool2d
/// gradient: g to the largest element of each window; of equal ones (or NaN) to the first
/// cost:     two launches; backward one. Saves the positions
/// throws as max_pool2d
template <detail::FloatingOperand X>
[[nodiscard]] auto max_pool3d(const X& x, Size3d kernel, Size3d stride = same_as_kernel, Size3d padding = 0,
                              const MaxPool3dOptions& options = {}) {
  return detail::max_windows(x, detail::max_pool3d_request(kernel, stride, padding, options));
}

/// max_pool2d and the positions of its results within their image, for max_unpool2d: F.max_pool2d with return_indices.
/// A window of the border alone has -infinity and -1.
/// shape:    values and indices (batch, c, rows, cols)     gradient: of the values, as max_pool2d
/// cost:     two launches; backward one     throws as max_pool2d
///
///     auto [values, indices] = max_pool2d_with_indices(images, 2);
///     auto restored = max_unpool2d(values, indices, 2);
template <detail::FloatingOperand X>
[[nodiscard]] auto max_pool2d_with_indices(const X& x, Size2d kernel, Size2d stride = same_as_kernel,
                                           Size2d padding = 0, const MaxPool2dOptions& options = {}) {
  return detail::max_windows_with_indices(x, detail::pool_request("max_pool2d_with_indices", 2, kernel, stride, padding,
                                                                  options.dilation, options.ceil_mode));
}
/// The same along one dimension.
template <detail::FloatingOperand X>
[[nodiscard]] auto max_pool1d_with_indices(const X& x, std::int64_t kernel, std::int64_t stride = same_as_kernel,
                                           std::int64_t padding = 0, const MaxPool1dOptions& options = {}) {
  return detail::max_windows_with_indices(x, detail::pool_request("max_pool1d_with_indices", 1, kernel, stride, padding,
                                                                  options.dilation, options.ceil_mode));
}
/// The same for volumes.
template <detail::FloatingOperand X>
[[nodiscard]] auto max_pool3d_with_indices(const X& x, Size3d kernel, Size3d stride = same_as_kernel,
                                           Size3d padding = 0, const MaxPool3dOptions& options = {}) {
  return detail::max_windows_with_indices(x, detail::max_pool3d_request(kernel, stride, padding, options));
}

/// The largest elements of windows that divide images into `size` parts, by the windows of adaptive_avg_pool2d.
/// shape: (batch, c, h, w) -> (batch, c, size), with or without the batch     gradient and cost: as max_pool3d
/// throws ShapeError for images without elements; ArgumentError for a size below 1
template <detail::FloatingOperand X>
[[nodiscard]] auto adaptive_max_pool2d(const X& x, Size2d size) {
  return detail::max_windows(x, detail::adaptive_request("adaptive_max_pool2d", 2, size));
}
/// The same along one dimension.
template <detail::FloatingOperand X>
[[nodiscard]] auto adaptive_max_pool1d(const X& x, std::int64_t size) {
  return detail::max_windows(x, detail::adaptive_request("adaptive_max_pool1d", 1, size));
}
/// The same for volumes.
template <detail::FloatingOperand X>
[[nodiscard]] auto adaptive_max_pool3d(const X& x, Size3d size) {
  return detail::max_windows(x, detail::adaptive_request("adaptive_max_pool3d", 3, size));
}
/// adaptive_max_pool2d and the positions of its results, as max_pool2d_with_indices.
template <detail::FloatingOperand X>
[[nodiscard]] auto adaptive_max_pool2d_with_indices(const X& x, Size2d size) {
  return detail::max_windows_with_indices(x, detail::adaptive_request("adaptive_max_pool2d", 2, size));
}
/// The same along one dimension.
template <detail::FloatingOperand X>
[[nodiscard]] auto adaptive_max_pool1d_with_indices(const X& x, std::int64_t size) {
  return detail::max_windows_with_indices(x, detail::adaptive_request("adaptive_max_pool1d", 1, size));
}
/// The same for volumes.
template <detail::FloatingOperand X>
[[nodiscard]] auto adaptive_max_pool3d_with_indices(const X& x, Size3d size) {
  return detail::max_windows_with_indices(x, detail::adaptive_request("adaptive_max_pool3d", 3, size));
}

namespace detail {
/// The parameters of an unpooling; in fewer than three dimensions, the first extents are 1.
struct UnpoolRequest : PoolCaller {
  Size3d kernel, stride, padding = 0;

  /// throws ArgumentError unless kernel and stride are 1 or more, and the border 0 or more
  LOCUS_OUT_OF_LINE const UnpoolRequest& checked() const {
    for (int d = 0; d < 3; ++d)
      if (of(kernel, d) < 1 || of(stride, d) < 1 || of(padding, d) < 0)
        fail<ArgumentError>({caller, ": a kernel of ", text(kernel), ", a stride of ", text(stride), " and padding of ",
                             text(padding), "; expected 1 or more, and padding of 0 or more"});
    return *this;
  }
  /// The result's shape: with `size`, the extents of its last dimensions, or all of them. throws ShapeError
  LOCUS_OUT_OF_LINE Shape result(const Shape& x, const Shape& indices, const Shape& size) const {
    require_input(x);
    if (!(indices == x))
      fail<ShapeError>(
          {caller, ": indices of shape ", indices, " for an input of shape ", x, "; expected equal shapes"});
    require_size(x, size);
    Shape y = x;
    for (int d = 3 - dims; d < 3; ++d) {
      require_few(caller, x, larger(x[d - 3], larger(of(kernel, d), larger(of(stride, d), of(padding, d)))));
      const std::int64_t own = (x[d - 3] - 1) * of(stride, d) - 2 * of(padding, d) + of(kernel, d);
      const std::int64_t wanted = size.rank() == 0 ? own : size[d - 3];
      if (wanted < 1 || wanted <= own - of(stride, d) || wanted >= own + of(stride, d))
        fail<ShapeError>({caller, ": ", wanted, " elements along dimension ", d - 3, " from an input of shape ", x,
                          " by windows of ", of(kernel, d), " with a stride of ", of(stride, d),
                          "; expected more than ", larger(own - of(stride, d), std::int64_t{0}), " and less than ",
                          own + of(stride, d)});
      y[d - 3] = wanted;
    }
    return y;
  }

 private:
  void require_size(const Shape& x, const Shape& size) const {
    bool fits = size.rank() == 0 || size.rank() == dims || size.rank() == x.rank();
    for (int d = 0; fits && d < size.rank() - dims; ++d) fits = size[d] == x[d];
    if (!fits)
      fail<ShapeError>({caller, ": an output size of ", size, " for an input of shape ", x, "; expected ", dims,
                        " extents, or a shape that differs from the input's in these alone"});
  }
  [[nodiscard]] static std::int64_t of(const Size3d& size, int d) {
    return d == 0 ? size.depth : d == 1 ? size.height : size.width;
  }
};
template <class Extent>
[[nodiscard]] UnpoolRequest unpool_request(const char* caller, int dims, const Extent& kernel, const Extent& stride,
                                           const Extent& padding) {
  return UnpoolRequest{{caller, dims},
                       pooled_size(kernel),
                       stride == Extent(same_as_kernel) ? pooled_size(kernel) : pooled_size(stride),
                       pooled_size(padding, 0)}
      .checked();
}
template <class X, class D>
[[nodiscard]] auto max_unpool(const X& x, const Tensor<std::int64_t, D>& indices, const UnpoolRequest& request,
                              const Shape& size) {
  const Shape shape = request.result(x.shape(), indices.shape(), size);
  const std::int64_t planes = plane_count(shape, request.dims);
  const Shape one_by_one{planes, planes == 0 ? 0 : elements(x.shape()) / planes};
  require_indices(request.caller, indices.contiguous(), planes == 0 ? 0 : elements(shape) / planes);
  const Tensor<value_of<X>, D> nothing =
      Tensor<value_of<X>, D>({planes, planes == 0 ? 0 : elements(shape) / planes}, x.device()).fill_(value_of<X>(0.f));
  return reshape(scatter(nothing, 1, indices.reshape(one_by_one), reshape(x, one_by_one)), shape);
}
template <class X, class I>
concept UnpoolOperands = IndexedOperands<X, I> && FloatingDType<value_of<X>> && !IsParameter<X>;
template <class X, class I>
struct UnpoolMistake : FirstMistake<IndexedMistake<X, I>, ParameterMistake<X>, IntegerMistake<X>> {};
}  // namespace detail

/// Puts elements back to the positions where max pooling found them; other elements are 0: F.max_unpool2d. Of several
/// elements for one position the last one stays.
/// shape:    x and indices (batch, c, rows, cols) -> (batch, c, h, w), with or without the batch, where h, likewise w,
///           is (rows - 1) stride - 2 padding + kernel, or as `output_size`, {h, w} or the whole shape, says
/// gradient: g at the positions, 0 for an element that did not stay     cost: as scatter, and a launch
/// throws ShapeError unless indices have the input's shape, and for an output size that such windows do not have;
/// IndexError for a position out of range, if the host can read it; ArgumentError
template <class X, class I>
  requires detail::UnpoolOperands<X, I>
[[nodiscard]] auto max_unpool2d(const X& x, const I& indices, Size2d kernel, Size2d stride = same_as_kernel,
                                Size2d padding = 0, const Shape& output_size = {}) {
  return detail::max_unpool(x, indices.eval().value(),
                            detail::unpool_request("max_unpool2d", 2, kernel, stride, padding), output_size);
}
/// The same along one dimension.
template <class X, class I>
  requires detail::UnpoolOperands<X, I>
[[nodiscard]] auto max_unpool1d(const X& x, const I& indices, std::int64_t kernel, std::int64_t stride = same_as_kernel,
                                std::int64_t padding = 0, const Shape& output_size = {}) {
  return detail::max_unpool(x, indices.eval().value(),
                            detail::unpool_request("max_unpool1d", 1, kernel, stride, padding), output_size);
}
/// The same for volumes.
template <class X, class I>
  requires detail::UnpoolOperands<X, I>
[[nodiscard]] auto max_unpool3d(const X& x, const I& indices, Size3d kernel, Size3d stride = same_as_kernel,
                                Size3d padding = 0, const Shape& output_size = {}) {
  return detail::max_unpool(x, indices.eval().value(),
                            detail::unpool_request("max_unpool3d", 3, kernel, stride, padding), output_size);
}

#include <locus/refuse/ops/pool_indices.inc>

}}  // namespace locus::LOCUS_ABI
