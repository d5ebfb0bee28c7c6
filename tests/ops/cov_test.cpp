// Runs on: host, cuda (products).
// Covariances and correlations against PyTorch.

#include <locus/autograd/gradcheck.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/ops/cov.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <vector>

using namespace locus;

LOCUS_DEVICE_TEST("covariances, correlations and their gradients agree with PyTorch", D) {
  const auto x = variable(golden::tensor<double, D>("cov_x")), y = variable(x.value()), z = variable(x.value());
  CHECK_GOLDEN("cov", cov(x), ({"x"}), x);
  CHECK_GOLDEN("corrcoef", corrcoef(y), ({"x"}), y);
  CHECK_GOLDEN("cov_list", cov(z.select(0, 0), 0), ({"x"}), z);
  const LaunchLog log;
  (void)cov(x.value());
  CHECK(log.launches() == 3);
  (void)corrcoef(x.value());
  CHECK(log.launches() == 3 + 5);
  const auto w = variable(x.value());
  const auto covariances = cov(w);
  CHECK(log.launches() == 3 + 5 + 3);
  covariances.backward(covariances.value());
  CHECK(log.launches() == 3 + 5 + 3 + 4);
  CHECK_CLOSE(corrcoef(x.value().select(0, 1)), locus_test::Reference({}, {1}));
  CHECK_CLOSE(cov(x.value().transpose().contiguous().transpose()), golden::reference("cov"), 1e-10);
  CHECK_CLOSE(cov(locus_test::tensor<float, D>({1, 1}, {3})), locus_test::Reference({1, 1}, {NAN}));
  CHECK(cov(Tensor<float, D>({0, 3})).shape() == Shape{0, 0});
}

namespace {
/// Correlations and their gradients of numbers `scale` times as large, a power of two, against float64 of scale 1.
template <class T, class D>
void check_scaled_correlations(double scale, double allowed) {
  CAPTURE(dtype_name<T>());
  CAPTURE(scale);
  const auto unit = locus_test::sample<T, D>({3, 9}, 2);
  const auto u = variable(unit.template as<double>().eval());
  const auto x = variable((unit.template as<double>() * scale).template as<T>().eval());
  const auto g = locus_test::sample<T, D>({3, 3}, 3);
  const auto y = corrcoef(x);
  const auto wanted = corrcoef(u);
  CHECK_CLOSE(y, locus_test::reference(wanted), allowed);
  y.backward(g);
  wanted.backward(g.template as<double>());
  CHECK_CLOSE((x.grad().template as<double>() * scale).eval(), locus_test::reference(u.grad()), 4 * allowed);
}
}  // namespace

LOCUS_DEVICE_TEST("correlations are right where covariances are no numbers of the type", D) {
  const auto rows = [](double scale) -> std::vector<double> {
    return {0, scale, 3 * scale, scale, 0, 5 * scale, -scale, scale, 3 * scale};
  };
  const std::vector<double> expected{1, 0.8660254, 0.9819805, 0.8660254, 1, 0.7559289, 0.9819805, 0.7559289, 1};
  for (const double scale : {1e20, 1e-23, 3e37, 1.})
    CHECK_CLOSE(corrcoef(locus_test::tensor<float, D>({3, 3}, rows(scale))), locus_test::Reference({3, 3}, expected),
                1e-6);
  CHECK_CLOSE(corrcoef(locus_test::tensor<half, D>({3, 3}, rows(300))), locus_test::Reference({3, 3}, expected), 2e-3);
  CHECK_CLOSE(corrcoef(locus_test::tensor<half, D>({1, 3}, {-6e4, 6e4, 6e4})), locus_test::Reference({1, 1}, {1}),
              2e-3);
  check_scaled_correlations<float, D>(std::ldexp(1, 66), 4e-6);
  check_scaled_correlations<float, D>(std::ldexp(1, -84), 4e-6);
  check_scaled_correlations<double, D>(std::ldexp(1, 700), 1e-13);
  check_scaled_correlations<half, D>(std::ldexp(1, 10), 1e-2);
  check_scaled_correlations<bfloat16, D>(std::ldexp(1, 70), 8e-2);
}

LOCUS_DEVICE_TEST("covariances keep their digits beside an offset, and where sums of products overflow", D) {
  const auto near = locus_test::sample<float, D>({2, 50}, 2, 0, 64);
  const auto far = (floor(near) / 64.f + 1e5f).eval();  // exact
  CHECK_CLOSE(cov(far), locus_test::reference(cov(far.template as<double>().eval())), 1e-6);
  CHECK_CLOSE(cov((far * 1000.f).template as<half>()), locus_test::Reference({2, 2}, {NAN, NAN, NAN, NAN}));
  const Tensor<half, D> many = (locus_test::sample<half, D>({1, 2000}, 4) * half(100.f)).eval();
  CHECK_CLOSE(cov(many), locus_test::reference(cov(many.template as<double>().eval())), 2e-3);
  CHECK_CLOSE(cov(locus_test::tensor<float, D>({1, 2}, {1, 3}), 2), locus_test::Reference({1, 1}, {INFINITY}));
}

LOCUS_DEVICE_TEST("covariances, correlations and their gradients keep their digits beside an outlier", D) {
  for (const int at : {0, 500, 999}) {
    CAPTURE(at);
    std::vector<double> numbers;
    for (int i = 0; i < 1000; ++i) numbers.push_back(i == at ? 1e8 : 0.3 + i * 37 % 1000 * 0.006);
    for (int i = 0; i < 1000; ++i) numbers.push_back(0.3 + i * 48 % 1000 * 0.006 + i * 0.001);
    const auto x = locus_test::tensor<float, D>({2, 1000}, numbers);
    const auto exact = variable(x.template as<double>().eval());
    const auto v = variable(x);
    const auto y = cov(v);
    const auto wanted = cov(exact);
    const auto check = [](const auto& found, const auto& expected, double allowed) {
      locus_test::check_empty(locus_test::relative_difference(found, locus_test::reference(expected), allowed),
                              __FILE__, __LINE__);
    };
    check(y, wanted, 4e-6);
    check(corrcoef(x), corrcoef(exact.value()), 2e-6);
    y.backward(locus_test::tensor<float, D>({2, 2}, {1, 2, 3, 4}));
    wanted.backward(locus_test::tensor<double, D>({2, 2}, {1, 2, 3, 4}));
    check(v.grad(), exact.grad(), 1e-6);
  }
}

TEST_CASE("cov refuses what has no rows of observations") {
  CHECK_THROWS_WITH_AS((void)cov(Tensor<float>({2, 3, 4})), doctest::Contains("cov: x of shape (2, 3, 4)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)corrcoef(Tensor<float>({2, 3, 4})), doctest::Contains("corrcoef: x of shape"), ShapeError);
  CHECK_THROWS_AS((void)cov(Tensor<float>(Shape{})), ShapeError);
  CHECK_THROWS_AS((void)cov(Tensor<float>({2, 3}), NAN), ArgumentError);
}
