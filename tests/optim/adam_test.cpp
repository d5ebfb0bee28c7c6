// Runs on: host, cuda (optimizers); loops, alone.
#include <locus/optim/adam.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/factory.hpp>

#include <optim/trajectory.hpp>  // chooses the devices

#include <optim/recorded.hpp>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("Adam and AdamW follow PyTorch's", D) {
  using optim::Adam, optim::AdamW;
  check_trajectory<double, D, Adam>("adam", {.lr = 0.05});
  check_trajectory<double, D, Adam>("adam_decay",
                                    {.lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.2});
  check_trajectory<double, D, Adam>("adam_late", {.lr = 0.05}, 3);
  check_trajectory<double, D, AdamW>("adamw", {.lr = 0.05, .weight_decay = 0.3});
  check_trajectory<float, D, Adam>("adam", {.lr = 0.05});
  check_trajectory<float, D, AdamW>("adamw", {.lr = 0.05, .weight_decay = 0.3});
}

LOCUS_DEVICE_TEST("AMSGrad follows PyTorch's, and keeps a third number for each element", D) {
  const optim::AdamOptions options{.lr = 0.05, .beta2 = 0.8, .weight_decay = 0.1, .amsgrad = true};
  check_rule<double, D, optim::Adam>("amsgrad", options);
  check_rule<float, D, optim::Adam>("amsgrad", options);
  check_rule<double, D, optim::AdamW>(
      "amsgrad_adamw", optim::AdamWOptions{.lr = 0.05, .beta2 = 0.8, .weight_decay = 0.3, .amsgrad = true});
  const std::vector parameters{Parameter(ones<float, D>({2}))};
  const optim::Adam plain{parameters, {}};
  CHECK(plain.states() == 2);
  const optim::Adam optimizer{parameters, {.amsgrad = true}};
  CHECK(optimizer.states() == 3);
  CHECK(std::string(optimizer.state_name(2)) == "max_exp_avg_sq");
  CHECK_THROWS_WITH_AS((void)plain.state_name(2), doctest::Contains("state 2; there are 2"), IndexError);
  CHECK_THROWS_AS((void)plain.state_name(-1), IndexError);
}

LOCUS_DEVICE_TEST("Adam, AdamW and AMSGrad go up the gradient as PyTorch's do", D) {
  using optim::AdamOptions, optim::AdamWOptions;
  check_rule<double, D, optim::Adam>("maximize_adam", AdamOptions{.lr = 0.05, .weight_decay = 0.4, .maximize = true});
  check_rule<double, D, optim::AdamW>("maximize_adamw",
                                      AdamWOptions{.lr = 0.05, .weight_decay = 0.3, .maximize = true});
  check_rule<float, D, optim::AdamW>("maximize_adamw", AdamWOptions{.lr = 0.05, .weight_decay = 0.3, .maximize = true});
  const AdamOptions amsgrad{.lr = 0.05, .beta2 = 0.8, .weight_decay = 0.4, .amsgrad = true, .maximize = true};
  check_rule<double, D, optim::Adam>("maximize_amsgrad", amsgrad);
}

LOCUS_DEVICE_TEST("AMSGrad's groups and steps that may be skipped follow PyTorch's as well", D) {
  const optim::AdamOptions options{.lr = 0.05, .beta2 = 0.8, .weight_decay = 0.1, .amsgrad = true};
  const auto never = full<bool, D>({}, false), always = full<bool, D>({}, true);
  Recorded<double, D> whole{"rules"}, parted{"rules"};
  optim::Adam one{std::vector{whole.w, whole.b}, options};
  whole.check("amsgrad", [&](int) { one.step(never); });
  using optim::Group;
  const std::vector groups{Group{std::vector{parted.w}}, Group{std::vector{parted.b}, {.lr = 0.05}}};
  optim::Adam two{groups, options};
  CHECK(two.groups().size() == 2);
  parted.check("amsgrad", [&](int step) {
    if (step < 5) return two.step();
    two.step(always);
    two.step(never);
  });
}

LOCUS_DEVICE_TEST("a step of Adam is one launch", D) {
  const std::vector parameters{Parameter(sample<float, D>({3, 4})), Parameter(sample<float, D>({5}))};
  optim::Adam optimizer{parameters};
  CHECK(optimizer.lr() == 0.001);
  for (const auto& parameter : parameters) sum(square(trace(parameter))).backward();
  optimizer.step();  // makes the running means
  const LaunchLog log;
  optimizer.step();
  CHECK(log.launches() == 1);
}

LOCUS_DEVICE_TEST("the first step of Adam has the size of the learning rate, whatever the gradient", D) {
  const Parameter w(tensor<double, D>({2}, {1, 1}));
  optim::Adam optimizer{std::vector{w}, {.lr = 0.25, .eps = 0}};
  sum(trace(w) * tensor<double, D>({2}, {1e-6, -1e6})).backward();
  optimizer.step();
  CHECK_CLOSE(w.value(), {0.75, 1.25}, 1e-9);
}

TEST_CASE("Adam refuses what makes no sense") {
  const std::vector parameters{Parameter(Tensor<float>({2}).fill_(1))};
  using optim::Adam, optim::AdamW;
  CHECK_THROWS_AS((Adam{parameters, {.lr = -1}}), ArgumentError);
  CHECK_THROWS_AS((Adam{parameters, {.beta1 = 1}}), ArgumentError);
  CHECK_THROWS_AS((Adam{parameters, {.beta2 = -0.1}}), ArgumentError);
  CHECK_THROWS_AS((Adam{parameters, {.eps = -1}}), ArgumentError);
  CHECK_THROWS_AS((AdamW{parameters, {.weight_decay = -1}}), ArgumentError);
}

LOCUS_DEVICE_TEST("Adam's first step has the size of the learning rate for every beta2 below 1", D) {
  for (const double beta2 : {0.999, 0.99999, 0.99999999}) {
    const Parameter w(tensor<float, D>({1}, {0}));
    optim::Adam optimizer{std::vector{w}, {.lr = 1, .beta2 = beta2}};
    sum(trace(w)).backward();
    optimizer.step();
    CHECK(w.value().template to<Cpu>()(0) == doctest::Approx(-1).epsilon(1e-6));
  }
}

TEST_CASE("optimizers take a list of parameters") {
  const Parameter w(zeros({2})), b(zeros({1}));
  optim::Adam adam{{w, b}, {.lr = 0.5}};
  CHECK(adam.parameters().size() == 2);
  CHECK(optim::AdamW{{w, b}}.parameters().size() == 2);
  CHECK(optim::Sgd{{w, b}, {.lr = 0.5}}.lr() == 0.5);
}
