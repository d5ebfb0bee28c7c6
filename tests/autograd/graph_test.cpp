// Runs on: host, cuda (graph); counting, race.
// Memory that a recorded computation keeps and backward() frees, and calls of backward() that are refused.
#include <locus/autograd/flat.hpp>
#include <locus/autograd/parameter.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/reduce.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus_test::Counting
#endif
#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/thrown.hpp>

#include <string>
#include <thread>

using namespace locus;
using namespace locus_test;

namespace {
}  // namespace

LOCUS_DEVICE_TEST("backward of a scalar, and of a tensor with a cotangent", D) {
  const auto x = variable(tensor<float, D>({2, 2}, {1, 2, 3, 4}));
  sum(x * x).backward();
  CHECK_CLOSE(x.grad(), Reference({2, 2}, {2, 4, 6, 8}));
  x.zero_grad();
  const Traced y = x * x;
  y.backward(tensor<float, D>({2, 2}, {1, 0, 0, -1}));
  CHECK_CLOSE(x.grad(), {{2, 2}, {2, 0, 0, -8}});
}

LOCUS_DEVICE_TEST("backward twice adds", D) {
  const auto x = variable(tensor<float, D>({3}, {1, 2, 3}));
  sum(x * x).backward();
  sum(x * 3).backward();
  CHECK_CLOSE(x.grad(), {5, 7, 9});
  x.zero_grad();
  sum(x).backward();
  CHECK_CLOSE(x.grad(), {1, 1, 1});
}

LOCUS_DEVICE_TEST("backward of a tensor that is no scalar needs a cotangent of its shape", D) {
  const auto x = variable(tensor<float, D>({3}, {1, 2, 3}));
  const Traced y = x * x;
  CHECK(contains(message_of<ShapeError>([&] { y.backward(); }), "expected a scalar, got shape (3,)"));
  CHECK(contains(message_of<ShapeError>([&] {
                   y.backward(tensor<float, D>({2}, {1, 2}));
                 }),
                 "cotangent of shape (2,)"));
  y.backward(tensor<float, D>({3}, {1, 1, 1}));  // refused, nothing was freed
  CHECK_CLOSE(x.grad(), {2, 4, 6});
}

LOCUS_DEVICE_TEST("a graph is freed by backward unless it is retained", D) {
  const auto x = variable(tensor<float, D>({3}, {1, 2, 3}));
  const auto y = sum(x * x);
  y.backward({.retain_graph = true});
  y.backward({.retain_graph = true});
  CHECK_CLOSE(x.grad(), {4, 8, 12});
  y.backward();
  CHECK_CLOSE(x.grad(), {6, 12, 18});
  CHECK(contains(message_of<GraphError>([&] { y.backward(); }), "retain_graph"));
  CHECK_CLOSE(x.grad(), {6, 12, 18});
}

LOCUS_DEVICE_TEST("a result whose inner graph was freed is refused before any gradient is touched", D) {
  const auto x = variable(tensor<float, D>({3}, {1, 2, 3}));
  const Traced inner = x * x;
  const auto first = sum(inner), second = sum(inner * 2);
  first.backward();
  CHECK_THROWS_AS(second.backward(), GraphError);
  CHECK_CLOSE(x.grad(), {2, 4, 6});
}

LOCUS_DEVICE_TEST("what no gradient is collected for", D) {
  const auto plain = tensor<float, D>({3}, {1, 2, 3});
  const auto x = trace(plain);
  CHECK_FALSE(x.requires_gradient());
  CHECK(contains(message_of<GraphError>([&] { (void)x.grad(); }), "variable(x)"));
  CHECK(contains(message_of<GraphError>([&] { sum(x * x).backward(); }), "variable(x)"));
  const auto v = variable(plain);
  CHECK(v.requires_gradient());
  CHECK(contains(message_of<GraphError>([&] { (void)v.grad(); }), "backward()"));
  const Traced intermediate = v * v;
  sum(intermediate).backward();
  CHECK_THROWS_AS((void)intermediate.grad(), GraphError);
}

LOCUS_DEVICE_TEST("value() detaches", D) {
  const auto x = variable(tensor<float, D>({3}, {1, 2, 3}));
  const Traced y = x * x;
  static_assert(std::is_same_v<decltype(Tensor(y.value() * 2)), Tensor<float, D>>);
  sum(y.value() * x).backward();
  CHECK_CLOSE(x.grad(), {1, 4, 9});
}

LOCUS_DEVICE_TEST("a tensor that the backward pass needs must not change in between", D) {
  const auto plain = tensor<float, D>({3}, {1, 2, 3});
  const auto x = variable(plain);
  const auto y = sum(x * x);
  plain += 1;
  const auto message = message_of<StaleError>([&] { y.backward(); });
  CHECK(contains(message, "(3,)"));
  CHECK(contains(message, "clone()"));
  CHECK_THROWS_AS(y.backward(), StaleError);  // refused again: the first refused pass left no state

  const auto other = tensor<float, D>({3}, {1, 2, 3});
  const auto z = sum(variable(other) + 1);  // the backward pass reads no value, so it may change
  other += 1;
  CHECK_NOTHROW(z.backward());
}

LOCUS_DEVICE_TEST("a refused backward pass leaves no gradient behind", D) {
  const auto plain = tensor<float, D>({3}, {1, 2, 3});
  const auto x = variable(tensor<float, D>({3}, {1, 1, 1}));
  const Traced stale = x * plain;
  const Traced y = stale + x;
  plain += 1;
  CHECK_THROWS_AS(y.backward(tensor<float, D>({3}, {1, 1, 1})), StaleError);
  CHECK_THROWS_AS((void)x.grad(), GraphError);
  CHECK_FALSE(y.node()->has_gradient());
}

