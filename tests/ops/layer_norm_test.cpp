// Runs on: host, cuda (rows), reference; loops.
// layer_norm and rms_norm against PyTorch, float64 and finite differences, with their promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/autograd/parameter.hpp>
#include <locus/ops/layer_norm.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <string>

using namespace locus;
using locus_test::Reference;
using locus_test::reference;
using locus_test::sample;

namespace {

/// Rows of `cols` elements, normalized in float64 as the formulas say it.
Reference normalized(const Reference& x, std::int64_t cols, bool centers, double eps) {
  Reference y = x;
  const auto n = static_cast<std::size_t>(cols);
  for (std::size_t row = 0; row < x.values.size(); row += n) {
    double mean = 0, squares = 0;
    for (std::size_t c = row; centers && c < row + n; ++c) mean += x.values[c] / static_cast<double>(n);
    for (std::size_t c = row; c < row + n; ++c) squares += (x.values[c] - mean) * (x.values[c] - mean);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + eps);
    for (std::size_t c = row; c < row + n; ++c) y.values[c] = (x.values[c] - mean) * scale;
  }
  return y;
}
Reference affine(Reference y, const Reference& weight, const Reference& bias) {
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const std::size_t c = i % weight.values.size();
    y.values[i] = y.values[i] * weight.values[c] + (bias.values.empty() ? 0 : bias.values[c]);
  }
  return y;
}

/// Forward against the formulas, and the gradients against the same ones in double.
template <class T, class D>
void check_type(const Shape& shape, double forward, double backward) {
  CAPTURE(dtype_name<T>());
  CAPTURE(shape[-1]);
  const Shape last{shape[-1]};
  const auto x = variable(sample<T, D>(shape, 1)), w = variable(sample<T, D>(last, 2)),
             b = variable(sample<T, D>(last, 3));
  const auto g = sample<T, D>(shape, 4);
  const auto doubled = [](const auto& v) { return variable(v.value().template as<double>().eval()); };
  const auto x2 = doubled(x), w2 = doubled(w), b2 = doubled(b);
  const auto g2 = g.template as<double>().eval();
  const auto agrees = [&](const Reference& expected, const auto& y, const auto& y2) {
    CHECK_CLOSE(y, expected, forward);
    y.backward(g);
    y2.backward(g2);
    // A row of one element is its mean: the terms of its gradient cancel.
    const auto scale = shape[-1] == 1 ? std::optional(1.0) : std::nullopt;
    CHECK(locus_test::difference_of(reference(x.grad()), reference(x2.grad()), backward, scale) == "");
    CHECK_CLOSE(w.grad(), reference(w2.grad()), backward);
    x.zero_grad(), w.zero_grad(), x2.zero_grad(), w2.zero_grad();
  };
  agrees(affine(normalized(reference(x), last[0], true, 1e-5), reference(w), reference(b)), layer_norm(x, last, w, b),
         layer_norm(x2, last, w2, b2));
  CHECK_CLOSE(b.grad(), reference(b2.grad()), backward);
  agrees(affine(normalized(reference(x), last[0], false, 1e-5), reference(w), {}), rms_norm(x, last, w, 1e-5),
         rms_norm(x2, last, w2, 1e-5));
}

/// Launches of y = f() and of its backward pass.
struct Launches {
  LaunchCounts forward, backward;
};
template <class F, class T, class D>
Launches launches(const F& f, const Tensor<T, D>& g) {
  const LaunchLog forward;
  const auto y = f();
  const LaunchCounts counts = forward.counts();
  const LaunchLog backward;
  y.backward(g);
  return {counts, backward.counts()};
}

template <class E, class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing thrown";
}

}  // namespace

LOCUS_DEVICE_TEST("layer_norm and rms_norm and their gradients agree with PyTorch", D) {
  const auto of = [](const char* name) { return variable(golden::tensor<double, D>(name)); };
  {
    const auto x = of("norm_x"), w = of("norm_w"), b = of("norm_b");
    CHECK_GOLDEN("layer_norm", layer_norm(x, {5}, w, b), ({"x", "w", "b"}), x, w, b);
  }
  {
    const auto x = of("norm_x"), w = of("norm_w");
    CHECK_GOLDEN("rms_norm", rms_norm(x, {5}, w), ({"x", "w"}), x, w);
  }
  {
    const auto x = of("norm_x"), w = of("norm_w_45"), b = of("norm_b_45");
    CHECK_GOLDEN("layer_norm_45", layer_norm(x, {4, 5}, w, b, 1e-3), ({"x", "w", "b"}), x, w, b);
  }
  {
    const auto x = of("norm_x"), w = of("norm_w_45");
    CHECK_GOLDEN("rms_norm_45", rms_norm(x, {4, 5}, w), ({"x", "w"}), x, w);
  }
  const auto x = of("norm_x"), again = of("norm_x");
  CHECK_GOLDEN("layer_norm_plain", layer_norm(x, {5}, 0.5), ({"x"}), x);
  CHECK_GOLDEN("rms_norm_plain", rms_norm(again, {5}, 0.5), ({"x"}), again);
}

