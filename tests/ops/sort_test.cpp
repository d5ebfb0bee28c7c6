// Runs on: host, cuda (operations), reference.
// sort, argsort and topk against std::stable_sort, PyTorch and finite differences, with their promised launches.

#include <locus/autograd/gradcheck.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/order_statistics.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/sort.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/sorting.hpp>

#include <cmath>
#include <limits>

using namespace locus;
using locus_test::infinite;
using locus_test::not_a_number;
using locus_test::sample;

namespace {

/// a before b, NaN after all.
template <class R>
bool comes_before(R a, R b) {
  return a < b || (a == a && b != b);
}

/// Where the elements of each row along the last axis stand in order.
template <class T>
std::vector<double> stable_order(const Tensor<T>& x, bool descending) {
  const std::int64_t cols = x.size(-1), rows = x.elements() / (cols > 0 ? cols : 1);
  std::vector<double> indices;
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* const data = x.data() + row * cols;
    std::vector<std::int64_t> order(static_cast<std::size_t>(cols));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      const auto first = load_as_register(data[descending ? b : a]),
                 second = load_as_register(data[descending ? a : b]);
      return comes_before(first, second);
    });
    for (const auto index : order) indices.push_back(static_cast<double>(index));
  }
  return indices;
}

/// Checks all three functions along an axis of x.
template <class T, class D>
void check_order(const Tensor<T, D>& x, int axis, bool descending, std::int64_t k) {
  CAPTURE(to_string(x.shape()));
  CAPTURE(axis);
  CAPTURE(descending);
  const Tensor<T> last = locus_test::host(x.transpose(axis, -1));
  const locus_test::Reference order(last.shape(), stable_order(last, descending));
  const auto [values, indices] = sort(x, axis, descending);
  CHECK_CLOSE(indices.transpose(axis, -1), order);
  CHECK_CLOSE(argsort(x, axis, descending).transpose(axis, -1), order);
  if (x.elements() > 0) CHECK_CLOSE(values, locus_test::reference(gather(x, axis, indices)), 0.0);
  const auto top = topk(x, k, axis, descending);
  CHECK_CLOSE(top.indices, locus_test::reference(indices.slice(axis, 0, k)));
  CHECK_CLOSE(top.values, locus_test::reference(values.slice(axis, 0, k)), 0.0);
}

/// Few different values, so that many are equal, the ends of integers' ranges, and special floating-point numbers.
template <class T, class D>
Tensor<T, D> with_ties(const Shape& shape, std::uint64_t seed) {
  const Tensor<T> x = sample<T, Cpu>(shape, seed, -40, 40);
  if constexpr (IntegerDType<T>) {
    using Limits = std::numeric_limits<T>;
    const T ends[] = {Limits::min(), Limits::min() + 1, static_cast<T>(Limits::max() / 2 + 1), Limits::max()};
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const auto u = static_cast<std::size_t>(16 * uniform_double(seed + 1, static_cast<std::uint64_t>(i)));
      if (u < std::size(ends)) x.data()[i] = ends[u];
    }
  }
  if constexpr (FloatingDType<T>) {
    const double special[] = {0.0, -0.0, not_a_number, -not_a_number, infinite, -infinite, 1e-40, -1e-40, 6e-8, -6e-8};
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const auto u = static_cast<std::size_t>(40 * uniform_double(seed + 1, static_cast<std::uint64_t>(i)));
      if (u < std::size(special)) x.data()[i] = convert<T>(special[u]);
      else if (u < 30) x.data()[i] = convert<T>(static_cast<int>(convert<double>(x.data()[i])));
    }
  }
  return x.template to<D>();
}

template <class T, class D>
void check_type(std::uint64_t seed) {
  for (const bool descending : {false, true}) {
    check_order(with_ties<T, D>({1000}, seed), 0, descending, 50);
    check_order(with_ties<T, D>({7, 33}, seed), -1, descending, 3);
    check_order(with_ties<T, D>({3, 40, 5}, seed), 1, descending, 40);
    check_order(with_ties<T, D>({40, 6}, seed).transpose(), 1, descending, 33);
    for (std::int64_t cols = 2; cols <= 20; ++cols) check_order(with_ties<T, D>({3, cols}, seed), 1, descending, 2);
  }
}

}  // namespace

