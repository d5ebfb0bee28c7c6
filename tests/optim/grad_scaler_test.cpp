// Runs on: host, cuda (training).
// Scaled losses, steps skipped because gradients overflow, and refusals.

#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/expr/operators.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/loss.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/clip.hpp>
#include <locus/optim/grad_scaler.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/training/optimizer_state.hpp>

#include <optim/recorded.hpp>

#include <cmath>
#include <limits>

using namespace locus;
using namespace locus_test;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity(),
                 not_a_number = std::numeric_limits<double>::quiet_NaN();

/// One element with a chosen gradient g: the loss p g, in float.
template <class T, class D>
struct One {
  Parameter<T, D> p;
  explicit One(double value) : p(full<T, D>({1}, convert<T>(value))) {}
  [[nodiscard]] Traced<float, D> loss(double g) const {
    return sum(trace(p).template as<float>() * static_cast<float>(g));
  }
  [[nodiscard]] double value() const {
    return static_cast<double>(p.value().template as<float>().template to<Cpu>().reshape({}).item());
  }
};

/// A whole step with gradient g.
template <class Scaler, class O, class T, class D>
void train(Scaler& scaler, O& optimizer, const One<T, D>& one, double g) {
  optimizer.zero_grad();
  scaler.scale(one.loss(g)).backward();
  scaler.step(optimizer);
  scaler.update();
}

/// p and the scale after each of the gradients 1, 1, inf, 1, NaN, 1: PyTorch's, as make_optimizers.py has others.
template <class T, class D>
void check_sequence(bool unscales) {
  CAPTURE(dtype_name<T>());
  CAPTURE(unscales);
  const One<T, D> one(10);
  optim::Sgd optimizer{std::vector{one.p}, {.lr = 1}};
  optim::GradScaler<D> scaler{{.init_scale = 4, .growth_factor = 2, .backoff_factor = 0.5, .growth_interval = 1}};
  const double gradients[] = {1, 1, infinity, 1, not_a_number, 1}, values[] = {9, 8, 8, 7, 7, 6},
               scales[] = {8, 16, 8, 16, 8, 16};
  const std::int64_t skipped[] = {0, 0, 1, 1, 2, 2};
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    optimizer.zero_grad();
    scaler.scale(one.loss(gradients[i])).backward();
    if (unscales) scaler.unscale(optimizer);
    scaler.step(optimizer);
    scaler.update();
    CHECK(one.value() == values[i]);
    CHECK(scaler.scale_factor() == scales[i]);
    CHECK(scaler.skipped_steps() == skipped[i]);
  }
  CHECK(optimizer.steps() == std::vector<std::int64_t>{4});
}

/// 20 steps that PyTorch made with its GradScaler, four of which overflow.
template <class T, class D, class Optimizer>
void check_recorded(const std::string& name, const Recorded<T, D>& run, Optimizer optimizer, bool clips) {
  CAPTURE(name);
  const auto values_w = recorded_tensor<double, D>(name + "_w"), values_b = recorded_tensor<double, D>(name + "_b");
  const auto& scales = recorded(name + "_scales");
  optim::GradScaler<D> scaler{{.init_scale = 1024, .growth_factor = 2, .backoff_factor = 0.25, .growth_interval = 3}};
  const auto loss = [](const auto& p, const auto& g) { return sum(trace(p) * trace(p) * 0.15f + trace(p) * g); };
  for (int step = 0; step < run.steps; ++step) {
    CAPTURE(step);
    optimizer.zero_grad();
    const auto gb = run.gb.select(0, step).clone();
    if (step == 0 || step == 5 || step == 6 || step == 13)
      (void)gb.select(0, 0).fill_(convert<T>(step % 2 == 1 ? infinity : not_a_number));
    for (int pass = 0; pass < (clips ? 2 : 1); ++pass)
      scaler.scale((loss(run.w, run.gw.select(0, step)) + loss(run.b, gb)) / (clips ? 2.f : 1.f)).backward();
    if (clips) {
      scaler.unscale(optimizer);
      (void)optim::clip_grad_norm_(optimizer.parameters(), 0.5);
      scaler.unscale(optimizer);  // which does nothing
    }
    scaler.step(optimizer);
    scaler.update();
    CHECK_CLOSE(run.w.value(), reference(values_w.select(0, step)), 1e-5);
    CHECK_CLOSE(run.b.value(), reference(values_b.select(0, step)), 1e-5);
    CHECK(scaler.scale_factor() == scales.values[static_cast<std::size_t>(step)]);
  }
  CHECK(scaler.skipped_steps() == 4);
}
}  // namespace