LOCUS_DEVICE_TEST("gradients of a second use are added", D) {
  const auto f = [](const auto& x, const auto& w, const auto& b) {
    return rms_norm(layer_norm(layer_norm(x, {4}, w, b), {4}, w, b), {4}, w) + layer_norm(x, {4}, b);
  };
  const auto found = gradcheck(f, sample<double, D>({3, 4}, 1), sample<double, D>({4}, 2), sample<double, D>({4}, 3));
  CHECK_MESSAGE(found, found.what());
}

LOCUS_DEVICE_TEST("every floating type, from rows of one element to wide ones", D) {
  for (const std::int64_t cols : {1, 7, 33, 300, 5000}) check_type<float, D>({3, cols}, 2e-6, 2e-5);
  check_type<double, D>({3, 300}, 1e-13, 1e-13);
  if constexpr (locus_test::all_dtypes<D>) {
    check_type<half, D>({3, 33}, 1e-3, 1e-2);
  }
  if constexpr (HostAccessible<D>) {
    check_type<bfloat16, D>({2, 5, 300}, 8e-3, 5e-2);
  }
}

LOCUS_DEVICE_TEST("a large offset common to a row costs no digits", D) {
  for (const double offset : {1e4, -1e6}) {
    CAPTURE(offset);
    const auto x = variable(sample<float, D>({3, 5000}, 1, offset - 1, offset + 1));
    const auto x2 = variable(x.value().template as<double>().eval());
    const auto y = layer_norm(x, {5000});
    CHECK_CLOSE(y, normalized(reference(x), 5000, true, 1e-5), 1e-5);
    const auto w = variable(sample<float, D>({5000}, 2));
    const auto w2 = variable(w.value().template as<double>().eval());
    const auto g = sample<float, D>({3, 5000}, 3);
    layer_norm(x, {5000}, w).backward(g);
    layer_norm(x2, {5000}, w2).backward(g.template as<double>());
    CHECK_CLOSE(x.grad(), reference(x2.grad()), 2e-5);
    CHECK_CLOSE(w.grad(), reference(w2.grad()), 2e-5);
  }
}

LOCUS_DEVICE_TEST("rows of equal elements become zeros, and their gradient is finite", D) {
  const auto x = variable(locus_test::tensor<float, D>({2, 3}, {7.1, 7.1, 7.1, 0, 0, 0}));
  const auto y = layer_norm(x, {3}, 1e-2);
  CHECK_CLOSE(y, {{2, 3}, {0, 0, 0, 0, 0, 0}}, 0);
  y.backward(locus_test::tensor<float, D>({2, 3}, {1, 2, 6, 1, 1, 1}));
  CHECK_CLOSE(x.grad(), {{2, 3}, {-20, -10, 30, 0, 0, 0}}, 1e-5);  // (g - mean(g)) / sqrt(eps)
  CHECK_CLOSE(rms_norm(locus_test::tensor<float, D>({2, 2}, {2, 2, 0, 0}), {2}), {{2, 2}, {1, 1, 0, 0}});
  CHECK_CLOSE(layer_norm(locus_test::tensor<float, D>({2, 1}, {5, -3}), {1}), {{2, 1}, {0, 0}}, 0);
}

