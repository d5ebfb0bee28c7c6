// Runs on: host, cuda (products).
// Distances between sets of vectors against PyTorch, with their promised cost and accuracy.

#include <locus/autograd/gradcheck.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/ops/cdist.hpp>
#include <locus/tensor/factory.hpp>

#include <cmath>
#include <golden/golden.hpp>
#include <limits>
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using locus_test::sample;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

LOCUS_DEVICE_TEST("cdist and its gradients agree with PyTorch", D) {
  const auto check = [](const char* name, double p) {
    const auto x = variable(golden::tensor<double, D>("cdist_x")), y = variable(golden::tensor<double, D>("cdist_y"));
    CHECK_GOLDEN(name, cdist(x, y, p), ({"x", "y"}), x, y);
  };
  check("cdist_1", 1);
  check("cdist_2", 2);
  check("cdist_inf", infinity);
  check("cdist_0", 0);
  check("cdist_3", 3);
  check("cdist_half", 0.5);
  check("cdist_1_5", 1.5);
}

LOCUS_DEVICE_TEST("distances of near, equal, huge and no vectors", D) {
  const auto x = locus_test::tensor<float, D>({2, 2}, {1e6, 1, 3e30, -4e30});
  const auto y = locus_test::tensor<float, D>({2, 2}, {1e6, 1.0001, 0, 0});
  CHECK_CLOSE(cdist(x, x).select(0, 0), {0, 5e30}, 1e-6);
  CHECK_CLOSE(cdist(x, y).select(1, 0).slice(0, 0, 1), {double(1.0001f) - 1}, 1e-6);
  CHECK_CLOSE(cdist(x, y).select(1, 1), {1e6, 5e30}, 1e-6);
  const auto itself = variable(sample<double, D>({1, 3}));
  cdist(itself, itself).backward(ones<double, D>({1, 1}));
  CHECK_CLOSE(itself.grad(), {{1, 3}, {0, 0, 0}});
  CHECK(cdist(Tensor<float, D>({0, 2}), y).shape() == Shape{0, 2});
  CHECK_CLOSE(cdist(Tensor<float, D>({1, 0}), Tensor<float, D>({2, 0})), {{1, 2}, {0, 0}});
  const auto f = [](const auto& a, const auto& b) { return cdist(a, b); };
  CHECK(gradcheck(f, sample<double, D>({2, 3}, 1), sample<double, D>({4, 2, 3}, 2).transpose(0, 1)));
  const auto cubic = [](const auto& a, const auto& b) { return cdist(a, b, 3); };
  CHECK(gradcheck(cubic, sample<double, D>({2, 3}, 1), sample<double, D>({4, 2, 3}, 2).transpose(0, 1)));
  CHECK_CLOSE(cdist(x, x, 3).select(0, 0).slice(0, 0, 1), {0});
  CHECK_CLOSE(cdist(x, y, 3).select(1, 1).slice(0, 1, 2), {std::cbrt(27. + 64) * 1e30}, 1e-6);
  const LaunchLog log;
  (void)cdist(x, y, 3);
  CHECK(log.launches() == 3);
  CHECK_CLOSE(cdist(sample<bfloat16, D>({2, 3}, 1), sample<bfloat16, D>({2, 3}, 2), 1).template as<float>(),
              locus_test::reference(cdist(sample<double, D>({2, 3}, 1), sample<double, D>({2, 3}, 2), 1)), 2e-2);
  // 255.7 is no number of bfloat16, and its distance 256.
  const auto narrow = variable(locus_test::tensor<bfloat16, D>({1, 2}, {256, 3}));
  cdist(narrow, locus_test::tensor<bfloat16, D>({1, 2}, {0.3, 1}), infinity).backward(ones<bfloat16, D>({1, 1}));
  CHECK_CLOSE(narrow.grad(), {{1, 2}, {1, 0}});
}

TEST_CASE("cdist refuses other shapes and orders") {
  const Tensor<float> x({2, 3});
  CHECK_THROWS_WITH_AS((void)cdist(x, Tensor<float>({2, 4})), doctest::Contains("(2, 3) and (2, 4)"), ShapeError);
  CHECK_THROWS_AS((void)cdist(x, Tensor<float>({3})), ShapeError);
  CHECK_THROWS_WITH_AS((void)cdist(x, x, -1), doctest::Contains("p = -1; expected a number of 0 or more"),
                       ArgumentError);
  CHECK_THROWS_AS((void)cdist(x, x, std::numeric_limits<double>::quiet_NaN()), ArgumentError);
}
