#pragma once
// ONNX's samples at points of grids, columns of windows, and deformed convolutions.

#include <locus/interop/onnx/windows.hpp>
#include <locus/ops/grid_sample.hpp>
#include <locus/ops/unfold.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

template <class F>
void sample_grid(const Call<F>& call) {
  const auto mode = call.text("mode", "linear"), border = call.text("padding_mode", "zeros");
  GridSampleOptions options{.align_corners = call.flag("align_corners")};
  if (mode == "nearest") options.mode = SampleMode::nearest;
  else if (mode == "cubic" || mode == "bicubic") options.mode = SampleMode::bicubic;
  else if (mode != "bilinear") call.require_text("mode", "linear");
  if (border == "border") options.padding_mode = SamplePadding::border;
  else if (border == "reflection") options.padding_mode = SamplePadding::reflection;
  else call.require_text("padding_mode", "zeros");
  call.give_like(grid_sample(call.numbers(0), call.numbers(1), options));
}
template <class F>
void make_affine_grid(const Call<F>& call) {
  call.give_like(affine_grid(call.numbers(0), Shape(call.host_list(1)), call.flag("align_corners")));
}

/// Adds columns (n, c * kernel, windows) of one to three dimensions up to images.
template <class F>
void add_columns(const Call<F>& call) {
  const F& x = call.numbers(0);
  const Integers size = call.host_list(1);
  const auto dims = static_cast<int>(size.size());
  Shape image{0, 0}, windows;
  for (const std::int64_t extent : size) {
    if (extent < 1 || extent > most_of_window) call.fail_here({"an image of ", extent, " elements along a dimension"});
    image.push_back(extent);
  }
  const Windows by = windows_of(call, image, call.host_list(2), 3);
  std::int64_t elements = 1;
  bool fits = x.rank() == 3 && !by.has_negative();
  for (int d = 0; d < dims && fits; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const std::int64_t room = size[i] + by.before[i] + by.after[i] - by.dilations[i] * (by.kernel[i] - 1) - 1;
    fits = room >= 0 && by.after[i] >= 0;
    windows.push_back(fits ? room / by.strides[i] + 1 : 0);
    elements = product(call, elements, by.kernel[i]);
  }
  if (!fits || x.size(1) % elements != 0 || x.size(2) != locus::elements(windows))
    call.fail_here({"columns of shape ", x.shape(), " for an image of ", dims, " dimensions and windows of ", elements,
                    " elements; expected (n, channels * window, windows)"});
  Shape parts{x.size(0), x.size(1) / elements};
  Axes order{0, 1};
  for (const std::int64_t extent : by.kernel) parts.push_back(extent);
  for (const std::int64_t count : windows) parts.push_back(count);
  for (int d = 0; d < 2 * dims; ++d) order.push_back(2 + (d < dims ? d + dims : d - dims));
  F y = permute(reshape(x, parts), order);
  Integers cut;
  for (int d = dims - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    y = fold_windows(y, 2 + d, size[i] + by.before[i] + by.after[i], by.strides[i], by.dilations[i]);
    cut.push_back(-by.before[i]), cut.push_back(-by.after[i]);
  }
  call.give_like(by.is_empty() ? y : F(pad(y, PadAmounts(cut))));
}

/// Of each window along a dimension, from `before` elements before the first on, the elements that it covers.
template <class F>
[[nodiscard]] auto covered_elements(const Call<F>& call, const Windows& by, std::size_t d, std::int64_t windows) {
  const auto first = arange<std::int64_t>(0, windows, 1, call.device()) * by.strides[d] - by.before[d];
  const auto tap = arange<std::int64_t>(0, by.kernel[d], 1, call.device()) * by.dilations[d];
  return (unsqueeze(first, 1) + tap).eval().template as<value_of<F>>().eval();  // (windows, kernel)
}
/// A convolution of images whose windows cover points beside their elements, as input 2 says, weighted by input 4. The
/// points of all windows are samples of the image, and the windows of these lie side by side.
template <class F>
void convolve_deformed(const Call<F>& call) {
  const F &x = call.numbers(0), &w = call.numbers(1);
  Windows by = windows_of(call, x.shape(), spatial(w.shape()), 2);
  const std::int64_t groups = call.integer("offset_group", 1);
  if (by.dims() != 2 || groups < 1 || x.size(1) % groups != 0 || x.size(2) < 1 || x.size(3) < 1)
    call.fail_here({"an input of shape ", x.shape(), " in ", groups, " groups; expected (n, c, h, w) with elements"});
  const std::int64_t n = x.size(0) * groups, kh = by.kernel[0], kw = by.kernel[1];
  Integers out;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t room =
        x.size(static_cast<int>(d) + 2) + by.before[d] + by.after[d] - by.dilations[d] * (by.kernel[d] - 1) - 1;
    out.push_back(room < 0 ? 0 : room / by.strides[d] + 1);
  }
  const std::int64_t oh = out[0], ow = out[1], taps = product(call, product(call, groups, kh), kw);
  const auto require = [&](std::size_t i, std::int64_t channels) {
    if (const Shape expected{x.size(0), channels, oh, ow}; !(call.shape(i) == expected))
      call.fail_here({"input ", i, " of shape ", call.shape(i), "; expected ", expected});
  };
  require(2, product(call, taps, 2));
  // (n, kh, kw, 2, oh, ow) to (n, oh, kh, ow, kw), for each of the two dimensions.
  const F offsets = permute(reshape(call.numbers(2), {n, kh, kw, 2, oh, ow}), {3, 0, 4, 1, 5, 2});
  const auto point = [&](std::size_t d, const Shape& around) {  // from -1 to 1, the borders of the image
    const auto at = reshape(covered_elements(call, by, d, out[d]), around);
    const auto extent = static_cast<compute_t<value_of<F>>>(x.size(static_cast<int>(d) + 2));
    const F all = ((at + select(offsets, 0, static_cast<std::int64_t>(d))) * 2 + 1) / extent - 1;
    return reshape(all, {n, oh * kh, ow * kw, 1});
  };
  const F points = concat({point(1, {ow, kw}), point(0, {oh, kh, 1, 1})}, 3);
  F samples = grid_sample(reshape(x, {n, x.size(1) / groups, x.size(2), x.size(3)}), points);
  if (call.has_input(4)) {
    require(4, taps);
    const F mask = permute(reshape(call.numbers(4), {n, kh, kw, oh, ow}), {0, 3, 1, 4, 2});
    samples = samples * reshape(mask, {n, 1, oh * kh, ow * kw});
  }
  samples = reshape(samples, {x.size(0), x.size(1), oh * kh, ow * kw});
  by.strides = by.kernel, by.dilations = {1, 1}, by.before = by.after = {0, 0};
  const std::int64_t channel_groups = call.integer("group", 1);
  call.give_like(call.has_input(3) ? convolve(samples, w, by, channel_groups, call.numbers(3))
                                   : convolve(samples, w, by, channel_groups));
}

template <class F>
inline constexpr Operation<F> samples[] = {
    {"AffineGrid", &make_affine_grid<F>},
    {"Col2Im", &add_columns<F>},
    {"DeformConv", &convolve_deformed<F>},
    {"GridSample", &sample_grid<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
