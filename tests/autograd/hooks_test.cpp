// Runs on: host, cuda (backward).
// Gradient hooks: when, how often and in which order they are called.
#include <locus/autograd/flat.hpp>
#include <locus/autograd/parameter.hpp>
#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/ops/join.hpp>
#include <locus/ops/linear.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/optim/clip.hpp>
#include <locus/optim/sgd.hpp>

#include <support/device_list.hpp>
#include <support/parameters.hpp>
#include <support/reference.hpp>
#include <support/thrown.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace locus;
using namespace locus_test;

namespace {

/// The operation y = x, which notes when its backward pass runs.
struct Noted {
  static constexpr const char* name = "noted";
  std::string* log;
  const char* what;
  template <class T, class D> auto forward(const Tensor<T, D>& x) const { return Forwarded{x, Tuple<>()}; }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>& g, Gradient<T, D>& dx) const {
    *log += what;
    *log += ' ';
    dx.give(g);
  }
};
/// y = x, without a gradient for x.
struct Silent {
  static constexpr const char* name = "silent";
  template <class T, class D> auto forward(const Tensor<T, D>& x) const { return Forwarded{x, Tuple<>()}; }
  template <class T, class D>
  void backward(const Tuple<>&, const Tensor<T, D>&, Gradient<T, D>&) const {}
};

/// A hook that adds the name of its gradient to a log.
auto noting(std::string& log, const char* what) {
  return [&log, what](const auto&) { (log += what) += ' '; };
}

}  // namespace

LOCUS_DEVICE_TEST("gradients of a chain are ready from its end on", D) {
  std::string log;
  const auto a = two<D>(1, 2), b = two<D>(3, 4), c = two<D>(5, 6);
  const auto x = tensor<float, D>({2}, {1, 1});
  const auto first = a.on_gradient(noting(log, "a")), second = b.on_gradient(noting(log, "b")),
             third = c.on_gradient(noting(log, "c"));
  Traced y = trace(x) * a;
  y = apply(Noted{&log, "after-a"}, y) * b;
  y = apply(Noted{&log, "after-b"}, y) * c;
  sum(y).backward();
  CHECK(log == "c after-b b after-a a ");
  CHECK_CLOSE(a.grad(), {15, 24});
}

LOCUS_DEVICE_TEST("a hook gets the whole gradient, and what its parameter keeps", D) {
  const auto w = two<D>(1, 2);
  std::vector<Reference> seen;
  const auto hook = w.on_gradient([&](const Tensor<float, D>& g) {
    seen.push_back(reference(g));
    CHECK(g.data() == w.grad().data());
  });
  const auto x = trace(tensor<float, D>({2}, {10, 100}));
  const Traced p = x * w, q = p * w;  // the gradient of w has three parts
  sum(p + q).backward();
  REQUIRE(seen.size() == 1);
  CHECK_CLOSE(w.grad(), seen[0]);
  CHECK_CLOSE(w.grad(), {30, 500});
}

LOCUS_DEVICE_TEST("a hook of a diamond is called after both of its sides", D) {
  std::string log;
  const auto w = two<D>(1, 2);
  const auto hook = w.on_gradient(noting(log, "w"));
  const auto top = variable(tensor<float, D>({2}, {1, 1}));
  const auto middle = Traced(top * w);
  const auto watched = middle.on_gradient(noting(log, "middle")), of_top = top.on_gradient(noting(log, "top"));
  const Traced left = apply(Noted{&log, "left"}, middle), right = apply(Noted{&log, "right"}, middle);
  sum(left * right).backward();
  CHECK(log == "right left middle top w ");
  CHECK_CLOSE(w.grad(), {2, 4});
}

