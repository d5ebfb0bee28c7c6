// Runs on: host, cuda (backward).
// checkpoint(f, x...) gives the gradients of f(x...), keeps fewer tensors, and computes f twice.
#include <locus/autograd/checkpoint.hpp>
#include <locus/autograd/gradcheck.hpp>
#include <locus/autograd/parameter.hpp>
#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/nn/batch_norm.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/ops/dropout.hpp>
#include <locus/ops/index.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/ops/softmax.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <support/device_list.hpp>
#include <support/parameters.hpp>
#include <support/reference.hpp>
#include <support/thrown.hpp>

#include <stdexcept>
#include <string>
#include <vector>

using namespace locus;
using namespace locus_test;

namespace {

/// Returns the gradients of parameters and clears them.
template <class D>
std::vector<Reference> taken(std::vector<Parameter<float, D>> parameters) {
  std::vector<Reference> gradients;
  for (const auto& parameter : parameters) {
    gradients.push_back(reference(parameter.grad()));
    parameter.zero_grad();
  }
  return gradients;
}
template <class D>
void check_gradients(const std::vector<Parameter<float, D>>& parameters, const std::vector<Reference>& expected,
                     double tolerance = 2e-5) {
  const auto found = taken(parameters);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    REQUIRE(found[i].values.size() == expected[i].values.size());
    for (std::size_t j = 0; j < found[i].values.size(); ++j)
      CHECK(found[i].values[j] == doctest::Approx(expected[i].values[j]).epsilon(tolerance).scale(1));
  }
}

/// Two layers of 6 with tanh between, and a residual sum.
template <class D>
struct Block : nn::Layer<Block<D>, float, D> {
  nn::Linear<float, D> first{6, 6}, second{6, 6};
  auto forward(const auto& x) const { return (x + second(tanh(first(x)))).eval(); }
  void members(const auto& visit) const { visit("first", first), visit("second", second); }
};
template <class D>
std::vector<Block<D>> blocks(int n) {
  manual_seed(4);
  std::vector<Block<D>> made;
  for (int i = 0; i < n; ++i) made.emplace_back();
  return made;
}
template <class D>
std::vector<Parameter<float, D>> parameters_of(const std::vector<Block<D>>& all) {
  std::vector<Parameter<float, D>> found;
  for (const auto& block : all)
    for (const auto& parameter : block.parameters()) found.push_back(parameter);
  return found;
}

}  // namespace

LOCUS_DEVICE_TEST("gradients through checkpoints are those of the layers", D) {
  const auto layers = blocks<D>(3);
  const auto parameters = parameters_of(layers);
  const auto x = variable(sample<float, D>({5, 6}, 1));
  const auto back = [&](bool checkpoints) {
    Traced h = x * 2.f;
    for (const auto& layer : layers) h = checkpoints ? checkpoint(layer, h) : layer(h);
    const Traced loss = sum(h * h);
    loss.backward();
    return reference(loss.value());
  };
  const auto value = back(false);
  const auto expected = taken(parameters);
  const auto of_x = reference(x.grad());
  x.zero_grad();
  CHECK(back(true).values == value.values);
  CHECK_CLOSE(x.grad(), of_x, 2e-5);
  check_gradients(parameters, expected);
}

LOCUS_DEVICE_TEST("a checkpoint is launched as its function is, and once more in the backward pass", D) {
  const auto w = two<D>(1, 2);
  const auto f = [&](const auto& x) { return tanh(softmax(x * w, 0)); };
  const auto x = variable(tensor<float, D>({2}, {3, 4}));
  const auto g = tensor<float, D>({2}, {1, 2});
  const auto count = [&](const auto& compute) {
    const LaunchLog log;
    compute();
    return log.launches();
  };
  Traced<float, D> y;
  const auto forward = count([&] { y = f(x); });
  const auto backward = count([&] { y.backward(g); });
  x.zero_grad(), w.zero_grad();
  CHECK(count([&] { y = checkpoint(f, x); }) == forward);
  CHECK(count([&] { y.backward(g); }) == forward + backward);
  CHECK(count([&] { (void)checkpoint(f, x.value()); }) == forward);
}

