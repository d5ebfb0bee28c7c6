#pragma once
// ONNX's pools of windows, in one to three dimensions.

#include <locus/interop/onnx/windows.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// The windows without their border, and with ceil_mode the elements that the last windows reach beyond the input.
struct PaddedWindows {
  Windows inner;
  Windows beyond;

  PaddedWindows(const Windows& by, const Shape& x, bool ceils) : inner(without_border(by)), beyond(inner) {
    for (std::size_t d = 0; ceils && d < by.dims(); ++d) {
      const std::int64_t extent = x[static_cast<int>(d) + 2], padded = extent + by.before[d] + by.after[d];
      const std::int64_t reach = by.dilations[d] * (by.kernel[d] - 1) + 1, stride = by.strides[d];
      std::int64_t last = padded < reach ? 0 : (padded - reach + stride - 1) / stride * stride;
      if (last >= extent + by.before[d] && last >= stride) last -= stride;  // no window begins behind the input
      beyond.after[d] = last + reach > padded ? last + reach - padded : 0;
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

/// Windows of three dimensions: the largest of each row's, then of each of these columns.
template <class F>
[[nodiscard]] F max_pool_volume(const F& x, const Windows& by, bool ceils) {
  const std::int64_t batch = x.size(0), channels = x.size(1), height = x.size(3), width = x.size(4);
  const F along = max_pool2d(reshape(x, {batch, channels, x.size(2), height * width}), {by.kernel[0], 1},
                             {by.strides[0], 1}, {by.before[0], 0},
                             {.dilation = {by.dilations[0], 1}, .ceil_mode = ceils});
  const F images = reshape(along, {batch, channels * along.size(2), height, width});
  const F y = max_pool2d(images, {by.kernel[1], by.kernel[2]}, {by.strides[1], by.strides[2]},
                         {by.before[1], by.before[2]},
                         {.dilation = {by.dilations[1], by.dilations[2]}, .ceil_mode = ceils});
  return reshape(y, {batch, channels, along.size(2), y.size(2), y.size(3)});
}
template <class F>
[[nodiscard]] F max_pool(const Call<F>& call, F x) {
  Windows by = windows_of(call, x.shape(), call.list("kernel_shape"), 3);
  if (!by.is_symmetric() || !by.fits_pool()) {
    x = pad(x, border(by), PadMode::constant, static_cast<compute_t<value_of<F>>>(-__builtin_inf()));
    by = without_border(by);
  }
  const bool ceils = call.flag("ceil_mode");
  if (by.dims() == 3) return max_pool_volume(x, by, ceils);
  if (by.dims() == 1)
    return max_pool1d(x, by.kernel[0], by.strides[0], by.before[0], {.dilation = by.dilations[0], .ceil_mode = ceils});
  return max_pool2d(x, by.size_2d(by.kernel), by.size_2d(by.strides), by.size_2d(by.before),
                    {.dilation = by.size_2d(by.dilations), .ceil_mode = ceils});
}
/// Integers, which have 8 bits here, are exact in every floating-point type.
template <class F>
void max_pool_input(const Call<F>& call) {
  using T = value_of<F>;
  const DataType type = call.input(0).type();
  if (call.input(0).numbers()) return call.give_like(max_pool(call, call.numbers(0)));
  if (type != DataType::uint8 && type != DataType::int8) call.fail_type(0, "floating-point numbers, or 8-bit integers");
  const F largest = max_pool(call, call.handle(call.integers(0).there(call.device()).template as<T>().eval()));
  call.give_as(type, plain_of(largest).template as<std::int64_t>());
}

template <class F>
void average_pool(const Call<F>& call) {
  const F& x = call.numbers(0);
  const Windows by = windows_of(call, x.shape(), call.list("kernel_shape"), 3);
  const bool counts_border = call.flag("count_include_pad"), ceils = call.flag("ceil_mode");
  const AvgPoolOptions options{.ceil_mode = ceils, .count_include_pad = counts_border};
  if (by.dims() < 3 && by.dilations == Integers(by.dims(), 1) && by.is_symmetric() && by.fits_pool()) {
    if (by.dims() == 1) return call.give_like(avg_pool1d(x, by.kernel[0], by.strides[0], by.before[0], options));
    return call.give_like(
        avg_pool2d(x, by.size_2d(by.kernel), by.size_2d(by.strides), by.size_2d(by.before), options));
  }
  // The sum of each window, divided by the number of its elements that count.
  const PaddedWindows windows(by, x.shape(), ceils);
  const auto widened = [&](const auto& t) { return pad(pad(t, border(by)), border(windows.beyond)); };
  const F ones_inside = call.handle(ones<value_of<F>>(x.shape(), call.device()));
  const F counted = counts_border ? F(pad(ones_inside, border(by), PadMode::constant, 1)) : F(pad(ones_inside, border(by)));
  const F counts = sum_windows(F(pad(counted, border(windows.beyond))), windows.inner);
  call.give_like(sum_windows(F(widened(x)), windows.inner) / counts);
}
/// (sum of |x|^p)^(1/p) of each window
template <class F>
void lp_pool(const Call<F>& call) {
  const F& x = call.numbers(0);
  const auto p = static_cast<double>(call.integer("p", 2));
  if (p < 1) call.fail_here({"p = ", p, "; expected 1 or more"});
  const Windows by = windows_of(call, x.shape(), call.list("kernel_shape"), 3);
  const PaddedWindows windows(by, x.shape(), call.flag("ceil_mode"));
  const F powers = pad(pad(pow(abs(x), p), border(by)), border(windows.beyond));
  call.give_like(pow(sum_windows(powers, windows.inner), 1 / p));
}

template <class F>
inline constexpr Operation<F> pools[] = {
    {"AveragePool", &average_pool<F>},
    {"LpPool", &lp_pool<F>},
    {"MaxPool", &max_pool_input<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