LOCUS_DEVICE_TEST("a shared weight is ready once, after its earliest use", D) {
  std::string log;
  const auto w = two<D>(2, 3), late = two<D>(1, 1);
  const auto hook = w.on_gradient(noting(log, "w")), other = late.on_gradient(noting(log, "late"));
  Traced y = trace(tensor<float, D>({2}, {1, 1})) * w;
  y = apply(Noted{&log, "1"}, y) * w;
  y = apply(Noted{&log, "2"}, y) * w;
  sum(apply(Noted{&log, "3"}, y) * late).backward();
  CHECK(log == "late 3 2 1 w ");
  CHECK_CLOSE(w.grad(), {12, 27});
}

LOCUS_DEVICE_TEST("operations of any number of inputs count each of them", D) {
  std::string log;
  const auto a = two<D>(1, 2), b = two<D>(3, 4);
  const auto of_a = a.on_gradient(noting(log, "a")), of_b = b.on_gradient(noting(log, "b"));
  const auto x = trace(tensor<float, D>({2}, {1, 1}));
  const Traced xa = x * a, xb = x * b;
  sum(concat(0, xa, xb, xa, xa)).backward();
  CHECK(log == "b a ");
  CHECK_CLOSE(a.grad(), {3, 3});
  const auto w = Parameter<float, D>(tensor<float, D>({2, 2}, {1, 2, 3, 4}));
  log.clear();
  const auto of_w = w.on_gradient(noting(log, "w"));
  sum(linear(linear(trace(tensor<float, D>({1, 2}, {1, 1})), w, a), w, b)).backward();
  CHECK(log == "b w a ");
}

LOCUS_DEVICE_TEST("parameters that a pass does not reach are not ready", D) {
  std::string log;
  const auto used = two<D>(1, 2), unused = two<D>(3, 4), elsewhere = two<D>(5, 6);
  const auto hook = used.on_gradient(noting(log, "used")), other = unused.on_gradient(noting(log, "unused")),
             third = elsewhere.on_gradient(noting(log, "elsewhere"));
  const auto x = trace(tensor<float, D>({2}, {1, 1}));
  const auto aside = sum(x * elsewhere);
  sum(x * used).backward();
  CHECK(log == "used ");
  aside.backward();
  CHECK(log == "used elsewhere ");
}

LOCUS_DEVICE_TEST("a contribution that does not come counts, but is not a gradient", D) {
  std::string log;
  const auto w = two<D>(1, 2), never = two<D>(3, 4);
  const auto hook = w.on_gradient(noting(log, "w")), other = never.on_gradient(noting(log, "never"));
  const auto x = trace(tensor<float, D>({2}, {1, 1}));
  const Traced early = apply(Silent{}, Traced(apply(Noted{&log, "early"}, Traced(x * w)) * never));
  const Traced late = apply(Noted{&log, "late"}, Traced(x * w));
  sum(early + late).backward();
  CHECK(log == "late w ");
  CHECK(!never.has_grad());
  CHECK_CLOSE(w.grad(), {1, 1});
  // Nor is a hook called for a gradient from an earlier pass.
  log.clear();
  sum(x * never).backward();
  CHECK(log == "never ");
  log.clear();
  sum(apply(Silent{}, Traced(x * never)) + x * w).backward();
  CHECK(log == "w ");
}

LOCUS_DEVICE_TEST("every pass calls a hook, with what has been accumulated", D) {
  const auto w = two<D>(1, 2);
  std::vector<Reference> seen;
  const auto hook = w.on_gradient([&](const Tensor<float, D>& g) { seen.push_back(reference(g)); });
  const auto x = trace(tensor<float, D>({2}, {1, 10}));
  const Traced loss = sum(x * w);
  loss.backward({.retain_graph = true});
  loss.backward({.retain_graph = true});
  w.zero_grad();
  loss.backward();
  REQUIRE(seen.size() == 3);
  CHECK_CLOSE((tensor<float, D>({2}, {1, 10})), seen[0]);
  CHECK_CLOSE((tensor<float, D>({2}, {2, 20})), seen[1]);
  CHECK_CLOSE((tensor<float, D>({2}, {1, 10})), seen[2]);
}

