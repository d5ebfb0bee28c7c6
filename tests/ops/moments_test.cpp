// Runs on: host, cuda (operations), reference.
// Variances and norms against PyTorch and finite differences, with their promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/ops/close.hpp>
#include <locus/ops/moments.hpp>
#include <locus/ops/norm.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <limits>

using namespace locus;
using locus_test::reference, locus_test::sample, locus_test::Reference;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

LOCUS_DEVICE_TEST("variances, norms and their gradients agree with PyTorch", D) {
  const auto check = [](const char* name, const auto& f) {
    const auto x = variable(golden::tensor<double, D>("reduce_x"));
    CHECK_GOLDEN(name, f(x), ({"x"}), x);
  };
  check("var_12", [](const auto& x) { return var(x, {1, 2}); });
  check("var_0_population", [](const auto& x) { return var(x, 0, {.correction = 0}); });
  check("norm1_1", [](const auto& x) { return norm(x, 1, 1); });
  check("norm2_0", [](const auto& x) { return norm(x, 2, 0); });
  check("norm_inf_2", [](const auto& x) { return norm(x, infinity, 2); });
}

LOCUS_DEVICE_TEST("a variance far from zero keeps its digits", D) {
  const auto x = sample<float, D>({100000}, 1, 9999, 10001);
  const double exact = static_cast<double>(var(x.template as<double>()).item());
  CHECK(static_cast<double>(var(x).item()) == doctest::Approx(exact).epsilon(1e-4));
  CHECK(exact == doctest::Approx(1. / 3).epsilon(2e-2));
}

LOCUS_DEVICE_TEST("variances of rows and columns of any length agree with float64", D) {
  for (const std::int64_t n : {2, 31, 32, 33, 64, 65, 1000, 8193, 20000}) {
    const auto x = sample<float, D>({3, n}, static_cast<std::uint64_t>(n), 99, 101);
    const auto exact = reference(var(x.template as<double>(), 1));
    double mean = 0, squares = 0;
    const auto numbers = reference(x).values;
    for (std::int64_t k = 0; k < n; ++k) mean += numbers[static_cast<std::size_t>(k)] / static_cast<double>(n);
    for (std::int64_t k = 0; k < n; ++k) squares += std::pow(numbers[static_cast<std::size_t>(k)] - mean, 2);
    CHECK(exact.values[0] == doctest::Approx(squares / static_cast<double>(n - 1)).epsilon(1e-12));
    CHECK_CLOSE(var(x, 1), exact, 1e-5);
    CHECK_CLOSE(var(x.transpose().contiguous(), 0), exact, 1e-5);
  }
}

LOCUS_DEVICE_TEST("one launch each, into which temporaries are fused", D) {
  const auto x = sample<float, D>({4, 5}, 1);
  LaunchLog log;
  (void)var(x * 2.f, 1);
  (void)norm(x - 1.f);
  CHECK(log.launches() == 2);
  const auto v = variable(x);
  const auto y = var(v, 1);
  const auto n = norm(v, 2, 1);
  const auto g = sample<float, D>({4}, 2);
  LaunchLog backward;
  y.backward(g);
  CHECK(backward.launches() == 2);
  LaunchLog norm_backward;
  n.backward(g);
  CHECK(norm_backward.launches() == 1);
}

LOCUS_DEVICE_TEST("gradients agree with finite differences", D) {
  const auto f = [](const auto& x) {
    return var(x, 1, {.keepdim = true}) * norm(x, 2, 0, true) + norm(x, 1) + norm(x, infinity, 1, true) + var(x);
  };
  const auto found = gradcheck(f, sample<double, D>({3, 4}, 4));
  CHECK_MESSAGE(found, found.what());
}

LOCUS_DEVICE_TEST("corner cases", D) {
  CHECK(std::isnan(var(Tensor<float, D>({1}).fill_(3.f)).item()));
  CHECK(var(Tensor<float, D>({1}).fill_(3.f), {}, {.correction = 0}).item() == 0);
  CHECK(std::isnan(var(Tensor<float, D>({0})).item()));
  CHECK_FALSE(std::isfinite(var(locus_test::tensor<float, D>({3}, {1, infinity, 2})).item()));
  CHECK(var(Tensor<float, D>({100}).fill_(1e30f)).item() == 0);
  CHECK(norm(Tensor<float, D>({0})).item() == 0);
  CHECK(norm(Tensor<float, D>({0}), infinity).item() == 0);
  const auto zero = variable(Tensor<float, D>({2}).fill_(0.f));
  norm(zero).backward();
  CHECK_CLOSE(zero.grad(), {0, 0});
}

