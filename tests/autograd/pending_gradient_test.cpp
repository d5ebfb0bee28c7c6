// Runs on: host, cuda (graph).
// Pending gradients: a user's operation hands one over, and another user's operation fuses it, without code for them in
// the graph.
#include <locus/autograd/parameter.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/reduce.hpp>

#include <support/device_list.hpp>
#include <support/reference.hpp>

using namespace locus;
using namespace locus_test;

namespace {

/// The gradient g * factor.
template <class T, class D>
struct PendingMultiple : PendingGradient<T, D> {
  const Tensor<T, D>& g;
  T factor;
  PendingMultiple(const Tensor<T, D>& of, T by) : PendingGradient<T, D>(this), g(of), factor(by) {}
  void compute(const typename Gradient<T, D>::Target& target) const {
    if (target.accumulate) target.out += g * factor;
    else target.out.copy_(g * factor);
  }
};

/// y = factor * x
template <class S>
struct Multiple {
  static constexpr const char* name = "multiple";
  S factor;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{Tensor<T, D>(x * factor), Tuple<>()};
  }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    dx.give(PendingMultiple<T, D>(g, factor));
  }
};

/// How often Square fused a pending gradient.
int fused = 0;

/// y = x^2; its backward pass fuses a pending multiple.
struct Square {
  static constexpr const char* name = "square";
  using Accepted = bool;
  template <class T, class D>
  auto forward(const Tensor<T, D>& x) const {
    return Forwarded{Tensor<T, D>(x * x), Tuple(x)};
  }
  template <class T, class D>
  void backward(const Tuple<Tensor<T, D>>& saved, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    dx.give(Tensor<T, D>(get<0>(saved) * g * T(2)));
  }
  template <class T, class D>
  bool accept(const Tuple<Tensor<T, D>>& saved, const PendingGradient<T, D>& pending, Gradient<T, D> dy,
              Gradient<T, D>) const {
    const auto* const multiple = pending.template as<PendingMultiple<T, D>>();
    if (!multiple) return false;
    ++fused;
    dy.open().out.copy_(get<0>(saved) * multiple->g * (T(2) * multiple->factor));
    return true;
  }
  template <class T, class D>
  void backward_from(bool, const Tuple<Tensor<T, D>>&, const Tensor<T, D>& of_x, Gradient<T, D>& dx) const {
    dx.give(of_x);
  }
};

const auto square_of = [](const auto& x) { return apply(Square{}, x); };
const auto triple_of = [](const auto& x) { return apply(Multiple<float>{3}, x); };

/// The launches of a backward pass.
template <class Y, class D>
std::int64_t launches_of(const Y& y, const Tensor<float, D>& g) {
  const LaunchLog log;
  y.backward(g);
  return log.launches();
}

}  // namespace

LOCUS_DEVICE_TEST("an operation computes a gradient that is handed over to it in its own launch", D) {
  const auto x = variable(tensor<float, D>({3}, {1, 2, -3}));
  const auto g = tensor<float, D>({3}, {1, 10, 100});
  fused = 0;
  CHECK(launches_of(triple_of(square_of(x)), g) == 1);
  CHECK(fused == 1);
  CHECK_CLOSE(x.grad(), {6, 120, -1800});
  x.zero_grad();
  CHECK(launches_of(triple_of(square_of(x).reshape({3})), g) == 2);  // the view between them does not fuse it
  CHECK(fused == 1);
  CHECK_CLOSE(x.grad(), {6, 120, -1800});
}

LOCUS_DEVICE_TEST("a gradient to which another use adds is computed by whoever hands it over", D) {
  const auto x = variable(tensor<float, D>({3}, {1, 2, -3}));
  fused = 0;
  const auto y = square_of(x);
  sum(triple_of(y) + triple_of(y)).backward();
  CHECK(fused == 0);
  CHECK_CLOSE(x.grad(), {12, 24, -36});
  x.zero_grad();
  const auto z = square_of(x);
  sum(triple_of(z) * z).backward();  // 3 x^4
  CHECK(fused == 0);
  CHECK_CLOSE(x.grad(), {12, 96, -324});
}

LOCUS_DEVICE_TEST("what an operation does not fuse, and what it fuses in a kept graph, are right", D) {
  const auto x = variable(tensor<float, D>({2, 2}, {1, 2, -3, 4}));
  const auto w = tensor<float, D>({1, 2}, {5, 7});
  fused = 0;
  sum(linear(square_of(x), w)).backward();  // a product, a kind that Square does not fuse
  CHECK(fused == 0);
  CHECK_CLOSE(x.grad(), Reference({2, 2}, {10, 28, -30, 56}));
  x.zero_grad();
  const Traced y = sum(triple_of(square_of(x)) * 2.f);
  y.backward({.retain_graph = true});
  y.backward();
  CHECK(fused == 2);
  CHECK_CLOSE(x.grad(), Reference({2, 2}, {24, 48, -72, 96}));
}

LOCUS_DEVICE_TEST("after a fused gradient, a pass of the same graph may begin with a plain one", D) {
  const auto x = variable(tensor<float, D>({2}, {1, 2}));
  const auto y = square_of(x);
  fused = 0;
  sum(triple_of(y)).backward({.retain_graph = true});
  CHECK(fused == 1);
  y.backward(tensor<float, D>({2}, {1, 1}));
  CHECK(fused == 1);
  CHECK_CLOSE(x.grad(), {8, 16});
}
