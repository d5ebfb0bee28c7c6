// Runs on: host, cuda (layers).
#include <locus/autograd/parameter.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/cuda/pinned.hpp>
#include <locus/nn/init.hpp>
#include <locus/nn/orthogonal.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>

#include <algorithm>
#include <cmath>

using namespace locus;
using namespace locus_test;

namespace {

struct Moments {
  double low, high, mean, deviation;
};
template <class X>
Moments measured(const X& x) {
  const auto values = reference(x).values;
  double sum = 0, squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  const double count = static_cast<double>(values.size()), mean = sum / count;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high, mean, std::sqrt(squares / count - mean * mean)};
}

/// Checks that numbers spread evenly over +-bound: their deviation is bound / sqrt(3).
template <class X>
void check_spread(const X& x, double bound) {
  const Moments found = measured(x);
  CHECK(found.low >= -bound);
  CHECK(found.high <= bound);
  CHECK(found.deviation == doctest::Approx(bound / std::sqrt(3.0)).epsilon(0.02));
}

}  // namespace

LOCUS_DEVICE_TEST("uniform_ and normal_ have the moments they are asked for", D) {
  manual_seed(3);
  const auto x = Tensor<float, D>({100, 200});
  const Moments unit = measured(nn::init::uniform_(x));
  CHECK(unit.low >= 0);
  CHECK(unit.high < 1);
  CHECK(unit.mean == doctest::Approx(0.5).epsilon(0.02));
  const Moments wide = measured(nn::init::uniform_(x, -3, 5));
  CHECK(wide.low < -2.99);
  CHECK(wide.high > 4.99);
  CHECK(wide.mean == doctest::Approx(1).epsilon(0.05));
  const Moments bell = measured(nn::init::normal_(x, 10, 2));
  CHECK(bell.mean == doctest::Approx(10).epsilon(0.01));
  CHECK(bell.deviation == doctest::Approx(2).epsilon(0.02));
  CHECK_CLOSE(nn::init::normal_(Tensor<float, D>({3}), 4, 0), {4, 4, 4});
  CHECK_CLOSE(nn::init::uniform_(Tensor<float, D>({2}), 4, 4), {4, 4});
}

LOCUS_DEVICE_TEST("uniform_ stays below its upper end, whatever rounding makes of a number", D) {
  manual_seed(0);
  const auto check = [](const auto& x) {
    const Moments found = measured(nn::init::uniform_(x, 1, 2));
    CHECK(found.low >= 1);
    CHECK(found.high < 2);
    CHECK(found.high > 1.98);
  };
  check(Tensor<half, D>({1 << 14}));
  check(Tensor<bfloat16, D>({1 << 14}));
}

LOCUS_DEVICE_TEST("what is filled counts as changed, in memory order or not, and equal seeds fill equally", D) {
  const auto x = Tensor<float, D>({4, 3}), y = Tensor<float, D>({4, 3});
  const auto version = x.version();
  manual_seed(5);
  nn::init::uniform_(x);
  CHECK(x.version() != version);
  manual_seed(5);
  nn::init::uniform_(y);
  CHECK_CLOSE(x, reference(y));
  manual_seed(5);
  const auto z = Tensor<float, D>({3, 4});
  nn::init::uniform_(z.transpose());  // element i of the view is number i
  CHECK_CLOSE(z.transpose(), reference(y));
  CHECK_THROWS_AS(nn::init::uniform_(Tensor<float, D>({1}).expand({3})), ArgumentError);
  CHECK_THROWS_AS(nn::init::normal_(Tensor<float, D>({1}).expand({3})), ArgumentError);
}

LOCUS_DEVICE_TEST("bounds of kaiming_uniform_ and xavier_uniform_ follow from fans", D) {
  manual_seed(4);
  const auto linear = Tensor<float, D>({200, 50});
  check_spread(nn::init::kaiming_uniform_(linear), std::sqrt(6.0 / 50));
  check_spread(nn::init::kaiming_uniform_(linear, {.negative_slope = std::sqrt(5.0)}), 1 / std::sqrt(50.0));
  check_spread(nn::init::xavier_uniform_(linear), std::sqrt(6.0 / 250));
  check_spread(nn::init::xavier_uniform_(linear, 2), 2 * std::sqrt(6.0 / 250));
  check_spread(nn::init::kaiming_uniform_(Tensor<float, D>({32, 16, 3, 3})), std::sqrt(6.0 / 144));
  check_spread(nn::init::xavier_uniform_(Tensor<float, D>({32, 16, 3, 3})), std::sqrt(6.0 / (144 + 288)));
  CHECK(nn::init::kaiming_uniform_(Tensor<float, D>({0, 4})).empty());
}

