// Runs on: host, cuda (expressions); counting.
#include <locus/autograd/gradcheck.hpp>
#include <locus/autograd/parameter.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

// Counting computes as Cpu does, so all of these formulas are compiled for one host device only.
#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus_test::Counting
#endif
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace locus;
using namespace locus_test;

namespace {

template <class D>
Tensor<double, D> random(const Shape& shape, std::uint64_t seed, double low = -2, double high = 2) {
  return sample<double, D>(shape, seed, low, high);
}

void check_gradients(const GradcheckResult& result, const char* file, int line) {
  check_empty(result.what(), file, line);
}

/// The bell curve, as a user's scalar function.
struct Bell {
  template <class T> LOCUS_FN T operator()(T x) const { return std::exp(-x * x); }
  template <class T> LOCUS_FN T by_input(T x) const { return T(-2) * x * std::exp(-x * x); }
};

}  // namespace

#define CHECK_GRADIENTS(...) check_gradients(gradcheck(__VA_ARGS__), __FILE__, __LINE__)

LOCUS_DEVICE_TEST("gradients of a formula, whichever operand is broadcast", D) {
  const auto formula = [](auto a, auto b, auto c, auto d) { return relu(a * b + c) * 2 - d; };
  const Shape whole{3, 4}, row{4}, column{3, 1}, scalar{};
  CHECK_GRADIENTS(formula, random<D>(whole, 1), random<D>(whole, 2), random<D>(whole, 3), random<D>(whole, 4));
  CHECK_GRADIENTS(formula, random<D>(row, 1), random<D>(whole, 2), random<D>(whole, 3), random<D>(whole, 4));
  CHECK_GRADIENTS(formula, random<D>(whole, 1), random<D>(column, 2), random<D>(whole, 3), random<D>(whole, 4));
  CHECK_GRADIENTS(formula, random<D>(whole, 1), random<D>(whole, 2), random<D>(row, 3), random<D>(whole, 4));
  CHECK_GRADIENTS(formula, random<D>(whole, 1), random<D>(whole, 2), random<D>(whole, 3), random<D>(scalar, 4));
  CHECK_GRADIENTS(formula, random<D>(scalar, 1), random<D>(column, 2), random<D>(row, 3), random<D>({1, 4}, 4));
}

LOCUS_DEVICE_TEST("gradients of an operand that occurs more than once are added", D) {
  const auto x = random<D>({3, 4}, 1), y = random<D>({3, 4}, 2), b = random<D>({4}, 3);
  CHECK_GRADIENTS([](auto a) { return a * a + a; }, x);
  CHECK_GRADIENTS([](auto a) { return a + a; }, x);
  CHECK_GRADIENTS([](auto a, auto c) { return a * c + sin(a) - c / (square(a) + 1); }, x, y);
  CHECK_GRADIENTS([](auto a, auto c) { return a * c * c; }, x, b);
  CHECK_GRADIENTS([](auto a, auto c) { return c + a * c; }, x, b);
  CHECK_GRADIENTS([](auto a, auto c) { return a + c + c; }, x, b);
  CHECK_GRADIENTS([](auto a, auto c) { return a + c + a * c; }, x, b);
  CHECK_GRADIENTS([](auto a, auto c, auto d) { return a + c + c * d; }, x, b, y);
  CHECK_GRADIENTS([](auto a, auto c, auto d) { return c * d + c + a; }, x, b, y);
}

LOCUS_DEVICE_TEST("gradients of sums are passed on, and reduced where an operand was broadcast", D) {
  const auto x = random<D>({3, 4}, 1), b = random<D>({4}, 2), c = random<D>({3, 1}, 3);
  CHECK_GRADIENTS([](auto u, auto v) { return u + v; }, x, b);
  CHECK_GRADIENTS([](auto u, auto v) { return u + v; }, b, c);
  CHECK_GRADIENTS([](auto u, auto v, auto w) { return u + (v + w); }, x, b, c);
  CHECK_GRADIENTS([](auto u, auto v, auto w) { return tanh(u + v) + w; }, x, b, c);
}

LOCUS_DEVICE_TEST("gradients of selections", D) {
  const auto x = random<D>({3, 4}, 1), y = random<D>({3, 4}, 2), b = random<D>({4}, 3);
  CHECK_GRADIENTS([](auto u, auto v) { return where(u < v, u * v, u - v); }, x, y);
  CHECK_GRADIENTS([](auto u) { return where(u > 0, u * 3, 0); }, x);
  CHECK_GRADIENTS([](auto u, auto v) { return minimum(u, v) + maximum(u, v) * 2; }, x, b);
  CHECK_GRADIENTS([](auto u) { return clamp(u, -1, 1); }, x);
  CHECK_GRADIENTS([](auto u, auto v) { return clamp(u, v, v + 1.5); }, x, b);
  CHECK_GRADIENTS([](auto u, auto v) { return pow(u, v); }, random<D>({3, 4}, 4, 0.2, 2), y);
  CHECK_GRADIENTS([](auto u) { return pow(u, 3) + pow(2, u); }, x);
}