LOCUS_DEVICE_TEST("the gradient of the largest magnitude goes to a NaN that is it", D) {
  const auto x = variable(locus_test::tensor<float, D>({3}, {1, NAN, -2}));
  norm(x, std::numeric_limits<double>::infinity()).backward();
  CHECK(std::isnan(locus_test::reference(x.grad()).values[1]));
  CHECK(locus_test::reference(x.grad()).values[0] == 0);
}

LOCUS_DEVICE_TEST("norms of any order and their gradients agree with PyTorch", D) {
  const auto check = [](const char* name, double p, const ReduceAxes& axes, bool keepdim) {
    const auto x = variable(golden::tensor<double, D>("norm_of_x"));
    CHECK_GOLDEN(name, norm(x, p, axes, keepdim), ({"x"}), x);
    CHECK_CLOSE(norm(x.value(), p, axes, keepdim), golden::reference(name), 1e-10);
  };
  check("norm_of_3", 3, {0, 2}, true);
  check("norm_of_half", 0.5, 1, false);
  check("norm_of_1_5", 1.5, {1, 2}, false);
  check("norm_of_minus_2", -2, 0, false);
  check("norm_of_least", -infinity, 0, true);
  check("norm_of_largest", infinity, {2, 0}, false);
  check("norm_of_2_5_all", 2.5, {}, false);
  const auto x = variable(golden::tensor<double, D>("norm_of_x"));
  const auto count = norm(x, 0, {0, 2});
  CHECK_CLOSE(count, golden::reference("norm_of_0"));
  count.backward(sample<double, D>({4}, 1));
  CHECK_CLOSE(sum(abs(x.grad())), 0);
}

LOCUS_DEVICE_TEST("gradients of orders below 1 are numbers where the quotient of an element and the norm vanishes", D) {
  const auto x = variable(locus_test::tensor<float, D>({3}, {1e-38, -1e10, 0}));
  norm(x, 0.5).backward();
  CHECK_CLOSE(x.grad(), {1e24, -1, 0}, 1e-4);  // as PyTorch's
}

LOCUS_DEVICE_TEST("the gradient of the least magnitude is shared by those that are it", D) {
  const auto x = variable(locus_test::tensor<float, D>({2, 3}, {1, -1, 2, 0, 3, 0}));
  const auto y = norm(x, -infinity, 1);
  CHECK_CLOSE(y, {1, 0});
  y.backward(locus_test::tensor<float, D>({2}, {1, 1}));
  CHECK_CLOSE(x.grad(), Reference({2, 3}, {0.5, -0.5, 0, 0, 0, 0}));
}

LOCUS_DEVICE_TEST("norms of any order where powers overflow or vanish, of infinity, NaN, zeros and nothing", D) {
  const auto x = locus_test::tensor<float, D>({2, 4}, {1e30, -1e30, 1e30, 1e30, 1e-30, 1e-30, -1e-30, 1e-30});
  for (const double p : {3.0, 0.5, 10.0, -3.0}) {
    CAPTURE(p);
    const double root = std::pow(4., 1 / p);
    const auto v = variable(x);
    const auto y = norm(v, p, 1);
    locus_test::check_empty(locus_test::relative_difference(y, {1e30 * root, 1e-30 * root}, 1e-6), __FILE__, __LINE__);
    y.backward(locus_test::tensor<float, D>({2}, {1, 1}));
    const double slope = std::pow(root, 1 - p);
    CHECK_CLOSE(v.grad(), Reference({2, 4}, {slope, -slope, slope, slope, slope, slope, -slope, slope}), 1e-5);
  }
  const auto corners = locus_test::tensor<float, D>({4, 2}, {infinity, 1, NAN, 1, 0, infinity, 0, 0});
  CHECK_CLOSE(norm(corners, 3, 1), {infinity, NAN, infinity, 0});
  CHECK_CLOSE(norm(corners, 0.5, 1), {infinity, NAN, infinity, 0});
  CHECK_CLOSE(norm(corners, -1, 1), {1, NAN, 0, 0});
  CHECK_CLOSE(norm(corners, -infinity, 1), {1, NAN, 0, 0});
  CHECK_CLOSE(norm(corners, 0, 1), {2, 2, 1, 0});
  const Tensor<float, D> none({0, 2});
  CHECK_CLOSE(norm(none, 3, 0), {0, 0});
  CHECK_CLOSE(norm(none, 0, 0), {0, 0});
  CHECK_CLOSE(norm(none, -3, 0), {infinity, infinity});
  CHECK_CLOSE(norm(none, -infinity, 0), {infinity, infinity});
  CHECK(norm(none, 3, 1).shape() == Shape{0});
  CHECK_CLOSE(norm(Tensor<half, D>({10, 1000}).fill_(half(2.f)), -2, 0), std::vector<double>(1000, 2 / std::sqrt(10.)),
              1e-3);
  CHECK_CLOSE(norm(Tensor<half, D>({30000}).fill_(half(0.5f)), 1.5), 482.745, 0.3);
  const auto zero = variable(Tensor<float, D>({2}).fill_(0.f));
  (norm(zero, 3) + norm(zero, 0.5) + norm(zero, -1)).backward();
  CHECK_CLOSE(zero.grad(), {0, 0});
  CHECK_THROWS_WITH_AS((void)norm(x, 1e39), doctest::Contains("p is 1e+39"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)norm(x, NAN), doctest::Contains("p = nan"), ArgumentError);
}

