#pragma once
// ONNX's Resize and Upsample: each dimension is a weighted sum of slices, so every mode works for every rank.

#include <locus/interop/onnx/windows.hpp>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

/// How a dimension is resized.
struct ResizedAxis {
  std::int64_t extent = 0, size = 0;
  double scale = 1;
  bool is_cropped = false;  ///< only the part from `begin` to `end`, in parts of the input, is resized
  double begin = 0, end = 1;
};
/// The sources of each element of a resized dimension: `taps` slices and their weights.
struct Taps {
  Tensor<std::int64_t, Cpu> sources;  ///< (taps, elements)
  Tensor<double, Cpu> weights;        ///< likewise

  Taps(std::int64_t count, std::int64_t size) : sources({count, size}), weights({count, size}) {}
  [[nodiscard]] std::int64_t count() const { return sources.size(0); }
};

/// The coordinate in the input of element `at` of the result.
[[nodiscard]] inline double source_of(const Attributes& call, const ResizedAxis& axis, std::int64_t at) {
  const auto mode = call.opset() < 11 ? "asymmetric" : call.text("coordinate_transformation_mode", "half_pixel");
  const auto x = static_cast<double>(at), size = static_cast<double>(axis.size),
             extent = static_cast<double>(axis.extent);
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "half_pixel") return (x + 0.5) / axis.scale - 0.5;
  if (mode == "pytorch_half_pixel") return axis.size > 1 ? (x + 0.5) / axis.scale - 0.5 : 0;
  if (mode == "align_corners") return axis.size > 1 ? x * (extent - 1) / (axis.scale * extent - 1) : 0;
  if (mode == "half_pixel_symmetric") {
    const double shift = extent / 2 * (1 - size / (axis.scale * extent));
    return shift + (x + 0.5) / axis.scale - 0.5;
  }
  if (mode == "tf_crop_and_resize") {
    if (axis.size == 1) return (axis.begin + axis.end) / 2 * (extent - 1);
    return (axis.begin + x * (axis.end - axis.begin) / (size - 1)) * (extent - 1);
  }
  call.fail_here({"coordinate_transformation_mode = '", locus::detail::printable(mode), "', which Locus does not run"});
}
[[nodiscard]] inline std::int64_t nearest_of(const Attributes& call, double x) {
  const auto mode = call.opset() < 11 ? "floor" : call.text("nearest_mode", "round_prefer_floor");
  double found = 0;
  if (mode == "floor") found = __builtin_floor(x);
  else if (mode == "ceil") found = __builtin_ceil(x);
  else if (mode == "round_prefer_floor") found = __builtin_ceil(x - 0.5);
  else if (mode == "round_prefer_ceil") found = __builtin_floor(x + 0.5);
  else call.fail_here({"nearest_mode = '", locus::detail::printable(mode), "', which Locus does not run"});
  return static_cast<std::int64_t>(found);
}
/// Keys' cubic kernel at distance x.
[[nodiscard]] inline double cubic_weight(double a, double x) {
  x = x < 0 ? -x : x;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? a * (((x - 5) * x + 8) * x - 4) : 0;
}
/// The kernel of linear or cubic interpolation; nearest elements have none.
struct ResizeKernel {
  bool is_linear, is_cubic, excludes_outside, is_widened;
  double cubic_coefficient;
  double shrink = 1;  ///< with antialias, the kernel is as wide as an element of a smaller result

