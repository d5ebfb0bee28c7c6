// Runs on: host, cuda (layers); alone.
#include <locus/nn/ctc_loss.hpp>

#include <locus/autograd/gradcheck.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <support/reference_device.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus::Cpu, locus_test::ReferenceDevice
#endif
#include <golden/golden.hpp>
#include <support/device_list.hpp>

#include <cmath>
#include <functional>
#include <limits>

using namespace locus;
using namespace locus_test;

namespace {
using Labels = std::vector<std::int64_t>;
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class D>
Tensor<std::int64_t, D> whole(const char* name) {
  return golden::tensor<std::int64_t, D>(name);
}

/// A path without repetitions and, after that, without blanks.
Labels collapsed(const Labels& path, std::int64_t blank) {
  Labels result;
  for (std::size_t i = 0; i < path.size(); ++i)
    if (path[i] != blank && (i == 0 || path[i] != path[i - 1])) result.push_back(path[i]);
  return result;
}
/// -log of the probability of labels, path by path.
double by_all_paths(const std::vector<std::vector<double>>& logarithms, const Labels& labels, std::int64_t blank) {
  double sum = 0;
  Labels path;
  const std::function<void(double)> go_on = [&](double logarithm) {
    if (path.size() == logarithms.size()) {
      if (collapsed(path, blank) == labels) sum += std::exp(logarithm);
      return;
    }
    const auto& now = logarithms[path.size()];
    for (std::size_t c = 0; c < now.size(); ++c) {
      path.push_back(static_cast<std::int64_t>(c));
      go_on(logarithm + now[c]);
      path.pop_back();
    }
  };
  go_on(0);
  return -std::log(sum);
}
}  // namespace

LOCUS_DEVICE_TEST("the CTC loss and the gradients of its logits are PyTorch's", D) {
  const auto labels = whole<D>("ctc_labels"), times = whole<D>("ctc_times"), counts = whole<D>("ctc_counts");
  const auto first = [](const auto& x, std::int64_t count) { return x.slice(0, 0, count); };
  for (const auto& [reduction, suffix] :
       {std::pair{Reduction::mean, "mean"}, std::pair{Reduction::sum, "sum"}, std::pair{Reduction::none, "none"}}) {
    const std::string end = suffix;
    CAPTURE(end);
    const auto x = variable(golden::tensor<double, D>("ctc_x"));
    CHECK_GOLDEN("ctc_" + end,
                 nn::ctc_loss(log_softmax(slice(x, 1, 0, 4), 2), first(labels, 4), first(times, 4), first(counts, 4),
                              {.reduction = reduction}),
                 ({"x"}), x);
    x.zero_grad();
    const nn::CTCLoss zero{{.reduction = reduction, .zero_infinity = true}};
    CHECK_GOLDEN("ctc_zero_" + end, zero(log_softmax(x, 2), labels, times, counts), ({"x"}), x);
  }
  const auto x = variable(golden::tensor<double, D>("ctc_x"));
  const auto of_last = tensor<std::int64_t, D>({2, 2}, {0, 2, 1, 1});
  CHECK_GOLDEN(
      "ctc_blank",
      nn::ctc_loss(log_softmax(slice(x, 1, 0, 2), 2), of_last, first(times, 2), counts.slice(0, 1, 3), {.blank = 3}),
      ({"x"}), x);
  const auto narrow = golden::tensor<float, D>("ctc_x").slice(1, 0, 4);
  CHECK_CLOSE(nn::ctc_loss(log_softmax(narrow, 2), first(labels, 4), first(times, 4), first(counts, 4)),
              golden::reference("ctc_mean"), 1e-6);
}

LOCUS_DEVICE_TEST("the CTC loss is the sum over all paths, and its gradient that of finite differences", D) {
  manual_seed(11);
  const auto x = log_softmax(randn<double, D>({5, 2, 3}), 2).eval();
  const auto on_host = x.template to<Cpu>();
  const auto times = tensor<std::int64_t, D>({2}, {5, 4}), counts = tensor<std::int64_t, D>({2}, {2, 1});
  for (const Labels& all : {Labels{1, 2, 2, 0}, Labels{1, 1, 1, 2}, Labels{2, 1, 2, -100}}) {
    const auto labels = from(all, {2, 2}).template to<D>();
    const Tensor<double, Cpu> losses = [&] {
      const Tensor<double, D> each = nn::ctc_loss(x, labels, times, counts, {.reduction = Reduction::none});
      return each.template to<Cpu>();
    }();
    for (std::int64_t n = 0; n < 2; ++n) {
      std::vector<std::vector<double>> logarithms;
      for (std::int64_t t = 0; t < (n == 0 ? 5 : 4); ++t)
        logarithms.push_back({on_host(t, n, 0), on_host(t, n, 1), on_host(t, n, 2)});
      const Labels wanted = n == 0 ? Labels{all[0], all[1]} : Labels{all[2]};
      CHECK(losses(n) == doctest::Approx(by_all_paths(logarithms, wanted, 0)).epsilon(1e-12));
    }
    const auto agrees = gradcheck([&](auto v) { return nn::ctc_loss(v, labels, times, counts); }, x);
    CHECK_MESSAGE(agrees, agrees.what());
  }
}

