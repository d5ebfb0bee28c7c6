// Runs on: host, cuda (training); counting.
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>

#include <cmath>
#include <optim/trajectory.hpp>  // chooses the devices

#include <optim/recorded.hpp>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("SGD follows PyTorch's", D) {
  using optim::Sgd;
  check_trajectory<double, D, Sgd>("sgd", {.lr = 0.1});
  check_trajectory<double, D, Sgd>("sgd_decay", {.lr = 0.1, .weight_decay = 0.2});
  check_trajectory<double, D, Sgd>("sgd_momentum", {.lr = 0.1, .momentum = 0.9});
  check_trajectory<double, D, Sgd>("sgd_dampening",
                                   {.lr = 0.1, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.02});
  check_trajectory<double, D, Sgd>("sgd_nesterov",
                                   {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.02, .nesterov = true});
  check_trajectory<double, D, Sgd>("sgd_late", {.lr = 0.1, .momentum = 0.9, .dampening = 0.3}, 3);
  check_trajectory<float, D, Sgd>("sgd_nesterov", {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.02, .nesterov = true});
}

LOCUS_DEVICE_TEST("SGD goes up the gradient as PyTorch's does", D) {
  using optim::Sgd, optim::SgdOptions;
  const SgdOptions decayed{.lr = 0.02, .momentum = 0.8, .dampening = 0.3, .weight_decay = 0.4, .maximize = true};
  check_rule<double, D, Sgd>("maximize_sgd", decayed);
  check_rule<float, D, Sgd>("maximize_sgd", decayed);
  check_rule<double, D, Sgd>("maximize_nesterov",
                             SgdOptions{.lr = 0.02, .momentum = 0.8, .nesterov = true, .maximize = true});
  // Of 16 bits, by master weights: the same numbers as a gradient of the other sign.
  const Parameter<bfloat16, D> up(tensor<bfloat16, D>({2}, {1, -2})), down = up.clone();
  Sgd maximizing{std::vector{up}, {.lr = 0.5, .momentum = 0.5, .maximize = true}};
  Sgd minimizing{std::vector{down}, {.lr = 0.5, .momentum = 0.5}};
  for (int step = 0; step < 3; ++step) {
    give(up, tensor<bfloat16, D>({2}, {0.25, 1}));
    give(down, tensor<bfloat16, D>({2}, {-0.25, -1}));
    maximizing.step();
    minimizing.step();
    CHECK(same_bits(up.value(), down.value()));
  }
  CHECK(static_cast<float>(up.value().template to<Cpu>()(1)) > 0);
}

LOCUS_DEVICE_TEST("a step is one launch, and zero_grad none", D) {
  const std::vector parameters{Parameter(sample<float, D>({3, 4})), Parameter(sample<float, D>({5})),
                               Parameter(sample<float, D>({}))};
  optim::Sgd optimizer{parameters, {.lr = 0.1, .momentum = 0.9}};
  for (const auto& parameter : parameters) sum(square(trace(parameter))).backward();
  optimizer.step();  // makes the momentum
  const LaunchLog log;
  optimizer.step();
  CHECK(log.launches() == 1);
  optimizer.zero_grad();
  CHECK(log.launches() == 1);
}

LOCUS_DEVICE_TEST("parameters without a gradient stay as they are", D) {
  const Parameter moving(tensor<float, D>({2}, {1, 2})), still(tensor<float, D>({2}, {3, 4})),
      also_moving(tensor<float, D>({2}, {5, 6}));
  optim::Sgd optimizer{std::vector{moving, still, also_moving}, {.lr = 1, .weight_decay = 1}};
  (sum(trace(moving)) + sum(trace(also_moving))).backward();
  optimizer.step();
  CHECK_CLOSE(moving.value(), {-1, -1});
  CHECK_CLOSE(still.value(), {3, 4});
  CHECK_CLOSE(also_moving.value(), {-1, -1});
}