LOCUS_DEVICE_TEST("views of any strides, and expanded gradients", D) {
  const auto x = sample<double, D>({6, 4, 2}, 1), w = sample<double, D>({8}, 2);
  const auto check = [](const auto& view, const Shape& shape, const auto& weight) {
    const auto dense = view.contiguous();
    CHECK_CLOSE(layer_norm(view, shape, weight), reference(layer_norm(dense, shape, weight.contiguous())));
    CHECK_CLOSE(rms_norm(view, shape, weight), reference(rms_norm(dense, shape, weight.contiguous())));
  };
  check(x.slice(0, 0, 6, 2).transpose(0, 1), {2}, w.slice(0, 0, 8, 4));
  check(x.transpose(), {4}, w.slice(0, 0, 8, 2));
  check(x.transpose(), {2, 4}, w.reshape({2, 4}));
  check(x.select(1, 0).transpose(), {6}, w.slice(0, 1, 7));
  check(x.slice(0, 0, 1).expand({3, 4, 2}), {2}, w.slice(0, 0, 2));
  const auto f = [&](const auto& v) {
    return layer_norm(transpose(v, 0, 1), {6, 2}) + rms_norm(slice(transpose(v, 0, 1), 1, 0, 6), {2});
  };
  const auto found = gradcheck(f, x);
  CHECK_MESSAGE(found, found.what());
  const auto a = variable(x), b = variable(x), v = variable(sample<double, D>({2}, 5)), u = variable(v.value());
  layer_norm(a, {2}, v).backward(ones<double>({1, 1, 2}, x.device()).expand({6, 4, 2}));
  layer_norm(b, {2}, u).backward(ones<double>({6, 4, 2}, x.device()));
  CHECK_CLOSE(a.grad(), reference(b.grad()));
  CHECK_CLOSE(v.grad(), reference(u.grad()));
}

LOCUS_DEVICE_TEST("no rows, and rows of nothing", D) {
  const auto x = variable(Tensor<float, D>({0, 4})), w = variable(sample<float, D>({4}, 1)), b = variable(w.value());
  const auto y = layer_norm(x, {4}, w, b);
  CHECK(y.shape() == Shape{0, 4});
  y.backward(Tensor<float, D>({0, 4}));
  CHECK(x.grad().shape() == Shape{0, 4});
  CHECK_CLOSE(w.grad(), {0, 0, 0, 0});
  CHECK_CLOSE(b.grad(), {0, 0, 0, 0});
  const auto none = variable(Tensor<float, D>({3, 0})), weight = variable(Tensor<float, D>({0}));
  const auto z = layer_norm(none, {0}, weight);
  CHECK(z.shape() == Shape{3, 0});
  z.backward(Tensor<float, D>({3, 0}));
  CHECK(none.grad().shape() == Shape{3, 0});
  CHECK(weight.grad().shape() == Shape{0});
}

LOCUS_DEVICE_TEST("one launch forward, and backward one for each gradient that is wanted, or one for all", D) {
  const auto x = variable(sample<float, D>({2, 3, 7}, 1)), w = variable(sample<float, D>({7}, 2)),
             b = variable(sample<float, D>({7}, 3));
  const auto g = sample<float, D>({2, 3, 7}, 4);
  const auto check = [&](const auto& f, std::int64_t rows, std::int64_t reductions) {
    const Launches found = launches(f, g);
    if (AlwaysSumsColumns<D> && reductions > 0) rows = 1, reductions = 0;
    CHECK(found.forward.rows == 1);
    CHECK(found.forward.total() == 1);
    CHECK(found.backward.rows == rows);
    CHECK(found.backward.reduce == reductions);
    CHECK(found.backward.total() == rows + reductions);
  };
  check([&] { return layer_norm(x, {7}, w, b); }, 1, 2);
  check([&] { return layer_norm(x, {7}, w, b); }, 1, 2);  // adds to the gradients that are there
  check([&] { return layer_norm(x, {7}, w); }, 1, 1);
  check([&] { return layer_norm(x, {7}); }, 1, 0);
  check([&] { return layer_norm(x, {7}, w.value(), b.value()); }, 1, 0);
  check([&] { return layer_norm(trace(x.value()), {7}, w, b); }, 0, 2);
  check([&] { return layer_norm(trace(x.value()), {7}, w.value(), b); }, 0, 1);
  check([&] { return rms_norm(x, {7}, w); }, 1, 1);
  check([&] { return rms_norm(trace(x.value()), {7}, w); }, 0, 1);
}

