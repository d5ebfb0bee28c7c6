// Runs on: host, cuda (products), reference.
// linear_cross_entropy against PyTorch, finite differences, float64 and cross_entropy(linear(...)), in chunks of any
// size; its promised launches and memory.

#include <locus/autograd/checkpoint.hpp>
#include <locus/autograd/gradcheck.hpp>
#include <locus/autograd/parameter.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/linear_cross_entropy.hpp>
#include <locus/ops/reduce.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/launches.hpp>
#include <support/reference.hpp>

#include <cmath>

using namespace locus;
using locus_test::reference;
using locus_test::sample;

namespace {

template <class D>
Tensor<std::int64_t, D> targets(const std::vector<double>& values) {
  return locus_test::tensor<std::int64_t, D>({static_cast<std::int64_t>(values.size())}, values);
}

/// Calls in chunks of about `rows` rows of `classes` classes, rounded up to a multiple: few rows are a chunk only where
/// four times the bytes hold no more.
template <class T, class D>
operation::LinearCrossEntropyCall<T, D> in_chunks(std::int64_t rows, std::int64_t classes, std::int64_t multiple,
                                                  const LinearCrossEntropyOptions<T, D>& options = {}) {
  const std::int64_t columns = (classes + multiple - 1) / multiple * multiple;
  return {options, rows * columns * std::int64_t{sizeof(T)} / 4, multiple};
}

/// Elements of a gradient, which is then cleared.
template <class X>
locus_test::Reference taken(const X& x) {
  const auto found = reference(x.grad());
  x.zero_grad();
  return found;
}

}  // namespace

LOCUS_DEVICE_TEST("every reduction, weighting and smoothing agrees with PyTorch, in chunks of any size", D) {
  const std::pair<const char*, Reduction> reductions[] = {
      {"lce_mean", Reduction::mean}, {"lce_sum", Reduction::sum}, {"lce_none", Reduction::none}};
  const auto of = [](const char* name) { return variable(golden::tensor<double, D>(name)); };
  const auto x = of("lce_x"), w = of("lce_w"), b = of("lce_b");
  const auto y = golden::tensor<std::int64_t, D>("lce_targets");
  const auto check = [&](std::int64_t rows, std::int64_t multiple, LinearCrossEntropyOptions<double, D> options,
                         const std::string& name) {
    CAPTURE(name);
    CAPTURE(rows);
    for (const auto* const operand : {&x, &w, &b}) operand->zero_grad();
    if (name.find("weighted") == std::string::npos) {
      const auto call = in_chunks(rows, 5, multiple, options);
      CHECK_GOLDEN(name, detail::linear_cross_entropy(call, x, w, y), ({"x", "w"}), x, w);
      CHECK_CLOSE(detail::linear_cross_entropy(call, x.value(), w.value(), y), golden::reference(name), 1e-10);
    } else {
      options.class_weights = golden::tensor<double, D>("lce_weights");
      CHECK_GOLDEN(name, detail::linear_cross_entropy(in_chunks(rows, 5, multiple, options), x, w, y, b),
                   ({"x", "w", "b"}), x, w, b);
    }
  };
  for (const auto& [prefix, reduction] : reductions) {
    for (const double smoothing : {0.0, 0.2}) {
      const LinearCrossEntropyOptions<double, D> options{.reduction = reduction, .label_smoothing = smoothing};
      for (const char* const weighted : {"", "_weighted"}) {
        const std::string name = std::string(prefix) + weighted + (smoothing > 0 ? "_smooth" : "");
        check(6, 1, options, name);
        check(4, 4, options, name);  // chunks of 3 rows, and 3 classes behind the 5
        check(1, 8, options, name);
      }
    }
  }
}