  ResizeKernel(const Attributes& call, const ResizedAxis& axis)
      : is_linear(call.text("mode", "nearest") == "linear" || call.text("mode", "nearest") == "bilinear"),
        is_cubic(call.text("mode", "nearest") == "cubic"),
        excludes_outside(call.flag("exclude_outside")),
        is_widened(call.flag("antialias") && axis.scale < 1 && axis.size > 0 && (is_linear || is_cubic)),
        cubic_coefficient(call.number("cubic_coeff_a", -0.75)) {
    if (!is_linear && !is_cubic) call.require_text("mode", "nearest");
    if (is_widened) shrink = axis.scale;
    if (reach() > 0x1p30) call.fail_here({"antialias of ", axis.extent, " elements as ", axis.size});
  }
  [[nodiscard]] bool is_nearest() const { return !is_linear && !is_cubic; }
  /// How far from the coordinate elements count.
  [[nodiscard]] double reach() const { return (is_cubic ? 2 : 1) / shrink; }
  [[nodiscard]] std::int64_t taps() const {
    return is_nearest() ? 1 : 2 * static_cast<std::int64_t>(__builtin_ceil(reach()));
  }
  [[nodiscard]] double weight(double away) const {
    const double distance = (away < 0 ? -away : away) * shrink;
    if (is_nearest()) return 1;
    return is_cubic ? cubic_weight(cubic_coefficient, distance) : distance < 1 ? 1 - distance : 0;
  }
};
/// throws OutOfMemory
[[nodiscard]] inline Taps taps_of(const Attributes& call, const ResizedAxis& axis) {
  const ResizeKernel kernel(call, axis);
  const std::int64_t last = axis.extent - 1, taps = kernel.taps();
  Taps result(taps, axis.size);
  for (std::int64_t at = 0; at < axis.size; ++at) {
    const double x = source_of(call, axis, at);
    const std::int64_t first =
        kernel.is_nearest() ? nearest_of(call, x) : static_cast<std::int64_t>(__builtin_floor(x - kernel.reach())) + 1;
    double total = 0;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t source = first + tap, i = tap * axis.size + at;
      const bool is_outside = source < 0 || source > last;
      const double weight = kernel.excludes_outside && is_outside ? 0 : kernel.weight(x - static_cast<double>(source));
      result.sources.data()[i] = source < 0 ? 0 : source > last ? last : source;
      result.weights.data()[i] = weight;
      total += weight;
    }
    if (kernel.is_widened || kernel.excludes_outside)
      for (std::int64_t tap = 0; tap < taps; ++tap) result.weights.data()[tap * axis.size + at] /= total;
  }
  return result;
}

/// Which elements of the result have a coordinate within the input; others have the extrapolation value.
[[nodiscard]] inline Tensor<bool, Cpu> inside_of(const Attributes& call, const ResizedAxis& axis) {
  Tensor<bool, Cpu> inside({axis.size});
  for (std::int64_t at = 0; at < axis.size; ++at) {
    const double x = source_of(call, axis, at);
    inside.data()[at] = x >= 0 && x <= static_cast<double>(axis.extent - 1);
  }
  return inside;
}
template <class F>
[[nodiscard]] F resize_axis(const Call<F>& call, const F& x, int dim, const ResizedAxis& axis) {
  using T = value_of<F>;
  if (axis.extent < 1) call.fail_here({"dimension ", dim, " without elements"});
  const Taps taps = taps_of(call, axis);
  Shape along = Dims::filled(x.rank(), 1);
  along[dim] = axis.size;
  F result;
  for (std::int64_t t = 0; t < taps.count(); ++t) {
    const F slices = index_select(x, dim, taps.sources.select(0, t).template to<device_of<F>>(call.device()));
    if (taps.count() == 1) {
      result = slices;
      break;
    }
    const auto weights =
        taps.weights.select(0, t).template as<T>().reshape(along).template to<device_of<F>>(call.device());
    result = t == 0 ? F(slices * weights) : F(result + slices * weights);
  }
  if (!axis.is_cropped) return result;
  const auto is_inside = inside_of(call, axis).reshape(along).template to<device_of<F>>(call.device());
  return where(is_inside, result, static_cast<compute_t<T>>(call.number("extrapolation_value", 0)));
}

/// Notes the part of each dimension that is resized, from input 1: all beginnings, then all ends, in parts of the
/// input.
template <class F>
void crop_axes(const Call<F>& call, const Integers& named, std::vector<ResizedAxis>& axes) {
  const auto part = call.plain(1).template as<double>().template to<Cpu>().contiguous();
  const auto count = static_cast<std::int64_t>(named.size());
  if (part.elements() != 2 * count)
    call.fail_here({"a region of ", part.elements(), " numbers for ", count, " dimensions; expected two for each"});
  for (std::int64_t i = 0; i < count; ++i) {
    ResizedAxis& axis =
        axes[static_cast<std::size_t>(call.axis_of(named[static_cast<std::size_t>(i)], static_cast<int>(axes.size())))];
    axis.begin = part.data()[i], axis.end = part.data()[count + i];
    axis.is_cropped = true;
    if (const double most = 0x1p30; !(__builtin_fabs(axis.begin) < most && __builtin_fabs(axis.end) < most))
      call.fail_here({"a region from ", axis.begin, " to ", axis.end, "; expected numbers within 2^30"});
  }
}

