// Runs on: host.
// Extents whose sums and products do not fit 64 bits: in tensors without elements, which need no memory, and in
// expanded ones. Every operation gives a shape that is right or throws; the undefined-behaviour sanitizer watches.

#include <locus/locus.hpp>
#include <locus/ops/histogram.hpp>
#include <locus/ops/sort.hpp>
#include <locus/ops/unique.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <vector>

namespace {
using namespace locus;

constexpr std::int64_t huge = std::int64_t{1} << 62;

/// Shapes of no elements, at whose other extents products overflow.
std::vector<Shape> empty_shapes() {
  return {{huge, huge, 0}, {huge, 0, huge}, {0, huge, huge}, {0, INT64_MAX, 3}, {INT64_MAX, 0}, {huge, 0, 4, huge}};
}

/// f returns, or throws an error about shapes, positions, arguments or memory.
template <class F>
void survives(const char* name, const F& f, bool may_refuse = true) {
  const auto refused = [&](const Error& error) {
    if (!may_refuse) FAIL_CHECK(join(name, ": expected a result, not ", error.what()));
  };
  try {
    f();
  } catch (const ShapeError& error) {
    refused(error);
  } catch (const IndexError& error) {
    refused(error);
  } catch (const ArgumentError& error) {
    refused(error);
  } catch (const OutOfMemory& error) {
    refused(error);
  } catch (const std::exception& error) {
    FAIL_CHECK(join(name, ": expected another exception than ", error.what()));
  }
}

/// The shape of a result, if it is known.
using KnownShape = std::optional<Shape>;

/// f(x), plain and with a gradient. Results have the known shape; one without elements may not be refused.
template <class F>
void survives_traced(const char* name, const Tensor<float>& x, const F& f, const KnownShape& known = std::nullopt) {
  const auto check = [&](const Shape& shape, std::int64_t count) {
    CHECK(count == elements(shape));
    if (known) CHECK(shape == *known);
  };
  const bool may_refuse = !known || std::find(known->begin(), known->end(), 0) == known->end();
  survives(
      name,
      [&] {
        const auto y = f(x).eval();
        check(y.shape(), y.elements());
      },
      may_refuse);
  survives(
      name,
      [&] {
        const auto input = variable(x);
        const auto y = f(input);
        sum(y).backward();
        check(y.shape(), elements(y.shape()));
        CHECK(input.grad().shape() == x.shape());
      },
      may_refuse);
}

/// The shape with another extent on this axis.
Shape with(Shape shape, int axis, std::int64_t extent) {
  shape[axis] = extent;
  return shape;
}
/// The shape without these axes.
Shape without(const Shape& shape, int first, int second) {
  Shape rest;
  for (int d = 0; d < shape.rank(); ++d)
    if (d != first && d != second) rest.push_back(shape[d]);
  return rest;
}
/// How many elements slice() takes from 3 to 2^20 in steps of 7.
std::int64_t sliced(std::int64_t extent) {
  return (std::max<std::int64_t>(std::min(extent, std::int64_t{1} << 20) - 3, 0) + 6) / 7;
}

}  // namespace

TEST_CASE("extents that add up to more than 2^63 do not join") {
  const Tensor a = zeros({1}).expand({huge}), b = zeros({1}).expand({INT64_MAX});
  CHECK_THROWS_AS((void)concat({a, a}), ShapeError);
  CHECK_THROWS_AS((void)concat({a, a, a, a}), ShapeError);  // 2^64 wraps to 0
  CHECK_THROWS_AS((void)concat({b, b, zeros({4})}), ShapeError);
  CHECK_THROWS_AS((void)concat(0, a, variable(a), a, a), ShapeError);
  const Tensor empty = zeros({0, huge});
  CHECK_THROWS_AS((void)concat({empty, empty}, 1), ShapeError);
  CHECK(concat({empty, empty}, 0).shape() == Shape{0, huge});
  CHECK_THROWS_AS((void)stack({b, b}), ShapeError);
}

TEST_CASE("no tensor has more than 2^63 elements, by expanding it or by broadcasting either") {
  const Tensor one = zeros({1});
  CHECK_THROWS_AS((void)one.expand({huge, huge}), ShapeError);
  CHECK_THROWS_AS((void)variable(one).expand({huge, 4}), ShapeError);
  CHECK(one.expand({huge}).elements() == huge);
  CHECK(zeros({0}).expand({huge, huge, 0}).elements() == 0);
  const Tensor row = one.expand({1, huge}), column = one.expand({huge, 1});
  CHECK_THROWS_AS((void)(row + column).eval(), ShapeError);
  CHECK_THROWS_AS((void)sum(row * column), ShapeError);
  CHECK_THROWS_AS((void)mean(row * column), ShapeError);
  CHECK_THROWS_AS((void)max(row * column), ShapeError);
  CHECK_THROWS_AS((void)all(row == column), ShapeError);
  CHECK_THROWS_AS((void)sum(variable(row) * column), ShapeError);
}