LOCUS_DEVICE_TEST("gradients agree with finite differences, of views and of several uses", D) {
  const auto y = targets<D>({2, 0, 1, -100});
  const auto f = [&](const auto& x, const auto& w, const auto& b) {
    const auto rows = transpose(x);
    return linear_cross_entropy(rows, w, y, b, {.label_smoothing = 0.3}) +
           linear_cross_entropy(rows, transpose(reshape(w, {3, 5})), y, {.reduction = Reduction::sum}) +
           sum(linear_cross_entropy(rows, w, y, b, {.reduction = Reduction::none}) * 0.5);
  };
  const auto found =
      gradcheck(f, sample<double, D>({3, 4}, 3), sample<double, D>({5, 3}, 4), sample<double, D>(Shape{5}, 5));
  CHECK_MESSAGE(found, found.what());
}

LOCUS_DEVICE_TEST("two launches for each chunk, one for each gradient there and in backward, one for the losses", D) {
  const auto x = variable(sample<float, D>({6, 3}, 1)), w = variable(sample<float, D>({10, 3}, 2)),
             b = variable(sample<float, D>(Shape{10}, 3));
  const auto y = targets<D>({0, 9, 3, 3, 5, 1});
  const auto one = Tensor<float, D>(Shape{}).fill_(1.f);
  constexpr std::int64_t of_product = locus_test::most_of_product - 1;
  const auto count = [&](const char* what, std::int64_t expected, std::int64_t products, const auto& f) {
    LaunchLog log;
    f();
    locus_test::check_launches<D>(what, log.launches(), expected, expected + products * of_product);
  };
  const auto in_three = in_chunks<float, D>(2, 10, 1);
  count("inference", 3 * 2 + 1, 3, [&] { (void)detail::linear_cross_entropy(in_three, x.value(), w.value(), y); });
  count("no gradient", 3 * 2 + 1, 3,
        [&] { (void)detail::linear_cross_entropy(in_three, trace(x.value()), w.value(), y); });
  count("gradient of x", 3 * 3 + 1, 6, [&] { (void)detail::linear_cross_entropy(in_three, x, w.value(), y); });
  count("gradient of w", 3 * 3 + 1, 6, [&] { (void)detail::linear_cross_entropy(in_three, trace(x.value()), w, y); });
  count("all gradients", 3 * 5 + 1, 9, [&] { (void)detail::linear_cross_entropy(in_three, x, w, y, b); });
  const auto loss = detail::linear_cross_entropy(in_three, x, w, y, b);
  count("backward", 3, 0, [&] { loss.backward(one); });
  const auto none = in_chunks<float, D>(2, 10, 1, {.reduction = Reduction::none});
  const auto losses = detail::linear_cross_entropy(none, x, w, y);
  const auto g = sample<float, D>(Shape{6}, 4);
  count("losses", 3 * 2, 3, [&] { (void)detail::linear_cross_entropy(none, x, w, y); });
  count("backward of losses", 3 * 4 + 2, 9, [&] { losses.backward(g); });
  const auto rounded_up = in_chunks<float, D>(6, 10, 16);
  count("more classes", 2 + 2 + 1, 1, [&] { (void)detail::linear_cross_entropy(rounded_up, x.value(), w.value(), y); });
}

LOCUS_DEVICE_TEST("16-bit floats are summed in float over chunks, and have a loss of float", D) {
  const auto check = [&]<class T>(T, double allowed) {
    const auto x = sample<T, D>({24, 6}, 1), w = sample<T, D>({11, 6}, 2);
    const auto y = sample<std::int64_t, D>(Shape{24}, 3, 0, 10);
    const auto exact_x = variable(x.template as<double>()), exact_w = variable(w.template as<double>());
    const auto exact = cross_entropy(linear(exact_x, exact_w), y);
    exact.backward();
    const auto vx = variable(x), vw = variable(w);
    for (const std::int64_t rows : {2, 24}) {
      for (const std::int64_t multiple : {1, 8}) {
        CAPTURE(rows);
        const auto loss = detail::linear_cross_entropy(in_chunks<T, D>(rows, 11, multiple), vx, vw, y);
        static_assert(std::is_same_v<value_of<decltype(loss)>, float>);
        CHECK_CLOSE(loss, reference(exact), allowed);
        loss.backward();
        CHECK_CLOSE(vx.grad(), reference(exact_x.grad()), allowed);
        CHECK_CLOSE(vw.grad(), reference(exact_w.grad()), allowed);
        vx.zero_grad(), vw.zero_grad();
      }
    }
  };
  check(half{}, 4e-3);
  check(bfloat16{}, 3e-2);
}