LOCUS_DEVICE_TEST("norms of any order make the launches that their cost names", D) {
  const auto v = variable(sample<float, D>({4, 5}, 1));
  const LaunchLog log;
  (void)norm(v.value() - 1.f, 0);
  (void)norm(v.value() - 1.f, -infinity);
  CHECK(log.launches() == 2);
  const auto y = norm(v, 3, 1);
  CHECK(log.launches() == 5);
  const auto g = sample<float, D>({4}, 2);
  const auto before = log.launches();
  y.backward(g);
  CHECK(log.launches() == before + 1);
}

LOCUS_DEVICE_TEST("norms are right where squares overflow or vanish", D) {
  const auto check = [](const auto& x, std::int64_t rows, double expected, double allowed) {
    using T = value_of<std::remove_cvref_t<decltype(x)>>;
    locus_test::check_empty(locus_test::relative_difference(norm(x), expected * std::sqrt(rows), allowed), __FILE__,
                            __LINE__);
    const std::vector<double> each(static_cast<std::size_t>(rows), expected);
    const Tensor<T, D> columns = x.transpose().contiguous();
    locus_test::check_empty(locus_test::relative_difference(norm(x, 2, 1), each, allowed), __FILE__, __LINE__);
    locus_test::check_empty(locus_test::relative_difference(norm(columns, 2, 0), each, allowed), __FILE__, __LINE__);
  };
  const auto filled = [](auto number, const Shape& shape) { return Tensor<decltype(number), D>(shape).fill_(number); };
  const double root = std::sqrt(512.);
  for (const std::int64_t rows : {1, 3, 40}) {
    CAPTURE(rows);
    check(filled(1e19f, {rows, 512}), rows, root * static_cast<double>(1e19f), 1e-6);
    check(filled(-1e-25f, {rows, 512}), rows, root * static_cast<double>(1e-25f), 1e-6);
    check(filled(1e-42f, {rows, 512}), rows, root * static_cast<double>(1e-42f), 1e-3);
    check(filled(1e200, {rows, 512}), rows, root * 1e200, 1e-14);
    check(filled(1e-300, {rows, 512}), rows, root * 1e-300, 1e-13);
    check(filled(convert<bfloat16>(1e19), {rows, 512}), rows, root * convert<double>(convert<bfloat16>(1e19)), 4e-3);
    check(filled(convert<half>(2e-7), {rows, 512}), rows, root * convert<double>(convert<half>(2e-7)), 1e-1);
  }
  CHECK(norm(Tensor<float, D>({512}).fill_(1e19f)).item() == doctest::Approx(2.2627417e20));

  // Beside rows that lose terms, the others, zeros and non-finite numbers stay as they are.
  const auto mixed = locus_test::tensor<float, D>(
      {7, 3},
      {3e19, 4e19, 1, 3, 4, 0, 0, 0, 0, 3e-25, 4e-25, 0, 1, infinity, 0, 1, std::nan(""), 0, 3e19, 4e19, 1e-30});
  locus_test::check_empty(
      locus_test::relative_difference(norm(mixed, 2, 1), {5e19, 5, 0, 5e-25, infinity, std::nan(""), 5e19}, 1e-6),
      __FILE__, __LINE__);
  locus_test::check_empty(locus_test::relative_difference(norm(mixed.select(0, 3)), 5e-25, 1e-6), __FILE__, __LINE__);
  CHECK_CLOSE(norm(locus_test::tensor<float, D>({2}, {3, 4}) * 1e19f), 5e19, 1e-6);  // fused
  CHECK(norm(Tensor<float, D>(Shape{0})).item() == 0);
}

