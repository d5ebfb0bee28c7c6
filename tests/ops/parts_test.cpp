// Runs on: host, cuda (windows), reference.
// Parts and other orders of tensors, with their gradients: split, tile, flip, triangles, diagonals, subscripts.

#include <locus/device/trace/launch_log.hpp>
#include <locus/locus.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("tiles, turns, triangles and diagonals, with their gradients, are PyTorch's", D) {
  const auto x = variable(golden::tensor<double, D>("parts_x"));
  const auto check = [&](const char* name, const auto& y) {
    x.zero_grad();
    CHECK_GOLDEN(name, y, ({"x"}), x);
  };
  check("tile", tile(x, {2, 1, 3, 2}));
  check("repeat_interleave", repeat_interleave(x, 3, 1));
  check("flip", flip(x, {0, -1}));
  check("roll", roll(x, {2, -1}, {2, 1}));
  check("roll_flat", roll(x, 5));
  check("rot90", rot90(x, 1, 0, 2));
  check("rot90_back", rot90(x, -1, 1, 2));
  check("rot180", rot90(x, 6, 2, 1));
  check("tril", tril(x, 1));
  check("triu", triu(x, -1));
  check("diagonal", diagonal(x, 1, 2, 1));
  check("diag_embed", diag_embed(x, -2));
  check("movedim", movedim(x, {0, 1}, {-1, 0}));
  check("subscripts", x.at(all, 1, range(0, 4, 2)));
}

LOCUS_DEVICE_TEST("split, chunk and unbind are views that joins bring together again", D) {
  const auto x = sample<float, D>({5, 3, 2}, 1);
  const auto parts = split(x, 2);
  CHECK(parts.size() == 3);
  CHECK(parts[2].shape() == Shape{1, 3, 2});
  CHECK(parts[1].data() == x.data() + 12);
  CHECK_CLOSE(concat(parts), reference(x));
  CHECK_CLOSE(concat(split(x, std::vector<std::int64_t>{2, 0, 1}, -2), 1), reference(x));
  CHECK(chunk(x, 4).size() == 3);
  CHECK(chunk(x.slice(0, 0, 0), 4).size() == 4);
  CHECK(split(x.slice(0, 0, 0), 4).size() == 1);
  CHECK_CLOSE(stack(unbind(x, 1), 1), reference(x));
  CHECK_THROWS_WITH_AS((void)split(x, 0), "split: parts of 0 elements; expected 1 or more", ArgumentError);
  CHECK_THROWS_AS((void)split(x, std::vector<std::int64_t>{2, 2}), ArgumentError);
  CHECK_THROWS_AS((void)split(x, std::vector<std::int64_t>{2, 4}), ArgumentError);
  CHECK_THROWS_AS((void)chunk(x, 0), ArgumentError);
  CHECK_THROWS_AS((void)unbind(x, 3), IndexError);
  const auto found = gradcheck(
      [](const auto& v) {
        const auto halves = chunk(v, 2, 1);
        const auto columns = unbind(v, 1);
        return halves[0] * halves[1] + sum(columns[0] * columns[3]);
      },
      sample<double, D>({3, 4}, 2));
  CHECK_MESSAGE(found, found.what());
}