LOCUS_DEVICE_TEST("ties share the gradient, clamps pass it on at their bounds", D) {
  const auto x = variable(tensor<double, D>({3}, {1, 2, 3})), y = variable(tensor<double, D>({3}, {2, 2, 2}));
  sum(minimum(x, y) * 4).backward();
  CHECK_CLOSE(x.grad(), {4, 2, 0});
  CHECK_CLOSE(y.grad(), {0, 2, 4});
  x.zero_grad();
  sum(clamp(x, 1, 2)).backward();
  CHECK_CLOSE(x.grad(), {1, 1, 0});
}

LOCUS_DEVICE_TEST("conversions convert the gradient back, and integers give none", D) {
  const auto x = variable(tensor<float, D>({3}, {1.5, -2.5, 3.5}));
  sum(x.template as<double>() * 0.1).backward();
  CHECK(std::is_same_v<std::remove_cvref_t<decltype(x.grad())>, Tensor<float, D>>);
  CHECK_CLOSE(x.grad(), {0.1, 0.1, 0.1});
  x.zero_grad();
  sum(x + (x * 2).template as<std::int32_t>().template as<float>()).backward();
  CHECK_CLOSE(x.grad(), {1, 1, 1});
}

LOCUS_DEVICE_TEST("one launch forward and one backward, whatever the formula", D) {
  const auto a = variable(random<D>({3, 4}, 1)), b = variable(random<D>({3, 4}, 2)), c = variable(random<D>({3, 4}, 3)),
             d = variable(random<D>({3, 4}, 4));
  const auto cotangent = random<D>({3, 4}, 5);
  LaunchLog forward;
  const RequestLog asked;
  const Traced y = relu(a * b + c) * 2 - d;
  CHECK(forward.launches() == 1);
  LaunchLog backward;
  y.backward(cotangent);
  CHECK(backward.launches() == 1);
  CHECK(backward.counts().map == 1);
  if constexpr (std::is_same_v<D, Counting>) CHECK(asked.launches() == 2);
  CHECK_CLOSE(d.grad(), reference_map([](double g) { return -g; }, reference(cotangent)));
}

LOCUS_DEVICE_TEST("one reduction more for every operand that was broadcast", D) {
  const auto a = variable(random<D>({3, 4}, 1)), b = variable(random<D>({4}, 2)), c = variable(random<D>({3, 1}, 3)),
             d = variable(random<D>({}, 4));
  const auto cotangent = random<D>({3, 4}, 5);
  const Traced y = relu(a * b + c) * 2 - d;
  LaunchLog backward;
  const RequestLog asked;
  y.backward(cotangent);
  CHECK(backward.counts().map == 1);
  CHECK(backward.counts().reduce == 3);
  if constexpr (std::is_same_v<D, Counting>) CHECK(asked.launches() == 4);
}

LOCUS_DEVICE_TEST("a plain bias costs its reduction alone", D) {
  const auto x = trace(random<D>({3, 4}, 1));
  const Parameter w(random<D>({4}, 2));
  const Traced y = x + w;
  LaunchLog backward;
  y.backward(random<D>({3, 4}, 3));
  CHECK(backward.counts().map == 0);
  CHECK(backward.counts().reduce == 1);
}

LOCUS_DEVICE_TEST("what is named is computed once, and differentiated once", D) {
  const auto a = variable(random<D>({3, 4}, 1)), b = variable(random<D>({3, 4}, 2));
  const auto cotangent = random<D>({3, 4}, 3);
  LaunchLog log;
  auto h = a + b;
  auto y = h * h + h;
  const auto result = y.eval();
  CHECK(log.launches() == 2);
  const LaunchLog backward;
  result.backward(cotangent);
  CHECK(backward.counts().reduce == 0);
  CHECK(backward.launches() <= 3);  // one through y; a and b may each copy the gradient of h, which passes unchanged
  CHECK_CLOSE(a.grad(), reference_map([](double u, double v, double g) { return g * (2 * (u + v) + 1); }, reference(a),
                                      reference(b), reference(cotangent)));
  CHECK_GRADIENTS(
      [](auto u, auto v) {
        auto s = u + v;
        auto t = s * s + s;
        return t;
      },
      random<D>({3, 4}, 1), random<D>({3, 4}, 2));
}

