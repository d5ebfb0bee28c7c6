// Runs on: host, cuda (verbs).
// A captured step is bitwise equal to the plain step; steps that cannot be captured throw.

#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>

#include <locus/locus.hpp>

#include <support/device_list.hpp>

#include <cstring>

namespace {
using namespace locus;
using locus_test::note_skip;

template <class T, class D>
bool same_bits(const Tensor<T, D>& a, const Tensor<T, D>& b) {
  const auto x = a.template to<Cpu>().contiguous(), y = b.template to<Cpu>().contiguous();
  return x.shape() == y.shape() &&
         std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.elements()) * sizeof(T)) == 0;
}

/// A small classifier with its optimizer, and noise on its inputs.
template <class D, class Optimizer>
struct Training {
  nn::Sequential<float, D> model;
  Optimizer optimizer;
  Generator<D> noise{5};
  Tensor<float, D> images;
  Tensor<std::int64_t, D> labels;

  template <class Options>
  explicit Training(const Options& options)
      : model(seeded()), optimizer(model.parameters(), options), images({16, 12}), labels({16}) {}

  static nn::Sequential<float, D> seeded() {
    manual_seed(3);
    return {nn::Linear<float, D>{12, 9}, nn::ReLU{}, nn::Linear<float, D>{9, 4}};
  }
  Tensor<float, D> step() {
    const auto noisy = (images + rand<float>(images.shape(), noise) * 0.1f).eval();
    const auto loss = nn::cross_entropy(model(trace(noisy)), labels);
    optimizer.zero_grad();
    loss.backward();
    optim::clip_grad_norm_(model.parameters(), 0.5);
    optimizer.step();
    return loss.value();
  }
};

/// Compares `steps` captured steps with plain steps on the same batches.
template <class D, class Optimizer, class Options>
void check_replays(int steps, const Options& options) {
  Training<D, Optimizer> plain(options), replayed(options);
  auto step = capture([&] { return replayed.step(); });
  Generator<D> numbers{9};
  std::int64_t reserved = 0;
  for (int i = 0; i < steps; ++i) {
    INFO("step ", i);
    const auto images = rand<float, D>({16, 12}, numbers);
    const auto labels = randint<std::int64_t, D>(0, 4, {16}, numbers);
    for (auto* training : {&plain, &replayed}) {
      training->images.copy_(images);
      training->labels.copy_(labels);
      training->optimizer.set_lr(i < 5 ? 0.05 : 0.01);
    }
    const LaunchLog log;
    const Tensor<float, D> loss = step();
    if (std::is_same_v<D, Cuda> && i >= 2) CHECK(log.launches() == 1);
    REQUIRE(same_bits(loss, plain.step()));
    if (i == 3) reserved = memory_stats(D{}).reserved_bytes;
  }
  const bool is_pooled =
      !std::is_same_v<D, Cuda> || locus_test::memory_is_pooled();  // without a pool, only the tensors' memory counts
  if (is_pooled) CHECK(memory_stats(D{}).reserved_bytes == reserved);
  else CHECK(memory_stats(D{}).reserved_bytes <= reserved);
  const auto expected = plain.model.parameters(), got = replayed.model.parameters();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(same_bits(got[i].value(), expected[i].value()));
    CHECK(same_bits(got[i].grad(), expected[i].grad()));
  }
}

LOCUS_DEVICE_TEST("100 replays of a training step equal 100 steps bit for bit", D) {
  check_replays<D, optim::Sgd<float, D>>(10, optim::SgdOptions{.lr = 0.05});
  check_replays<D, optim::Sgd<float, D>>(10, optim::SgdOptions{.lr = 0.05, .momentum = 0.9, .dampening = 0.3});
  check_replays<D, optim::Adam<float, D>>(100, optim::AdamOptions{.lr = 0.05});
  check_replays<D, optim::AdamW<float, D>>(10, optim::AdamWOptions{.lr = 0.05, .weight_decay = 0.1});
}

