// Runs on: host, cuda (tensors).
#include <locus/tensor/random.hpp>

#include <algorithm>
#include <cmath>
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

namespace {

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value;
  return sum / static_cast<double>(x.size());
}
double variance(const std::vector<double>& x) {
  const double middle = mean(x);
  double sum = 0;
  for (const double value : x) sum += (value - middle) * (value - middle);
  return sum / static_cast<double>(x.size());
}

}  // namespace

LOCUS_DEVICE_TEST("element i is a function of the seed and its position alone", D) {
  Generator<D> generator{42, 0}, later{42, 10};
  const auto all = reference(rand<float, D>({5, 8}, generator));
  CHECK(generator.offset == 40);
  const auto rest = reference(rand<float, D>({30}, later));
  CHECK(std::equal(rest.values.begin(), rest.values.end(), all.values.begin() + 10));
  for (std::uint64_t i = 0; i < 40; ++i) CHECK(all.values[i] == static_cast<double>(uniform(42, i)));
  Generator<D> normals{42, 3};
  const auto z = reference(randn<float, D>({7}, normals));
  for (std::uint64_t i = 0; i < 7; ++i)
    CHECK(z.values[i] ==
          doctest::Approx(static_cast<double>(standard_normal(42, 3 + i, locus::detail::stream_of_normals)))
              .epsilon(1e-6));
}

LOCUS_DEVICE_TEST("equal seeds give equal tensors on every device", D) {
  manual_seed(7);
  const auto x = reference(rand<float, D>({100})), z = reference(randn<double, D>({100}));
  const auto k = reference(randint<std::int64_t, D>(-5, 5, {100})), p = reference(randperm<std::int64_t, D>(50));
  const auto b = reference(bernoulli<half, D>(0.3, {100}));
  manual_seed(7);
  CHECK_CLOSE(rand({100}), x, 0.0);
  CHECK_CLOSE(randn<double>({100}), z, 1e-13);
  CHECK_CLOSE(randint(-5, 5, {100}), k);
  CHECK_CLOSE(randperm(50), p);
  CHECK_CLOSE(bernoulli<half>(0.3, {100}), b);
  CHECK_FALSE(difference(rand({100}), x).empty());
  manual_seed(8);
  CHECK_FALSE(difference(rand({100}), x).empty());
}

LOCUS_DEVICE_TEST("rand is uniform in [0, 1) for every floating type", D) {
  Generator<D> generator{1};
  const auto check = [&](const std::vector<double>& x) {
    CHECK(*std::min_element(x.begin(), x.end()) >= 0);
    CHECK(*std::max_element(x.begin(), x.end()) < 1);
    CHECK(mean(x) == doctest::Approx(0.5).epsilon(0.01));
    CHECK(variance(x) == doctest::Approx(1.0 / 12).epsilon(0.02));
  };
  check(reference(rand<float, D>({40000}, generator)).values);
  check(reference(rand<double, D>({40000}, generator)).values);
  check(reference(rand<half, D>({40000}, generator)).values);
  check(reference(rand<bfloat16, D>({40000}, generator)).values);
}

LOCUS_DEVICE_TEST("randn has mean 0 and variance 1", D) {
  Generator<D> generator{2};
  const auto check = [&](const std::vector<double>& x) {
    CHECK(std::abs(mean(x)) < 0.02);
    CHECK(variance(x) == doctest::Approx(1).epsilon(0.03));
  };
  check(reference(randn<float, D>({40000}, generator)).values);
  check(reference(randn<double, D>({40000}, generator)).values);
  check(reference(randn<half, D>({40000}, generator)).values);
}

LOCUS_DEVICE_TEST("normal has the mean and the deviation that are given, exponential the mean of its rate", D) {
  Generator<D> generator{5}, again{5};
  const auto x = reference(normal<float, D>(3, 0.5, {200000}, generator));
  CHECK(std::abs(mean(x.values) - 3) < 0.005);
  CHECK(std::abs(variance(x.values) - 0.25) < 0.005);
  CHECK_CLOSE((normal<float, D>(3, 0.5, {200000}, again)), x, 0.0);
  CHECK_CLOSE((normal<double, D>(-2, 0, {3})), {-2, -2, -2});
  if constexpr (all_dtypes<D>) {
    const auto check = [&](const std::vector<double>& e, double rate) {
      CHECK(std::abs(mean(e) * rate - 1) < 0.01);
      CHECK(std::abs(variance(e) * rate * rate - 1) < 0.03);
      CHECK(*std::min_element(e.begin(), e.end()) >= 0);
      const auto beyond = std::count_if(e.begin(), e.end(), [&](double value) { return value * rate > 1; });
      CHECK(std::abs(static_cast<double>(beyond) / static_cast<double>(e.size()) - std::exp(-1.0)) < 0.005);
    };
    check(reference(exponential<float, D>(4, {200000}, generator)).values, 4);
    check(reference(exponential<double, D>(0.25, {200000}, generator)).values, 0.25);
    const auto first = reference(exponential<float, D>(1, {64}, again = Generator<D>{9}));
    for (std::uint64_t i = 0; i < 64; ++i)
      CHECK(first.values[i] == doctest::Approx(-std::log((random_bits(9, i) + 0.5) * 0x1p-32)).epsilon(1e-5));
  }
}

