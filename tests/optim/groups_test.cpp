// Runs on: host, cuda (optimizers).
#include <locus/autograd/flat.hpp>
#include <locus/optim/adam.hpp>
#include <locus/optim/clip.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/random.hpp>

#include <optim/recorded.hpp>

#include <cmath>

using namespace locus;
using namespace locus_test;

namespace {
template <class T, class D>
void check_recorded_groups(bool flat_first) {
  CAPTURE(flat_first);
  {
    Recorded<T, D> run;
    if (flat_first) (void)flatten(std::vector{run.w, run.b});
    optim::AdamW optimizer{{optim::Group{std::vector{run.w}, {.weight_decay = 0.3}},
                            optim::Group{std::vector{run.b}, {.weight_decay = 0}}},
                           {.lr = 0.05}};
    run.check("groups_adamw", [&](int) { optimizer.step(); });
  }
  {
    Recorded<T, D> run{"rules"};
    if (flat_first) (void)flatten(std::vector{run.w, run.b});
    optim::AdamW<T, D> optimizer{{{{run.w}, {.weight_decay = 0.3}}, {{run.b}, {.lr = 0.01}}},
                                 {.lr = 0.05, .maximize = true}};
    run.check("maximize_groups", [&](int) { optimizer.step(); });
  }
  Recorded<T, D> run;
  if (flat_first) (void)flatten(std::vector{run.w, run.b});
  optim::Sgd<T, D> optimizer{{{{run.w}, {.weight_decay = 0.2}}, {{run.b}, {.lr = 0.01}}}, {.lr = 0.1, .momentum = 0.9}};
  run.check("groups_sgd", [&](int step) {  // StepLR: half the rates every three steps
    if (step > 0 && step % 3 == 0) optimizer.set_lr(optimizer.lr() / 2);
    optimizer.step();
  });
}

/// `count` groups with interleaved parameters in memory, against an optimizer for each group; `launches` launches a
/// step.
template <class D, template <class, class> class Optimizer, class Options>
void check_taking_turns(int count, bool flat_first, std::int64_t launches, const Options& options) {
  CAPTURE(count);
  Generator<D> numbers{3};
  std::vector<Parameter<float, D>> all, alone;
  std::vector<optim::Group<float, D>> groups;
  std::vector<Optimizer<float, D>> optimizers;
  for (int i = 0; i < 3 * count; ++i) {
    all.emplace_back(rand<float>({i % 5 + 15}, numbers));
    alone.push_back(all.back().clone());
  }
  if (flat_first) (void)flatten(all);
  for (int g = 0; g < count; ++g) {
    std::vector<Parameter<float, D>> members, others;
    for (int i = g; i < 3 * count; i += count) {
      members.push_back(all[static_cast<std::size_t>(i)]);
      others.push_back(alone[static_cast<std::size_t>(i)]);
    }
    const double lr = 0.01 * (g + 1), decay = 0.001 * g;
    groups.push_back({members, {.lr = lr, .weight_decay = decay}});
    Options own = options;
    own.lr = lr;
    own.weight_decay = decay;
    optimizers.emplace_back(others, own);
  }
  Optimizer<float, D> grouped(groups, options);
  for (int step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto gradient = rand<float>(all[i].shape(), numbers);
      give(all[i], gradient);
      give(alone[i], gradient);
    }
    for (auto& each : optimizers) each.step();
    if (step == 2) {
      const LaunchLog log;
      grouped.step();
      CHECK(log.launches() == launches);
    } else {
      grouped.step();
    }
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(same_bits(all[i].value(), alone[i].value()));
  }
}
}  // namespace

LOCUS_DEVICE_TEST("groups follow PyTorch's", D) {
  check_recorded_groups<double, D>(false);
  check_recorded_groups<double, D>(true);
  check_recorded_groups<float, D>(false);
}

LOCUS_DEVICE_TEST("clipped steps follow PyTorch's", D) {
  Recorded<double, D> run;
  optim::Adam optimizer{{run.w, run.b}, {.lr = 0.05}};
  run.check("clipped", [&](int) {
    (void)optim::clip_grad_norm_(optimizer.parameters(), 0.5);
    optimizer.step();
  });
}

LOCUS_DEVICE_TEST("groups in one memory step as optimizers of their own, in one launch for each at most", D) {
  check_taking_turns<D, optim::AdamW>(2, true, 1, optim::AdamWOptions{});
  check_taking_turns<D, optim::AdamW>(2, true, 1, optim::AdamWOptions{.maximize = true});
  check_taking_turns<D, optim::AdamW>(2, false, 2, optim::AdamWOptions{});  // laid out by groups
  check_taking_turns<D, optim::Sgd>(3, true, 1, optim::SgdOptions{.momentum = 0.5, .dampening = 0.25});
  check_taking_turns<D, optim::Adam>(20, true, 2, optim::AdamOptions{});
}