/// The dimensions that a Resize changes, of its scales or sizes.
template <class F>
[[nodiscard]] std::vector<ResizedAxis> resized_axes(const Call<F>& call) {
  const Shape& shape = call.shape(0);
  const int rank = shape.rank();
  std::vector<ResizedAxis> axes;
  for (const std::int64_t extent : shape) axes.push_back({extent, extent, 1});
  const bool is_old = call.opset() < 11;
  const std::size_t scales_at = is_old ? 1 : 2;
  Integers named = call.list("axes");
  if (named.empty())
    for (int d = 0; d < rank; ++d) named.push_back(d);
  const bool by_sizes = !is_old && call.has_input(3);
  const Integers sizes = by_sizes ? call.host_list(3) : Integers{};
  std::vector<double> scales;
  if (!by_sizes) {
    const auto host = call.plain(scales_at).template to<Cpu>().contiguous();
    for (std::int64_t i = 0; i < host.elements(); ++i)
      scales.push_back(static_cast<double>(static_cast<compute_t<value_of<F>>>(host.data()[i])));
  }
  if ((by_sizes ? sizes.size() : scales.size()) != named.size())
    call.fail_here({by_sizes ? sizes.size() : scales.size(), by_sizes ? " sizes" : " scales", " for ", named.size(),
                    " dimensions"});
  const auto policy = call.text("keep_aspect_ratio_policy", "stretch");
  double common = policy == "not_larger" ? __builtin_inf() : 0;
  for (std::size_t i = 0; i < named.size(); ++i) {
    ResizedAxis& axis = axes[static_cast<std::size_t>(call.axis_of(named[i], rank))];
    const auto extent = static_cast<double>(axis.extent);
    axis.scale = by_sizes ? static_cast<double>(sizes[i]) / extent : scales[i];
    if (!(axis.scale > 0 && extent * axis.scale < 0x1p53))
      call.fail_here({"scale ", axis.scale, " of ", axis.extent,
                      " elements; expected more than 0, and fewer than 2^53 ", "elements"});
    // The product is rounded to float, as in onnxruntime: 10 elements times 0.7f are 7, although 0.7f is below 0.7.
    axis.size = by_sizes ? sizes[i] : static_cast<std::int64_t>(static_cast<float>(extent * axis.scale));
    common = policy == "not_larger" ? (axis.scale < common ? axis.scale : common)
                                    : (axis.scale > common ? axis.scale : common);
  }
  if (call.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize") crop_axes(call, named, axes);
  if (!by_sizes || policy == "stretch") return axes;
  if (policy != "not_larger" && policy != "not_smaller") call.require_text("keep_aspect_ratio_policy", "stretch");
  for (const std::int64_t given : named) {
    ResizedAxis& axis = axes[static_cast<std::size_t>(call.axis_of(given, rank))];
    axis.scale = common;
    axis.size = static_cast<std::int64_t>(__builtin_floor(static_cast<double>(axis.extent) * common + 0.5));
  }
  return axes;
}
/// Whether interpolate() does the same: images, doubled and the like by linear interpolation of pixels' centers.
[[nodiscard]] inline bool is_interpolation(const Attributes& call, const std::vector<ResizedAxis>& axes) {
  if (axes.size() != 4 || axes[0].scale != 1 || axes[1].scale != 1 || call.opset() < 11) return false;
  if (call.text("mode", "nearest") != "linear" || call.flag("exclude_outside")) return false;
  if (call.flag("antialias") && (axes[2].scale < 1 || axes[3].scale < 1)) return false;
  if (call.text("coordinate_transformation_mode", "half_pixel") != "half_pixel") return false;
  for (const std::size_t d : {std::size_t{2}, std::size_t{3}})
    if (axes[d].size < 1 || axes[d].scale != static_cast<double>(axes[d].size) / static_cast<double>(axes[d].extent))
      return false;
  return true;
}
template <class F>
void resize_input(const Call<F>& call) {
  const auto axes = resized_axes(call);
  F x = call.numbers(0);
  if (is_interpolation(call, axes))
    return call.give_like(interpolate(x, {.size = {axes[2].size, axes[3].size}, .mode = InterpolateMode::bilinear}));
  for (int d = 0; d < x.rank(); ++d)
    if (const ResizedAxis& axis = axes[static_cast<std::size_t>(d)];
        axis.scale != 1 || axis.size != axis.extent || axis.is_cropped)
      x = resize_axis(call, x, d, axis);
  call.give_like(x);
}

template <class F>
inline constexpr Operation<F> resizings[] = {
    {"Resize", &resize_input<F>},
    {"Upsample", &resize_input<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