LOCUS_DEVICE_TEST("backward over many rows reads them once", D) {
  const auto x = variable(sample<float, D>({3000, 40}, 1)), w = variable(sample<float, D>({40}, 2)),
             b = variable(sample<float, D>({40}, 3));
  const auto g = sample<float, D>({3000, 40}, 4);
  const auto check = [&](const auto& f, std::int64_t rows, std::int64_t reductions) {
    const Launches found = launches(f, g);
    if (SumsColumns<D>) rows = 1, reductions = reductions > 0 && !AlwaysSumsColumns<D> ? 1 : 0;
    CHECK(found.backward.rows == rows);
    CHECK(found.backward.reduce == reductions);
  };
  check([&] { return layer_norm(x, {40}, w, b); }, 1, 2);
  check([&] { return layer_norm(x, {40}, w); }, 1, 1);
  check([&] { return rms_norm(x, {40}, w); }, 1, 1);
  check([&] { return layer_norm(trace(x.value()), {40}, w, b); }, 0, 2);
  check([&] { return layer_norm(x, {40}, w.value(), b); }, 1, 1);
  check([&] { return layer_norm(x, {40}, w.value(), b.value()); }, 1, 0);
}

LOCUS_DEVICE_TEST("gradients of weights over few and many rows agree with float64", D) {
  for (const Shape& shape : {Shape{1, 3}, {7, 10}, {8, 1}, {65, 33}, {300, 100}, {5000, 7}, {3, 20000}}) {
    const std::int64_t rows = shape[0], cols = shape[1];
    const auto x = variable(sample<float, D>({rows, cols}, 1, 9, 11)), w = variable(sample<float, D>({cols}, 2)),
               b = variable(sample<float, D>({cols}, 3));
    const auto exact = [](const auto& v) { return variable(v.value().template as<double>()); };
    const auto x2 = exact(x), w2 = exact(w), b2 = exact(b);
    const auto g = sample<float, D>({rows, cols}, 4);
    for (int pass = 0; pass < 2; ++pass) {  // the second adds to the first
      layer_norm(x, {cols}, w, b).backward(g);
      layer_norm(x2, {cols}, w2, b2).backward(g.template as<double>());
    }
    CHECK_CLOSE(x.grad(), reference(x2.grad()), 2e-5);
    CHECK_CLOSE(w.grad(), reference(w2.grad()), 2e-5);
    CHECK_CLOSE(b.grad(), reference(b2.grad()), 2e-5);
  }
}

LOCUS_DEVICE_TEST("a parameter is what it meets, an empty one is none", D) {
  const auto x = sample<float, D>({3, 4}, 1);
  const Parameter<float, D> w(sample<float, D>({4}, 2)), b(sample<float, D>({4}, 3)), none;
  static_assert(std::is_same_v<decltype(layer_norm(x, {4}, w, b)), Tensor<float, D>>);
  static_assert(std::is_same_v<decltype(rms_norm(trace(x), {4}, w)), Traced<float, D>>);
  CHECK_CLOSE(layer_norm(x, {4}, none, none), reference(layer_norm(x, {4})), 0);
  CHECK_CLOSE(layer_norm(x, {4}, w, none), reference(layer_norm(x, {4}, w)), 0);
  CHECK_CLOSE(rms_norm(x, {4}, none), reference(rms_norm(x, {4})), 0);
  CHECK_CLOSE(layer_norm(x, {4}, none, b), reference(layer_norm(x, {4}) + b.value()), 1e-6);
  layer_norm(trace(x), {4}, none, b).backward(Tensor<float, D>({3, 4}).fill_(2.f));
  CHECK_CLOSE(b.grad(), {6, 6, 6, 6});
  CHECK_FALSE(w.has_grad());
}

LOCUS_DEVICE_TEST("a traced weight records, beside parameters alone", D) {
  const Parameter x{sample<double, D>({4, 3}, 1)}, bias{sample<double, D>({3}, 2)};
  const auto u = variable(x.value()), w = variable(sample<double, D>({3}, 3)), b = variable(bias.value());
  const auto weight = variable(w.value());
  const auto g = sample<double, D>({4, 3}, 4);
  layer_norm(u, {3}, w, b).backward(g);
  const Traced y = layer_norm(x, {3}, weight, bias);
  CHECK_CLOSE(y, reference(layer_norm(u.value(), {3}, w.value(), b.value())), 1e-12);
  y.backward(g);
  CHECK_CLOSE(x.grad(), reference(u.grad()), 1e-12);
  CHECK_CLOSE(weight.grad(), reference(w.grad()), 1e-12);
  CHECK_CLOSE(bias.grad(), reference(b.grad()), 1e-12);
}