LOCUS_DEVICE_TEST("a scaled loss scales gradients in float: those of half do not vanish for many rows", D) {
  const std::int64_t n = 4096;
  const auto x = variable(Tensor<half, D>({n, 1}).fill_(half(1.f))), w = variable(sample<half, D>({4, 1}, 1));
  const auto y = Tensor<std::int64_t, D>({n}).fill_(2);
  (linear_cross_entropy(x, w, y) * 65536.f).eval().backward();
  const auto exact = variable(w.value().template as<double>());
  cross_entropy(transpose(exact), y.slice(0, 0, 1)).backward();
  std::vector<double> expected = reference(exact.grad()).values;
  for (double& value : expected) value *= 65536;
  CHECK_CLOSE(w.grad().template as<float>(), (locus_test::Reference{{4, 1}, expected}), 2e-3);
}

LOCUS_DEVICE_TEST("gradients add to others, of tied weights and of a second pass over a kept graph", D) {
  const auto table = variable(sample<double, D>({7, 4}, 1));
  const auto tokens = locus_test::tensor<std::int64_t, D>({2, 3}, {0, 6, 2, 2, 5, 1});
  const auto next = locus_test::tensor<std::int64_t, D>({2, 3}, {6, 2, 2, 5, 1, 3});
  const auto x = tanh(index_select(table, 0, tokens.reshape({-1})).reshape({2, 3, 4}));
  const auto whole = cross_entropy(flatten(linear(x, table), 0, 1), next.reshape({-1}));
  whole.backward();
  const auto expected = taken(table);
  const auto again = tanh(index_select(table, 0, tokens.reshape({-1})).reshape({2, 3, 4}));
  const auto loss = linear_cross_entropy(again, table, next);
  CHECK_CLOSE(loss, reference(whole), 1e-12);
  loss.backward({.retain_graph = true});
  CHECK_CLOSE(table.grad(), expected, 1e-12);
  loss.backward();
  CHECK_CLOSE((table.grad() / 2.).eval(), expected, 1e-12);
}

LOCUS_DEVICE_TEST("within a checkpoint, gradients are those of the plain call", D) {
  const auto x = variable(sample<double, D>({4, 3}, 1)), w = variable(sample<double, D>({5, 3}, 2));
  const auto y = targets<D>({4, 0, -100, 2});
  linear_cross_entropy(tanh(x), w, y).backward();
  const auto dx = taken(x), dw = taken(w);
  checkpoint([&](const auto& given, const auto& weight) { return linear_cross_entropy(tanh(given), weight, y); }, x, w)
      .backward();
  CHECK_CLOSE(x.grad(), dx, 1e-12);
  CHECK_CLOSE(w.grad(), dw, 1e-12);
}