LOCUS_DEVICE_TEST("every element type is sorted as std::stable_sort does", D) {
  check_type<float, D>(1);
  check_type<double, D>(2);
  if constexpr (locus_test::all_dtypes<D>) check_type<half, D>(3);
  if constexpr (HostAccessible<D>) {  // more than kernels depend on, and nvcc takes its time for each
    check_type<bfloat16, D>(4);
    check_type<std::int32_t, D>(5);
    check_type<std::int64_t, D>(6);
    check_type<std::uint8_t, D>(7);
    check_type<bool, D>(8);
    check_type<std::int8_t, D>(9);
    check_type<std::int16_t, D>(10);
    check_type<std::uint16_t, D>(11);
    check_type<std::uint32_t, D>(12);
    check_type<std::uint64_t, D>(13);
  }
}

LOCUS_DEVICE_TEST("numbers of all sizes: every bit of a key counts", D) {
  const std::vector<double> wide{1e300, -1e300, 5e-324, -5e-324, 1.0, 1.0 + 0x1p-52, -1.0, 2.0, 0x1p-1022, 3e38, -7e9};
  check_order(locus_test::tensor<double, D>({11}, wide), 0, false, 4);
  check_order(locus_test::tensor<float, D>({11}, wide), 0, true, 4);
  const auto numbers = [](std::uint64_t seed) {
    Tensor<std::int64_t> x({300});
    for (std::int64_t i = 0; i < 300; ++i) {
      const std::uint64_t high = random_bits(seed, static_cast<std::uint64_t>(i));
      x.data()[i] =
          static_cast<std::int64_t>(high << 32 | random_bits(seed + 1, static_cast<std::uint64_t>(i))) >> i % 63;
    }
    x.data()[3] = INT64_MIN;
    x.data()[200] = INT64_MAX;
    return x;
  };
  if constexpr (HostAccessible<D>) {
    check_order(numbers(1), 0, false, 100);
    check_order(numbers(3).template as<std::int32_t>(), 0, true, 100);
  }
}

LOCUS_DEVICE_TEST("random shapes along random axes, of views", D) {
  Philox random(11);
  for (int round = 0; round < 12; ++round) {
    Shape shape;
    for (int d = 0; d < 1 + round % 4; ++d) shape.push_back(1 + random.bounded(9));
    const int axis = static_cast<int>(random.bounded(shape.rank()));
    auto x = with_ties<float, D>(shape, static_cast<std::uint64_t>(round));
    if (round % 3 == 1) x = x.transpose(0, -1);
    if (round % 3 == 2) x = x.slice(0, 0, to_end, 2);
    const auto k = random.bounded(x.size(axis) + 1);
    check_order(x, axis, round % 2 == 0, k);
  }
  check_order(with_ties<float, D>({5, 1}, 3).expand({5, 4}), 0, false, 2);
}

LOCUS_DEVICE_TEST("one large row, and many small ones", D) {
  check_order(with_ties<float, D>({20000}, 1), 0, false, 5000);
  check_order(sample<float, D>({20000}, 2), 0, true, 100);
  check_order(with_ties<float, D>({3000, 5}, 3), 1, false, 2);
  check_order(with_ties<double, D>({300, 70}, 4), 1, true, 40);
  check_order(with_ties<float, D>({70, 300}, 5), 0, true, 70);
}

LOCUS_DEVICE_TEST("nothing, one element, and a scalar", D) {
  for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{3, 0}, Shape{1}, Shape{1, 1, 1}}) {
    check_order(sample<float, D>(shape), -1, true, 0);
    check_order(sample<float, D>(shape), 0, false, shape[0]);
  }
  const auto scalar = locus_test::tensor<float, D>({}, {3});
  for (const int dim : {0, -1}) {
    CHECK_CLOSE(sort(scalar, dim).values, locus_test::Reference({}, {3}));
    CHECK_CLOSE(sort(scalar, dim).indices, locus_test::Reference({}, {0}));
    CHECK_CLOSE(argsort(scalar, dim), locus_test::Reference({}, {0}));
    CHECK_CLOSE(topk(scalar, 1, dim).values, locus_test::Reference({}, {3}));
  }
  CHECK_THROWS_AS((void)sort(scalar, 1), IndexError);
  CHECK_THROWS_AS((void)topk(scalar, 0), ArgumentError);
}

LOCUS_DEVICE_TEST("0 and -0 are equal, NaN of any sign is greatest, and equal elements stay in their order", D) {
  const auto x = locus_test::tensor<float, D>({7}, {0., -0., not_a_number, -1, infinite, -not_a_number, -0.});
  CHECK_CLOSE(sort(x).indices, {3, 0, 1, 6, 4, 2, 5});
  CHECK_CLOSE(sort(x, 0, true).indices, {2, 5, 4, 0, 1, 6, 3});
  CHECK_CLOSE(topk(x, 2).indices, {2, 5});
  CHECK_CLOSE(topk(x, 3, 0, false).indices, {3, 0, 1});
  const auto values = locus_test::reference(sort(x).values).values;
  CHECK(!std::signbit(values[1]));
  CHECK(std::signbit(values[2]));
  CHECK(std::isnan(values[6]));
}