TEST_CASE("groups keep the ratio of their learning rate to the optimizer's") {
  const Parameter a(ones({2})), b(ones({2}));
  optim::Sgd optimizer{{optim::Group{std::vector{a}}, optim::Group{std::vector{b}, {.lr = 0.01}}}, {.lr = 0.1}};
  const auto groups = optimizer.groups();
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].lr() == 0.1);
  CHECK(groups[1].lr() == 0.01);
  CHECK(optimizer.lr() == 0.1);
  CHECK(groups[1].parameters()[0] == b);
  optimizer.set_lr(0.05);
  CHECK(groups[0].lr() == 0.05);
  CHECK(groups[1].lr() == doctest::Approx(0.005));
  optimizer.set_lr(0);  // a warm-up from 0
  CHECK(groups[1].lr() == 0);
  optimizer.set_lr(0.1);
  CHECK(groups[1].lr() == doctest::Approx(0.01));
  groups[1].set_lr(0.2);
  groups[1].set_weight_decay(1);
  CHECK(optimizer.lr() == 0.1);
  give(a, ones({2}));
  give(b, ones({2}));
  optimizer.step();
  CHECK_CLOSE(a.value(), {0.9, 0.9});
  CHECK_CLOSE(b.value(), {0.6, 0.6});
  optimizer.set_lr(0.2);
  CHECK(groups[1].lr() == doctest::Approx(0.4));
  CHECK(optimizer.parameters().size() == 2);
}

TEST_CASE("a list of parameters is one group") {
  const Parameter a(ones({2}));
  optim::AdamW optimizer{std::vector{a}, {.lr = 0.5}};
  REQUIRE(optimizer.groups().size() == 1);
  CHECK(optimizer.groups()[0].lr() == 0.5);
  CHECK(optimizer.groups()[0].weight_decay() == 0.01);
  optimizer.set_lr(0.25);
  CHECK(std::as_const(optimizer).groups()[0].lr() == 0.25);
}

TEST_CASE("groups refuse what makes no sense") {
  const Parameter a(ones({2})), b(ones({2}));
  using optim::Group, optim::Sgd;
  CHECK_THROWS_AS((Sgd{{Group{std::vector{a}}, Group{std::vector{a, b}}}, {}}), ArgumentError);
  CHECK_THROWS_WITH_AS((Sgd{{Group{std::vector{a}, {.lr = -1}}}, {}}), doctest::Contains("-1"), ArgumentError);
  CHECK_THROWS_AS((Sgd{{Group{std::vector{a}, {.weight_decay = NAN}}}, {}}), ArgumentError);
  CHECK_THROWS_AS((Sgd{std::vector<Group<float, Cpu>>{}, {}}), ArgumentError);
  std::vector<Group<float, Cpu>> many;
  for (int i = 0; i < 257; ++i) many.push_back({{Parameter(ones({1}))}});
  CHECK_THROWS_WITH_AS((Sgd{many, {}}), doctest::Contains("257"), ArgumentError);
  Sgd optimizer{{Group{std::vector{a}}, Group{std::vector{b}}}, {}};
  CHECK_THROWS_AS(optimizer.groups()[1].set_lr(-1), ArgumentError);
  CHECK_THROWS_AS(optimizer.groups()[1].set_weight_decay(INFINITY), ArgumentError);
  const std::vector apart{Group{std::vector{Parameter(Tensor<float, Counting>({2}, Counting{0}))}},
                          Group{std::vector{Parameter(Tensor<float, Counting>({2}, Counting{1}))}}};
  CHECK_THROWS_WITH_AS((Sgd{apart, {}}), doctest::Contains("counting:1"), DeviceError);
}

TEST_CASE("an optimizer is made of lists in braces, with a name and without") {
  const Parameter a(ones({2})), b(ones({1}));
  auto parameters = {a, b};
  const auto one = {a};
  auto groups = {optim::Group{one, {.lr = 0.5}}, optim::Group{{b}, {}}};
  const auto check = [&](const optim::Adam<float, Cpu>& optimizer, double lr) {
    CHECK((optimizer.parameters() == std::vector{a, b}));
    CHECK(optimizer.lr() == lr);
  };
  check(optim::Adam{{a, b}, {.lr = 1}}, 1);
  check(optim::Adam{parameters, {.lr = 1}}, 1);
  check(optim::Adam{std::as_const(parameters), {.lr = 1}}, 1);
  check(optim::Adam(parameters), optim::AdamOptions{}.lr);
  check(optim::Adam{std::move(parameters), {.lr = 1}}, 1);
  check(optim::Adam{groups, {.lr = 1}}, 1);
  check(optim::Adam{std::as_const(groups), {.lr = 1}}, 1);
  check(optim::Adam(groups), optim::AdamOptions{}.lr);
  CHECK(optim::Adam{groups, {.lr = 1}}.groups()[0].lr() == 0.5);
}
