// Runs on: host, cuda (operations), reference.
// unique and nonzero against the standard library.

#include <locus/autograd/expression.hpp>
#include <locus/ops/isin.hpp>
#include <locus/ops/masked_select.hpp>
#include <locus/ops/unique.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/sorting.hpp>

#include <map>

using namespace locus;
using locus_test::not_a_number;
using locus_test::Reference;
using locus_test::sample;

namespace {

/// Checks values, counts and inverse of a tensor without NaN.
template <class T, class D>
void check_unique(const Tensor<T, D>& x) {
  CAPTURE(to_string(x.shape()));
  const auto elements = locus_test::reference(x).values;
  std::map<double, double> occurrences;
  for (const double value : elements) ++occurrences[value];
  std::vector<double> values, counts, inverse;
  for (const auto& [value, count] : occurrences) values.push_back(value), counts.push_back(count);
  for (const double value : elements)
    inverse.push_back(static_cast<double>(std::lower_bound(values.begin(), values.end(), value) - values.begin()));
  const auto found = unique(x, {.return_inverse = true, .return_counts = true});
  CHECK_CLOSE(found.values, Reference({static_cast<std::int64_t>(values.size())}, values), 0.0);
  CHECK_CLOSE(found.counts, Reference({static_cast<std::int64_t>(values.size())}, counts));
  CHECK_CLOSE(found.inverse, Reference(x.shape(), inverse));
}

template <class T, class D>
void check_nonzero(const Tensor<T, D>& x) {
  CAPTURE(to_string(x.shape()));
  const auto elements = locus_test::reference(x).values;
  std::vector<double> expected;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] == 0) continue;
    ++count;
    auto rest = static_cast<std::int64_t>(i), after = x.elements();
    for (int d = 0; d < x.rank(); ++d) {
      after /= x.size(d);
      expected.push_back(static_cast<double>(rest / after));
      rest %= after;
    }
  }
  CHECK_CLOSE(nonzero(x), Reference({count, x.rank()}, expected));
}

}  // namespace

LOCUS_DEVICE_TEST("distinct elements of every type, their counts, and which one each element is", D) {
  check_unique(sample<float, D>({300}, 2));
  if constexpr (locus_test::all_dtypes<D>) check_unique(sample<half, D>({500}, 7, -0.1, 0.1));
  if constexpr (HostAccessible<D>) {
    check_unique(sample<std::int32_t, D>({1000}, 1, -20, 20));
    check_unique(sample<std::int64_t, D>({7, 9, 3}, 3, -9e15, 9e15));
    check_unique(sample<std::uint8_t, D>({40, 30}, 4, 0, 255));
    check_unique(sample<bool, D>({77}, 5));
    check_unique(sample<double, D>({10, 20}, 6));
    check_unique(sample<bfloat16, D>({500}, 8, -0.1, 0.1));
  }
  check_unique(locus_test::tensor<float, D>({2, 3}, {3, 1, 4, 1, 5, 3}).transpose());
  check_unique(Tensor<float, D>({100}).fill_(2.f));
  check_unique(locus_test::tensor<float, D>({}, {4}));
}

LOCUS_DEVICE_TEST("0 and -0 are one value, and all NaN are one, the last", D) {
  const auto x = locus_test::tensor<float, D>({7}, {not_a_number, -0., 3, 0., -not_a_number, -2, 3});
  const auto found = unique(x, {.return_inverse = true, .return_counts = true});
  CHECK_CLOSE(found.values, {-2, 0, 3, not_a_number});
  CHECK(std::signbit(locus_test::reference(found.values).values[1]));
  CHECK_CLOSE(found.counts, {1, 2, 2, 2});
  CHECK_CLOSE(found.inverse, {3, 1, 2, 1, 3, 0, 2});
}

LOCUS_DEVICE_TEST("what is not asked for is not computed, and nothing has no distinct elements", D) {
  const auto x = sample<float, D>({5});
  const auto found = unique(trace(x) * 2.f);
  static_assert(std::is_same_v<decltype(found.values), Tensor<float, D>>);
  CHECK(found.values.elements() == 5);
  CHECK(found.inverse.empty());
  CHECK(found.counts.empty());
  const auto nothing = unique(Tensor<float, D>({3, 0}), {.return_inverse = true, .return_counts = true});
  CHECK(nothing.values.shape() == Shape{0});
  CHECK(nothing.counts.shape() == Shape{0});
  CHECK(nothing.inverse.shape() == Shape{3, 0});
}

