// Runs on: host, cuda (products), reference.
// Matrix products against PyTorch, finite differences, and their promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/ops/matmul.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/launches.hpp>
#include <support/reference.hpp>

using namespace locus;
using locus_test::check_launches;
using locus_test::most_of_product;
using locus_test::sample;

LOCUS_DEVICE_TEST("matmul and its gradients agree with PyTorch", D) {
  for (const char* name : {"matmul_2_2", "matmul_1_1", "matmul_2_1", "matmul_1_2", "matmul_3_2", "matmul_2_3",
                           "matmul_3_1", "matmul_1_3", "matmul_4_3"}) {
    CAPTURE(name);
    const auto a = variable(golden::tensor<double, D>(std::string(name) + "_a"));
    const auto b = variable(golden::tensor<double, D>(std::string(name) + "_b"));
    CHECK_GOLDEN(name, matmul(a, b), ({"a", "b"}), a, b);
  }
}

LOCUS_DEVICE_TEST("transposed, sliced and repeated operands are multiplied where they lie", D) {
  const auto a = sample<float, D>({4, 3}, 1), b = sample<float, D>({6, 10}, 2);
  const auto right = b.transpose().slice(0, 1, 10, 2).slice(1, 0, 4);  // (5, 4)
  const auto copied = matmul(a.transpose().contiguous(), right.transpose().contiguous());
  LaunchLog log;
  const auto viewed = matmul(a.transpose(), right.transpose());
  const int for_copy = std::is_same_v<D, Cuda> ? 1 : 0;  // of an operand without unit stride
  check_launches<D>("of views", log.launches(), 1 + for_copy, most_of_product);
  CHECK_CLOSE(viewed, locus_test::reference(copied));
  const auto row = sample<float, D>({1, 3}, 3);
  CHECK_CLOSE(matmul(row.expand({5, 3}), a.transpose()),
              locus_test::reference(matmul(row.expand({5, 3}).contiguous(), a.transpose())));
}

LOCUS_DEVICE_TEST("a product is one launch, and its gradients one each", D) {
  const auto a = variable(sample<float, D>({5, 3, 4}, 1)), b = variable(sample<float, D>({4, 2}, 2));
  LaunchLog forward;
  const auto y = matmul(a, b);
  check_launches<D>("forward", forward.launches(), 1, most_of_product);
  const auto cotangent = sample<float, D>({5, 3, 2}, 3);
  LaunchLog backward;
  y.backward(cotangent);
  check_launches<D>("backward", backward.launches(), 2, 2 * most_of_product);
  CHECK(backward.counts().gemm == 2);

  const auto left = variable(sample<float, D>({7, 3, 4}, 1)), right = variable(sample<float, D>({7, 4, 2}, 2));
  LaunchLog batched;
  matmul(left, right).backward(sample<float, Cpu>({7, 3, 2}, 3).template to<D>());
  CHECK(batched.counts().gemm == 3);
  check_launches<D>("batched, forward and backward", batched.launches(), 3, 3 * most_of_product);
}

LOCUS_DEVICE_TEST("batches that do not merge into one are multiplied all the same", D) {
  const auto a = sample<double, D>({3, 2, 4, 5}, 1), b = sample<double, D>({2, 3, 5, 6}, 2);
  const auto swapped = matmul(a, b.transpose(0, 1));
  CHECK_CLOSE(swapped, locus_test::reference(matmul(a, b.transpose(0, 1).contiguous())));
  CHECK(gradcheck([](const auto& x, const auto& y) { return matmul(x, transpose(y, 0, 1)); },
                  sample<double, D>({3, 1, 2, 2}, 3), sample<double, D>({2, 3, 2, 2}, 4)));
}

LOCUS_DEVICE_TEST("every element type but bool is multiplied", D) {
  CHECK_CLOSE(
      matmul(locus_test::tensor<std::int32_t, D>({1, 2}, {3, 4}), locus_test::tensor<std::int32_t, D>({2, 1}, {5, 6})),
      {{1, 1}, {39}});
  CHECK_CLOSE(
      matmul(locus_test::tensor<std::int64_t, D>({2}, {3, 4}), locus_test::tensor<std::int64_t, D>({2}, {5, 6})), 39);
  CHECK_CLOSE(
      matmul(locus_test::tensor<std::uint8_t, D>({2}, {3, 4}), locus_test::tensor<std::uint8_t, D>({2}, {5, 6})), 39);
  CHECK_CLOSE(matmul(locus_test::tensor<half, D>({2}, {3, 4}), locus_test::tensor<half, D>({2}, {5, 6})), 39);
  CHECK_CLOSE(matmul(locus_test::tensor<bfloat16, D>({2}, {3, 4}), locus_test::tensor<bfloat16, D>({2}, {5, 6})), 39);
}

LOCUS_DEVICE_TEST("products over nothing are zero, and of nothing are empty", D) {
  CHECK_CLOSE(matmul(Tensor<float, D>({2, 0}), Tensor<float, D>({0, 3})), {{2, 3}, {0, 0, 0, 0, 0, 0}});
  CHECK(matmul(Tensor<float, D>({0, 3}), Tensor<float, D>({3, 2})).shape() == Shape{0, 2});
  CHECK(matmul(Tensor<float, D>({0, 2, 3}), Tensor<float, D>({3, 2})).shape() == Shape{0, 2, 2});
  CHECK(matmul(Tensor<float, D>({0, 2, 3}), Tensor<float, D>({0, 3, 2})).shape() == Shape{0, 2, 2});
  const auto x = variable(Tensor<float, D>({0, 3})), w = variable(sample<float, D>({3, 2}));
  matmul(x, w).backward(Tensor<float, D>({0, 2}));
  CHECK_CLOSE(w.grad(), {{3, 2}, {0, 0, 0, 0, 0, 0}});
}

LOCUS_DEVICE_TEST("gradients of a tensor used twice add up", D) {
  CHECK(gradcheck([](const auto& x) { return matmul(x, x); }, sample<double, D>({3, 3}, 5)));
  CHECK(gradcheck([](const auto& x) { return matmul(matmul(x, transpose(x)), x); }, sample<double, D>({2, 3}, 6)));
}

LOCUS_DEVICE_TEST("shapes that do not fit are refused, naming both", D) {
  const auto message = [](const auto& a, const auto& b) {
    try {
      (void)matmul(a, b);
    } catch (const ShapeError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto text = message(Tensor<float, D>({2, 3}), Tensor<float, D>({4, 5}));
  CHECK(text.find("(2, 3)") != text.npos);
  CHECK(text.find("(4, 5)") != text.npos);
  CHECK(message(Tensor<float, D>({2, 3, 4}), Tensor<float, D>({3, 4, 5})).find("broadcast") != text.npos);
  CHECK(message(Tensor<float, D>(Shape{}), Tensor<float, D>({4})).find("scalar") != text.npos);
  CHECK_FALSE(message(Tensor<float, D>({3}), Tensor<float, D>({4})).empty());
}

TEST_CASE("batches that do not fit are named by the shapes that were given") {
  CHECK_THROWS_WITH_AS((void)matmul(Tensor<float>({2, 3, 4}), Tensor<float>({3, 4, 5})),
                       doctest::Contains("(2, 3, 4) x (3, 4, 5)"), ShapeError);
}