LOCUS_DEVICE_TEST("subscripts read like NumPy's", D) {
  const auto x = arange<float, D>(24).reshape({2, 3, 4});
  CHECK_CLOSE(x.at(1, all, range(0, 4, 2)), Reference({3, 2}, {12, 14, 16, 18, 20, 22}));
  CHECK_CLOSE(x.at(-1, 0), {12, 13, 14, 15});
  CHECK_CLOSE(x.at(0, -1, range(to_end, to_end, -1)), {11, 10, 9, 8});
  CHECK_CLOSE(x.at(0, 1, range(-2, 0, -1)), {6, 5});
  CHECK_CLOSE(x.at(0, 1, range(0, 3, -1)), Reference({0}, {}));
  CHECK_CLOSE((x * 2.f).at(0, 0, 1), Reference({}, {2}));
  const auto y = x.clone();
  y.at(all, 1).fill_(-1);
  CHECK_CLOSE(y.at(1, range(0, 2), 0), {12, -1});
  CHECK_CLOSE(x.slice(2, -1, 0, -2), Reference({2, 3, 2}, {3, 1, 7, 5, 11, 9, 15, 13, 19, 17, 23, 21}));
  CHECK_THROWS_WITH_AS((void)x.at(0, 3), "at: subscript 1 is 3 for a tensor of shape (2, 3, 4); expected -3 to 2",
                       IndexError);
  CHECK_THROWS_WITH_AS((void)x.at(0, 0, 0, all), "at: more than 3 subscripts for a tensor of shape (2, 3, 4)",
                       IndexError);
  CHECK_THROWS_AS((void)x.slice(1, 0, 3).slice(1, 0, 0).at(all, 0), IndexError);
  CHECK_THROWS_AS((void)x.slice(0, 0, 2, 0), ArgumentError);
  const auto found =
      gradcheck([](const auto& v) { return v.at(all, range(to_end, to_end, -2), 1) + v.at(1, range(0, 2)).at(all, 0); },
                sample<double, D>({2, 3, 2}, 1));
  CHECK_MESSAGE(found, found.what());
}