LOCUS_DEVICE_TEST("a hook may change the gradient in place, and no other gradient with it", D) {
  const auto a = two<D>(1, 2), b = two<D>(3, 4);
  const auto hook = a.on_gradient([](const auto& g) { g.copy_(g * 10.f); });
  const auto x = trace(tensor<float, D>({2}, {1, 1}));
  (x + a + b).eval().backward(tensor<float, D>({2}, {1, 2}));  // all three gradients are the cotangent
  CHECK_CLOSE(a.grad(), {10, 20});
  CHECK_CLOSE(b.grad(), {1, 2});
  const auto clearing = b.on_gradient([&](const auto& g) {
    b.zero_grad();
    CHECK_CLOSE(g, {2, 4});
  });
  (x + b).eval().backward(tensor<float, D>({2}, {1, 2}));
  CHECK(!b.has_grad());
}

LOCUS_DEVICE_TEST("a hook may change the gradients of others in place, which share no memory then", D) {
  const auto a = two<D>(1, 2), b = two<D>(3, 4);
  const auto x = variable(tensor<float, D>({2}, {0, 0}));
  const auto cotangent = tensor<float, D>({2}, {10, 20});
  const auto hook = b.on_gradient([&](const auto&) {
    REQUIRE(a.has_grad());
    optim::clip_grad_value_(std::vector{a, b}, 1);
    x.grad().copy_(x.grad() * 3.f);
  });
  (x + a + b).eval().backward(cotangent);
  CHECK_CLOSE(cotangent, {10, 20});
  CHECK_CLOSE(a.grad(), {1, 1});
  CHECK_CLOSE(b.grad(), {1, 1});
  CHECK_CLOSE(x.grad(), {30, 60});
}

LOCUS_DEVICE_TEST("a step of an optimizer within a hook does not disturb the pass", D) {
  const auto a = two<D>(1, 2), b = two<D>(3, 4);
  optim::Sgd first{std::vector{a}, {.lr = 1}}, second{std::vector{b}, {.lr = 1}};
  const auto step_of = [](auto& optimizer) {
    return [&optimizer](const auto&) {
      optimizer.step();
      optimizer.zero_grad();
    };
  };
  const auto of_a = a.on_gradient(step_of(first)), of_b = b.on_gradient(step_of(second));
  sum(trace(tensor<float, D>({2}, {1, 10})) * a * b).backward();
  CHECK_CLOSE(a.value(), {1 - 3, 2 - 40});
  CHECK_CLOSE(b.value(), {3 - 1, 4 - 20});
  CHECK(!a.has_grad());
  (void)flatten(std::vector{a, b});  // neighbours in flat memory, and b's value is needed after a's step
  Traced y = trace(tensor<float, D>({2}, {1, 10})) * b;
  y = y * a;
  sum(y).backward();
  CHECK_CLOSE(a.value(), {-2 - 2, -38 + 160});
  CHECK_CLOSE(b.value(), {2 + 2, -16 + 380});
}

LOCUS_DEVICE_TEST("a part of flat memory is complete when the hooks of its parameters were called", D) {
  const auto a = two<D>(1, 2), b = two<D>(3, 4), c = two<D>(5, 6);
  const auto flat = flatten(std::vector{a, b, c});  // in the order of memory: c, b, a
  std::string log;
  const auto halve_when_complete = [&](const auto&) {
    if ((log += '.') != "..") return;
    const auto part = flat.gradients(0, 2);
    part.copy_(part * 0.5f);
    log += " halved ";
  };
  const auto of_c = c.on_gradient(halve_when_complete), of_b = b.on_gradient(halve_when_complete),
             of_a = a.on_gradient(noting(log, "a"));
  Traced y = trace(tensor<float, D>({2}, {1, 1})) * a;
  y = Traced(y * b) * c;
  sum(y).backward();
  CHECK(log == ".. halved a ");
  CHECK_CLOSE(a.grad(), {15, 24});
  CHECK_CLOSE(b.grad(), {2.5, 6});
  CHECK_CLOSE(c.grad(), {1.5, 4});
}

