// Runs on: host, cuda (training).
// Steps that a flag in device memory skips, captured and not.

#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/expr/operators.hpp>
#include <locus/nn/flatten.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/clip.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/random.hpp>

#include <optim/recorded.hpp>

#include <cmath>
#include <limits>

using namespace locus;
using namespace locus_test;

namespace {
template <class T, class D, template <class, class> class Optimizer, class Options>
void check_recorded_skips(const std::string& name, const Options& options) {
  Recorded<T, D> run;
  Optimizer<T, D> optimizer(std::vector{run.w, run.b}, options);
  run.check(name, [&](int step) {  // also after gradients that must be skipped
    const bool skips = step == 0 || step == 3 || step == 4;
    if (skips) (void)run.w.grad().fill_(convert<T>(std::numeric_limits<double>::infinity()));
    optimizer.step(full<bool, D>({}, skips));
  });
}

/// A classifier whose steps are skipped if a gradient is not finite, as for some inputs.
template <class D>
struct SkippedTraining {
  nn::Sequential<float, D> model;
  optim::AdamW<float, D> optimizer;
  Tensor<float, D> images;
  Tensor<std::int64_t, D> labels;

  explicit SkippedTraining(bool grouped)
      : model(seeded()), optimizer(made(model, grouped)), images({8, 6}), labels({8}) {}

  static nn::Sequential<float, D> seeded() {
    manual_seed(3);
    return {nn::Linear<float, D>{6, 5}, nn::Linear<float, D>{5, 4}};
  }
  static optim::AdamW<float, D> made(const nn::Sequential<float, D>& model, bool grouped) {
    const auto p = model.parameters();
    if (!grouped) return optim::AdamW<float, D>(p, {.lr = 0.05});
    (void)nn::flatten(model);  // so that the groups are interleaved in memory
    return optim::AdamW<float, D>{{{{p[0], p[2]}}, {{p[1], p[3]}, {.lr = 0.02, .weight_decay = 0}}}, {.lr = 0.05}};
  }
  Tensor<float, D> step() {
    const auto loss = nn::cross_entropy(model(trace(images)), labels);
    optimizer.zero_grad();
    loss.backward();
    const auto norm = optim::clip_grad_norm_(model.parameters(), 0.5);
    optimizer.step(!isfinite(norm));
    return loss.value();
  }
};

template <class D>
void check_skips_in_replays(bool grouped) {
  CAPTURE(grouped);
  SkippedTraining<D> plain(grouped), replayed(grouped);
  auto step = capture([&] { return replayed.step(); });
  Generator<D> numbers{9};
  int skipped = 0;
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    auto images = rand<float, D>({8, 6}, numbers);
    const bool skips = i == 1 || i % 7 == 3;
    if (skips) (void)images.select(0, 0).fill_(std::numeric_limits<float>::infinity());
    const auto labels = randint<std::int64_t, D>(0, 4, {8}, numbers);
    const auto before = plain.model.parameters()[0].value().clone();
    for (auto* training : {&plain, &replayed}) {
      training->images.copy_(images);
      training->labels.copy_(labels);
      training->optimizer.set_lr(i < 50 ? 0.05 : 0.01);
      training->optimizer.set_momentum(i < 30 ? 0.9 : 0.8);
    }
    (void)step();
    (void)plain.step();
    const auto expected = plain.model.parameters(), got = replayed.model.parameters();
    skipped += same_bits(before, expected[0].value());
    for (std::size_t k = 0; k < expected.size(); ++k) REQUIRE(same_bits(got[k].value(), expected[k].value()));
  }
  CHECK(skipped == 15);
}

/// A captured step that trains only the last layer is refused once other parameters are frozen.
template <class D>
void check_frozen_in_replays(bool skips) {
  CAPTURE(skips);
  const nn::Sequential<float, D> model{nn::Linear<float, D>{6, 5}, nn::Linear<float, D>{5, 4}};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.1, .weight_decay = 0.1}};
  model.requires_grad_(false, "0");
  const auto x = rand<float, D>({3, 6});
  auto step = capture<D>([&] {
    optimizer.zero_grad();
    sum(square(model(trace(x)))).eval().backward();
    if (skips) optimizer.step(full<bool, D>({}, false));
    else optimizer.step();
  });
  const auto frozen = model.parameters()[0].value().clone(), trained = model.parameters()[2].value().clone();
  for (int i = 0; i < 4; ++i) step();
  CHECK(same_bits(model.parameters()[0].value(), frozen));
  CHECK_FALSE(same_bits(model.parameters()[2].value(), trained));
  const auto before = model.parameters()[3].value().clone();
  for (const char* changed : {"0.weight", "1.bias"}) {
    CAPTURE(changed);
    const bool is_trained = std::string(changed) == "1.bias";
    model.requires_grad_(!is_trained, changed);
    if constexpr (std::is_same_v<D, Cuda>) {
      CHECK_THROWS_WITH_AS(step(),
                           doctest::Contains(is_trained ? "was trained when the step was captured and is not now"
                                                        : "was frozen when the step was captured and is not now"),
                           CaptureError);
      CHECK(same_bits(model.parameters()[3].value(), before));
    } else {
      CHECK_NOTHROW(step());  // computed each time
    }
    model.requires_grad_(is_trained, changed);
  }
  auto freezes = capture<D>([&] { model.requires_grad_(!model.parameters()[0].requires_grad(), "0"); });
  freezes();
  if constexpr (std::is_same_v<D, Cuda>)
    CHECK_THROWS_WITH_AS(freezes(), doctest::Contains("capture: requires_grad_ within the step"), CaptureError);
  model.requires_grad_(false, "0");
  auto copies = capture<D>([&] {  // copies are new in each replay: they are frozen like the model
    const auto copy = model.clone().parameters()[0], one = model.parameters()[0].clone();
    CHECK_FALSE(copy.requires_grad());
    CHECK_FALSE(one.requires_grad());
    return (copy.value() + one.value()).eval();
  });
  const auto twice = reference((model.parameters()[0].value() * 2.f).eval());
  for (int i = 0; i < 3; ++i) CHECK_CLOSE(copies(), twice, 0);
}

