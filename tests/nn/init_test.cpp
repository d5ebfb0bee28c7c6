#include <locus/nn/init.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <algorithm>
#include <cmath>

using namespace locus;
using namespace locus_test;

namespace {

struct Moments {
  double low, high, mean, deviation;
};
template <class X>
Moments moments_of(const X& x) {
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
  const Moments found = moments_of(x);
  CHECK(found.low >= -bound);
  CHECK(found.high <= bound);
  CHECK(found.deviation == doctest::Approx(bound / std::sqrt(3.0)).epsilon(0.02));
}

}  // namespace

LOCUS_DEVICE_TEST("uniform_ and normal_ have the moments they are asked for", D) {
  manual_seed(3);
  const auto x = Tensor<float, D>({100, 200});
  const Moments unit = moments_of(nn::init::uniform_(x));
  CHECK(unit.low >= 0);
  CHECK(unit.high < 1);
  CHECK(unit.mean == doctest::Approx(0.5).epsilon(0.02));
  const Moments wide = moments_of(nn::init::uniform_(x, -3, 5));
  CHECK(wide.low < -2.99);
  CHECK(wide.high > 4.99);
  CHECK(wide.mean == doctest::Approx(1).epsilon(0.05));
  const Moments bell = moments_of(nn::init::normal_(x, 10, 2));
  CHECK(bell.mean == doctest::Approx(10).epsilon(0.01));
  CHECK(bell.deviation == doctest::Approx(2).epsilon(0.02));
  CHECK_CLOSE(nn::init::normal_(Tensor<float, D>({3}), 4, 0), {4, 4, 4});
  CHECK_CLOSE(nn::init::uniform_(Tensor<float, D>({2}), 4, 4), {4, 4});
}

LOCUS_DEVICE_TEST("uniform_ stays below its upper end, whatever rounding makes of a number", D) {
  manual_seed(0);
  const auto check = [](const auto& x) {
    const Moments found = moments_of(nn::init::uniform_(x, 1, 2));
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
  check_spread(nn::init::kaiming_uniform_(linear, std::sqrt(5.0)), 1 / std::sqrt(50.0));
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
