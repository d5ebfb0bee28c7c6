// Runs on: host, cuda (optimizers); counting.
// NAdam, RAdam, Adamax, ASGD and Rprop beside their numbers, which fuzz/golden_optimizers_test.cpp compares with
// PyTorch's: launches, groups, skipped steps, 16 bits, states, refusals.

#include <locus/optim/adamax.hpp>
#include <locus/optim/asgd.hpp>
#include <locus/optim/nadam.hpp>
#include <locus/optim/radam.hpp>
#include <locus/optim/rprop.hpp>
#include <locus/training/optimizer_state.hpp>

#include <optim/trajectory.hpp>  // chooses the devices

#include <optim/recorded.hpp>

#include <string>

using namespace locus;
using namespace locus_test;

namespace {
/// Steps with flags, of which those that are set are skipped, equal plain steps without them; a step is one launch, and
/// one more that counts it on the device.
template <class D, template <class, class> class Rule, class Options>
void skips(const Options& options, std::initializer_list<const char*> names) {
  Recorded<double, D> plain{"rules"}, flagged{"rules"};
  Rule<double, D> first(std::vector{plain.w, plain.b}, options), second(std::vector{flagged.w, flagged.b}, options);
  int which = 0;
  for (const char* const name : names) CHECK(std::string(first.state_name(which++)) == name);
  CHECK(first.states() == which);
  CHECK_THROWS_AS((void)first.state_name(which), IndexError);
  for (int step = 0; step < 12; ++step) {
    CAPTURE(step);
    const bool skip = step == 0 || step == 5 || step == 6;
    for (auto* const run : {&plain, &flagged}) {
      give(run->w, run->gw.select(0, step).clone());
      give(run->b, run->gb.select(0, step).clone());
    }
    const auto flag = tensor<bool, D>({}, {skip ? 1. : 0.});
    const LaunchLog log;
    if (!skip) first.step();
    CHECK(log.launches() == (skip ? 0 : 1));
    if (step > 0) {
      const LaunchLog counted;
      second.step(flag);
      CHECK(counted.launches() == 2);
    } else {
      second.step(flag);
    }
    CHECK_CLOSE(flagged.w.value(), reference(plain.w.value()), 1e-12);
    CHECK_CLOSE(flagged.b.value(), reference(plain.b.value()), 1e-12);
  }
  CHECK(second.steps()[0] == 9);

  // A group of its own rate, and the state of another run.
  Recorded<double, D> third{"rules"};
  Rule<double, D> resumed({optim::Group{std::vector{third.w}}, optim::Group{std::vector{third.b}}}, options);
  Rule<double, D> grouped({optim::Group{std::vector{plain.w}}, optim::Group{std::vector{plain.b}}}, options);
  third.w.value().copy_(plain.w.value());
  third.b.value().copy_(plain.b.value());
  for (int step = 0; step < 4; ++step) {
    for (auto* const run : {&plain, &third}) {
      give(run->w, run->gw.select(0, step).clone());
      give(run->b, run->gb.select(0, step).clone());
    }
    if (step == 2) {
      third.w.value().copy_(plain.w.value());
      third.b.value().copy_(plain.b.value());
      optim::load_state_dict(resumed, optim::state_dict(grouped));
    }
    grouped.step();
    if (step >= 2) resumed.step();
    if (step >= 2) CHECK(same_bits(third.w.value(), plain.w.value()));
  }
}

/// Steps that bfloat16 would lose add up in float, as they do in a run of floats.
template <class D, template <class, class> class Rule, class Options>
void adds_up(const Options& options) {
  const Parameter<bfloat16, D> w(ones<bfloat16, D>({4}));
  const Parameter<float, D> exact(ones<float, D>({4}));
  Rule<bfloat16, D> optimizer(std::vector{w}, options);
  Rule<float, D> in_float(std::vector{exact}, options);
  for (int step = 0; step < 40; ++step) {
    give(w, full<bfloat16, D>({4}, bfloat16(0.5f)));
    give(exact, 0.5f);
    optimizer.step();
    in_float.step();
  }
  CHECK_CLOSE(optimizer.state(0, optimizer.states()), reference(exact.value()), 1e-6);
  CHECK(exact.value().template to<Cpu>().data()[0] < 0.9999f);
}
}  // namespace

LOCUS_DEVICE_TEST("steps of new rules are one launch, may be skipped, and go on from a state", D) {
  using namespace optim;
  skips<D, NAdam>(NAdamOptions{.lr = 0.05, .weight_decay = 0.1}, {"exp_avg", "exp_avg_sq"});
  skips<D, RAdam>(RAdamOptions{.lr = 0.05, .beta2 = 0.9}, {"exp_avg", "exp_avg_sq"});
  skips<D, Adamax>(AdamaxOptions{.lr = 0.05}, {"exp_avg", "exp_inf"});
  skips<D, ASGD>(ASGDOptions{.lr = 0.05, .t0 = 3}, {"ax"});
  skips<D, Rprop>(RpropOptions{.lr = 0.05}, {"prev", "step_size"});
}