LOCUS_DEVICE_TEST("a gradient that skips a branch is added to where it lies, unless others hold it", D) {
  const auto x = variable(random<D>({3, 4}, 1));
  const auto cotangent = random<D>({3, 4}, 2);
  const auto launches = [&](bool is_held) {
    const Traced h = x * 2.0, t = tanh(h), u = t * 5.0, y = h + u, z = y * 3.0;
    Tensor<double, D> held;
    const auto hook = y.on_gradient([&](const auto& g) {
      if (is_held) held = g;
    });
    x.zero_grad();
    const LaunchLog log;
    z.backward(cotangent);
    const auto found = log.launches();
    CHECK_CLOSE(x.grad(), reference_map(
                              [](double v, double g) {
                                const double of_tanh = std::tanh(2 * v);
                                return 6 * g * (1 + 5 * (1 - of_tanh * of_tanh));
                              },
                              reference(x), reference(cotangent)));
    if (is_held) CHECK_CLOSE(held, reference_map([](double g) { return 3 * g; }, reference(cotangent)));
    return found;
  };
  CHECK(launches(false) == 4);
  CHECK(launches(true) == 5);
}

LOCUS_DEVICE_TEST("fuse loads each operand once and differentiates as the operators do", D) {
  const auto x = random<D>({3, 4}, 1), b = random<D>({4}, 2);
  CHECK_GRADIENTS([](auto u, auto v) { return fuse([](auto s, auto t) { return relu(s * 2.0 + t) * t + s; }, u, v); },
                  x, b);
  const auto u = variable(x), v = variable(b);
  LaunchLog log;
  const Traced y = fuse([](auto s, auto t) { return s * t + t; }, u, v);
  CHECK(log.launches() == 1);
  y.backward(random<D>({3, 4}, 3));
  CHECK(log.launches() == 3);
}

namespace {
template <class U, class D>
void check_converted_symbol() {
  CAPTURE(dtype_name<U>());
  const auto x = tensor<float, D>({3}, {0.5, -2, 4}), weights = tensor<float, D>({3}, {1, 2, -3});
  const auto u = variable(x);
  const auto v = variable(weights.template as<U>());
  LaunchLog log;
  const Traced y = fuse([](auto s, auto t) { return s.template as<U>() * t + s.template as<U>(); }, u, v);
  static_assert(std::is_same_v<decltype(y), const Traced<U, D>>);
  CHECK(log.launches() == 1);
  CHECK_CLOSE(y, {1, -6, -8});
  y.backward(ones<U, D>({3}));
  CHECK(log.launches() == 3);
  CHECK_CLOSE(u.grad(), {2, 3, -2});
  CHECK_CLOSE(v.grad(), {0.5, -2, 4});
}
template <class U, class D>
void check_ending_symbol() {
  CAPTURE(dtype_name<U>());
  const auto u = variable(tensor<float, D>({3}, {0, 1, 2}));
  sum(fuse([](auto s) { return s.template as<U>().template as<float>() * s + s; }, u)).backward();
  CHECK_CLOSE(u.grad(), reference(u.value().template as<U>().template as<float>() + 1));
}
}  // namespace

LOCUS_DEVICE_TEST("gradients of converted symbols are converted back, and integers give none", D) {
  check_converted_symbol<float, D>();
  check_converted_symbol<double, D>();
  check_converted_symbol<half, D>();
  check_converted_symbol<bfloat16, D>();
  check_ending_symbol<std::int32_t, D>();
  check_ending_symbol<std::int64_t, D>();
  check_ending_symbol<std::uint8_t, D>();
  check_ending_symbol<bool, D>();
}

LOCUS_DEVICE_TEST("choices and limits record where one of their operands is traced, beside parameters alone", D) {
  const auto two = tensor<float, D>({2, 2}, {-1, 2, -3, 4});
  const Parameter low{zeros<float, D>({2, 2})}, other{ones<float, D>({2})};
  const auto x = variable(two);
  const Traced chosen = where(x > 0, low, other);
  CHECK_CLOSE(chosen, Reference({2, 2}, {1, 0, 1, 0}));
  sum(chosen).backward();
  CHECK_CLOSE(low.grad(), Reference({2, 2}, {0, 1, 0, 1}));
  CHECK_CLOSE(other.grad(), {2, 0});
  low.zero_grad(), other.zero_grad();
  sum(clamp(low, other, x)).backward();  // min(other, x), as low is below other
  CHECK_CLOSE(other.grad(), {0, 2});
  CHECK_CLOSE(x.grad(), Reference({2, 2}, {1, 0, 1, 0}));
  CHECK_CLOSE(low.grad(), Reference({2, 2}, {0, 0, 0, 0}));
}