LOCUS_DEVICE_TEST("numbers of the default generator go on in replays", D) {
  const auto draw = [] {
    const auto floats = (randn<float, D>({5}) + rand<float, D>({5}) + bernoulli<float, D>(0.5, {5})).eval();
    return (floats + randint<std::int64_t, D>(0, 9, {5}).template as<float>()).eval();
  };
  std::vector<Tensor<float, Cpu>> expected;
  manual_seed(4);
  for (int i = 0; i < 6; ++i) expected.push_back(draw().template to<Cpu>().clone());
  manual_seed(4);
  auto step = capture(draw);
  for (int i = 0; i < 6; ++i) CHECK(same_bits(step().template to<Cpu>(), expected[static_cast<std::size_t>(i)]));
}

LOCUS_DEVICE_TEST("what a step changes in place counts as changed by every replay", D) {
  const auto x = zeros<float, D>({4});
  auto step = capture<D>([&] { x += 1.f; });
  for (int i = 0; i < 5; ++i) {
    const auto before = x.version();
    step();
    CHECK(x.version() > before);
  }
  CHECK(same_bits(x, full<float, D>({4}, 5.f)));
  const auto stale = variable(x);
  const auto y = sum(stale * stale);
  step();
  CHECK_THROWS_AS(y.backward(), StaleError);
}

/// Compares captured and plain backward passes whose gradients are cleared outside the step; with an optimizer, which
/// keeps gradients in flat memory, or without.
template <class D>
void check_collected(bool optimized) {
  const auto x = full<float, D>({2, 3}, 0.5f);
  const auto layer = [] {
    manual_seed(6);
    return nn::Linear<float, D>(3, 4);
  };
  const nn::Linear<float, D> plain = layer(), captured = layer();
  const auto optimizer = [&](const nn::Linear<float, D>& of) { return optim::Sgd{of.parameters(), {.lr = 0.1}}; };
  std::vector<optim::Sgd<float, D>> optimizers;
  if (optimized) {
    optimizers.push_back(optimizer(plain));
    optimizers.push_back(optimizer(captured));
  }
  const auto collect = [&](const nn::Linear<float, D>& of) { sum(square(of(trace(x)))).backward(); };
  auto step = capture<D>([&] { collect(captured); });
  for (int i = 0; i < 5; ++i) {
    INFO("step ", i);
    for (const auto* of : {&plain, &captured}) of->zero_grad();
    CHECK_FALSE(captured.weight.has_grad());
    collect(plain);
    step();
    REQUIRE(captured.weight.has_grad());
    CHECK(same_bits(captured.weight.grad(), plain.weight.grad()));
    CHECK(same_bits(captured.bias.grad(), plain.bias.grad()));
    for (auto& each : optimizers) each.step();
    CHECK(same_bits(captured.weight.value(), plain.weight.value()));
  }
}

LOCUS_DEVICE_TEST("gradients are collected by replays as by the steps, where they are cleared outside", D) {
  check_collected<D>(false);
  check_collected<D>(true);
}

LOCUS_DEVICE_TEST("a step that was captured adding to gradients refuses to add to none, and the other way round", D) {
  const auto x = full<float, D>({2, 3}, 0.5f);
  const nn::Linear<float, D> layer(3, 4);
  auto adding = capture<D>([&] { sum(layer(trace(x))).backward(); });
  for (int i = 1; i <= 4; ++i) {
    adding();
    CHECK(layer.bias.grad().template to<Cpu>()(0) == 2.f * static_cast<float>(i));
  }
  layer.zero_grad();
  if constexpr (std::is_same_v<D, Cuda>) {
    CHECK_THROWS_WITH_AS(adding(), doctest::Contains("zero_grad() within the step"), CaptureError);
  } else {
    CHECK_NOTHROW(adding());
  }
}