LOCUS_DEVICE_TEST("a checkpoint keeps its operands alone", D) {
  constexpr std::int64_t n = 1000, bytes = n * static_cast<std::int64_t>(sizeof(float));
  const auto f = [](const auto& x) {
    auto h = tanh(x).eval();
    for (int i = 0; i < 9; ++i) h = tanh(h).eval();
    return h;
  };
  const auto x = variable(sample<float, D>({n}, 1));
  const auto held = [&](const auto& compute) {
    const auto before = memory_stats(D{}).allocated_bytes;
    const auto y = compute();
    const auto kept = memory_stats(D{}).allocated_bytes - before;
    y.backward(y.value());
    x.zero_grad();
    return kept;
  };
  if (memory_stats(D{}).allocated_bytes > 0) {  // counted on this device
    CHECK(held([&] { return f(x); }) >= 10 * bytes);
    CHECK(held([&] { return checkpoint(f, x); }) < 2 * bytes);
    CHECK(held([&] { return checkpoint(f, checkpoint(f, checkpoint(f, x))); }) < 4 * bytes);
  }
}

LOCUS_DEVICE_TEST("a checkpoint draws the same random numbers again, and nothing else does", D) {
  const auto w = two<D>(1, 1);
  const auto f = [&](const auto& x) {
    const auto noise = rand<float, D>({2}), mask = bernoulli<float, D>(0.5, {2});
    const Tensor on_host = rand<float>({2});
    return dropout(x * w * (noise + mask + on_host.template to<D>()), 0.5).eval();
  };
  const auto x = trace(tensor<float, D>({2}, {1, 1}));
  const auto go = [&](bool checkpoints, bool seeds_between) {
    manual_seed(7);
    (void)rand<float, D>({3});
    const Traced y = checkpoints ? checkpoint(f, x) : f(x);
    const Traced z = checkpoints ? checkpoint(f, y) : f(y);
    if (seeds_between) manual_seed(8);
    else (void)rand<float, D>({5});
    sum(z).backward();
    std::vector<Reference> all = taken<D>({w});
    all.push_back(reference(z.value()));
    all.push_back(reference(rand<float, D>({4})));
    all.push_back(reference(rand<float>({4})));
    return all;
  };
  for (const bool seeds : {false, true}) {
    const auto expected = go(false, seeds), found = go(true, seeds);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      CHECK(found[i].values == expected[i].values);
    }
  }
}

LOCUS_DEVICE_TEST("a checkpoint updates running statistics once", D) {
  const auto learned = [](bool checkpoints) {
    const nn::BatchNorm1d<float, D> layer{3};
    const auto x = variable(sample<float, D>({8, 3}, 1));
    for (int i = 0; i < 3; ++i) sum(square(checkpoints ? checkpoint(layer, x * 2.f) : layer(x * 2.f)) * x).backward();
    auto all = taken<D>({layer.weight, layer.bias});
    for (const auto& one : {layer.running_mean.value(), layer.running_var.value(), x.grad()})
      all.push_back(reference(one));
    all.push_back(reference(layer.num_batches_tracked.value().template as<float>()));
    return all;
  };
  const auto expected = learned(false), found = learned(true);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i].values == expected[i].values);
  }
  CHECK(found.back().values[0] == 3);
}

LOCUS_DEVICE_TEST("hooks of parameters within a checkpoint are called once, when their gradients are complete", D) {
  std::string log;
  const auto noting = [&log](const char* what) { return [&log, what](const auto&) { (log += what) += ' '; }; };
  const auto inside = two<D>(1, 2), shared = two<D>(3, 4), first = two<D>(5, 6), last = two<D>(7, 8);
  const auto a = inside.on_gradient(noting("inside")), b = shared.on_gradient(noting("shared")),
             c = first.on_gradient(noting("first")), d = last.on_gradient(noting("last"));
  const auto f = [&](const auto& h) { return tanh(h * inside * shared) * shared + inside; };
  const auto x = trace(tensor<float, D>({2}, {0.1f, 0.2f}));
  const auto loss = [&](bool checkpoints) {
    const Traced h = Traced(x * first) * shared;
    return sum(Traced(checkpoints ? checkpoint(f, h) : Traced(f(h))) * last);
  };
  loss(false).backward();
  const auto expected = taken<D>({inside, shared, first, last});
  log.clear();
  loss(true).backward();
  CHECK(log == "last inside shared first ");
  check_gradients<D>({inside, shared, first, last}, expected);

  // Hooks on results within the checkpoint run in its inner pass, and do not count for the outer pass.
  log.clear();
  std::vector<GradientHook> hooks;
  Reference of_shared{};
  const auto whole = shared.on_gradient([&](const auto& g) { of_shared = reference(g); });
  const auto watched = [&](const auto& h) {
    const Traced y = tanh(h * inside * shared);
    hooks.push_back(y.on_gradient(noting("within")));
    return y * shared + inside;
  };
  const Traced h = Traced(x * first) * shared;
  sum(Traced(checkpoint(watched, h)) * last).backward();
  CHECK(log == "last within inside shared first ");
  CHECK(hooks.size() == 2);
  CHECK_CLOSE(shared.grad(), of_shared);
  check_gradients<D>({inside, shared, first, last}, expected);
}

