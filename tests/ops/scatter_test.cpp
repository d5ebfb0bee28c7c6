// Runs on: host, cuda (products), reference.
// Elements put and added by index, against PyTorch, and the lookups beside them.

#include <locus/autograd/gradcheck.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/ops/as_strided.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/scatter.hpp>
#include <locus/ops/search.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

namespace {
template <class D>
auto indices(const Shape& shape, const std::vector<double>& values) {
  return tensor<std::int64_t, D>(shape, values);
}
template <class D>
auto golden_indices(const char* name) {
  return golden::tensor<std::int64_t, D>(name);
}
}  // namespace

LOCUS_DEVICE_TEST("what is put and added by index, with its gradients, is PyTorch's", D) {
  const auto x = variable(golden::tensor<double, D>("put_x"));
  const auto check = [&](const char* name, const char* source_name, const auto& put) {
    x.zero_grad();
    const auto source = variable(golden::tensor<double, D>(source_name));
    CHECK_GOLDEN(name, put(source), ({"x", "source"}), x, source);
  };
  const auto list = golden_indices<D>("put_twice");
  check("index_add", "put_source", [&](const auto& s) { return index_add(x, 0, list, s); });
  check("scatter_add_list", "put_source", [&](const auto& s) {
    return scatter_add(x, 0, list.reshape({5, 1, 1}).expand({5, 3, 2}), s);
  });
  check("index_copy", "put_few", [&](const auto& s) { return index_copy(x, 1, golden_indices<D>("put_once"), s); });
  check("scatter_add", "put_few", [&](const auto& s) { return scatter_add(x, -2, golden_indices<D>("put_index"), s); });
  check("scatter_add_smaller", "put_part",
        [&](const auto& s) { return scatter_add(x, 0, golden_indices<D>("put_smaller"), s); });
  check("scatter", "put_few", [&](const auto& s) { return scatter(x, 1, golden_indices<D>("put_distinct"), s); });
  const auto rows = golden_indices<D>("put_rows"), columns = golden_indices<D>("put_columns");
  check("index_put_add", "put_values", [&](const auto& s) { return index_put(x, {rows, columns}, s, true); });
  check("index_put", "put_single", [&](const auto& s) { return index_put(x, {rows, columns.slice(0, 0, 2)}, s); });
  x.zero_grad();
  CHECK_GOLDEN("take", take(x, golden_indices<D>("take_places")), ({"x"}), x);
  x.zero_grad();
  CHECK_GOLDEN("take_along", take_along_axis(x, golden_indices<D>("take_along_index"), 1), ({"x"}), x);
}

LOCUS_DEVICE_TEST("of what is written to one place the last stays, and alone gets a gradient", D) {
  const auto x = variable(zeros<float>({3, 2}, D{})), source = variable(arange<float, D>(8).reshape({4, 2}));
  const auto y = index_copy(x, 0, indices<D>({4}, {2, 0, 2, 2}), source);
  CHECK_CLOSE(y, Reference({3, 2}, {2, 3, 0, 0, 6, 7}));
  y.backward(arange<float, D>(6).reshape({3, 2}));
  CHECK_CLOSE(x.grad(), Reference({3, 2}, {0, 0, 2, 3, 0, 0}));
  CHECK_CLOSE(source.grad(), Reference({4, 2}, {0, 0, 0, 1, 0, 0, 4, 5}));
  source.zero_grad();
  const auto z = scatter(x, 1, indices<D>({3, 2}, {1, 1, 0, 1, 0, 0}), source.slice(0, 0, 3));
  CHECK_CLOSE(z, Reference({3, 2}, {0, 1, 2, 3, 5, 0}));
  sum(z).backward();
  CHECK_CLOSE(source.grad(), Reference({4, 2}, {0, 1, 1, 1, 0, 1, 0, 0}));
}