LOCUS_DEVICE_TEST("gradients of norms are right where squares overflow or vanish", D) {
  for (const double size : {1e19, 1e-25}) {
    const auto x = variable(locus_test::tensor<float, D>({2}, {3 * size, -4 * size}));
    norm(x).backward();
    CHECK_CLOSE(x.grad(), {0.6, -0.8}, 1e-6);
    x.zero_grad();
    norm(x).backward(locus_test::tensor<float, D>({}, {1e25}));
    CHECK_CLOSE(x.grad(), {0.6e25, -0.8e25}, 1e-6);
  }
}

LOCUS_DEVICE_TEST("variances are right where their sum would overflow", D) {
  for (const std::int64_t n : {2, 40, 5000, 20000}) {
    CAPTURE(n);
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < 3 * n; ++i) numbers.push_back(i % 2 == 0 ? 1e19 : 2e19);
    const auto x = locus_test::tensor<float, D>({3, n}, numbers);
    const auto exact = reference(var(x.template as<double>(), 1));
    CHECK(exact.values[0] == doctest::Approx(0.25e38 * static_cast<double>(n) / static_cast<double>(n - 1)));
    CHECK_CLOSE(var(x, 1), exact, 1e-5);
    CHECK_CLOSE(var(x.transpose().contiguous(), 0), exact, 1e-5);
    CHECK_CLOSE(var(x), reference(var(x.template as<double>())), 1e-5);
    CHECK_CLOSE(var(x, 1, {.correction = 0}), reference(var(x.template as<double>(), 1, {.correction = 0})), 1e-5);
    const auto v = variable(x);
    var(v, 1).backward(locus_test::tensor<float, D>({3}, {1, 2, 3}));
    const auto v2 = variable(x.template as<double>().eval());
    var(v2, 1).backward(locus_test::tensor<double, D>({3}, {1, 2, 3}));
    CHECK_CLOSE(v.grad(), reference(v2.grad()), 1e-5);
  }
  const auto rows = locus_test::tensor<float, D>({3, 2}, {1e19, 2e19, 2e19, 2e19, -1e38, 1e38});
  CHECK_CLOSE(var(rows, 1), {0.5e38, 0, infinity}, 1e-6);
  CHECK_CLOSE(var(locus_test::tensor<bfloat16, D>({2, 2}, {1e19, 2e19, 1, 2}), 1), {0.5e38, 0.5}, 2e-2);
}

LOCUS_DEVICE_TEST("what one row holds changes no digit of the others", D) {
  const auto check = [](const auto& f, int axis, std::int64_t length, double factor) {
    CAPTURE(axis);
    CAPTURE(length);
    constexpr std::int64_t rows = 64;
    auto numbers = locus_test::sample<float, Cpu>(axis == 1 ? Shape{rows, length} : Shape{length, rows}, 1);
    const auto before = reference(f(numbers.template to<D>(), axis));
    const Tensor<float, Cpu> last = numbers.select(1 - axis, rows - 1);
    last.copy_((last * static_cast<float>(factor)).eval());
    const auto after = reference(f(numbers.template to<D>(), axis));
    int others_that_differ = 0;
    for (std::size_t i = 0; i + 1 < rows; ++i) others_that_differ += before.values[i] != after.values[i];
    CHECK(others_that_differ == 0);
    CHECK(before.values[rows - 1] != after.values[rows - 1]);
  };
  for (const std::int64_t length : {100, 1000, 5000}) {
    for (const int axis : {0, 1}) {
      check([](const auto& x, int a) { return norm(x, 2, a); }, axis, length, 0);
      check([](const auto& x, int a) { return norm(x, 2, a); }, axis, length, 1e20);
      check([](const auto& x, int a) { return var(x, a); }, axis, length, 1e20);
    }
  }
}

TEST_CASE("var refuses a correction that is infinite in the type of its elements") {
  CHECK_THROWS_WITH_AS((void)var(Tensor<float>({2}).fill_(1), {}, {.correction = 1e39}),
                       doctest::Contains("correction is 1e+39"), ArgumentError);
}