LOCUS_DEVICE_TEST("labels that do not fit cost infinity, without a gradient; classes that cannot be cost nothing else",
                  D) {
  const auto x = variable(log_softmax(randn<float, D>({3, 2, 3}), 2).eval());
  const auto labels = tensor<std::int64_t, D>({2, 2}, {1, 1, 1, 2}), lengths = tensor<std::int64_t, D>({2}, {2, 3}),
             counts = tensor<std::int64_t, D>({2}, {2, 2});
  const auto losses = nn::ctc_loss(x, labels, lengths, counts, {.reduction = Reduction::none});
  const Reference each = reference(losses);
  CHECK(each.values[0] == infinity);
  CHECK(std::isfinite(each.values[1]));
  sum(losses).backward();
  const Reference gradient = reference(x.grad());
  double of_first = 0, of_second = 0;
  for (std::size_t i = 0; i < 18; ++i) (i / 3 % 2 == 0 ? of_first : of_second) += std::abs(gradient.values[i]);
  CHECK(of_first == 0);
  CHECK(of_second == doctest::Approx(3));  // a share of 1 at each time

  // Without input, empty labels have probability 1, others 0.
  const auto none = tensor<std::int64_t, D>({2}, {0, 0});
  CHECK_CLOSE(nn::ctc_loss(x, labels, none, tensor<std::int64_t, D>({2}, {0, 1}), {.reduction = Reduction::none}),
              Reference({2}, {0, infinity}), 0);
  const auto blanks = nn::ctc_loss(x, Tensor<std::int64_t, D>({2, 0}), lengths, none, {.reduction = Reduction::sum});
  const auto expected = reference(x.value());
  double sum_of_blanks = 0;
  for (const std::size_t i : {0U, 3U, 6U, 9U, 15U}) sum_of_blanks -= expected.values[i];
  CHECK_CLOSE(blanks, Reference(Shape{}, {sum_of_blanks}), 1e-6);

  // A class of probability 0 that no path needs.
  const auto impossible = tensor<double, D>(
      {2, 1, 3}, {std::log(0.5), std::log(0.5), -infinity, std::log(0.25), std::log(0.75), -infinity});
  const auto one = tensor<std::int64_t, D>({1}, {1}), two = tensor<std::int64_t, D>({1}, {2});
  const auto v = variable(impossible);
  const auto loss = nn::ctc_loss(v, one.unsqueeze(0), two, one);
  CHECK_CLOSE(loss, Reference(Shape{}, {-std::log(1 - 0.5 * 0.25)}), 1e-12);
  loss.backward();
  for (const double g : reference(v.grad()).values) CHECK(std::isfinite(g));
}

TEST_CASE("the CTC loss takes a launch for each time, and as many more as its comment says") {
  for (const std::int64_t times : {4, 9}) {
    const auto x = variable(log_softmax(randn({times, 2, 4}), 2).eval());
    const auto labels = from<std::int64_t>({{1, 2}, {1, 1}}), counts = from<std::int64_t>({2, 2});
    const auto lengths = full<std::int64_t>({2}, times);
    const LaunchLog forward;
    const auto loss = nn::ctc_loss(x, labels, lengths, counts);
    CHECK(forward.launches() == times + 19);
    const LaunchLog backward;
    loss.backward();
    CHECK(backward.launches() == times + 9);
  }
}

TEST_CASE("the CTC loss refuses shapes, lengths, labels and blanks that do not fit") {
  const Tensor<float> x = log_softmax(randn({4, 2, 3}), 2);
  const auto labels = from<std::int64_t>({{1, 2}, {1, 2}});
  const auto times = from<std::int64_t>({4, 4}), counts = from<std::int64_t>({2, 2});
  CHECK_THROWS_WITH_AS((void)nn::ctc_loss(x, labels.slice(0, 0, 1), times, counts),
                       doctest::Contains("logarithms of shape (4, 2, 3), labels of shape (1, 2)"), ShapeError);
  CHECK_THROWS_AS((void)nn::ctc_loss(x.select(1, 0), labels, times, counts), ShapeError);
  CHECK_THROWS_AS((void)nn::ctc_loss(x, labels, times.slice(0, 0, 1), counts), ShapeError);
  CHECK_THROWS_AS((void)nn::ctc_loss(x.slice(0, 0, 0), labels, times, counts), ShapeError);
  CHECK_THROWS_WITH_AS((void)nn::ctc_loss(x, labels, times, counts, {.blank = 3}),
                       doctest::Contains("the blank is 3 of 3 classes"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)nn::ctc_loss(x, labels, from<std::int64_t>({4, 5}), counts),
                       doctest::Contains("input length 5 at position 1; expected 0 to 4"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)nn::ctc_loss(x, labels, times, from<std::int64_t>({-1, 2})),
                       doctest::Contains("label length -1 at position 0; expected 0 to 2"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)nn::ctc_loss(x, from<std::int64_t>({{1, 2}, {1, 3}}), times, counts),
                       doctest::Contains("label 3 at position 3"), IndexError);
  CHECK(std::isfinite(nn::ctc_loss(x, from<std::int64_t>({{1, 2}, {1, 3}}), times, from<std::int64_t>({2, 1})).item()));
}