LOCUS_DEVICE_TEST("a captured step refuses an optimizer that has counted its parameters apart since", D) {
  const auto x = full<float, D>({2, 3}, 0.5f);
  const nn::Linear<float, D> layer(3, 4);
  optim::Adam optimizer{layer.parameters(), {.lr = 0.1}};
  auto step = capture<D>([&] {
    optimizer.zero_grad();
    sum(layer(trace(x))).backward();
    optimizer.step();
  });
  for (int i = 0; i < 3; ++i) step();
  optimizer.zero_grad();
  sum(square(trace(layer.weight))).backward();
  optimizer.step();  // steps the weight alone
  if constexpr (std::is_same_v<D, Cuda>) {
    CHECK_THROWS_WITH_AS(step(), doctest::Contains("capture anew"), CaptureError);
  } else {
    CHECK_NOTHROW(step());
  }
}

LOCUS_DEVICE_TEST("results of several tensors, and of none", D) {
  const auto x = zeros<float, D>({3});
  struct Both {
    Tensor<float, D> sum, square;
  };
  auto step = capture<D>([&] {
    x += 1.f;
    return Both{sum(x), square(x)};
  });
  for (int i = 1; i <= 4; ++i) {
    const Both& both = step();
    CHECK(both.sum.item() == static_cast<float>(3 * i));
    CHECK(same_bits(both.square, full<float, D>({3}, static_cast<float>(i * i))));
  }
  auto nothing = capture<D>([] {});
  for (int i = 0; i < 3; ++i) CHECK_NOTHROW(nothing());
}

LOCUS_DEVICE_TEST("a step that throws leaves everything as usual, and can be tried again", D) {
  const auto x = zeros<float, D>({3});
  int calls = 0;
  auto step = capture([&] {
    x += 1.f;
    if (++calls <= 2) throw std::runtime_error("not yet");
    return (x * 2.f).eval();
  });
  for (int i = 0; i < 2; ++i) CHECK_THROWS_WITH(step(), "not yet");
  CHECK(sum(x).item() == 6.f);  // the first call runs the step uncaptured, also if it throws
  for (int i = 3; i < 7; ++i) CHECK(same_bits(step(), full<float, D>({3}, 2.f * static_cast<float>(i))));
  CHECK(calls == (std::is_same_v<D, Cuda> ? 4 : 6));
}

LOCUS_DEVICE_TEST("a capture that is given up uses up no random numbers, and optimizers count no step", D) {
  const auto start = full<float, D>({4}, 1.f);
  const auto train = [&](bool interrupted) {
    const Parameter<float, D> w(start.clone());
    optim::Adam optimizer({w});
    Generator<D> numbers{5};
    int calls = 0;
    const auto body = [&] {
      const auto noise = rand<float, D>({4}, numbers) + rand<float, D>({4}, numbers);
      const auto loss = sum(trace(noise.eval()) * w * w);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      if (++calls == 2 && interrupted && std::is_same_v<D, Cuda>) throw std::runtime_error("interrupted");
      return w.value().clone();
    };
    auto step = capture(body);
    Tensor<float, D> last = step();
    if (interrupted && std::is_same_v<D, Cuda>) CHECK_THROWS_WITH(step(), "interrupted");
    CHECK(numbers.offset == 8);
    for (int i = 0; i < 4; ++i) last = step();
    CHECK(numbers.offset == 40);
    return last.clone();
  };
  CHECK(same_bits(train(true), train(false)));
}

