// Runs on: host, cuda (rows), reference; loops.
// softmax, log_softmax and logsumexp against PyTorch, finite differences, and their promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/softmax.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace locus;
using locus_test::sample;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

LOCUS_DEVICE_TEST("the softmax family and its gradients agree with PyTorch", D) {
  const auto x = [] { return variable(golden::tensor<double, D>("reduce_x")); };
  auto a = x(), b = x(), c = x();
  CHECK_GOLDEN("softmax_1", softmax(a, 1), ({"x"}), a);
  CHECK_GOLDEN("log_softmax_0", log_softmax(b, 0), ({"x"}), b);
  CHECK_GOLDEN("logsumexp_2", logsumexp(c, 2), ({"x"}), c);
}

LOCUS_DEVICE_TEST("the softmax family works along any axis, of views too", D) {
  const auto x = sample<double, D>({3, 4, 2}, 1);
  for (int axis : {-3, -2, -1, 0, 1, 2}) {
    CAPTURE(axis);
    const GradcheckResult found[] = {
        gradcheck([=](const auto& v) { return softmax(v, axis); }, x),
        gradcheck([=](const auto& v) { return log_softmax(v, axis); }, x),
        gradcheck([=](const auto& v) { return logsumexp(v, axis, true); }, x),
        gradcheck([=](const auto& v) { return softmax(transpose(v, 0, 2), axis); }, x),
        gradcheck([=](const auto& v) { return logsumexp(slice(v, 1, 0, 4, 2), axis); }, x)};
    for (const auto& each : found) CHECK_MESSAGE(each, each.what());
  }
  const auto view = x.transpose(0, 2).slice(1, 1, 4, 2);
  CHECK_CLOSE(softmax(view, 0), locus_test::reference(softmax(view.contiguous(), 0)));
}

LOCUS_DEVICE_TEST("one launch forward and one backward", D) {
  const auto x = variable(sample<float, D>({5, 7}, 1));
  const auto g = sample<float, D>({5, 7}, 2);
  const auto count = [&](const auto& f, const auto& cotangent) {
    LaunchLog forward;
    const auto y = f(x);
    CHECK(forward.launches() == 1);
    LaunchLog backward;
    y.backward(cotangent);
    CHECK(backward.launches() == 1);
  };
  count([](const auto& v) { return softmax(v, 1); }, g);
  count([](const auto& v) { return log_softmax(v, 0); }, g);
  count([](const auto& v) { return logsumexp(v, 0); }, sample<float, D>({7}, 2));
}

LOCUS_DEVICE_TEST("on hosts, three launches forward and two backward for many rows across memory", D) {
  const auto x = variable(sample<float, D>({5, 16}, 1));
  LaunchLog forward;
  const auto y = softmax(x, 0);
  CHECK(forward.launches() == (HostAccessible<D> ? 3 : 1));
  LaunchLog backward;
  y.backward(sample<float, D>({5, 16}, 2));
  CHECK(backward.launches() == (HostAccessible<D> ? 2 : 1));
}

template <class T, class D>
void check_across() {
  const auto x = sample<T, D>({4, 9, 33}, 3, -20, 20);
  for (int axis : {0, 1}) {
    CAPTURE(axis);
    const auto across = [&](const auto& f) {
      return locus_test::reference(f(x.transpose(axis, 2).contiguous(), 2).value().transpose(axis, 2).contiguous());
    };
    CHECK_CLOSE(softmax(x, axis), across([](const auto& v, int along) { return softmax(v, along); }));
    CHECK_CLOSE(log_softmax(x, axis), across([](const auto& v, int along) { return log_softmax(v, along); }));
    CHECK_CLOSE(logsumexp(x, axis, true), across([](const auto& v, int along) { return logsumexp(v, along, true); }));
  }
}

LOCUS_DEVICE_TEST("many rows that lie across memory give what they give along it", D) {
  check_across<double, D>();
  check_across<float, D>();
  check_across<half, D>();
  check_across<bfloat16, D>();
  for (int axis : {0, 1}) {
    const auto x = sample<double, D>({3, 4, 17}, 4);
    const GradcheckResult found[] = {gradcheck([=](const auto& v) { return softmax(v, axis) + v; }, x),
                                     gradcheck([=](const auto& v) { return log_softmax(v, axis) * v; }, x),
                                     gradcheck([=](const auto& v) { return logsumexp(v, axis); }, x)};
    for (const auto& each : found) CHECK_MESSAGE(each, each.what());
  }
  const auto one = locus_test::tensor<float, D>({2, 4}, {-infinity, infinity, -infinity, 1000, -infinity, 1, 0, -1000});
  const auto many = one.reshape({2, 4, 1}).expand({2, 4, 5}).reshape({2, 20});
  const auto sums = locus_test::reference(logsumexp(many, 0)), parts = locus_test::reference(softmax(many, 0));
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(sums.values[i] == (i < 5 ? -infinity : i < 10 ? infinity : i < 15 ? 0 : 1000));
    if (i < 10) CHECK(std::isnan(parts.values[i]));
    else CHECK(parts.values[i] == (i < 15 ? 0 : 1));
  }
  const auto none = variable(Tensor<float, D>({0, 20}));
  const auto of_none = softmax(none, 0);
  of_none.backward(Tensor<float, D>({0, 20}));
  CHECK(none.grad().shape() == Shape{0, 20});
  const auto empty_sums = locus_test::reference(logsumexp(none.value(), 0));
  CHECK(std::all_of(empty_sums.values.begin(), empty_sums.values.end(), [](double sum) { return sum == -infinity; }));
}