LOCUS_DEVICE_TEST("orders and triangles of views, of no elements, of scalars and of integers", D) {
  const auto x = arange<float, D>(6).reshape({2, 3});
  CHECK_CLOSE(flip(x.transpose(), 0), Reference({3, 2}, {2, 5, 1, 4, 0, 3}));
  CHECK_CLOSE(flip(x), Reference({2, 3}, {5, 4, 3, 2, 1, 0}));
  CHECK_CLOSE(flip(full<float>({}, 3, D{})), Reference({}, {3}));
  CHECK(flip(empty<float>({0, 2}, D{}), 1).shape() == Shape{0, 2});
  CHECK_CLOSE(roll(x.transpose(), {-1, 1}, {0, 1}), Reference({3, 2}, {4, 1, 5, 2, 3, 0}));
  CHECK_CLOSE(roll(x, {4, -1, 1}, {1, 1, 0}), Reference({2, 3}, {3, 4, 5, 0, 1, 2}));
  CHECK(roll(empty<float>({0, 2}, D{}), 1, 0).shape() == Shape{0, 2});
  CHECK_CLOSE(tril(x.transpose()), Reference({3, 2}, {0, 0, 1, 4, 2, 5}));
  CHECK_CLOSE(triu(x, 1), Reference({2, 3}, {0, 1, 2, 0, 0, 5}));
  CHECK_CLOSE(tril(x, -9), Reference({2, 3}, {0, 0, 0, 0, 0, 0}));
  CHECK_CLOSE(triu(full<float>({2, 2}, INFINITY, D{}), 1), Reference({2, 2}, {0, INFINITY, 0, 0}));
  CHECK(tril(empty<float>({0, 3}, D{})).shape() == Shape{0, 3});
  CHECK_CLOSE(x.diagonal(-1), {3});
  CHECK(x.diagonal(3).shape() == Shape{0});
  CHECK_CLOSE(diag(diag(arange<float, D>(3), 1), 1), {0, 1, 2});
  CHECK_CLOSE(tile(x, {2}), Reference({2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  CHECK_CLOSE(tile(x, 2), reference(tile(x, {2})));
  CHECK_CLOSE(repeat(x, 2), reference(tile(x, {2})));
  CHECK(tile(x, {}).shape() == x.shape());
  CHECK_CLOSE(tile(arange<float, D>(2), {2, 1}), Reference({2, 2}, {0, 1, 0, 1}));
  CHECK(repeat(x, {0, 1}).shape() == Shape{0, 3});
  const auto deep = arange<float, D>(4).reshape({2, 1, 1, 1, 1, 1, 1, 2});
  CHECK_CLOSE(tile(deep, {2, 1, 1, 1, 1, 1, 3, 2}).reshape({4, 3, 4}).at(all, 2),
              Reference({4, 4}, {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}));
  CHECK_CLOSE(repeat_interleave(x, 2), {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  CHECK(atleast_3d(arange<float, D>(3)).shape() == Shape{1, 3, 1});
  CHECK(atleast_2d(full<float>({}, 3, D{})).shape() == Shape{1, 1});
  CHECK(atleast_1d(x).shape() == x.shape());
  CHECK_CLOSE(swapaxes(x, 0, 1), reference(x.transpose()));
  CHECK(broadcast_to(x, {4, 2, 3}).shape() == Shape{4, 2, 3});
  if constexpr (all_dtypes<D>) {
    CHECK_CLOSE(flip(tril(x.template as<std::int32_t>()), 1), Reference({2, 3}, {0, 0, 0, 0, 4, 3}));
    CHECK_CLOSE(triu(x.template as<half>()), Reference({2, 3}, {0, 1, 2, 0, 4, 5}));
  }
  const auto [rows, cols] = meshgrid(arange<float, D>(2), arange<float, D>(3) * 2.f);
  CHECK_CLOSE(rows, Reference({2, 3}, {0, 0, 0, 1, 1, 1}));
  CHECK_CLOSE(cols, Reference({2, 3}, {0, 2, 4, 0, 2, 4}));
  const auto [x_of, y_of] = meshgrid<MeshIndexing::xy>(arange<float, D>(3) * 2.f, full<float>({}, 5, D{}));
  CHECK_CLOSE(x_of, Reference({1, 3}, {0, 2, 4}));
  CHECK_CLOSE(y_of, Reference({1, 3}, {5, 5, 5}));
  CHECK_CLOSE(meshgrid<MeshIndexing::xy>(arange<float, D>(2))[0], {0, 1});
}

LOCUS_DEVICE_TEST("grids of three coordinates as in images are PyTorch's", D) {
  const auto a = variable(golden::tensor<double, D>("mesh_a")), b = variable(golden::tensor<double, D>("mesh_b")),
             c = variable(golden::tensor<double, D>("mesh_c"));
  const auto [of_a, of_b, of_c] = meshgrid<MeshIndexing::xy>(a, b, c);
  CHECK_GOLDEN("mesh_xy_a", of_a, ({"a"}), a);
  CHECK_GOLDEN("mesh_xy_b", of_b, ({"b"}), b);
  CHECK_GOLDEN("mesh_xy_c", of_c, ({"c"}), c);
}

LOCUS_DEVICE_TEST("parts and orders refuse what they cannot do, and name it", D) {
  const auto x = zeros<float>({2, 3}, D{});
  CHECK_THROWS_WITH_AS((void)flip(x, {0, -2}), "flip: axis 0 is named twice in (0, -2)", ArgumentError);
  CHECK_THROWS_AS((void)flip(x, 2), IndexError);
  CHECK_THROWS_AS((void)roll(x, {1, 2}, 0), ArgumentError);
  CHECK_THROWS_AS((void)rot90(x, 1, 0, -2), ArgumentError);
  CHECK_THROWS_WITH_AS((void)tril(zeros<float>({3}, D{})), "tril: shape (3,); expected (..., rows, cols)", ShapeError);
  CHECK_THROWS_AS((void)diag(zeros<float>({2, 2, 2}, D{})), ShapeError);
  CHECK_THROWS_AS((void)diag_embed(zeros<float>({}, D{})), ShapeError);
  CHECK_THROWS_AS((void)diag_embed(x, INT64_MIN), ArgumentError);
  CHECK_THROWS_AS((void)diagonal(x, 0, 1, -1), ArgumentError);
  CHECK_THROWS_WITH_AS((void)tile(x, {-1}), doctest::Contains("tile: -1 times"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)repeat(x, -1), doctest::Contains("repeat: -1 times"), ArgumentError);
  const auto most = std::int64_t{1} << 62;
  CHECK_THROWS_WITH_AS((void)tile(x.slice(0, 0, 0), {most, most}), doctest::Contains("tile: 4611686018427387904 times"),
                       ArgumentError);
  CHECK_THROWS_AS((void)tile(x, {most}), ArgumentError);
  CHECK_THROWS_AS((void)repeat_interleave(x, most, 1), ArgumentError);
  CHECK_THROWS_AS((void)repeat_interleave(x, -1, 0), ArgumentError);
  CHECK_THROWS_AS((void)movedim(x, {0, 1}, 0), ArgumentError);
  CHECK_THROWS_AS((void)movedim(x, {0, 0}, {0, 1}), ArgumentError);
  CHECK_THROWS_AS((void)meshgrid(x, x), ShapeError);
}

LOCUS_DEVICE_TEST("elements repeated by counts, of tensors and lists, are PyTorch's", D) {
  const auto counts = golden::tensor<std::int64_t, D>("repeats_counts");
  const auto check = [](const char* name, const auto& f) {
    const auto x = variable(golden::tensor<double, D>("repeats_x"));
    CHECK_GOLDEN(name, f(x), ({"x"}), x);
  };
  check("repeats_last", [&](const auto& x) { return repeat_interleave(x, counts, -1); });
  check("repeats_last", [](const auto& x) { return repeat_interleave(x, std::array<int, 4>{2, 0, 3, 1}, 2); });
  check("repeats_first", [](const auto& x) { return repeat_interleave(x, std::vector<std::int64_t>{0, 4, 1}, 0); });
  std::vector<int> each;
  for (int i = 0; i < 24; ++i) each.push_back(i % 3);
  check("repeats_all", [&](const auto& x) { return repeat_interleave(x, each); });
  check("repeats_all", [&](const auto& x) { return repeat_interleave(x, from<std::int64_t>(each, {24}, D{})); });
}

LOCUS_DEVICE_TEST("repetitions by counts: one for all, strided, none, and what is refused", D) {
  const auto x = arange<float, D>(6).reshape({2, 3});
  const auto counts = locus_test::tensor<std::int64_t, D>({3, 2}, {1, 9, 0, 9, 2, 9}).select(1, 0);
  CHECK_CLOSE(repeat_interleave(x, counts, 1), Reference({2, 3}, {0, 2, 2, 3, 5, 5}));
  CHECK_CLOSE(repeat_interleave(x * 2.f, counts, -1), Reference({2, 3}, {0, 4, 4, 6, 10, 10}));
  CHECK_CLOSE(repeat_interleave(x.at(0), full<std::int64_t>({}, 2, D{})), {0, 0, 1, 1, 2, 2});
  CHECK_CLOSE(repeat_interleave(x.at(0), std::vector<int>{2}, 0), {0, 0, 1, 1, 2, 2});
  CHECK(repeat_interleave(x, zeros<std::int64_t>({2}, D{}), 0).shape() == Shape{0, 3});
  CHECK(repeat_interleave(x.slice(0, 0, 0), zeros<std::int64_t>({0}, D{}), 0).shape() == Shape{0, 3});
  CHECK(repeat_interleave(x.slice(0, 0, 0), std::vector<int>{}, 0).shape() == Shape{0, 3});
  const std::vector<std::int64_t> negative{1, -1}, most(2, std::int64_t{1} << 62);
  CHECK_THROWS_WITH_AS((void)repeat_interleave(x, counts, 0),
                       doctest::Contains("counts of shape (3,) for an extent of 2"), ShapeError);
  CHECK_THROWS_AS((void)repeat_interleave(x, std::vector<int>{1, 2}, 1), ShapeError);
  CHECK_THROWS_AS((void)repeat_interleave(x, zeros<std::int64_t>({2, 1}, D{}), 0), ShapeError);
  CHECK_THROWS_AS((void)repeat_interleave(x, negative, 2), IndexError);
  CHECK_THROWS_AS((void)repeat_interleave(x, std::vector<std::int64_t>{INT64_MAX, 1}, 0), ArgumentError);
  for (const auto& list : {negative, most}) {
    CHECK_THROWS_AS((void)repeat_interleave(x, list, 0), ArgumentError);
    CHECK_THROWS_AS((void)repeat_interleave(x, from<std::int64_t>(list, {2}, D{}), 0), ArgumentError);
  }
}

LOCUS_DEVICE_TEST("orders are added to gradients, by the launches they promise", D) {
  const auto f = [](const auto& x) {
    const auto [a, b] = meshgrid(x.at(0), x.at(all, 1));
    return flip(x, 1) * tril(x) + roll(x, 1, 0) + sum(tile(x, {2, 2})) + sum(diag(x.at(1)) * diag_embed(x.at(0))) +
           a * transpose(b);
  };
  const auto found = gradcheck(f, sample<double, D>({3, 3}, 2));
  CHECK_MESSAGE(found, found.what());
  const auto x = variable(sample<float, D>({4, 3}, 1));
  const auto launches = [](const auto& run) {
    const LaunchLog log;
    run();
    return log.launches();
  };
  const auto g = sample<float, D>({4, 3}, 2);
  CHECK(launches([&] { (void)split(x, 2), (void)diagonal(x), (void)tile(x.at(range(0, 1)), {3, 1}); }) == 0);
  CHECK(launches([&] { (void)flip(x), (void)tril(x), (void)tile(x, {2, 2}), (void)repeat_interleave(x, 2, 0); }) == 4);
  CHECK(launches([&] { (void)repeat_interleave(x, std::vector<int>{2, 0, 1, 1}, 0); }) == 2);
  CHECK(launches([&] { flip(x, 0).backward(g); }) == 2);
  x.zero_grad();
  CHECK(launches([&] { triu(x).backward(g); }) == 2);
  CHECK(launches([&] { (void)roll(x, 1, 0), (void)rot90(x, 4); }) == 2);
  CHECK(launches([&] { (void)roll(x, {1, 1}, {0, 1}); }) == 4);
}

LOCUS_DEVICE_TEST("shapes and axes may be vectors and arrays, and several axes be taken together", D) {
  const auto x = sample<float, D>({2, 3, 4}, 1);
  CHECK_CLOSE(sum(x, std::vector<int>{0, -1}), reference(sum(x, {0, 2})));
  CHECK(x.reshape(std::vector<std::int64_t>{6, -1}).shape() == Shape{6, 4});
  CHECK(permute(x, std::array{2, 0, 1}).shape() == Shape{4, 2, 3});
  CHECK(zeros<float>(std::vector<int>{2, 2}, D{}).shape() == Shape{2, 2});
  CHECK_CLOSE(flip(x, std::vector<int>{1}), reference(flip(x, 1)));
  CHECK_CLOSE(softmax(x, {0, 2}),
              reference(softmax(x.permute({1, 0, 2}).reshape({3, 8}), 1).reshape({3, 2, 4}).permute({1, 0, 2})));
  CHECK_CLOSE(log_softmax(x, {-2, -1}), reference(log(softmax(x, {1, 2}))));
  CHECK_CLOSE(logsumexp(x, {0, 2}, true), reference(log(sum(exp(x), {0, 2}, true))));
  CHECK_CLOSE(logsumexp(x, std::vector<int>{}), reference(log(sum(exp(x)))));
  CHECK_THROWS_AS((void)logsumexp(x, {0, -3}), ArgumentError);
  const auto narrow = x.reshape({2, 1, 12, 1});
  CHECK(squeeze(narrow, {0, 1}).shape() == Shape{2, 12, 1});
  CHECK(squeeze(narrow, Axes{}).shape() == narrow.shape());
  CHECK(unsqueeze(x, {0, -1}).shape() == Shape{1, 2, 3, 4, 1});
  CHECK_THROWS_AS((void)unsqueeze(x, {0, -5}), ArgumentError);
  CHECK_THROWS_AS((void)x.reshape(std::vector<int>(9, 1)), ShapeError);
  const auto found = gradcheck(
      [](const auto& v) {
        return softmax(v, {0, 2}) * logsumexp(v, {1, 2}, true);
      },
      sample<double, D>({2, 3, 2}));
  CHECK_MESSAGE(found, found.what());
}
