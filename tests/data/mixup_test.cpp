#include <locus/autograd/expression.hpp>
#include <locus/data/mixup.hpp>
#include <locus/nn/criterion.hpp>
#include <locus/tensor/factory.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <algorithm>
#include <cmath>

using namespace locus;
using namespace locus_test;
using data::mixup;

namespace {
/// Of 20,000 shares: their mean, their variance, and how many are below 0.1.
struct Shares {
  double mean = 0, variance = 0, below = 0;
  explicit Shares(double alpha) {
    Philox random(3);
    constexpr int count = 20'000;
    for (int i = 0; i < count; ++i) {
      const double share = data::detail::draw_beta(alpha, random);
      if (!(share >= 0 && share <= 1)) FAIL("a share of " << share);
      mean += share / count;
      variance += (share - 0.5) * (share - 0.5) / count;
      below += share < 0.1 ? 1.0 / count : 0;
    }
  }
};
}  // namespace

LOCUS_DEVICE_TEST("mixup mixes each image with the one before it", D) {
  const auto x = tensor<float, D>({3, 2}, {1, 2, 10, 20, 100, 200});
  const auto y = tensor<std::int64_t, D>({3}, {4, 5, 6});
  const LaunchLog log;
  const auto [images, labels, others, share] = mixup(x, y, {.alpha = 1, .seed = 7});
  CHECK(log.launches() <= 4);
  CHECK(share > 0);
  CHECK(share < 1);
  const double rest = 1 - share;
  CHECK_CLOSE(images, Reference({3, 2}, {share + 100 * rest, 2 * share + 200 * rest, 10 * share + rest,
                                         20 * share + 2 * rest, 100 * share + 10 * rest, 200 * share + 20 * rest}));
  CHECK_CLOSE(labels, {4, 5, 6});
  CHECK_CLOSE(others, {6, 4, 5});
  CHECK(mixup(x, y, {.alpha = 1, .seed = 7}).share == share);
  CHECK(mixup(x, y, {.alpha = 1, .seed = 8}).share != share);
}

LOCUS_DEVICE_TEST("mixup of nothing, and of one image", D) {
  const auto x = tensor<float, D>({2, 1}, {1, 5});
  const auto y = tensor<std::int64_t, D>({2}, {0, 1});
  const auto same = mixup(x, y, {.alpha = 0});
  CHECK(same.share == 1);
  CHECK_CLOSE(same.images, {1, 5});
  const auto infinite = tensor<float, D>({2, 1}, {1, std::numeric_limits<float>::infinity()});
  CHECK(host(mixup(infinite, y, {.alpha = 0}).images)(0, 0) == 1);  // not 0 times infinity
  CHECK_CLOSE(mixup(x.slice(0, 0, 1), y.slice(0, 0, 1)).images, Reference({1, 1}, {1}));
  CHECK(mixup(x.slice(0, 0, 0), y.slice(0, 0, 0)).others.size(0) == 0);
}

LOCUS_DEVICE_TEST("the loss of mixed images lies between those of both labels", D) {
  const auto mixed =
      mixup(tensor<float, D>({2, 2}, {1, 2, 3, -1}), tensor<std::int64_t, D>({2}, {0, 1}), {.alpha = 0.5, .seed = 1});
  const auto prediction = variable(mixed.images);
  const nn::CrossEntropyLoss criterion{};
  const Tensor<float, D> loss = mixed.loss(criterion, prediction).value();
  const Tensor<float, D> one = nn::cross_entropy(mixed.images, mixed.labels),
                         other = nn::cross_entropy(mixed.images, mixed.others);
  const auto at = [](const auto& t) { return static_cast<double>(host(t).item()); };
  CHECK(at(loss) == doctest::Approx(mixed.share * at(one) + (1 - mixed.share) * at(other)).epsilon(1e-6));
}

TEST_CASE("shares of mixup have the mean, the variance and the tails of their distribution") {
  for (const double alpha : {5e-324, 0.01, 0.2, 1.0, 1.5, 8.0}) {
    CAPTURE(alpha);
    const Shares shares(alpha);
    const double variance = 1 / (4 * (2 * alpha + 1));
    CHECK(std::abs(shares.mean - 0.5) < 4 * std::sqrt(variance / 20'000));
    CHECK(shares.variance == doctest::Approx(variance).epsilon(0.03));
  }
  CHECK(Shares(1).below == doctest::Approx(0.1).epsilon(0.1));
  CHECK(Shares(0.5).below == doctest::Approx(2 / 3.14159265 * std::asin(std::sqrt(0.1))).epsilon(0.05));
}

TEST_CASE("mixup refuses labels that do not fit, and a negative alpha") {
  CHECK_THROWS_WITH_AS((void)mixup(zeros({3, 2}), zeros<std::int64_t>({2})),
                       "mixup: images of shape (3, 2) with labels of shape (2,); expected (n, ...) and (n,)",
                       ShapeError);
  CHECK_THROWS_AS((void)mixup(zeros({}), zeros<std::int64_t>({})), ShapeError);
  CHECK_THROWS_AS((void)mixup(zeros({2, 2}), zeros<std::int64_t>({2}), {.alpha = -1}), ArgumentError);
}