LOCUS_DEVICE_TEST("small steps of new rules add up for 16 bits", D) {
  using namespace optim;
  adds_up<D, NAdam>(NAdamOptions{.lr = 1e-4});
  adds_up<D, RAdam>(RAdamOptions{.lr = 1e-4});
  adds_up<D, Adamax>(AdamaxOptions{.lr = 1e-4});
  adds_up<D, ASGD>(ASGDOptions{.lr = 1e-4});
  adds_up<D, Rprop>(RpropOptions{.lr = 1e-5, .etaplus = 1.01});
}

TEST_CASE("the momenta of NAdam have a product for any number of steps") {
  for (const double decay : {0.0, 0.004, 1.0, 300.0}) {
    CAPTURE(decay);
    const optim::detail::NAdamCorrections corrections{0.99, 0.999, decay};
    double product = 1;
    for (std::int64_t step = 1; step <= 3000; ++step) {
      const auto momentum = [&](double t) { return 0.99 * (1 - 0.5 * std::pow(0.96, t * decay)); };
      const double mu = momentum(static_cast<double>(step)), next = momentum(static_cast<double>(step + 1));
      product *= mu;
      const auto found = corrections.of_step<double>(step);
      REQUIRE(found.first == doctest::Approx((1 - mu) / (1 - product)).epsilon(1e-12));
      REQUIRE(found.second == doctest::Approx(next / (1 - product * next)).epsilon(1e-12));
    }
  }
}

TEST_CASE("the state of ASGD is the mean of the values after t0 steps") {
  const Parameter<double> w(ones<double>({2}));
  optim::ASGD optimizer{std::vector{w}, {.lr = 0.1, .lambd = 0, .t0 = 2}};
  double mean = 0;
  for (int step = 1; step <= 6; ++step) {
    give(w, full<double>({2}, 1));
    optimizer.step();
    // Until step 4, its weight is 1; then 1/2, 1/3.
    const double weight = step <= 4 ? 1 : 1.0 / (step - 3);
    mean += weight * (w.value().data()[0] - mean);
    CHECK(optimizer.state(0, 0).data()[0] == doctest::Approx(mean).epsilon(1e-12));
  }
}

TEST_CASE("an element of Rprop waits where its sign changes, and moves by the rate of its group first") {
  const auto w = two<Cpu>(1, 1);
  optim::Rprop optimizer{{optim::Group{std::vector{w}, {.lr = 0.25}}}, {.lr = 0.5}};
  give(w, tensor<float, Cpu>({2}, {2, -1e-3}));
  optimizer.step();
  CHECK_CLOSE(w.value(), {0.75, 1.25});
  give(w, tensor<float, Cpu>({2}, {1, 1}));
  optimizer.step();
  CHECK_CLOSE(w.value(), {0.75 - 0.3, 1.25}, 1e-6);
  give(w, tensor<float, Cpu>({2}, {0, 1}));
  optimizer.step();
  CHECK_CLOSE(w.value(), {0.45, 1.25 - 0.125}, 1e-6);
}

TEST_CASE("new rules refuse options out of range") {
  using namespace optim;
  const std::vector parameters{Parameter(ones({2}))};
  CHECK_THROWS_WITH_AS((NAdam{parameters, {.momentum_decay = -1}}), doctest::Contains("momentum_decay is -1"),
                       ArgumentError);
  CHECK_THROWS_AS((NAdam{parameters, {.beta2 = 1}}), ArgumentError);
  CHECK_THROWS_AS((RAdam{parameters, {.beta1 = -0.5}}), ArgumentError);
  CHECK_THROWS_AS((Adamax{parameters, {.eps = -1}}), ArgumentError);
  CHECK_THROWS_WITH_AS((ASGD{parameters, {.lambd = -1}}), doctest::Contains("lambd is -1"), ArgumentError);
  CHECK_THROWS_AS((ASGD{parameters, {.t0 = -1}}), ArgumentError);
  CHECK_THROWS_WITH_AS((Rprop{parameters, {.etaminus = 1}}),
                       doctest::Contains("etaminus is 1; expected between 0 and 1"), ArgumentError);
  CHECK_THROWS_AS((Rprop{parameters, {.etaplus = 1}}), ArgumentError);
  CHECK_THROWS_WITH_AS((Rprop{parameters, {.step_size_min = 60}}), doctest::Contains("step_size_min is 60"),
                       ArgumentError);
}