LOCUS_DEVICE_TEST("a handle unhooks, also within its hook", D) {
  std::string log;
  const auto w = two<D>(1, 2);
  const auto pass = [&] { sum(trace(tensor<float, D>({2}, {1, 1})) * w).backward(); };
  {
    auto first = w.on_gradient(noting(log, "first"));
    GradientHook moved = std::move(first), last;
    CHECK(!first);
    CHECK(moved);
    CHECK(!last);
    pass();
    last = std::move(moved);
    pass();
    CHECK(log == "first first ");
  }
  pass();
  CHECK(log == "first first ");

  log.clear();
  GradientHook once, removed;
  std::weak_ptr<int> function;
  const auto hook_once = [&] {
    const auto held = std::make_shared<int>(0);
    function = held;
    return w.on_gradient([&, held](const auto&) {
      log += "once ";
      once.unhook();
      removed.unhook();
      log += function.expired() ? "gone " : "still there ";  // it lives until it returns
    });
  };
  once = hook_once();
  const auto kept = w.on_gradient(noting(log, "kept"));
  removed = w.on_gradient(noting(log, "removed"));
  pass();
  pass();
  CHECK(log == "once still there kept kept ");
  CHECK(function.expired());
  CHECK(!once);
}

LOCUS_DEVICE_TEST("hooks are called in the order in which they were made; one made in a pass from the next pass on",
                  D) {
  std::string log;
  const auto w = two<D>(1, 2);
  std::vector<GradientHook> hooks;
  hooks.push_back(w.on_gradient([&](const auto&) {
    log += "1 ";
    if (hooks.size() == 2) hooks.push_back(w.on_gradient(noting(log, "3")));
  }));
  hooks.push_back(w.on_gradient(noting(log, "2")));
  const auto x = trace(tensor<float, D>({2}, {1, 1}));
  sum(x * w).backward();
  CHECK(log == "1 2 ");
  sum(x * w).backward();
  CHECK(log == "1 2 1 2 3 ");
  hooks.clear();
  sum(x * w).backward();
  CHECK(log == "1 2 1 2 3 ");

  log.clear();
  const auto earlier = two<D>(1, 2);
  const auto late = w.on_gradient([&](const auto&) {
    log += "late ";
    if (hooks.empty()) hooks.push_back(earlier.on_gradient(noting(log, "earlier")));
  });
  sum(Traced(x * earlier) * w).backward();
  CHECK(log == "late ");
  sum(Traced(x * earlier) * w).backward();
  CHECK(log == "late late earlier ");
}

LOCUS_DEVICE_TEST("a handle may outlive its parameter, and its function goes with it", D) {
  GradientHook hook;
  const auto alive = std::make_shared<int>(0);
  {
    const auto w = two<D>(1, 2);
    hook = w.on_gradient([alive](const auto&) { ++*alive; });
    sum(trace(tensor<float, D>({2}, {1, 1})) * w).backward();
    CHECK(alive.use_count() == 2);
  }
  CHECK(*alive == 1);
  hook.unhook();
  CHECK(alive.use_count() == 1);
}

LOCUS_DEVICE_TEST("a hook that throws leaves no gradient half made", D) {
  const auto a = two<D>(1, 2), b = two<D>(3, 4);
  bool throws = true;
  const auto hook = b.on_gradient([&](const auto&) {
    if (throws) throw std::runtime_error("no");
  });
  const auto x = trace(tensor<float, D>({2}, {1, 10}));
  const Traced loss = sum(x * a * b);
  CHECK_THROWS_WITH_AS(loss.backward({.retain_graph = true}), "no", std::runtime_error);
  CHECK(!a.has_grad());
  CHECK(!b.has_grad());
  throws = false;
  loss.backward();
  CHECK_CLOSE(a.grad(), {3, 40});
  CHECK_CLOSE(b.grad(), {1, 20});
}

