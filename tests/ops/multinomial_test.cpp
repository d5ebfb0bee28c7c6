// Runs on: host, cuda (operations).
#include <locus/autograd/expression.hpp>
#include <locus/ops/multinomial.hpp>
#include <locus/tensor/factory.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/sorting.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("categories are drawn as often as their weights say, in every row", D) {
  if constexpr (all_dtypes<D>) {
    constexpr std::int64_t count = 20000;
    Generator<D> generator{3}, again{3};
    const auto weights = tensor<float, D>({2, 5}, {1, 0, 3, 4, 2, 0.5, 0.5, 0, 1e-30, 0});
    const Tensor drawn = multinomial(weights, count, true, generator);
    CHECK(drawn.shape() == Shape{2, count});
    const auto given = reference(drawn), of = reference(weights);
    for (std::size_t row = 0; row < 2; ++row) {
      std::vector<double> times(5);
      for (std::int64_t i = 0; i < count; ++i)
        ++times[static_cast<std::size_t>(given.values[row * count + static_cast<std::size_t>(i)])];
      const double all = row == 0 ? 10 : 1;
      for (std::size_t k = 0; k < 5; ++k) {
        const double p = of.values[row * 5 + k] / all, spread = std::sqrt(p * (1 - p) * count);
        CHECK(std::abs(times[k] - p * count) <= 4 * spread);
      }
    }
    CHECK_CLOSE(multinomial(weights, count, true, again), given);
    CHECK(generator.offset == 2 * count);
  }
}

TEST_CASE("a number on the border of two categories is of the later one, and of none whose weight is 0") {
  const std::int64_t sums[] = {0, 1, 1, 3};  // of weights 0, 1, 0, 2
  std::int64_t drawn[4] = {}, category = 0;
  const locus::detail::DrawnCategory draw{5, 0, sums, 4, 3000};
  for (std::int64_t i = 0; i < 3000; ++i) draw(i, category), ++drawn[category];
  CHECK(drawn[0] == 0);
  CHECK(drawn[2] == 0);
  CHECK(std::abs(static_cast<double>(drawn[1]) - 1000) < 120);  // less than five standard deviations
}

LOCUS_DEVICE_TEST("without replacement each is drawn once, the first as its weight says", D) {
  if constexpr (all_dtypes<D>) {
    constexpr std::int64_t rows = 5000;
    Generator<D> generator{4};
    const Tensor weights = tensor<float, D>({1, 4}, {5, 1, 0, 4}).expand({rows, 4});
    const auto given = reference(multinomial(weights, 3, false, generator)).values;
    std::vector<double> first(4), pairs(4);
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<double> sample(given.begin() + static_cast<std::ptrdiff_t>(3 * row),
                                 given.begin() + static_cast<std::ptrdiff_t>(3 * row + 3));
      ++first[static_cast<std::size_t>(sample[0])];
      if (sample[0] == 0) ++pairs[static_cast<std::size_t>(sample[1])];
      std::sort(sample.begin(), sample.end());
      if (sample != std::vector<double>{0, 1, 3}) FAIL_CHECK("row ", row, " is not each of 0, 1 and 3");
    }
    const double expected[] = {0.5, 0.1, 0, 0.4};
    for (std::size_t k = 0; k < 4; ++k) CHECK(std::abs(first[k] / rows - expected[k]) < 0.025);
    CHECK(std::abs(pairs[3] / first[0] - 0.8) < 0.03);  // weight 4 of the remaining 5
  }
}

LOCUS_DEVICE_TEST("one row of weights gives one of samples, and the default generator draws anew", D) {
  if constexpr (all_dtypes<D>) {
    const auto weights = tensor<double, D>({3}, {0, 0, 7});
    CHECK_CLOSE(multinomial(weights, 4, true), {2, 2, 2, 2});
    CHECK_CLOSE(multinomial(weights, 1), {2});
    CHECK(multinomial(weights, 0).shape() == Shape{0});
    CHECK(multinomial(zeros<float, D>({0, 3}), 2).shape() == Shape{0, 2});
    manual_seed(1);
    const Tensor many = multinomial(full<double, D>({1000}, 1), 1000);
    CHECK_FALSE(difference(multinomial(full<double, D>({1000}, 1), 1000), reference(many)).empty());
  }
}