LOCUS_DEVICE_TEST("what backward needs may not change in between", D) {
  const auto x = variable(sample<float, D>({3, 4}, 1));
  const auto w = sample<float, D>({4}, 2), g = sample<float, D>({3, 4}, 3);
  const auto y = layer_norm(x, {4}, w);
  w.fill_(1.f);
  CHECK_THROWS_AS(y.backward(g), StaleError);
}

LOCUS_DEVICE_TEST("shapes that do not fit are named, and eps is not negative", D) {
  const Tensor<float, D> x({2, 5}), w({4}), five({5});
  const auto says = [](const std::string& message, std::initializer_list<const char*> words) {
    CAPTURE(message);
    for (const char* word : words) CHECK(message.find(word) != std::string::npos);
  };
  says(message_of<ShapeError>([&] { (void)layer_norm(x, {5}, w); }), {"layer_norm", "weight", "(4,)", "(5,)"});
  says(message_of<ShapeError>([&] { (void)layer_norm(x, {5}, five, w); }), {"layer_norm", "bias", "(4,)", "(5,)"});
  says(message_of<ShapeError>([&] { (void)rms_norm(x, {5}, w); }), {"rms_norm", "weight", "(4,)", "(5,)"});
  says(message_of<ShapeError>([&] { (void)layer_norm(x, {4}); }), {"layer_norm", "(2, 5)", "(4,)"});
  says(message_of<ShapeError>([&] { (void)rms_norm(x, {3, 2, 5}); }), {"rms_norm", "(2, 5)", "(3, 2, 5)"});
  says(message_of<ArgumentError>([&] { (void)rms_norm(x, {5}, -1.0); }), {"rms_norm", "eps", "-1"});
  CHECK_THROWS_AS((void)layer_norm(x, Shape{}), ShapeError);
  CHECK_THROWS_AS((void)layer_norm(x, {2}), ShapeError);
  CHECK_THROWS_AS((void)layer_norm(Tensor<float, D>(Shape{}), {1}), ShapeError);
  CHECK_THROWS_AS((void)layer_norm(x, {5}, five, five, std::nan("")), ArgumentError);
}

TEST_CASE("gradients agree with finite differences, of input, weight and bias together and apart") {
  const auto x = sample<double, Cpu>({2, 3, 4}, 1), w = sample<double, Cpu>({4}, 2), b = sample<double, Cpu>({4}, 3);
  const auto w34 = sample<double, Cpu>({3, 4}, 4), b34 = sample<double, Cpu>({3, 4}, 5);
  const GradcheckResult found[] = {
      gradcheck([](const auto& v, const auto& s, const auto& t) { return layer_norm(v, {4}, s, t); }, x, w, b),
      gradcheck(
          [](const auto& v, const auto& s, const auto& t) {
            return layer_norm(v, {3, 4}, s, t);
          },
          x, w34, b34),
      gradcheck([](const auto& v, const auto& s) { return layer_norm(v, {4}, s); }, x, w),
      gradcheck(
          [](const auto& v) {
            return layer_norm(v, {3, 4});
          },
          x),
      gradcheck([&](const auto& v) { return layer_norm(v, {4}, w, b); }, x),
      gradcheck([&](const auto& s) { return layer_norm(x, {4}, s, b); }, w),
      gradcheck([&](const auto& t) { return layer_norm(x, {4}, w, t); }, b),
      gradcheck([&](const auto& t) { return layer_norm(x, {4}, Tensor<double>(), t); }, b),
      gradcheck([](const auto& v, const auto& s) { return rms_norm(v, {4}, s); }, x, w),
      gradcheck(
          [](const auto& v) {
            return rms_norm(v, {3, 4});
          },
          x),
      gradcheck([&](const auto& s) { return rms_norm(x, {4}, s); }, w)};
  for (const auto& each : found) CHECK_MESSAGE(each, each.what());
}