TEST_CASE("rows of more bytes than there are addresses are out of memory") {
  const Tensor x = zeros({1}).expand({huge / 2}), rows = zeros({1, 1}).expand({3, huge / 2});
  CHECK_THROWS_AS((void)logsumexp(x, 0), OutOfMemory);
  CHECK_THROWS_AS((void)logsumexp(rows, 1), OutOfMemory);
  CHECK_THROWS_AS((void)softmax(x, 0), OutOfMemory);
  CHECK_THROWS_AS((void)layer_norm(x, {huge / 2}), OutOfMemory);
  CHECK_THROWS_AS((void)cross_entropy(rows, zeros<std::int64_t>({3})), OutOfMemory);
  CHECK_THROWS_AS((void)x.clone(), OutOfMemory);
  CHECK_THROWS_AS((void)sort(x), Error);
  CHECK_THROWS_AS((void)topk(x, 2), Error);
  CHECK_THROWS_AS((void)cumsum(x, 0), OutOfMemory);
}

TEST_CASE("views of tensors without elements") {
  const Tensor x = zeros({huge, huge, 0});
  CHECK(x.slice(0, 5, huge).shape() == Shape{huge - 5, huge, 0});
  CHECK(x.slice(0, 5, huge, huge - 7).shape() == Shape{2, huge, 0});
  CHECK(x.slice(1, -3, to_end, 2).shape() == Shape{huge, 2, 0});
  CHECK(x.slice(0, 1, to_end, INT64_MAX).shape() == Shape{1, huge, 0});
  CHECK(x.select(0, huge - 1).shape() == Shape{huge, 0});
  CHECK(x.select(0, -1).select(0, -1).shape() == Shape{0});
  CHECK_THROWS_AS((void)x(huge - 1, huge - 1, 0), IndexError);
  CHECK(x.transpose(0, 2).shape() == Shape{0, huge, huge});
  CHECK(x.permute({2, 0, 1}).contiguous().shape() == Shape{0, huge, huge});
  CHECK(x.unsqueeze(1).shape() == Shape{huge, 1, huge, 0});
  CHECK(x.unsqueeze(0).squeeze(0).shape() == x.shape());
  CHECK(x.reshape({0, 3}).shape() == Shape{0, 3});
  CHECK(x.reshape({3, 0, huge, huge}).shape() == Shape{3, 0, huge, huge});
  CHECK_THROWS_AS((void)x.flatten(0, 1), ShapeError);
  CHECK(x.flatten(1, 2).shape() == Shape{huge, 0});
  CHECK(x.flatten().shape() == Shape{0});
  CHECK(x.transpose(0, 1).slice(0, 1, 9, 3).clone().shape() == Shape{3, huge, 0});
  Tensor target = zeros({huge, huge, 0});
  target.slice(0, 1, huge).fill_(1.f);
  target.copy_(x);
  target += 1.f;
  CHECK(target.shape() == x.shape());
}