LOCUS_DEVICE_TEST("a scalar function of the user's own, with its derivative", D) {
  CHECK_GRADIENTS([](auto x) { return elementwise(Bell{}, x * 2) + x; }, random<D>({3, 4}, 1));
}

LOCUS_DEVICE_TEST("gradients flow into views that are not dense", D) {
  CHECK_GRADIENTS([](auto x, auto y) { return transpose(x) * y; }, random<D>({4, 3}, 1), random<D>({3, 4}, 2));
  const auto x = variable(random<D>({4, 3}, 1).transpose()), y = variable(random<D>({3, 4}, 2));
  sum(x * y).backward();
  CHECK_CLOSE(x.grad(), reference(y));
  CHECK_CLOSE(y.grad(), reference(x));
}

TEST_CASE("operands that want no gradient cost none") {
  const auto x = trace(random<Counting>({3, 4}, 1));
  const Parameter w(random<Counting>({3, 4}, 2));
  const Traced y = x * w;
  const RequestLog asked;
  y.backward(random<Counting>({3, 4}, 3));
  CHECK(asked.allocations() == 2);  // the cotangent and the gradient of w
  CHECK_FALSE(x.requires_gradient());
}

TEST_CASE("an operand whose value the backward pass does not read is not kept") {
  const auto bytes = [] { return counting_bytes.load(); };
  const auto a = variable(random<Counting>({1024}, 1));
  const auto before = bytes();
  {
    const Traced y = a + Traced(a * 1);  // a sum keeps neither operand
    CHECK(bytes() == before + 1024 * 8);
  }
  {
    const Traced y = a * Traced(a * 1);  // a product keeps both
    CHECK(bytes() == before + 2 * 1024 * 8);
  }
}

TEST_CASE("empty tensors have empty gradients") {
  const auto x = variable(random<Cpu>({0, 4}, 1)), b = variable(random<Cpu>({4}, 2));
  sum(x * b).backward();
  CHECK(x.grad().shape() == Shape{0, 4});
  CHECK_CLOSE(b.grad(), {0, 0, 0, 0});
}

LOCUS_DEVICE_TEST("a formula of any length compiles: what one launch cannot take is computed in parts", D) {
  const auto series = [](const auto& x) {
    return 1 + x + x * x / 2 + x * x * x / 6 + x * x * x * x / 24 + x * x * x * x * x / 120;
  };
  const auto x = sample<double, D>({5});
  LaunchLog log;
  const Tensor y = series(x);
  CHECK(log.launches() == 1);  // 15 tensors
  const auto v = variable(x);
  Traced z = series(v);
  CHECK(log.launches() <= 4);
  CHECK(sum(abs(z.value() - y)).item() < 1e-12);
  CHECK(gradcheck([&](auto t) { return series(t); }, x));
}

LOCUS_DEVICE_TEST("what a selection leaves out has no gradient, in whole vectors and in the rest", D) {
  const auto check = [](const auto& f, double low, double (*value)(double), double (*slope)(double)) {
    std::vector<double> points, values, slopes;
    for (int i = 0; i < 70; ++i) {
      points.push_back(i % 3 == 0 ? 0 : (i % 3 == 1 ? low : 1) * (i + 0.5));
      values.push_back(value(points.back()));
      slopes.push_back(slope(points.back()));
    }
    const auto x = variable(locus_test::tensor<float, D>({70}, points));
    const auto y = Traced(f(x));
    CHECK_CLOSE(y, Reference(values));
    y.backward(ones<float, D>({70}));
    CHECK_CLOSE(x.grad(), Reference(slopes));
  };
  const auto value = [](double x) { return x > 0 ? std::sqrt(x) : x; };
  const auto slope = [](double x) { return x > 0 ? 0.5 / std::sqrt(x) : 1; };
  check([](auto& x) { return where(x > 0, sqrt(x), x); }, -1, value, slope);
  check(
      [](auto& x) {
        auto s = sqrt(x);
        return where(x > 0, s, x);
      },
      -1, value, slope);
  check([](auto& x) { return sqrt(relu(x)); }, -1, [](double x) { return std::sqrt(std::max(x, 0.0)); },
        [](double x) { return x > 0 ? 0.5 / std::sqrt(x) : 0; });
  check([](auto& x) { return clamp(sqrt(x), 1, 3); }, 1, [](double x) { return std::clamp(std::sqrt(x), 1.0, 3.0); },
        [](double x) { return x > 1 && x < 9 ? 0.5 / std::sqrt(x) : 0; });
}
