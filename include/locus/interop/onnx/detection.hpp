#pragma once
// ONNX's operators on boxes: suppression of overlaps, and pools of regions. The host reads the boxes.

#include <locus/interop/onnx/windows.hpp>

#include <map>

namespace locus { inline namespace LOCUS_ABI { namespace onnx::detail {

struct Box {
  double top, left, bottom, right;

  [[nodiscard]] double area() const { return (bottom - top) * (right - left); }
  /// The share of the union that is common; 0 of boxes without an area.
  [[nodiscard]] double overlap(const Box& other) const {
    const double height = locus::detail::smaller(bottom, other.bottom) - locus::detail::larger(top, other.top);
    const double width = locus::detail::smaller(right, other.right) - locus::detail::larger(left, other.left);
    if (!(height > 0 && width > 0)) return 0;
    const double common = height * width;
    return common / (area() + other.area() - common);
  }
};
/// Of four numbers: two corners, y first, in any order; or the centre, x first, and width and height.
[[nodiscard]] inline Box box_of(const double* numbers, bool is_center) {
  const auto [a, b, c, d] = std::array{numbers[0], numbers[1], numbers[2], numbers[3]};
  if (is_center) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {locus::detail::smaller(a, c), locus::detail::smaller(b, d), locus::detail::larger(a, c),
          locus::detail::larger(b, d)};
}
/// An input's numbers as double, on the host.
template <class F>
[[nodiscard]] Tensor<double, Cpu> host_numbers(const Call<F>& call, std::size_t i) {
  return call.plain(i).template to<Cpu>().template as<double>().contiguous();
}

/// From the highest score on, each box that overlaps no chosen one by more than the threshold.
template <class F>
void suppress_overlaps(const Call<F>& call) {
  const Shape &boxes_shape = call.shape(0), &scores_shape = call.shape(1);
  if (boxes_shape.rank() != 3 || boxes_shape[2] != 4 || scores_shape.rank() != 3 || scores_shape[0] != boxes_shape[0] ||
      scores_shape[2] != boxes_shape[1])
    call.fail_here({"boxes of shape ", boxes_shape, " with scores of shape ", scores_shape,
                    "; expected (batch, boxes, 4) and (batch, classes, boxes)"});
  const std::int64_t count = boxes_shape[1], most = call.has_input(2) ? call.host_integer(2) : 0;
  const double overlap = call.has_input(3) ? call.host_number(3) : 0;
  const double least = call.has_input(4) ? call.host_number(4) : -1. / 0.;
  const bool is_center = call.flag("center_point_box");
  const Tensor<double, Cpu> boxes = host_numbers(call, 0), scores = host_numbers(call, 1);
  Integers chosen;
  for (std::int64_t row = 0; row < scores_shape[0] * scores_shape[1] && most > 0; ++row) {
    const std::int64_t batch = row / scores_shape[1];
    const double* const of_row = scores.data() + row * count;
    std::multimap<double, std::int64_t> by_score;  // highest first; equal ones in the order of the input
    for (std::int64_t i = 0; i < count; ++i)
      if (of_row[i] > least) by_score.emplace(-of_row[i], i);
    std::vector<Box> kept;
    for (const auto& [score, i] : by_score) {
      if (static_cast<std::int64_t>(kept.size()) == most) break;
      const Box box = box_of(boxes.data() + (batch * count + i) * 4, is_center);
      bool is_free = true;
      for (const Box& other : kept) is_free = is_free && box.overlap(other) <= overlap;
      if (!is_free) continue;
      kept.push_back(box);
      chosen.insert(chosen.end(), {batch, row % scores_shape[1], i});
    }
  }
  const auto size = static_cast<std::int64_t>(chosen.size());
  call.give_as(DataType::int64, from(chosen, {size / 3, 3}, Cpu{}));
}

/// Positions in a feature map and their weights, four for each sample of each bin of a region.
struct RegionSamples {
  Integers positions;
  std::vector<double> weights;
  std::int64_t for_each_bin = 0;

  /// Bilinear interpolation at a point; nothing outside.
  void add(double y, double x, std::int64_t height, std::int64_t width) {
    const bool is_outside =
        !(y >= -1 && x >= -1 && y <= static_cast<double>(height) && x <= static_cast<double>(width));
    const auto within = [](double at, std::int64_t extent) {
      return locus::detail::within(at, 0., static_cast<double>(extent - 1));
    };
    y = is_outside ? 0 : within(y, height), x = is_outside ? 0 : within(x, width);
    const auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(x);
    const std::int64_t bottom = top + 1 < height ? top + 1 : top, right = left + 1 < width ? left + 1 : left;
    const double below = y - static_cast<double>(top), beside = x - static_cast<double>(left);
    const double share = is_outside ? 0 : 1;
    positions.insert(positions.end(),
                     {top * width + left, top * width + right, bottom * width + left, bottom * width + right});
    weights.insert(weights.end(), {share * (1 - below) * (1 - beside), share * (1 - below) * beside,
                                   share * below * (1 - beside), share * below * beside});
  }
};

/// How regions are cut: attributes of the operator.
struct RegionBins {
  std::int64_t rows, columns, ratio;
  double scale;
  bool is_shifted, is_largest;