LOCUS_DEVICE_TEST("a hook may go back through another graph, but not through the one that called it", D) {
  const auto w = two<D>(1, 2), other = two<D>(3, 4);
  const auto x = trace(tensor<float, D>({2}, {1, 10}));
  {
    const auto hook = w.on_gradient([&](const Tensor<float, D>& g) { sum(trace(g) * other).backward(); });
    sum(x * w).backward();
    CHECK_CLOSE(other.grad(), {1, 10});
    CHECK_CLOSE(w.grad(), {1, 10});
  }
  w.zero_grad();
  const auto hook = w.on_gradient([&](const Tensor<float, D>&) { sum(x * w).backward(); });
  CHECK(contains(message_of<GraphError>([&] { sum(x * w).backward(); }), "called by a hook"));
  CHECK(!w.has_grad());
}

LOCUS_DEVICE_TEST("the gradient of an intermediate result can be seen, and changed", D) {
  const auto w = two<D>(1, 2);
  const Traced y = trace(tensor<float, D>({2}, {3, 5})) * w;
  int calls = 0;
  const auto hook = y.on_gradient([&](const auto& g) {
    ++calls;
    CHECK_CLOSE(g, {6, 20});
    g.fill_(1.f);
  });
  sum(y * y).backward();
  CHECK(calls == 1);
  CHECK_CLOSE(w.grad(), {3, 5});
  // Also a gradient whose product would be fused with the derivative of the preceding layer.
  const auto weights = Parameter<float, D>(tensor<float, D>({2, 2}, {1, 2, 3, 4}));
  const Traced hidden = linear(trace(tensor<float, D>({1, 2}, {1, 1})), weights, functor::Tanh{});
  Reference seen{};
  const auto watch = hidden.on_gradient([&](const auto& g) { seen = reference(g); });
  sum(linear(hidden, tensor<float, D>({1, 2}, {7, 8}))).backward();
  CHECK_CLOSE((tensor<float, D>({1, 2}, {7, 8})), seen);
}

LOCUS_DEVICE_TEST("a result is ready at once, a variable that is the result as well", D) {
  std::string log;
  const auto w = two<D>(1, 2);
  const Traced y = apply(Noted{&log, "y"}, trace(tensor<float, D>({2}, {1, 1})) * w);
  const auto hook = y.on_gradient(noting(log, "result"));
  y.backward(tensor<float, D>({2}, {1, 1}));
  CHECK(log == "result y ");
  const auto x = variable(tensor<float, D>({1}, {1}));
  const auto of_x = x.on_gradient(noting(log, "x"));
  x.backward();
  CHECK(log == "result y x ");
}