LOCUS_DEVICE_TEST("values and gradients agree with PyTorch", D) {
  const auto x = [] { return variable(golden::tensor<double, D>("sort_x")); };
  const auto a = x(), b = x(), c = x(), d = x();
  CHECK_GOLDEN("sort_1", sort(a, 1).values, ({"x"}), a);
  CHECK_GOLDEN("sort_0_descending", sort(b, 0, true).values, ({"x"}), b);
  CHECK_GOLDEN("topk_2", topk(c, 2).values, ({"x"}), c);
  CHECK_GOLDEN("topk_1_smallest", topk(d, 3, 1, false).values, ({"x"}), d);
  CHECK_CLOSE(argsort(a, 1), golden::reference("argsort_1"));
  CHECK_CLOSE(topk(c, 2).indices, golden::reference("topk_2_indices"));
}

LOCUS_DEVICE_TEST("gradients agree with finite differences, and add up", D) {
  const auto weights = sample<double, D>({4, 3}, 7);
  const auto f = [&](const auto& x) {
    return sort(x * x, 0).values * weights + sort(transpose(x), 1, true).values.transpose() * x +
           sum(topk(x, 2, 0).values) * sort(x, 1).values;
  };
  const auto found = gradcheck(f, sample<double, D>({4, 3}, 4));
  CHECK_MESSAGE(found, found.what());
  const auto scalar = variable(locus_test::tensor<float, D>({}, {3}));
  sort(scalar).values.backward();
  CHECK_CLOSE(scalar.grad(), 1);
  const auto rows = variable(sample<float, D>({2, 3}));
  topk(rows, 0).values.backward(Tensor<float, D>({2, 0}));
  CHECK_CLOSE(rows.grad(), {{2, 3}, {0, 0, 0, 0, 0, 0}});
}

LOCUS_DEVICE_TEST("indices are plain; so are the values of what is not traced", D) {
  const auto x = sample<float, D>({5, 3}, 1);
  static_assert(std::is_same_v<decltype(sort(x).values), Tensor<float, D>>);
  static_assert(std::is_same_v<decltype(sort(variable(x)).values), Traced<float, D>>);
  static_assert(std::is_same_v<decltype(topk(variable(x), 1).indices), Tensor<std::int64_t, D>>);
  static_assert(std::is_same_v<decltype(argsort(variable(x))), Tensor<std::int64_t, D>>);
  CHECK_CLOSE(sort(x * -1.f + 1.f, 0).indices, locus_test::reference(argsort(x, 0, true)));
  const auto v = variable(x);
  const auto [values, indices] = sort(v);
  indices.fill_(0);
  CHECK_THROWS_AS(values.backward(x), StaleError);
}

LOCUS_DEVICE_TEST("two launches beside the device's sort; one backward, two of topk", D) {
  const auto x = variable(sample<float, D>({1, 30}, 1));
  const auto g = sample<float, D>({1, 30}, 2);
  LaunchLog log;
  const auto sorted = sort(x);
  (void)argsort(x);
  CHECK(log.launches() == 4);
  const auto top = topk(x, 4);
  CHECK(log.launches() == 6);
  sorted.values.backward(g);
  CHECK(log.launches() == 7);
  x.zero_grad();
  top.values.backward(g.slice(1, 0, 4));
  CHECK(log.launches() == 9);
}

LOCUS_DEVICE_TEST("what does not fit is refused by name", D) {
  const auto x = sample<float, D>({2, 3});
  CHECK_THROWS_WITH_AS((void)sort(x, 2), doctest::Contains("sort: axis 2 is out of range"), IndexError);
  CHECK_THROWS_WITH_AS((void)argsort(x, -3), doctest::Contains("argsort: axis -3"), IndexError);
  CHECK_THROWS_AS((void)topk(x, 1, 2), IndexError);
  CHECK_THROWS_WITH_AS((void)topk(x, 4), doctest::Contains("expected 0 to 3"), ArgumentError);
  CHECK_THROWS_AS((void)topk(x, 3, 0), ArgumentError);
  CHECK_THROWS_AS((void)topk(x, -1), ArgumentError);
  const auto huge = Tensor<float, D>({1}).expand({std::int64_t{1} << 31});
  CHECK_THROWS_WITH_AS((void)sort(huge), doctest::Contains("2147483648 elements along axis 0"), ArgumentError);
}

