// Runs on: host, cuda (graph); counting.
// grad(y, inputs) gives the gradients that backward() collects, for the cost of the inputs alone, and changes none.
#include <locus/autograd/checkpoint.hpp>
#include <locus/autograd/flat.hpp>
#include <locus/autograd/grad.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/matmul.hpp>
#include <locus/ops/reduce.hpp>

#ifndef LOCUS_TEST_DEVICES
#define LOCUS_TEST_DEVICES locus_test::Counting
#endif
#include <support/device_list.hpp>
#include <support/reference.hpp>
#include <support/thrown.hpp>

#include <array>
#include <string>
#include <tuple>
#include <vector>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("grad gives the gradients of one tensor, a tuple or a list, and leaves those of leaves alone", D) {
  const auto x = variable(tensor<float, D>({3}, {1, 2, 3})), y = variable(tensor<float, D>({3}, {4, 5, 6}));
  const Parameter w(tensor<float, D>({3}, {1, 0, 2}));
  sum(x * w).backward();  // collects gradients that have to stay
  const Traced h = x * y;
  const Traced loss = sum(square(h) * w);

  const Tensor<float, D> of_x = grad(loss, x, {.retain_graph = true});
  CHECK_CLOSE(of_x, {32, 0, 432});
  const auto [of_w, of_h, again] = grad(loss, std::tie(w, h, w), {.retain_graph = true});
  CHECK_CLOSE(of_w, {16, 100, 324});
  CHECK_CLOSE(of_h, {8, 0, 72});
  CHECK_CLOSE(again, {16, 100, 324});
  const auto [of_y] = grad(loss, Tuple(y), {.retain_graph = true});
  CHECK_CLOSE(of_y, {8, 0, 216});
  const std::vector<Tensor<float, D>> list = grad(loss, std::vector{x, y}, {.retain_graph = true});
  CHECK_CLOSE(list[0], reference(of_x));
  CHECK_CLOSE(list[1], reference(of_y));
  CHECK_CLOSE(grad(loss, loss, {.retain_graph = true}), 1);
  CHECK_CLOSE(grad(h, x, {.grad_outputs = tensor<float, D>({3}, {1, 0, -1})}), {4, 0, -6});

  CHECK_CLOSE(x.grad(), {1, 0, 2});
  CHECK_CLOSE(w.grad(), {1, 2, 3});
  CHECK_FALSE(y.node()->has_gradient());
}

LOCUS_DEVICE_TEST("grad launches as much as backward for all parameters, and less for some", D) {
  const auto input = trace(sample<float, D>({4, 3}));
  const Parameter first(sample<float, D>({5, 3})), last(sample<float, D>({2, 5}));
  const auto loss = [&] { return sum(square(matmul(tanh(linear(input, first)), last.value().transpose()) + 1)); };
  const auto both = [&] { return sum(square(linear(tanh(linear(input, first)), last))); };
  const auto launches_of = [](const auto& made, const auto& pass) {
    const RequestLog log;
    pass(made);
    return log.launches();
  };
  const std::vector all{first, last};
  const auto backward = launches_of(both(), [](const auto& y) { y.backward(); });
  const auto as_backward = launches_of(both(), [&](const auto& y) { (void)grad(y, all); });
  const auto of_last = launches_of(both(), [&](const auto& y) { (void)grad(y, last); });
  const auto of_first = launches_of(loss(), [&](const auto& y) { (void)grad(y, first); });
  if constexpr (std::is_same_v<D, Counting>) {
    CHECK(as_backward == backward);
    CHECK(of_last == 2);  // of the square, and the product for the weights
    CHECK(of_first < backward);
    const auto made = both();
    const RequestLog log;
    (void)grad(made, last, {.retain_graph = true});
    CHECK(log.allocations() == 2);
  }
  CHECK_CLOSE(grad(both(), last), reference(last.grad()));
  CHECK_CLOSE(grad(both(), first), reference(first.grad()));
}

LOCUS_DEVICE_TEST("grad refuses inputs that the result does not depend on, or gives zeros", D) {
  const auto x = variable(tensor<float, D>({2}, {1, 2})), other = variable(tensor<float, D>({3}, {1, 2, 3}));
  const auto loss = [&] { return sum(square(x)); };
  const auto unused = message_of<GraphError>([&] { (void)grad(loss(), std::tie(x, other)); });
  CHECK(contains(unused, "does not depend on input 1, of shape (3,)"));
  CHECK(contains(unused, "allow_unused"));
  const auto [of_x, of_other] = grad(loss(), std::tie(x, other), {.allow_unused = true});
  CHECK_CLOSE(of_x, {2, 4});
  CHECK_CLOSE(of_other, {0, 0, 0});
  CHECK_CLOSE(grad(loss(), other, {.allow_unused = true}), {0, 0, 0});

  const Parameter frozen(tensor<float, D>({2}, {1, 1}));
  frozen.requires_grad_(false);
  CHECK(contains(message_of<GraphError>([&] { (void)grad(loss(), frozen); }), "collects no gradient"));
  CHECK(contains(message_of<GraphError>([&] { (void)grad(loss(), trace(x.value())); }), "collects no gradient"));
  CHECK(contains(message_of<GraphError>([&] { (void)grad(sum(trace(x.value())), x); }), "nothing this was computed"));
  CHECK(
      contains(message_of<ShapeError>([&] { (void)grad(Traced(square(x)), x); }), "expected a scalar, got shape (2,)"));
  CHECK(contains(message_of<ShapeError>([&] { (void)grad(Traced(square(x)), x, {.grad_outputs = other.value()}); }),
                 "grad_outputs of shape (3,) for a result of shape (2,)"));
  CHECK_FALSE(x.node()->has_gradient());
}

