// Runs on: host, cuda (models).
#include <locus/autograd/expression.hpp>
#include <locus/data/transforms/mixed.hpp>
#include <locus/data/transforms/mixup.hpp>
#include <locus/nn/criterion.hpp>
#include <locus/nn/flatten.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/from.hpp>
#include <locus/training/fit.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

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
  CHECK_CLOSE(same.images, {{2, 1}, {1, 5}});
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

namespace {
/// Image i is (i + 1, 100 (i + 1)), of class i.
data::LabelledImages numbered_images(std::int64_t count) {
  const Tensor<std::uint8_t, Cpu> bytes({count, 1, 1, 2});
  const Tensor<std::int64_t, Cpu> labels({count});
  for (std::int64_t i = 0; i < count; ++i) {
    bytes.data()[2 * i] = static_cast<std::uint8_t>(i);
    bytes.data()[2 * i + 1] = static_cast<std::uint8_t>(255 - i);
    labels.data()[i] = i;
  }
  return {bytes, labels, count};
}
}  // namespace

TEST_CASE("a mixed data set mixes each image with one of the set, by a share of its own, anew in each epoch") {
  constexpr std::int64_t count = 200;
  const auto mixed = data::mixed(numbered_images(count), {.alpha = 1, .seed = 4});
  CHECK(mixed.size() == count);
  double mean_share = 0;
  std::set<std::int64_t> partners;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto [image, label, other, share] = data::sample(mixed, i);
    REQUIRE(label.item() == i);
    partners.insert(other.item());
    const double own = share.item(),
                 value = static_cast<double>(i) * own + static_cast<double>(other.item()) * (1 - own);
    REQUIRE(image(0, 0, 0) * 255 == doctest::Approx(value).epsilon(1e-4));
    REQUIRE(image(0, 0, 1) * 255 == doctest::Approx(255 - value).epsilon(1e-4));
    mean_share += own / static_cast<double>(count);
  }
  CHECK(std::abs(mean_share - 0.5) < 0.08);
  CHECK(partners.size() > 100);
  const auto next = mixed.at_epoch(1);
  int same = 0;
  for (std::int64_t i = 0; i < 20; ++i)
    same += data::sample(mixed, i).others.item() == data::sample(next, i).others.item();
  CHECK(same < 5);
  const auto one = data::sample(mixed.at_epoch(1), 3), again = data::sample(next, 3);
  CHECK(one.shares.item() == again.shares.item());
}

TEST_CASE("with whom an image is mixed does not depend on how it was transformed, by one seed for both") {
  constexpr std::int64_t count = 200;
  const auto flipped = data::transformed(numbered_images(count), data::RandomHorizontalFlip{}, 4);
  const auto mixed = data::mixed(flipped, {.alpha = 1, .seed = 4});
  int flips = 0, low = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::lround(data::sample(flipped, i).images(0, 0, 0) * 255) == i) continue;
    ++flips;
    low += data::sample(mixed, i).others.item() < count / 2;
  }
  REQUIRE(flips > 70);
  CHECK(std::abs(static_cast<double>(low) / flips - 0.5) < 0.2);
}

TEST_CASE("an alpha of 0 mixes nothing, and images of 16 bits are mixed in float") {
  const auto plain = data::mixed(numbered_images(5), {.alpha = 0});
  for (std::int64_t i = 0; i < 5; ++i) {
    const auto [image, label, other, share] = data::sample(plain, i);
    CHECK(share.item() == 1);
    CHECK(other.item() == i);
    CHECK(image(0, 0, 0) * 255 == doctest::Approx(static_cast<double>(i)));
  }
  const auto half = data::mixed(numbered_images(200).as<bfloat16>(), {.alpha = 1});
  const auto [image, label, other, share] = data::sample(half, 150);
  const double own = static_cast<double>(static_cast<float>(share.item()));
  CHECK(static_cast<double>(static_cast<float>(image(0, 0, 0))) * 255 ==
        doctest::Approx(150 * own + static_cast<double>(other.item()) * (1 - own)).epsilon(0.01));
  CHECK_THROWS_WITH_AS((void)data::mixed(numbered_images(2), {.alpha = -1}), doctest::Contains("alpha is -1"),
                       ArgumentError);
}

TEST_CASE("the loss of mixed batches is that between both labels, by each sample's share") {
  const auto logits = tensor<float, Cpu>({2, 3}, {1, 2, 3, 0, -1, 1});
  const auto labels = from(std::vector<std::int64_t>{0, 1}), others = from(std::vector<std::int64_t>{2, 1});
  const auto shares = tensor<float, Cpu>({2}, {0.25, 0.5});
  const nn::CrossEntropyLoss each{{.reduction = Reduction::none, .label_smoothing = 0.1}};
  const data::MixedLoss loss{nn::CrossEntropyLoss{{.label_smoothing = 0.1}}};
  const Tensor a = each(logits, labels), b = each(logits, others);
  const double expected = (0.25 * a(0) + 0.75 * b(0) + 0.5 * a(1) + 0.5 * b(1)) / 2;
  CHECK_CLOSE(loss(logits, labels, others, shares), Reference({}, {expected}));
  const Reference of_plain({}, {static_cast<double>(a(0) + a(1)) / 2});
  CHECK_CLOSE(loss(logits, labels), of_plain);
  for (const Reduction reduction : {Reduction::sum, Reduction::none}) {
    const data::MixedLoss same{nn::CrossEntropyLoss{{.reduction = reduction, .label_smoothing = 0.1}}};
    CHECK_CLOSE(same(logits, labels, others, shares), Reference({}, {expected}));
    CHECK_CLOSE(same(logits, labels), of_plain);
  }
}

TEST_CASE("fit trains on mixed batches and validates on plain ones, the same with any number of workers") {
  manual_seed(2);
  const auto trained = [](int workers) {
    manual_seed(2);
    const nn::Sequential<float, Cpu> model{nn::Flatten{}, nn::Linear<float, Cpu>{2, 10}};
    optim::Sgd optimizer{model.parameters(), {.lr = 0.1}};
    auto train = data::loader<Cpu>(data::mixed(numbered_images(10), {.alpha = 0.4, .seed = 1}),
                                   {.batch_size = 4, .shuffle = true, .seed = 3, .workers = workers});
    History history;
    fit(model, optimizer, data::MixedLoss{nn::CrossEntropyLoss{}}, train, data::loader<Cpu>(numbered_images(10)),
        history, {.epochs = 3}, Metric{"accuracy", Accuracy{}});
    CHECK(history.last().valid_loss < history.records()[0].valid_loss);
    CHECK(history.last().valid_accuracy >= 0);
    return reference(model.parameters()[0].value()).values;
  };
  CHECK(trained(0) == trained(3));
}
