#pragma once
// ONNX's pools of windows, in one to three dimensions.

#include <locus/interop/onnx/windows.hpp>
#include <locus/ops/pool3d.hpp>
#include <locus/ops/pool_indices.hpp>
#include <locus/ops/scatter.hpp>
#include <locus/ops/unfold.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// Windows whose border is made by pad. With ceil_mode, the last window reaches beyond the border, or ends before the
/// border does, as none begins behind the input.
struct PaddedWindows {
  Windows inner;   ///< without a border
  Windows beyond;  ///< their border: the elements beyond the border of x; negative: elements of it that are cut off
  Windows whole;   ///< their border: both

  PaddedWindows(const Windows& by, const Shape& x, bool ceils) : inner(without_border(by)), beyond(inner), whole(by) {
    for (std::size_t d = 0; ceils && d < by.dims(); ++d) {
      const std::int64_t extent = x[static_cast<int>(d) + 2], padded = extent + by.before[d] + by.after[d];
      const std::int64_t reach = by.dilations[d] * (by.kernel[d] - 1) + 1, stride = by.strides[d];
      if (padded + stride <= reach) continue;  // no window fits, which the pool or convolution refuses
      std::int64_t last = padded < reach ? 0 : (padded - reach + stride - 1) / stride * stride;
      if (last >= extent + by.before[d] && last >= stride) last -= stride;
      beyond.after[d] = last + reach - padded;
      whole.after[d] += beyond.after[d];
    }
  }
};

/// The sum of each window, by a convolution with ones: of any dilation, without a border.
template <class F>
[[nodiscard]] F sum_windows(const F& x, const Windows& by) {
  Shape planes = x.shape(), kernel{1, 1};
  planes[0] = x.size(0) * x.size(1), planes[1] = 1;
  for (const std::int64_t extent : by.kernel) kernel.push_back(extent);
  const F weights = Call<F>::handle(ones<value_of<F>>(kernel, x.device()));
  const F sums = convolve(F(reshape(x, planes)), weights, by, 1);
  Shape result = sums.shape();
  result[0] = x.size(0), result[1] = x.size(1);
  return reshape(sums, result);
}

template <class F>
[[nodiscard]] F max_pool(const Call<F>& call, F x) {
  Windows by = windows_of(call, x.shape(), call.list("kernel_shape"), 3);
  bool ceils = call.flag("ceil_mode");
  if (!by.is_symmetric() || !by.fits_pool()) {
    const PaddedWindows windows(by, x.shape(), ceils);
    x = pad(x, border(windows.whole), PadMode::constant, static_cast<compute_t<value_of<F>>>(-__builtin_inf()));
    by = windows.inner, ceils = false;
  }
  if (by.dims() == 3)
    return max_pool3d(x, by.size_3d(by.kernel), by.size_3d(by.strides), by.size_3d(by.before),
                      {.dilation = by.size_3d(by.dilations), .ceil_mode = ceils});
  if (by.dims() == 1)
    return max_pool1d(x, by.kernel[0], by.strides[0], by.before[0], {.dilation = by.dilations[0], .ceil_mode = ceils});
  return max_pool2d(x, by.size_2d(by.kernel), by.size_2d(by.strides), by.size_2d(by.before),
                    {.dilation = by.size_2d(by.dilations), .ceil_mode = ceils});
}
/// How far apart in x neighbours along each spatial dimension are, and, last, images. By `storage_order` 1 images are
/// column-major.
[[nodiscard]] inline Integers image_strides(const Attributes& call, const Shape& x) {
  const int dims = x.rank() - 2;
  Integers strides(static_cast<std::size_t>(dims) + 1);
  std::int64_t stride = 1;
  for (int d = 0; d < dims; ++d) {
    const int next = call.flag("storage_order") ? d : dims - 1 - d;
    strides[static_cast<std::size_t>(next)] = stride;
    stride *= x[2 + next];
  }
  strides.back() = stride;
  return strides;
}
/// The positions in x of the largest element of each window.
template <class F, class X>
[[nodiscard]] Tensor<std::int64_t, device_of<F>> largest_positions(const Call<F>& call, const X& x, const Windows& by) {
  using I = Tensor<std::int64_t, device_of<F>>;
  const int dims = static_cast<int>(by.dims());
  const PaddedWindows windows(by, x.shape(), call.flag("ceil_mode"));
  X seen = pad(x, border(windows.whole), PadMode::constant, static_cast<compute_t<value_of<F>>>(-__builtin_inf()));
  for (int d = 0; d < dims; ++d) {
    const auto i = static_cast<std::size_t>(d);
    seen = unfold(seen, 2 + d, by.kernel[i], by.strides[i], by.dilations[i]);
  }
  Shape flat;
  for (int d = 0; d < 2 + dims; ++d) flat.push_back(seen.size(d));
  flat.push_back(inferred);
  I within = argmax(reshape(seen, flat), 2 + dims);
  const auto along = [&](int axis, std::int64_t count) {
    Shape alone = Dims::filled(2 + dims, 1);
    alone[axis] = count;
    return reshape(arange<std::int64_t>(0, count, 1, call.device()), alone);
  };
  const Integers strides = image_strides(call, x.shape());
  I result = (along(0, x.size(0)) * x.size(1) + along(1, x.size(1))) * strides.back();
  for (int d = dims - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    const I first = along(2 + d, flat[2 + d]) * by.strides[i] - by.before[i];
    result = result + (first + within % by.kernel[i] * by.dilations[i]) * strides[i];
    within = within / by.kernel[i];
  }
  return result;
}
/// Integers, which have 8 bits here, are exact in every floating-point type.
template <class F>
void max_pool_input(const Call<F>& call) {
  using T = value_of<F>;
  const DataType type = call.input(0).type();
  if (call.input(0).numbers()) {
    call.give_like(max_pool(call, call.numbers(0)));
    if (!call.wants(1)) return;
    const Windows by = windows_of(call, call.shape(0), call.list("kernel_shape"), 3);
    return call.give(1, Value<F>(DataType::int64, largest_positions(call, call.plain(0), by)));
  }
  if (type != DataType::uint8 && type != DataType::int8) call.fail_type(0, "floating-point numbers, or 8-bit integers");
  const F largest = max_pool(call, call.handle(call.integers(0).there(call.device()).template as<T>().eval()));
  call.give_as(type, plain_of(largest).template as<std::int64_t>());
}

