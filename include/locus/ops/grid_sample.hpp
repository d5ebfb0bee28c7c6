#pragma once
// Images and volumes sampled at the points of a grid, and grids of affine maps: spatial transformers. Not part of
// locus/locus.hpp.

// First, so that the compiler's path to what is refused is short.
#include <locus/expr/operands.hpp>

#include <locus/ops/index/pick.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/pool/grid_sample_rows.hpp>
#include <locus/ops/view.hpp>
#include <locus/tensor/random.hpp>

namespace locus { inline namespace LOCUS_ABI {

struct GridSampleOptions {
  SampleMode mode = SampleMode::bilinear;             ///< bilinear, nearest or bicubic
  SamplePadding padding_mode = SamplePadding::zeros;  ///< beyond the border: zeros, border or reflection
  bool align_corners = false;  ///< -1 and 1 are the centres of the outermost elements, rather than their outer borders
};

namespace operation {

struct GridSample {
  static constexpr const char* name = "grid_sample";
  static constexpr bool runs_on_duals = true;
  GridSampleOptions options;

  template <class T, class D>
  auto forward(const Tensor<T, D>& given, const Tensor<T, D>& given_grid) const {
    detail::require_same_ordinal(name, given, given_grid);
    require_shapes(given.shape(), given_grid.shape());
    const Tensor<T, D> x = given.contiguous(), grid = given_grid.contiguous();
    Shape shape = x.shape();
    for (int d = 2; d < shape.rank(); ++d) shape[d] = grid.size(d - 1);
    const Tensor<T, D> y(shape, x.device());
    if (!y.empty()) {
      by_mode(x, grid, [&]<SampleMode mode>(const detail::SampledGrid<T, mode>& points) {
        Backend<D>::for_each_row(x.device(), y.elements() / y.size(-1), y.size(-1),
                                 detail::SampleRow<T, mode>{points, x.data(), x.size(1), y.data()});
      });
    }
    return Forwarded{y, Tuple(x, grid)};
  }

  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>, Tensor<T, D>>& saved, const Tensor<T, D>& given, Gradient<T, D>& dx,
                Gradient<T, D>& dgrid) const {
    const Tensor<T, D>&x = get<0>(saved), &grid = get<1>(saved);
    const Tensor<T, D> g = given.contiguous();
    by_mode(x, grid, [&]<SampleMode mode>(const detail::SampledGrid<T, mode>& points) {
      if (dx) give_input(x, points, g, dx);
      if (!dgrid) return;
      const auto [out, accumulate] = dgrid.open();
      const std::int64_t cols = out.size(-2) * out.size(-1);
      if (!out.empty())
        Backend<D>::for_each_row(
            out.device(), out.elements() / cols, cols,
            detail::SampleGridGradientRow<T, mode>{points, x.data(), g.data(), x.size(1), out.data(), accumulate});
    });
  }

 private:
  /// Calls f with the points of the grid, for the mode. `grid` is dense.
  template <class T, class D, class F>
  void by_mode(const Tensor<T, D>& x, const Tensor<T, D>& grid, const F& f) const {
    const auto points = [&]<SampleMode mode>() {
      const int dims = x.rank() - 2;
      detail::SampledGrid<T, mode> result{{}, grid.data(), dims, 1};
      for (int d = 0; d < dims; ++d) {
        result.points *= grid.size(d + 1);
        result.axes[3 - dims + d] = {static_cast<detail::PoolIndex>(x.size(d + 2)), options.padding_mode,
                                     options.align_corners};
      }
      return f(result);
    };
    switch (options.mode) {
      case SampleMode::bilinear: return points.template operator()<SampleMode::bilinear>();
      case SampleMode::nearest: return points.template operator()<SampleMode::nearest>();
      case SampleMode::bicubic: return points.template operator()<SampleMode::bicubic>();
    }
  }

  /// The gradient of x. A device whose loops follow indices scatters into each plane; others add up one combination of
  /// taps after the other, by rows of channels, in the order of the points.
  template <SampleMode mode, class T, class D>
  static void give_input(const Tensor<T, D>& x, const detail::SampledGrid<T, mode>& points, const Tensor<T, D>& g,
                         Gradient<T, D>& dx) {
    if constexpr (CostModel<D>::follows_indices) {
      const auto [out, accumulate] = dx.open();
      if (out.empty()) return;
      using Walk = detail::SampleWalk<T, mode>;
      const std::int64_t elements = points.elements();
      Backend<D>::for_each_row(
          out.device(), out.elements() / elements, elements,
          detail::ScatterPlane<T, Walk>{{points, g.data(), x.size(1)}, 1, elements, out.data(), accumulate});
    } else {
      using R = compute_t<T>;
      const std::int64_t batch = x.size(0), channels = x.size(1), count = batch * points.points;
      const Tensor<R, D> sums({batch * points.elements(), channels}, x.device());
      sums.fill_(R(0));
      const Tensor<std::int64_t, D> places({count}, x.device());
      const Tensor<R, D> rows({count, channels}, x.device());
      for (int tap = 0; tap < taps_of(points) && !rows.empty() && !sums.empty(); ++tap) {
        constexpr int n = detail::sample_taps(mode);
        const int k = tap / (n * n), i = tap / n % n, j = tap % n;
        Backend<D>::for_each_row(x.device(), batch, points.points,
                                 detail::TapPlaceRow<T, mode>{points, k, i, j, places.data()});
        Backend<D>::for_each_row(x.device(), count, channels,
                                 detail::TapGradientRow<T, mode>{points, k, i, j, g.data(), rows.data()});
        detail::add_picked_rows(sums, true, rows, places, 0);
      }
      const auto planes = sums.reshape({batch, points.elements(), channels}).transpose(1, 2).reshape(x.shape());
      dx.give(planes.template as<T>());
    }
  }
  /// Combinations of taps: images have one tap along the depth.
  template <SampleMode mode, class T>
  [[nodiscard]] static int taps_of(const detail::SampledGrid<T, mode>& points) {
    constexpr int n = detail::sample_taps(mode);
    return points.dims == 2 ? n * n : n * n * n;
  }

