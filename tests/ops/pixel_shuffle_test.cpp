// Runs on: host, cuda (windows), reference.
// pixel_shuffle, pixel_unshuffle and their layers.

#include <locus/device/trace/launch_log.hpp>
#include <locus/nn/pixel_shuffle.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("channels become pixels as in PyTorch, and back", D) {
  const auto x = variable(golden::tensor<double, D>("shuffle_x"));
  CHECK_GOLDEN("shuffled", pixel_shuffle(x, 2), ({"x"}), x);
  x.zero_grad();
  CHECK_GOLDEN("unshuffled", pixel_unshuffle(x, 2), ({"x"}), x);
}

LOCUS_DEVICE_TEST("pixel_shuffle is one launch, and one backward", D) {
  const auto x = variable(randn<float, D>({2, 8, 3, 5}));
  const Tensor<float, D> g = ones<float, D>({2, 2, 6, 10});
  const LaunchLog log;
  const auto y = pixel_shuffle(x, 2).eval();
  CHECK(log.launches() == 1);
  y.backward(g);
  CHECK(log.launches() == 2);
}

LOCUS_DEVICE_TEST("the two undo each other for any leading dimensions and any factor", D) {
  const auto same = [](const auto& a, const auto& b) { CHECK_CLOSE(a, reference(b), 0); };
  for (const Shape& shape : {Shape{12, 2, 3}, Shape{2, 36, 1, 4}, Shape{2, 3, 72, 2, 2}, Shape{0, 4, 2, 2}}) {
    const Tensor<float, D> x = randn<float, D>(shape);
    same(pixel_unshuffle(pixel_shuffle(x, 2), 2), x);
  }
  const Tensor<float, D> x = randn<float, D>({1, 9, 4, 4});
  same(pixel_shuffle(x, 1), x);
  same(pixel_unshuffle(pixel_shuffle(x, 3), 3), x);
  same(nn::PixelShuffle{3}(x), pixel_shuffle(x, 3));
  const nn::Sequential<float, D> both{nn::PixelShuffle{3}, nn::PixelUnshuffle{3}};
  same(both(x), x);
}

TEST_CASE("pixel_shuffle refuses shapes and factors that do not fit") {
  const auto x = ones({1, 6, 4, 4});
  CHECK_THROWS_WITH_AS((void)pixel_shuffle(x, 2), doctest::Contains("6 channels of shape (1, 6, 4, 4)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)pixel_shuffle(x, 0), doctest::Contains("the factor is 0; expected 1 or more"),
                       ArgumentError);
  CHECK_THROWS_AS((void)pixel_shuffle(x, std::int64_t{1} << 40), ShapeError);
  CHECK_THROWS_WITH_AS((void)pixel_shuffle(ones({4, 4}), 2), doctest::Contains("(..., channels, rows, cols)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)pixel_unshuffle(x, 3), doctest::Contains("multiples of 3"), ShapeError);
  CHECK_THROWS_AS((void)pixel_unshuffle(x, -1), ArgumentError);
}
