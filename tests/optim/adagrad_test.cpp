// Runs on: host, cuda (optimizers).
#include <locus/optim/adagrad.hpp>
#include <locus/training/optimizer_state.hpp>

#include <optim/recorded.hpp>

using namespace locus;
using namespace locus_test;

LOCUS_DEVICE_TEST("Adagrad follows PyTorch's", D) {
  using optim::Adagrad, optim::AdagradOptions;
  const AdagradOptions decayed{
      .lr = 0.3, .lr_decay = 0.1, .weight_decay = 0.1, .initial_accumulator_value = 0.5, .eps = 1e-3};
  check_rule<double, D, Adagrad>("adagrad", AdagradOptions{});
  check_rule<double, D, Adagrad>("adagrad_decay", decayed);
  check_rule<float, D, Adagrad>("adagrad_decay", decayed);
  check_rule<double, D, Adagrad>("maximize_adagrad",
                                 AdagradOptions{.lr = 0.3, .lr_decay = 0.1, .weight_decay = 0.4, .maximize = true});
}

LOCUS_DEVICE_TEST("groups of Adagrad have rates of their own, and a step of neighbours is at most one launch each", D) {
  Recorded<double, D> run{"rules"};
  optim::Adagrad optimizer{
      {optim::Group{std::vector{run.w}, {.weight_decay = 0.2}}, optim::Group{std::vector{run.b}, {.lr = 0.1}}},
      {.lr = 0.3, .lr_decay = 0.1}};
  run.check("adagrad_groups", [&](int) {
    const LaunchLog log;
    optimizer.step();
    CHECK(log.launches() == 2);
  });
}

TEST_CASE("Adagrad's state is the sum of squares, from its first value on") {
  const Parameter w(full<bfloat16>({2}, bfloat16(1.f)));
  optim::Adagrad optimizer{std::vector{w}, {.initial_accumulator_value = 0.5}};
  give(w, full<bfloat16>({2}, bfloat16(2.f)));
  CHECK_CLOSE(optim::state_dict(optimizer).get<float>("state.0.sum"), {0.5, 0.5});
  CHECK_CLOSE(optim::state_dict(optimizer).get<float>("state.0.master"), {0, 0});
  optimizer.step();
  CHECK_CLOSE(optim::state_dict(optimizer).get<float>("state.0.sum"), {4.5, 4.5});
}

TEST_CASE("Adagrad refuses what makes no sense") {
  const std::vector parameters{Parameter(ones({2}))};
  using optim::Adagrad;
  CHECK_THROWS_AS((Adagrad{parameters, {.lr = -1}}), ArgumentError);
  CHECK_THROWS_WITH_AS((Adagrad{parameters, {.lr_decay = -1}}), doctest::Contains("lr_decay is -1"), ArgumentError);
  CHECK_THROWS_AS((Adagrad{parameters, {.weight_decay = -1}}), ArgumentError);
  CHECK_THROWS_AS((Adagrad{parameters, {.initial_accumulator_value = -1}}), ArgumentError);
  CHECK_THROWS_AS((Adagrad{parameters, {.eps = -1}}), ArgumentError);
}
