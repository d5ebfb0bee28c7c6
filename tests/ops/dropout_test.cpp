// Runs on: host, cuda (rows), reference.
// Dropout: which elements are dropped, that the backward pass drops the same, and that it stores nothing for that.

#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/locus.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <limits>

using namespace locus;
using namespace locus_test;

namespace {

template <class X>
std::vector<double> values_of(const X& x) {
  return reference(x).values;
}

/// Row-wise, as attention drops probabilities: y = x where the draw's number is at least p, else 0.
template <class T, class D>
struct DropInRows {
  static constexpr int fragments = 1;
  const T* x;
  T* y;
  std::int64_t cols;
  float p;
  DrawnNumbers<D> numbers;

  template <RowTeam Team>
  LOCUS_FN void operator()(std::int64_t row, Team& team) const {
    auto values = team.load(RowInput<T>{x + row * cols});
    const DrawnNumbers<D> drawn = numbers;
    const std::int64_t first = row * cols;
    const float least = p;
    team.store(
        RowOutput<T>{y + row * cols},
        [=](T v, std::int64_t c) LOCUS_INLINED { return drawn.uniform(first + c) < least ? T(0) : v; }, values);
  }
};

}  // namespace

LOCUS_DEVICE_TEST("dropout keeps where bernoulli(1 - p) is 1, and divides by 1 - p", D) {
  Generator<D> one{11, 5}, other{11, 5};
  const auto x = randn<float, D>({37, 19});
  const auto kept = bernoulli<float>(0.75, {37, 19}, one);
  const auto y = dropout(trace(x), 0.25, other);
  CHECK(one.offset == other.offset);
  CHECK_CLOSE(y, reference(x * kept / 0.75f));
  const auto views = dropout(trace(x.transpose()), 0.25, other);
  CHECK(views.shape() == Shape{19, 37});
}

LOCUS_DEVICE_TEST("every element is dropped with probability p", D) {
  manual_seed(3);
  const std::int64_t n = 40000;
  for (const double p : {0.1, 0.5, 0.9}) {
    CAPTURE(p);
    double zeros = 0, sum = 0;
    for (const double y : values_of(dropout(trace(ones<float, D>({n})), p))) {
      zeros += y == 0;
      sum += y;
      CHECK((y == 0 || std::abs(y - 1 / (1 - p)) < 1e-5));
    }
    const double deviation = std::sqrt(p * (1 - p) * static_cast<double>(n));
    CHECK(std::abs(zeros - p * static_cast<double>(n)) < 5 * deviation);
    CHECK(std::abs(sum / static_cast<double>(n) - 1) < 5 * deviation / static_cast<double>(n) / (1 - p));
  }
  // Neighbours and draws are independent of each other.
  const auto a = values_of(dropout(trace(ones<float, D>({n})), 0.5)),
             b = values_of(dropout(trace(ones<float, D>({n})), 0.5));
  double next = 0, both = 0;
  for (std::size_t i = 0; i + 1 < a.size(); ++i) next += a[i] == a[i + 1], both += a[i] == b[i];
  const double expected = static_cast<double>(n) / 2, bound = 5 * std::sqrt(static_cast<double>(n)) / 2;
  CHECK(std::abs(next - expected) < bound);
  CHECK(std::abs(both - expected) < bound);
}

LOCUS_DEVICE_TEST("the backward pass drops what the forward pass dropped, more than once too", D) {
  manual_seed(4);
  const auto x = variable(full<float, D>({300, 7}, 2.f));
  const auto y = dropout(x, 0.4);
  sum(y).backward({.retain_graph = true});
  CHECK_CLOSE(x.grad() * 2.f, reference(y));
  sum(y).backward();
  CHECK_CLOSE(x.grad(), reference(y));
  // Of a formula: relu lets half of it through.
  const auto z = variable(randn<float, D>({300, 7}));
  const auto dropped = dropout(relu(z * 3.f), 0.4);
  sum(dropped).backward();
  const auto found = values_of(z.grad()), from = values_of(z.value()), to = values_of(dropped);
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(found[i] == doctest::Approx(to[i] == 0 ? 0 : to[i] / from[i]).epsilon(1e-5));
}