LOCUS_DEVICE_TEST("a checkpoint gives their gradients to traced tensors that its function captured", D) {
  const auto w = Parameter<float, D>(sample<float, D>({4, 3}, 1)), v = Parameter<float, D>(sample<float, D>({2, 4}, 2));
  const auto u = Parameter<float, D>(sample<float, D>({2, 4}, 3));
  const auto x = trace(sample<float, D>({5, 3}, 4));
  const auto loss = [&](bool checkpoints, bool twice, bool outside) {
    const Traced hidden = linear(x, w, functor::Tanh{});  // its gradient would be fused with a single product
    const auto f = [&v, &u, twice, hidden](const auto& one) {
      Traced y = linear(hidden, v) * one;
      if (twice) y = y + linear(hidden, u);
      return y;
    };
    const auto factor = trace(full<float, D>({}, 2.f));
    Traced y = checkpoints ? checkpoint(f, factor) : f(factor);
    if (outside) y = y + linear(hidden, u);
    return sum(y * y);
  };
  for (const bool twice : {false, true}) {
    for (const bool outside : {false, true}) {
      CAPTURE(twice);
      CAPTURE(outside);
      std::vector<Parameter<float, D>> parameters{w, v};
      if (twice || outside) parameters.push_back(u);
      loss(false, twice, outside).backward();
      const auto expected = taken(parameters);
      loss(true, twice, outside).backward();
      check_gradients(parameters, expected);
    }
  }
}

LOCUS_DEVICE_TEST("a checkpoint takes several operands: traced, parameters, plain, of integers, expressions", D) {
  const auto table = Parameter<float, D>(sample<float, D>({5, 2}, 1)), w = two<D>(2, 3);
  const auto rows = tensor<std::int64_t, D>({3}, {4, 0, 4});
  const auto x = variable(sample<float, D>({3, 2}, 2));
  const auto f = [](const auto& a, const auto& b, const auto& c, const auto& i) { return embedding(a, i) * b * c; };
  const auto loss = [&](const auto& go) {
    x.zero_grad();
    sum(go()).backward();
    auto all = taken<D>({table, w});
    all.push_back(reference(x.grad()));
    return all;
  };
  const auto expected = loss([&] { return embedding(trace(table), rows) * (x * x) * w; });
  const auto found = loss([&] { return checkpoint(f, trace(table), x * x, w, rows); });
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i].values == expected[i].values);
  }
}

LOCUS_DEVICE_TEST("checkpoints within checkpoints", D) {
  const auto layers = blocks<D>(2);
  const auto parameters = parameters_of(layers);
  int calls = 0;
  const auto inner = [&](const auto& h) {
    ++calls;
    return layers[0](h) * rand<float, D>({6});
  };
  const auto outer = [&](const auto& h) { return layers[1](checkpoint(inner, layers[0](h))); };
  const auto loss = [&](bool checkpoints) {
    manual_seed(3);
    const auto x = trace(sample<float, D>({5, 6}, 1));
    const auto plain = [&](const auto& h) { return layers[1](inner(layers[0](h))); };
    sum(square(checkpoints ? checkpoint(outer, x) : plain(x))).backward();
  };
  loss(false);
  const auto expected = taken(parameters);
  calls = 0;
  std::string log;
  const auto hook = parameters[0].on_gradient([&](const auto&) { log += "once "; });
  loss(true);
  CHECK(calls == 3);  // forward pass, outer checkpoint's recomputation, inner checkpoint's recomputation
  CHECK(log == "once ");
  check_gradients(parameters, expected);
}