LOCUS_DEVICE_TEST("what a hook leaves for the end of a pass is called there, once, though parameters were left out",
                  D) {
  std::string log;
  const auto a = two<D>(1, 2), b = two<D>(3, 4), unused = two<D>(5, 6);
  int awaited = 0;
  const auto counting = [&](const auto&) {
    log += "ready ";
    if (awaited++ > 0) return;
    after_backward([&] {
      log += join("end after ", awaited, " ");
      awaited = 0;
      after_backward([&] { log += "last "; });
    });
  };
  std::vector<GradientHook> hooks;
  for (const auto& parameter : {a, b, unused}) hooks.push_back(parameter.on_gradient(counting));
  const auto x = trace(tensor<float, D>({2}, {1, 10}));
  const auto loss = [&] { return sum(apply(Noted{&log, "first"}, Traced(x * a)) * b); };
  loss().backward();
  CHECK(log == "ready first ready end after 2 last ");
  log.clear();
  sum(x * a).backward();
  CHECK(log == "ready end after 1 last ");

  hooks.clear();
  log.clear();
  const auto outer = a.on_gradient([&](const Tensor<float, D>& g) {
    const auto inner = b.on_gradient([&](const auto&) { after_backward([&] { log += "end "; }); });
    sum(trace(g) * b).backward();  // a nested pass
    log += "inner pass ";
  });
  sum(x * a).backward();
  CHECK(log == "inner pass end ");

  log.clear();
  const auto third = unused.on_gradient([&](const Tensor<float, D>& g) {
    after_backward([&] { log += "outer end "; });
    const auto inner = b.on_gradient([&](const auto&) {
      after_backward([&] { log += "of a pass that threw "; });
      throw std::runtime_error("inner");
    });
    CHECK_THROWS_WITH_AS(sum(trace(g) * b).backward(), "inner", std::runtime_error);
    after_backward([&] { log += "last "; });
  });
  sum(x * unused).backward();
  CHECK(log == "outer end last ");
  CHECK(contains(message_of<GraphError>([&] { after_backward([] {}); }), "outside of a backward pass"));
}

LOCUS_DEVICE_TEST("a pass that throws makes no calls at its end, and one that throws there leaves no gradient", D) {
  const auto a = two<D>(1, 2), b = two<D>(3, 4);
  int calls = 0;
  bool at_the_end = false;
  const auto first = b.on_gradient([&](const auto&) {
    after_backward([&] {
      ++calls;
      throw std::runtime_error("at the end");
    });
  });
  const auto second = a.on_gradient([&](const auto&) {
    if (!at_the_end) throw std::runtime_error("before");
  });
  const auto x = trace(tensor<float, D>({2}, {1, 10}));
  const auto loss = [&] { return sum(Traced(x * a) * b); };
  CHECK_THROWS_WITH_AS(loss().backward(), "before", std::runtime_error);
  CHECK(calls == 0);
  at_the_end = true;
  CHECK_THROWS_WITH_AS(loss().backward(), "at the end", std::runtime_error);
  CHECK(calls == 1);
  CHECK(!a.has_grad());
  CHECK(!b.has_grad());
}

LOCUS_DEVICE_TEST("hooks say where no gradient is collected", D) {
  const auto f = [](const auto&) {};
  CHECK(contains(message_of<ArgumentError>([&] { (void)Parameter<float, D>().on_gradient(f); }), "empty"));
  CHECK(contains(message_of<GraphError>([&] { (void)trace(tensor<float, D>({1}, {1})).on_gradient(f); }),
                 "make it a variable(x)"));
}

LOCUS_DEVICE_TEST("replays of a captured step repeat what a hook launched in it", D) {
  const auto w = two<D>(1, 2), expected = two<D>(1, 2);
  const Tensor<float, D> x({2}), largest = tensor<float, D>({2}, {0, 0});
  int calls = 0;
  const auto watch = w.on_gradient([&](const auto& g) {
    ++calls;
    largest.copy_(maximum(largest, g));
    g.copy_(g * 0.5f);
  });
  const auto halve = expected.on_gradient([&](const auto& g) { g.copy_(g * 0.5f); });
  const auto train = [&](const Parameter<float, D>& of) {
    of.zero_grad();
    sum(trace(x) * of * of).backward();
    of.value().copy_(of.value() - of.grad() * 0.01f);
  };
  auto step = capture<D>([&] { train(w); });
  for (int i = 0; i < 100; ++i) {
    x.copy_(tensor<float, D>({2}, {float(i % 7), float(i % 5)}));
    step();
    train(expected);
    CHECK_CLOSE(w.value(), reference(expected.value()), 0);
    CHECK_CLOSE(w.grad(), reference(expected.grad()), 0);
  }
  CHECK(calls == (CapturingDevice<D> ? 2 : 100));
  CHECK(reference(largest).values[0] > 5);
}
