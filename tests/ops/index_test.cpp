// Runs on: host, cuda (products), reference.
// Lookups by index against PyTorch and finite differences, with their promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

#include <algorithm>
#include <cmath>

using namespace locus;
using locus_test::sample;

namespace {
template <class D>
auto indices(const Shape& shape, const std::vector<double>& values) {
  return locus_test::tensor<std::int64_t, D>(shape, values);
}
}  // namespace

LOCUS_DEVICE_TEST("lookups and their gradients agree with PyTorch", D) {
  const auto x = [] { return variable(golden::tensor<double, D>("index_x")); };
  const auto a = x(), b = x(), c = x();
  CHECK_GOLDEN("index_select_0", index_select(a, 0, golden::tensor<std::int64_t, D>("index_list")), ({"x"}), a);
  CHECK_GOLDEN("index_select_2", index_select(b, 2, golden::tensor<std::int64_t, D>("index_last")), ({"x"}), b);
  CHECK_GOLDEN("gather_1", gather(c, 1, golden::tensor<std::int64_t, D>("gather_index")), ({"x"}), c);
  const auto table = variable(golden::tensor<double, D>("embedding_table"));
  CHECK_GOLDEN("embedding", embedding(table, golden::tensor<std::int64_t, D>("embedding_words")), ({"x"}), table);
}

LOCUS_DEVICE_TEST("lookups read views, and gradients of several uses add up", D) {
  const auto list = indices<D>({3}, {1, 1, 0});
  const auto column = indices<D>({3, 1}, {1, 0, 3});
  const auto f = [&](const auto& x) {
    return index_select(transpose(x), 0, list) * index_select(transpose(x), 0, list) +
           transpose(gather(x, 1, column)) * index_select(x, 1, list.slice(0, 1));
  };
  CHECK_THROWS_AS((void)f(sample<double, D>({3, 4})), ShapeError);
  const auto g = [&](const auto& x) {
    return sum(index_select(transpose(x), 0, list)) * gather(x, 1, column) + gather(x, 1, column) * 2.;
  };
  const auto found = gradcheck(g, sample<double, D>({3, 4}, 2));
  CHECK_MESSAGE(found, found.what());
  const auto smaller = gradcheck(
      [&](const auto& x) {
        return gather(x, 0, indices<D>({2, 3}, {3, 0, 0, 3, 1, 2})) + sum(x);
      },
      sample<double, D>({4, 5}, 3));
  CHECK_MESSAGE(smaller, smaller.what());
}