LOCUS_DEVICE_TEST("many indices add up in their order, as do gradients of lookups by them", D) {
  const std::int64_t n = 300, m = 5000;
  std::vector<double> list(static_cast<std::size_t>(m));
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = static_cast<double>(i * i * 7 % 299);  // none is 299
  const auto at = indices<D>({m}, list);
  for (const std::int64_t inner : {1, 20}) {
    const auto source = sample<float, D>({m, inner}, 3);
    const auto x = sample<float, D>({n, inner}, 4);
    const auto from = reference(source).values;
    auto start = reference(x).values;
    std::vector<float> sums(start.begin(), start.end()), gradient(start.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::size_t place =
          static_cast<std::size_t>(list[i / static_cast<std::size_t>(inner)]) * static_cast<std::size_t>(inner) +
          i % static_cast<std::size_t>(inner);
      sums[place] += static_cast<float>(from[i]);
      gradient[place] += static_cast<float>(from[i]);
    }
    const Reference expected({n, inner}, {sums.begin(), sums.end()}),
        expected_gradient({n, inner}, {gradient.begin(), gradient.end()});
    CHECK_CLOSE(index_add(x, 0, at, source), expected, 0);
    auto put = start;
    for (std::size_t i = 0; i < from.size(); ++i)
      put[static_cast<std::size_t>(list[i / static_cast<std::size_t>(inner)]) * static_cast<std::size_t>(inner) +
          i % static_cast<std::size_t>(inner)] = from[i];
    CHECK_CLOSE(index_copy(x, 0, at, source), Reference({n, inner}, put), 0);
    CHECK_CLOSE(scatter_add(x, 0, at.reshape({m, 1}).expand({m, inner}).contiguous(), source), expected, 0);
    CHECK_CLOSE(index_add(x.transpose(), 1, at, source.transpose()).transpose(), expected, 0);
    const auto v = variable(x), w = variable(x);
    index_select(v, 0, at).backward(source);
    CHECK_CLOSE(v.grad(), expected_gradient, 0);
    gather(w, 0, at.reshape({m, 1}).expand({m, inner})).backward(source);
    CHECK_CLOSE(w.grad(), expected_gradient, 0);
  }
}

LOCUS_DEVICE_TEST("long runs of equal indices are added up in parts, by several threads", D) {
  // Each place's count of indices, in an order that mixes them; places that none names stay.
  const std::vector<std::int64_t> counts = {130, 1, 0, 128, 129, 700, 127, 256, 0, 257, 300};
  std::vector<double> list;
  for (std::size_t place = 0; place < counts.size(); ++place)
    list.insert(list.end(), static_cast<std::size_t>(counts[place]), static_cast<double>(place));
  for (std::size_t i = 0; i < list.size(); ++i) std::swap(list[i], list[i * 1237 % list.size()]);
  const auto m = static_cast<std::int64_t>(list.size()), n = static_cast<std::int64_t>(counts.size());
  const auto at = indices<D>({m}, list);
  for (const std::int64_t inner : {1, 3}) {
    std::vector<double> numbers(static_cast<std::size_t>(m * inner)), sums(static_cast<std::size_t>(n * inner), 2);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<double>(i % 7) - 2;  // sums are exact in any order
      const auto columns = static_cast<std::size_t>(inner);
      sums[static_cast<std::size_t>(list[i / columns]) * columns + i % columns] += numbers[i];
    }
    const Reference expected({n, inner}, sums);
    const auto source = tensor<float, D>({m, inner}, numbers);
    CHECK_CLOSE(index_add(full<float, D>({n, inner}, 2), 0, at, source), expected, 0);
    CHECK_CLOSE(index_add(full<std::int64_t, D>({n, inner}, 2), 0, at, source.template as<std::int64_t>()), expected,
                0);
    CHECK_CLOSE(index_add(full<half, D>({n, inner}, 2), 0, at, source.template as<half>()), expected, 0);
  }
  // 1 is half of what 2^24 changes by: one thread would add nothing, and threads of 128 numbers add theirs together.
  constexpr float large = 1 << 24;
  const Tensor<float, D> numbers = ones<float, D>({1001});
  numbers.slice(0, 0, 1).fill_(large);
  const float sum =
      index_add(zeros<float, D>({2}), 0, zeros<std::int64_t, D>({1001}), numbers).slice(0, 0, 1).reshape({}).item();
  CHECK(sum >= (CostModel<D>::follows_indices ? large : large + 1000 - 128));
}