LOCUS_DEVICE_TEST("dropout's gradient agrees with finite differences", D) {
  // Every call draws the same numbers, and drops from plain tensors, too.
  const auto same = [](const auto& x) {
    Generator<D> generator{7};
    if constexpr (std::is_same_v<decltype(x), const Tensor<double, D>&>)
      return dropout(tanh(trace(x)), 0.3, generator).value();
    else return dropout(tanh(x), 0.3, generator);
  };
  CHECK(gradcheck(same, randn<double, D>({4, 5})));
  const auto channels = [](const auto& x) {
    manual_seed(5);
    if constexpr (std::is_same_v<decltype(x), const Tensor<double, D>&>) return dropout2d(trace(x), 0.5).value();
    else return dropout2d(x, 0.5);
  };
  CHECK(gradcheck(channels, randn<double, D>({2, 3, 2, 2})));
}

LOCUS_DEVICE_TEST("dropout2d keeps or drops whole channels", D) {
  manual_seed(6);
  const auto x = variable(ones<float, D>({8, 16, 3, 5}));
  const auto y = dropout2d(x, 0.5);
  sum(y).backward();
  CHECK_CLOSE(x.grad(), reference(y));
  const auto values = values_of(y);
  int dropped = 0;
  for (std::size_t channel = 0; channel < 128; ++channel) {
    for (std::size_t i = 0; i < 15; ++i) CHECK(values[channel * 15 + i] == values[channel * 15]);
    CHECK((values[channel * 15] == 0 || values[channel * 15] == 2));
    dropped += values[channel * 15] == 0;
  }
  CHECK(dropped > 35);
  CHECK(dropped < 93);
  CHECK(dropout2d(trace(ones<float, D>({2, 3})), 0.5).shape() == Shape{2, 3});
  CHECK(dropout2d(trace(ones<float, D>({2, 3, 0})), 0.5).shape() == Shape{2, 3, 0});
}

LOCUS_DEVICE_TEST("p = 0 keeps all and p = 1 drops all, exactly", D) {
  const auto x = variable(randn<float, D>({1000}));
  const auto all = dropout(x, 0.0);
  CHECK(values_of(all) == values_of(x));
  sum(all).backward();
  CHECK(values_of(x.grad()) == std::vector<double>(1000, 1.0));
  x.zero_grad();
  const auto none = dropout(x, 1.0);
  sum(none).backward();
  CHECK(values_of(none) == std::vector<double>(1000, 0.0));
  CHECK(values_of(x.grad()) == std::vector<double>(1000, 0.0));
  CHECK(values_of(dropout2d(x.reshape({10, 10, 10}), 0.0)) == values_of(x));
  CHECK(values_of(dropout2d(x.reshape({10, 10, 10}), 1.0)) == std::vector<double>(1000, 0.0));
  const float infinity = std::numeric_limits<float>::infinity();
  for (const double y : values_of(dropout(trace(full<float, D>({4}, infinity)), 1.0))) CHECK(std::isnan(y));
}

LOCUS_DEVICE_TEST("plain and frozen tensors pass as they are: no launch, no numbers", D) {
  const auto x = randn<float, D>({5, 4});
  manual_seed(8);
  const auto before = rand<float, D>({3});
  manual_seed(8);
  const LaunchLog log;
  CHECK(dropout(x, 0.5).data() == x.data());
  CHECK(dropout2d(x, 0.5).data() == x.data());
  CHECK(dropout(frozen(trace(x)), 0.5).value().data() == x.data());
  CHECK(dropout2d(frozen(variable(x)), 0.5).value().data() == x.data());
  CHECK(log.launches() == 0);
  // A temporary expression stays one.
  CHECK_CLOSE(dropout(x * 2.f, 0.5) + 1.f, reference(x * 2.f + 1.f));
  CHECK_CLOSE(dropout(frozen(trace(x)) * 2.f, 0.5), reference(x * 2.f));
  CHECK_CLOSE(rand<float, D>({3}), reference(before));
}

LOCUS_DEVICE_TEST("dropout of an expression is one launch, and so is its backward pass", D) {
  const auto x = variable(randn<float, D>({5, 4}));
  const auto b = randn<float, D>({5, 4});
  LaunchLog forward;
  const auto y = dropout(relu(x + b), 0.5);
  CHECK(forward.launches() == 1);
  const auto g = ones<float, D>({5, 4});
  LaunchLog backward;
  y.backward(g);
  CHECK(backward.launches() == 1);
  LaunchLog channels;
  const auto z = dropout2d(x, 0.5);
  CHECK(channels.launches() == 2);
  LaunchLog back;
  z.backward(g);
  CHECK(back.launches() == 2);  // added to the gradient that is there
}