LOCUS_DEVICE_TEST("lookups of integers, of 16-bit floats, and along the last axis", D) {
  const auto x = locus_test::tensor<std::int32_t, D>({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK_CLOSE(index_select(x, 1, indices<D>({2}, {2, 0})), {{2, 2}, {3, 1, 6, 4}});
  CHECK_CLOSE(index_select(x, -2, indices<D>({3}, {1, 1, 0})), {{3, 3}, {4, 5, 6, 4, 5, 6, 1, 2, 3}});
  CHECK_CLOSE(gather(x.template as<half>(), 1, indices<D>({2, 1}, {2, 0})), {{2, 1}, {3, 4}});
  CHECK_CLOSE(index_select(locus_test::tensor<float, D>({4}, {1, 2, 3, 4}), 0, indices<D>({2}, {3, 1})), {4, 2});
}

LOCUS_DEVICE_TEST("long rows of indices pick every element once, and none for what is no index", D) {
  for (const std::int64_t n : {4096, 4097, 9000}) {
    const auto x = sample<float, D>({2, n}, 1);
    std::vector<double> backwards(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < backwards.size(); ++i) backwards[i] = static_cast<double>(backwards.size() - 1 - i);
    auto expected = locus_test::reference(x);
    std::reverse(expected.values.begin(), expected.values.end());
    std::rotate(expected.values.begin(), expected.values.begin() + n, expected.values.end());
    CHECK_CLOSE(index_select(x, 1, indices<D>({n}, backwards)), expected);
    const auto once = indices<D>({1, n}, backwards);
    CHECK_CLOSE(gather(x, 1, once.expand({2, n})), expected);
    CHECK_CLOSE(gather(x.transpose(), 0, once.expand({2, n}).transpose()).transpose(), expected);
    CHECK_CLOSE(gather(x, 0, Tensor<std::int64_t, D>({1, n}).fill_(1)), locus_test::reference(x.slice(0, 1, 2)));
  }
}

LOCUS_DEVICE_TEST("embedding takes indices of any shape, and learns where they are traced", D) {
  const auto table = variable(sample<float, D>({5, 3}, 1));
  const auto words = indices<D>({2, 2}, {4, 0, 4, 4});
  const auto y = embedding(table, trace(words));
  CHECK(y.shape() == Shape{2, 2, 3});
  y.backward(Tensor<float, D>({2, 2, 3}).fill_(1.f));
  CHECK_CLOSE(table.grad(), {{5, 3}, {1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 3, 3}});
  CHECK(embedding(table.value(), Tensor<std::int64_t, D>({0})).shape() == Shape{0, 3});
}

LOCUS_DEVICE_TEST("gradients of few and of many indices, with repetitions, add up along any axis", D) {
  const auto few = indices<D>({4}, {6, 1, 6, 6}), many = indices<D>({9}, {1, 0, 1, 1, 2, 0, 1, 2, 1});
  const auto f = [&](const auto& x) {
    return sum(index_select(x, 0, few)) + index_select(x, 1, many) * sum(index_select(x, 1, many), 1, true);
  };
  const auto found = gradcheck(f, sample<double, D>({7, 3, 2}, 2));
  CHECK_MESSAGE(found, found.what());
}

LOCUS_DEVICE_TEST("one launch forward; one backward, and one to clear a gradient that is not added to", D) {
  const auto x = variable(sample<float, D>({5, 3}, 1));
  const auto list = indices<D>({2}, {4, 0}), full = indices<D>({5, 1}, {0, 1, 2, 1, 0});
  LaunchLog forward;
  const auto picked = index_select(x, 0, list);
  const auto gathered = gather(x, 1, full);
  (void)one_hot(list, 7);
  CHECK(forward.launches() == 3);
  const auto g = sample<float, D>({2, 3}, 2), h = sample<float, D>({5, 1}, 2);
  LaunchLog backward;
  picked.backward(g);
  CHECK(backward.launches() == 2);
  gathered.backward(h);
  CHECK(backward.launches() == 3);
  const auto all = index_select(x, 1, indices<D>({3}, {0, 0, 2}));
  const auto k = sample<float, D>({5, 3}, 3);
  LaunchLog many;
  all.backward(k);
  CHECK(many.launches() == 1);
}

LOCUS_DEVICE_TEST("gradients of 16-bit lookups are added up as floats", D) {
  const auto check = [](auto one) {  // one and one and so on stops at 2048 as half, at 256 as bfloat16
    using T = decltype(one);
    const std::int64_t picked = 3000;
    const std::vector<double> second(static_cast<std::size_t>(picked), 1.);
    const auto rows = variable(sample<T, D>({3, 20}, 1)), elements = variable(sample<T, D>({1, 3}, 1));
    sum(rows).backward();
    index_select(rows, 0, indices<D>({picked}, second)).backward(full<T, D>({picked, 20}, one));
    auto expected = locus_test::reference(rows.value());
    for (std::size_t i = 0; i < 60; ++i) expected.values[i] = i / 20 == 1 ? 3001. : 1.;
    CHECK_CLOSE(rows.grad(), expected);
    gather(elements, 1, indices<D>({1, picked}, second)).backward(full<T, D>({1, picked}, one));
    CHECK_CLOSE(elements.grad(), {{1, 3}, {0, 3000, 0}});
  };
  check(half(1.f));
  check(bfloat16(1.f));
}

LOCUS_DEVICE_TEST("lookups of many indices and of views, and their gradients, along every axis", D) {
  const auto check = [](const auto& x, const auto& y, int axis, const auto& index_at) {
    auto in = locus_test::reference(x), expected = locus_test::reference(y), sums = in;
    std::fill(sums.values.begin(), sums.values.end(), 1.);  // a first use adds 1
    const Shape& from = x.shape();
    const Shape& to = y.shape();
    for (std::int64_t i = 0; i < to[0]; ++i)
      for (std::int64_t j = 0; j < to[1]; ++j)
        for (std::int64_t k = 0; k < to[2]; ++k) {
          std::int64_t at[3] = {i, j, k};
          at[axis] = index_at(i, j, k);
          const auto source = static_cast<std::size_t>((at[0] * from[1] + at[1]) * from[2] + at[2]);
          const auto target = static_cast<std::size_t>((i * to[1] + j) * to[2] + k);
          expected.values[target] = in.values[source];
          sums.values[source] += 1. + static_cast<double>(target % 7);
        }
    CHECK_CLOSE(y, expected);
    return sums;
  };
  const auto cotangent = [](const Shape& shape) {
    std::vector<double> values(static_cast<std::size_t>(elements(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1. + static_cast<double>(i % 7);
    return values;
  };
  for (const Shape& shape : {Shape{3, 5, 4}, Shape{4, 3, 40}, Shape{40, 2, 3}}) {
    CAPTURE(shape);
    for (int axis = 0; axis < 3; ++axis) {
      CAPTURE(axis);
      const std::int64_t extent = shape[axis];
      const auto x = variable(sample<float, D>({shape[2], shape[0], shape[1]}, 1).permute({1, 2, 0}));
      for (const std::int64_t count : {std::int64_t{7}, std::int64_t{1500}}) {
        CAPTURE(count);
        std::vector<double> list(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < list.size(); ++i)
          list[i] = static_cast<double>(i * i % static_cast<std::size_t>(extent));
        const auto y = index_select(x, axis, indices<D>({count}, list));
        const auto sums = check(x.value(), y.value(), axis, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
          return static_cast<std::int64_t>(list[static_cast<std::size_t>(axis == 0 ? i : axis == 1 ? j : k)]);
        });
        x.zero_grad();
        sum(x).backward();
        y.backward(locus_test::tensor<float, D>(y.shape(), cotangent(y.shape())));
        CHECK_CLOSE(x.grad(), sums);
      }
      Shape smaller = shape;
      smaller[axis] = 9;
      smaller[(axis + 1) % 3] -= 1;
      std::vector<double> index(static_cast<std::size_t>(elements(smaller)));
      for (std::size_t i = 0; i < index.size(); ++i)
        index[i] = static_cast<double>(i * 5 % static_cast<std::size_t>(extent));
      const auto y = gather(x, axis, indices<D>(smaller, index));
      const auto sums = check(x.value(), y.value(), axis, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
        return static_cast<std::int64_t>(index[static_cast<std::size_t>((i * smaller[1] + j) * smaller[2] + k)]);
      });
      x.zero_grad();
      sum(x).backward();
      y.backward(locus_test::tensor<float, D>(smaller, cotangent(smaller)));
      CHECK_CLOSE(x.grad(), sums);
    }
  }
}

LOCUS_DEVICE_TEST("one_hot", D) {
  CHECK_CLOSE(one_hot(indices<D>({3}, {1, 0, 2}), 3), {{3, 3}, {0, 1, 0, 1, 0, 0, 0, 0, 1}});
  CHECK(one_hot(indices<D>({2, 2}, {1, 0, 2, 0}), 4).shape() == Shape{2, 2, 4});
  static_assert(std::is_same_v<decltype(one_hot<float>(Tensor<std::int64_t, D>(), 2)), Tensor<float, D>>);
  CHECK_CLOSE(one_hot<float>(indices<D>({1}, {1}), 2), {{1, 2}, {0, 1}});
  CHECK_THROWS_AS((void)one_hot(indices<D>({1}, {1}), 0), ArgumentError);
}

LOCUS_DEVICE_TEST("indices out of range throw where the host reads them, and pick NaN or 0 elsewhere", D) {
  const auto x = sample<float, D>({3, 2}, 1);
  for (const double bad : {3., -1., 1e15}) {
    const auto list = indices<D>({2}, {1, bad});
    const auto index = indices<D>({1, 2}, {bad, 0});
    if constexpr (HostAccessible<D>) {
      CHECK_THROWS_AS((void)index_select(x, 0, list), IndexError);
      CHECK_THROWS_AS((void)embedding(x, list), IndexError);
      CHECK_THROWS_AS((void)gather(x, 0, index), IndexError);
      CHECK_THROWS_AS((void)one_hot(list, 3), IndexError);
    } else {
      const auto picked = locus_test::reference(index_select(x, 0, list)).values;
      CHECK(picked[0] == locus_test::reference(x).values[2]);
      CHECK(std::isnan(picked[2]));
      CHECK(std::isnan(picked[3]));
      CHECK_CLOSE(index_select(x.template as<std::int32_t>(), 0, list).slice(0, 1), {{1, 2}, {0, 0}});
      const auto gathered = locus_test::reference(gather(x, 0, index)).values;
      CHECK(std::isnan(gathered[0]));
      CHECK(gathered[1] == locus_test::reference(x).values[1]);
      CHECK_CLOSE(one_hot(list, 3), {{2, 3}, {0, 1, 0, 0, 0, 0}});
    }
  }
}

LOCUS_DEVICE_TEST("lookups in nothing and of nothing", D) {
  const auto none = Tensor<std::int64_t, D>({0});
  CHECK(index_select(sample<float, D>({3, 2}), 0, none).shape() == Shape{0, 2});
  CHECK(index_select(Tensor<float, D>({3, 0}), 0, indices<D>({2}, {1, 1})).shape() == Shape{2, 0});
  CHECK(one_hot(none, 3).shape() == Shape{0, 3});
  const auto x = variable(sample<float, D>({3, 2}));
  index_select(x, 0, none).backward(Tensor<float, D>({0, 2}));
  CHECK_CLOSE(x.grad(), {{3, 2}, {0, 0, 0, 0, 0, 0}});
}

LOCUS_DEVICE_TEST("shapes that do not fit are refused", D) {
  const auto x = sample<float, D>({3, 2});
  CHECK_THROWS_AS((void)index_select(x, 0, indices<D>({1, 1}, {0})), ShapeError);
  CHECK_THROWS_AS((void)index_select(x, 2, indices<D>({1}, {0})), IndexError);
  CHECK_THROWS_AS((void)gather(x, 0, indices<D>({1}, {0})), ShapeError);
  CHECK_THROWS_AS((void)gather(x, 0, indices<D>({1, 3}, {0, 0, 0})), ShapeError);
  CHECK_THROWS_AS((void)embedding(sample<float, D>({3}), indices<D>({1}, {0})), ShapeError);
}