TEST_CASE("initial values refuse bounds, deviations and shapes that make no sense") {
  const Tensor<float> x({2});
  CHECK_THROWS_WITH_AS(nn::init::uniform_(x, 1, 0), doctest::Contains("from 1 to 0"), ArgumentError);
  CHECK_THROWS_AS(nn::init::uniform_(x, NAN, 1), ArgumentError);
  CHECK_THROWS_WITH_AS(nn::init::normal_(x, 0, -1), doctest::Contains("deviation is -1"), ArgumentError);
  CHECK_THROWS_WITH_AS(nn::init::kaiming_uniform_(x), doctest::Contains("got (2,)"), ShapeError);
  CHECK_THROWS_AS(nn::init::xavier_uniform_(x), ShapeError);
}

TEST_CASE("initial values refuse numbers that are finite as double alone, and name them") {
  const Tensor<float> x({2});
  const auto refuses = [](const auto& f, const char* words) {
    CHECK_THROWS_WITH_AS(f(), doctest::Contains(words), ArgumentError);
  };
  refuses([&] { nn::init::uniform_(x, 0, 1e39); }, "uniform_: high is 1e+39; expected a finite number of float32");
  refuses([&] { nn::init::uniform_(x, -3e38, 3e38); }, "uniform_: high - low is 6e+38");
  refuses([&] { nn::init::uniform_(Tensor<double>({2}), -1e308, 1e308); }, "uniform_: high - low is inf");
  refuses([&] { nn::init::normal_(x, -1e39, 1); }, "normal_: mean is -1e+39");
  refuses([&] { nn::init::normal_(x, 0, 1e39); }, "normal_: deviation is 1e+39");
  nn::init::uniform_(Tensor<double>({2}), 0, 1e39);
}

namespace {
/// Draws 40,000 numbers and compares their extremes, mean, deviation and fourth moment with PyTorch's of a million
/// numbers.
template <class D, class Fill>
void check_statistics(const std::string& name, const Shape& shape, const Fill& fill) {
  CAPTURE(name);
  manual_seed(6);
  const Parameter weight{Tensor<float, D>{shape}};
  CHECK(&fill(weight) == &weight);
  const Moments found = measured(weight.value());
  double fourth = 0;
  for (const double value : reference(weight.value()).values)
    fourth += std::pow((value - found.mean) / found.deviation, 4);
  fourth /= static_cast<double>(weight.elements());
  const auto expected = golden::reference("init_" + name).values;  // low, high, mean, deviation, fourth moment
  const double deviation = expected[3];
  CHECK(std::abs(found.mean - expected[2]) < 0.02 * deviation);
  CHECK(found.deviation == doctest::Approx(deviation).epsilon(0.015));
  CHECK(fourth == doctest::Approx(expected[4]).epsilon(0.05));
  if (name.find("normal") != std::string::npos && name.find("trunc") == std::string::npos) return;
  CHECK(found.low == doctest::Approx(expected[0]).epsilon(0.01));  // extremes of normal numbers have no limit
  CHECK(found.high == doctest::Approx(expected[1]).epsilon(0.01));
}
}  // namespace

LOCUS_DEVICE_TEST("initial values have the statistics of PyTorch's", D) {
  using namespace nn::init;
  const Shape wide{400, 100}, image{80, 20, 5, 5};
  const auto check = [](const char* name, const Shape& shape, const auto& fill) {
    check_statistics<D>(name, shape, fill);
  };
  check("kaiming_uniform", wide, [](auto& w) -> auto& { return kaiming_uniform_(w); });
  check("kaiming_uniform_relu_out", image, [](auto& w) -> auto& {
    return kaiming_uniform_(w, {.mode = FanMode::fan_out, .nonlinearity = Nonlinearity::relu});
  });
  check("kaiming_normal", wide, [](auto& w) -> auto& { return kaiming_normal_(w, {.negative_slope = 0.2}); });
  check("kaiming_normal_tanh_out", image, [](auto& w) -> auto& {
    return kaiming_normal_(w, {.mode = FanMode::fan_out, .nonlinearity = Nonlinearity::tanh});
  });
  check("xavier_uniform", image, [](auto& w) -> auto& { return xavier_uniform_(w, 1.5); });
  check("xavier_normal", image, [](auto& w) -> auto& { return xavier_normal_(w, 1.5); });
  check("trunc_normal", wide, [](auto& w) -> auto& { return trunc_normal_(w); });
  check("trunc_normal_skew", wide, [](auto& w) -> auto& { return trunc_normal_(w, 0.5, 0.4, 0.4, 2); });
  check("trunc_normal_tail", wide, [](auto& w) -> auto& { return trunc_normal_(w, 0, 1, 4, 6); });
  check("trunc_normal_lower_tail", wide, [](auto& w) -> auto& { return trunc_normal_(w, 1, 2, -11, -9); });
}