LOCUS_DEVICE_TEST("the learning rate may change between steps", D) {
  const Parameter w(tensor<float, D>({1}, {1}));
  optim::Sgd optimizer{std::vector{w}, {.lr = 1}};
  CHECK(optimizer.lr() == 1);
  sum(trace(w)).backward();
  optimizer.step();
  optimizer.set_lr(0.25);
  optimizer.step();
  CHECK_CLOSE(w.value(), {-0.25});
}

LOCUS_DEVICE_TEST("an optimizer keeps values and gradients, and shares them with every handle", D) {
  const Parameter w(tensor<float, D>({2}, {1, 2}));
  const Parameter same = w;
  sum(trace(w) * 3).backward();
  optim::Sgd optimizer{std::vector{w}, {.lr = 0.5}};
  CHECK_CLOSE(same.value(), {1, 2});
  CHECK_CLOSE(same.grad(), {3, 3});
  optimizer.step();
  CHECK_CLOSE(same.value(), {-0.5, 0.5});
}

LOCUS_DEVICE_TEST("optimizers over the same parameters share the values, and each has its own state", D) {
  const Parameter w(tensor<float, D>({2}, {1, 2}));
  optim::Sgd first{std::vector{w}, {.lr = 1, .momentum = 0.5}};
  optim::Sgd second{std::vector{w}, {.lr = 1, .momentum = 0.5}};
  sum(trace(w)).backward();
  first.step();
  CHECK_CLOSE(w.value(), {0, 1});
  second.step();
  CHECK_CLOSE(w.value(), {-1, 0});
  first.step();
  CHECK_CLOSE(w.value(), {-2.5, -1.5});
}

LOCUS_DEVICE_TEST("optimizers whose lists overlap step as if each had its own", D) {
  const Parameter a(tensor<float, D>({2}, {1, 2})), b(tensor<float, D>({3}, {1, 2, 3})), c(tensor<float, D>({1}, {5}));
  optim::Sgd of_b{std::vector{b}, {.lr = 1}};
  optim::Sgd of_all{std::vector{a, b, c}, {.lr = 1}};
  optim::Sgd of_ab{std::vector{a, b}, {.lr = 1}};
  const auto step = [&](auto& optimizer) {
    optimizer.zero_grad();
    (sum(trace(a)) + sum(trace(b)) + sum(trace(c))).backward();
    optimizer.step();
    c.zero_grad();
  };
  step(of_b);
  CHECK_CLOSE(b.value(), {0, 1, 2});
  step(of_all);
  CHECK_CLOSE(a.value(), {0, 1});
  CHECK_CLOSE(b.value(), {-1, 0, 1});
  CHECK_CLOSE(c.value(), {4});
  const auto flat = flatten(std::vector{b, c});  // moves both
  step(of_ab);
  CHECK_CLOSE(a.value(), {-1, 0});
  CHECK_CLOSE(b.value(), {-2, -1, 0});
  step(of_all);
  CHECK_CLOSE(c.value(), {3});
  CHECK_CLOSE(b.value(), {-3, -2, -1});
}

LOCUS_DEVICE_TEST("modifying weights between forward and backward is refused", D) {
  const Parameter w(tensor<float, D>({2}, {1, 2}));
  optim::Sgd optimizer{std::vector{w}, {.lr = 1}};
  const auto loss = sum(trace(w) * trace(w));
  loss.backward({.retain_graph = true});
  optimizer.step();
  CHECK_THROWS_AS(loss.backward(), StaleError);
}

TEST_CASE("an optimizer refuses what makes no sense") {
  const std::vector parameters{Parameter(Tensor<float>({2}).fill_(1))};
  using optim::Sgd;
  CHECK_THROWS_AS((Sgd{parameters, {.lr = -1}}), ArgumentError);
  CHECK_THROWS_AS((Sgd{parameters, {.lr = std::nan("")}}), ArgumentError);
  CHECK_THROWS_AS((Sgd{parameters, {.momentum = -1}}), ArgumentError);
  CHECK_THROWS_AS((Sgd{parameters, {.weight_decay = -1}}), ArgumentError);
  CHECK_THROWS_AS((Sgd{parameters, {.nesterov = true}}), ArgumentError);
  CHECK_THROWS_AS((Sgd{parameters, {.momentum = 0.9, .dampening = 0.5, .nesterov = true}}), ArgumentError);
  CHECK_THROWS_AS((Sgd{std::vector<Parameter<float>>{}, {}}), ArgumentError);
  CHECK_THROWS_AS((Sgd{std::vector{parameters[0], parameters[0]}, {}}), ArgumentError);
  CHECK_THROWS_AS((Sgd{std::vector{Parameter<float>()}, {}}), ArgumentError);
}