LOCUS_DEVICE_TEST("steps, skipped steps and scales are those of PyTorch's scaler", D) {
  for (const bool unscales : {false, true}) {
    check_sequence<float, D>(unscales);
    check_sequence<half, D>(unscales);
  }
  check_sequence<bfloat16, D>(true);
}

LOCUS_DEVICE_TEST("20 scaled steps are PyTorch's: with momentum, of groups, and clipped, of two losses each", D) {
  const Recorded<float, D> sgd{"rules"}, grouped{"rules"}, adamw{"rules"};
  check_recorded("scaled_sgd", sgd, optim::Sgd{std::vector{sgd.w, sgd.b}, {.lr = 0.1, .momentum = 0.9}}, false);
  const optim::Group first{std::vector{grouped.w}}, second{std::vector{grouped.b}, {.lr = 0.1}};
  check_recorded("scaled_sgd", grouped, optim::Sgd{{first, second}, {.lr = 0.1, .momentum = 0.9}}, false);
  check_recorded("scaled_adamw", adamw, optim::AdamW{std::vector{adamw.w, adamw.b}, {.lr = 0.05}}, true);
}

LOCUS_DEVICE_TEST("gradients of half that would vanish train, as they are divided in registers", D) {
  const One<half, D> one(1);
  optim::Sgd optimizer{std::vector{one.p}, {.lr = 1e6}};
  optim::GradScaler<D> scaler{{.init_scale = 65536}};
  for (int i = 0; i < 5; ++i) {
    optimizer.zero_grad();
    scaler.scale(one.loss(1e-8)).backward();  // the least half is 6e-8
    scaler.step(optimizer);
    scaler.update();
  }
  CHECK_CLOSE(optimizer.state(0, optimizer.states()), {0.95}, 1e-4);  // the master weight
  CHECK(scaler.skipped_steps() == 0);
}

LOCUS_DEVICE_TEST("a step of a scaler is a launch more than one that may be skipped, and unscaling two", D) {
  const Parameter w(ones<float, D>({40})), b(ones<float, D>({3}));
  optim::Adam optimizer{std::vector{w, b}, {.lr = 0.1}};
  optim::GradScaler<D> scaler;
  for (const bool unscales : {true, false, false}) {
    optimizer.zero_grad();
    scaler.scale(sum(trace(w)) + sum(trace(b))).backward();
    const LaunchLog log;
    if (unscales) {
      scaler.unscale(optimizer);
      CHECK(log.launches() == 2);
      scaler.unscale(optimizer);
      CHECK(log.launches() == 2);
    } else {
      scaler.step(optimizer);
      CHECK(log.launches() == 3);
      scaler.update();
      CHECK(log.launches() == 4);
      continue;
    }
    scaler.step(optimizer);
    scaler.update();
  }
}

LOCUS_DEVICE_TEST("a skipped step changes no moment, and an Adam that never saw it goes the same way", D) {
  const One<float, D> one(1), other(1);
  optim::Adam optimizer{std::vector{one.p}, {.lr = 0.1}}, plain{std::vector{other.p}, {.lr = 0.1}};
  optim::GradScaler<D> scaler{{.init_scale = 8}};
  for (const double g : {not_a_number, 0.5, infinity, -infinity, 0.25, 2.0}) {
    CAPTURE(g);
    optimizer.zero_grad();
    scaler.scale(one.loss(g)).backward();
    scaler.step(optimizer);
    scaler.update();
    if (g - g == 0) {
      plain.zero_grad();
      other.loss(g).backward();
      plain.step();
    }
    CHECK(same_bits(one.p.value(), other.p.value()));
    for (int k = 0; k < 2; ++k) CHECK(same_bits(optimizer.state(0, k), plain.state(0, k)));
    CHECK(optimizer.steps() == plain.steps());
  }
  CHECK(scaler.skipped_steps() == 3);
}