TEST_CASE("gains are PyTorch's") {
  using namespace nn::init;
  const Nonlinearity all[] = {Nonlinearity::linear, Nonlinearity::sigmoid,    Nonlinearity::tanh,
                              Nonlinearity::relu,   Nonlinearity::leaky_relu, Nonlinearity::selu};
  std::vector<double> gains;
  for (const auto each : all) gains.push_back(calculate_gain(each));
  gains.push_back(calculate_gain(Nonlinearity::leaky_relu, 0.2));
  CHECK_CLOSE((tensor<double, Cpu>({7}, gains)), golden::reference("init_gains"), 1e-10);
}

LOCUS_DEVICE_TEST("equal seeds give equal initial values on every device, in any order of memory", D) {
  const auto same = [](double allowed, const auto& fill) {
    manual_seed(8);
    const auto here = reference(fill(Tensor<float>({48, 6})));
    manual_seed(8);
    CHECK_CLOSE(fill(Tensor<float, D>({48, 6})), here, allowed);
    manual_seed(8);
    const auto turned = Tensor<float, D>({6, 48});
    CHECK_CLOSE(fill(turned.transpose()), here, allowed);
  };
  same(0, [](const auto& w) { return nn::init::kaiming_uniform_(w); });
  same(1e-6, [](const auto& w) { return nn::init::xavier_normal_(w); });
  same(1e-6, [](const auto& w) { return nn::init::trunc_normal_(w, 0, 1, -0.5, 3); });
  same(1e-6, [](const auto& w) { return nn::init::orthogonal_(w); });
}

namespace {
/// Checks that a matrix is the orthogonal factor, with positive signs, of the numbers that were drawn.
template <class D>
void check_orthogonal(const Shape& shape, double gain) {
  CAPTURE(shape);
  manual_seed(12);
  const Parameter<double, D> weight(Tensor<double, D>{shape});
  nn::init::orthogonal_(weight, gain);
  const std::int64_t rows = shape[0], columns = weight.elements() / rows;
  const auto q = reference(weight.value().reshape({rows, columns})).values;
  manual_seed(12);
  const bool wide = rows <= columns;
  const std::int64_t count = wide ? rows : columns, length = wide ? columns : rows;
  const auto drawn = reference(randn<double>({count, length})).values;
  const auto vector = [&](std::int64_t i, std::int64_t k) {
    return q[static_cast<std::size_t>(wide ? i * columns + k : k * columns + i)] / gain;
  };
  double worst = 0, along = 0, before = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < count; ++j) {
      double product = 0, part = 0;
      for (std::int64_t k = 0; k < length; ++k) {
        product += vector(i, k) * vector(j, k);
        part += vector(i, k) * drawn[static_cast<std::size_t>(j * length + k)];
      }
      worst = std::max(worst, std::abs(product - (i == j)));
      if (j < i) before = std::max(before, std::abs(part));       // R is upper triangular,
      if (j == i) along = i == 0 ? part : std::min(along, part);  // and its diagonal positive
    }
  }
  CHECK(worst < 1e-13);
  CHECK(before < 1e-12);
  CHECK(along > 0);
}
}  // namespace

LOCUS_DEVICE_TEST("without draws, initial values are 0, and the generator stays", D) {
  const auto drawn = [] { return nn::init::uniform_(Tensor<float, D>({4, 5})); };
  manual_seed(3);
  const auto expected = reference(drawn()).values;
  manual_seed(3);
  (void)nn::init::without_draws([&] {
    CHECK(reference(drawn()).values == std::vector<double>(20));
    const Tensor x = ones<float, D>({4, 5});
    for (const auto& each :
         {nn::init::normal_(x.clone()), nn::init::trunc_normal_(x.clone()), nn::init::orthogonal_(x.clone())})
      CHECK(reference(each).values == std::vector<double>(20));
    return 0;
  });
  CHECK_THROWS_AS((void)nn::init::without_draws([]() -> int { fail<ArgumentError>({"stopped"}); }), ArgumentError);
  CHECK(reference(drawn()).values == expected);
}

LOCUS_DEVICE_TEST("orthogonal_ is the orthogonal factor of normal numbers, as PyTorch's", D) {
  check_orthogonal<D>({40, 70}, 1);
  check_orthogonal<D>({70, 40}, 1.5);
  check_orthogonal<D>({6, 3, 2, 1}, 1);
  check_orthogonal<D>({1, 1}, 1);
  const auto half_way = nn::init::orthogonal_(Tensor<bfloat16, D>({4, 4}));
  CHECK(measured(half_way).deviation == doctest::Approx(0.5).epsilon(0.05));
  CHECK(nn::init::orthogonal_(Tensor<float, D>({0, 4})).empty());
}

