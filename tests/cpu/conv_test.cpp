// Runs on: host; busy.
// Winograd's convolution, direct ones, and products of windows of bfloat16: their error is bounded, on every
// instruction set, for every border and size; results do not depend on the number of threads; Winograd's can be turned
// off. Which algorithm computes each pass.

#include <locus/device/trace/launch_log.hpp>
#include <locus/locus.hpp>

#include <support/kernel_sets.hpp>
#include <support/reference.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <ostream>

using namespace locus;
using namespace locus_test;

namespace {

/// A convolution and its gradients, added to others where `adds`.
template <class T>
auto passes(const Tensor<T>& x, const Tensor<T>& w, const Tensor<T>& b, const Tensor<T>& g,
            const Conv2dOptions& options, bool adds = false) {
  const auto images = variable(x), weights = variable(w), bias = variable(b);
  const auto y = conv2d(images, weights, bias, options);
  if (adds) (sum(images) + sum(weights)).backward();
  y.backward(g);
  struct Result {
    Tensor<T> y, dx, dw;
  };
  return Result{y.value(), images.grad(), weights.grad()};
}

template <class T>
bool same(const Tensor<T>& a, const Tensor<T>& b) {
  const auto x = a.contiguous(), y = b.contiguous();
  return a.shape() == b.shape() &&
         std::memcmp(x.data(), y.data(), static_cast<std::size_t>(a.elements()) * sizeof(T)) == 0;
}

/// The largest error of a result, as a share of the sums of absolute products behind it.
double error_of(const Tensor<float>& result, const Tensor<double>& exact, const Tensor<double>& absolute) {
  return max(abs(result.as<double>() - exact)).item() / max(absolute).item();
}

/// Launches of the value and of each gradient alone.
struct Launches {
  std::int64_t y = 0, dx = 0, dw = 0;
  [[nodiscard]] bool operator==(const Launches&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Launches& l) { return out << l.y << ' ' << l.dx << ' ' << l.dw; }
template <class T>
Launches launches_of(const Tensor<T>& x, const Tensor<T>& w, const Conv2dOptions& options) {
  Launches launches;
  const auto count = [](const auto& run) {
    const LaunchLog log;
    run();
    return log.launches();
  };
  launches.y = count([&] { (void)conv2d(x, w, options); });
  const auto images = variable(x), weights = variable(w);
  const auto of_images = conv2d(images, w, options), of_weights = conv2d(x, weights, options);
  const Tensor<T> g = randn<float>(of_images.shape()).template as<T>();
  launches.dx = count([&] { of_images.backward(g); });
  launches.dw = count([&] { of_weights.backward(g); });
  return launches;
}

/// Checks that all passes of random numbers are within 1e-5 of float64, as a share of the largest sum of |x w|.
void check_error(std::int64_t batch, std::int64_t in, std::int64_t out, Size2d size, Size2d kernel,
                 const Conv2dOptions& options, bool adds) {
  CAPTURE(in);
  CAPTURE(out);
  CAPTURE(to_string(size));
  CAPTURE(to_string(kernel));
  const auto x = randn<float>({batch, in, size.height, size.width});
  const auto w = randn<float>({out, in, kernel.height, kernel.width}), b = randn<float>({out});
  const auto g = randn<float>(conv2d(x, w, options).shape());
  const auto wide = [](const Tensor<float>& t) { return t.as<double>(); };
  const auto size_of = [](const Tensor<float>& t) { return abs(t.as<double>()).eval(); };
  const auto made = passes<float>(x, w, b, g, options, adds);
  const auto exact = passes<double>(wide(x), wide(w), wide(b), wide(g), options, adds);
  const auto absolute = passes<double>(size_of(x), size_of(w), size_of(b), size_of(g), options, adds);
  constexpr double bound = 1e-5;
  CHECK(error_of(made.y, exact.y, absolute.y) < bound);
  CHECK(error_of(made.dx, exact.dx, absolute.dx) < bound);
  CHECK(error_of(made.dw, exact.dw, absolute.dw) < bound);
}

/// The largest |x| of each of Winograd's tiles, `side` x `side` elements of which begin `before` the results'.
Tensor<double> peaks(const Tensor<double>& x, std::int64_t before, std::int64_t side, const Tensor<double>& results) {
  const auto after = [&](int d) { return (results.size(d) + 3) / 4 * 4 + side - 4 - x.size(d) - before; };
  return max_pool2d(pad(abs(x), {before, after(3), before, after(2)}), side, 4);
}
/// The largest errors of Winograd's passes, as shares of the S that cpu::allow_winograd documents.
auto tile_errors(const Tensor<float>& x, const Tensor<float>& w, const Tensor<float>& g, std::int64_t padding) {
  const Conv2dOptions options{.padding = padding};
  const auto images = x.as<double>().value(), weights = w.as<double>().value(), cotangent = g.as<double>().value();
  const auto made = passes<float>(x, w, zeros<float>({w.size(0)}), g, options);
  const auto exact = passes<double>(images, weights, zeros<double>({w.size(0)}), cotangent, options);
  const auto error = [](const Tensor<float>& a, const Tensor<double>& b) { return abs(a.as<double>() - b).eval(); };
  const Tensor<double> heaviest = max_pool2d(abs(weights), 3);
  const Tensor<double> dy = error(made.y, exact.y), dx = error(made.dx, exact.dx), dw = error(made.dw, exact.dw);
  const auto seen = peaks(images, padding, 6, dy);
  // (channels, tiles)
  const auto by_channel = [](const Tensor<double>& t) { return t.transpose(0, 1).reshape({t.size(1), -1}); };
  struct Errors {
    double y, dx, dw;
  };
  return Errors{
      max(peaks(dy, 0, 4, dy) / conv2d(seen, heaviest)).item(),
      max(peaks(dx, 0, 4, dx) / conv2d(peaks(cotangent, 2 - padding, 6, dx), heaviest.transpose(0, 1))).item(),
      max(max_pool2d(dw, 3).reshape({w.size(0), w.size(1)}) /
          matmul(by_channel(peaks(cotangent, 0, 4, dy)), by_channel(seen).transpose(0, 1)))
          .item()};
}

/// The largest error of a result of bfloat16, as a share of its rounding plus the loss of sums in float.
double rounding_of(const Tensor<bfloat16>& result, const Tensor<double>& exact, const Tensor<double>& absolute) {
  if (result.elements() == 0) return 0;
  const Tensor<double> allowed = 0x1p-8 * abs(exact) + 1e-5 * absolute + 1e-30;
  return max(abs(result.as<double>() - exact) / allowed).item();
}
Tensor<bfloat16> random16(const Shape& shape) { return randn<float>(shape).as<bfloat16>(); }
struct Operands16 {
  Tensor<bfloat16> x, w, b, g;
};
/// Checks all passes of these operands, and that each is one launch.
void check_windows(const Operands16& of, const Conv2dOptions& options, bool adds) {
  const auto wide = [](const Tensor<bfloat16>& t) { return t.as<double>().value(); };
  const auto size_of = [](const Tensor<bfloat16>& t) { return abs(t.as<double>()).eval().value(); };
  const auto made = passes<bfloat16>(of.x, of.w, of.b, of.g, options, adds);
  const auto exact = passes<double>(wide(of.x), wide(of.w), wide(of.b), wide(of.g), options, adds);
  const auto absolute = passes<double>(size_of(of.x), size_of(of.w), size_of(of.b), size_of(of.g), options, adds);
  CHECK(rounding_of(made.y, exact.y, absolute.y) < 1);
  CHECK(rounding_of(made.dx, exact.dx, absolute.dx) < 1);
  CHECK(rounding_of(made.dw, exact.dw, absolute.dw) < 1);
}
void check_windows(std::int64_t batch, std::int64_t in, std::int64_t out, Size2d size, Size2d kernel,
                   const Conv2dOptions& options, bool adds) {
  CAPTURE(in);
  CAPTURE(out);
  CAPTURE(to_string(size));
  CAPTURE(to_string(kernel));
  const auto x = random16({batch, in, size.height, size.width});
  const auto w = random16({out, in / options.groups, kernel.height, kernel.width});
  check_windows({x, w, random16({out}), random16(conv2d(x, w, options).shape())}, options, adds);
}

/// With tiles, and with pairs, of bfloat16, where this processor has them.
void for_each_set_of_pairs(const auto& check) {
  const InUse<bfloat16> restored;
  for (const auto* set : SetsOfPairs()) {
    cpu::detail::kernels_in_use<bfloat16>() = set;
    CAPTURE(set->depth_unit);
    check();
  }
}

void for_each_kernel_set(const auto& check) {
  auto& in_use = cpu::detail::kernels_in_use<float>();
  const auto* const before = in_use;
  for (const auto* set : cpu::detail::available_kernels<float>()) {
    if (!set) continue;
    in_use = set;
    CAPTURE(set->lanes);
    check();
  }
  in_use = before;
}

}  // namespace

TEST_CASE("Winograd's error is bounded: borders, sizes and channels of every kind, on every instruction set") {
  manual_seed(9);
  for_each_kernel_set([] {
    check_error(2, 16, 16, {8, 8}, 3, {.padding = 1}, false);
    check_error(1, 19, 37, {9, 14}, 3, {.padding = 0}, true);
    check_error(3, 33, 16, {5, 11}, 3, {.padding = 2}, false);
    check_error(8, 17, 18, {3, 3}, 3, {.padding = 1}, true);
    check_error(2, 16, 65, {13, 6}, 3, {.padding = 1}, true);
    check_error(1, 64, 32, {33, 7}, 3, {.padding = 1}, false);
  });
  check_error(8, 512, 256, {4, 4}, 3, {.padding = 1}, false);  // few tiles: strips of weights
  check_error(8, 384, 384, {7, 5}, 3, {.padding = 1}, true);
  check_error(9, 64, 64, {32, 32}, 3, {.padding = 1}, false);       // several groups of tiles
  check_error(2, 17, 33, {5, 1030}, 3, {.padding = {0, 2}}, true);  // rows of tiles in several parts
}

TEST_CASE("blocks of tiles cover all of them in order, and are bounded: wide images are cut within rows") {
  for (const std::int64_t batch : {1, 3, 40})
    for (const std::int64_t height : {1, 8, 37, 300})
      for (const std::int64_t width : {1, 9, 130, 30001})
        for (const std::int64_t wanted : {16, 128}) {
          const cpu::detail::TileGrid grid(batch, height, width, wanted);
          std::int64_t tiles = 0, results = 0;
          bool in_order = true;
          for (std::int64_t i = 0; i < grid.blocks(); ++i) {
            const auto block = grid.block(i);
            in_order = in_order && grid.tiles_before(block) == tiles && grid.tiles_of(block) <= grid.most_tiles();
            tiles += grid.tiles_of(block);
            results += block.images * grid.height_of(block) * grid.width_of(block);
          }
          CHECK(in_order);
          CHECK(tiles == grid.tiles());
          CHECK(results == batch * height * width);
          CHECK(grid.most_tiles() < 2 * wanted);
        }
}

TEST_CASE("Winograd's rounding scales with tiles: random numbers, outliers and equal channels, on every set") {
  manual_seed(12);
  for_each_kernel_set([] {
    const auto x = randn<float>({2, 16, 13, 16}), w = randn<float>({20, 16, 3, 3}), g = randn<float>({2, 20, 13, 16});
    const auto check = [&](double bound) {
      const auto [y, dx, dw] = tile_errors(x, w, g, 1);
      CHECK(y < bound);
      CHECK(dx < bound);
      CHECK(dw < bound);
    };
    check(4e-6);
    w.slice(3, 0, 2).fill_(0.f);  // windows with the outliers below have none in their sums
    for (const float outlier : {1e2f, 1e6f}) {
      CAPTURE(outlier);
      x.slice(3, 1, 2).fill_(outlier);
      g.slice(3, 9, 10).fill_(outlier);
      check(4e-6);
      // The remedy: sums of products, whose error scales with windows.
      const auto exact = conv2d(x, w, {.exact = true});
      const auto wide = x.as<double>().value(), weights = w.as<double>().value();
      CHECK(error_of(exact, conv2d(wide, weights), conv2d(abs(wide), abs(weights))) < 1e-6);
    }
    // Equal channels round alike: their errors add up most.
    const auto image = randn<float>({1, 1, 16, 16}).expand({1, 64, 16, 16}).contiguous();
    const auto kernel = randn<float>({16, 1, 3, 3}).expand({16, 64, 3, 3}).contiguous();
    const auto [y, dx, dw] = tile_errors(image, kernel, randn<float>({1, 16, 16, 16}), 1);
    CHECK(y < 6.6e-5 * (64 + 32));
    CHECK(dx < 6.6e-5 * (16 + 32));
    CHECK(dw < 6.6e-5 * (16 + 32));
  });
}

TEST_CASE("Winograd's error of random numbers is 2 to 5 times that of sums of products") {
  manual_seed(13);
  for (const std::int64_t channels : {16, 64, 256}) {
    CAPTURE(channels);
    const auto x = randn<float>({4, channels, 12, 12}), w = randn<float>({channels, channels, 3, 3});
    const auto exact = conv2d(x.as<double>(), w.as<double>());
    const auto error = [&](const Conv2dOptions& options) {
      const auto off = conv2d(x, w, options).as<double>() - exact;
      return sum(off * off).item();
    };
    const double ratio = error({}) / error({.exact = true});  // of squares
    CHECK(ratio > 2 * 2);
    CHECK(ratio < 5 * 5);
  }
}

TEST_CASE("an element that is not finite spoils results of its tiles alone") {
  const auto x = randn<float>({1, 16, 18, 18}), w = randn<float>({16, 16, 3, 3});
  x.slice(2, 9, 10).slice(3, 9, 10).fill_(std::numeric_limits<float>::infinity());
  const auto spoilt = [&](const Conv2dOptions& options) {
    const auto y = conv2d(x, w, options);
    return max(where(isfinite(y), zeros_like(y), ones_like(y)), {0, 1}).eval().value();
  };
  const auto tiles = zeros<float>({16, 16}), windows = zeros<float>({16, 16});
  tiles.slice(0, 4, 12).slice(1, 4, 12).fill_(1.f);  // element 9 is in tiles 1 and 2, which begin at 4 and 8
  windows.slice(0, 7, 10).slice(1, 7, 10).fill_(1.f);
  CHECK_CLOSE(spoilt({.exact = true}), reference(windows), 0);
  const auto spoilt_of_tiles = spoilt({});
  CHECK(sum(spoilt_of_tiles).item() > 9);
  CHECK_CLOSE(spoilt_of_tiles * tiles, reference(spoilt_of_tiles), 0);
  CHECK_CLOSE(spoilt_of_tiles * windows, reference(windows), 0);
}

TEST_CASE("the points of the transforms amplify rounding as documented") {
  // With points 0, +-p, +-q and infinity: the largest sum of |coefficients| of the three matrices, for values of so
  // many results along a dimension and so many taps; for gradients the other way round.
  const auto amplification = [](double p, double q, int results, int taps) {
    const double pp = p * p, qq = q * q, of_infinity = pp * qq + pp + qq + 1;
    const auto powers = [](double a, int count) {
      double sum = 0, power = 1;
      for (int i = 0; i < count; ++i, power *= a) sum += power;
      return sum;
    };
    const double of_0 = of_infinity / (pp * qq);
    const double of_p = powers(p, taps) / (2 * pp * (qq - pp)) * (qq * (1 + p) + 1 + p);
    const double of_q = powers(q, taps) / (2 * qq * (qq - pp)) * (pp * (1 + q) + 1 + q);
    double most = 0, power_p = 2, power_q = 2;
    for (int i = 0; i < results; ++i, power_p *= p, power_q *= q) {
      const double ends = i == 0             ? of_0
                          : i == results - 1 ? of_infinity
                                             : 0,
                   sum = power_p * of_p + power_q * of_q + ends;
      most = sum > most ? sum : most;
    }
    return most * most;
  };
  using cpu::detail::winograd_p, cpu::detail::winograd_q;
  CHECK(amplification(winograd_p, winograd_q, 4, 3) == doctest::Approx(752).epsilon(1e-3));
  CHECK(amplification(winograd_p, winograd_q, 3, 4) == doctest::Approx(1096).epsilon(1e-3));
  CHECK(amplification(1, 2, 4, 3) == doctest::Approx(2304).epsilon(1e-3));
  CHECK(amplification(1, 2, 3, 4) == doctest::Approx(2844).epsilon(1e-3));
}

TEST_CASE("direct convolutions: kernels, strides, borders and sizes of every kind, on every instruction set") {
  manual_seed(10);
  for_each_kernel_set([] {
    check_error(2, 16, 16, {8, 8}, 3, {.stride = 2, .padding = 1}, false);
    check_error(3, 19, 37, {9, 14}, {3, 2}, {.stride = {2, 3}, .padding = {0, 1}}, true);
    check_error(1, 16, 33, {21, 40}, {5, 3}, {.stride = {1, 2}, .padding = {2, 4}}, true);
    check_error(17, 18, 16, {4, 4}, 1, {.stride = 2}, false);
    check_error(2, 32, 16, {11, 19}, 3, {.padding = 2, .dilation = 2}, false);
    check_error(1, 20, 17, {6, 7}, {2, 4}, {.stride = {5, 4}, .padding = {1, 3}}, true);
    check_error(2, 16, 16, {3, 3}, 3, {.stride = 1, .padding = 1, .exact = true}, false);
    check_error(2, 3, 35, {9, 8}, 3, {.padding = 1}, true);  // few channels, which follow each other without a gap
    check_error(3, 1, 16, {11, 9}, 5, {.stride = 2, .padding = 2}, false);
    check_error(9, 15, 3, {4, 5}, {1, 3}, {.padding = {0, 2}, .dilation = {1, 2}}, true);
    check_error(2, 40, 1, {6, 7}, 3, {.stride = {1, 2}, .padding = 1}, false);
    check_error(2, 17, 18, {19, 33}, 1, {.stride = 2}, true);  // only the elements that are read are copied
    check_error(1, 16, 20, {17, 50}, 1, {.stride = {1, 3}}, false);
  });
  check_error(30, 48, 40, {8, 8}, 3, {.stride = 2, .padding = 1}, false);  // several groups of images
  check_error(2, 64, 32, {70, 90}, 3, {.stride = 2, .padding = 1}, true);  // several parts of an image
  check_error(1, 32, 32, {60, 110}, 7, {.padding = 3}, true);
  check_error(1, 16, 16, {300, 300}, 3, {.dilation = 140}, false);
}

TEST_CASE("planes become lanes and back: runs, gaps and strides of every kind, on every instruction set") {
  struct Planes {
    std::int64_t planes, rows, width, row, col, plane;
  };
  const Planes cases[] = {
      {16, 4, 4, 4, 1, 16},      {16, 7, 7, 7, 1, 49},       {5, 14, 14, 14, 1, 196},      {33, 32, 32, 32, 1, 1024},
      {18, 7, 7, 8, 1, 64},      {16, 9, 20, 45, 2, 500},    {3, 6, 9, 30, 3, 200},        {16, 3, 70, 70, 1, 250},
      {20, 1, 1, 1, 1, 3},       {17, 2, 700, 800, 1, 2048}, {16, 1, 3000, 3000, 1, 4096}, {1, 5, 1, 1, 1, 5},
      {20, 60, 40, 40, 1, 2400},
  };
  for_each_kernel_set([&] {
    const auto& kernels = *cpu::detail::kernels_in_use<float>();
    for (const Planes& of : cases) {
      INFO("planes ", of.planes, " rows ", of.rows, " width ", of.width, " row ", of.row, " col ", of.col);
      // Exactly as large as what may be read: the address sanitizer finds other accesses.
      std::vector<float> from(
          static_cast<std::size_t>((of.planes - 1) * of.plane + (of.rows - 1) * of.row + (of.width - 1) * of.col + 1));
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
      const std::int64_t stride = (of.planes + kernels.lanes - 1) / kernels.lanes * kernels.lanes;
      const std::int64_t to_row = (of.width + 1) * stride, positions = of.rows * of.width;
      std::vector<float> lanes(static_cast<std::size_t>(of.rows * to_row), -1.f), dense(lanes);
      cpu::detail::to_lanes(kernels, {from.data(), of.plane, of.row, of.col, of.planes, of.rows, of.width},
                            lanes.data(), stride, to_row);
      cpu::detail::to_lanes(kernels, {from.data(), of.plane, of.row, of.col, of.planes, of.rows, of.width},
                            dense.data(), stride, of.width * stride);
      std::int64_t wrong = 0;
      for (std::int64_t p = 0; p < of.planes; ++p)
        for (std::int64_t r = 0; r < of.rows; ++r)
          for (std::int64_t c = 0; c < of.width; ++c) {
            const auto expected = static_cast<float>(p * of.plane + r * of.row + c * of.col);
            wrong += lanes[static_cast<std::size_t>(r * to_row + c * stride + p)] != expected;
            wrong += dense[static_cast<std::size_t>((r * of.width + c) * stride + p)] != expected;
          }
      for (std::int64_t r = 0; r < of.rows; ++r)  // the gap behind a row
        wrong += lanes[static_cast<std::size_t>(r * to_row + of.width * stride)] != -1.f;
      CHECK(wrong == 0);

      for (const std::int64_t gap : {0, 3, 15})
        for (const bool adds : {false, true}) {
          const std::int64_t plane = positions + gap;
          std::vector<float> back(static_cast<std::size_t>(of.planes * plane), 1.f);
          cpu::detail::from_lanes(kernels, dense.data(), stride, of.planes, positions, back.data(), plane, adds);
          wrong = 0;
          for (std::int64_t p = 0; p < of.planes; ++p)
            for (std::int64_t i = 0; i < plane; ++i) {
              const float moved = i < positions ? dense[static_cast<std::size_t>(i * stride + p)] : 1.f;
              wrong += back[static_cast<std::size_t>(p * plane + i)] != moved + (adds && i < positions ? 1.f : 0.f);
            }
          CHECK(wrong == 0);
        }
    }
  });
}

TEST_CASE("the table of algorithms: types, shapes and passes on each side of every boundary") {
  using cpu::ConvStrategy, cpu::Bfloat16Products;
  using enum cpu::ConvStrategy;
  // Images of size x size, padded so that stride 1 keeps the size.
  const auto shape_of = [](std::int64_t in, std::int64_t out, ConvIndex kernel, ConvIndex size = 16,
                           std::int64_t groups = 1) {
    const ConvAxis axis{.extent = size, .kernel = kernel, .before = kernel / 2, .outputs = size};
    return ConvShape{.batch = 1, .in = in, .out = out, .groups = groups, .axis = {{}, axis, axis}};
  };
  struct Chosen {
    ConvStrategy y, dx, dw;
    bool operator==(const Chosen&) const = default;
  };
  constexpr ConvPass passes_of[] = {ConvPass::value, ConvPass::input_gradient, ConvPass::weight_gradient};
  const auto all = [](ConvStrategy each_pass) { return Chosen{each_pass, each_pass, each_pass}; };
  const auto chosen = [&](ElementType type, const ConvShape& shape,
                          Bfloat16Products products = Bfloat16Products::floats, bool has_lanes = true,
                          bool has_one_stride = true, bool allows_winograd = true) {
    const auto strategy = [&](ConvPass pass) {
      return cpu::conv_strategy({pass, type, shape, has_lanes, has_one_stride, products, allows_winograd});
    };
    return Chosen{strategy(passes_of[0]), strategy(passes_of[1]), strategy(passes_of[2])};
  };
  constexpr auto f32 = ElementType::float32, f64 = ElementType::float64, f16 = ElementType::float16,
                 b16 = ElementType::bfloat16;
  constexpr auto floats = Bfloat16Products::floats, pairs = Bfloat16Products::pairs, tiles = Bfloat16Products::tiles;

  SUBCASE("Winograd's: 16 channels, eight tiles, kernels of 3 x 3, stride 1, padding of at most 2") {
    CHECK(chosen(f32, shape_of(16, 16, 3)) == all(winograd));
    CHECK(chosen(f32, shape_of(15, 16, 3)) == all(direct));
    CHECK(chosen(f32, shape_of(16, 15, 3)) == all(direct));
    CHECK(chosen(f32, shape_of(16, 16, 5)) == all(direct));
    ConvShape tiled = shape_of(16, 16, 3);
    tiled.axis[1].outputs = 8;
    CHECK(chosen(f32, tiled) == all(winograd));
    tiled.axis[1].outputs = 4;  // four tiles
    CHECK(chosen(f32, tiled) == all(direct));
    tiled.batch = 2;
    CHECK(chosen(f32, tiled) == all(winograd));
    ConvShape small = shape_of(16, 16, 3, 4);  // one tile
    small.batch = 7;
    CHECK(chosen(f32, small) == all(direct));
    small.batch = 8;
    CHECK(chosen(f32, small) == all(winograd));
    const auto differs = [&](const auto& change, ConvStrategy expected) {
      ConvShape shape = shape_of(16, 16, 3);
      change(shape);
      return chosen(f32, shape) == all(expected);
    };
    CHECK(differs([](ConvShape& s) { s.exact = true; }, direct));
    CHECK(differs([](ConvShape& s) { s.axis[2].stride = 2; }, direct));
    CHECK(differs([](ConvShape& s) { s.axis[1].before = 2; }, winograd));
    CHECK(differs([](ConvShape& s) { s.axis[1].before = 3; }, direct));
    CHECK(differs([](ConvShape& s) { s.axis[0].extent = s.axis[0].outputs = 2; }, columns));
    CHECK(chosen(f32, shape_of(16, 16, 3), floats, true, true, false) == all(direct));
    CHECK(chosen(f32, shape_of(16, 16, 3), floats, false) == all(columns));
  }
  SUBCASE("direct: 16 products of channels; the gradient of the input of few channels, or with dilation, by columns") {
    CHECK(chosen(f32, shape_of(4, 4, 3)) == Chosen{direct, direct, direct});
    CHECK(chosen(f32, shape_of(3, 5, 3)) == all(columns));
    CHECK(chosen(f32, shape_of(3, 13, 3)) == all(direct));                      // 377 < 384
    CHECK(chosen(f32, shape_of(3, 14, 3)) == Chosen{direct, columns, direct});  // 406
    CHECK(chosen(f32, shape_of(16, 127, 5)) == all(direct));
    CHECK(chosen(f32, shape_of(16, 128, 5)) == Chosen{direct, columns, direct});  // 2048 = 128 * 16
    ConvShape dilated = shape_of(16, 16, 3);
    dilated.axis[2].dilation = 2;
    CHECK(chosen(f32, dilated) == Chosen{direct, columns, direct});
    CHECK(chosen(f32, shape_of(32, 16, 3, 16, 2)) == all(columns));
  }
  SUBCASE("windows of one element: products, and direct for the gradient of the weights") {
    CHECK(chosen(f32, shape_of(8, 8, 1)) == Chosen{product, product, direct});
    CHECK(chosen(f64, shape_of(8, 8, 1)) == Chosen{product, product, columns});
    CHECK(chosen(f64, shape_of(8, 8, 1), floats, true, false) == Chosen{columns, product, columns});
    CHECK(chosen(f64, shape_of(8, 8, 3)) == all(columns));
    ConvShape strided = shape_of(16, 16, 1);
    for (int d = 1; d < 3; ++d) strided.axis[d].stride = 2, strided.axis[d].outputs = 8;
    CHECK(chosen(f32, strided) == all(direct));
  }
  SUBCASE("groups: depthwise from eight on side by side, of few channels each result by itself") {
    for (const auto type : {f32, b16}) {
      CHECK(chosen(type, shape_of(8, 32, 3, 16, 8)) == all(depthwise_lanes));
      CHECK(chosen(type, shape_of(7, 28, 3, 16, 7)) == all(depthwise_planes));
      ConvShape dilated = shape_of(8, 8, 3, 16, 8);
      dilated.axis[1].dilation = 2;
      CHECK(chosen(type, dilated) == Chosen{depthwise_lanes, depthwise_planes, depthwise_lanes});
    }
    CHECK(chosen(f32, shape_of(8, 40, 3, 16, 8)) == all(columns));  // five channels out
    CHECK(chosen(f32, shape_of(16, 16, 3, 16, 8)) == all(each));
    CHECK(chosen(f64, shape_of(8, 32, 3, 16, 8)) == all(each));
    CHECK(chosen(f64, shape_of(32, 32, 3, 16, 8)) == all(each));
    CHECK(chosen(f64, shape_of(40, 32, 3, 16, 8)) == all(columns));
    CHECK(chosen(f16, shape_of(8, 8, 3, 16, 8)) == all(widened));
  }
  SUBCASE("16 bits: as float, or products of windows of bfloat16") {
    CHECK(chosen(f16, shape_of(16, 16, 5), pairs) == all(widened));
    CHECK(chosen(b16, shape_of(16, 16, 5)) == all(widened));
    CHECK(chosen(b16, shape_of(32, 32, 3), pairs) == all(widened));
    CHECK(chosen(b16, shape_of(31, 32, 3), pairs) == all(windows));
    CHECK(chosen(b16, shape_of(32, 31, 3), pairs) == all(windows));
    CHECK(chosen(b16, shape_of(32, 32, 3), tiles) == all(windows));
    CHECK(chosen(b16, shape_of(32, 32, 3), pairs, true, true, false) == all(windows));
    CHECK(chosen(b16, shape_of(16, 8, 1), pairs) == all(windows));
    CHECK(chosen(b16, shape_of(16, 7, 1), pairs) == Chosen{product, product, columns});
    CHECK(chosen(b16, shape_of(1, 8, 3), pairs) == all(columns));  // windows of nine elements
    CHECK(chosen(b16, shape_of(2, 8, 3), pairs) == all(windows));
    ConvShape small = shape_of(2, 8, 3, 4);
    small.axis[1].outputs = 2;
    CHECK(chosen(b16, small, pairs) == all(windows));
    small.axis[1].outputs = 1;  // four windows
    CHECK(chosen(b16, small, pairs) == all(columns));
  }
  SUBCASE("an algorithm that would take much memory is replaced by the next one in the table") {
    const ConvShape shape = shape_of(16, 16, 3), lanes = shape_of(8, 8, 3, 16, 8);
    const auto after = [](const ConvShape& of, ConvStrategy before) {
      return cpu::conv_strategy({ConvPass::value, f32, of}, cpu::next(before));
    };
    CHECK(after(shape, winograd) == direct);
    CHECK(after(shape, direct) == columns);
    CHECK(after(lanes, depthwise_lanes) == depthwise_planes);
    CHECK(after(lanes, depthwise_planes) == each);
    CHECK(cpu::conv_strategy({ConvPass::value, b16, shape}, cpu::next(widened)) == columns);  // floats
  }
}

TEST_CASE("each pass is one launch, Winograd's or direct; the verbs compute what would take much memory") {
  manual_seed(11);
  const auto w = randn<float>({16, 16, 3, 3}), b = randn<float>({16});
  const auto check = [&](const Tensor<float>& x, const Conv2dOptions& options, bool is_winograd) {
    auto exact = options;
    exact.exact = true;
    CHECK(launches_of(x, w, options) == Launches{1, 1, 1});
    CHECK(launches_of(x, w, exact) == Launches{1, 1, 1});
    const auto g = randn<float>(conv2d(x, w, options).shape());
    const auto made = passes<float>(x, w, b, g, options), direct = passes<float>(x, w, b, g, exact);
    CHECK(same(made.y, direct.y) != is_winograd);
    CHECK(same(made.dx, direct.dx) != is_winograd);
    CHECK(same(made.dw, direct.dw) != is_winograd);
  };
  const auto image = randn<float>({2, 16, 12, 12});
  check(image, {.padding = 1}, true);
  check(image, {.stride = 2, .padding = 1}, false);

  // A block of tiles of so many channels would take 38 MB: direct.
  const auto deep = randn<float>({1, 10000, 16, 16}), weights = randn<float>({16, 10000, 3, 3});
  CHECK(same(conv2d(deep, weights), conv2d(deep, weights, {.exact = true})));
  const auto is_left = [&](const Launches& launches, bool y, bool dx, bool dw) {
    CHECK((launches.y > 1) == y);
    CHECK((launches.dx > 1) == dx);
    CHECK((launches.dw > 1) == dw);
  };
  const Conv2dOptions mostly_border{.padding = {300, 0}, .dilation = {300, 1}};
  is_left(launches_of(randn<float>({1, 16, 2, 900}), w, mostly_border), true, true, true);
  check_error(1, 16, 16, {2, 900}, 3, mostly_border, false);
  const Conv2dOptions many_classes{.stride = 9};
  is_left(launches_of(randn<float>({1, 16, 20, 20}), w, many_classes), false, true, false);
  check_error(1, 16, 16, {20, 20}, 2, many_classes, false);
  const Conv2dOptions large_stride{.stride = 1000000, .padding = 1};
  is_left(launches_of(randn<float>({1, 16, 5, 5}), w, large_stride), true, true, true);
  check_error(1, 16, 16, {5, 5}, 3, large_stride, false);
}

TEST_CASE("products of windows of bfloat16: kernels, strides, borders and sizes of every kind, by tiles and by pairs") {
  manual_seed(14);
  for_each_set_of_pairs([] {
    // Rows of many positions, of which one copy is read at any shift.
    check_windows(2, 32, 32, {5, 16}, 3, {.padding = 1}, false);
    check_windows(1, 19, 37, {6, 29}, 3, {.padding = {0, 1}}, true);
    check_windows(2, 33, 16, {4, 17}, {2, 4}, {.padding = {1, 3}, .dilation = {1, 2}}, false);
    check_windows(1, 16, 16, {3, 1100}, 3, {.padding = 1}, false);  // several blocks of an image
    check_windows(1, 32, 16, {40, 32}, {3, 1}, {.stride = {2, 1}, .padding = {1, 0}}, true);
    // Whole planes at once.
    check_windows(9, 32, 48, {4, 4}, 3, {.padding = 1}, true);
    check_windows(2, 18, 8, {8, 8}, 3, {.padding = 1}, false);
    check_windows(3, 64, 17, {8, 2}, {5, 3}, {.padding = {2, 1}}, false);
    check_windows(2, 16, 20, {9, 1}, {3, 1}, {.padding = {1, 0}}, false);
    // A copy for each tap.
    check_windows(2, 20, 24, {7, 7}, 3, {.padding = 1}, true);
    check_windows(3, 16, 33, {6, 11}, 3, {.padding = 2, .dilation = 2}, false);
    check_windows(2, 32, 40, {9, 13}, 3, {.stride = 2, .padding = 1}, true);
    check_windows(2, 32, 32, {8, 8}, 3, {.stride = 2, .padding = 1}, false);
    check_windows(2, 24, 16, {8, 10}, 1, {.stride = 2}, true);
    check_windows(2, 17, 19, {9, 31}, {3, 2}, {.stride = {2, 3}, .padding = {0, 1}}, true);
    check_windows(1, 20, 16, {16, 17}, {2, 4}, {.stride = {5, 4}, .padding = {1, 3}}, false);
    check_windows(1, 16, 16, {11, 12}, 3, {.stride = {2, 3}, .padding = 2, .dilation = {3, 2}}, false);
    check_windows(2, 40, 70, {5, 6}, 1, {}, true);
    // Few channels: a copy for each tap of each.
    check_windows(2, 3, 36, {9, 16}, 3, {.padding = 1}, false);
    check_windows(2, 3, 16, {19, 13}, 7, {.stride = 2, .padding = 3}, true);
    check_windows(1, 16, 24, {6, 9}, {2, 3}, {.stride = {3, 1}, .padding = {0, 2}, .dilation = {2, 1}}, false);
    // Groups.
    check_windows(2, 48, 32, {6, 8}, 3, {.padding = 1, .groups = 2}, true);
    check_windows(2, 30, 48, {8, 16}, 3, {.stride = 2, .padding = 1, .groups = 3}, false);
  });
}

TEST_CASE("products of windows of bfloat16 of any strides, of no batch, and of an empty one") {
  manual_seed(15);
  for_each_set_of_pairs([] {
    const auto w = random16({16, 32, 3, 3}), b = random16({16}), g = random16({2, 16, 9, 8});
    const auto check = [&](const Tensor<bfloat16>& x, const Tensor<bfloat16>& weights,
                           const Tensor<bfloat16>& cotangent, std::int64_t stride = 1) {
      check_windows({x, weights, b, cotangent}, {.stride = stride, .padding = 1}, false);
    };
    const auto last = random16({2, 9, 8, 32}).permute({0, 3, 1, 2}), turned = random16({2, 32, 8, 9}).transpose(2, 3);
    check(last, w, random16({2, 9, 8, 16}).permute({0, 3, 1, 2}));
    check(turned, w.transpose(2, 3), random16({2, 16, 8, 9}).transpose(2, 3));
    check(last, w, random16({2, 5, 4, 16}).permute({0, 3, 1, 2}), 2);
    check(random16({3, 64, 18, 20}).slice(0, 1, 3).slice(1, 0, 64, 2).slice(2, 1, 18, 2).slice(3, 3, 11), w, g);
    check(random16({2, 32, 9, 1}).expand({2, 32, 9, 8}), w, random16({2, 1, 9, 8}).expand({2, 16, 9, 8}));
    check(random16({2, 32, 9, 32}).slice(3, 0, 32, 2), w, random16({2, 16, 9, 16}));
    const auto image = random16({32, 9, 8});
    const auto one = conv2d(image, w, {.padding = "same"});
    CHECK(same(one.unsqueeze(0).eval().value(), conv2d(image.unsqueeze(0), w, {.padding = 1})));
    const auto none = passes<bfloat16>(random16({0, 32, 9, 8}), w, b, random16({0, 16, 9, 8}), {.padding = 1});
    CHECK(none.y.shape() == Shape{0, 16, 9, 8});
    CHECK(same(none.dw, zeros<bfloat16>({16, 32, 3, 3})));
  });
}

TEST_CASE("products of windows of bfloat16 are one launch for each pass, and verbs compute what they do not suit") {
  manual_seed(16);
  for_each_set_of_pairs([] {
    const auto x = random16({2, 32, 12, 12}), w = random16({16, 32, 3, 3});
    CHECK(launches_of(x, w, {.padding = 1}) == Launches{1, 1, 1});
    CHECK(launches_of(x, w, {.stride = 2, .padding = 1}) == Launches{1, 1, 1});
    const Conv2dOptions mostly_border{.padding = {300, 0}, .dilation = {300, 1}};
    const auto much_memory = launches_of(random16({1, 32, 2, 900}), w, mostly_border);
    CHECK(much_memory.y > 1);
    CHECK(much_memory.dx > 1);
    CHECK(much_memory.dw > 1);
    CHECK(launches_of(random16({1, 32, 5, 5}), w, {.stride = 1000000, .padding = 1}).y > 1);  // few windows
    CHECK(launches_of(random16({1, 32, 40, 40}), w, {.stride = 9}).dx > 1);                   // many classes of results
  });
  const InUse<bfloat16> floats(cpu::detail::kernels_for<bfloat16>(cpu::lowest_isa));
  CHECK(launches_of(random16({2, 32, 12, 12}), random16({16, 32, 3, 3}), {.padding = 1}).y > 1);
}

TEST_CASE("an element of bfloat16 that is not finite spoils the windows that hold it alone") {
  const auto spoilt = [](const Tensor<bfloat16>& t, const ReduceAxes& folded) {
    const auto wide = t.as<float>().value();
    return max(where(isfinite(wide), zeros_like(wide), ones_like(wide)), folded).eval().value();
  };
  for_each_set_of_pairs([&] {
    for (const std::int64_t width : {8, 13, 20}) {
      CAPTURE(width);
      const auto x = random16({3, 20, 8, width}), w = random16({18, 20, 3, 3}), g = random16({3, 18, 8, width});
      for (const auto& t : {x, g})
        t.slice(0, 1, 2).slice(1, 17, 18).slice(2, 4, 5).slice(3, 7, 8).fill_(
            bfloat16(std::numeric_limits<float>::infinity()));
      const auto made = passes<bfloat16>(x, w, zeros<bfloat16>({18}), g, {.padding = 1});
      const auto windows = zeros<float>({3, 8, width});
      windows.slice(0, 1, 2).slice(1, 3, 6).slice(2, 6, 9).fill_(1.f);
      CHECK_CLOSE(spoilt(made.y, {1}), reference(windows), 0);
      CHECK_CLOSE(spoilt(made.dx, {1}), reference(windows), 0);
      const auto weights = zeros<float>({18, 20});
      weights.slice(1, 17, 18).fill_(1.f), weights.slice(0, 17, 18).fill_(1.f);
      CHECK_CLOSE(spoilt(made.dw, {2, 3}), reference(weights), 0);
    }
  });
}

TEST_CASE(
    "depthwise convolutions of float and bfloat16: kernels, strides, borders and sizes of every kind, on every set") {
  manual_seed(17);
  const auto check_of = []<class T>(T, std::int64_t batch, std::int64_t channels, std::int64_t per_channel, Size2d size,
                                    Size2d kernel, Conv2dOptions options, bool adds) {
    CAPTURE(to_string(size));
    CAPTURE(to_string(kernel));
    options.groups = channels;
    const auto random = [](const Shape& shape) -> Tensor<T> { return randn<float>(shape).as<T>(); };
    const auto wide = [](const Tensor<T>& t) { return t.template as<double>().value(); };
    const auto size_of = [](const Tensor<T>& t) { return abs(t.template as<double>()).eval().value(); };
    // Of any strides.
    const auto x =
        random({batch, size.height, channels, 2 * size.width}).slice(3, 0, 2 * size.width, 2).transpose(1, 2);
    const auto w = random({per_channel * channels, 1, kernel.height, kernel.width}), b = random({w.size(0)});
    const Shape result = conv2d(x, w, options).shape();
    const auto g = random({batch, result[2], result[3], w.size(0)}).permute({0, 3, 1, 2});
    const auto made = passes<T>(x, w, b, g, options, adds);
    const auto exact = passes<double>(wide(x), wide(w), wide(b), wide(g), options, adds);
    const auto absolute = passes<double>(size_of(x), size_of(w), size_of(b), size_of(g), options, adds);
    const auto error = [](const Tensor<T>& a, const Tensor<double>& value, const Tensor<double>& sums) {
      if (a.elements() == 0) return 0.;
      const double rounding = std::is_same_v<T, float> ? 0x1p-23 : 0x1p-8;
      return max(abs(a.template as<double>() - value) / (rounding * abs(value) + 1e-6 * sums + 1e-30)).item();
    };
    CHECK(error(made.y, exact.y, absolute.y) < 1);
    CHECK(error(made.dx, exact.dx, absolute.dx) < 1);
    CHECK(error(made.dw, exact.dw, absolute.dw) < 1);
    CHECK(launches_of(x, w, options) == (batch == 0 ? Launches{0, 0, 1} : Launches{1, 1, 1}));
  };
  const auto check = [&](auto... numbers) { check_of(float{}, numbers...), check_of(bfloat16{}, numbers...); };
  check(2, 5, 1, Size2d{9, 13}, Size2d{3, 3}, Conv2dOptions{.padding = 1}, false);
  check(3, 4, 2, Size2d{8, 8}, Size2d{3, 3}, Conv2dOptions{.stride = 2, .padding = 1}, true);
  check(1, 6, 4, Size2d{11, 7}, Size2d{5, 3}, Conv2dOptions{.stride = {1, 3}, .padding = {2, 0}}, false);
  check(2, 3, 1, Size2d{14, 17}, Size2d{3, 2}, Conv2dOptions{.stride = {2, 3}, .padding = 2, .dilation = {3, 2}}, true);
  check(1, 2, 1, Size2d{200, 171}, Size2d{3, 3}, Conv2dOptions{.stride = 2, .padding = 1}, false);  // several blocks
  check(2, 3, 1, Size2d{4, 5}, Size2d{1, 1}, Conv2dOptions{.stride = 2}, false);
  check(0, 3, 1, Size2d{4, 5}, Size2d{3, 3}, Conv2dOptions{.padding = 1}, false);
  // Of eight groups and more: sixteen side by side.
  for_each_kernel_set([&] {
    check(2, 8, 1, Size2d{9, 13}, Size2d{3, 3}, Conv2dOptions{.padding = 1}, false);
    check(3, 17, 2, Size2d{8, 8}, Size2d{3, 3}, Conv2dOptions{.stride = 2, .padding = 1}, true);
    check(1, 20, 4, Size2d{11, 7}, Size2d{5, 3}, Conv2dOptions{.stride = {1, 3}, .padding = {2, 0}}, false);
    check(2, 16, 1, Size2d{14, 17}, Size2d{3, 2}, Conv2dOptions{.stride = {2, 3}, .padding = 2, .dilation = {3, 2}},
          true);
    check(1, 33, 1, Size2d{41, 30}, Size2d{5, 11}, Conv2dOptions{.stride = {3, 4}, .padding = 4},
          true);  // several blocks
    check(2, 9, 1, Size2d{4, 5}, Size2d{1, 1}, Conv2dOptions{.stride = 2}, false);
    check(2, 8, 1, Size2d{5, 1}, Size2d{3, 3}, Conv2dOptions{.stride = 2, .padding = 1},
          false);  // narrower than a stride
    check(1, 17, 2, Size2d{2, 3}, Size2d{5, 5}, Conv2dOptions{.stride = 4, .padding = 2}, true);
    check(1, 3, 1, Size2d{1, 2}, Size2d{3, 3}, Conv2dOptions{.stride = 3, .padding = 1}, false);
    check(11, 8, 1, Size2d{5, 600}, Size2d{3, 3}, Conv2dOptions{.padding = 1}, false);  // sums of long rows
    check(0, 8, 1, Size2d{4, 5}, Size2d{3, 3}, Conv2dOptions{.padding = 1}, false);
    check(1, 8, 1, Size2d{3, 3}, Size2d{7, 7}, Conv2dOptions{.padding = 3}, false);  // windows larger than the image
  });
  // Classes of results with no tap, one or several, that follow each other in any order.
  check(1, 2, 1, Size2d{23, 30}, Size2d{5, 11}, Conv2dOptions{.stride = {6, 4}, .padding = 4, .dilation = {4, 1}},
        true);
  // Much memory: the verbs.
  const auto wide = randn<float>({1, 2, 2, 8192}), w = randn<float>({2, 1, 3, 3});
  CHECK(launches_of(wide, w, {.padding = {600, 1}, .dilation = {600, 1}, .groups = 2}).dw > 1);
  // So much of sums, of 64 classes of results, that it is more than of the images; not of one class.
  const auto fits = [](ConvIndex stride) {
    const ConvAxis rows{.extent = stride, .stride = stride};
    const ConvAxis cols{.extent = stride * 140000, .stride = stride, .outputs = 140000};
    const ConvShape shape{.batch = 1, .in = 2, .out = 2, .groups = 2, .axis = {{}, rows, cols}};
    return cpu::detail::DepthwisePass<float>(shape, {}, nullptr, nullptr, {}, false, true).fits();
  };
  CHECK_FALSE(fits(8));
  CHECK(fits(1));
  CHECK(launches_of(randn<float>({1, 8, 2, 8192}), randn<float>({8, 1, 3, 3}),
                    {.padding = {600, 1}, .dilation = {600, 1}, .groups = 8})
            .dw > 1);

  // A non-finite element affects no windows but its own.
  for (const std::int64_t groups : {2, 8}) {
    const auto x = randn<float>({1, groups, 6, 7}), g = randn<float>({1, groups, 6, 7});
    x.slice(1, 0, 1).slice(2, 3, 4).slice(3, 6, 7).fill_(std::numeric_limits<float>::infinity());
    const auto made =
        passes<float>(x, randn<float>({groups, 1, 3, 3}), zeros<float>({groups}), g, {.padding = 1, .groups = groups});
    const auto finite = where(isfinite(made.dw), ones_like(made.dw), zeros_like(made.dw)).eval().value();
    // The last column's elements are in windows of other taps than the first column's.
    CHECK_CLOSE(finite.slice(0, 0, 2).eval().value(),
                Reference({2, 1, 3, 3}, {1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1}), 0);
    const auto spoilt = sum((1.f - where(isfinite(made.y), ones_like(made.y), zeros_like(made.y)))).item();
    CHECK(spoilt == 6);
  }
}

TEST_CASE("depthwise convolutions of channels-last images are computed in place: every kind, on every set") {
  manual_seed(18);
  const auto check = [](std::int64_t batch, std::int64_t channels, Size2d size, Size2d kernel, Conv2dOptions options,
                        bool adds = false) {
    CAPTURE(to_string(size));
    CAPTURE(to_string(kernel));
    CAPTURE(channels);
    options.groups = channels;
    const auto x = randn<float>({batch, channels, size.height, size.width}).channels_last();
    const auto w = randn<float>({channels, 1, kernel.height, kernel.width}), b = randn<float>({channels});
    const auto g = randn<float>(conv2d(x, w, options).shape()).channels_last();
    CHECK(cpu::detail::has_aligned_lanes(locus::detail::images_of(x.unsqueeze(2)), channels));
    const auto made = passes<float>(x, w, b, g, options, adds);
    CHECK(made.y.is_channels_last());
    const auto wide = [](const Tensor<float>& t) { return t.as<double>().value(); };
    const auto size_of = [](const Tensor<float>& t) { return abs(t.as<double>()).eval().value(); };
    const auto exact = passes<double>(wide(x), wide(w), wide(b), wide(g), options, adds);
    const auto absolute = passes<double>(size_of(x), size_of(w), size_of(b), size_of(g), options, adds);
    CHECK(error_of(made.y, exact.y, absolute.y) < 1e-6);
    CHECK(error_of(made.dx, exact.dx, absolute.dx) < 1e-6);
    CHECK(error_of(made.dw, exact.dw, absolute.dw) < 1e-6);
    CHECK(launches_of(x, w, options) == Launches{1, 1, 1});
  };
  for_each_kernel_set([&] {
    check(2, 16, {9, 13}, 3, {.padding = 1});
    check(3, 48, {8, 8}, 3, {.stride = 2, .padding = 1}, true);
    check(1, 32, {11, 7}, {5, 3}, {.stride = {1, 3}, .padding = {2, 0}});
    check(17, 16, {14, 17}, {3, 2}, {.stride = {2, 3}, .padding = 2}, true);
    check(2, 32, {14, 17}, {3, 2},
          {.padding = {3, 4}, .dilation = {3, 4}});              // the gradient of the input is not in place
    check(1, 16, {5, 600}, 3, {.padding = 1});                   // sums of long rows
    check(1, 96, {12, 50}, 3, {.padding = 1});                   // rows that do not stay in the nearest cache
    check(1, 16, {3, 3}, 7, {.padding = 3});                     // windows larger than the image
    check(2, 16, {2, 3}, 5, {.stride = 4, .padding = 2}, true);  // classes of results without a tap
    check(2, 16, {4, 5}, 1, {.stride = 2});
    check(1, 16, {3, 4}, 1, {.padding = 2});  // windows outside the image
  });
}

TEST_CASE("any strides, no batch, and an even border give the same") {
  const auto x = randn<float>({2, 9, 9, 32}).permute({0, 3, 1, 2}), w = randn<float>({16, 32, 3, 3});
  const auto b = zeros<float>({16}), g = randn<float>({2, 9, 9, 16}).permute({0, 3, 1, 2});
  const auto check = [&](const Tensor<float>& images, const Tensor<float>& weights, const Tensor<float>& cotangent) {
    const auto views = passes<float>(images, weights, b, cotangent, {.padding = 1});
    const auto dense =
        passes<float>(images.contiguous(), weights.contiguous(), b, cotangent.contiguous(), {.padding = 1});
    CHECK_CLOSE(views.y, reference(dense.y), 1e-4);
    CHECK_CLOSE(views.dx, reference(dense.dx), 1e-4);
    CHECK_CLOSE(views.dw, reference(dense.dw), 1e-4);
  };
  check(x, w, g);
  check(x.transpose(2, 3), w, g);
  check(randn<float>({2, 5, 530, 32}).permute({0, 3, 1, 2}), w, randn<float>({2, 5, 530, 16}).permute({0, 3, 1, 2}));
  check(randn<float>({3, 64, 9, 18}).slice(0, 0, 2).slice(1, 0, 64, 2).slice(3, 3, 12), w, g.contiguous());
  check(randn<float>({2, 32, 9, 1}).expand({2, 32, 9, 9}), w.transpose(2, 3), g);
  const auto image = randn<float>({16, 24, 20});
  const auto one = conv2d(image, randn<float>({16, 16, 3, 3}), {.padding = "same"});
  CHECK(one.shape() == Shape{16, 24, 20});
  const auto turned = w.transpose(0, 1);  // its values are a gradient's
  CHECK_CLOSE(conv_transpose2d(x, turned, {.padding = 1}),
              reference(conv_transpose2d(x.as<double>(), turned.as<double>(), {.padding = 1})), 1e-4);
}

TEST_CASE("results are the same bits for any number of threads") {
  const int threads = cpu::max_threads();
  const auto check_of = [&]<class T>(T, std::int64_t batch, std::int64_t channels, std::int64_t size,
                                     std::int64_t stride) {
    const Conv2dOptions options{.stride = stride, .padding = 1};
    const auto random = [](const Shape& shape) -> Tensor<T> { return randn<float>(shape).as<T>(); };
    const auto x = random({batch, channels, size, size}), w = random({channels, channels, 3, 3});
    const auto b = random({channels}), g = random(conv2d(x, w, options).shape());
    cpu::set_max_threads(1);
    const auto alone = passes<T>(x, w, b, g, options);
    for (const int count : {2, 3, 5}) {
      cpu::set_max_threads(count);
      const auto shared = passes<T>(x, w, b, g, options);
      CHECK(same(alone.y, shared.y));
      CHECK(same(alone.dx, shared.dx));
      CHECK(same(alone.dw, shared.dw));
    }
    cpu::set_max_threads(threads);
  };
  const auto check = [&](auto... numbers) { check_of(float{}, numbers...), check_of(bfloat16{}, numbers...); };
  check(4, 32, 16, 1);
  check(7, 48, 9, 1);
  check(8, 384, 4, 1);
  check(20, 32, 8, 2);
  check(3, 48, 40, 2);
}

TEST_CASE("exact convolutions, and all where it is not allowed, are sums of products") {
  const auto x = randn<float>({2, 16, 12, 12}), w = randn<float>({16, 16, 3, 3});
  const auto launches = [&](const Conv2dOptions& options) {
    const LaunchLog log;
    (void)conv2d(x, w, options);
    return log.launches();
  };
  CHECK(launches({.padding = 1}) == 1);
  const auto exact = conv2d(x, w, {.padding = 1, .exact = true});
  CHECK(launches({.padding = 1, .exact = true}) == 1);
  CHECK(cpu::winograd_is_allowed());
  cpu::allow_winograd(false);
  CHECK(same(conv2d(x, w, {.padding = 1}), exact));
  cpu::allow_winograd(true);
  CHECK_FALSE(same(conv2d(x, w, {.padding = 1}), exact));
  nn::Conv2d<float, Cpu> layer{16, 16, 3, {.padding = 1, .bias = false, .exact = true}};
  layer.weight.value().copy_(w);
  CHECK(same(layer(x), exact));
  CHECK(same(layer.clone()(x), exact));
}