  static void require_shapes(const Shape& x, const Shape& grid) {
    bool fits =
        (x.rank() == 4 || x.rank() == 5) && grid.rank() == x.rank() && grid[0] == x[0] && grid[-1] == x.rank() - 2;
    for (int d = 2; d < x.rank() && fits; ++d) fits = x[d] > 0;
    if (!fits)
      fail<ShapeError>({name, ": an input of shape ", x, " and a grid of shape ", grid,
                        "; expected (n, c, height, width) and (n, rows, cols, 2), or (n, c, depth, height, width) and ",
                        "(n, planes, rows, cols, 3), with elements in each image"});
    for (int d = 2; d < x.rank(); ++d) detail::PoolCaller::require_few(name, x, x[d]);
  }
};

}  // namespace operation

namespace detail {
template <class X, class G>
concept SampledOperands =
    CombinablePair<X, G> && TensorLike<X> && TensorLike<G> && FloatingDType<value_of<X>> && NotParametersAlone<X, G>;
template <class X, class G>
struct SampledMistake : FirstMistake<Mistake<X, G>, ParametersMistake<X, G>, IntegerMistake<X>> {};
}  // namespace detail

/// The values of images at points between their elements: F.grid_sample. A point is (x, y), from -1 to 1, the left and
/// upper to the right and lower border; of a volume (x, y, z).
/// shape:    x (n, c, h, w), grid (n, rows, cols, 2) -> (n, c, rows, cols); or (n, c, d, h, w), (n, planes, rows, cols,
///           3) -> (n, c, planes, rows, cols)
/// gradient: to each element its shares of the points, in a fixed order; to each point the slope of its value, 0 where
///           the mode is nearest, and where the border holds it
/// cost:     one launch; backward one for the points, and one for the images on a host. On Cuda the images take an
///           ordered sum for each of the 4 neighbours of a point (1 of mode nearest, 16 bicubic)
/// throws ShapeError naming the shapes
///
///     auto turned = grid_sample(images, affine_grid(theta, images.shape()));
template <class X, class G>
  requires detail::SampledOperands<X, G>
[[nodiscard]] auto grid_sample(const X& x, const G& grid, const GridSampleOptions& options = {}) {
  return apply(operation::GridSample{options}, x, grid);
}

namespace detail {
/// (x, y, 1) or (x, y, z, 1) of the elements of an image or volume.
template <class T>
struct BaseGridElement {
  std::int64_t extents[3];  ///< width, height, depth
  int dims;
  bool align_corners;
  LOCUS_FN void operator()(std::int64_t i, compute_t<T>& out) const {
    using R = compute_t<T>;
    const std::int64_t number = i % (dims + 1);
    std::int64_t place = i / (dims + 1);
    out = R(1);
    for (int d = 0; d < dims; ++d) {
      const std::int64_t extent = extents[d], at = place % extent;
      place /= extent;
      if (d == number) out = coordinate<R>(at, extent);
    }
  }

 private:
  template <class R>
  [[nodiscard]] LOCUS_FN R coordinate(std::int64_t at, std::int64_t extent) const {
    if (align_corners) return extent == 1 ? R(0) : static_cast<R>(2 * at) / static_cast<R>(extent - 1) - R(1);
    return static_cast<R>(2 * at + 1) / static_cast<R>(extent) - R(1);
  }
};
}  // namespace detail

/// The points that an affine map takes the elements of images to: F.affine_grid, for grid_sample.
/// shape: theta (n, 2, 3) and size {n, c, h, w} -> (n, h, w, 2); (n, 3, 4) and {n, c, d, h, w} -> (n, d, h, w, 3)
/// gradient: products with the elements' coordinates     cost: a launch and a product
/// throws ShapeError
template <class X>
  requires(detail::FloatingOperand<X> && !detail::IsParameter<X>)
[[nodiscard]] auto affine_grid(const X& theta, const Shape& size, bool align_corners = false) {
  using T = value_of<X>;
  const Shape shape = theta.shape();
  const int dims = size.rank() - 2;
  bool fits = (dims == 2 || dims == 3) && shape == Shape{size[0], dims, dims + 1};
  for (int d = 0; d < size.rank() && fits; ++d) fits = size[d] > 0;
  if (!fits)
    fail<ShapeError>({"affine_grid: maps of shape ", shape, " for a size of ", size,
                      "; expected (n, 2, 3) and {n, c, h, w}, or (n, 3, 4) and {n, c, d, h, w}"});
  Shape result{size[0]};
  detail::BaseGridElement<T> element{{}, dims, align_corners};
  std::int64_t points = 1;
  for (int d = 0; d < dims; ++d) {
    element.extents[d] = size[-1 - d];
    points *= size[-1 - d];
    result.push_back(size[d + 2]);
  }
  result.push_back(dims);
  const auto base = detail::from_indices<T>({points, dims + 1}, theta.device(), element);
  return reshape(matmul(base, transpose(theta, 1, 2)), result);
}

#include <locus/refuse/ops/grid_sample.inc>

}}  // namespace locus::LOCUS_ABI
