// Runs on: host, cuda (models).
#include <locus/data/loading/loader.hpp>
#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/expr/operators.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/view.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/from.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

namespace {
Tensor<float> table() { return from({{0, 1}, {10, 11}, {20, 21}, {30, 31}}); }
}  // namespace

TEST_CASE("tensors as a data set: rows of any number of tensors, of any element types") {
  const data::TensorDataset dataset{table(), from<std::int64_t>({5, 6, 7, 8}), from<std::int64_t>({1, 0, 1, 0}) == 1};
  CHECK(dataset.size() == 4);
  CHECK(dataset.fields() == data::Fields<float, std::int64_t, bool>{{2}, {}, {}});
  const auto [x, y, flag] = data::sample(dataset, 2);
  CHECK(x(1) == 21);
  CHECK(y.item() == 7);
  CHECK(flag.item());
  CHECK_THROWS_WITH_AS((void)data::sample(dataset, 4), doctest::Contains("sample 4 of 4"), IndexError);
}

TEST_CASE("tensors of other lengths, or without a length, are refused") {
  CHECK_THROWS_WITH_AS((data::TensorDataset{table(), zeros({3})}), doctest::Contains("(4, 2) and (3,)"), ShapeError);
  CHECK_THROWS_AS((data::TensorDataset{zeros(Shape{})}), ShapeError);
}

TEST_CASE("expressions and strided views become data sets of what they hold") {
  const data::TensorDataset dataset{table() * 2.f, table().select(1, 1)};
  const auto [x, y] = data::sample(dataset, 3);
  CHECK(x(0) == 60);
  CHECK(y.item() == 31);
}

LOCUS_DEVICE_TEST("a loader delivers them on the device, in batches that decompose", D) {
  const data::TensorDataset dataset{table(), from<std::int64_t>({5, 6, 7, 8})};
  std::int64_t next = 0;
  for (auto [x, y] : data::loader<D>(dataset, {.batch_size = 3})) {
    static_assert(std::is_same_v<decltype(x), Tensor<float, D>> &&
                  std::is_same_v<decltype(y), Tensor<std::int64_t, D>>);
    const auto numbers = host(x);
    const auto labels = host(y);
    CHECK(x.shape() == Shape{next == 0 ? 3 : 1, 2});
    for (std::int64_t i = 0; i < y.size(0); ++i, ++next) {
      CHECK(numbers(i, 1) == static_cast<double>(10 * next + 1));
      CHECK(labels(i) == next + 5);
    }
  }
  CHECK(next == 4);
}

TEST_CASE("map makes other samples of samples") {
  const data::TensorDataset dataset{table(), from<std::int64_t>({5, 6, 7, 8})};
  const auto sums = data::map(dataset, [](const auto& x, const auto& y) { return Tuple(sum(x), x * 2.f, y == 6); });
  CHECK(sums.fields() == data::Fields<float, float, bool>{{}, {2}, {}});
  for (auto [total, twice, is_six] : data::loader<Cpu>(sums, {.batch_size = 4})) {
    CHECK(total(3) == 61);
    CHECK(twice(2, 1) == 42);
    CHECK(is_six(1));
    CHECK_FALSE(is_six(2));
  }
  const auto one = data::map(sums, [](auto total, auto, auto) { return total; });
  CHECK(get<0>(data::sample(one, 1)).item() == 21);
}

TEST_CASE("a sample that changes its shape is refused, by its number") {
  const auto growing = data::map(data::TensorDataset{from<std::int64_t>({2, 2, 3})}, [](const auto& n) {
    return zeros({n.item(), 4});
  });
  CHECK_THROWS_WITH_AS((void)data::sample(growing, 2),
                       doctest::Contains("tensor 0 of sample 2 has shape (3, 4), but (2, 4) in sample 0"), ShapeError);
  int batches = 0;
  const auto run = [&] {
    for (const auto& batch : data::loader<Cpu>(growing, {.batch_size = 1, .workers = 1}))
      batches += get<0>(batch).size(1) == 2;
  };
  CHECK_THROWS_AS(run(), ShapeError);
  CHECK(batches == 2);
  CHECK_THROWS_WITH_AS((void)data::map(data::TensorDataset{zeros({0, 2})}, [](auto x) { return x; }),
                       "map: the data set has no samples; expected at least one, which tells the shapes of the results",
                       IndexError);
}