LOCUS_DEVICE_TEST("standard deviation is PyTorch's, and has no gradient where it is 0", D) {
  const auto x = variable(golden::tensor<double, D>("statistics_x"));
  CHECK_GOLDEN("stddev", stddev(x, {0, 2}, {.correction = 0, .keepdim = true}), ({"x"}), x);
  const auto equal = variable(Tensor<double, D>({3}).fill_(2));
  stddev(equal).backward();
  CHECK_CLOSE(equal.grad(), {0, 0, 0});
  const auto [variance, of_rows] = var_mean(x.value(), 1);
  CHECK(allclose(variance, var(x.value(), 1)));
  CHECK(allclose(of_rows, mean(x.value(), 1)));
  const auto found = gradcheck([](const auto& v) { return stddev(v, 1); }, locus_test::sample<double, D>({2, 5}));
  CHECK_MESSAGE(found, found.what());
}

namespace {
/// Deviations over every kind of axes, and their gradients, of numbers that are `scale` times as large, a power of two,
/// against float64 of the numbers themselves.
template <class T, class D>
void check_scaled_deviations(double scale, double allowed) {
  CAPTURE(dtype_name<T>());
  CAPTURE(scale);
  const auto plain = sample<T, D>({3, 4, 5}, 7);
  const auto exact = variable(plain.template as<double>().eval());
  std::vector<double> numbers = reference(plain).values;
  for (double& number : numbers) number *= scale;
  const auto x = variable(locus_test::tensor<T, D>({3, 4, 5}, numbers));
  int correction = 0;
  for (const ReduceAxes& axes : {ReduceAxes{2}, ReduceAxes{1}, ReduceAxes{0}, ReduceAxes{0, 2}, ReduceAxes{}}) {
    CAPTURE(axes.list());
    correction = 1 - correction;
    const VarOptions options{static_cast<double>(correction), correction == 0};
    const auto wanted = stddev(exact, axes, options);
    Reference expected = reference(wanted);
    for (double& value : expected.values) value *= scale;
    const auto y = stddev(x, axes, options);
    locus_test::check_empty(locus_test::relative_difference(y, expected, allowed), __FILE__, __LINE__);
    const auto g = sample<T, D>(wanted.shape(), 8, 1, 2);
    y.backward(g);
    wanted.backward(g.template as<double>());
    CHECK_CLOSE(x.grad(), reference(exact.grad()), allowed);
    x.zero_grad();
    exact.zero_grad();
  }
}
}  // namespace

LOCUS_DEVICE_TEST("deviations and their gradients are right where the variance is no number of the type", D) {
  const auto check = [](const auto& x, double correction, double expected, double slope) {
    const auto v = variable(x);
    const auto y = stddev(v, {}, {.correction = correction});
    locus_test::check_empty(locus_test::relative_difference(y, expected, 2e-3), __FILE__, __LINE__);
    y.backward();
    CHECK_CLOSE(v.grad(), {-slope, slope}, 2e-3);
  };
  const double root = std::sqrt(0.5);
  check(locus_test::tensor<half, D>({2}, {-300, 300}), 0, 300, 0.5);
  check(locus_test::tensor<float, D>({2}, {0, 2e20}), 1, 1.41421356e20, root);
  check(locus_test::tensor<float, D>({2}, {0, 2e-23}), 1, 1.41421356e-23, root);
  check(locus_test::tensor<float, D>({2}, {0, 2e-40}), 1, 1.41421356e-40, root);
  check(locus_test::tensor<float, D>({2}, {-3e38, 3e38}), 0, 3e38, 0.5);
  check(locus_test::tensor<double, D>({2}, {0, 2e200}), 1, 1.41421356e200, root);
  check(locus_test::tensor<double, D>({2}, {0, 2e-200}), 1, 1.41421356e-200, root);
  check(locus_test::tensor<double, D>({2}, {-1.7e308, 1.7e308}), 0, 1.7e308, 0.5);
  for (const int sign : {-1, 1}) {
    check_scaled_deviations<half, D>(std::ldexp(1, 13 * sign), sign > 0 ? 2e-3 : 4e-3);
    check_scaled_deviations<bfloat16, D>(std::ldexp(1, 80 * sign), 2e-2);
    check_scaled_deviations<float, D>(std::ldexp(1, 80 * sign), 4e-6);
    check_scaled_deviations<double, D>(std::ldexp(1, 700 * sign), 1e-13);
  }
}