LOCUS_DEVICE_TEST("constant_, zeros_ and ones_ write to the parameter that a model holds, and count as changes", D) {
  const Parameter w(Tensor<float, D>({2}));
  const auto held = w;
  const auto version = w.value().version();
  CHECK_CLOSE(nn::init::constant_(w, 2.5).value(), {2.5, 2.5});
  CHECK(w.value().version() != version);
  CHECK_CLOSE(nn::init::ones_(w).value(), {1, 1});
  CHECK_CLOSE(held.value(), {1, 1});
  CHECK_CLOSE(nn::init::zeros_(Tensor<bfloat16, D>({2, 1}).expand({2, 1})), Reference({2, 1}, {0, 0}));
}

LOCUS_DEVICE_TEST("trunc_normal_ keeps its bounds in 16 bits, and far from the mean", D) {
  manual_seed(2);
  const Moments rounded = measured(nn::init::trunc_normal_(Tensor<bfloat16, D>({4096}), 0, 1, -0.5, 0.75));
  CHECK(rounded.low >= -0.5);
  CHECK(rounded.high <= 0.75);
  const Moments distant = measured(nn::init::trunc_normal_(Tensor<double, D>({1000}), 0, 1, -31, -30));
  CHECK(distant.high <= -30);
  CHECK(distant.mean == doctest::Approx(-30.0333).epsilon(1e-4));
  const Moments farthest = measured(nn::init::trunc_normal_(Tensor<double, D>({20000}), 0, 1, 37.4, 40));
  CHECK(farthest.low >= 37.4);
  CHECK(farthest.high < 38);
  CHECK(farthest.mean == doctest::Approx(37.4267).epsilon(1e-4));
}

TEST_CASE("probabilities that round to 0 or 1 give numbers, too") {
  using Truncated = nn::init::detail::TruncatedNormal<double>;
  double below = 0, above = 0;
  Truncated{1, 0, 0.0, 0.0, 0, 1, -50, 50}(0, below);
  Truncated{1, 0, 1.0, 0.0, 0, 1, -50, 50}(0, above);
  CHECK(below == doctest::Approx(-38.4674).epsilon(1e-5));
  CHECK(above == doctest::Approx(8.2095362).epsilon(1e-6));
}

TEST_CASE("initial values refuse options and shapes that make no sense") {
  const Tensor<float> x({2}), w({2, 3});
  using namespace nn::init;
  CHECK_THROWS_WITH_AS(trunc_normal_(x, 0, 0), doctest::Contains("deviation is 0"), ArgumentError);
  CHECK_THROWS_WITH_AS(trunc_normal_(x, 0, 1, 2, 1), doctest::Contains("from 2 to 1"), ArgumentError);
  CHECK_THROWS_WITH_AS(trunc_normal_(x, 0, 1, 50, 60), doctest::Contains("too far from the mean 0"), ArgumentError);
  CHECK_THROWS_WITH_AS(trunc_normal_(x, 0, 1, 38.3, 40), doctest::Contains("37.5 deviations or fewer"), ArgumentError);
  CHECK_THROWS_AS(trunc_normal_(x, 0, 1, -40, -38.2), ArgumentError);
  CHECK_THROWS_WITH_AS(trunc_normal_(x, 0, 1, 0, 1e39), doctest::Contains("high is 1e+39"), ArgumentError);
  CHECK_THROWS_AS(trunc_normal_(Tensor<float>({1}).expand({3})), ArgumentError);
  CHECK_THROWS_WITH_AS(kaiming_normal_(w, {.negative_slope = NAN}), doctest::Contains("negative_slope"), ArgumentError);
  CHECK_THROWS_AS(kaiming_normal_(x), ShapeError);
  CHECK_THROWS_WITH_AS(xavier_normal_(w, -1), doctest::Contains("gain is -1"), ArgumentError);
  CHECK_THROWS_WITH_AS(orthogonal_(x), doctest::Contains("orthogonal_: expected a weight of two"), ShapeError);
  CHECK_THROWS_AS(orthogonal_(w, -1), ArgumentError);
}

namespace {
template <class W>
concept CanBeInitialized = requires(const W& w) {
  nn::init::constant_(w, 1);
  nn::init::trunc_normal_(w);
  nn::init::kaiming_normal_(w, {.mode = nn::init::FanMode::fan_out});
  nn::init::orthogonal_(w);
};
static_assert(CanBeInitialized<Tensor<float, Cuda>> && CanBeInitialized<Parameter<half, Cuda>>);
static_assert(!CanBeInitialized<Tensor<float, Pinned>> && !CanBeInitialized<Tensor<std::int64_t, Cpu>>);
static_assert(!CanBeInitialized<Traced<float, Cpu>>);
}  // namespace
