// Runs on: host, cuda (optimizers).
#include <locus/optim/lion.hpp>
#include <locus/training/optimizer_state.hpp>

#include <optim/recorded.hpp>

#include <cmath>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("Lion follows its paper", D) {
  using optim::Lion, optim::LionOptions;
  const LionOptions decayed{.lr = 0.05, .beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0.3};
  check_rule<double, D, Lion>("lion", LionOptions{.lr = 0.05});
  check_rule<double, D, Lion>("lion_decay", decayed);
  check_rule<float, D, Lion>("lion_decay", decayed);
  check_rule<double, D, Lion>("maximize_lion", LionOptions{.lr = 0.05, .weight_decay = 0.3, .maximize = true});
}

LOCUS_DEVICE_TEST("a step of Lion is one launch, moves by the learning rate, and not without a direction", D) {
  const Parameter w(tensor<float, D>({5}, {1, 1, 1, 1, INFINITY}));
  optim::Lion optimizer{std::vector{w}, {.lr = 0.25}};
  give(w, tensor<float, D>({5}, {1e-20, -1e20, 0, NAN, 1}));
  const LaunchLog log;
  optimizer.step();
  CHECK(log.launches() == 1);
  CHECK_CLOSE(w.value(), {0.75, 1.25, 1, NAN, INFINITY});
  CHECK_CLOSE(optimizer.state(0, 0).select(0, 4), 0.01);
  CHECK(std::string(optimizer.state_name(0)) == "exp_avg");
  CHECK_THROWS_AS((void)optimizer.state_name(1), IndexError);
  CHECK(optimizer.momentum() == 0.9);
}

TEST_CASE("Lion refuses what makes no sense") {
  const std::vector parameters{Parameter(ones({2}))};
  using optim::Lion;
  CHECK_THROWS_AS((Lion{parameters, {.lr = -1}}), ArgumentError);
  CHECK_THROWS_AS((Lion{parameters, {.beta1 = 1}}), ArgumentError);
  CHECK_THROWS_WITH_AS((Lion{parameters, {.beta2 = -0.5}}), doctest::Contains("beta2 is -0.5"), ArgumentError);
  CHECK_THROWS_AS((Lion{parameters, {.weight_decay = -1}}), ArgumentError);
  Lion optimizer{parameters};
  CHECK_THROWS_AS(optimizer.set_momentum(1), ArgumentError);
}