LOCUS_DEVICE_TEST("gradients of a second use are added", D) {
  const auto found = gradcheck([](const auto& v) { return softmax(v, 0) + softmax(v, 1) + logsumexp(v, 1, true); },
                               sample<double, D>({3, 4}, 9));
  CHECK_MESSAGE(found, found.what());
}

LOCUS_DEVICE_TEST("large and infinite inputs neither overflow nor turn into NaN", D) {
  const auto x = locus_test::tensor<float, D>({2, 3}, {1000, 1000, -1000, -1e30, -1e30, -1e30});
  CHECK_CLOSE(softmax(x, 1), {{2, 3}, {0.5, 0.5, 0, 1. / 3, 1. / 3, 1. / 3}});
  CHECK_CLOSE(logsumexp(x, 1), {1000.6931472, -1e30});
  const auto infinite = locus_test::tensor<float, D>({3, 2}, {-infinity, -infinity, infinity, 1, -infinity, 0});
  CHECK_CLOSE(logsumexp(infinite, 1), {-infinity, infinity, 0});
  CHECK_CLOSE(softmax(infinite.slice(0, 2), 1), {{1, 2}, {0, 1}});
}

LOCUS_DEVICE_TEST("rows of every length are those of float64", D) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = 1; n <= 18; ++n) lengths.push_back(n);
  for (const std::int64_t n : {31, 33, 63, 64, 65, 127, 129, 1000, 1023, 1024, 1025, 1040, 2047, 2049, 4097, 33001})
    lengths.push_back(n);
  for (const std::int64_t n : lengths) {
    CAPTURE(n);
    const auto x = sample<float, D>({3, n}, 5, -20, 20);
    auto p = locus_test::reference(x), logarithms = p;
    std::vector<double> logs;
    for (std::int64_t row = 0; row < 3; ++row) {
      const auto begin = p.values.begin() + row * n;
      const double largest = *std::max_element(begin, begin + n);
      const double sum =
          std::accumulate(begin, begin + n, 0.0, [=](double s, double v) { return s + std::exp(v - largest); });
      logs.push_back(largest + std::log(sum));
      for (std::int64_t c = 0; c < n; ++c) {
        const auto at = static_cast<std::size_t>(row * n + c);
        logarithms.values[at] -= logs.back();
        p.values[at] = std::exp(logarithms.values[at]);
      }
    }
    CHECK(locus_test::relative_difference(softmax(x, 1), p, 4e-6) == "");  // v - largest rounds at the size of 40
    CHECK_CLOSE(log_softmax(x, 1), logarithms);
    CHECK_CLOSE(logsumexp(x, 1), logs);
  }
}

LOCUS_DEVICE_TEST("NaN makes its row NaN, wherever it stands, and no other row", D) {
  for (const std::int64_t n : {1, 10, 16, 17, 70, 1500})
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      CAPTURE(n);
      Tensor<float, Cpu> values({3, n});
      std::fill_n(values.data(), 3 * n, 1.f);
      values.data()[n + at] = std::numeric_limits<float>::quiet_NaN();
      const auto x = values.to<D>();
      std::vector<double> p(static_cast<std::size_t>(3 * n), 1.0 / static_cast<double>(n)), logs;
      std::fill_n(p.begin() + n, n, std::nan(""));
      for (const double v : p) logs.push_back(std::log(v));
      CHECK_CLOSE(softmax(x, 1), p);
      CHECK_CLOSE(log_softmax(x, 1), logs);
      CHECK_CLOSE(logsumexp(x, 1), {1 - logs[0], std::nan(""), 1 - logs[0]});
    }
}

LOCUS_DEVICE_TEST("probabilities reach down to subnormal numbers, and 0 where a logit is -infinity", D) {
  const auto x = locus_test::tensor<float, D>({1, 5}, {0, -80, -90, -150, -infinity});
  CHECK(locus_test::relative_difference(softmax(x, 1), {{1, 5}, {1, std::exp(-80.), 8.194e-40, 0, 0}}, 1e-4) == "");
  CHECK_CLOSE(log_softmax(x, 1), {{1, 5}, {0, -80, -90, -150, -infinity}});
}

LOCUS_DEVICE_TEST("16-bit floats are computed in float", D) {
  const auto x = sample<half, D>({3, 33}, 4);
  CHECK_CLOSE(softmax(x, 1), locus_test::reference(softmax(x.template as<double>(), 1)));
  CHECK_CLOSE(sum(softmax(x.template as<float>(), 1), 1), {1, 1, 1});
}

LOCUS_DEVICE_TEST("empty rows and no rows", D) {
  CHECK(softmax(Tensor<float, D>({0, 4}), 1).shape() == Shape{0, 4});
  CHECK(softmax(Tensor<float, D>({4, 0}), 1).shape() == Shape{4, 0});
  CHECK_CLOSE(logsumexp(Tensor<float, D>({2, 0}), 1), {-infinity, -infinity});
  CHECK(logsumexp(Tensor<float, D>({2, 0}), 0).shape() == Shape{0});
}

LOCUS_DEVICE_TEST("an axis that is not there is refused", D) {
  CHECK_THROWS_AS((void)softmax(Tensor<float, D>({2, 3}), 2), IndexError);
  CHECK_THROWS_AS((void)log_softmax(Tensor<float, D>({2, 3}), -3), IndexError);
  CHECK_THROWS_AS((void)logsumexp(Tensor<float, D>(Shape{}), 0), IndexError);
}

LOCUS_DEVICE_TEST("the logarithm keeps its digits beside large numbers", D) {
  const double half = std::log(0.5);
  for (const double shift : {1e4, 1e6, 1e8}) {
    CHECK_CLOSE(log_softmax(locus_test::tensor<float, D>({1, 2}, {shift, shift}), 1),
                (locus_test::Reference{Shape{1, 2}, {half, half}}));
  }
}