LOCUS_DEVICE_TEST("deviations of long rows and columns are right at every scale, and beside zeros and infinities", D) {
  for (const std::int64_t n : {40, 5000, 20000}) {
    CAPTURE(n);
    for (const double scale : {1e37, 1., 1e-30}) {
      CAPTURE(scale);
      const auto x = sample<float, D>({3, n}, static_cast<std::uint64_t>(n), -9 * scale, 9 * scale);
      const auto exact = reference(stddev(x.template as<double>(), 1));
      locus_test::check_empty(locus_test::relative_difference(stddev(x, 1), exact, 1e-5), __FILE__, __LINE__);
      const auto columns = x.transpose().contiguous();
      locus_test::check_empty(locus_test::relative_difference(stddev(columns, 0), exact, 1e-5), __FILE__, __LINE__);
    }
  }
  CHECK(stddev(locus_test::tensor<float, D>({3}, {1e-23, 0, 5e-23})).item() == doctest::Approx(2.6457513e-23));
  const auto rows = locus_test::tensor<float, D>(
      {6, 3}, {1e30, -1e30, 1e30, 5, 5, 5, 0, 0, 0, 1, 2, 3, 1, infinity, 2, 1, std::nan(""), 2});
  locus_test::check_empty(locus_test::relative_difference(stddev(rows, 1), {1.1547005e30, 0, 0, 1, NAN, NAN}, 1e-6),
                          __FILE__, __LINE__);
  locus_test::check_empty(
      locus_test::relative_difference(
          stddev(
              locus_test::tensor<float, D>({4, 3}, {0, 1e-30, -1e-30, 7, 7, 7, 1, 1, 2, 1e-23, 0, 5e-23}).transpose(),
              0),
          {1e-30, 0, 0.57735027, 2.6457513e-23}, 1e-6),
      __FILE__, __LINE__);
  CHECK(std::isnan(stddev(Tensor<float, D>({1}).fill_(3.f)).item()));
  CHECK(stddev(Tensor<float, D>({1}).fill_(3.f), {}, {.correction = 0}).item() == 0);
  CHECK(std::isnan(stddev(Tensor<float, D>({0})).item()));
  CHECK(var(locus_test::tensor<float, D>({4}, {-3e38, 3e38, 1, 3e38})).item() == infinity);
}

LOCUS_DEVICE_TEST("a deviation is one launch, and its gradient two", D) {
  const auto x = variable(sample<float, D>({4, 5}, 1));
  const LaunchLog log;
  (void)stddev(x.value() * 2.f, 1);
  CHECK(log.launches() == 1);
  const auto y = stddev(x, 1);
  const auto g = sample<float, D>({4}, 2);
  const auto before = log.launches();
  y.backward(g);
  CHECK(log.launches() == before + 2);
  const auto equal = sample<float, D>({4, 1}, 1).expand({4, 50}).contiguous(), columns = equal.transpose().contiguous();
  const auto more = log.launches();
  CHECK_CLOSE(stddev(equal, 1), {0, 0, 0, 0});
  CHECK_CLOSE(stddev(columns, 0), {0, 0, 0, 0});
  CHECK(log.launches() == more + 2);
}

LOCUS_DEVICE_TEST("variances of tensors of the highest rank have gradients", D) {
  Shape shape = Dims::filled(max_rank, 1);
  shape[0] = 2;
  shape[max_rank - 1] = 3;
  const auto x = sample<double, D>(shape, 1);
  CHECK(gradcheck([](const auto& v) { return var(v, 0) + stddev(v, 0); }, x));
  CHECK(gradcheck([](const auto& v) { return var(v, -1) + stddev(v, -1); }, x));
}