TEST_CASE("what no sample can be drawn from is refused, by row and position") {
  const auto refused = [](std::vector<double> weights, std::int64_t count, bool replacement, const char* words) {
    const auto columns = static_cast<std::int64_t>(weights.size()) / 2;
    CHECK_THROWS_WITH_AS((void)multinomial(tensor<float, Cpu>({2, columns}, weights), count, replacement),
                         doctest::Contains(words), ArgumentError);
  };
  refused({1, 1, 1, -1}, 1, true, "weight 1 of row 1 is -1; expected 0 or more");
  refused({1, NAN, 1, 1}, 1, true, "weight 1 of row 0 is nan");
  refused({1, 1, INFINITY, 1}, 1, false, "weight 0 of row 1 is inf");
  refused({1, 1, 0, 0}, 1, true, "row 1 has 0 weights above 0; expected at least 1");
  refused({1, 1, 0, 2}, 2, false, "row 1 has 1 weights above 0; expected at least 2");
  refused({1, 1, 1, 2}, 3, false, "3 samples of 2 categories");
  refused({1, 1, 1, 2}, -1, true, "-1 samples");
  CHECK_THROWS_WITH_AS((void)multinomial(zeros({2, 2, 2}), 1),
                       doctest::Contains("shape (2, 2, 2); expected (categories)"), ShapeError);
  CHECK_THROWS_AS((void)multinomial(zeros({3, 0}), 1), ShapeError);
}

TEST_CASE("where the host cannot read weights, what is none is not drawn, and an empty row gives -1") {
  const locus::detail::WholeWeight whole;
  for (const double weight : {-1.0, 0.0, static_cast<double>(NAN)}) CHECK(whole(weight, 4.0) == 0);
  CHECK(whole(0.0f, 0.0f) == 0);
  CHECK(whole(INFINITY, INFINITY) == 0);
  CHECK(whole(4.0, 4.0) == std::int64_t{1} << 40);
  const std::int64_t empty[] = {0, 0};
  std::int64_t out = 7;
  locus::detail::DrawnCategory{1, 0, empty, 2, 1}(0, out);
  CHECK(out == -1);
  CHECK(std::isinf(locus::detail::DrawingKey{}(1.0, -2.0f)));
  CHECK(std::isinf(locus::detail::DrawingKey{}(0.0, static_cast<float>(NAN))));
  CHECK(locus::detail::IndexOfKey{}(INFINITY, 3) == -1);
  CHECK(locus::detail::upper_product(~std::uint64_t{0}, ~std::uint64_t{0}) == ~std::uint64_t{1});
  CHECK(locus::detail::upper_product(std::uint64_t{1} << 40, std::uint64_t{1} << 60) == std::uint64_t{1} << 36);
}

LOCUS_DEVICE_TEST("shuffle puts rows in the order of randperm, and brings their gradients back", D) {
  if constexpr (all_dtypes<D>) {
    const auto x = variable(sample<float, D>({50, 3}));
    manual_seed(9);
    const auto y = shuffle(x);
    manual_seed(9);
    const auto order = reference(randperm(50)).values;
    const auto given = reference(y), of = reference(x);
    for (std::size_t i = 0; i < 50; ++i)
      CHECK(given.values[3 * i] == of.values[3 * static_cast<std::size_t>(order[i])]);
    const auto g = sample<float, D>({50, 3}, 2);
    y.backward(g);
    CHECK(reference(x.grad()).values[3 * static_cast<std::size_t>(order[7])] == reference(g).values[21]);
    CHECK_THROWS_WITH_AS((void)shuffle(ones<float, D>({})), doctest::Contains("shuffle: a tensor of shape ()"),
                         ShapeError);
  }
}
