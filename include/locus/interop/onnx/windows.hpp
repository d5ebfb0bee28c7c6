#pragma once
// ONNX's convolutions, and pools of whole images and of channels.

#include <locus/interop/onnx/shaping.hpp>
#include <locus/ops/conv.hpp>
#include <locus/ops/conv3d.hpp>
#include <locus/ops/extreme.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/interpolate.hpp>
#include <locus/ops/local_response_norm.hpp>
#include <locus/ops/norm.hpp>
#include <locus/ops/pool.hpp>
#include <locus/ops/reduce.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// The windows of a convolution or a pool, one number for each spatial dimension.
struct Windows {
  Integers kernel, strides, dilations, before, after;

  [[nodiscard]] std::size_t dims() const { return kernel.size(); }
  [[nodiscard]] bool is_empty() const { return before == Integers(dims(), 0) && after == before; }
  [[nodiscard]] bool is_symmetric() const { return before == after; }
  /// Whether no border is negative, or more than half a kernel, which pools refuse.
  [[nodiscard]] bool fits_pool() const {
    for (std::size_t d = 0; d < dims(); ++d)
      if (before[d] < 0 || 2 * before[d] > kernel[d]) return false;
    return true;
  }
  [[nodiscard]] bool has_negative() const {
    for (std::size_t d = 0; d < dims(); ++d)
      if (before[d] < 0) return true;
    return false;
  }
  [[nodiscard]] Size2d size_2d(const Integers& list) const { return {list[0], list[1]}; }
  [[nodiscard]] Size3d size_3d(const Integers& list) const { return {list[0], list[1], list[2]}; }
};

/// Numbers of windows and extents of inputs beyond this are refused: a sum of a few products of two of them fits 64
/// bits, also where an input has no elements.
inline constexpr std::int64_t most_of_window = std::int64_t{1} << 30;
[[nodiscard]] constexpr bool is_window_number(std::int64_t number) {
  return number >= -most_of_window && number <= most_of_window;
}
/// throws DataError for another number of spatial dimensions than 1 to `most`, lists of another length, and numbers out
/// of range
[[nodiscard]] inline Windows windows_of(const Attributes& call, const Shape& x, Integers kernel, int most) {
  const int dims = x.rank() - 2;
  if (dims < 1 || dims > most)
    call.fail_here({"an input of shape ", x, "; Locus has this operator for 1 to ", most, " dimensions beside batch ",
                    "and channels"});
  for (const std::int64_t extent : x)
    if (extent > most_of_window) call.fail_here({"an input of shape ", x, "; expected extents of at most 2^30"});
  const auto count = static_cast<std::size_t>(dims);
  Windows w{std::move(kernel), call.list("strides", Integers(count, 1)), call.list("dilations", Integers(count, 1)),
            Integers(count, 0), Integers(count, 0)};
  const Integers pads = call.list("pads", Integers(2 * count, 0));
  const auto require = [&](const char* name, std::size_t given, std::size_t expected) {
    if (given != expected) call.fail_here({name, " has ", given, " numbers; expected ", expected});
  };
  require("kernel_shape", w.kernel.size(), count), require("strides", w.strides.size(), count);
  require("dilations", w.dilations.size(), count), require("pads", pads.size(), 2 * count);
  const auto word = call.text("auto_pad", "NOTSET");
  const bool is_same = word == "SAME_UPPER" || word == "SAME_LOWER";
  if (!is_same && word != "VALID") call.require_text("auto_pad", "NOTSET");
  for (std::size_t d = 0; d < count; ++d) {
    for (const std::int64_t number : {w.kernel[d], w.strides[d], w.dilations[d]})
      if (number < 1 || number > most_of_window)
        call.fail_here({"kernel ", w.kernel[d], ", stride ", w.strides[d], ", dilation ", w.dilations[d],
                        "; expected 1 to 2^30 of each"});
    if (!is_window_number(pads[d]) || !is_window_number(pads[d + count]))
      call.fail_here({"pads ", pads[d], " and ", pads[d + count], "; expected numbers within 2^30"});
    w.before[d] = pads[d];
    w.after[d] = pads[d + count];
    if (word == "VALID") w.before[d] = w.after[d] = 0;
    if (!is_same) continue;
    const std::int64_t extent = x[static_cast<int>(d) + 2], outputs = (extent + w.strides[d] - 1) / w.strides[d];
    const std::int64_t reach = (outputs - 1) * w.strides[d] + w.dilations[d] * (w.kernel[d] - 1) + 1;
    const std::int64_t total = reach > extent ? reach - extent : 0;
    w.before[d] = word == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.after[d] = total - w.before[d];
  }
  return w;
}
[[nodiscard]] inline Integers spatial(const Shape& shape) {
  Integers list;
  for (int d = 2; d < shape.rank(); ++d) list.push_back(shape[d]);
  return list;
}
/// Amounts of pad around the spatial dimensions.
[[nodiscard]] inline PadAmounts border(const Windows& w) {
  Integers amounts;
  for (std::size_t d = w.dims(); d-- > 0;) {
    amounts.push_back(w.before[d]);
    amounts.push_back(w.after[d]);
  }
  return PadAmounts(amounts);
}
[[nodiscard]] inline Windows without_border(Windows w) {
  w.before = w.after = Integers(w.dims(), 0);
  return w;
}