LOCUS_DEVICE_TEST("a checkpoint of plain tensors is the function, and records nothing", D) {
  const auto w = two<D>(1, 2);
  const auto f = [&](const auto& x) { return x * w; };
  const auto x = tensor<float, D>({2}, {3, 4});
  const Tensor<float, D> y = checkpoint(f, x);
  CHECK_CLOSE(y, {3, 8});
  CHECK_CLOSE(checkpoint(f, x * 2.f), {6, 16});
  static_assert(std::is_same_v<decltype(checkpoint(f, x)), Tensor<float, D>>);
  static_assert(std::is_same_v<decltype(checkpoint(f, trace(x))), Traced<float, D>>);
  const auto nothing = checkpoint([](const auto& a) { return a * 2.f; }, trace(x));
  CHECK(!nothing.requires_gradient());
  const Tensor<float, D> untraced = checkpoint([](const auto& a) { return (a.value() * 2.f).eval(); }, variable(x));
  CHECK_CLOSE(untraced, {6, 8});
}

LOCUS_DEVICE_TEST("a function that returns an operand, or what it captured, is that", D) {
  const auto x = variable(tensor<float, D>({2}, {3, 4}));
  const Traced captured = x * 3.f;
  sum(checkpoint([](const auto& a) { return a; }, x) * 2.f).backward();
  CHECK_CLOSE(x.grad(), {2, 2});
  sum(checkpoint([&](const auto&) { return captured; }, x)).backward();
  CHECK_CLOSE(x.grad(), {5, 5});
}

LOCUS_DEVICE_TEST("the graph of a checkpoint is kept, and freed, as others are", D) {
  const auto w = two<D>(1, 2);
  const auto x = variable(tensor<float, D>({2}, {3, 4}));
  const Traced loss = sum(checkpoint([&](const auto& a) { return a * w * a; }, x));
  loss.backward({.retain_graph = true});
  CHECK_CLOSE(x.grad(), {6, 16});
  loss.backward();
  CHECK_CLOSE(x.grad(), {12, 32});
  CHECK_CLOSE(w.grad(), {18, 32});
  CHECK(contains(message_of<GraphError>([&] { loss.backward(); }), "already freed"));
  CHECK_CLOSE(x.grad(), {12, 32});
}

LOCUS_DEVICE_TEST("a checkpoint notices what was changed in place", D) {
  const auto w = two<D>(1, 2);
  const auto plain = tensor<float, D>({2}, {1, 1});
  const auto x = variable(tensor<float, D>({2}, {3, 4}));
  const auto f = [&](const auto& a, const auto& b) { return a * w * b; };
  for (const auto& changed : {w.value(), plain, x.value()}) {
    const Traced loss = sum(checkpoint(f, x, plain));
    changed.copy_(changed * 2.f);
    CHECK(contains(message_of<StaleError>([&] { loss.backward(); }), "checkpoint: a tensor of shape (2,)"));
    CHECK(!w.has_grad());
  }
}