#if !LOCUS_CUDA
TEST_CASE("a program without CUDA says so where it sorts on Cuda") {
  std::uint32_t* const none = nullptr;
  CHECK_THROWS_AS(Sorting<Cuda>::order({}, none, none, 1, 1, 32, 1), CudaUnavailable);
  CHECK_THROWS_AS(Sorting<Cuda>::select({}, static_cast<bool*>(nullptr), 1, nullptr), CudaUnavailable);
  CHECK_THROWS_AS((void)sort(Tensor<float, Cuda>({3})), CudaUnavailable);
}
#endif

LOCUS_DEVICE_TEST("order statistics, with their gradients, are PyTorch's", D) {
  const auto x = variable(golden::tensor<double, D>("statistics_x"));
  const auto check = [&](const char* name, const auto& y) {
    x.zero_grad();
    CHECK_GOLDEN(name, y, ({"x"}), x);
  };
  check("kthvalue", kthvalue(x, 2, 1).values);
  CHECK_CLOSE(kthvalue(x, 2, 1).indices, golden::reference("kthvalue_indices"));
  check("median", median(x, 0).values);
  CHECK_CLOSE(median(x, 0).indices, golden::reference("median_indices"));
  CHECK_CLOSE(mode(golden::tensor<std::int64_t, D>("mode_x"), 1).values, golden::reference("mode"));
  check("quantile_linear", quantile(x, 0.3, 1));
  check("quantile_lower", quantile(x, 0.3, 1, false, Interpolation::lower));
  check("quantile_higher", quantile(x, 0.3, 1, false, Interpolation::higher));
  check("quantile_nearest", quantile(x, 0.3, 1, false, Interpolation::nearest));
  check("quantile_midpoint", quantile(x, 0.3, 1, false, Interpolation::midpoint));
  check("quantile_list", quantile(x, std::vector<double>{0, 0.5, 0.9}, 2, true));
  check("quantile_all", quantile(x, 0.25));
}

LOCUS_DEVICE_TEST("quantiles between numbers whose distance is no number of the type", D) {
  const auto check = [](auto most) {
    using T = decltype(most);
    const double m = convert<double>(most);
    const auto x = variable(locus_test::tensor<T, D>({2}, {-m, m}));
    const auto found = [&](double q, Interpolation how) {
      return convert<double>(quantile(x.value(), q, 0, false, how).item()) / m;
    };
    CHECK(found(0.5, Interpolation::linear) == 0);
    CHECK(found(0.25, Interpolation::linear) == doctest::Approx(-0.5).epsilon(1e-2));
    CHECK(found(0.75, Interpolation::linear) == doctest::Approx(0.5).epsilon(1e-2));
    CHECK(found(0.25, Interpolation::midpoint) == 0);
    CHECK(found(1, Interpolation::linear) == 1);
    quantile(x, 0.25).backward();
    CHECK_CLOSE(x.grad(), {0.75, 0.25});
  };
  check(3e38f);
  check(1.7e308);
  check(convert<bfloat16>(3e38));
}

LOCUS_DEVICE_TEST("order statistics beside NaN and infinity, of integers, and what they refuse", D) {
  const auto x = locus_test::tensor<float, D>({2, 4}, {3, not_a_number, 1, 1, infinite, infinite, 2, infinite});
  const auto y = median(x, 1, true);
  CHECK_CLOSE(y.values, locus_test::Reference({2, 1}, {not_a_number, infinite}));
  CHECK_CLOSE(y.indices.select(0, 0), {1});
  CHECK_CLOSE(kthvalue(x, 1, 1).values, {1, 2});
  CHECK_CLOSE(quantile(x, 0.5, 1), {not_a_number, infinite});
  CHECK_CLOSE(mode(x, 1).values, {1, infinite});
  CHECK_CLOSE(mode(x, 1).indices, {3, 3});
  CHECK_CLOSE(mode(locus_test::tensor<std::int32_t, D>({3, 2}, {4, 1, 4, 2, 5, 3}), 0).values, {4, 1});
  CHECK_THROWS_AS((void)kthvalue(x, 0, 1), ArgumentError);
  CHECK_THROWS_WITH_AS((void)kthvalue(x, 5, 1), "kthvalue: k is 5 for a tensor of shape (2, 4); expected 1 to 4",
                       ArgumentError);
  CHECK_THROWS_AS((void)quantile(x, 1.5, 1), ArgumentError);
  CHECK_THROWS_AS((void)quantile(x, not_a_number, 1), ArgumentError);
  CHECK_THROWS_AS((void)median(x.slice(0, 0, 0), 0), ShapeError);
  CHECK_THROWS_AS((void)mode(x.slice(0, 0, 0), 0), ShapeError);
  CHECK_THROWS_AS((void)median(x, 2), IndexError);
}