LOCUS_DEVICE_TEST("lookups and puts of integers, of 16-bit floats, of nothing and of scalars", D) {
  const auto x = tensor<std::int32_t, D>({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK_CLOSE(index_add(x, 1, indices<D>({2}, {2, 2}), x.slice(1, 0, 2)), Reference({2, 3}, {1, 2, 6, 4, 5, 15}));
  CHECK_CLOSE(scatter(x, 0, indices<D>({1, 3}, {1, 0, 1}), x.slice(0, 0, 1)), Reference({2, 3}, {1, 2, 3, 1, 5, 3}));
  const std::int64_t m = 3000;  // one and one and so on stops at 2048 as half
  CHECK_CLOSE(index_add(zeros<half>({2, 1}, D{}), 0, Tensor<std::int64_t, D>({m}).fill_(1), ones<half>({m, 1}, D{})),
              {{2, 1}, {0, 3000}});
  const auto part = indices<D>({2, 1}, {1, 1}).expand({2, 2});  // one list, expanded, but not over all of x
  CHECK_CLOSE(scatter_add(x, 0, part, x.slice(1, 0, 2)), Reference({2, 3}, {1, 2, 3, 9, 12, 6}));
  const auto none = Tensor<std::int64_t, D>({0});
  CHECK_CLOSE(index_add(x, 0, none, x.slice(0, 0, 0)), reference(x));
  CHECK_CLOSE(index_copy(x, 0, none, x.slice(0, 0, 0)), reference(x));
  CHECK(scatter_add(x.slice(0, 0, 0), 1, Tensor<std::int64_t, D>({0, 3}), x.slice(0, 0, 0)).shape() == Shape{0, 3});
  CHECK_CLOSE(take(x, indices<D>({}, {4})), Reference({}, {5}));
  const auto mask = tensor<bool, D>({3}, {1, 0, 1});
  CHECK_CLOSE(masked_fill(x, mask, 0), Reference({2, 3}, {0, 2, 0, 0, 5, 0}));
  CHECK_CLOSE(masked_fill(sample<float, D>({2, 3}) * 0.f, mask, -INFINITY),
              Reference({2, 3}, {-INFINITY, 0, -INFINITY, -INFINITY, 0, -INFINITY}));
  CHECK(gradcheck([&](const auto& v) { return masked_fill(v * v, mask, 3.); }, sample<double, D>({2, 3})));
}

LOCUS_DEVICE_TEST("places out of range throw where the host reads them, and are put nowhere elsewhere", D) {
  const auto x = sample<float, D>({3, 2}, 1), source = sample<float, D>({2, 2}, 2);
  const auto bad = indices<D>({2}, {-1, 3}), wide = indices<D>({2, 2}, {-1, 3, 4, -9});
  if constexpr (HostAccessible<D>) {
    CHECK_THROWS_WITH_AS((void)index_add(x, 0, bad, source),
                         "index_add: index -1 at position 0 is out of range; expected 0 to 2", IndexError);
    CHECK_THROWS_AS((void)index_copy(x, 0, bad, source), IndexError);
    CHECK_THROWS_AS((void)scatter(x, 0, wide, source), IndexError);
    CHECK_THROWS_AS((void)scatter_add(x, 0, wide, source), IndexError);
    CHECK_THROWS_AS((void)index_put(x, {bad}, source), IndexError);
    CHECK_THROWS_WITH_AS((void)take(x, indices<D>({1}, {6})),
                         "take: index 6 at position 0 is out of range; expected 0 to 5", IndexError);
  } else {
    const auto same = reference(x);
    CHECK_CLOSE(index_add(x, 0, bad, source), same);
    CHECK_CLOSE(index_copy(x, 0, bad, source), same);
    CHECK_CLOSE(scatter(x, 0, wide, source), same);
    CHECK_CLOSE(scatter_add(x, 0, wide, source), same);
    CHECK_CLOSE(index_put(x, {bad}, source, true), same);
  }
  CHECK_THROWS_AS((void)index_add(x, 0, wide, source), ShapeError);
  CHECK_THROWS_AS((void)index_copy(x, 1, bad, source), ShapeError);
  CHECK_THROWS_AS((void)scatter(x, 0, bad, source), ShapeError);
  CHECK_THROWS_AS((void)scatter_add(x, 1, indices<D>({4, 2}, std::vector<double>(8)), zeros<float>({4, 2}, D{})),
                  ShapeError);
  CHECK_THROWS_AS((void)index_put(x, {bad, bad, bad}, source), IndexError);
  CHECK_THROWS_AS((void)take_along_axis(x, bad, 0), ShapeError);
}

LOCUS_DEVICE_TEST("places among sorted numbers are PyTorch's, with NaN above all", D) {
  const auto rows = golden::tensor<double, D>("search_rows"), values = golden::tensor<double, D>("search_values");
  CHECK_CLOSE(searchsorted(rows, values), golden::reference("search_by_row"));
  CHECK_CLOSE(searchsorted(rows, values, true), golden::reference("search_by_row_right"));
  CHECK_CLOSE(bucketize(values, rows.select(0, 0), true), golden::reference("bucketize_right"));
  const auto sorted = tensor<float, D>({4}, {-1, 2, 2, NAN});
  CHECK_CLOSE(searchsorted(sorted, tensor<float, D>({2, 2}, {2, NAN, 9, -5}).transpose()),
              Reference({2, 2}, {1, 3, 3, 0}));
  CHECK_CLOSE(searchsorted(sorted, tensor<float, D>({2}, {2, NAN}), true), {3, 4});
  const auto place = searchsorted(sorted, 2.f, true);  // of a number
  CHECK(place.shape() == Shape{});
  CHECK(place.item() == 3);
  CHECK(bucketize(2, sorted).item() == searchsorted(sorted, tensor<float, D>({1}, {2})).item());
  CHECK_THROWS_WITH_AS((void)searchsorted(tensor<std::uint8_t, D>({1}, {2}), 300),
                       doctest::Contains("searchsorted: 300 is no value of uint8"), ArgumentError);
  CHECK_CLOSE(searchsorted(sorted.slice(0, 0, 0), tensor<float, D>({}, {2})), Reference({}, {0}));
  CHECK(searchsorted(rows, Tensor<double, D>({3, 0})).shape() == Shape{3, 0});
  CHECK_THROWS_AS((void)searchsorted(rows, values.slice(0, 1)), ShapeError);
  CHECK_THROWS_AS((void)searchsorted(Tensor<double, D>(Shape{}), values), ShapeError);
  CHECK_THROWS_AS((void)bucketize(values, rows), ShapeError);
}

LOCUS_DEVICE_TEST("strides of one's own overlap, add their gradients up, and reach no further than the tensor", D) {
  const auto x = variable(golden::tensor<double, D>("strided_x"));
  CHECK_GOLDEN("as_strided", as_strided(x, {2, 3, 2}, {1, 2, 4}, 2), ({"x"}), x);
  CHECK(as_strided(x, {2, 0}, {9, 1}).shape() == Shape{2, 0});
  CHECK_THROWS_WITH_AS(
      (void)as_strided(x, {2, 3}, {6, 3}, 1),
      "as_strided: shape (2, 3) with strides (6, 3) from element 1 reaches element 13; the tensor has 12", IndexError);
  CHECK_THROWS_AS((void)as_strided(x, {3, 3}, {INT64_MAX, 1}), IndexError);
  CHECK_THROWS_AS((void)as_strided(x, {2}, {-1}, 3), ArgumentError);
  CHECK_THROWS_AS((void)as_strided(x, {2}, {1, 1}), ArgumentError);
  CHECK_THROWS_AS((void)as_strided(x, {2}, {1}, -1), IndexError);
  CHECK_THROWS_AS((void)as_strided(x.transpose(), {2}, {1}), ShapeError);
}

LOCUS_DEVICE_TEST("the gradient of strides of one's own, whatever the view and the gradient that it gets look like",
                  D) {
  const auto six = [] { return variable(tensor<double, D>({6}, {1, 2, 3, 4, 5, 6})); };
  const auto check = [&](const Shape& shape, const Strides& strides, std::int64_t offset,
                         const std::vector<double>& expected) {
    CAPTURE(to_string(shape));
    CAPTURE(to_string(strides));
    const auto direct = six(), summed = six(), added = six();
    as_strided(direct, shape, strides, offset).backward(ones<double, D>(shape));
    CHECK_CLOSE(direct.grad(), Reference({6}, expected), 0.0);
    sum(as_strided(summed, shape, strides, offset)).backward();  // whose gradient is one element, expanded
    CHECK_CLOSE(summed.grad(), Reference({6}, expected), 0.0);
    (sum(added * 2.0) + sum(as_strided(added, shape, strides, offset))).backward();
    CHECK_CLOSE(added.grad() - 2.0, Reference({6}, expected), 0.0);
  };
  check({3}, {0}, 0, {3, 0, 0, 0, 0, 0});
  check({3}, {2}, 0, {1, 0, 1, 0, 1, 0});
  check({3}, {2}, 1, {0, 1, 0, 1, 0, 1});
  check({2, 2}, {1, 1}, 0, {1, 2, 1, 0, 0, 0});
  check({3, 1}, {0, 1}, 2, {0, 0, 3, 0, 0, 0});
  check({2, 3}, {0, 0}, 5, {0, 0, 0, 0, 0, 6});
  check({}, {}, 4, {0, 0, 0, 0, 1, 0});
  check({2, 2, 2}, {2, 0, 1}, 1, {0, 2, 2, 2, 2, 0});
  const auto empty = six();
  sum(as_strided(empty, {2, 0}, {9, 1})).backward();
  CHECK_CLOSE(empty.grad(), {0, 0, 0, 0, 0, 0});
  // Gradients that are views: transposed, every other element, and with channels last.
  const auto x = sample<double, D>({2, 3, 2, 4}, 3);
  const auto weights = sample<double, D>({4, 6}, 4);
  const auto found = gradcheck(
      [&](const auto& v) {
        const auto images = as_strided(v, {2, 3, 2, 2}, {24, 8, 4, 2}, 1);
        return sum(transpose(as_strided(v * v, {6, 4}, {2, 3}, 5)) * weights) +
               sum(as_strided(v, {8, 3}, {1, 0}, 2).slice(0, 0, to_end, 2) * weights.slice(1, 0, 3)) +
               sum(images.permute({0, 2, 3, 1}) * images.permute({0, 2, 3, 1}));
      },
      x);
  CHECK_MESSAGE(found, found.what());
  const auto image = variable(x);
  const auto g = sample<double, D>({2, 3, 2, 2}, 5);
  const auto as_given = variable(x);
  as_strided(as_given, {2, 3, 2, 2}, {24, 8, 4, 2}, 1).backward(g);
  as_strided(image, {2, 3, 2, 2}, {24, 8, 4, 2}, 1).backward(g.channels_last());
  CHECK_CLOSE(image.grad(), reference(as_given.grad()), 0.0);
}

LOCUS_DEVICE_TEST("what adds by indices takes views of elements and indices, and refuses to write to one", D) {
  const auto x = sample<float, D>({5, 4}, 1), source = sample<float, D>({4, 7}, 2);
  const auto indices = tensor<std::int64_t, D>({7, 2}, {0, 9, 3, 9, 3, 9, 1, 9, 0, 9, 4, 9, 3, 9}).select(1, 0);
  const Tensor<float, D> viewed = x.clone(), dense = x.clone();
  locus::detail::add_at(viewed, source.transpose(), indices, 0, true);
  locus::detail::add_at(dense, source.transpose().contiguous(), indices.contiguous(), 0, true);
  CHECK_CLOSE(viewed, reference(dense), 0.0);
  const Tensor<float, D> of_each = x.clone(), expected = x.clone();
  const auto index = indices.slice(0, 0, 5).reshape({5, 1}).expand({5, 4});
  locus::detail::add_at(of_each, source.transpose().slice(0, 0, 5), index, 0, false);
  locus::detail::add_at(expected, source.transpose().slice(0, 0, 5).contiguous(), index.contiguous(), 0, false);
  CHECK_CLOSE(of_each, reference(expected), 0.0);
  CHECK_CLOSE(locus::detail::last_named(indices, 5), {4, 3, -1, 6, 5});
  CHECK_THROWS_WITH_AS(locus::detail::add_at(x.transpose(), source, indices, 1, true),
                       doctest::Contains("add_at: adds to a view of shape (4, 5) with strides (1, 4)"), ShapeError);
}
