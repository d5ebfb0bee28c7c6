// Runs on: host, cuda (tensors), reference.
#include <locus/expr/operators.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

namespace {

double added(double a, double b) { return a + b; }

/// Throws at one element of a launch, when others are stored already.
struct FailsAtSeven {
  template <class T>
  T operator()(T x) const {
    if (x == T(7)) fail<ArgumentError>({"seven"});
    return x;
  }
};

template <class T, class D>
void check_updates() {
  CAPTURE(dtype_name<T>());
  const auto x = tensor<T, D>({2, 2}, {1, 2, 3, 4}), row = tensor<T, D>({2}, {2, 3});
  x += row;
  CHECK_CLOSE(x, {{2, 2}, {3, 5, 5, 7}});
  x -= 1;
  CHECK_CLOSE(x, {{2, 2}, {2, 4, 4, 6}});
  x *= row;
  CHECK_CLOSE(x, {{2, 2}, {4, 12, 8, 18}});
  x /= 2;
  CHECK_CLOSE(x, {{2, 2}, {2, 6, 4, 9}});
  x %= row;
  CHECK_CLOSE(x, {{2, 2}, {0, 0, 0, 0}});
}

}  // namespace

LOCUS_DEVICE_TEST("in-place arithmetic of every type", D) {
  check_updates<float, D>();
  if constexpr (all_dtypes<D>) {
    check_updates<double, D>();
    check_updates<half, D>();
    check_updates<bfloat16, D>();
    check_updates<std::int32_t, D>();
    check_updates<std::int64_t, D>();
    check_updates<std::uint8_t, D>();
  }
}

LOCUS_DEVICE_TEST("an update with what is not named is one launch and no allocation", D) {
  const auto x = sample<float, D>({5, 3}, 1), a = sample<float, D>({5, 3}, 2), b = sample<float, D>({3}, 3);
  const auto expected = reference_map([](double p, double q, double r) { return p - 0.5 * (q * r + q); }, reference(x),
                                      reference(a), reference(b));
  LaunchLog launches;
  RequestLog requests;
  x -= 0.5f * (a * b + a);
  CHECK(launches.launches() == 1);
  if constexpr (std::is_same_v<D, Counting>) CHECK(requests.allocations() == 0);
  CHECK_CLOSE(x, expected);
  const auto doubled = reference_map(added, expected, expected);
  x += x;
  CHECK(launches.launches() == 2);
  if constexpr (std::is_same_v<D, Counting>) CHECK(requests.allocations() == 0);
  CHECK_CLOSE(x, doubled);
}

LOCUS_DEVICE_TEST("an update through a view changes the elements that the view shows, and no others", D) {
  const auto x = tensor<float, D>({2, 3}, {1, 2, 3, 4, 5, 6});
  x.select(1, 1) += 10;
  CHECK_CLOSE(x, {{2, 3}, {1, 12, 3, 4, 15, 6}});
  x.slice(1, 0, 3, 2) *= tensor<float, D>({2, 1}, {2, -1});
  CHECK_CLOSE(x, {{2, 3}, {2, 12, 6, -4, 15, -6}});
  x.transpose() -= tensor<float, D>({2}, {1, 2});
  CHECK_CLOSE(x, {{2, 3}, {1, 11, 5, -6, 13, -8}});
  x.reshape({6}).slice(0, 4) += x.reshape({6}).slice(0, 0, 2);
  CHECK_CLOSE(x, {{2, 3}, {1, 11, 5, -6, 14, 3}});
}

LOCUS_DEVICE_TEST("operands that share memory with the target in another layout are read before it is written", D) {
  for (const std::int64_t n : {3, 40, 200}) {
    const auto x = sample<float, D>({n, n});
    auto before = x.clone();
    auto sum = x.transpose() + x;
    auto symmetric = x;
    symmetric = sum;
    CHECK_CLOSE(symmetric, reference_map(added, reference(before.transpose()), reference(before)));

    x += x.transpose();
    CHECK_CLOSE(x, reference_map(added, reference(before), reference(before.transpose())));

    before = x.clone();
    x += x.select(0, 0);
    CHECK_CLOSE(x, reference_map(added, reference(before), reference(before.select(0, 0))));

    before = x.clone();
    x.slice(0, 1) += x.slice(0, 0, -1);
    CHECK_CLOSE(x.slice(0, 1), reference_map(added, reference(before.slice(0, 1)), reference(before.slice(0, 0, -1))));

    before = x.clone();
    x += x.transpose() * 0.5f + x.select(1, 0);
    CHECK_CLOSE(x, reference_map([](double p, double q, double r) { return p + 0.5 * q + r; }, reference(before),
                                 reference(before.transpose()), reference(before.select(1, 0))));
  }
}

LOCUS_DEVICE_TEST("every update counts as one version, for every handle to the elements", D) {
  const auto x = sample<float, D>({4}), view = x.slice(0, 2), other = x.clone();
  const auto start = x.version();
  x += 1;
  CHECK(x.version() == start + 1);
  CHECK(view.version() == start + 1);
  view *= x.slice(0, 0, 2);
  CHECK(x.version() == start + 2);
  CHECK(other.version() == 0);
}

LOCUS_DEVICE_TEST("an update that is refused changes nothing", D) {
  const auto x = sample<float, D>({2, 3});
  const auto before = reference(x);
  const auto version = x.version();
  CHECK_THROWS_AS((x += sample<float, D>({2, 2})), ShapeError);
  CHECK_THROWS_AS((x += sample<float, D>({4, 2, 3})), ShapeError);
  CHECK_THROWS_AS((x.select(0, 0) += x), ShapeError);
  CHECK_THROWS_AS((x.select(0, 0).expand({5, 3}) += 1), ArgumentError);
  CHECK(x.version() == version);
  CHECK_CLOSE(x, before);
  CHECK_NOTHROW(sample<float, D>({0, 3}) += 1);
  CHECK_NOTHROW((Tensor<float, D>() *= 2));
}

template <class A, class B>
concept Updatable = requires(A a, B b) { a += b; };

TEST_CASE("updates refuse other places, other types and fractions for integers") {
  using Floats = Tensor<float>;
  using Ints = Tensor<std::int32_t>;
  CHECK(Updatable<Floats, Floats>);
  CHECK(Updatable<Floats, double>);
  CHECK(Updatable<Ints, int>);
  CHECK_FALSE(Updatable<Ints, float>);
  CHECK_FALSE(Updatable<Floats, Ints>);
  CHECK_FALSE(Updatable<Floats, Tensor<float, Counting>>);
}

LOCUS_DEVICE_TEST("an update of more elements than a block takes changes each once", D) {
  const auto dense = full<float, D>({5001}, 1);
  dense += 2.f;
  CHECK(sum(dense).item() == 3 * 5001);
  const auto wide = full<float, D>({60, 200}, 1);
  wide.slice(1, 0, 100) *= 3.f;  // rows of whole vectors
  wide.slice(1, 101, 200) += 4.f;
  CHECK(sum(wide).item() == 60 * (3 * 100 + 1 + 5 * 99));
}

TEST_CASE("what a failed update may have written counts as changed: an expression of it is stale") {
  const auto x = zeros({16}), y = arange(16);
  const auto pending = x + 1;
  CHECK_THROWS_AS((void)(x += elementwise(FailsAtSeven{}, y)), ArgumentError);
  CHECK_THROWS_AS((void)pending.eval(), StaleError);
}