TEST_CASE("operations on tensors without elements, plain and traced") {
  for (const Shape& shape : empty_shapes()) {
    CAPTURE(shape);
    const Tensor x = zeros(shape);
    const Tensor<std::int64_t> labels = zeros<std::int64_t>(shape);
    survives_traced(
        "x + 1", x, [](const auto& v) { return v + 1.f; }, shape);
    survives_traced("x * x.t", x, [](const auto& v) { return v * v.transpose(0, 1); });
    survives_traced("matmul", x, [](const auto& v) { return matmul(v, v.transpose()); });
    survives_traced("reshape", x, [](const auto& v) { return v.reshape({-1, 3}); });
    survives_traced("flatten", x, [](const auto& v) { return v.flatten(); });
    survives_traced("unsqueeze", x, [](const auto& v) { return v.unsqueeze(-1).expand({2, -1, -1, -1, 5}); });
    for (int axis = 0; axis < shape.rank(); ++axis) {
      CAPTURE(axis);
      survives_traced(
          "slice", x, [=](const auto& v) { return slice(v, axis, 3, 1 << 20, 7); },
          with(shape, axis, sliced(shape[axis])));
      survives_traced(
          "select", x, [=](const auto& v) { return select(v, axis, -1); },
          shape[axis] > 0 ? KnownShape(without(shape, axis, axis)) : std::nullopt);
      survives_traced(
          "concat", x, [=](const auto& v) { return concat(axis, v, v, v); },
          shape[axis] <= INT64_MAX / 3 ? KnownShape(with(shape, axis, 3 * shape[axis])) : std::nullopt);
      survives_traced("stack", x, [=](const auto& v) { return stack(axis, v, v); });
      // Rows of no elements may be more than 2^63.
      const KnownShape rows = shape[axis] > 0 ? KnownShape(shape) : std::nullopt;
      survives_traced(
          "softmax", x, [=](const auto& v) { return softmax(v, axis); }, rows);
      survives_traced(
          "log_softmax", x, [=](const auto& v) { return log_softmax(v, axis); }, rows);
      survives_traced(
          "logsumexp", x, [=](const auto& v) { return logsumexp(v, axis); }, without(shape, axis, axis));
      survives_traced(
          "cumsum", x, [=](const auto& v) { return cumsum(v, axis); }, shape);
      survives("sort", [&] { (void)sort(x, axis); });
      survives("topk", [&] { (void)topk(x, 0, axis); });
      survives("argmax", [&] { (void)argmax(x, axis); });
      survives_traced("index_select", x, [=](const auto& v) { return index_select(v, axis, from<std::int64_t>({0})); });
      survives_traced("gather", x, [&](const auto& v) { return gather(v, axis, labels); });
      for (int other = axis; other < shape.rank(); ++other) {
        CAPTURE(other);
        const Axes axes = other == axis ? Axes{axis} : Axes{axis, other};
        survives_traced(
            "sum", x, [&](const auto& v) { return sum(v, axes); }, without(shape, axis, other));
        survives_traced(
            "sum of a temporary", x, [&](const auto& v) { return sum(v * 2.f, axes, true); },
            with(with(shape, axis, 1), other, 1));
        survives_traced(
            "mean", x, [&](const auto& v) { return mean(v, axes); }, without(shape, axis, other));
        survives_traced(
            "prod", x, [&](const auto& v) { return prod(v, axes); }, without(shape, axis, other));
        const bool has_no_max = shape[axis] == 0 || shape[other] == 0;
        survives_traced(
            "max", x, [&](const auto& v) { return max(v, axes); },
            has_no_max ? std::nullopt : KnownShape(without(shape, axis, other)));
        survives_traced(
            "var", x, [&](const auto& v) { return var(v, axes); }, without(shape, axis, other));
        survives_traced(
            "norm", x, [&](const auto& v) { return norm(v, 2, axes); }, without(shape, axis, other));
      }
    }
    survives_traced(
        "sum of all", x, [](const auto& v) { return sum(v); }, Shape{});
    survives_traced(
        "mean of all", x, [](const auto& v) { return mean(v); }, Shape{});
    survives("argmax of all", [&] { (void)argmax(x); });
    survives_traced(
        "layer_norm", x, [&](const auto& v) { return layer_norm(v, {shape[-1]}); }, shape);
    survives_traced(
        "rms_norm", x,
        [&](const auto& v) {
          return rms_norm(v, {shape[-2], shape[-1]});
        },
        shape);
    survives_traced("linear", x, [&](const auto& v) { return linear(v, zeros({5, shape[-1]})); });
    survives_traced("embedding", x, [&](const auto& v) { return embedding(v, labels); });
    survives("cross_entropy", [&] { (void)cross_entropy(x, labels); });
    survives_traced("mse_loss", x, [&](const auto& v) { return nn::mse_loss(v, x); });
    survives("one_hot", [&] { (void)one_hot(labels, huge); });
    survives("one_hot of a few", [&] { (void)one_hot(zeros<std::int64_t>({6}), huge); });
    survives("unique", [&] { (void)unique(x); });
    survives("nonzero", [&] { (void)nonzero(x); });
    survives("histogram", [&] { (void)histogram(x, huge, 0, 1); });
    survives("bincount", [&] { (void)bincount(labels, huge); });
    survives("print", [&] { (void)to_string(x); });
    survives("as", [&] { (void)x.as<double>().eval(); });
    survives("rand", [&] { (void)rand(shape), (void)randn<double>(shape), (void)randint(0, 9, shape); });
    survives("bernoulli", [&] { (void)bernoulli(0.5, shape); });
    survives("module", [&] {
      const nn::Sequential<float, Cpu> model{nn::Flatten{}, nn::Linear<float, Cpu>{3, 2}};
      (void)model(x), (void)model(trace(x));
    });
  }
}

TEST_CASE("factories of more elements than fit") {
  survives("eye", [] { (void)eye(huge); });
  survives("eye", [] { (void)eye(0, huge); });
  survives("arange", [] { (void)arange<std::int64_t>(INT64_MIN, INT64_MAX); });
  survives("linspace", [] { (void)linspace(0, 1, INT64_MAX); });
  survives("linear layer", [] { (void)nn::Linear<float, Cpu>{huge, huge}; });
  survives("layer norm", [] { (void)nn::LayerNorm<float, Cpu>{huge}; });
  CHECK_THROWS_AS((void)zeros({huge, 4}), ShapeError);
  CHECK_THROWS_AS((void)zeros<double>({huge}), OutOfMemory);
}