/// Puts elements back to the positions where MaxPool found them; other elements are 0.
template <class F>
void max_unpool(const Call<F>& call) {
  const F& x = call.numbers(0);
  const Windows by = windows_of(call, x.shape(), call.list("kernel_shape"), 3);
  Shape own{x.size(0), x.size(1)};
  for (std::size_t d = 0; d < by.dims(); ++d)
    own.push_back((x.size(static_cast<int>(d) + 2) - 1) * by.strides[d] + by.kernel[d] - by.before[d] - by.after[d]);
  const Shape shape = call.has_input(2) ? Shape(call.host_list(2)) : own;
  bool fits = shape.rank() == own.rank();
  for (int d = 0; d < own.rank() && fits; ++d) fits = own[d] >= 0 && shape[d] >= 0 && shape[d] <= most_of_window;
  if (!fits) call.fail_here({"a result of shape ", shape, " for an input of shape ", x.shape()});
  const F nothing = call.handle(zeros<value_of<F>>({elements(own)}, call.device()));
  const auto positions = call.integers(1).there(call.device()).flatten();
  const F y = reshape(index_copy(nothing, 0, positions, F(reshape(x, {-1}))), own);
  Integers beyond(2 * static_cast<std::size_t>(own.rank()));
  for (int d = 0; d < own.rank(); ++d) beyond[2 * static_cast<std::size_t>(own.rank() - 1 - d) + 1] = shape[d] - own[d];
  call.give_like(pad(y, PadAmounts(beyond)));
}

template <class F>
void average_pool(const Call<F>& call) {
  const F& x = call.numbers(0);
  const Windows by = windows_of(call, x.shape(), call.list("kernel_shape"), 3);
  const bool counts_border = call.flag("count_include_pad"), ceils = call.flag("ceil_mode");
  const AvgPoolOptions options{.ceil_mode = ceils, .count_include_pad = counts_border};
  if (by.dilations == Integers(by.dims(), 1) && by.is_symmetric() && by.fits_pool()) {
    if (by.dims() == 1) return call.give_like(avg_pool1d(x, by.kernel[0], by.strides[0], by.before[0], options));
    if (by.dims() == 2)
      return call.give_like(
          avg_pool2d(x, by.size_2d(by.kernel), by.size_2d(by.strides), by.size_2d(by.before), options));
    return call.give_like(avg_pool3d(x, by.size_3d(by.kernel), by.size_3d(by.strides), by.size_3d(by.before), options));
  }
  // The sum of each window, divided by the number of its elements that count.
  const PaddedWindows windows(by, x.shape(), ceils);
  F counted = call.handle(ones<value_of<F>>(x.shape(), call.device()));
  if (counts_border) counted = pad(pad(counted, border(by), PadMode::constant, 1), border(windows.beyond));
  else counted = pad(counted, border(windows.whole));
  call.give_like(sum_windows(F(pad(x, border(windows.whole))), windows.inner) / sum_windows(counted, windows.inner));
}
/// (sum of |x|^p)^(1/p) of each window
template <class F>
void lp_pool(const Call<F>& call) {
  const F& x = call.numbers(0);
  const auto p = static_cast<double>(call.integer("p", 2));
  if (p < 1) call.fail_here({"p = ", p, "; expected 1 or more"});
  const Windows by = windows_of(call, x.shape(), call.list("kernel_shape"), 3);
  const PaddedWindows windows(by, x.shape(), call.flag("ceil_mode"));
  const F powers = pad(pow(abs(x), p), border(windows.whole));
  call.give_like(pow(sum_windows(powers, windows.inner), 1 / p));
}

template <class F>
inline constexpr Operation<F> pools[] = {
    {"AveragePool", &average_pool<F>},
    {"LpPool", &lp_pool<F>},
    {"MaxPool", &max_pool_input<F>},
    {"MaxUnpool", &max_unpool<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