TEST_CASE("weights and biases of another place or type are refused at compile time") {
  const auto layer = []<class X, class... A>(const X&, const A&...) {
    return requires(const X& x, const Shape& shape, const A&... a) { layer_norm(x, shape, a...); };
  };
  const auto rms = []<class X, class... A>(const X&, const A&...) {
    return requires(const X& x, const Shape& shape, const A&... a) { rms_norm(x, shape, a...); };
  };
  const Tensor<float> x;
  const Tensor<double> other;
  const Tensor<std::int64_t> integers;
  const Tensor<float, locus_test::Counting> elsewhere;
  const Parameter<float> w;
  CHECK((layer(x) && layer(x, 1e-5) && layer(x, w) && layer(x, w, 1) && layer(x, w, x) && layer(x, w, w, 1e-5)));
  CHECK((rms(x) && rms(x, 1e-5) && rms(x, w) && rms(x, w, 1e-5)));
  CHECK_FALSE((layer(x, elsewhere) || layer(x, elsewhere, x) || layer(x, x, elsewhere) || layer(elsewhere, w, w)));
  CHECK_FALSE((layer(x, other) || layer(x, other, x) || layer(x, x, other) || layer(x, x, x, x)));
  CHECK_FALSE((layer(integers) || layer(integers, integers) || layer(integers, 1e-5) || layer(w) || layer(w, w)));
  CHECK_FALSE((rms(x, elsewhere) || rms(x, other) || rms(x, w, w) || rms(integers) || rms(integers, integers)));
}

namespace {
/// Rows that differ by their size alone are normalized to the same, and gradients are divided by it.
template <class T, class D, class F>
void check_sizes(const F& f, const std::vector<double>& sizes, double eps, double allowed) {
  CAPTURE(dtype_name<T>());
  for (const std::int64_t cols : {2, 8, 600}) {
    CAPTURE(cols);
    const auto rows = static_cast<std::int64_t>(sizes.size());
    std::vector<double> numbers, expected, cotangents;
    for (const double size : sizes) {
      for (std::int64_t c = 0; c < cols; ++c) {
        const double sign = c % 2 == 0 ? 1 : -1;
        numbers.push_back(sign * size);
        expected.push_back(sign);
        cotangents.push_back(c == 0 ? 1 : 0);
      }
    }
    const auto x = variable(locus_test::tensor<T, D>({rows, cols}, numbers));
    const auto y = f(x, Shape{cols}, eps);
    CHECK_CLOSE(y, Reference(expected), allowed);
    y.backward(locus_test::tensor<T, D>({rows, cols}, cotangents));
    const auto g = reference(x.grad());
    const auto unit = variable(locus_test::tensor<double, Cpu>({1, cols}, {expected.begin(), expected.begin() + cols}));
    f(unit, Shape{cols}, 0)
        .backward(locus_test::tensor<double, Cpu>({1, cols}, {cotangents.begin(), cotangents.begin() + cols}));
    const auto of_unit = reference(unit.grad());
    for (std::size_t i = 0; i < g.values.size(); ++i) {
      const double slope = of_unit.values[i % static_cast<std::size_t>(cols)];
      CHECK(std::abs(g.values[i] * sizes[i / static_cast<std::size_t>(cols)] - slope) <= allowed);
    }
  }
}
}  // namespace

LOCUS_DEVICE_TEST("rows are normalized where their squares overflow, or vanish and eps is 0", D) {
  const auto rms = [](const auto& x, const Shape& shape, double eps) { return rms_norm(x, shape, eps); };
  const auto layer = [](const auto& x, const Shape& shape, double eps) { return layer_norm(x, shape, eps); };
  check_sizes<float, D>(rms, {1e19, 1e18, 3, 1e30, 1e37}, 1e-7, 2e-6);
  check_sizes<float, D>(layer, {1e19, 1e18, 30, 1e30, 1e35}, 1e-7, 2e-6);
  // 3e-14 and 3e-107: one square is too small for a plain sum, the sum of 8 or 600 is not.
  check_sizes<float, D>(rms, {1e19, 1e-25, 1e-18, 1e-15, 3e-14, 1}, 0, 2e-6);
  check_sizes<float, D>(layer, {1e19, 1e-25, 1e-18, 1e-15, 3e-14, 1}, 0, 2e-6);
  check_sizes<double, D>(rms, {1e200, 1e-200, 3e-107, 1}, 0, 1e-13);
  check_sizes<double, D>(layer, {1e200, 1e-200, 3e-107, 1}, 0, 1e-13);
  check_sizes<bfloat16, D>(rms, {1e19, 1}, 1e-7, 1e-2);
}

TEST_CASE("an eps that is infinite in the type of the elements is refused") {
  const auto x = Tensor<float>({2, 2}).fill_(1);
  CHECK_THROWS_WITH_AS((void)layer_norm(x, {2}, 1e39), doctest::Contains("eps is 1e+39"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)rms_norm(x, {2}, 1e39), doctest::Contains("eps is 1e+39"), ArgumentError);
}