LOCUS_DEVICE_TEST("a scale neither vanishes nor becomes infinite, and says where it fell as far as it goes", D) {
  const One<float, D> one(1);
  optim::Sgd optimizer{std::vector{one.p}, {.lr = 0}};
  const auto step = [&](auto& scaler, double g) { train(scaler, optimizer, one, g); };
  optim::GradScaler<D> grows{{.init_scale = 1e30, .growth_factor = 1e6, .growth_interval = 1}};
  for (int i = 0; i < 4; ++i) step(grows, 1e-38);
  CHECK(grows.scale_factor() == doctest::Approx(1e36));
  optim::Sgd another{std::vector{one.p}, {.lr = 0}};
  optim::GradScaler<D> falls{{.init_scale = 1e-20, .backoff_factor = 1e-9}};
  step(falls, not_a_number);
  CHECK(falls.scale_factor() == doctest::Approx(1e-29));
  for (int i = 0; i < 3; ++i) step(falls, not_a_number);
  CHECK_THROWS_WITH_AS((void)falls.scale_factor(), doctest::Contains("in 4 skipped steps"), NumericError);
  CHECK(falls.state().options.init_scale > 0);
}

LOCUS_DEVICE_TEST("until they are unscaled, gradients are neither clipped, read nor stepped with", D) {
  const One<float, D> one(1), other(1);
  optim::Sgd optimizer{std::vector{one.p}, {.lr = 1}}, second{std::vector{other.p}, {.lr = 1}};
  optim::GradScaler<D> scaler{{.init_scale = 8}}, foreign;
  const auto says = [](const char* text) { return doctest::Contains(text); };

  CHECK_THROWS_WITH_AS(scaler.update(), says("no step was made"), GraphError);
  CHECK_THROWS_WITH_AS(scaler.step(optimizer), says("no parameter of the optimizer has a gradient"), GraphError);
  one.loss(1).backward();
  CHECK_THROWS_WITH_AS(scaler.step(optimizer), says("a loss that was not scaled"), GraphError);
  CHECK_THROWS_WITH_AS(scaler.unscale(optimizer), says("a loss that was not scaled"), GraphError);
  CHECK_THROWS_WITH_AS(scaler.scale(one.loss(1)).backward(), says("is not scaled, and the loss is"), GraphError);
  CHECK(one.p.grad().template to<Cpu>()(0) == 1);  // that pass touched nothing

  optimizer.zero_grad();
  scaler.scale(one.loss(1)).backward();
  for (int pass = 0; pass < 2; ++pass) {
    CHECK_THROWS_WITH_AS((void)one.p.grad(), says("call scaler.unscale(optimizer)"), GraphError);
    CHECK_THROWS_WITH_AS(optimizer.step(), says("scaler.step(optimizer) in place of optimizer.step()"), GraphError);
    CHECK_THROWS_WITH_AS(optimizer.step(full<bool, D>({}, false)), says("has the scale"), GraphError);
    CHECK_THROWS_WITH_AS(optim::clip_grad_norm_(optimizer.parameters(), 1), says("has the scale"), GraphError);
    CHECK_THROWS_WITH_AS(optim::clip_grad_value_(optimizer.parameters(), 1), says("has the scale"), GraphError);
    CHECK_THROWS_WITH_AS(one.loss(1).backward(), says("would add to"), GraphError);
    CHECK_THROWS_WITH_AS(foreign.step(optimizer), says("has the scale of a GradScaler"), GraphError);
    CHECK_THROWS_WITH_AS(foreign.scale(one.loss(1)).backward(), says("would add to"), GraphError);
    scaler.scale(one.loss(1)).backward();  // accumulates
  }
  scaler.unscale(optimizer);
  scaler.unscale(optimizer);
  CHECK(one.p.grad().template to<Cpu>()(0) == 3);
  CHECK_THROWS_WITH_AS(scaler.scale(one.loss(1)).backward(), says("call zero_grad() first"), GraphError);
  CHECK_THROWS_WITH_AS(scaler.update(), says("call scaler.step(optimizer) first"), GraphError);
  scaler.step(optimizer);
  CHECK(one.value() == -2);
  CHECK_THROWS_WITH_AS(scaler.step(optimizer), says("called again before update()"), GraphError);
  scaler.update();
  CHECK_THROWS_WITH_AS(scaler.update(), says("no step was made"), GraphError);

  scaler.scale(other.loss(1)).backward();
  CHECK_THROWS_WITH_AS(scaler.step(second), says("serves another optimizer"), GraphError);
  CHECK_THROWS_WITH_AS(scaler.unscale(second), says("serves another optimizer"), GraphError);

  optimizer.zero_grad();
  scaler.scale(one.loss(1)).backward();
  scaler.step(optimizer);  // without unscale: the gradient in memory has its scale
  scaler.update();
  CHECK_THROWS_WITH_AS((void)one.p.grad(), says("of a step that was made"), GraphError);
  CHECK_THROWS_WITH_AS(scaler.scale(one.loss(1)).backward(), says("call zero_grad()"), GraphError);
  optimizer.zero_grad();
  one.loss(2).backward();
  CHECK(one.p.grad().template to<Cpu>()(0) == 2);
}