template <class F, class... B>
[[nodiscard]] F convolve(const F& x, const F& w, const Windows& by, std::int64_t groups, const B&... bias) {
  if (by.dims() == 1)
    return conv1d(x, w, bias...,
                  {.stride = by.strides[0], .padding = by.before[0], .dilation = by.dilations[0], .groups = groups});
  if (by.dims() == 2)
    return conv2d(x, w, bias...,
                  {.stride = by.size_2d(by.strides),
                   .padding = by.size_2d(by.before),
                   .dilation = by.size_2d(by.dilations),
                   .groups = groups});
  return conv3d(x, w, bias...,
                {.stride = by.size_3d(by.strides),
                 .padding = by.size_3d(by.before),
                 .dilation = by.size_3d(by.dilations),
                 .groups = groups});
}
template <class F>
void conv(const Call<F>& call) {
  const F &x = call.numbers(0), &w = call.numbers(1);
  Windows by = windows_of(call, x.shape(), spatial(w.shape()), 3);
  const std::int64_t groups = call.integer("group", 1);
  const bool is_padded = by.is_symmetric() && !by.has_negative();
  const F given = is_padded ? x : F(pad(x, border(by)));
  if (!is_padded) by = without_border(by);
  call.give_like(call.has_input(2) ? convolve(given, w, by, groups, call.numbers(2)) : convolve(given, w, by, groups));
}