LOCUS_DEVICE_TEST("variances beside an offset keep their digits along every axis, and so do their gradients", D) {
  const auto check = [](const auto& x, double allowed) {
    const auto exact = variable(x.template as<double>().eval());
    const auto v = variable(x);
    for (const ReduceAxes& axes : {ReduceAxes{2}, ReduceAxes{1}, ReduceAxes{0}, ReduceAxes{0, 2}, ReduceAxes{}}) {
      CAPTURE(axes.list());
      const auto y = var(v, axes);
      const auto wanted = var(exact, axes);
      CHECK_CLOSE(y, reference(wanted), allowed);
      CHECK_CLOSE(stddev(v.value(), axes), reference(stddev(exact.value(), axes)), allowed);
      y.backward(sample<value_of<std::remove_cvref_t<decltype(x)>>, D>(y.shape(), 5, 1, 1));
      wanted.backward(sample<double, D>(y.shape(), 5, 1, 1));
      CHECK_CLOSE(v.grad(), reference(exact.grad()), allowed);
      v.zero_grad();
      exact.zero_grad();
    }
  };
  std::vector<double> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(1e6 + i % 7 * 0.25);
  const auto column = locus_test::tensor<float, D>({1000, 1}, numbers);
  CHECK_CLOSE(var(column.expand({1000, 3}).contiguous(), 0), {0.249937, 0.249937, 0.249937}, 1e-6);
  CHECK_CLOSE(var(column.reshape({10, 100}), {0, 1}), 0.249937, 1e-6);
  check(column.reshape({10, 10, 10}), 2e-6);
  check(column.reshape({10, 10, 10}).permute({2, 0, 1}), 2e-6);
  check(sample<bfloat16, D>({7, 9, 11}, 3, 200, 210), 1e-2);
  check(sample<half, D>({7, 9, 11}, 3, 2000, 2010), 2e-3);
  check((sample<double, D>({7, 9, 11}, 3) + 1e12).eval(), 1e-12);
}

namespace {
/// Rows of 1000 numbers of 0.3 to 6.3, with a far larger one in the first, a middle and the last place.
template <class T, class D>
[[nodiscard]] Tensor<T, D> rows_with_outliers(double outlier) {
  std::vector<double> numbers;
  for (const int at : {0, 500, 999})
    for (int i = 0; i < 1000; ++i) numbers.push_back(i == at ? outlier : 0.3 + i * 37 % 1000 * 0.006);
  return locus_test::tensor<T, D>({3, 1000}, numbers);
}
}  // namespace

LOCUS_DEVICE_TEST("moments and their gradients keep their digits beside an outlier, wherever it is", D) {
  const auto check = [](const auto& rows, int axis, double allowed) {
    CAPTURE(axis);
    const auto exact = variable(rows.template as<double>().eval());
    const auto v = variable(rows);
    const auto compare = [&](const auto& f) {
      const auto y = f(v);
      const auto wanted = f(exact);
      locus_test::check_empty(locus_test::relative_difference(y, reference(wanted), 2 * allowed), __FILE__, __LINE__);
      y.backward(sample<value_of<std::remove_cvref_t<decltype(rows)>>, D>(y.shape(), 5, 1, 1));
      wanted.backward(sample<double, D>(y.shape(), 5, 1, 1));
      locus_test::check_empty(locus_test::relative_difference(v.grad(), reference(exact.grad()), allowed), __FILE__,
                              __LINE__);
      v.zero_grad();
      exact.zero_grad();
    };
    compare([=](const auto& x) { return var(x, axis); });
    compare([=](const auto& x) { return stddev(x, axis); });
  };
  for (const double outlier : {1e8, -1e8, 3e4}) {
    CAPTURE(outlier);
    const auto rows = rows_with_outliers<float, D>(outlier);
    check(rows, 1, 1e-6);
    check(rows.transpose().contiguous(), 0, 1e-6);
    check(rows.reshape({3, 10, 100}).permute({1, 0, 2}).contiguous(), 1, 1e-6);
  }
}

LOCUS_DEVICE_TEST("numbers are close within both tolerances, infinities where they are equal, NaN where asked", D) {
  const auto number = [](std::vector<double> values) {
    return locus_test::tensor<float, D>({static_cast<std::int64_t>(values.size())}, values);
  };
  const auto x = number({1, 1, INFINITY, INFINITY, NAN, 0}), y = number({1.000001, 1.1, INFINITY, 3, NAN, 1e-9});
  CHECK_CLOSE(isclose(x, y), {1, 0, 1, 0, 0, 1});
  CHECK_CLOSE(isclose(y, x, {.relative = 0.2, .equal_nan = true}), {1, 1, 1, 0, 1, 1});
  CHECK(!allclose(x, y));
  CHECK(allclose(variable(x.slice(0, 2, 3)), x.slice(0, 2, 3)));
  CHECK(allclose(x.slice(0, 2, 3), number({INFINITY})));
  CHECK_THROWS_AS((void)allclose(x, y.slice(0, 0, 2)), ShapeError);
}
