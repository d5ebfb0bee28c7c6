// Covariances and correlations against PyTorch.

#include <locus/autograd/gradcheck.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/device/launch_log.hpp>
#include <locus/ops/cov.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;

LOCUS_DEVICE_TEST("covariances, correlations and their gradients agree with PyTorch", D) {
  const auto x = variable(golden::tensor<double, D>("cov_x")), y = variable(x.value()), z = variable(x.value());
  CHECK_GOLDEN("cov", cov(x), ({"x"}), x);
  CHECK_GOLDEN("corrcoef", corrcoef(y), ({"x"}), y);
  CHECK_GOLDEN("cov_list", cov(z.select(0, 0), 0), ({"x"}), z);
  const LaunchLog log;
  (void)cov(x.value());
  CHECK(log.launches() == 4);
  (void)corrcoef(x.value());
  CHECK(log.launches() == 4 + 6);
  const auto w = variable(x.value());
  const auto covariances = cov(w);
  CHECK(log.launches() == 4 + 6 + 4);
  covariances.backward(covariances.value());
  CHECK(log.launches() == 4 + 6 + 4 + 8);
  CHECK_CLOSE(corrcoef(x.value().select(0, 1)), locus_test::Reference({}, {1}));
  CHECK_CLOSE(cov(x.value().transpose().contiguous().transpose()), golden::reference("cov"), 1e-10);
  CHECK_CLOSE(cov(locus_test::tensor<float, D>({1, 1}, {3})), locus_test::Reference({1, 1}, {NAN}));
  CHECK(cov(Tensor<float, D>({0, 3})).shape() == Shape{0, 0});
}

TEST_CASE("cov refuses what has no rows of observations") {
  CHECK_THROWS_WITH_AS((void)cov(Tensor<float>({2, 3, 4})), doctest::Contains("cov: x of shape (2, 3, 4)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)corrcoef(Tensor<float>({2, 3, 4})), doctest::Contains("corrcoef: x of shape"), ShapeError);
  CHECK_THROWS_AS((void)cov(Tensor<float>(Shape{})), ShapeError);
  CHECK_THROWS_AS((void)cov(Tensor<float>({2, 3}), NAN), ArgumentError);
}
