// Runs on: host, cuda (operations), reference.
// concat and stack against PyTorch and finite differences, with their promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/ops/join.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using locus_test::sample;

LOCUS_DEVICE_TEST("concat and stack agree with PyTorch", D) {
  const auto of = [](const char* name) { return variable(golden::tensor<double, D>(name)); };
  const auto a = of("join_a"), b = of("join_b"), c = of("join_c"), d = of("join_a"), e = of("join_c");
  CHECK_GOLDEN("concat", concat(1, a, b, c), ({"a", "b", "c"}), a, b, c);
  CHECK_GOLDEN("stack", stack({d, e}, 1), ({"a", "c"}), d, e);
}

LOCUS_DEVICE_TEST("lists of plain tensors, of views, of every element type, are one launch per tensor", D) {
  const auto a = locus_test::tensor<std::int32_t, D>({2, 2}, {1, 2, 3, 4}), b = a.transpose();
  LaunchLog log;
  const auto joined = concat({a, b, a.slice(0, 0, 0)}, 0);
  CHECK(log.launches() == 2);
  CHECK_CLOSE(joined, {{4, 2}, {1, 2, 3, 4, 1, 3, 2, 4}});
  CHECK_CLOSE(concat(std::vector{a, b}, -1), {{2, 4}, {1, 2, 1, 3, 3, 4, 2, 4}});
  CHECK_CLOSE(stack({a, b}, 2), {{2, 2, 2}, {1, 1, 2, 3, 3, 2, 4, 4}});
  CHECK(stack({a, b, a}).shape() == Shape{3, 2, 2});
  CHECK(stack(-1, a, b).shape() == Shape{2, 2, 2});
  CHECK_CLOSE(concat({locus_test::tensor<bool, D>({1}, {1}), locus_test::tensor<bool, D>({1}, {0})}), {1, 0});
}

LOCUS_DEVICE_TEST("traced, plain and pending operands mix", D) {
  const auto x = variable(sample<float, D>({2}, 1));
  const auto plain = sample<float, D>({3}, 2);
  const auto y = concat(0, plain, x * 2.f, x, plain + 1.f);
  static_assert(std::is_same_v<decltype(y), const Traced<float, D>>);
  CHECK(y.shape() == Shape{10});
  y.backward(Tensor<float, D>({10}).fill_(1.f));
  CHECK_CLOSE(x.grad(), {3, 3});
}

LOCUS_DEVICE_TEST("long traced lists are joined in a tree", D) {
  std::vector<Traced<double, D>> list;
  std::vector<double> expected;
  for (int i = 0; i < 21; ++i) {
    list.push_back(variable(Tensor<double, D>({1, 2}).fill_(i)));
    expected.insert(expected.end(), 2, i);
  }
  const auto y = concat(list);
  CHECK_CLOSE(y, expected);
  y.backward(locus_test::tensor<double, D>({21, 2}, expected));
  for (int i = 0; i < 21; ++i) CHECK_CLOSE(list[static_cast<std::size_t>(i)].grad(), {{1, 2}, {double(i), double(i)}});
}

LOCUS_DEVICE_TEST("gradients agree with finite differences", D) {
  const auto f = [](const auto& x, const auto& y) { return concat(1, x, y, x) * concat({y, x, y}, 1); };
  const auto found = gradcheck(f, sample<double, D>({2, 2}, 1), sample<double, D>({2, 2}, 2));
  CHECK_MESSAGE(found, found.what());
}

LOCUS_DEVICE_TEST("what does not fit is refused", D) {
  const Tensor<float, D> a({2, 3}), b({3, 3}), c({2});
  CHECK_THROWS_AS((void)concat({a, b}, 1), ShapeError);
  CHECK_THROWS_AS((void)concat({a, c}, 0), ShapeError);
  CHECK_THROWS_AS((void)concat({a, b}, 2), IndexError);
  CHECK_THROWS_AS((void)stack({a, b}), ShapeError);
  CHECK_THROWS_AS((void)stack(0, a, b), ShapeError);
  CHECK_THROWS_AS((void)concat(std::vector<Tensor<float, D>>{}), ArgumentError);
  CHECK_THROWS_AS((void)stack(std::vector<Tensor<float, D>>{}), ArgumentError);
}

TEST_CASE("tensors of different places or types are refused at compile time") {
  const auto refused = []<class... X>(const X&...) {
    return !requires(const X&... x) { concat(0, x...), stack(0, x...); };
  };
  const Tensor<float> x;
  CHECK_FALSE(refused(x, x));
  CHECK(refused(x, Tensor<float, locus_test::Counting>()));
  CHECK(refused(x, x, Tensor<float, locus_test::Counting>()));
  CHECK(refused(x, Tensor<double>()));
}

LOCUS_DEVICE_TEST("parameters are stacked as what they meet", D) {
  const Parameter w(locus_test::tensor<float, D>({2}, {1, 2}));
  const auto x = variable(locus_test::tensor<float, D>({2}, {3, 4}));
  Traced(stack(0, x, w) * 2).backward(locus_test::tensor<float, D>({2, 2}, {1, 1, 1, 1}));
  CHECK_CLOSE(w.grad(), {2, 2});
  CHECK_CLOSE(stack(0, locus_test::tensor<float, D>({2}, {3, 4}), w),
              (locus_test::Reference{Shape{2, 2}, {3, 4, 1, 2}}));
}

TEST_CASE("stack speaks for itself when it refuses") {
  CHECK_THROWS_WITH_AS((void)stack(std::vector<Tensor<float>>{}), "stack: no tensors; expected at least one",
                       ArgumentError);
  CHECK_THROWS_WITH_AS((void)stack({ones({2}), ones({2})}, 2),
                       "stack: axis 2 is out of range for a tensor with 2 dimensions; expected -2 to 1", IndexError);
}