LOCUS_DEVICE_TEST("what a capture that is given up would have cleared or named is so later", D) {
  const auto ones_of = [] { return Parameter<float, D>(full<float, D>({4}, 1.f)); };
  const auto a = ones_of(), b = ones_of(), c = ones_of(), d = ones_of();
  const auto flat = flatten(std::vector{a, b, c, d});
  const auto give = [](const Parameter<float, D>& parameter, float size) {
    Traced(trace(parameter) * 1.f).backward(full<float, D>({4}, size));
  };
  // b lies between two parameters of another group, so that one launch has to know the group of every element.
  optim::Sgd<float, D> optimizer({optim::Group{std::vector{a, c}}, optim::Group{std::vector{b}, {.lr = 10}}},
                                 {.lr = 1});
  int calls = 0;
  auto step = capture<D>([&] {
    (void)flat.gradients();  // d has no gradient then
    if (++calls != 2) return;
    optimizer.step();
    if (std::is_same_v<D, Cuda>) throw std::runtime_error("interrupted");
  });
  const auto give_all = [&] {
    for (const auto& parameter : {a, b, c, d}) parameter.zero_grad(), give(parameter, 1);
  };
  give_all();
  step();
  d.zero_grad();
  if (std::is_same_v<D, Cuda>) CHECK_THROWS_WITH(step(), "interrupted");
  CHECK(sum(flat.gradients()).item() == 12.f);
  give_all();
  optimizer.step();
  CHECK(same_bits(a.value(), full<float, D>({4}, 0.f)));
  CHECK(same_bits(b.value(), full<float, D>({4}, -9.f)));
  CHECK(same_bits(c.value(), full<float, D>({4}, 0.f)));
}

LOCUS_DEVICE_TEST("memory that runs out while a step is captured is told, and the step can be tried again", D) {
  const auto x = zeros<float, D>({3});
  int calls = 0;
  auto step = capture([&] {
    if (++calls == 2) (void)Tensor<float, D>({std::int64_t{1} << 50});
    return (x + 1.f).eval();
  });
  CHECK(same_bits(step(), full<float, D>({3}, 1.f)));
  CHECK_THROWS_AS(step(), OutOfMemory);
  for (int i = 0; i < 3; ++i) CHECK(same_bits(step(), full<float, D>({3}, 1.f)));
}

LOCUS_DEVICE_TEST("memory that is let go while and after a step is captured", D) {
  const auto x = full<float, D>({1000}, 2.f);
  {
    Tensor<float, D> kept = full<float, D>({1000}, 3.f), also_kept = full<float, D>({1000}, 4.f);
    int calls = 0;
    auto step = capture([&] {
      const auto y = (x * kept + also_kept).eval();
      // y reads memory of another stream and, from the second call on, of the step's own stream: replays read both
      // after they are freed.
      if (++calls == 1) kept = (x * 1.5f).eval();
      if (calls == 2) kept = also_kept = {};
      const auto z = (y * 3.f).eval();
      return (sum(y) + sum(z)).eval();
    });
    CHECK(step().item() == 40000.f);
    if constexpr (std::is_same_v<D, Cuda>) {
      CHECK(step().item() == 40000.f);
      std::vector<Tensor<float, D>> others;
      for (int i = 0; i < 50; ++i) others.push_back(full<float, D>({1000}, -1.f));  // must get other memory
      CHECK(step().item() == 40000.f);
      others.clear();
      CHECK(step().item() == 40000.f);
    }
  }
  const auto reserved = memory_stats(D{}).reserved_bytes;
  for (int i = 0; i < 3; ++i) {
    auto step = capture([&] { return (x * x).eval(); });
    for (int j = 0; j < 3; ++j) CHECK(sum(step()).item() == 4000.f);
  }
  CHECK(memory_stats(D{}).reserved_bytes <= reserved + 4 * 4096 * 3);
}

/// 63 x, by six tensors as large as x that live at once, and two changes in place.
template <class D>
Tensor<float, D> chain(const Tensor<float, D>& x) {
  std::vector<Tensor<float, D>> held{(x * 1.f).eval()};
  while (held.size() < 6) held.push_back((held.back() * 2.f).eval());
  held[4] += held[5];
  held[3] += held[4];
  return (held[0] + held[1] + held[2] + held[3]).eval();
}
constexpr std::int64_t wide = 17'000;  // elements of tensors that are large enough to share memory between steps

