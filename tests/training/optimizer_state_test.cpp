// Runs on: host, cuda (models).
#include <locus/optim/adam.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/random.hpp>
#include <locus/training/optimizer_state.hpp>

#include <optim/recorded.hpp>

using namespace locus;
using namespace locus_test;

namespace {
/// Compares a training resumed from a saved state with an uninterrupted one.
template <class T, class D, class Make>
void check_goes_on(const Make& make, bool skips) {
  CAPTURE(skips);
  Generator<D> numbers{6};
  const std::vector parameters{Parameter(rand<float, D>({3, 4}, numbers).template as<T>()),
                               Parameter(rand<float, D>({5}, numbers).template as<T>())};
  const auto step = [&](auto& optimizer, const std::vector<Parameter<T, D>>& of, std::uint64_t seed) {
    Generator<D> gradients{seed};
    for (std::size_t i = 0; i < 2; ++i)
      if (i == 0 || seed > 1) give(of[i], rand<float>(of[i].shape(), gradients).eval().template as<T>());
    if (skips) optimizer.step(full<bool, D>({}, seed == 3));
    else optimizer.step();
  };
  auto first = make(parameters);
  for (std::uint64_t seed = 1; seed < 5; ++seed) step(first, parameters, seed);
  first.set_lr(0.02);
  const auto saved = optim::state_dict(first).clone();
  const std::vector copies{parameters[0].clone(), parameters[1].clone()};
  auto second = make(copies);
  if (skips) step(second, copies, 3);  // counts on the device, too
  optim::load_state_dict(second, saved);
  CHECK(second.steps() == first.steps());
  CHECK(second.groups()[1].lr() == first.groups()[1].lr());
  for (std::uint64_t seed = 5; seed < 9; ++seed) {
    step(first, parameters, seed);
    step(second, copies, seed);
    for (std::size_t i = 0; i < 2; ++i) CHECK(same_bits(parameters[i].value(), copies[i].value()));
  }
}
}  // namespace

LOCUS_DEVICE_TEST("an optimizer goes on from a saved state bit for bit", D) {
  const auto adam = [](const auto& p) {
    using T = value_of<decltype(p[0])>;
    return optim::AdamW<T, D>{{{{p[0]}, {.weight_decay = 0.5}}, {{p[1]}, {.lr = 0.03}}}, {.lr = 0.1}};
  };
  const auto sgd = [](const auto& p) {
    using T = value_of<decltype(p[0])>;
    return optim::Sgd<T, D>{{{{p[0]}}, {{p[1]}, {.lr = 0.03}}}, {.lr = 0.1, .momentum = 0.9, .dampening = 0.5}};
  };
  check_goes_on<float, D>(adam, false);
  check_goes_on<float, D>(sgd, true);
  check_goes_on<bfloat16, D>(adam, true);
}

TEST_CASE("a state has PyTorch's names, and shares the optimizer's memory") {
  const Parameter w(ones({2}));
  optim::Adam optimizer{std::vector{w}, {.lr = 0.5}};
  give(w, full({2}, 2.f));
  const auto state = state_dict(optimizer);
  optimizer.step();
  CHECK_CLOSE(state.get<float>("state.0.exp_avg"), {0.2, 0.2});
  CHECK_CLOSE(state.get<float>("state.0.exp_avg_sq"), {0.004, 0.004});
  CHECK(state.get<std::int64_t>("state.0.step").item() == 0);
  CHECK(optimizer.steps() == std::vector<std::int64_t>{1});
  CHECK(state.get<double>("lr").item() == 0.5);
  CHECK(state.get<double>("param_groups.0.weight_decay").item() == 0);
  CHECK(state.size() == 6);
  const Parameter small(full<bfloat16>({2}, bfloat16(1.f)));
  optim::Sgd plain{std::vector{small}, {}};
  CHECK(state_dict(plain).contains("state.0.master"));
  CHECK_FALSE(state_dict(plain).contains("state.0.momentum_buffer"));
}

TEST_CASE("a state that does not fit changes nothing") {
  const Parameter w(ones({2})), v(ones({3}));
  optim::Adam of_w{std::vector{w}, {.lr = 0.5}}, of_v{std::vector{v}, {.lr = 0.1}};
  optim::Sgd sgd{std::vector{w}, {.momentum = 0.5}};
  CHECK_THROWS_WITH_AS(load_state_dict(of_v, state_dict(of_w)), doctest::Contains("(3,)"), ShapeError);
  CHECK_THROWS_WITH_AS(load_state_dict(sgd, state_dict(of_w)), doctest::Contains("momentum_buffer"), ArgumentError);
  optim::Sgd plain{std::vector{w}, {.lr = 0.1}};
  CHECK_THROWS_WITH_AS(load_state_dict(plain, state_dict(of_w)), doctest::Contains("'state.0.exp_avg'"), ArgumentError);
  optim::Sgd of_both{std::vector{w, v}, {.lr = 0.3}};
  CHECK_THROWS_WITH_AS(load_state_dict(plain, state_dict(of_both)), doctest::Contains("1 parameters in 1 groups lacks"),
                       ArgumentError);
  CHECK(plain.lr() == 0.1);
  const Parameter small(full<bfloat16>({2}, bfloat16(1.f)));
  const optim::Adam of_small{std::vector{small}, {.lr = 0.2}};
  load_state_dict(of_w, state_dict(of_small));  // float has no masters
  CHECK(of_w.lr() == 0.2);
  CHECK(of_v.lr() == 0.1);
  CHECK_THROWS_AS(of_w.set_steps({1, 2}), ShapeError);
  CHECK_THROWS_WITH_AS(of_w.set_steps({-5}), doctest::Contains("-5 steps"), ArgumentError);
  auto negative = state_dict(of_w).clone();
  negative.erase("state.0.step"), negative.erase("lr");
  negative.add("state.0.step", full<std::int64_t>({}, -5)), negative.add("lr", full<double>({}, 7));
  const auto rate = of_w.lr();
  CHECK_THROWS_AS(load_state_dict(of_w, negative), ArgumentError);
  CHECK(of_w.lr() == rate);
  CHECK_THROWS_AS((void)of_w.state(0, 2), IndexError);
  CHECK_THROWS_AS((void)of_w.state(1, 0), IndexError);
}
