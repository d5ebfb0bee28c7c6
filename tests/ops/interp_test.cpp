// Runs on: host, cuda (products).
// Linear interpolation against NumPy.

#include <locus/autograd/gradcheck.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/ops/interp.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using locus_test::tensor;

LOCUS_DEVICE_TEST("interpolation between points agrees with NumPy", D) {
  const auto points = golden::tensor<double, D>("interp_points"), values = golden::tensor<double, D>("interp_values");
  CHECK_CLOSE(interp(golden::tensor<double, D>("interp_at"), points, values), golden::reference("interp_y"));
  const auto recorded = variable(values), heights = variable(values);
  const LaunchLog log;
  const auto result = interp(recorded, points, heights);
  CHECK(log.launches() == 8);
  result.backward(values);
  if (std::is_same_v<D, Cpu>) CHECK(log.launches() == 8 + 6);
  const auto at = tensor<float, D>({4}, {-INFINITY, INFINITY, NAN, 1});
  const auto ends = interp(at, tensor<float, D>({2}, {0, 2}), tensor<float, D>({2}, {5, 9}));
  CHECK_CLOSE(ends, {5, 9, NAN, 7});
  CHECK_CLOSE(interp(at.slice(0, 0, 2), tensor<float, D>({1}, {0}), tensor<float, D>({1}, {5})), {5, 5});
  const auto jump = interp(tensor<float, D>({5}, {-1, 0, 0.5, 1, 1.5}), tensor<float, D>({4}, {0, 0, 1, 1}),
                           tensor<float, D>({4}, {1, 2, 4, 8}));
  CHECK_CLOSE(jump, {1, 2, 3, 8, 8});  // of points that are equal, the last one counts
  const auto of = [&](const auto& x, const auto& y) { return interp(x, points, y); };
  CHECK(gradcheck(of, tensor<double, D>({5}, {-3, -1, 0.25, 1, 3}), values));
}

LOCUS_DEVICE_TEST("points and values whose distances are no numbers of the type", D) {
  const auto check = [](auto most) {
    using T = decltype(most);
    const double m = convert<double>(most);
    const auto x = variable(tensor<T, D>({3}, {0, -0.5 * m, m}));
    const auto y = interp(x, tensor<T, D>({2}, {-m, m}), tensor<T, D>({2}, {m, -m}));
    CHECK_CLOSE((y / most).eval(), {0, 0.5, -1}, 1e-2);
    const auto f = variable(tensor<T, D>({2}, {1, 5}));
    interp(x.value(), tensor<T, D>({2}, {-m, m}), f).backward(tensor<T, D>({3}, {1, 1, 1}));
    CHECK_CLOSE(f.grad(), {0.5 + 0.75, 0.5 + 0.25 + 1}, 1e-2);
    const auto z = variable(tensor<T, D>({3}, {0, -0.5 * m, m}));
    interp(z, tensor<T, D>({2}, {-m, m}), tensor<T, D>({2}, {0, m})).backward(tensor<T, D>({3}, {1, 1, 1}));
    CHECK_CLOSE(z.grad(), {0.5, 0.5, 0}, 1e-2);  // beyond the last point it is flat
  };
  check(3e38f);
  check(1.7e308);
  check(convert<bfloat16>(3e38));
}

TEST_CASE("interp refuses points without values") {
  const Tensor<float> x({2}), list({3});
  CHECK_THROWS_WITH_AS((void)interp(x, list, Tensor<float>({4})), doctest::Contains("(3,) and values of shape (4,)"),
                       ShapeError);
  CHECK_THROWS_AS((void)interp(x, Tensor<float>({0}), Tensor<float>({0})), ShapeError);
}