LOCUS_DEVICE_TEST("nothing to average is NaN with gradients of 0; no rows have gradients of 0", D) {
  const auto x = variable(sample<float, D>({2, 3}, 1)), w = variable(sample<float, D>({4, 3}, 2));
  const auto ignored = targets<D>({7, 7});
  const auto zeros_of = [](const Shape& shape) {
    return locus_test::Reference{shape, std::vector<double>(static_cast<std::size_t>(elements(shape)), 0.)};
  };
  const auto loss = linear_cross_entropy(x, w, ignored, {.ignore_index = 7});
  CHECK(std::isnan(loss.item()));
  loss.backward();
  CHECK_CLOSE(x.grad(), zeros_of({2, 3}));
  CHECK_CLOSE(w.grad(), zeros_of({4, 3}));
  CHECK(linear_cross_entropy(x, w, ignored, {.reduction = Reduction::sum, .ignore_index = 7}).item() == 0);
  const Tensor<float, D> no_rows({0, 3});
  const Tensor<std::int64_t, D> no_targets(Shape{0});
  for (const Reduction reduction : {Reduction::sum, Reduction::none}) {
    w.zero_grad();
    const auto of_nothing = linear_cross_entropy(trace(no_rows), w, no_targets, {.reduction = reduction});
    CHECK(of_nothing.shape() == (reduction == Reduction::none ? Shape{0} : Shape{}));
    sum(of_nothing).backward();
    CHECK_CLOSE(w.grad(), zeros_of({4, 3}));
  }
}

LOCUS_DEVICE_TEST("rows of many classes, whose logits are large, in place", D) {
  const std::int64_t classes = 9001;
  const auto x = variable(sample<float, D>({2, 3}, 1, 500, 1000)), w = variable(sample<float, D>({classes, 3}, 2));
  const auto y = targets<D>({9000, 17});
  const auto ex = variable(x.value().template as<double>()), ew = variable(w.value().template as<double>());
  const auto exact = cross_entropy(linear(ex, ew), y, {.label_smoothing = 0.1});
  exact.backward();
  const auto loss = linear_cross_entropy(x, w, y, {.label_smoothing = 0.1});
  CHECK_CLOSE(loss, reference(exact), 2e-6);
  loss.backward();
  CHECK_CLOSE(x.grad(), reference(ex.grad()), 2e-3);  // logits of 3,000 have errors of 2e-4
  CHECK_CLOSE(w.grad(), reference(ew.grad()), 2e-3);
}

LOCUS_DEVICE_TEST("a target out of range is an IndexError where the host reads it, NaN elsewhere", D) {
  const auto x = variable(sample<float, D>({3, 4}, 1)), w = variable(sample<float, D>({5, 4}, 2));
  for (const double bad : {5., -1., 1e15}) {
    const auto y = targets<D>({1, bad, 2});
    if constexpr (HostAccessible<D>) {
      CHECK_THROWS_AS((void)linear_cross_entropy(x, w, y), IndexError);
    } else {
      x.zero_grad();
      const auto loss = linear_cross_entropy(x, w, y);
      CHECK(std::isnan(loss.item()));
      loss.backward();
      CHECK(std::isnan(reference(x.grad()).values[4]));
    }
  }
}

LOCUS_DEVICE_TEST("shapes and options that do not fit are refused", D) {
  const Tensor<float, D> x({2, 3}), w({4, 3});
  const auto y = targets<D>({0, 1});
  CHECK_THROWS_WITH_AS(
      (void)linear_cross_entropy(x, w.transpose(), y),
      "linear_cross_entropy: input of shape (2, 3), weights of shape (3, 4) and targets of shape (2,); "
      "expected (..., d), (classes, d) and (...)",
      ShapeError);
  CHECK_THROWS_AS((void)linear_cross_entropy(x, w, Tensor<std::int64_t, D>({3})), ShapeError);
  CHECK_THROWS_AS((void)linear_cross_entropy(Tensor<float, D>(Shape{}), w, y), ShapeError);
  CHECK_THROWS_WITH_AS((void)linear_cross_entropy(x, w, y, Tensor<float, D>({3})),
                       "linear_cross_entropy: bias of shape (3,) for 4 classes; expected (4,)", ShapeError);
  CHECK_THROWS_WITH_AS((void)linear_cross_entropy(x, w, y, {.class_weights = Tensor<float, D>({3})}),
                       "linear_cross_entropy: class weights of shape (3,) for 4 classes; expected (4,)", ShapeError);
  CHECK_THROWS_WITH_AS((void)linear_cross_entropy(x, w, y, {.label_smoothing = 1.5}),
                       "linear_cross_entropy: label_smoothing 1.5; expected 0 to 1", ArgumentError);
}