LOCUS_DEVICE_TEST("grad frees the graph that it went through, and notices graphs that were freed", D) {
  const auto x = variable(tensor<float, D>({2}, {1, 2})), y = variable(tensor<float, D>({2}, {3, 4}));
  const Traced shared = exp(x);
  const Traced one = sum(shared * y), two = sum(square(shared));
  CHECK_CLOSE(grad(one, y, {.retain_graph = true}), reference(shared.value()));
  two.backward();  // frees `shared`
  CHECK_THROWS_AS((void)grad(one, x, {.allow_unused = true}), GraphError);
  CHECK_THROWS_AS((void)grad(two, x), GraphError);
  CHECK_THROWS_AS((void)grad(one, y), GraphError);  // the freed part may have led to y

  const Traced middle = square(x);  // the upper part first, then the lower one with its gradient
  const Tensor<float, D> of_middle = grad(sum(square(middle)), middle);
  x.zero_grad();
  middle.backward(of_middle);
  CHECK_CLOSE(x.grad(), {4, 32});

  const Traced stale = square(x);
  x.value().fill_(0);
  CHECK_THROWS_AS((void)grad(sum(stale), x), StaleError);
}

LOCUS_DEVICE_TEST("grad goes through checkpoints without touching their parameters", D) {
  const auto x = variable(tensor<float, D>({2}, {1, 2}));
  const Parameter w(tensor<float, D>({2}, {3, 5})), inner(tensor<float, D>({2}, {1, -1}));
  const auto f = [&](const auto& h) { return (h * w * inner).eval(); };
  const auto loss = [&] { return sum(checkpoint(f, Traced(square(x)))); };
  CHECK_CLOSE(grad(loss(), x), {6, -20});
  CHECK_FALSE(w.has_grad());
  CHECK_FALSE(inner.has_grad());
  CHECK_CLOSE(grad(loss(), inner), {3, 20});
  CHECK_FALSE(x.node()->has_gradient());
  const auto in_checkpoint = [&](const auto& h) { return (h * grad(sum(square(h)), h)).eval(); };
  CHECK(contains(message_of<GraphError>([&] { (void)checkpoint(in_checkpoint, Traced(square(x))); }),
                 "called by the function of a checkpoint"));
}

LOCUS_DEVICE_TEST("grad calls the hooks of the gradients that it computes, and no others", D) {
  const auto x = variable(tensor<float, D>({2}, {1, 2}));
  const Parameter w(tensor<float, D>({2}, {3, 5}));
  const Traced h = x * w;
  int of_h = 0, of_w = 0, of_x = 0;
  const auto first = h.on_gradient([&](const auto& g) { g.fill_(1), ++of_h; });
  const auto second = w.on_gradient([&](const auto&) { ++of_w; });
  const auto third = x.on_gradient([&](const auto&) { ++of_x; });
  const auto reduces = x.node()->on_gradient([](const auto&) { FAIL("it hands the leaf's own gradient on"); }, true);
  CHECK_CLOSE(grad(sum(square(h)), x, {.retain_graph = true}), {3, 5});
  CHECK(std::array{of_h, of_w, of_x} == std::array{1, 0, 1});

  const auto fails = h.on_gradient([](const auto&) { throw std::runtime_error("hook"); });
  x.node()->give(tensor<float, D>({2}, {7, 8}));
  CHECK_THROWS_AS((void)grad(sum(square(h)), x), std::runtime_error);
  CHECK_CLOSE(x.grad(), {7, 8});  // its own gradient is there again
}

LOCUS_DEVICE_TEST("grad leaves gradients in flat memory alone", D) {
  const Parameter a(tensor<float, D>({2}, {1, 2})), b(tensor<float, D>({2}, {3, 4}));
  const auto flat = flatten(std::vector{a, b});
  const auto x = trace(tensor<float, D>({2}, {1, 1}));
  sum(x * a * b).backward();
  const float* const place = a.grad().data();
  const auto [of_a, of_b] = grad(sum(square(x * a) * b), std::tie(a, b));
  CHECK_CLOSE(of_a, {6, 16});
  CHECK_CLOSE(of_b, {1, 4});
  CHECK_CLOSE(a.grad(), {3, 4});
  CHECK_CLOSE(b.grad(), {1, 2});
  CHECK(a.grad().data() == place);
}