/// The border that a transposed convolution drops: of `pads`, or such that the output has the wanted extents.
inline void find_dropped(const Attributes& call, const Shape& x, Windows& by, const Integers& extra) {
  const auto word = call.text("auto_pad", "NOTSET");
  const bool is_same = word == "SAME_UPPER" || word == "SAME_LOWER";
  Integers wanted = call.list("output_shape");
  if (wanted.empty() && !is_same) return;
  if (wanted.size() == by.dims() + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != by.dims()) call.fail_here({"output_shape has ", wanted.size(), " numbers"});
  for (const std::int64_t extent : wanted)
    if (extent < 0 || extent > most_of_window) call.fail_here({"an extent of ", extent, " in output_shape"});
  for (std::size_t d = 0; d < by.dims(); ++d) {
    const std::int64_t extent = x[static_cast<int>(d) + 2];
    const std::int64_t size = wanted.empty() ? extent * by.strides[d] : wanted[d];
    const std::int64_t total =
        (extent - 1) * by.strides[d] + extra[d] + by.dilations[d] * (by.kernel[d] - 1) + 1 - size;
    // A wanted extent beyond the result's adds zeros at the end.
    by.before[d] = total < 0 ? 0 : word == "SAME_UPPER" ? total / 2 : total - total / 2;
    by.after[d] = total - by.before[d];
  }
}
/// A transposed convolution of which nothing is dropped, with extra elements at the end.
template <class F, class... B>
[[nodiscard]] F convolve_transposed(const F& x, const F& w, const Windows& by, const Integers& extra,
                                    std::int64_t groups, const B&... bias) {
  if (by.dims() == 1)
    return conv_transpose1d(
        x, w, bias...,
        {.stride = by.strides[0], .output_padding = extra[0], .groups = groups, .dilation = by.dilations[0]});
  if (by.dims() == 2)
    return conv_transpose2d(x, w, bias...,
                            {.stride = by.size_2d(by.strides),
                             .output_padding = by.size_2d(extra),
                             .groups = groups,
                             .dilation = by.size_2d(by.dilations)});
  return conv_transpose3d(x, w, bias...,
                          {.stride = by.size_3d(by.strides),
                           .output_padding = by.size_3d(extra),
                           .groups = groups,
                           .dilation = by.size_3d(by.dilations)});
}
template <class F>
void conv_transpose(const Call<F>& call) {
  const F &x = call.numbers(0), &w = call.numbers(1);
  Windows by = windows_of(call, x.shape(), spatial(w.shape()), 3);
  Integers extra = call.list("output_padding", Integers(by.dims(), 0));
  if (extra.size() != by.dims()) call.fail_here({"output_padding has ", extra.size(), " numbers"});
  for (const std::int64_t number : extra)
    if (!is_window_number(number)) call.fail_here({"output_padding ", number, "; expected numbers within 2^30"});
  find_dropped(call, x.shape(), by, extra);
  Windows dropped = by;
  for (std::size_t d = 0; d < by.dims(); ++d) dropped.before[d] = -by.before[d], dropped.after[d] = -by.after[d];
  const std::int64_t groups = call.integer("group", 1);
  const F y = call.has_input(2) ? convolve_transposed(x, w, by, extra, groups, call.numbers(2))
                                : convolve_transposed(x, w, by, extra, groups);
  call.give_like(dropped.is_empty() ? y : F(pad(y, border(dropped))));
}

template <class F>
[[nodiscard]] Axes spatial_axes(const Call<F>& call) {
  Axes axes;
  for (int d = 2; d < call.shape(0).rank(); ++d) axes.push_back(d);
  if (axes.empty()) call.fail_here({"an input of shape ", call.shape(0), "; expected dimensions after the channels"});
  return axes;
}
/// x / (bias + alpha * mean of squares of neighbouring channels)^beta
template <class F>
void normalize_locally(const Call<F>& call) {
  const F& x = call.numbers(0);
  const std::int64_t size = call.integer("size", 1);
  if (size < 1 || x.rank() < 2) call.fail_here({"size ", size, " for an input of shape ", x.shape()});
  call.give_like(locus::detail::over_near_channels(
      "LRN", x, size, (size - 1) / 2,
      {.alpha = call.number("alpha", 1e-4), .beta = call.number("beta", 0.75), .k = call.number("bias", 1)}));
}
/// (sum of |x|^p)^(1/p) over the spatial dimensions
template <class F>
void global_lp_pool(const Call<F>& call) {
  const auto p = static_cast<double>(call.integer("p", 2));
  if (p < 1) call.fail_here({"p = ", p, "; expected 1 or more"});
  call.give_like(norm(call.numbers(0), p, spatial_axes(call), true));
}

template <class F>
inline constexpr Operation<F> windows[] = {
    {"Conv", &conv<F>},
    {"ConvTranspose", &conv_transpose<F>},
    {"GlobalAveragePool", [](const Call<F>& c) { c.give_like(mean(c.numbers(0), spatial_axes(c), true)); }},
    {"GlobalLpPool", &global_lp_pool<F>},
    {"GlobalMaxPool", [](const Call<F>& c) { c.give_like(max(c.numbers(0), spatial_axes(c), true)); }},
    {"LRN", &normalize_locally<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
