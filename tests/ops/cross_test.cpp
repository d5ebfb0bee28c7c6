// Runs on: host, cuda (products).
// The cross product against PyTorch.

#include <locus/autograd/parameter.hpp>
#include <locus/cuda/backend.hpp>
#include <locus/ops/cross.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;

LOCUS_DEVICE_TEST("cross and its gradients agree with PyTorch", D) {
  const auto a = variable(golden::tensor<double, D>("cross_a")), b = variable(golden::tensor<double, D>("cross_b"));
  CHECK_GOLDEN("cross", cross(a, b, 1), ({"a", "b"}), a, b);
  CHECK_CLOSE(cross(locus_test::tensor<int, D>({3}, {1, 2, 3}), locus_test::tensor<int, D>({3}, {4, 5, 6})),
              {-3, 6, -3});
}

TEST_CASE("cross refuses vectors that are not of space") {
  CHECK_THROWS_WITH_AS((void)cross(Tensor<float>({2, 4}), Tensor<float>({2, 4})), doctest::Contains("extent 3"),
                       ShapeError);
  CHECK_THROWS_AS((void)cross(Tensor<float>({2, 3}), Tensor<float>({3})), ShapeError);
  CHECK_THROWS_AS((void)cross(Tensor<float>({3}), Tensor<float>({3}), 1), IndexError);
}
