// Runs on: host, cuda (expressions), reference.
#include <locus/core/rng.hpp>
#include <locus/expr/operators.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

namespace {

double added(double a, double b) { return a + b; }

/// A tensor whose shape broadcasts to `target`: extents of 1, dimensions left out, and any of the views.
template <class D>
Tensor<float, D> random_view(const Shape& target, Philox& random) {
  Shape shape = target;
  for (int d = 0; d < shape.rank(); ++d)
    if (random.bounded(4) == 0) shape[d] = 1;
  while (!shape.empty() && random.bounded(5) == 0) shape.erase(0);
  Shape stored = shape;
  const bool transposed = shape.rank() >= 2 && random.bounded(2), sliced = !shape.empty() && random.bounded(3) == 0;
  if (sliced) stored[-1] = stored[-1] * 2 + 1;
  if (transposed) std::swap(stored[0], stored[-1]);
  auto x = sample<float, D>(stored, static_cast<std::uint64_t>(random.bounded(1000)));
  if (transposed) x = x.transpose(0, -1);
  if (sliced) x = x.slice(-1, 1, to_end, 2);
  return x;
}

std::string message_of(auto&& call) {
  try {
    call();
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no ShapeError";
}

}  // namespace

LOCUS_DEVICE_TEST("operands broadcast as in NumPy, whatever their layout", D) {
  Philox random(11);
  for (int round = 0; round < 400; ++round) {
    Shape target;
    for (auto rank = random.bounded(6); rank > 0; --rank) target.push_back(1 + random.bounded(6));
    const auto x = random_view<D>(target, random), y = random_view<D>(target, random);
    CHECK_CLOSE(x + y, reference_map(added, reference(x), reference(y)));
  }
}

LOCUS_DEVICE_TEST("large operands broadcast too", D) {
  const auto x = sample<float, D>({300, 1, 70}), row = sample<float, D>({70}, 2), column = sample<float, D>({5, 1}, 3);
  CHECK_CLOSE(x + row, reference_map(added, reference(x), reference(row)));
  CHECK_CLOSE(x + column, reference_map(added, reference(x), reference(column)));
  CHECK_CLOSE(x.transpose(0, 2) + column, reference_map(added, reference(x.transpose(0, 2)), reference(column)));
}

LOCUS_DEVICE_TEST("a tensor has up to eight dimensions", D) {
  const auto x = sample<float, D>({2, 1, 3, 1, 2, 1, 2, 3}), y = sample<float, D>({1, 2, 1, 2, 2, 3, 2, 1}, 2);
  CHECK_CLOSE(x + y, reference_map(added, reference(x), reference(y)));
  CHECK_CLOSE(x.permute({7, 6, 5, 4, 3, 2, 1, 0}) + 1,
              reference_map([](double v) { return v + 1; }, reference(x.permute({7, 6, 5, 4, 3, 2, 1, 0}))));
  CHECK_THROWS_AS((void)x.unsqueeze(0), ShapeError);
}

LOCUS_DEVICE_TEST("scalars and tensors without elements are operands like others", D) {
  const auto scalar = tensor<float, D>({}, {2}), x = sample<float, D>({3});
  CHECK_CLOSE(scalar * scalar, Reference({}, {4}));
  CHECK_CLOSE(scalar + x, reference_map(added, reference(scalar), reference(x)));
  LaunchLog log;
  const auto none = sample<float, D>({0, 3});
  CHECK_CLOSE(none + x, Reference({0, 3}, {}));
  CHECK_CLOSE(none + 1, Reference({0, 3}, {}));
  CHECK_CLOSE(sample<float, D>({0}) * scalar, Reference({0}, {}));
  CHECK_CLOSE(relu(none.transpose()), Reference({3, 0}, {}));
  CHECK_CLOSE(Tensor<float, D>() + 1, Reference({0}, {}));
  CHECK(log.launches() == 0);
}

LOCUS_DEVICE_TEST("an expression that was given away to a shape that does not fit still has its operands", D) {
  const auto a = sample<float, D>({2, 3}, 1), b = sample<float, D>({2, 3}, 2), other = sample<float, D>({4}, 3);
  auto sum = a + b;
  CHECK_THROWS_AS((void)(std::move(sum) + other), ShapeError);
  CHECK_CLOSE(sum.eval(), reference_map(added, reference(a), reference(b)));
}

struct Blend {
  static constexpr bool differentiable = false;
  LOCUS_FN float operator()(float a, float b) const { return a * 0.5f + b * 0.5f; }
};

LOCUS_DEVICE_TEST("a number that an integer type cannot hold is refused by name, with the way out", D) {
  const auto bytes = tensor<std::uint8_t, D>({2}, {1, 2});
  const auto refused = [&](const char* text, const auto& write) {
    CHECK_THROWS_WITH_AS(write(), doctest::Contains(text), ArgumentError);
  };
  refused("add: 300 is no value of uint8; expected 0 to 255; convert the tensor first, by x.as<std::int64_t>()",
          [&] { (void)(bytes + 300); });
  refused("greater: -1 is no value of uint8", [&] { (void)(bytes > -1); });
  refused("clamp: 256 is no value of uint8", [&] { (void)clamp(bytes, 0, 256); });
  refused("where: 1000 is no value of uint8", [&] { (void)where(bytes > 1, bytes, 1000); });
  refused("multiply: 256 is no value of uint8", [&] { bytes *= 256; });
  refused("subtract: 256 is no value of uint8", [&] { (void)fuse([](auto x) { return x - 256; }, bytes); });
}

LOCUS_DEVICE_TEST("shapes that do not broadcast throw when the expression is written, naming both", D) {
  const auto x = sample<float, D>({2, 3}), y = sample<float, D>({4}), none = sample<float, D>({0});
  LaunchLog log;
  const auto text = message_of([&] { (void)(x + y); });
  CHECK_MESSAGE(text.find("add: shapes ") == 0, text);
  CHECK_MESSAGE(text.find("(2, 3)") != std::string::npos, text);
  CHECK_MESSAGE(text.find("(4,)") != std::string::npos, text);
  CHECK_MESSAGE(text.find("dimension -1 is 3 and 4") != std::string::npos, text);
  CHECK_THROWS_AS((void)(x * x * y), ShapeError);
  CHECK_THROWS_AS((void)clamp(x, y, 1), ShapeError);
  CHECK_THROWS_AS((void)(x + none), ShapeError);
  const auto named = [&](const char* begin, const auto& write) {
    const auto said = message_of(write);
    CHECK_MESSAGE(said.rfind(begin, 0) == 0, said);
  };
  named("fuse: shapes ", [&] { (void)fuse([](auto a, auto b) { return a * b; }, x, y); });
  named("less_equal: shapes ", [&] { (void)(x <= y); });
  named("where: shapes ", [&] { (void)where(x > 0, x, y); });
  named("Blend: shapes ", [&] { (void)elementwise(Blend{}, x, y); });
  named("elementwise: shapes ", [&] { (void)elementwise([](float a, float b) { return a * b; }, x, y); });
  named("operator+=: ", [&] { y.select(0, 0) += y; });
  named("multiply: shapes ", [&] { x *= y; });
  const auto eight = sample<float, D>({1, 1, 1, 1, 1, 1, 1, 2});
  CHECK_THROWS_AS((void)(eight + sample<float, D>({3})), ShapeError);
  CHECK(log.launches() == 0);
}
