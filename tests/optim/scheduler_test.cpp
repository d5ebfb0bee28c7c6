// Runs on: host.
// Learning rates over steps: PyTorch's, step by step; saved and restored; and refusals.

#include <locus/autograd/expression.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/cyclic_lr.hpp>
#include <locus/optim/scheduler.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/optim/swa_lr.hpp>
#include <locus/tensor/factory.hpp>

#include <golden/golden.hpp>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

using namespace locus;
using namespace locus_test;

namespace {

/// PyTorch's numbers recorded under a name.
const std::vector<double>& torch(const std::string& name) {
  static const auto all = [] {
    const char* const tests = std::getenv("LOCUS_TEST_DIR");
    const std::string here = __FILE__;
    golden::detail::Numbers numbers;
    golden::detail::read(
        (tests ? tests + std::string() : here.substr(0, here.rfind("/optim/"))) + "/golden/schedulers.txt", numbers);
    return numbers;
  }();
  return all.at(name).values;
}

struct Optimized {
  Parameter<float> weight{zeros({1})};
  optim::Sgd<float, Cpu> optimizer{{weight}, {.lr = 0.5}};
};

constexpr int steps = 20;

template <class S>
void follows(const std::string& name, const S& schedule) {
  CAPTURE(name);
  const bool watches = name.rfind("plateau", 0) == 0;
  const auto& expected = torch(name);
  const auto& losses = torch("losses");
  REQUIRE(expected.size() == steps + 1);
  const auto step = [&](optim::Scheduler& scheduler, std::size_t i) {
    if (watches) scheduler.step(losses[i]);
    else scheduler.step();
  };
  Optimized o;
  optim::Scheduler scheduler{o.optimizer, schedule};
  std::vector<double> state;
  CHECK(o.optimizer.lr() == doctest::Approx(expected[0]).epsilon(1e-12));
  for (std::size_t i = 0; i < steps; ++i) {
    CAPTURE(i);
    step(scheduler, i);
    CHECK(o.optimizer.lr() == doctest::Approx(expected[i + 1]).epsilon(1e-9));
    CHECK(scheduler.lr() == o.optimizer.lr());
    if (i == 6) state = scheduler.state();
  }
  CHECK(scheduler.steps() == steps);

  Optimized other;
  other.optimizer.set_lr(0.25);
  optim::Scheduler resumed{other.optimizer, schedule};
  resumed.load_state(state);
  CHECK(other.optimizer.lr() == doctest::Approx(expected[7]).epsilon(1e-9));
  for (std::size_t i = 7; i < steps; ++i) {
    step(resumed, i);
    CHECK(other.optimizer.lr() == doctest::Approx(expected[i + 1]).epsilon(1e-9));
  }
}

template <class S>
std::string refusal(const S& schedule) {
  Optimized o;
  try {
    const optim::Scheduler scheduler{o.optimizer, schedule};
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("twenty steps of every schedule are PyTorch's, also when they go on from a saved state") {
  using namespace optim;
  follows("step", StepLR{.step_size = 6, .gamma = 0.3});
  follows("multi_step", MultiStepLR{.milestones = {3, 8, 8, 15}, .gamma = 0.5});
  follows("exponential", ExponentialLR{.gamma = 0.9});
  follows("linear", LinearLR{.start_factor = 0.1, .end_factor = 0.8, .total_iters = 7});
  follows("linear_to_0", LinearLR{.start_factor = 0.7, .end_factor = 0, .total_iters = 6});
  follows("constant", ConstantLR{.factor = 0.25, .total_iters = 4});
  follows("cosine", CosineAnnealingLR{.t_max = 8, .eta_min = 0.01});
  follows("cosine_whole", CosineAnnealingLR{.t_max = 20});
  follows("cosine_one_past", CosineAnnealingLR{.t_max = 19});
  follows("cosine_each", CosineAnnealingLR{.t_max = 1, .eta_min = 0.1});
  follows("warm_restarts", CosineAnnealingWarmRestarts{.t_0 = 3, .t_mult = 2, .eta_min = 0.02});
  follows("warm_restarts_equal", CosineAnnealingWarmRestarts{.t_0 = 6});
  follows("one_cycle", OneCycleLR{.max_lr = 0.8, .total_steps = 21, .cycle_momentum = false});
  follows("one_cycle_linear", OneCycleLR{.max_lr = 0.8,
                                         .total_steps = 25,
                                         .pct_start = 0.4,
                                         .linear = true,
                                         .div_factor = 10,
                                         .final_div_factor = 100,
                                         .three_phase = true,
                                         .cycle_momentum = false});
  const CyclicLR cycle{.base_lr = 0.1, .max_lr = 0.7, .step_size_up = 3, .cycle_momentum = false};
  follows("polynomial", PolynomialLR{.total_iters = 12, .power = 0.9});
  follows("multiplicative", MultiplicativeLR{[](std::int64_t step) { return step % 2 == 1 ? 0.9 : 1.05; }});
  follows("cyclic", cycle);
  CyclicLR halved = cycle, powers = cycle;
  halved.step_size_up = 2, halved.step_size_down = 4, halved.mode = CycleMode::triangular2;
  powers.step_size_up = 4, powers.step_size_down = 3, powers.mode = CycleMode::exp_range, powers.gamma = 0.95;
  follows("cyclic_halved", halved);
  follows("cyclic_powers", powers);
  follows("swa", SWALR{.swa_lr = 0.05});
  follows("swa_linear", SWALR{.swa_lr = 0.9, .anneal_epochs = 6, .linear = true});
  follows("swa_at_once", SWALR{.swa_lr = 0.2, .anneal_epochs = 0});
  follows("sequential_swa",
          SequentialLR{{ConstantLR{.factor = 1, .total_iters = 1}, SWALR{.swa_lr = 0.05, .anneal_epochs = 4}}, {9}});
  follows("lambda", LambdaLR{[](std::int64_t step) { return 1.0 / static_cast<double>(1 + step); }});
  follows("chained", ChainedScheduler{{ConstantLR{.factor = 0.1, .total_iters = 5}, ExponentialLR{.gamma = 0.9}}});
  follows("sequential",
          SequentialLR{{LinearLR{.start_factor = 0.1, .total_iters = 4},
                        CosineAnnealingLR{.t_max = 10, .eta_min = 0.001}, StepLR{.step_size = 2, .gamma = 0.5}},
                       {4, 14}});
  follows("chained_past", ChainedScheduler{{LinearLR{.start_factor = 0.5, .total_iters = 3},
                                            MultiStepLR{.milestones = {4, 9}, .gamma = 0.5}}});
  follows("sequential_past", SequentialLR{{ConstantLR{.factor = 0.1, .total_iters = 2},
                                           LinearLR{.start_factor = 1, .end_factor = 0.25, .total_iters = 6}},
                                          {5}});
  follows("plateau", ReduceLROnPlateau{.factor = 0.5, .patience = 1, .threshold = 1e-3, .cooldown = 3, .min_lr = 0.1});
  follows(
      "plateau_max",
      ReduceLROnPlateau{.maximize = true, .factor = 0.1, .patience = 1, .threshold = 0.05, .absolute_threshold = true});
}

TEST_CASE("the momentum of a cycle is PyTorch's, of every optimizer that has one, also when it goes on from a state") {
  using namespace optim;
  const Parameter<float> weight(zeros({1}));
  const auto follow = [&](const char* name, const Schedule& schedule, auto& optimizer, auto& resumed_optimizer) {
    CAPTURE(std::string(name));
    const auto& expected = torch(name);
    Scheduler scheduler{optimizer, schedule};
    std::vector<double> state;
    CHECK(optimizer.momentum() == doctest::Approx(expected[0]).epsilon(1e-12));
    for (std::size_t i = 0; i < steps; ++i) {
      scheduler.step();
      CHECK(optimizer.momentum() == doctest::Approx(expected[i + 1]).epsilon(1e-12));
      if (i == 6) state = scheduler.state();
    }
    Scheduler resumed{resumed_optimizer, schedule};
    resumed.load_state(state);
    CHECK(resumed_optimizer.momentum() == doctest::Approx(expected[7]).epsilon(1e-12));
  };
  const OneCycleLR plain{.max_lr = 0.8, .total_steps = 21}, three_phases{.max_lr = 0.8,
                                                                         .total_steps = 25,
                                                                         .pct_start = 0.4,
                                                                         .linear = true,
                                                                         .three_phase = true,
                                                                         .base_momentum = 0.7,
                                                                         .max_momentum = 0.9};
  const SequentialLR later{{LinearLR{.start_factor = 0.1, .total_iters = 4}, plain}, {4}};
  Sgd sgd{{weight}, {.momentum = 0.5}}, other_sgd{{weight}, {.momentum = 0.5, .nesterov = true}};
  AdamW adam{{weight}, {}}, other_adam{{weight}, {}};
  follow("one_cycle_momentum", plain, sgd, other_sgd);
  follow("one_cycle_linear_momentum", three_phases, adam, other_adam);
  follow("sequential_momentum", later, sgd, other_sgd);
  const CyclicLR cyclic{.base_lr = 0.1,
                        .max_lr = 0.7,
                        .step_size_up = 2,
                        .step_size_down = 4,
                        .mode = CycleMode::triangular2,
                        .base_momentum = 0.6};
  follow("cyclic_momentum", cyclic, adam, other_sgd);
  CHECK(refusal(cyclic) ==
        "CyclicLR: the optimizer has no momentum; expected one that is made with momentum, or "
        ".cycle_momentum = false");
  follow("one_cycle_momentum", ChainedScheduler{{plain, ExponentialLR{}}}, adam, other_adam);

  Optimized none;
  CHECK_THROWS_WITH_AS((Scheduler{none.optimizer, plain}),
                       "OneCycleLR: the optimizer has no momentum; expected one that is made with momentum, or "
                       ".cycle_momentum = false",
                       ArgumentError);
  CHECK(none.optimizer.lr() == 0.5);
  CHECK_THROWS_WITH_AS(none.optimizer.set_momentum(0.9), "set_momentum: the optimizer was made without momentum",
                       ArgumentError);
  CHECK_THROWS_AS(sgd.set_momentum(-1), ArgumentError);
  CHECK_THROWS_AS(other_sgd.set_momentum(0), ArgumentError);  // Nesterov's momentum must be above 0
  CHECK_THROWS_AS(adam.set_momentum(1), ArgumentError);
  CHECK(refusal(CyclicLR{.max_lr = 1, .step_size_up = 0}) == "CyclicLR: step_size_up is 0; expected 1 or more");
  CHECK(refusal(CyclicLR{.base_lr = -1}) == "CyclicLR: base_lr is -1; expected a finite number of 0 or more");
  CHECK(refusal(CyclicLR{.step_size_down = -2}) == "CyclicLR: step_size_down is -2; expected 1 or more");
  CHECK(refusal(CyclicLR{.max_momentum = 1.5}) == "CyclicLR: max_momentum is 1.5; expected 0 to 1");
  CHECK(refusal(SWALR{.anneal_epochs = -1}) == "SWALR: anneal_epochs is -1; expected 0 or more");
  CHECK(refusal(SWALR{.swa_lr = -1}) == "SWALR: swa_lr is -1; expected a finite number of 0 or more");
  CHECK(refusal(PolynomialLR{.total_iters = 0}) == "PolynomialLR: total_iters is 0; expected 1 or more");
  CHECK(refusal(PolynomialLR{.power = -1}) == "PolynomialLR: power is -1; expected a finite number of 0 or more");
  CHECK(refusal(OneCycleLR{.max_lr = 1, .total_steps = 2, .base_momentum = 2}) ==
        "OneCycleLR: base_momentum is 2; expected 0 to 1");
}

TEST_CASE("a cycle stays at its last rate and momentum after its last step, and refuses one more by name") {
  const auto follow = [](const std::string& name, const optim::OneCycleLR& cycle) {
    CAPTURE(name);
    const auto &rates = torch(name), &momenta = torch(name + "_momentum");
    const auto last = static_cast<std::size_t>(cycle.total_steps) - 1;
    REQUIRE(rates.size() == last + 1);
    const Parameter<float> weight(zeros({1}));
    optim::Sgd optimizer{{weight}, {.momentum = 0.5}};
    optim::Scheduler scheduler{optimizer, cycle};
    for (std::size_t i = 0; i <= last + 1; ++i) {
      CAPTURE(i);
      CHECK(optimizer.lr() == doctest::Approx(rates[i < last ? i : last]).epsilon(1e-9));
      CHECK(optimizer.momentum() == doctest::Approx(momenta[i < last ? i : last]).epsilon(1e-9));
      if (i <= last) scheduler.step();
    }
    const std::string refused = "OneCycleLR: step " + std::to_string(cycle.total_steps + 1);
    CHECK_THROWS_WITH_AS(scheduler.step(), doctest::Contains(refused.c_str()), ArgumentError);
    CHECK(optimizer.lr() == doctest::Approx(rates[last]).epsilon(1e-9));
  };
  follow("cycle_cosine", {.max_lr = 0.01, .total_steps = 9});
  follow("cycle_linear", {.max_lr = 0.01, .total_steps = 9, .linear = true});
  follow("cycle_three_phases", {.max_lr = 0.01, .total_steps = 11, .pct_start = 0.4, .three_phase = true});
  follow("cycle_three_phases_linear",
         {.max_lr = 0.01, .total_steps = 11, .pct_start = 0.4, .linear = true, .three_phase = true});
}

TEST_CASE("a plateau reduces each group's rate by itself, as PyTorch, and goes on from a state") {
  const auto& expected = torch("plateau_of_groups");
  REQUIRE(expected.size() == 2 * (steps + 1));
  const auto optimizer_of_two = [] {
    return optim::Sgd{{optim::Group{std::vector{Parameter<float>(zeros({1}))}},
                       optim::Group{std::vector{Parameter<float>(zeros({1}))}, {.lr = 0.02}}},
                      {.lr = 0.5}};
  };
  const optim::ReduceLROnPlateau plateau{.factor = 0.5, .patience = 0, .min_lr = 0.015, .eps = 0.006};
  auto optimizer = optimizer_of_two();
  optim::Scheduler scheduler{optimizer, plateau};
  for (std::size_t i = 0; i <= steps; ++i) {
    CAPTURE(i);
    CHECK(optimizer.groups()[0].lr() == doctest::Approx(expected[i]).epsilon(1e-12));
    CHECK(optimizer.groups()[1].lr() == doctest::Approx(expected[steps + 1 + i]).epsilon(1e-12));
    CHECK(optimizer.lr() == optimizer.groups()[0].lr());
    scheduler.step(1.0);
  }
  // An optimizer that was restored keeps the rates of its groups.
  auto other = optimizer_of_two();
  optim::Scheduler resumed{other, plateau};
  other.set_lr(optimizer.lr());
  other.groups()[1].set_lr(0.3);
  resumed.load_state(scheduler.state());
  CHECK(other.groups()[1].lr() == 0.3);
}

namespace {
template <class Name>
struct Warmup {
  Name name = "warmup";
  void check() const {}
  [[nodiscard]] double first(double, double) const { return -1; }
  [[nodiscard]] double next(std::int64_t, double lr, double) const { return lr; }
};
}  // namespace

TEST_CASE("a rate that is none is refused in the name of its schedule, and nothing changes") {
  const auto message = [](const optim::Schedule& schedule) -> std::string {
    Optimized o;
    try {
      optim::Scheduler scheduler{o.optimizer, schedule};
      scheduler.step();
    } catch (const ArgumentError& error) {
      return error.what();
    }
    return "none";
  };
  CHECK(message(optim::LambdaLR{[](std::int64_t step) { return 1.0 - 2.0 * static_cast<double>(step); }}) ==
        "LambdaLR: the learning rate of step 1 is -0.5; expected a finite number of 0 or more");
  CHECK(message(optim::LambdaLR{[](std::int64_t) { return NAN; }}).rfind("LambdaLR: the learning rate of step 0", 0) ==
        0);
  CHECK(message(Warmup<const char*>{}).rfind("warmup: the learning rate of step 0", 0) == 0);
  CHECK(message(Warmup<std::string>{}).rfind("the schedule: the learning rate of step 0", 0) == 0);
  CHECK(message(optim::ExponentialLR{.gamma = 1e308}) == "none");
  CHECK(message(optim::ChainedScheduler{{optim::ExponentialLR{.gamma = 1e308}, optim::ExponentialLR{.gamma = 1e308}}})
            .rfind("ChainedScheduler: the learning rate of step 1", 0) == 0);
}

TEST_CASE("a step takes the momentum of then") {
  const Parameter<float> weight(zeros({1}));
  optim::Sgd optimizer{{weight}, {.lr = 1, .momentum = 0.5}};
  const auto step = [&] {
    optimizer.zero_grad();
    sum(trace(weight)).backward();
    optimizer.step();
    return weight.value().item();
  };
  CHECK(step() == -1);
  optimizer.set_momentum(0.25);
  CHECK(step() == -2.25f);
}

TEST_CASE("schedules of no steps, and other options out of range, are refused by name and number") {
  using namespace optim;
  const auto says = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  CHECK(says(refusal(StepLR{}), "StepLR: step_size is 0; expected 1 or more"));
  CHECK(says(refusal(CosineAnnealingLR{}), "CosineAnnealingLR: t_max is 0"));
  CHECK(says(refusal(CosineAnnealingWarmRestarts{}), "CosineAnnealingWarmRestarts: t_0 is 0"));
  CHECK(says(refusal(CosineAnnealingWarmRestarts{.t_0 = 1, .t_mult = 0}), "t_mult is 0"));
  CHECK(says(refusal(OneCycleLR{.max_lr = 1}), "OneCycleLR: total_steps is 0"));
  CHECK(says(refusal(LinearLR{.total_iters = 0}), "LinearLR: total_iters is 0"));
  CHECK(says(refusal(LinearLR{.start_factor = 0}), "start_factor is 0"));
  CHECK(says(refusal(LinearLR{.end_factor = 1.5}), "end_factor is 1.5"));
  CHECK(says(refusal(ConstantLR{.total_iters = -1}), "ConstantLR: total_iters is -1"));
  CHECK(says(refusal(MultiStepLR{.milestones = {4, 0}}), "a milestone is 0"));
  CHECK(says(refusal(ExponentialLR{.gamma = -1}), "gamma is -1"));
  CHECK(says(refusal(ChainedScheduler{}), "no schedules"));
  CHECK(says(refusal(SequentialLR{{ExponentialLR{}, ExponentialLR{}}, {}}), "2 schedules with 0 milestones"));
  CHECK(says(refusal(SequentialLR{{ExponentialLR{}, ExponentialLR{}}, {0}}), "milestone 0 is 0"));
  CHECK(says(refusal(ReduceLROnPlateau{.factor = 1}), "factor is 1"));
  CHECK(says(refusal(ReduceLROnPlateau{.patience = -1}), "patience is -1"));
  CHECK_THROWS_AS((void)ChainedScheduler{{StepLR{}}}, ArgumentError);

  Optimized o;
  Scheduler one_cycle{o.optimizer, OneCycleLR{.max_lr = 1, .total_steps = 2, .cycle_momentum = false}};
  one_cycle.step();
  one_cycle.step();
  CHECK_THROWS_WITH_AS(one_cycle.step(), doctest::Contains("step 3 of total_steps 2"), ArgumentError);
  CHECK(one_cycle.steps() == 2);
  Scheduler plateau{o.optimizer, ReduceLROnPlateau{}};
  CHECK_THROWS_WITH_AS(plateau.step(), doctest::Contains("without a metric"), ArgumentError);
  CHECK_THROWS_AS(plateau.load_state({1, 2}), ArgumentError);
  const std::vector<double> state{3, 0.5, 0.25, 0.125, 2, 1};
  plateau.load_state(state);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [place, number] : std::vector<std::pair<std::size_t, double>>{{0, 1e300},
                                                                                 {0, -1},
                                                                                 {0, 1.5},
                                                                                 {0, nan},
                                                                                 {1, -1},
                                                                                 {1, nan},
                                                                                 {2, nan},
                                                                                 {3, nan},
                                                                                 {4, -1},
                                                                                 {4, 1e20},
                                                                                 {5, nan}}) {
    const std::string changed = "number " + std::to_string(place) + " is " + std::to_string(number);
    CAPTURE(changed);
    auto absurd = state;
    absurd[place] = number;
    CHECK_THROWS_AS(plateau.load_state(absurd), ArgumentError);
    CHECK(plateau.state() == state);
  }
  CHECK_THROWS_AS(Scheduler().step(), ArgumentError);
}

TEST_CASE("a cycle whose rise or fall has no length is at the end of it") {
  Optimized o;
  const auto rates = [&](optim::OneCycleLR cycle) {
    cycle.cycle_momentum = false;
    optim::Scheduler scheduler{o.optimizer, cycle};
    std::vector<double> found{scheduler.lr()};
    for (std::int64_t i = 0; i < cycle.total_steps; ++i) scheduler.step(), found.push_back(scheduler.lr());
    return found;
  };
  const auto rises_at_once = rates({.max_lr = 0.1, .total_steps = 10, .pct_start = 0.1});
  CHECK(rises_at_once[0] == doctest::Approx(0.1));
  CHECK(rises_at_once[1] < 0.1);
  CHECK(rates({.max_lr = 0.1, .total_steps = 10, .pct_start = std::nextafter(0.1, 1)})[0] == doctest::Approx(0.1));
  const auto rises_alone = rates({.max_lr = 1, .total_steps = 4, .pct_start = 1, .div_factor = 10});
  CHECK(rises_alone[3] == doctest::Approx(1));
  CHECK(rises_alone[4] == rises_alone[3]);
}

TEST_CASE("a scheduler is a handle, takes any optimizer, and its chainable schedules keep what set_lr says") {
  Optimized o;
  optim::Scheduler scheduler{o.optimizer, optim::ExponentialLR{.gamma = 0.5}};
  optim::Scheduler same = scheduler;
  same.step();
  CHECK(scheduler.steps() == 1);
  CHECK(o.optimizer.lr() == 0.25);
  o.optimizer.set_lr(4);
  scheduler.step(0.0);  // this metric is ignored
  CHECK(o.optimizer.lr() == 2);

  const Parameter<float> weight(zeros({2}));
  optim::AdamW adam{{weight}, {.lr = 1}};
  optim::Scheduler warm_up{adam, optim::LinearLR{.start_factor = 0.5, .total_iters = 2}};
  CHECK(adam.lr() == 0.5);
  warm_up.step();
  CHECK(adam.lr() == 0.75);
}