LOCUS_DEVICE_TEST("results of captured steps survive the replays of others, eager work and the end of a step", D) {
  const auto x = full<float, D>({wide}, 1.f), y = full<float, D>({wide - 5000 / 8}, 2.f);
  const auto of_x = full<float, D>(x.shape(), 63.f), of_y = full<float, D>(y.shape(), 126.f);
  std::vector<Tensor<float, D>> kept;
  auto a = capture([&] { return chain(x); });
  for (int i = 0; i < 3; ++i) kept.push_back(a());
  {
    auto b = capture([&] { return chain(y); });
    auto c = capture([&] { return sum(chain(x)).eval(); });
    for (int i = 0; i < 4; ++i) {
      const auto from_b = b();
      const auto eager = chain(x);
      CHECK(c().item() == 63.f * wide);
      CHECK(same_bits(a(), of_x));
      CHECK(same_bits(from_b, of_y));
      CHECK(same_bits(eager, of_x));
      kept.push_back(from_b);
    }
  }
  for (int i = 0; i < 2; ++i) {
    const auto eager = chain(y);  // may take the memory of the steps that ended
    CHECK(same_bits(a(), of_x));
    CHECK(same_bits(eager, of_y));
  }
  for (const auto& each : kept) CHECK(same_bits(each, each.shape() == x.shape() ? of_x : of_y));
}

LOCUS_DEVICE_TEST("a step that keeps more memory when it is captured than when it ran", D) {
  const auto x = full<float, D>({wide}, 1.f), of_x = full<float, D>({wide}, 63.f);
  auto first = capture([&] { return chain(x); });
  for (int i = 0; i < 3; ++i) (void)first();
  Generator<D> numbers{5};
  Tensor<float, D> kept;
  int calls = 0;
  auto second = capture([&] {
    const auto more = (chain(x) + rand<float>({1}, numbers)).eval();
    if (++calls > 1) kept = more;
    return sum(chain(x)).eval();
  });
  for (int i = 0; i < 4; ++i) {
    CHECK(second().item() == 63.f * wide);
    CHECK(same_bits(first(), of_x));
    if (i > 0) CHECK(min(kept).item() >= 63.f);
    if (i > 0) CHECK(max(kept).item() < 64.f);
  }
  CHECK(calls == (std::is_same_v<D, Cuda> ? 2 : 4));
  CHECK(numbers.offset == 4);
}

LOCUS_DEVICE_TEST("a step needs less memory when it is captured than when it ran, and its gradients are right", D) {
  const auto x = full<float, D>({wide}, 1.f);
  auto other = capture([&] { return chain(x); });
  for (int i = 0; i < 3; ++i) (void)other();
  const Parameter<float, D> w(full<float, D>({wide}, 3.f));
  int calls = 0;
  auto step = capture([&] {
    if (++calls == 1) (void)(x * 5.f).eval();
    const auto loss = sum(square(trace(w)));
    loss.backward();
    return loss.value();
  });
  for (int i = 0; i < 4; ++i) {
    w.zero_grad();
    CHECK(step().item() == 9.f * wide);
    CHECK(same_bits(w.grad(), full<float, D>({wide}, 6.f)));
    CHECK(same_bits(other(), full<float, D>({wide}, 63.f)));
  }
  CHECK(calls == (std::is_same_v<D, Cuda> ? 2 : 4));
}