TEST_CASE("normal and exponential take no other numbers than they are defined for") {
  CHECK_THROWS_WITH_AS((void)normal(0, -1, {2}), doctest::Contains("normal: a standard deviation of -1"),
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)normal(NAN, 1, {2}), doctest::Contains("normal: the mean is nan"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)normal(0, 1e39, {2}), doctest::Contains("1e+39"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)exponential(0, {2}), doctest::Contains("exponential: a rate of 0"), ArgumentError);
}

LOCUS_DEVICE_TEST("randint takes every value of its range and no other", D) {
  Generator<D> generator{3};
  std::vector<int> counts(7);
  for (const double value : reference(randint<std::int32_t, D>(-3, 4, {7000}, generator)).values) {
    REQUIRE(value >= -3);
    REQUIRE(value < 4);
    ++counts[static_cast<std::size_t>(value + 3)];
  }
  for (const int count : counts) CHECK(std::abs(count - 1000) < 150);
  CHECK_CLOSE((randint<std::uint8_t, D>(255, 256, {2}, generator)), {255, 255});
  CHECK(reference(randint<std::int64_t, D>(INT64_MIN, INT64_MAX, {2}, generator)).values[0] != 0);
  CHECK_THROWS_AS((void)(randint<std::int64_t, D>(2, 2, {1}, generator)), ArgumentError);
  CHECK_THROWS_AS((void)(randint<std::uint8_t, D>(0, 257, {1}, generator)), ArgumentError);
}

LOCUS_DEVICE_TEST("bernoulli is 1 as often as it should be, and 0 otherwise", D) {
  Generator<D> generator{6};
  for (const double probability : {0.0, 0.001, 0.25, 0.5, 0.9, 1.0}) {
    const auto x = reference(bernoulli<float, D>(probability, {100, 400}, generator)).values;
    const auto ones = static_cast<double>(std::count(x.begin(), x.end(), 1.0));
    CHECK(ones + static_cast<double>(std::count(x.begin(), x.end(), 0.0)) == 40000);
    CHECK(std::abs(ones - 40000 * probability) <= 4 * std::sqrt(40000 * probability * (1 - probability)));
  }
  CHECK(generator.offset == 240000);
  CHECK_CLOSE((bernoulli<bool, D>(1, {3}, generator)), {1, 1, 1});
  CHECK_CLOSE((bernoulli<std::uint8_t, D>(0x1p-34, {3}, generator)), {0, 0, 0});
  LaunchLog log;
  (void)bernoulli<double, D>(0.5, {2, 3});
  CHECK(log.launches() == 1);
}

LOCUS_DEVICE_TEST("bernoulli takes probabilities alone", D) {
  Generator<D> generator{6};
  for (const double wrong : {-0.1, 1.1, std::nan("")})
    CHECK_THROWS_WITH_AS((void)(bernoulli<float, D>(wrong, {2}, generator)), doctest::Contains("expected 0 to 1"),
                         ArgumentError);
  CHECK(generator.offset == 0);
}

LOCUS_DEVICE_TEST("randperm holds every number once", D) {
  Generator<D> generator{4};
  auto order = reference(randperm<std::int32_t, D>(1000, generator)).values;
  const auto again = reference(randperm<std::int32_t, D>(1000, generator)).values;
  CHECK(order != again);
  CHECK_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) REQUIRE(order[i] == static_cast<double>(i));
  CHECK_CLOSE((randperm<std::int64_t, D>(0, generator)), Reference({0}, {}));
  CHECK_THROWS_AS((void)(randperm<std::int64_t, D>(-1)), ArgumentError);
  CHECK(randperm<std::uint8_t, D>(256).elements() == 256);
  CHECK_THROWS_AS((void)(randperm<std::uint8_t, D>(257)), ArgumentError);
}

LOCUS_DEVICE_TEST("randperm of more numbers than there can be memory for is out of memory, and uses no numbers up", D) {
  for (const std::int64_t count : {INT64_MAX, std::int64_t{1} << 60}) {
    Generator<D> generator{5};
    CHECK_THROWS_WITH_AS((void)randperm<std::int64_t>(count, generator),
                         doctest::Contains(join("randperm: no memory for ", count, " numbers").c_str()), OutOfMemory);
    CHECK(generator.offset == 0);
    CHECK_THROWS_AS((void)(randperm<std::int64_t, D>(count)), OutOfMemory);
  }
  CHECK_THROWS_AS((void)(randperm<std::int64_t, D>(-1)), ArgumentError);
}

LOCUS_DEVICE_TEST("numbers drawn one after the other are not repeated", D) {
  Generator<D> generator{5};
  const auto first = reference(rand<float, D>({1000}, generator)).values;
  const auto second = reference(rand<float, D>({1000}, generator)).values;
  int shared = 0;
  for (std::size_t i = 0; i < 1000; ++i) shared += std::count(second.begin(), second.end(), first[i]) > 0;
  CHECK(shared < 3);
  LaunchLog log;
  (void)rand<float, D>({3, 3});
  (void)randn<float, D>({3, 3});
  CHECK(log.launches() == 2);
}

LOCUS_DEVICE_TEST("numbers of one kind say nothing about those of another drawn after them", D) {
  for (const bool wide : {false, true}) {
    std::vector<double> products;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      manual_seed(seed);
      const auto u = wide ? reference(rand<double, D>({1})) : reference(rand<float, D>({1}));
      const auto z = wide ? reference(randn<double, D>({3})) : reference(randn<float, D>({3}));
      for (const double value : z.values) products.push_back((u.values[0] - 0.5) * (value * value - 1));
    }
    CHECK(std::abs(mean(products)) < 0.03);  // -0.1 or less if they shared bits
  }
}