LOCUS_DEVICE_TEST("nonzero elements of every type and of views, in row-major order", D) {
  check_nonzero(sample<std::int32_t, D>({5, 7, 3}, 1, -1, 1));
  check_nonzero(sample<bool, D>({2000}, 2));
  if constexpr (HostAccessible<D>) {
    check_nonzero(sample<std::uint8_t, D>({6, 4}, 3, 0, 2));
    check_nonzero(sample<std::int64_t, D>({6, 4, 1, 2}, 4, -1, 1));
    check_nonzero(sample<float, D>({30}, 5));
    check_nonzero(sample<half, D>({30}, 5).template as<std::int32_t>().template as<half>());
  }
  check_nonzero(sample<std::int32_t, D>({5, 7}, 6, -1, 1).transpose());
  check_nonzero(sample<std::int32_t, D>({5, 7}, 6, -1, 1).slice(1, 1, to_end, 2));
  check_nonzero(Tensor<float, D>({20}).fill_(0.f));
  check_nonzero(Tensor<float, D>({3, 0}));
  CHECK(nonzero(locus_test::tensor<float, D>({}, {4})).shape() == Shape{1, 0});
  CHECK(nonzero(locus_test::tensor<float, D>({}, {0})).shape() == Shape{0, 0});
  CHECK_CLOSE(nonzero(locus_test::tensor<float, D>({4}, {0, not_a_number, -0., 1})), {{2, 1}, {1, 3}});
  const auto x = locus_test::tensor<float, D>({2, 2}, {1, 5, 7, 2});
  CHECK_CLOSE(nonzero(x > 2.f), Reference({2, 2}, {0, 1, 1, 0}));
}

LOCUS_DEVICE_TEST("the launches that are promised", D) {
  const auto x = sample<float, D>({1, 30}, 1);
  const auto mask = sample<bool, D>({30}, 1);
  LaunchLog log;
  (void)unique(x);
  CHECK(log.launches() == 5);
  (void)unique(x, {.return_inverse = true, .return_counts = true});
  CHECK(log.launches() == 12);
  (void)nonzero(x);
  CHECK(log.launches() == 15);
  (void)nonzero(mask);
  CHECK(log.launches() == 17);
}

LOCUS_DEVICE_TEST("elements among values, and those where a mask holds, with their gradients", D) {
  const auto x = locus_test::tensor<float, D>({2, 3}, {1, -0., 2, not_a_number, 5, 2});
  const auto values = locus_test::tensor<float, D>({2, 2}, {2, 0, not_a_number, 7});
  CHECK_CLOSE(isin(x.transpose(), values), Reference({3, 2}, {0, 0, 1, 0, 1, 1}));
  CHECK_CLOSE(isin(x, values.slice(0, 0, 1), true), Reference({2, 3}, {1, 0, 0, 1, 1, 0}));
  CHECK_CLOSE(isin(x, values.slice(0, 0, 0)), Reference({2, 3}, {0, 0, 0, 0, 0, 0}));
  CHECK_CLOSE(
      isin(locus_test::tensor<std::int64_t, D>({3}, {3, -1, 1}), locus_test::tensor<std::int64_t, D>({2}, {-1, 3})),
      {1, 1, 0});
  const auto given = variable(golden::tensor<double, D>("strided_x"));
  CHECK_GOLDEN("masked_select", masked_select(given, golden::tensor<bool, D>("mask_rows")), ({"x"}), given);
  CHECK_CLOSE(masked_select(x, locus_test::tensor<bool, D>({2, 3}, {0, 1, 0, 0, 1, 1})), {0, 5, 2});
  CHECK(masked_select(x, Tensor<bool, D>({1, 3}).fill_(false)).shape() == Shape{0});
  CHECK_THROWS_AS((void)masked_select(x, Tensor<bool, D>({2, 2})), ShapeError);
}

LOCUS_DEVICE_TEST("distinct elements in the order in which they occur, and where each does first", D) {
  const auto x = locus_test::tensor<float, D>({2, 4}, {3, 1, 3, -2, 1, 1, 7, -2});
  const auto sorted = unique(x, {.return_first = true});
  CHECK_CLOSE(sorted.values, {-2, 1, 3, 7});
  CHECK_CLOSE(sorted.first, {3, 1, 0, 6});
  const auto found = unique(x, {.return_inverse = true, .return_counts = true, .sorted = false});
  CHECK_CLOSE(found.values, {3, 1, -2, 7});
  CHECK_CLOSE(found.counts, {2, 3, 2, 1});
  CHECK_CLOSE(found.inverse, Reference({2, 4}, {0, 1, 0, 2, 1, 1, 3, 2}));
  CHECK(found.first.empty());
  const auto none = unique(x.slice(0, 0, 0), {.return_inverse = true, .return_first = true, .sorted = false});
  CHECK(none.values.empty());
  CHECK(none.first.empty());
}