LOCUS_DEVICE_TEST("a capture that is given up leaves gradients as they were", D) {
  for (const bool in_flat_memory : {false, true}) {
    CAPTURE(in_flat_memory);
    const Parameter<float, D> w(full<float, D>({4}, 3.f)), v(full<float, D>({4}, 2.f));
    std::vector<optim::Sgd<float, D>> optimizers;
    if (in_flat_memory) optimizers.emplace_back(std::vector{w, v});
    int calls = 0;
    auto step = capture<D>([&] {
      v.zero_grad();
      sum(square(trace(w))).backward();
      if (++calls == 2 && std::is_same_v<D, Cuda>) throw std::runtime_error("interrupted");
    });
    step();
    w.zero_grad();
    sum(trace(v) * 5.f).backward();
    if (std::is_same_v<D, Cuda>) CHECK_THROWS_WITH(step(), "interrupted");
    else v.zero_grad();
    CHECK(v.has_grad() == std::is_same_v<D, Cuda>);
    if (v.has_grad()) CHECK(same_bits(v.grad(), full<float, D>({4}, 5.f)));
    CHECK_FALSE(w.has_grad());
    for (int i = 1; i < 4; ++i) {  // captured as the first of several passes, it adds to no gradient
      w.zero_grad();
      step();
      CHECK_FALSE(v.has_grad());
      CHECK(same_bits(w.grad(), full<float, D>({4}, 6.f)));
    }
  }
}

LOCUS_DEVICE_TEST("a step whose capture fails leaves other steps as they are, and can be captured later", D) {
  const auto x = full<float, D>({wide}, 1.f), of_x = full<float, D>({wide}, 63.f);
  auto right = capture([&] { return chain(x); });
  for (int i = 0; i < 3; ++i) CHECK(same_bits(right(), of_x));
  int calls = 0;
  auto failing = capture([&] {
    const auto y = chain(x);
    if (++calls == 2) throw std::runtime_error("not yet");
    return chain((y - 62.f).eval());
  });
  CHECK(same_bits(failing(), of_x));
  CHECK_THROWS_WITH(failing(), "not yet");
  for (int i = 0; i < 3; ++i) {
    CHECK(same_bits(right(), of_x));
    CHECK(same_bits(failing(), of_x));
  }
}

#if LOCUS_CUDA
TEST_CASE("the first replay comes after what other streams still read of its memory") {
  NEEDS_CUDA();
  const auto x = full<float, Cuda>({1000}, 2.f);
  for (int round = 0; round < 10; ++round) {
    const Stream<Cuda> side;
    Tensor<float, Cuda> kept;
    int calls = 0;
    auto step = capture([&] {
      if (++calls == 1) kept = (x * 3.f).eval();
      return (x * 4.f).eval();
    });
    (void)step();
    side.wait(Stream<Cuda>::current().record());
    const auto y = with_stream(side, [&] {
      auto doubled = (kept * 2.f).eval();
      kept = {};  // the second call's result reuses this memory
      return doubled;
    });
    (void)step();
    Stream<Cuda>::current().wait(side.record());
    CHECK(same_bits(y, full<float, Cuda>({1000}, 12.f)));
  }
}

/// chain(x) as a renewable step, as fit makes them.
class Renewable {
 public:
  explicit Renewable(Tensor<float, Cuda> x) : x_(std::move(x)) {}
  const Tensor<float, Cuda>& operator()() {
    runner_([this] {
      ++calls_;
      result_ = chain(x_);
    });
    return result_;
  }
  [[nodiscard]] int calls() const { return calls_; }  ///< of the host code

 private:
  Tensor<float, Cuda> x_, result_;
  locus::detail::StepRunner<Cuda> runner_{Cuda{}, true};
  int calls_ = 0;
};

TEST_CASE("a step that keeps unforeseen memory of a renewable one has that one captured anew, once") {
  NEEDS_CUDA();
  const auto x = full<float, Cuda>({wide}, 1.f), of_x = full<float, Cuda>({wide}, 63.f);
  Renewable first(x);
  for (int i = 0; i < 3; ++i) (void)first();
  Tensor<float, Cuda> kept;
  int calls = 0;
  auto second = capture([&] {
    const auto more = (x * 63.f).eval();
    if (++calls > 1) kept = more;
    return sum(chain(x)).eval();
  });
  for (int i = 0; i < 4; ++i) {
    CHECK(second().item() == 63.f * wide);
    CHECK(same_bits(first(), of_x));
    if (i > 0) CHECK(same_bits(kept, of_x));
  }
  CHECK(calls == 2);
  CHECK(first.calls() == (locus_test::memory_is_pooled() ? 3 : 2));
}