LOCUS_DEVICE_TEST("a checkpoint says that its function does not do the same again", D) {
  const auto w = two<D>(1, 2), other = two<D>(3, 4);
  const auto x = variable(tensor<float, D>({2}, {3, 4}));
  int calls = 0;
  const Traced shorter = sum(checkpoint([&](const auto& a) { return a.slice(0, 0, ++calls == 1 ? 2 : 1) * 2.f; }, x));
  CHECK(contains(message_of<ShapeError>([&] { shorter.backward(); }), "gave shape (1,) in place of (2,)"));
  calls = 0;
  const Traced elsewhere = sum(checkpoint([&](const auto& a) { return a * (++calls == 1 ? w : other); }, x));
  CHECK(contains(message_of<GraphError>([&] { elsewhere.backward(); }), "that it had not used before"));
  calls = 0;
  const Traced throwing = sum(x * checkpoint(
                                      [&](const auto& a) {
                                        if (++calls > 1) throw std::runtime_error("no");
                                        return a * w;
                                      },
                                      x));
  CHECK_THROWS_WITH_AS(throwing.backward(), "no", std::runtime_error);
  CHECK(!w.has_grad());
  CHECK(!other.has_grad());
  const Traced after = sum(x * w);  // recorded again
  after.backward();
  CHECK_CLOSE(w.grad(), {3, 4});
  const auto going_back = [&](const auto& a) {
    const Traced y = a * w;
    sum(y).backward();
    return y;
  };
  CHECK(contains(message_of<GraphError>([&] { (void)checkpoint(going_back, x); }), "the function of a checkpoint"));
  CHECK_THROWS_WITH_AS((void)checkpoint([&](const auto& a) { return (throw std::runtime_error("at once"), a); }, x),
                       "at once", std::runtime_error);
  sum(x * w).backward();
  CHECK_CLOSE(w.grad(), {6, 8});
}

LOCUS_DEVICE_TEST("a checkpoint says that its function uses something of the same pass only the second time", D) {
  const auto w = two<D>(1, 2), other = two<D>(3, 4);
  const auto x = variable(tensor<float, D>({2}, {3, 4}));
  Traced<float, D> late;
  int calls = 0, hooked = 0;
  const auto f = [&](const auto& a) {
    const Traced y = a * w;
    return ++calls == 1 ? y : Traced(y * late);
  };
  const auto message = [](const auto& loss) { return message_of<GraphError>([&] { loss.backward(); }); };
  const Traced of_done = checkpoint(f, x);
  late =
      x * 3.f;  // made after the checkpoint: its gradient has been propagated before the checkpoint is computed again
  CHECK(contains(message(sum(of_done + late)), "that it had not used before"));
  calls = 0;
  late = Traced(x * other);
  const auto hook = other.on_gradient([&](const auto&) { ++hooked; });
  const Traced of_waiting = checkpoint(f, x);
  CHECK(contains(message(sum(of_waiting + late)), "that it had not used before"));
  CHECK(hooked == 0);
  CHECK(!w.has_grad());
  CHECK(!other.has_grad());
}

LOCUS_DEVICE_TEST("within a checkpoint, a frozen input is frozen, and hooks of what is not recorded are empty", D) {
  const auto x = variable(tensor<float, D>({2}, {3, 4}));
  std::string log;
  const auto f = [&](const auto& a) {
    log += a.is_frozen() ? "frozen " : "";
    log += locus::detail::computes_again ? "again " : "first ";
    const Traced h = a * 2.f;
    const auto hook = h.on_gradient([](const auto&) {});
    log += hook ? "hooked " : "";
    return h * 1.f;
  };
  const auto y = checkpoint(f, frozen(x));
  CHECK(y.is_frozen());
  sum(y).backward();
  CHECK(log == "frozen first frozen again hooked ");
  CHECK(!locus::detail::computes_again);
  CHECK_CLOSE(x.grad(), {2, 2});
}

LOCUS_DEVICE_TEST("a named expression from outside that a checkpoint computes first keeps its gradient", D) {
  const auto w = two<D>(1, 2);
  const auto x = variable(tensor<float, D>({2}, {3, 4}));
  const auto check = [&](const Reference& of_w, const Reference& of_x) {
    CHECK_CLOSE(w.grad(), of_w);
    CHECK_CLOSE(x.grad(), of_x);
    w.zero_grad(), x.zero_grad();
  };
  {
    const auto h = x * w;  // by reference, and used outside, too; no operand of the checkpoint collects a gradient
    const auto y = checkpoint([&](const auto& a) { return a * h; }, trace(tensor<float, D>({2}, {5, 6})));
    CHECK(h.eval().requires_gradient());
    sum(y + h).backward();
    check({18, 28}, {6, 14});
  }
  {
    const auto h = x * w;  // by value: the function has its own expression
    const auto y = checkpoint([h](const auto& a) { return a * h; }, trace(tensor<float, D>({2}, {5, 6})));
    sum(y + h).backward();
    check({18, 28}, {6, 14});
  }
  {
    const auto h = x * w;  // copied in each call, and by a nested checkpoint
    const auto y = checkpoint(
        [h](const auto& a) {
          const auto copy = h;
          return checkpoint([copy](const auto& b) { return b * copy; }, a) * copy;
        },
        x);
    sum(y).backward();  // x * (x * w)^2
    check({2 * 27 * 1, 2 * 64 * 2}, {3 * 9 * 1, 3 * 16 * 4});
  }
  {
    const auto h = x * w;  // only the value is used within
    const auto y = checkpoint([&](const auto& a) { return a * h.value(); }, trace(tensor<float, D>({2}, {5, 6})));
    CHECK(!y.requires_gradient());
    sum(h).backward();
    check({3, 4}, {1, 2});
  }
  {
    const auto h = x * w;  // returned unchanged, by reference
    sum(checkpoint([outside = &h](const auto&) -> const auto& { return *outside; }, x) * 2.f).backward();
    check({6, 8}, {2, 4});
  }
}