LOCUS_DEVICE_TEST("dropout stores nothing for the backward pass", D) {
  if constexpr (std::is_same_v<D, Counting>) {
    const auto x = variable(randn<float, D>({64, 64}));
    const auto start = counting_bytes.load();
    const auto y = dropout(x, 0.5), z = dropout2d(y, 0.5);
    CHECK(counting_bytes - start == 2 * 64 * 64 * 4);  // y and z
  }
}

LOCUS_DEVICE_TEST("equal generators drop the same on every device, in rows as in expressions", D) {
  Generator<D> here{21};
  Generator<Cpu> there{21};
  const auto x = randn<float, Cpu>({33, 65}, there);
  there = {21};
  CHECK(values_of(dropout(trace(x.template to<D>()), 0.3, here)) == values_of(dropout(trace(x), 0.3, there)));
  const auto on_device = x.template to<D>();
  const Tensor<float, D> y(x.shape());
  here = {21};
  const Draw<D> draw(x.elements(), here);
  Backend<D>::for_each_row({}, 33, 65, DropInRows<float, D>{on_device.data(), y.data(), 65, 0.3f, draw.numbers()});
  there = {21};
  const auto uniform = values_of(rand<float>(x.shape(), there)), given = values_of(x), found = values_of(y);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == (uniform[i] < 0.3f ? 0 : given[i]));
  CHECK(here.offset == 33 * 65);
}

LOCUS_DEVICE_TEST("all floating-point types can be dropped", D) {
  const auto check = [](auto zero) {
    using T = decltype(zero);
    Generator<D> generator{1}, same{1};
    const auto x = variable(ones<T, D>({3001}));
    const auto y = dropout(x, 0.5, generator);
    sum(y).backward();
    CHECK_CLOSE(x.grad(), reference(y));
    CHECK(values_of(y) == values_of(dropout(trace(ones<float, D>({3001})), 0.5, same)));
  };
  check(double{});
  if constexpr (all_dtypes<D>) check(half{}), check(bfloat16{});
}

LOCUS_DEVICE_TEST("100 captured steps drop what uncaptured ones do", D) {
  const auto run = [](bool captured) {
    manual_seed(12);
    const Parameter<float, D> w(randn<float, D>({6, 6}));
    const auto x = randn<float, D>({4, 6});
    Generator<D> own{3};
    const auto body = [&] {
      const auto h = dropout(relu(matmul(trace(x), w)), 0.3);
      const auto y = dropout2d(dropout(h, 0.2, own).reshape({2, 2, 6}), 0.25);
      const auto loss = sum(y * y);
      w.zero_grad();
      loss.backward();
      w.value().copy_(w.value() - w.grad() * 0.01f);
      return loss.value().clone();
    };
    std::vector<double> losses;
    auto step = capture<D>(body);
    for (int i = 0; i < 100; ++i) losses.push_back(captured ? step().item() : body().item());
    for (const double v : values_of(w.value())) losses.push_back(v);
    losses.push_back(static_cast<double>(own.offset));
    losses.push_back(rand<float, D>({1}).item());
    return losses;
  };
  const auto with = run(true), without = run(false);
  CHECK(with == without);
  CHECK(with[0] != with[1]);
  CHECK(with[1] != with[2]);
}

TEST_CASE("probabilities outside [0, 1] and shapes without channels are refused") {
  const auto x = randn<float>({3});
  CHECK_THROWS_WITH_AS((void)dropout(x, 1.5), "dropout: a probability of 1.5; expected 0 to 1", ArgumentError);
  CHECK_THROWS_AS((void)dropout(trace(x), -0.1), ArgumentError);
  CHECK_THROWS_AS((void)dropout(trace(x), std::nan("")), ArgumentError);
  CHECK_THROWS_AS((void)dropout2d(x.reshape({1, 3}), 2.0), ArgumentError);
  CHECK_THROWS_WITH_AS((void)dropout2d(trace(x), 0.5), "dropout2d: shape (3,); expected (batch, channels, ...)",
                       ShapeError);
  CHECK_THROWS_AS(Draw<Cpu>(-1), ArgumentError);
}