/// One step of two optimizers, each of a parameter of its own.
template <class D>
struct StepOfTwo {
  Parameter<float, D> a{full<float, D>({3}, 1.f)}, b{full<float, D>({3}, 2.f)};
  optim::Adam<float, D> of_a{std::vector{a}, {.lr = 0.1}}, of_b{std::vector{b}, {.lr = 0.1}};
  void operator()() {
    a.zero_grad(), b.zero_grad();
    sum(square(trace(full<float, D>({3}, 1.f)) * a * b)).eval().backward();
    of_a.step();
    of_b.step();
  }
};
}  // namespace

LOCUS_DEVICE_TEST("a replay that is refused has counted no step, and those after it go on as if it were not", D) {
  StepOfTwo<D> plain, replayed;
  auto step = capture<D>([&] { replayed(); });
  for (int i = 0; i < 3; ++i) step(), plain();
  if constexpr (std::is_same_v<D, Cuda>) {
    const auto version = replayed.a.value().version();
    replayed.b.requires_grad_(false);
    CHECK_THROWS_WITH_AS(step(), doctest::Contains("capture anew"), CaptureError);
    replayed.b.requires_grad_();
    CHECK(replayed.of_a.steps() == std::vector<std::int64_t>{3});
    CHECK(replayed.of_b.steps() == std::vector<std::int64_t>{3});
    CHECK(replayed.a.value().version() == version);
  }
  for (int i = 0; i < 3; ++i) step(), plain();
  CHECK(same_bits(replayed.a.value(), plain.a.value()));
  CHECK(same_bits(replayed.b.value(), plain.b.value()));
  CHECK(replayed.of_a.steps() == plain.of_a.steps());
  replayed.of_b.step(full<bool, D>({}, false));  // counts on the device from now on, unlike the captured step
  if constexpr (std::is_same_v<D, Cuda>) {
    CHECK_THROWS_WITH_AS(step(), doctest::Contains("counts its steps on the device"), CaptureError);
    CHECK(replayed.of_a.steps() == plain.of_a.steps());
  }
}

LOCUS_DEVICE_TEST("a captured step of several steps of an optimizer is refused where parameters made other ones", D) {
  const Parameter a(full<float, D>({3}, 1.f)), b(full<float, D>({3}, 2.f));
  optim::Sgd optimizer{std::vector{a, b}, {.lr = 0.1, .momentum = 0.9}};
  auto step = capture<D>([&] {
    optimizer.zero_grad();
    sum(square(trace(full<float, D>({3}, 1.f)) * a)).eval().backward();
    optimizer.step();  // steps a alone; b was a step ahead
    sum(square(trace(full<float, D>({3}, 1.f)) * a * b)).eval().backward();
    optimizer.step();
    return a.value();
  });
  for (int i = 0; i < 4; ++i) {
    optimizer.set_steps({i, i + 1});
    CHECK_NOTHROW(step());
    CHECK(optimizer.steps() == std::vector<std::int64_t>{i + 2, i + 2});
  }
  if constexpr (std::is_same_v<D, Cuda>) {
    CHECK_THROWS_WITH_AS(step(), doctest::Contains("has made other steps"), CaptureError);
    CHECK(optimizer.steps() == std::vector<std::int64_t>{5, 5});
  }
}

LOCUS_DEVICE_TEST("steps captured with frozen parameters step the others, and are refused where others are frozen", D) {
  check_frozen_in_replays<D>(false);
  check_frozen_in_replays<D>(true);
}

LOCUS_DEVICE_TEST("a norm that the host has to see is refused within a captured step", D) {
  const Parameter a(full<float, D>({3}, 1.f));
  auto step = capture<D>([&] {
    a.zero_grad();
    sum(square(trace(full<float, D>({3}, 1.f)) * a)).eval().backward();
    return optim::clip_grad_norm_(std::vector{a}, 1, {.error_if_nonfinite = true});
  });
  CHECK_CLOSE(step(), std::sqrt(12.), 1e-6);
  for (int i = 0; i < 2; ++i) {
    if constexpr (std::is_same_v<D, Cuda>)
      CHECK_THROWS_WITH_AS(step(), doctest::Contains("clip_grad_norm_: .error_if_nonfinite"), CaptureError);
    else CHECK_CLOSE(step(), std::sqrt(12.), 1e-6);
  }
}