LOCUS_DEVICE_TEST("collected gradients are tensors of their own", D) {
  const auto a = variable(tensor<float, D>({3}, {1, 2, 3})), b = variable(tensor<float, D>({3}, {4, 5, 6}));
  const auto cotangent = tensor<float, D>({3}, {1, 1, 1});
  Traced(a + b).backward(cotangent);
  a.grad() *= 10;
  CHECK_CLOSE(b.grad(), {1, 1, 1});
  CHECK_CLOSE(cotangent, {1, 1, 1});
  b.zero_grad();
  sum(b).backward();  // a sum propagates one number, expanded
  b.grad() += tensor<float, D>({3}, {0, 1, 2});
  CHECK_CLOSE(b.grad(), {1, 2, 3});
}

LOCUS_DEVICE_TEST("a gradient that was collected can be the cotangent of the pass that adds to it", D) {
  const auto w = sample<std::int64_t, D>({64, 64}, 1).template as<double>();
  const auto seed = sample<std::int64_t, D>({64, 64}, 2).template as<double>();
  const auto x = variable(seed.clone());
  matmul(x, w).backward(seed);
  const Tensor<double, D> first = x.grad().clone();
  const Tensor<double, D> next = matmul(first, w.transpose());
  matmul(x, w).backward(x.grad());
  CHECK_CLOSE(x.grad(), reference(first + next));

  // The same for a gradient in flat memory, which the pass writes.
  const Parameter p(x.value());
  (void)flatten(std::vector{p});
  matmul(trace(p), w).backward(seed);
  const auto placed = p.grad();
  p.zero_grad();
  matmul(trace(p), w).backward(placed);
  CHECK_CLOSE(p.grad(), reference(next));
}

LOCUS_DEVICE_TEST("a gradient that a graph needs is not added to", D) {
  const auto x = variable(tensor<double, D>({3}, {1, 2, 3}));
  sum(x * x).backward();
  const auto y = sum(x * x.grad());
  CHECK(contains(message_of<StaleError>([&] { y.backward(); }), "clone()"));
  CHECK_CLOSE(x.grad(), {2, 4, 6});
  sum(x * x.grad().clone()).backward();
  CHECK_CLOSE(x.grad(), {4, 8, 12});
}

LOCUS_DEVICE_TEST("diamonds: every path adds to the gradient, in an order that respects the graph", D) {
  const auto x = variable(tensor<double, D>({2}, {0.5, -1}));
  const Traced a = x * 2;
  const Traced b = a * a, c = a + 3;
  const Traced d = b * c;
  sum(d + a).backward();  // (4x^2)(2x + 3) + 2x
  CHECK_CLOSE(x.grad(), {24 * 0.25 + 24 * 0.5 + 2, 24.0 - 24 + 2});
}

TEST_CASE("a chain of a million operations is differentiated and released without recursion") {
  const auto x = variable(tensor<float, Cpu>({1}, {1}));
  {
    Traced<float, Cpu> y = x;
    for (int i = 0; i < 1'000'000; ++i) y = y + 1;
    CHECK(y.item() == 1'000'001);
    y.backward({.retain_graph = true});
    CHECK_CLOSE(x.grad(), {1});
  }
  Traced<float, Cpu> z = x;
  for (int i = 0; i < 1'000'000; ++i) z = z + 1;
  z = x;  // released unused
  CHECK(z.item() == 1);
}

TEST_CASE("a thread that ends leaves no memory of its backward passes behind") {
  const auto bytes = [] { return Backend<Cpu>::memory_stats({}).allocated_bytes; };
  const auto before = bytes();
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      const auto x = variable(tensor<float, Cpu>({2}, {1, 2}));
      sum(x * x).backward();
      CHECK_CLOSE(x.grad(), {2, 4});
    }).join();
  }
  CHECK(bytes() == before);
}

TEST_CASE("backward frees what was saved as it goes") {
  const auto bytes = [] { return counting_bytes.load(); };
  constexpr std::int64_t n = 4096;
  const auto x = variable(sample<float, Counting>({n}));
  const auto before = bytes();
  const auto y = [&] {
    Traced h = exp(x);
    for (int i = 0; i < 8; ++i) h = Traced(exp(h * 0.01f));
    return sum(h);
  }();
  CHECK(bytes() > before + 8 * n * 4);  // y's graph keeps the tensors that each step of the chain reads
  y.backward();
  CHECK(bytes() <= before + n * 4 + 64);  // only y and the gradient of x are left
}

TEST_CASE("what was computed without being used is released with its handle") {
  const auto x = variable(sample<float, Counting>({4096}));
  const auto before = counting_bytes.load();
  { const Traced y = exp(x * x); }
  CHECK(counting_bytes.load() == before);
}

namespace {
/// Fails once, in the middle of its backward pass.
struct Failing {
  static constexpr const char* name = "failing";
  bool* fails;
  template <class T, class D> auto forward(const Tensor<T, D>& x) const { return Forwarded{x.clone(), Tuple<>()}; }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    const auto target = dx.open();
    if (std::exchange(*fails, false)) fail<OutOfMemory>({"no memory"});
    target.out.copy_(g);
  }
};
}  // namespace

LOCUS_DEVICE_TEST("a backward pass that fails half way leaves no half of a gradient", D) {
  bool fails = true;
  const auto x = variable(tensor<float, D>({2}, {1, 2}));
  const Traced y = x * 3;
  const auto z = sum(apply(Failing{&fails}, y));
  CHECK_THROWS_AS(z.backward({.retain_graph = true}), OutOfMemory);
  CHECK_THROWS_AS((void)x.grad(), GraphError);
  z.backward();
  CHECK_CLOSE(x.grad(), {3, 3});
}