TEST_CASE("chunks are nearly equal, of at least 128 rows unless these take four times the bytes") {
  const auto rows_of = [](std::int64_t rows, std::int64_t classes, std::int64_t most) {
    std::vector<std::int64_t> counts;
    detail::LogitChunks(rows, classes, 64, most).for_each([&](std::int64_t, std::int64_t n) { counts.push_back(n); });
    return counts;
  };
  CHECK(rows_of(4096, 50257, 64 << 20) == std::vector<std::int64_t>{1024, 1024, 1024, 1024});
  CHECK(rows_of(1000, 50257, 64 << 20) == std::vector<std::int64_t>{1000});
  CHECK(rows_of(300, 1 << 20, 64 << 20) == std::vector<std::int64_t>{100, 100, 100});
  CHECK(rows_of(3, std::int64_t{1} << 40, 1 << 20) == std::vector<std::int64_t>{1, 1, 1});
  CHECK(rows_of(0, 5, 1 << 20).empty());
  CHECK(rows_of(7, 0, 1 << 20) == std::vector<std::int64_t>{7});
}

#if !LOCUS_CUDA
TEST_CASE("logits are never stored whole, and operands are not kept") {
  using D = locus_test::Counting;
  const std::int64_t n = 1024, classes = 512, d = 8, logits = n * classes * 4;
  const auto x = variable(sample<float, D>({n, d}, 1)), w = variable(sample<float, D>({classes, d}, 2));
  const auto y = sample<std::int64_t, D>({n}, 3, 0, 511);
  const auto gradients = (n + classes) * d * 4;
  const std::int64_t before = locus_test::restart_peak();
  {
    const auto loss = detail::linear_cross_entropy(in_chunks<float, D>(64, classes, 1), x, w, y);
    CHECK(locus_test::counting_bytes - before <= gradients + 1024);  // all that is kept
    loss.backward();
  }
  CHECK(locus_test::counting_peak - before <= logits / 16 + 2 * gradients + n * 2 * 4 + 4096);
  const auto narrow_x = variable(x.value().as<bfloat16>()), narrow_w = variable(w.value().as<bfloat16>());
  const std::int64_t narrow = locus_test::restart_peak();
  detail::linear_cross_entropy(in_chunks<bfloat16, D>(64, classes, 1), narrow_x, narrow_w, y).backward();
  CHECK(locus_test::counting_peak - narrow <= logits / 32 + n * d * 2 + classes * d * (4 + 2) + n * 2 * 4 + 4096);
  const std::int64_t whole = locus_test::restart_peak();
  cross_entropy(linear(x, w), y).backward();
  CHECK(locus_test::counting_peak - whole >= 2 * logits);
}

TEST_CASE("operands of another place or type are refused at compile time") {
  const auto refused = []<class... X>(const X&...) { return !requires(const X&... x) { linear_cross_entropy(x...); }; };
  const Tensor<float> x, w, b;
  const Tensor<std::int64_t> y;
  const Tensor<float, locus_test::Counting> elsewhere;
  const Parameter<float> parameter(Tensor<float>({2, 2}));
  CHECK_FALSE(refused(x, w, y));
  CHECK_FALSE(refused(x, parameter, y));
  CHECK_FALSE(refused(x, w, y, b));
  CHECK_FALSE(refused(x, w, y, b, LinearCrossEntropyOptions<float, Cpu>{}));
  CHECK(refused(x, elsewhere, y));
  CHECK(refused(x, w, Tensor<std::int64_t, locus_test::Counting>()));
  CHECK(refused(x, w, y, elsewhere));
  CHECK(refused(x, w, Tensor<std::int32_t>()));
  CHECK(refused(x, Tensor<double>(), y));
  CHECK(refused(y, w, y));
  CHECK(refused(parameter, parameter, y));
}
#endif