LOCUS_DEVICE_TEST("where only some gradients are scaled, the step says so", D) {
  const One<float, D> one(1), other(1);
  optim::Sgd optimizer{std::vector{one.p, other.p}, {.lr = 1}};
  optim::GradScaler<D> scaler;
  one.loss(1).backward();
  scaler.scale(other.loss(1)).backward();
  CHECK_THROWS_WITH_AS(scaler.step(optimizer), doctest::Contains("some of the gradients are scaled"), GraphError);
  const auto x = variable(ones<float, D>({2}));
  scaler.scale(sum(x)).backward();
  CHECK_THROWS_AS((void)x.grad(), GraphError);
  CHECK_THROWS_AS(scaler.scale(x * 2).backward(), ShapeError);
}

LOCUS_DEVICE_TEST("a scaler goes on from its state", D) {
  const One<float, D> one(1);
  optim::Sgd optimizer{std::vector{one.p}, {.lr = 0}};
  const auto step = [&](auto& scaler, double g) { train(scaler, optimizer, one, g); };
  optim::GradScaler<D> scaler{{.init_scale = 64, .growth_factor = 3, .backoff_factor = 0.25, .growth_interval = 3}};
  for (const double g : {1.0, infinity, 1.0, 1.0}) step(scaler, g);
  const auto state = optim::state_dict(scaler);
  optim::GradScaler<D> other;
  optim::load_state_dict(other, state);
  CHECK(other.scale_factor() == 16);
  CHECK(other.skipped_steps() == 1);
  step(other, 1);
  CHECK(other.scale_factor() == 48);  // the third step in a row
  step(other, not_a_number);
  CHECK(other.scale_factor() == 12);

  auto bad = scaler.state();
  bad.growth_tracker = -1;
  CHECK_THROWS_AS(other.set_state(bad), ArgumentError);
  bad = scaler.state();
  bad.options.init_scale = 0;
  CHECK_THROWS_AS(other.set_state(bad), ArgumentError);
  CHECK_THROWS_AS(optim::load_state_dict(other, nn::StateDict<D>()), ArgumentError);
  CHECK(other.scale_factor() == 12);
}

TEST_CASE("options out of range are refused, by name") {
  const auto refused = [](const optim::GradScalerOptions& options, const char* text) {
    CHECK_THROWS_WITH_AS(optim::GradScaler{options}, doctest::Contains(text), ArgumentError);
  };
  for (const double scale : {0.0, -1.0, infinity, not_a_number, 1e-40, 1e38})
    refused({.init_scale = scale}, "init_scale");
  for (const double factor : {1.0, 0.5, infinity, not_a_number}) refused({.growth_factor = factor}, "growth_factor");
  for (const double factor : {0.0, 1.0, -1.0, not_a_number}) refused({.backoff_factor = factor}, "backoff_factor");
  refused({.growth_interval = 0}, "growth_interval is 0; expected 1 or more");
}