TEST_CASE("parameters on two ordinals are refused, naming both") {
  const std::vector parameters{Parameter(Tensor<float, Counting>({2}, Counting{0})),
                               Parameter(Tensor<float, Counting>({2}, Counting{1}))};
  CHECK_THROWS_WITH_AS((optim::Sgd{parameters, {}}), doctest::Contains("counting:1"), DeviceError);
}

LOCUS_DEVICE_TEST("options that are refused leave the parameters to their optimizer", D) {
  const Parameter w(tensor<float, D>({2}, {1, 2}));
  optim::Sgd optimizer{std::vector{w}, {.lr = 1}};
  CHECK_THROWS_AS((optim::Sgd{std::vector{w}, {.momentum = -1}}), ArgumentError);
  CHECK_THROWS_AS((optim::Sgd{std::vector{w}, {.lr = -1}}), ArgumentError);
  sum(trace(w)).backward();
  optimizer.step();
  CHECK_CLOSE(w.value(), {0, 1});
}

LOCUS_DEVICE_TEST("a step changes the parameters that it moves, and no others", D) {
  const Parameter a(tensor<float, D>({2}, {1, 2})), b(tensor<float, D>({2}, {3, 4}));
  optim::Sgd optimizer{std::vector{a, b}, {.lr = 1}};
  const auto of_a = sum(square(trace(a))), of_b = sum(square(trace(b)));
  optimizer.step();
  of_a.backward();
  optimizer.step();
  of_b.backward();  // its saved tensors were not touched
  CHECK_CLOSE(b.grad(), {6, 8});
  const auto stale = sum(square(trace(a)));
  optimizer.step();
  CHECK_THROWS_AS(stale.backward(), StaleError);
}

TEST_CASE("optimizers are moved, not copied: copies would share the values and count the steps apart") {
  static_assert(!std::is_copy_constructible_v<optim::Sgd<float, Cpu>>);
  static_assert(!std::is_copy_assignable_v<optim::Sgd<float, Cpu>>);
  const Parameter w(zeros({1}));
  optim::Sgd first{std::vector{w}, {.lr = 1, .momentum = 0.5}};
  const auto step = [&](auto& optimizer) {
    optimizer.zero_grad();
    sum(trace(w)).backward();
    optimizer.step();
  };
  step(first);
  auto second = std::move(first);
  step(second);
  CHECK(w.value()(0) == -2.5f);
  optim::Sgd third{std::vector{Parameter(zeros({1}))}, {.momentum = 0.5}};
  second = std::move(third);
  CHECK_THROWS_WITH_AS(third.zero_grad(), doctest::Contains("moved from"), ArgumentError);
  CHECK_THROWS_WITH_AS(third.step(), doctest::Contains("moved from"), ArgumentError);
  CHECK_THROWS_WITH_AS((void)third.parameters(), doctest::Contains("moved from"), ArgumentError);
}

TEST_CASE("optimizers refuse options that are no numbers") {
  const std::vector parameters{Parameter(zeros({1}))};
  CHECK_THROWS_AS((optim::Sgd{parameters, {.lr = INFINITY}}), ArgumentError);
  CHECK_THROWS_AS((optim::Sgd{parameters, {.momentum = 0.9, .dampening = NAN}}), ArgumentError);
  CHECK_THROWS_AS((optim::Sgd{parameters, {.weight_decay = INFINITY}}), ArgumentError);
}