LOCUS_DEVICE_TEST("a named expression within a checkpoint is computed once, and nothing is kept for it", D) {
  constexpr std::int64_t n = 1000, bytes = n * static_cast<std::int64_t>(sizeof(float));
  const auto x = variable(sample<float, D>({n}, 1));
  const auto f = [](const auto& a) {
    const auto h = tanh(a);
    const auto i = tanh(h * h);
    const auto j = tanh(i * i);
    return j * j * i * h;
  };
  const auto before = memory_stats(D{}).allocated_bytes;
  const LaunchLog forward;
  const Traced<float, D> y = checkpoint(f, x);
  CHECK(forward.launches() == 4);
  if (before > 0) CHECK(memory_stats(D{}).allocated_bytes - before < 2 * bytes);  // counted on this device
  sum(y).backward();
  const auto found = reference(x.grad());
  x.zero_grad();
  sum(f(x)).backward();
  CHECK_CLOSE(x.grad(), found, 1e-6);
}

LOCUS_DEVICE_TEST("gradients through a checkpoint agree with finite differences", D) {
  const auto f = [](const auto& x, const auto& w) {
    return checkpoint([&](const auto& a) { return tanh(linear(a, w)) * exp(a); }, x * x);
  };
  const auto found = gradcheck(f, sample<double, D>({3, 3}, 1), sample<double, D>({3, 3}, 2));
  CHECK_MESSAGE(found, found.what());
}

LOCUS_DEVICE_TEST("checkpoints in captured steps equal those outside, random numbers included", D) {
  struct Training {
    Parameter<float, D> w{sample<float, D>({4, 4}, 1)}, b{sample<float, D>({4}, 2)};
    Tensor<float, D> x{Shape{8, 4}};
    void step(bool checkpoints) const {
      w.zero_grad(), b.zero_grad();
      const auto block = [&](const auto& h) {
        return dropout(linear(h, w, b, functor::Tanh{}) * bernoulli<float, D>(0.5, {8, 4}), 0.2);
      };
      const auto twice = [&](const auto& h) { return checkpoint(block, block(h)); };
      const auto h = trace(x + rand<float, D>({8, 4}));
      const Traced y = checkpoints ? checkpoint(twice, checkpoint(block, h)) : Traced(block(block(block(h))));
      mean(square(y)).backward();
      for (const auto& parameter : {w, b}) parameter.value().copy_(parameter.value() - parameter.grad() * 0.1f);
    }
  };
  const Training captured, plain, without;
  auto step = capture<D>([&] { captured.step(true); });
  manual_seed(5);
  std::vector<Tensor<float, D>> seen;
  for (int i = 0; i < 100; ++i) {
    captured.x.fill_(static_cast<float>(i % 7));
    step();
    seen.push_back(captured.w.value().clone());
  }
  const auto after = reference(rand<float, D>({2}));
  for (const auto* other : {&plain, &without}) {
    manual_seed(5);
    for (int i = 0; i < 100; ++i) {
      other->x.fill_(static_cast<float>(i % 7));
      other->step(other == &plain);
      CHECK_CLOSE(seen[static_cast<std::size_t>(i)], reference(other->w.value()), other == &plain ? 0 : 1e-4);
    }
    CHECK_CLOSE((rand<float, D>({2})), after, 0);
  }
}
