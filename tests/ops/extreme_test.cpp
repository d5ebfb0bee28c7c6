// Runs on: host, cuda (operations), reference.
// max, min, argmax and argmin against PyTorch and finite differences, with their promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/ops/extreme.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <cmath>
#include <limits>

using namespace locus;
using locus_test::sample;

namespace {
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A run as devices offer it, whose elements are a little less the second time.
struct Rounding {
  [[nodiscard]] LOCUS_FN std::int32_t size() const { return 4; }
  LOCUS_FN fold::Located<float> operator[](std::int64_t k) const { return {k == 2 ? 3.f : 1.f, k}; }
  template <class Op, class Map> [[nodiscard]] LOCUS_FN float fold(const Op&, const Map&) const { return 3.0000002f; }
};
}  // namespace

LOCUS_DEVICE_TEST("gradients are shared among ties as in PyTorch", D) {
  const auto x = variable(golden::tensor<double, D>("ties_x")), y = variable(golden::tensor<double, D>("ties_x"));
  CHECK_GOLDEN("amax_ties", max(x, 1), ({"x"}), x);
  CHECK_GOLDEN("amin_ties", min(y, 0), ({"x"}), y);
  CHECK_CLOSE(argmax(x, 1), golden::reference("argmax_ties"));
  CHECK_CLOSE(argmin(x), golden::reference("argmin_all"));
}

LOCUS_DEVICE_TEST("an integer is an axis; a tensor or a fraction is compared with", D) {
  const auto x = locus_test::tensor<float, D>({2, 3}, {1, -2, 3, 0, 5, -6}), y = Tensor<float, D>({2, 3}).fill_(2.f);
  CHECK_CLOSE(max(x), 5);
  CHECK_CLOSE(max(x, 0), {1, 5, 3});
  CHECK_CLOSE(max(x, {0, 1}), 5);
  CHECK_CLOSE(min(x, -1, true), {{2, 1}, {-2, -6}});
  CHECK_CLOSE(max(x, y), {{2, 3}, {2, 2, 3, 2, 5, 2}});
  CHECK_CLOSE(min(x, 2.f), {{2, 3}, {1, -2, 2, 0, 2, -6}});
  CHECK(min(x, -1, true).shape() == Shape{2, 1});
}

LOCUS_DEVICE_TEST("extremes of every element type and of views", D) {
  CHECK(max(locus_test::tensor<std::int32_t, D>({3}, {-5, -7, -6})).item() == -5);
  CHECK(min(locus_test::tensor<std::uint8_t, D>({3}, {250, 3, 255})).item() == 3);
  CHECK(max(locus_test::tensor<std::int64_t, D>({2}, {-9e15, -8e15})).item() == -8000000000000000);
  CHECK(max(locus_test::tensor<bool, D>({2}, {0, 1})).item());
  CHECK_CLOSE(max(locus_test::tensor<half, D>({3}, {-5, -7, -6})), -5);
  const auto x = sample<float, D>({5, 300}, 2);
  CHECK_CLOSE(max(x.transpose(), 0), locus_test::reference(max(x, 1)));
  CHECK_CLOSE(argmax(x.transpose(), 0), locus_test::reference(argmax(x, 1)));
}

LOCUS_DEVICE_TEST("positions: the first among equals, row-major over all, along any axis", D) {
  const auto x = locus_test::tensor<float, D>({2, 2, 3}, {1, 4, 4, 0, 2, 2, 9, 0, 0, 9, 9, 1});
  CHECK_CLOSE(argmax(x, 2), {{2, 2}, {1, 1, 0, 0}});
  CHECK_CLOSE(argmax(x, 1), {{2, 3}, {0, 0, 0, 0, 1, 1}});
  CHECK_CLOSE(argmin(x, 0), {{2, 3}, {0, 1, 1, 0, 0, 1}});
  CHECK(argmax(x).item() == 6);
  CHECK(argmax(x.transpose(0, 2)).item() == 1);
  CHECK(argmax(x, 2, true).shape() == Shape{2, 2, 1});
  const auto big = Tensor<float, D>({100000}).fill_(1.f);
  CHECK(argmax(big).item() == 0);
  big.slice(0, 77777, 77779).fill_(2.f);
  CHECK(argmax(big).item() == 77777);
  CHECK_THROWS_AS((void)argmax(x, {0, 1}), ArgumentError);
  static_assert(std::is_same_v<decltype(argmax(variable(x), 1)), Tensor<std::int64_t, D>>);
}

