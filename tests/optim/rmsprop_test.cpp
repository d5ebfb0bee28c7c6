// Runs on: host, cuda (optimizers).
#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/optim/adagrad.hpp>
#include <locus/optim/rmsprop.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/training/optimizer_state.hpp>

#include <limits>

#include <optim/recorded.hpp>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("RMSprop follows PyTorch's, and keeps what its options need", D) {
  using optim::RMSprop, optim::RMSpropOptions;
  const RMSpropOptions momentum{.lr = 0.02, .alpha = 0.9, .eps = 1e-3, .weight_decay = 0.1, .momentum = 0.8},
      both{.lr = 0.02, .momentum = 0.8, .centered = true};
  check_rule<double, D, RMSprop>("rmsprop", RMSpropOptions{});
  check_rule<double, D, RMSprop>("rmsprop_momentum", momentum);
  check_rule<double, D, RMSprop>("rmsprop_centered", RMSpropOptions{.lr = 0.02, .alpha = 0.8, .centered = true});
  check_rule<double, D, RMSprop>("rmsprop_centered_momentum", both);
  check_rule<float, D, RMSprop>("rmsprop_momentum", momentum);
  check_rule<double, D, RMSprop>(
      "maximize_rmsprop",
      RMSpropOptions{.lr = 0.02, .weight_decay = 0.4, .momentum = 0.8, .centered = true, .maximize = true});
}

LOCUS_DEVICE_TEST("RMSprop's skipped steps change nothing, as PyTorch's that are not made", D) {
  Recorded<double, D> run{"rules"};
  optim::RMSprop optimizer{std::vector{run.w, run.b}, {.lr = 0.02, .momentum = 0.8, .centered = true}};
  run.check("rmsprop_skipped", [&](int step) {
    const bool skips = step == 0 || step == 3 || step == 4;
    if (skips) (void)run.w.grad().fill_(std::numeric_limits<double>::infinity());
    optimizer.step(full<bool, D>({}, skips));
  });
}

LOCUS_DEVICE_TEST("replays of RMSprop's step equal steps bit for bit, each one launch", D) {
  const auto start = rand<float, D>({33});
  const Parameter w(start.clone()), same(start.clone());
  optim::RMSprop plain{std::vector{w}, {.momentum = 0.5}}, captured{std::vector{same}, {.momentum = 0.5}};
  give(same, ones<float, D>({33}));
  auto step = capture([&] {
    captured.step();
    return same.value();
  });
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    const auto gradient = rand<float, D>({33});
    give(w, gradient);
    (void)same.grad().copy_(gradient);
    for (auto* each : {&plain, &captured}) each->set_lr(0.1 / (i + 1)), each->set_momentum(i < 3 ? 0.5 : 0.9);
    (void)step();
    const LaunchLog log;
    plain.step();
    CHECK(log.launches() == 1);
    CHECK(same_bits(w.value(), same.value()));
  }
}

TEST_CASE("RMSprop's state has PyTorch's names, and goes on from a saved one") {
  using Names = std::vector<const char*>;
  const auto names = [](const optim::RMSpropOptions& options, const Names& expected) {
    const optim::RMSprop optimizer{std::vector{Parameter(ones({2}))}, options};
    const auto state = optim::state_dict(optimizer);
    CHECK(optimizer.states() == static_cast<int>(expected.size()));
    for (const char* name : expected) CHECK(state.contains(std::string("state.0.") + name));
  };
  names({}, {"square_avg"});
  const std::vector parameters{Parameter(ones({2}))};
  CHECK_THROWS_AS((void)(optim::RMSprop{parameters, {}}).state_name(1), IndexError);
  CHECK_THROWS_AS((void)(optim::Sgd{parameters, {}}).state_name(0), IndexError);
  CHECK_THROWS_AS((void)(optim::Adagrad{parameters, {}}).state_name(1), IndexError);
  names({.centered = true}, {"square_avg", "grad_avg"});
  names({.momentum = 0.9}, {"square_avg", "momentum_buffer"});
  names({.momentum = 0.9, .centered = true}, {"square_avg", "grad_avg", "momentum_buffer"});

  const optim::RMSpropOptions options{.momentum = 0.9, .centered = true};
  const Parameter w(rand<bfloat16>({5})), v = w.clone();
  optim::RMSprop first{std::vector{w}, options}, second{std::vector{v}, options};
  for (int i = 0; i < 6; ++i) {
    const auto gradient = rand<bfloat16>({5});
    give(w, gradient);
    first.step();
    if (i == 3) optim::load_state_dict(second, optim::state_dict(first).clone()), v.value().copy_(w.value());
    if (i <= 3) continue;
    give(v, gradient);
    second.step();
    CHECK(same_bits(w.value(), v.value()));
  }
}

LOCUS_DEVICE_TEST("a value whose gradients are zero stays, without eps", D) {
  const Parameter w(tensor<float, D>({2}, {1, 1}));
  optim::RMSprop optimizer{std::vector{w}, {.alpha = 0, .eps = 0, .centered = true}};
  for (int i = 0; i < 3; ++i) {
    give(w, tensor<float, D>({2}, {0, 0}));
    optimizer.step();
  }
  CHECK_CLOSE(w.value(), {1, 1});
}

LOCUS_DEVICE_TEST("centered, a step by gradients that repeat is divided by about eps", D) {
  const Parameter w(tensor<double, D>({1}, {1}));
  optim::RMSprop optimizer{std::vector{w}, {.lr = 1e-3, .alpha = 0, .eps = 1e-3, .centered = true}};
  give(w, tensor<double, D>({1}, {0.25}));
  optimizer.step();
  CHECK_CLOSE(w.value(), {1 - 0.25}, 1e-6);
}

TEST_CASE("RMSprop refuses what makes no sense") {
  const std::vector parameters{Parameter(ones({2}))};
  using optim::RMSprop;
  CHECK_THROWS_AS((RMSprop{parameters, {.lr = -1}}), ArgumentError);
  CHECK_THROWS_WITH_AS((RMSprop{parameters, {.alpha = 1.5}}), doctest::Contains("alpha is 1.5"), ArgumentError);
  CHECK_THROWS_AS((RMSprop{parameters, {.eps = -1}}), ArgumentError);
  CHECK_THROWS_AS((RMSprop{parameters, {.weight_decay = -1}}), ArgumentError);
  CHECK_THROWS_AS((RMSprop{parameters, {.momentum = -1}}), ArgumentError);
  RMSprop plain{parameters, {.centered = true}};
  CHECK_THROWS_WITH_AS(plain.set_momentum(0.9), doctest::Contains("without momentum"), ArgumentError);
}

template <class Optimizer, class P>
concept Optimizes = std::is_constructible_v<Optimizer, std::vector<P>>;
static_assert(Optimizes<optim::RMSprop<float, Cuda>, Parameter<float, Cuda>>);
static_assert(!Optimizes<optim::RMSprop<float, Cuda>, Parameter<float, Cpu>>);
template <class Skip>
concept Skips = requires(optim::RMSprop<float, Cuda>& optimizer, const Skip& skip) { optimizer.step(skip); };
static_assert(Skips<Tensor<bool, Cuda>> && !Skips<Tensor<bool, Cpu>> && !Skips<Tensor<float, Cuda>>);