LOCUS_DEVICE_TEST("skipped steps change nothing, and Adam's bias correction counts the others, as PyTorch's", D) {
  check_recorded_skips<double, D, optim::Adam>("skipped_adam", optim::AdamOptions{.lr = 0.05});
  check_recorded_skips<float, D, optim::Adam>("skipped_adam", optim::AdamOptions{.lr = 0.05});
  {
    Recorded<double, D> run{"rules"};
    optim::Adam optimizer{std::vector{run.w, run.b}, {.lr = 0.05, .weight_decay = 0.4, .maximize = true}};
    run.check("maximize_adam", [&](int) { optimizer.step(full<bool, D>({}, false)); });
  }
  check_recorded_skips<double, D, optim::Sgd>("skipped_sgd",
                                              optim::SgdOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.3});
}

LOCUS_DEVICE_TEST("100 replays of a step that is skipped at times equal 100 steps bit for bit", D) {
  check_skips_in_replays<D>(false);
  check_skips_in_replays<D>(true);
}

LOCUS_DEVICE_TEST("a step that is not skipped is a step, and one that may be is two launches", D) {
  Generator<D> numbers{4};
  const Parameter w(rand<float, D>({33}, numbers)), same = w.clone();
  optim::Adam optimizer{std::vector{w}, {.lr = 0.1}}, plain{std::vector{same}, {.lr = 0.1}};
  for (int step = 0; step < 6; ++step) {
    CAPTURE(step);
    const auto gradient = rand<float, D>({33}, numbers);
    give(w, gradient);
    give(same, gradient);
    plain.step();
    const LaunchLog log;
    if (step < 2) {  // counted by the host
      optimizer.step();
      CHECK(log.launches() == 1);
    } else if (step < 4) {
      optimizer.step(full<bool, D>({1}, false));
    } else {  // counted on the device from there on
      optimizer.step();
      CHECK(log.launches() == 2);
    }
    CHECK(same_bits(w.value(), same.value()));
  }
  const auto flag = full<bool, D>({1}, true);
  const LaunchLog log;
  optimizer.step(flag);
  CHECK(log.launches() == 2);
  CHECK(same_bits(w.value(), same.value()));
}

LOCUS_DEVICE_TEST("steps are counted for each parameter, where they are skipped, too", D) {
  const auto value = [] { return full<float, D>({3}, 1.f); };
  const Parameter a(value()), b(value()), c(value()), d(value());
  optim::Adam together{std::vector{a, b}, {.lr = 0.1, .beta2 = 0.5}}, of_c{std::vector{c}, {.lr = 0.1, .beta2 = 0.5}},
      of_d{std::vector{d}, {.lr = 0.1, .beta2 = 0.5}};
  const bool gets_a[] = {true, true, false, true, true}, gets_b[] = {false, true, true, true, true},
             skips[] = {true, false, false, true, false};
  for (int step = 0; step < 5; ++step) {
    for (const auto* each : {&a, &b, &c, &d}) each->zero_grad();
    const auto gradient = full<float, D>({3}, 1.f + static_cast<float>(step));
    if (gets_a[step]) give(a, gradient), give(c, gradient);
    if (gets_b[step]) give(b, gradient), give(d, gradient);
    together.step(full<bool, D>({}, skips[step]));
    if (!skips[step]) of_c.step(), of_d.step();
    CHECK(same_bits(a.value(), c.value()));
    CHECK(same_bits(b.value(), d.value()));
  }
}

TEST_CASE("a flag is one element of the optimizer's device") {
  const Parameter w(ones({2}));
  optim::Sgd optimizer{std::vector{w}, {}};
  CHECK_THROWS_AS(optimizer.step(full<bool>({2}, true)), ShapeError);
  const std::vector apart{Parameter(Tensor<float, Counting>({2}, Counting{0}))};
  optim::Sgd counting{apart, {}};
  CHECK_THROWS_WITH_AS(counting.step(Tensor<bool, Counting>({}, Counting{1})), doctest::Contains("counting:1"),
                       DeviceError);
}

template <class Optimizer, class Skip>
concept Skips = requires(Optimizer& optimizer, const Skip& skip) { optimizer.step(skip); };
static_assert(Skips<optim::Sgd<float, Cpu>, Tensor<bool, Cpu>>);
static_assert(Skips<optim::AdamW<float, Cuda>, Tensor<bool, Cuda>>);
static_assert(!Skips<optim::AdamW<float, Cuda>, Tensor<bool, Cpu>>);
static_assert(!Skips<optim::AdamW<float, Cuda>, Tensor<float, Cuda>>);
static_assert(!Skips<optim::AdamW<float, Cuda>, bool>);