LOCUS_DEVICE_TEST("positions in rows of any length: extremes, ties and NaN wherever they stand", D) {
  for (const std::int64_t n : {1, 2, 31, 32, 33, 47, 64, 65, 127, 1000, 8192, 8193, 20000}) {
    for (const std::int64_t place : {std::int64_t{0}, n / 2, n - 1}) {
      const auto x = sample<float, D>({3, n}, static_cast<std::uint64_t>(n));
      x.slice(1, place, place + 1).fill_(5.f), x.slice(1, n - 1, n).fill_(5.f);
      const auto first = static_cast<double>(place);
      CHECK_CLOSE(argmax(x, 1), {first, first, first});
      CHECK_CLOSE(argmin(x * -1.f, 1), {first, first, first});
      x.slice(1, place, place + 1).fill_(NAN), x.slice(1, n - 1, n).fill_(NAN);
      CHECK_CLOSE(argmax(x, 1), {first, first, first});
      CHECK_CLOSE(argmin(x, 1), {first, first, first});
    }
    CHECK_CLOSE(argmax(Tensor<float, D>({2, n}).fill_(-std::numeric_limits<float>::infinity()), 1), {0, 0});
  }
}

TEST_CASE("a position is found where formulas round otherwise the second time") {
  CHECK(fold::ArgExtreme<float, true>{}.of_run(Rounding{}).index == 2);
}

LOCUS_DEVICE_TEST("NaN wins, as in NumPy", D) {
  const auto x = locus_test::tensor<float, D>({2, 3}, {1, not_a_number, 3, 4, 5, 6});
  CHECK_CLOSE(max(x, 1), {not_a_number, 6});
  CHECK_CLOSE(min(x, 1), {not_a_number, 4});
  CHECK_CLOSE(argmax(x, 1), {1, 2});
  CHECK_CLOSE(argmin(x, 1), {1, 0});
  const auto v = variable(x);
  sum(max(v, 1)).backward();
  CHECK_CLOSE(v.grad(), {{2, 3}, {0, 1, 0, 0, 0, 1}});
}

LOCUS_DEVICE_TEST("one launch forward, two backward; temporaries are fused", D) {
  const auto x = sample<float, D>({4, 5}, 1);
  LaunchLog log;
  (void)max(x * 2.f + 1.f, 1);
  (void)argmin(abs(x), 0);
  CHECK(log.launches() == 2);
  const auto v = variable(x);
  const auto y = max(v, 1);
  const auto g = sample<float, D>({4}, 2);
  LaunchLog backward;
  y.backward(g);
  CHECK(backward.launches() == 2);
}

LOCUS_DEVICE_TEST("gradients agree with finite differences", D) {
  const auto f = [](const auto& x) { return max(x, {0, 2}, true) * min(x, 1, true) + max(x); };
  const auto found = gradcheck(f, sample<double, D>({2, 3, 2}, 4));
  CHECK_MESSAGE(found, found.what());
}

LOCUS_DEVICE_TEST("nothing has no extreme", D) {
  const Tensor<float, D> nothing({3, 0});
  CHECK_THROWS_AS((void)max(nothing, 1), ShapeError);
  CHECK_THROWS_AS((void)min(nothing), ShapeError);
  CHECK_THROWS_AS((void)argmax(nothing, 1), ShapeError);
  CHECK_THROWS_AS((void)argmin(nothing), ShapeError);
  CHECK(max(nothing, 0).shape() == Shape{0});
}

LOCUS_DEVICE_TEST("extremes with where they stand, and counts of what is not zero", D) {
  const auto x = variable(golden::tensor<double, D>("statistics_x"));
  CHECK_GOLDEN("max_with", max_with_indices(x, 1).values, ({"x"}), x);
  CHECK_CLOSE(max_with_indices(x, 1).indices, golden::reference("max_with_indices"));
  const auto y = locus_test::tensor<float, D>({2, 3}, {0, 4, 4, NAN, 0, 7});
  const auto [values, indices] = min_with_indices(y, -2, true);
  CHECK_CLOSE(values, locus_test::Reference({1, 3}, {NAN, 0, 4}));
  CHECK_CLOSE(indices, locus_test::Reference({1, 3}, {1, 1, 0}));
  CHECK_CLOSE(max_with_indices(y, 1).indices, {1, 0});
  CHECK_THROWS_AS((void)max_with_indices(Tensor<float, D>({2, 0}), 1), ShapeError);
  CHECK_CLOSE(count_nonzero(y), locus_test::Reference({}, {4}));
  CHECK_CLOSE(count_nonzero(y * y > 0.f, 0), {0, 1, 2});
  CHECK_CLOSE(count_nonzero(Tensor<std::int32_t, D>({0, 2}), 0), {0, 0});
}