  explicit RegionBins(const Attributes& call)
      : rows(call.integer("output_height", 1)),
        columns(call.integer("output_width", 1)),
        ratio(call.integer("sampling_ratio", 0)),
        scale(call.number("spatial_scale", 1)),
        is_shifted(call.opset() >= 16 && call.text("coordinate_transformation_mode", "half_pixel") == "half_pixel"),
        is_largest(call.text("mode", "avg") == "max") {
    if (!is_shifted && call.opset() >= 16) call.require_text("coordinate_transformation_mode", "output_half_pixel");
    if (!is_largest) call.require_text("mode", "avg");
    constexpr std::int64_t most = 1 << 15;
    if (rows < 1 || columns < 1 || ratio < 0 || rows > most || columns > most || ratio > most)
      call.fail_here({rows, " x ", columns, " bins, sampling_ratio ", ratio, "; expected at most ", most, " of each"});
  }
  /// The points of a bin along one side.
  [[nodiscard]] std::int64_t points(const Attributes& call, double extent) const {
    const double count = ratio > 0 ? static_cast<double>(ratio) : __builtin_ceil(extent);
    if (!(count <= 1 << 15)) call.fail_here({"a region with ", count, " points along the side of a bin"});
    return count > 0 ? static_cast<std::int64_t>(count) : 0;
  }
  /// The samples of a region: two corners, x first.
  [[nodiscard]] RegionSamples samples(const Attributes& call, const double* corners, std::int64_t image_height,
                                      std::int64_t image_width) const {
    const double shift = is_shifted ? 0.5 : 0, left = corners[0] * scale - shift, top = corners[1] * scale - shift;
    const auto extent = [&](double end, double begin) {
      return is_shifted || end - shift - begin > 1 ? end - shift - begin : 1;
    };
    const double height = extent(corners[3] * scale, top) / static_cast<double>(rows),
                 width = extent(corners[2] * scale, left) / static_cast<double>(columns);
    const std::int64_t down = points(call, height), across = points(call, width);
    if (down * across > most_of_window / (rows * columns))
      call.fail_here({"a region of ", rows * columns, " bins with ", down * across, " points each"});
    const auto place = [](std::int64_t i, std::int64_t of, std::int64_t bin, double begin, double size) {
      return begin + (static_cast<double>(bin) + (static_cast<double>(i) + 0.5) / static_cast<double>(of)) * size;
    };
    RegionSamples result;
    result.for_each_bin = 4 * down * across;
    for (std::int64_t bin = 0; bin < rows * columns; ++bin)
      for (std::int64_t point = 0; point < down * across; ++point)
        result.add(place(point / across, down, bin / columns, top, height),
                   place(point % across, across, bin % columns, left, width), image_height, image_width);
    return result;
  }
};

/// Averages, or the largest, of the weighted samples of each bin. image: (channels, height * width)
template <class F>
[[nodiscard]] F pooled_region(const F& image, const RegionSamples& samples, const RegionBins& bins) {
  using R = compute_t<value_of<F>>;
  const std::int64_t each = samples.for_each_bin;
  if (each == 0)
    return (slice(image, 1, 0, 1) * R(0)).eval().unsqueeze(2).expand({image.size(0), bins.rows, bins.columns});
  const auto size = static_cast<std::int64_t>(samples.positions.size());
  const F picked = reshape(index_select(image, 1, from(samples.positions, {size}, image.device())),
                           {image.size(0), bins.rows, bins.columns, each});
  const Tensor<value_of<F>, device_of<F>> weights =
      from(samples.weights, {bins.rows, bins.columns, each}, image.device()).template as<value_of<F>>();
  if (bins.is_largest) return max(picked * weights, -1);
  return sum(picked * weights, -1) * static_cast<R>(4. / static_cast<double>(each));
}
template <class F>
void pool_regions(const Call<F>& call) {
  const F& x = call.numbers(0);
  const RegionBins bins(call);
  const Integers images = call.host_list(2);
  const Tensor<double, Cpu> regions = host_numbers(call, 1);
  if (x.rank() != 4 || x.size(2) < 1 || x.size(3) < 1 || regions.rank() != 2 || regions.size(1) != 4 ||
      regions.size(0) != static_cast<std::int64_t>(images.size()))
    call.fail_here({"x of shape ", x.shape(), ", regions of shape ", regions.shape(), ", ", images.size(),
                    " numbers of images; expected (n, channels, height, width), (regions, 4) and as many numbers"});
  std::vector<F> pooled;
  for (std::size_t n = 0; n < images.size(); ++n) {
    if (images[n] < 0 || images[n] >= x.size(0)) call.fail_here({"image ", images[n], " of ", x.size(0)});
    const F image = reshape(select(x, 0, images[n]), {x.size(1), x.size(2) * x.size(3)});
    pooled.push_back(pooled_region(image, bins.samples(call, regions.data() + n * 4, x.size(2), x.size(3)), bins));
  }
  if (pooled.empty())
    return call.give_like(Call<F>::handle(full<value_of<F>>({0, x.size(1), bins.rows, bins.columns}, 0.f, x.device())));
  call.give_like(stack(pooled, 0));
}

template <class F>
inline constexpr Operation<F> detections[] = {
    {"NonMaxSuppression", &suppress_overlaps<F>},
    {"RoiAlign", &pool_regions<F>},
};

}}}  // namespace locus::LOCUS_ABI::onnx::detail
