// Runs on: host.
#include <locus/core/rng.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <numeric>
#include <random>
#include <vector>

using namespace locus;

namespace {

struct Moments {
  double mean, variance, kurtosis, least, greatest;
};

template <class F>
Moments moments(int count, F number) {
  double sum = 0, squares = 0, fourths = 0, least = 1e9, greatest = -1e9;
  for (int i = 0; i < count; ++i) {
    const double x = number(static_cast<std::uint64_t>(i));
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
    least = std::min(least, x);
    greatest = std::max(greatest, x);
  }
  return {sum / count, squares / count - (sum / count) * (sum / count), fourths / count, least, greatest};
}

double chi_square(const std::vector<int>& counts, double expected) {
  double sum = 0;
  for (int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

}  // namespace

static_assert(std::uniform_random_bit_generator<Philox>);
static_assert(philox4x32({0, 0, 0, 0}, {0, 0}) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});

TEST_CASE("philox4x32 gives the published known answers of Random123") {
  const auto ones = 0xffffffffu;
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({ones, ones, ones, ones}, {ones, ones}) ==
        PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a block spreads block number, stream and seed over all words") {
  CHECK(random_block(0x0000'0002'0000'0001u, 0x0000'0004'0000'0003u, 0x0000'0006'0000'0005u) ==
        philox4x32({3, 4, 5, 6}, {1, 2}));
}

TEST_CASE("numbers are lanes of their block") {
  for (std::uint64_t i = 0; i < 9; ++i) {
    const auto block = random_block(7, i / 4);
    const std::array lanes{block.x, block.y, block.z, block.w};
    CHECK(random_bits(7, i) == lanes[i % 4]);
    CHECK(uniform(7, i) == static_cast<float>(lanes[i % 4] >> 8) / 16777216.f);
  }
}

TEST_CASE("unit numbers stay below one") {
  CHECK(unit_float(0) == 0.f);
  CHECK(unit_float(0xffffffffu) == std::nextafter(1.f, 0.f));
  CHECK(unit_double(0, 0) == 0.);
  CHECK(unit_double(0xffffffffu, 0xffffffffu) == std::nextafter(1., 0.));
}

TEST_CASE("uniform numbers have the moments of the uniform distribution") {
  const int count = 400'000;
  const auto check = [&](const Moments& m) {
    CHECK(m.mean == doctest::Approx(0.5).epsilon(0.004));
    CHECK(m.variance == doctest::Approx(1. / 12).epsilon(0.01));
    CHECK(m.least >= 0);
    CHECK(m.least < 1e-4);
    CHECK(m.greatest < 1);
    CHECK(m.greatest > 1 - 1e-4);
  };
  check(moments(count, [](std::uint64_t i) { return double{uniform(3, i)}; }));
  check(moments(count, [](std::uint64_t i) { return uniform_double(3, i); }));
}

TEST_CASE("normal numbers have the moments of the normal distribution") {
  const int count = 400'000;
  const auto check = [&](const Moments& m) {
    CHECK(std::abs(m.mean) < 0.008);
    CHECK(m.variance == doctest::Approx(1).epsilon(0.012));
    CHECK(m.kurtosis == doctest::Approx(3).epsilon(0.04));
    CHECK(m.greatest > 4);
    CHECK(m.least < -4);
  };
  check(moments(count, [](std::uint64_t i) { return double{standard_normal(11, i)}; }));
  check(moments(count, [](std::uint64_t i) { return normal_double(11, i); }));
}

TEST_CASE("the two numbers of a normal pair do not correlate") {
  double sum = 0;
  for (std::uint64_t i = 0; i < 200'000; i += 2)
    sum += double{standard_normal(5, i)} * double{standard_normal(5, i + 1)};
  CHECK(std::abs(sum / 100'000) < 0.013);
}

TEST_CASE("normal numbers stay finite at the ends of their bits") {
  const auto widest = normal_pair(0, 0);
  CHECK(widest.first == doctest::Approx(6.764).epsilon(1e-3));
  CHECK(widest.second == 0.f);
  const auto centre = normal_pair(0xffffffffu, 0x80000000u);
  CHECK(centre.first == 0.f);
  const auto wide = normal_pair_double({0, 0, 0, 0});
  CHECK(wide.first == doctest::Approx(8.6521).epsilon(1e-3));
}

TEST_CASE("seeds, streams and neighbours differ") {
  CHECK(random_bits(1, 0) != random_bits(2, 0));
  CHECK(random_bits(1, 0) != random_bits(1, 0, 1));
  CHECK(random_bits(1, 0) != random_bits(1, 4));
  CHECK(random_bits(1, 0) != random_bits(1ull << 32, 0));
  CHECK(random_bits(1, 0) != random_bits(1, 1ull << 34));
}

TEST_CASE("the engine walks through the numbers of its seed") {
  Philox engine(42, 2, 9);
  for (std::uint64_t i = 2; i < 20; ++i) CHECK(engine() == random_bits(42, i, 9));
  CHECK(engine.position() == 20);
  engine.discard(1000);
  CHECK(engine() == random_bits(42, 1020, 9));
  Philox continued(42, engine.position(), 9);
  CHECK(continued() == engine());
}

TEST_CASE("uniform in a range stays below its upper end, where rounding would reach it") {
  Philox engine(1, 25275781);  // the largest of all unit numbers: 1 + it is halfway between 2 and the float below
  CHECK(Philox(engine).uniform() == 1 - 0x1p-24f);
  const float x = engine.uniform(1, 2);
  CHECK((x >= 1 && x < 2));
}

TEST_CASE("bounded covers its range evenly") {
  Philox engine(1);
  for (std::int64_t n : {1, 2, 3, 10, 257}) {
    std::vector<int> counts(static_cast<std::size_t>(n));
    for (int i = 0; i < 1000 * n; ++i) ++counts.at(static_cast<std::size_t>(engine.bounded(n)));
    const auto freedom = static_cast<double>(n - 1);
    CHECK(chi_square(counts, 1000) <= freedom + 5 * std::sqrt(2 * freedom) + 1e-9);
  }
}

TEST_CASE("bounded is unbiased where the range does not divide 2^32 or 2^64") {
  Philox engine(2);
  for (std::int64_t n : {std::int64_t{3} << 30, std::int64_t{3} << 61}) {
    std::vector<int> counts(3);  // a plain remainder or product would make one third twice as likely
    for (int i = 0; i < 30'000; ++i) {
      const auto value = engine.bounded(n);
      REQUIRE(value >= 0);
      REQUIRE(value < n);
      ++counts.at(static_cast<std::size_t>(value / (n / 3)));
    }
    CHECK(chi_square(counts, 10'000) < 20);
  }
}

TEST_CASE("bounded refuses an empty range") {
  Philox engine(0);
  CHECK_THROWS_AS((void)engine.bounded(0), ArgumentError);
  CHECK_THROWS_WITH_AS((void)engine.bounded(-4),
                       "Philox::bounded: no number in [0, -4); expected an upper end of at least 1", ArgumentError);
}

TEST_CASE("shuffle keeps the values and is a function of the engine alone") {
  std::vector<std::int64_t> values(1000), again;
  std::iota(values.begin(), values.end(), 0);
  again = values;
  Philox engine(8), same(8);
  shuffle(values, engine);
  shuffle(again, same);
  CHECK(values == again);
  CHECK_FALSE(std::is_sorted(values.begin(), values.end()));
  shuffle(values, engine);
  CHECK(values != again);
  std::sort(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(values[i] == static_cast<std::int64_t>(i));
}

TEST_CASE("shuffle gives every order of four equally often") {
  std::vector<int> counts(256);
  Philox engine(4);
  for (int i = 0; i < 24'000; ++i) {
    std::array<std::int64_t, 4> order{0, 1, 2, 3};
    shuffle(order, engine);
    ++counts[static_cast<std::size_t>(order[0] * 64 + order[1] * 16 + order[2] * 4 + order[3])];
  }
  std::erase(counts, 0);
  CHECK(counts.size() == 24);
  CHECK(chi_square(counts, 1000) < 23 + 5 * std::sqrt(46.));
}

TEST_CASE("shuffle accepts nothing and one value") {
  Philox engine(0);
  std::vector<std::int64_t> none, one{5};
  shuffle(none, engine);
  shuffle(one, engine);
  CHECK(engine.position() == 0);
  CHECK(one.front() == 5);
}

TEST_CASE("the engine drives the standard library's distributions") {
  Philox engine(3);
  std::uniform_int_distribution<int> die(1, 6);
  for (int i = 0; i < 100; ++i) {
    const int face = die(engine);
    CHECK(face >= 1);
    CHECK(face <= 6);
  }
}