TEST_CASE("replays of steps that share memory follow one another, in whatever streams") {
  NEEDS_CUDA();
  const auto x = full<float, Cuda>({wide}, 1.f), y = full<float, Cuda>({wide}, 2.f);
  Renewable a(x), b(y);
  for (int i = 0; i < 2; ++i) (void)a(), (void)b();
  const Stream<Cuda> side;
  side.wait(Stream<Cuda>::current().record());
  for (int i = 0; i < 20; ++i) {
    const auto of_b = with_stream(side, [&] { return b().clone(); });
    const auto of_a = a().clone();
    CHECK(same_bits(of_a, full<float, Cuda>({wide}, 63.f)));
    side.synchronize();
    CHECK(same_bits(of_b, full<float, Cuda>({wide}, 126.f)));
  }
}

TEST_CASE("a captured step that is called within the uncaptured run of another") {
  NEEDS_CUDA();
  const auto x = full<float, Cuda>({wide}, 1.f), of_x = full<float, Cuda>({wide}, 63.f);
  auto inner = capture([&] { return chain(x); });
  for (int i = 0; i < 3; ++i) (void)inner();
  auto outer = capture([&] {
    const auto y = chain(x);
    const auto z = inner().clone();
    return (chain(x) + (y - z)).eval();
  });
  CHECK(same_bits(outer(), of_x));
  CHECK_THROWS_WITH_AS(outer(), doctest::Contains("a captured step within it"), CaptureError);
  CHECK(same_bits(inner(), of_x));
}

template <class Step>
void check_refused(const Step& body, const char* why) {
  auto step = capture<Cuda>([&] { body(); });
  CHECK_NOTHROW(step());
  CHECK_THROWS_WITH_AS(step(), doctest::Contains(why), CaptureError);
  CHECK_THROWS_WITH_AS(step(), doctest::Contains("cannot be captured"), CaptureError);
}

TEST_CASE("what cannot be captured says so") {
  NEEDS_CUDA();
  const auto x = full<float, Cuda>({3}, 2.f);
  const auto on_host = full<float, Cpu>({3}, 1.f);
  Generator<Cuda> generator{1};
  check_refused([&] { (void)sum(x).item(); }, "waiting for the GPU");
  check_refused([&] { (void)x.to<Cpu>(); }, "return the tensor from the step");
  check_refused([&] { (void)on_host.to<Cuda>(); }, "copy before the step, with copy_");
  check_refused([&] { (void)randperm<std::int64_t>(5, generator); }, "a copy from the host");
  CHECK(generator.offset == 5);
  check_refused([&] { (void)copy_async(on_host.to<Pinned>()); }, "an asynchronous copy");
  const Stream<Cuda> side;
  const Event<Cuda> event = side.record();
  check_refused([&] { (void)Stream<Cuda>::current().record(); }, "an event recorded in it");
  check_refused([&] { Stream<Cuda>::current().wait(event); }, "an event awaited in it");
  check_refused([&] { with_stream(side, [&] { return (x + 1.f).eval(); }); }, "in another stream");
  auto inner = capture([&] { return (x + 1.f).eval(); });
  (void)inner();
  check_refused([&] { (void)inner(); }, "a captured step within it");
  if (cuda::device_count() > 1) check_refused([&] { (void)full<float>({3}, 1.f, Cuda{1}); }, "cuda:1");
  CHECK(same_bits(inner(), full<float, Cuda>({3}, 3.f)));
  side.synchronize();  // the step's first run used x there
}
#endif

}  // namespace