namespace {
/// A classifier of half, trained with a scaler.
template <class D>
struct ScaledTraining {
  nn::Sequential<half, D> model;
  optim::Adam<half, D> optimizer;
  optim::GradScaler<D> scaler{{.init_scale = 1024, .growth_interval = 4}};
  Tensor<half, D> images;
  Tensor<std::int64_t, D> labels;

  ScaledTraining() : model(seeded()), optimizer(model.parameters(), {.lr = 0.01}), images({8, 6}), labels({8}) {}
  static nn::Sequential<half, D> seeded() {
    manual_seed(3);
    return nn::Sequential<float, D>{nn::Linear<float, D>{6, 5}, nn::Linear<float, D>{5, 4}}.template as<half>();
  }
  Tensor<float, D> step() {
    const auto loss = nn::cross_entropy(model(trace(images)).template as<float>(), labels);
    optimizer.zero_grad();
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
    return loss.value();
  }
};
}  // namespace

LOCUS_DEVICE_TEST("40 replays of a scaled step, some of which are skipped, equal 40 steps bit for bit", D) {
  ScaledTraining<D> plain, replayed;
  auto step = capture([&] { return replayed.step(); });
  Generator<D> numbers{9};
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    const auto images = rand<float, D>({8, 6}, numbers).template as<half>();
    if (i % 7 == 3) (void)images.select(0, 0).fill_(half(std::numeric_limits<float>::infinity()));
    const auto labels = randint<std::int64_t, D>(0, 4, {8}, numbers);
    for (auto* training : {&plain, &replayed}) {
      training->images.copy_(images);
      training->labels.copy_(labels);
    }
    (void)step();
    (void)plain.step();
    const auto expected = plain.model.parameters(), got = replayed.model.parameters();
    for (std::size_t k = 0; k < expected.size(); ++k) REQUIRE(same_bits(got[k].value(), expected[k].value()));
    REQUIRE(plain.scaler.scale_factor() == replayed.scaler.scale_factor());
  }
  CHECK(plain.scaler.skipped_steps() >= 6);
  CHECK(replayed.scaler.skipped_steps() == plain.scaler.skipped_steps());
}

namespace {
/// Two layers and an optimizer of both; earlier calls of flatten decide where their parameters lie.
template <class D>
struct TwoLayers {
  nn::Sequential<float, D> first{nn::Linear<float, D>{3, 3}}, second{nn::Linear<float, D>{3, 3}};
  std::vector<Parameter<float, D>> parameters;
  optim::GradScaler<D> scaler{{.init_scale = 4}};
  Tensor<float, D> x = ones<float, D>({2, 3}), factor = ones<float, D>({2, 3});

  TwoLayers() : parameters(first.parameters()) {
    const auto others = second.parameters();
    parameters.insert(parameters.end(), others.begin(), others.end());
  }
  /// Gradients of `first` are multiplied by `factor`.
  template <class Optimizer>
  Tensor<float, D> step(Optimizer& optimizer) {
    const auto loss = mean(first(trace(x)) * factor) + mean(second(trace(x)));
    optimizer.zero_grad();
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
    return loss.value();
  }
  [[nodiscard]] std::vector<Tensor<float, D>> values() const {
    std::vector<Tensor<float, D>> result;
    for (const auto& parameter : parameters) result.push_back(parameter.value().clone());
    return result;
  }
  void check_unchanged(const std::vector<Tensor<float, D>>& before) const {
    for (std::size_t i = 0; i < parameters.size(); ++i) CHECK(same_bits(parameters[i].value(), before[i]));
  }
  /// An infinite gradient in the first run skips the step of all parameters, with and without unscale; the next step is
  /// made.
  template <class Optimizer>
  void check_skips(Optimizer& optimizer, std::size_t runs) {
    const auto before = values();
    (void)factor.fill_(std::numeric_limits<float>::infinity());
    (void)step(optimizer);
    CHECK(locus::detail::gradient_runs(optimizer.parameters()).size() == runs);
    CHECK(scaler.skipped_steps() == 1);
    check_unchanged(before);
    optimizer.zero_grad();
    scaler.scale(mean(first(trace(x)) * factor) + mean(second(trace(x)))).backward();
    scaler.unscale(optimizer);
    scaler.step(optimizer);
    scaler.update();
    CHECK(scaler.skipped_steps() == 2);
    check_unchanged(before);
    (void)factor.fill_(1.f);
    (void)step(optimizer);
    CHECK(scaler.skipped_steps() == 2);
    CHECK_FALSE(same_bits(parameters[0].value(), before[0]));
  }
};
}  // namespace