LOCUS_DEVICE_TEST("distinct slices along an axis are PyTorch's", D) {
  const auto x = golden::tensor<float, D>("unique_x");
  for (const int axis : {0, 1}) {
    const auto expected = [&](const char* part) { return golden::reference("unique_" + std::to_string(axis) + part); };
    const auto found = unique(x, axis, {.return_inverse = true, .return_counts = true, .return_first = true});
    CHECK_CLOSE(found.values, expected("_values"), 0.0);
    CHECK_CLOSE(found.inverse, expected("_inverse"));
    CHECK_CLOSE(found.counts, expected("_counts"));
    CHECK_CLOSE(index_select(x, axis, found.first), expected("_values"), 0.0);
    CHECK_CLOSE(unique(x.transpose(), 1 - axis).values.transpose(), expected("_values"), 0.0);
    CHECK_CLOSE(unique(trace(x) * 2.f, axis - 2).values / 2.f, expected("_values"), 0.0);
  }
}

LOCUS_DEVICE_TEST("distinct slices of three dimensions, in both orders, of NaN, and of nothing", D) {
  const auto x = locus_test::tensor<std::int32_t, D>({2, 4, 3}, {5, 1, 2, 0, 9, 9, 5, 1, 2, 0, 9, 8,  //
                                                                 7, 7, 7, 1, 1, 1, 7, 7, 7, 1, 1, 1});
  const UniqueOptions all{.return_inverse = true, .return_counts = true, .return_first = true};
  const auto sorted = unique(x, -2, all);
  CHECK_CLOSE(sorted.values, Reference({2, 3, 3}, {0, 9, 8, 0, 9, 9, 5, 1, 2, 1, 1, 1, 1, 1, 1, 7, 7, 7}));
  CHECK_CLOSE(sorted.inverse, {2, 1, 2, 0});
  CHECK_CLOSE(sorted.counts, {1, 1, 2});
  CHECK_CLOSE(sorted.first, {3, 1, 0});
  const auto found = unique(x, 1, {.return_inverse = true, .return_counts = true, .sorted = false});
  CHECK_CLOSE(found.values, Reference({2, 3, 3}, {5, 1, 2, 0, 9, 9, 0, 9, 8, 7, 7, 7, 1, 1, 1, 1, 1, 1}));
  CHECK_CLOSE(found.inverse, {0, 1, 0, 2});
  CHECK_CLOSE(found.counts, {2, 1, 1});
  CHECK(found.first.empty());
  CHECK(unique(x, 0, {}).inverse.empty());
  const auto odd = locus_test::tensor<float, D>({3, 2}, {1, not_a_number, -0., 1, 1, -not_a_number});
  const auto rows = unique(odd, 0, all);
  CHECK_CLOSE(rows.values, Reference({2, 2}, {0, 1, 1, not_a_number}));
  CHECK_CLOSE(rows.inverse, {1, 0, 1});
  CHECK_CLOSE(unique(Tensor<float, D>({3, 0}), 0, all).counts, {3});
  CHECK(unique(Tensor<float, D>({3, 0}), 1, all).values.shape() == Shape{3, 0});
  CHECK(unique(Tensor<float, D>({0, 3}), 0, all).values.shape() == Shape{0, 3});
  CHECK_THROWS_AS((void)unique(x, 3), IndexError);
  CHECK_THROWS_AS((void)unique(Tensor<float, D>(Shape{}), 0), IndexError);
}

LOCUS_DEVICE_TEST("many distinct rows are those of a sorted list", D) {
  const Tensor<std::int32_t, D> x = sample<std::int32_t, D>({400, 5}, 1, -2, 2);
  const auto numbers = locus_test::reference(x).values;
  std::map<std::vector<double>, double> occurrences;
  for (std::size_t i = 0; i < numbers.size(); i += 5)
    ++occurrences[{numbers.begin() + static_cast<std::ptrdiff_t>(i),
                   numbers.begin() + static_cast<std::ptrdiff_t>(i + 5)}];
  std::vector<double> values, counts;
  for (const auto& [row, count] : occurrences) {
    values.insert(values.end(), row.begin(), row.end());
    counts.push_back(count);
  }
  const auto found = unique(x, 0, {.return_inverse = true, .return_counts = true});
  const auto count = static_cast<std::int64_t>(counts.size());
  CHECK_CLOSE(found.values, Reference({count, 5}, values));
  CHECK_CLOSE(found.counts, Reference({count}, counts));
  CHECK_CLOSE(index_select(found.values, 0, found.inverse), locus_test::reference(x));
}