LOCUS_DEVICE_TEST("an infinite gradient skips the step in whichever run of memory it lies", D) {
  {
    TwoLayers<D> layers;
    const optim::Sgd own{layers.first.parameters(), {.lr = 1}}, another{layers.second.parameters(), {.lr = 1}};
    optim::Sgd both{layers.parameters, {.lr = 1}};
    layers.check_skips(both, 2);
  }
  {  // a parameter of another list divides the run
    TwoLayers<D> layers;
    (void)flatten(layers.parameters);
    optim::Sgd trained{std::vector{layers.parameters[0], layers.parameters[2], layers.parameters[3]}, {.lr = 1}};
    layers.check_skips(trained, 2);
  }
  {  // moments, groups, and each parameter in memory of its own
    TwoLayers<D> layers;
    const auto& p = layers.parameters;
    for (const auto& parameter : p) (void)flatten(std::vector{parameter});
    const optim::Group outer{std::vector{p[0], p[3]}}, inner{std::vector{p[1], p[2]}, {.lr = 0.01}};
    optim::Adam each{{outer, inner}, {.lr = 0.1}};
    layers.check_skips(each, 4);
  }
}

LOCUS_DEVICE_TEST("a captured step of two runs is skipped for an infinite gradient in the first", D) {
  TwoLayers<D> layers;
  const optim::Sgd own{layers.first.parameters(), {.lr = 1}}, another{layers.second.parameters(), {.lr = 1}};
  optim::Sgd both{layers.parameters, {.lr = 1}};
  auto step = capture([&] { return layers.step(both); });
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    const auto before = layers.values();
    const bool skips = i % 2 == 1;
    (void)layers.factor.fill_(skips ? std::numeric_limits<float>::infinity() : 1.f);
    (void)step();
    CHECK(layers.scaler.skipped_steps() == (i + 1) / 2);
    if (skips) layers.check_unchanged(before);
  }
}

static_assert(std::is_same_v<decltype(optim::GradScaler{{.init_scale = 4}}), optim::GradScaler<Cpu>>);
static_assert(std::is_same_v<decltype(optim::GradScaler{optim::GradScalerOptions{}, Cuda{}}), optim::GradScaler<Cuda>>);

template <class Optimizer>
concept Steps = requires(Optimizer& optimizer) { optimizer.step(); };
static_assert(Steps<optim::Sgd<float, Cpu>> && Steps<optim::AdamW<bfloat16, Cuda>>);
static_assert(!Steps<optim::Sgd<half, Cpu>> && !Steps<optim::AdamW<half, Cuda>>);
template <class Scaler, class Loss>
concept Scales = requires(const Scaler& scaler, const Loss& loss) { scaler.scale(loss); };
static_assert(Scales<optim::GradScaler<Cuda>, Traced<float, Cuda>>);
static_assert(!Scales<optim::GradScaler<Cuda>, Traced<float, Cpu>>);
static_assert(!Scales<optim::GradScaler<Cpu>, Traced<half, Cpu>>);
static_assert(!Scales<optim::GradScaler<Cpu>, Tensor<float, Cpu>>);
static_assert(!TensorLike<optim::Scaled<float, Cpu>>);
