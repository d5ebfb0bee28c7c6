// Runs on: host, cuda (optimizers); counting.
// Optimizers whose steps are not elementwise: Muon, Adafactor, LBFGS, and SAM around another one.

#include <locus/ops/join.hpp>
#include <locus/optim/adafactor.hpp>
#include <locus/optim/lbfgs.hpp>
#include <locus/optim/muon.hpp>
#include <locus/optim/sam.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/tensor/random.hpp>
#include <locus/training/optimizer_state.hpp>

#include <optim/trajectory.hpp>  // chooses the devices

#include <optim/recorded.hpp>
#include <support/launches.hpp>

#include <string>

using namespace locus;
using namespace locus_test;

namespace {

/// PyTorch's numbers of make_whole_steps.py.
const Reference& of_pytorch(const std::string& name) {
  static const auto all = [] {
    golden::detail::Numbers numbers;
    golden::detail::read(golden::folder() + "whole_steps.txt", numbers);
    return numbers;
  }();
  return all.at(name);
}
template <class T, class D>
Tensor<T, D> numbers(const std::string& name) {
  return tensor<T, D>(*of_pytorch(name).shape, of_pytorch(name).values);
}

template <class T, class D>
struct Run {
  std::vector<std::string> shapes;
  std::vector<Parameter<T, D>> parameters{};
  explicit Run(std::vector<std::string> of) : shapes(std::move(of)) {
    for (const auto& shape : shapes) parameters.emplace_back(numbers<T, D>("start_" + shape));
  }
  /// Gives the gradients of a step.
  void give(int step) const {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto& p = parameters[i];
      locus_test::give(p, Tensor<T, D>(numbers<T, D>("gradients_" + shapes[i]).select(0, step) + p.value() * T(0.15)));
    }
  }
  template <class Optimizer>
  void follows(const std::string& name, Optimizer& optimizer, double allowed) const {
    CAPTURE(name);
    for (int step = 0; step < 8; ++step) {
      CAPTURE(step);
      give(step);
      optimizer.step();
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        const auto values = numbers<double, D>(name + "_" + shapes[i]);
        CHECK_CLOSE(parameters[i].value(), reference(values.select(0, step)), allowed);
      }
    }
  }
};

template <class Optimizer, class D = device_of<Optimizer>>
void continues_from_its_state(const std::vector<std::string>& shapes) {
  Run<float, D> run(shapes), again(shapes);
  Optimizer first(run.parameters), second(again.parameters);
  for (int step = 0; step < 3; ++step) run.give(step), first.step();
  for (std::size_t i = 0; i < shapes.size(); ++i) again.parameters[i].value().copy_(run.parameters[i].value());
  optim::load_state_dict(second, optim::state_dict(first));
  for (int step = 3; step < 6; ++step) {
    run.give(step), first.step();
    again.give(step), second.step();
    for (std::size_t i = 0; i < shapes.size(); ++i)
      CHECK(same_bits(run.parameters[i].value(), again.parameters[i].value()));
  }
}

}  // namespace

LOCUS_DEVICE_TEST("Muon is PyTorch's with products in float64", D) {
  const auto follows = [](const std::string& name, const optim::MuonOptions& options) {
    const Run<double, D> run({"wide", "tall"});
    optim::Muon optimizer{run.parameters, options};
    run.follows(name, optimizer, 1e-9);
  };
  follows("muon", {.lr = 0.02});
  follows("muon_matched", {.lr = 0.05,
                           .weight_decay = 0.3,
                           .momentum = 0.8,
                           .nesterov = false,
                           .ns_steps = 3,
                           .adjust_lr = optim::MuonRate::match_rms_adamw});
  follows("muon_spectral", {.lr = 0.05,
                            .weight_decay = 0,
                            .ns_a = 2,
                            .ns_b = -1.5,
                            .ns_c = 0.5,
                            .adjust_lr = optim::MuonRate::spectral_unclamped});
  // In float, and beside PyTorch's own products of bfloat16.
  const Run<float, D> run({"wide", "tall"}), rounded({"wide", "tall"});
  optim::Muon optimizer{run.parameters, {.lr = 0.02}}, other{rounded.parameters, {.lr = 0.02}};
  run.follows("muon", optimizer, 1e-5);
  rounded.follows("muon_bfloat16", other, 4e-3);
}

LOCUS_DEVICE_TEST("Muon continues from its state, skips steps, and keeps master weights", D) {
  using Optimizer = optim::Muon<float, D>;
  continues_from_its_state<Optimizer>({"wide", "tall"});

  const Run<float, D> run({"wide"});
  Optimizer optimizer(run.parameters);
  run.give(0);
  const auto before = run.parameters[0].value().clone();
  optimizer.step(tensor<bool, D>({}, {1}));
  CHECK(same_bits(run.parameters[0].value(), before));
  optimizer.step(tensor<bool, D>({1}, {0}));
  CHECK(optimizer.steps()[0] == 1);
  CHECK_FALSE(same_bits(run.parameters[0].value(), before));

  // Steps of 4e-4 are lost in bfloat16, but not in the master weight.
  const Parameter<bfloat16, D> w(ones<bfloat16, D>({4, 4}));
  optim::Muon fine{std::vector{w}, {.lr = 4e-4, .weight_decay = 0}};
  for (int step = 0; step < 100; ++step) {
    give(w, Tensor<bfloat16, D>(w.value() * bfloat16(0.1f)));
    fine.step();
  }
  CHECK(fine.state(0, 1).template to<Cpu>().data()[0] < 0.999f);
  CHECK(static_cast<float>(w.value().template to<Cpu>().data()[0]) < 1);
}

TEST_CASE("Muon refuses parameters that are no matrices, and options out of range") {
  const std::vector<Parameter<float>> bias{Parameter<float>(ones({3, 2})), Parameter<float>(ones({3}))};
  CHECK_THROWS_WITH_AS((optim::Muon{bias}), doctest::Contains("Muon: parameter 1 has shape (3,); expected two"),
                       ShapeError);
  const std::vector<Parameter<float>> weights{Parameter<float>(ones({3, 2}))};
  const auto refuses = [&](const char* option, const optim::MuonOptions& options) {
    CHECK_THROWS_WITH_AS((optim::Muon{weights, options}), doctest::Contains(option), ArgumentError);
  };
  refuses("learning rate is -1", {.lr = -1});
  refuses("momentum is 2; expected 0 to 1", {.momentum = 2});
  refuses("ns_steps is 100; expected 1 to 99", {.ns_steps = 100});
  refuses("weight_decay is -1", {.weight_decay = -1});
  refuses("eps is -1", {.eps = -1});
}

LOCUS_DEVICE_TEST("Adafactor is PyTorch's", D) {
  const std::vector<std::string> shapes{"wide", "tall", "vector", "cube"};
  const optim::AdafactorOptions options{
      .lr = 0.3, .beta2_decay = -0.5, .eps1 = 1e-3, .eps2 = 0.5, .d = 1.5, .weight_decay = 0.1, .maximize = true};
  const Run<double, D> run(shapes), other(shapes);
  optim::Adafactor optimizer{run.parameters, optim::AdafactorOptions{}}, with_options{other.parameters, options};
  run.follows("adafactor", optimizer, 1e-9);
  other.follows("adafactor_options", with_options, 1e-9);
  const Run<float, D> in_float(shapes);
  optim::Adafactor of_float{in_float.parameters, options};
  in_float.follows("adafactor_options", of_float, 1e-5);

  CHECK(of_float.state(0, 0).shape() == Shape{3, 1});
  CHECK(of_float.state(3, 1).shape() == Shape{2, 1, 4});
  CHECK(of_float.state(2, 2).shape() == Shape{4});
  CHECK(of_float.state(2, 0).elements() == 0);
  CHECK(std::string(of_float.state_name(1)) == "col_var");
  CHECK_THROWS_AS((void)of_float.state_name(3), IndexError);
  CHECK_THROWS_AS((void)of_float.state(0, 3), IndexError);
  CHECK_THROWS_AS((void)of_float.state(4, 0), IndexError);
  CHECK_THROWS_WITH_AS((optim::Adafactor{in_float.parameters, {.beta2_decay = 0.5}}),
                       doctest::Contains("beta2_decay is 0.5; expected a finite number of 0 or less"), ArgumentError);
  CHECK_THROWS_AS((optim::Adafactor{in_float.parameters, {.d = 0.5}}), ArgumentError);
}

LOCUS_DEVICE_TEST("Adafactor continues from its state, and keeps master weights", D) {
  continues_from_its_state<optim::Adafactor<float, D>>({"wide", "vector"});
  const Parameter<bfloat16, D> w(ones<bfloat16, D>({4, 4}));
  optim::Adafactor fine{std::vector{w}, {.lr = 1e-4}};
  for (int step = 0; step < 100; ++step) {
    give(w, Tensor<bfloat16, D>(w.value() * bfloat16(0.1f)));
    fine.step();
  }
  CHECK(fine.state(0, 3).template to<Cpu>().data()[0] == doctest::Approx(0.99).epsilon(1e-4));
}

namespace {
/// Sum over pairs of elements of Rosenbrock's function of two parameters.
template <class T, class D>
auto rosenbrock(const Parameter<T, D>& a, const Parameter<T, D>& b) {
  const auto part = [](const auto& p) {
    const auto pairs = trace(p).reshape({p.elements() / 2, 2});
    const auto x = pairs.select(1, 0), y = pairs.select(1, 1);
    return sum(T(100) * square(y - square(x)) + square(T(1) - x));
  };
  return part(a) + part(b);
}
template <class T, class D>
struct Valley {
  Parameter<T, D> a{numbers<T, D>("start_vector")}, b{numbers<T, D>("start_tall")};
  template <class Optimizer>
  auto closure(Optimizer& optimizer) const {
    return [this, &optimizer] {
      optimizer.zero_grad();
      const auto loss = rosenbrock(a, b);
      loss.backward();
      return loss;
    };
  }
};
}  // namespace

LOCUS_DEVICE_TEST("LBFGS is PyTorch's, with and without a line search", D) {
  const auto follows = [](const std::string& name, const optim::LBFGSOptions& options) {
    CAPTURE(name);
    const Valley<double, D> valley;
    optim::LBFGS optimizer{std::vector{valley.a, valley.b}, options};
    const auto losses = of_pytorch("lbfgs_" + name + "_losses").values;
    for (std::size_t step = 0; step < losses.size(); ++step) {
      CAPTURE(step);
      const auto of_step = [&](const char* of) {
        return reference(numbers<double, D>("lbfgs_" + name + of).select(0, static_cast<std::int64_t>(step)));
      };
      CHECK(optimizer.step(valley.closure(optimizer)) == doctest::Approx(losses[step]).epsilon(1e-7));
      CHECK_CLOSE(valley.a.value(), of_step("_vector"), 1e-7);
      CHECK_CLOSE(valley.b.value(), of_step("_tall"), 1e-7);
    }
  };
  using optim::LineSearch;
  follows("wolfe", {.max_iter = 5, .line_search = LineSearch::strong_wolfe});
  follows("wolfe_short", {.max_iter = 4, .history_size = 2, .line_search = LineSearch::strong_wolfe});
  follows("wolfe_few", {.lr = 0.5, .max_iter = 8, .max_eval = 9, .line_search = LineSearch::strong_wolfe});
  follows("plain", {.lr = 0.1, .max_iter = 3, .history_size = 3});
}

LOCUS_DEVICE_TEST("LBFGS finds a minimum in float, and then stays", D) {
  const Valley<float, D> valley;
  optim::LBFGS optimizer{std::vector{valley.a, valley.b},
                         {.max_iter = 100, .line_search = optim::LineSearch::strong_wolfe}};
  for (int i = 0; i < 5; ++i) (void)optimizer.step(valley.closure(optimizer));
  CHECK(rosenbrock(valley.a, valley.b).item() < 1e-5f);
  const auto before = optimizer.steps();
  const auto values = valley.a.value().clone();
  (void)optimizer.step(valley.closure(optimizer));
  CHECK(optimizer.steps()[0] <= before[0] + 2);
  CHECK_CLOSE(valley.a.value(), reference(values), 1e-2);
}

TEST_CASE("LBFGS goes on after a closure that threw, as if its step had not been, and saves its state") {
  const optim::LBFGSOptions options{.max_iter = 4, .line_search = optim::LineSearch::strong_wolfe};
  const Valley<double, Cpu> valley;
  optim::LBFGS optimizer{std::vector{valley.a, valley.b}, options};
  const auto closure = valley.closure(optimizer);
  for (int i = 0; i < 2; ++i) (void)optimizer.step(closure);
  const auto a = valley.a.value().clone(), b = valley.b.value().clone();
  int calls = 0;
  CHECK_THROWS_AS((void)optimizer.step([&] {
    if (++calls == 2) throw std::runtime_error("no data");
    return closure();
  }),
                  std::runtime_error);
  CHECK(same_bits(valley.a.value(), a));
  CHECK(same_bits(valley.b.value(), b));

  // The history took up a pair before the closure threw: a state that was saved then has it, too.
  const Valley<double, Cpu> other;
  optim::LBFGS restored{std::vector{other.a, other.b}, options};
  optim::load_state_dict(restored, optim::state_dict(optimizer));
  other.a.value().copy_(a);
  other.b.value().copy_(b);
  CHECK(optimizer.step(closure) == restored.step(other.closure(restored)));
  CHECK_CLOSE(other.a.value(), reference(valley.a.value()), 1e-9);
  const double before = rosenbrock(valley.a, valley.b).item();
  for (int i = 0; i < 60; ++i) CHECK(optimizer.step(closure) <= before);
  CHECK(rosenbrock(valley.a, valley.b).item() < 1e-6);
}

LOCUS_DEVICE_TEST("LBFGS continues from its state", D) {
  // The history is full, and has turned round.
  const optim::LBFGSOptions options{.max_iter = 3, .history_size = 2, .line_search = optim::LineSearch::strong_wolfe};
  const Valley<double, D> one, two;
  optim::LBFGS first{std::vector{one.a, one.b}, options}, second{std::vector{two.a, two.b}, options};
  for (int i = 0; i < 3; ++i) (void)first.step(one.closure(first));
  two.a.value().copy_(one.a.value());
  two.b.value().copy_(one.b.value());
  optim::load_state_dict(second, optim::state_dict(first));
  for (int i = 0; i < 3; ++i) {
    CHECK(first.step(one.closure(first)) == doctest::Approx(second.step(two.closure(second))).epsilon(1e-9));
    CHECK_CLOSE(one.a.value(), reference(two.a.value()), 1e-9);
  }
  first.set_steps({9, 9});
  (void)first.state(0, 7).fill_(6);
  CHECK_THROWS_WITH_AS((void)first.step(one.closure(first)), doctest::Contains("old_pairs is 6; expected 0 to 5"),
                       DataError);
  CHECK(std::string(first.state_name(2)) == "old_dirs.0");
  CHECK(first.states() == 8);
  CHECK_THROWS_AS((void)first.state_name(8), IndexError);
  CHECK_THROWS_AS((void)first.state(2, 0), IndexError);
  CHECK_THROWS_WITH_AS(first.set_steps({1, 2}), doctest::Contains("expected the same for all"), ArgumentError);
}

TEST_CASE("the two loops of LBFGS are a constant number of launches, whatever the history") {
  const Valley<double, Counting> valley;
  optim::LBFGS optimizer{std::vector{valley.a, valley.b}, {.lr = 1e-3, .max_iter = 1}};
  const auto closure = valley.closure(optimizer);
  const auto launches = [&] {
    std::int64_t of_closure = 0;
    {
      const LaunchLog log;
      (void)closure();
      of_closure = log.launches();
    }
    const LaunchLog log;
    (void)optimizer.step(closure);
    return log.launches() - of_closure;
  };
  (void)launches();
  const auto with_one_pair = launches();
  for (int i = 0; i < 9; ++i) CHECK(launches() == with_one_pair);
  CHECK(with_one_pair <= 12);
}

TEST_CASE("LBFGS refuses a closure without gradients, and options out of range") {
  const std::vector<Parameter<float>> w{Parameter<float>(ones({3}))};
  optim::LBFGS optimizer{w};
  CHECK_THROWS_WITH_AS((void)optimizer.step([] { return 1.0; }), doctest::Contains("no parameter has a gradient"),
                       GraphError);
  const auto refuses = [&](const char* option, const optim::LBFGSOptions& options) {
    CHECK_THROWS_WITH_AS((optim::LBFGS{w, options}), doctest::Contains(option), ArgumentError);
  };
  refuses("learning rate is -1", {.lr = -1});
  refuses("max_iter is 0; expected 1 or more", {.max_iter = 0});
  refuses("max_eval is -1", {.max_eval = -1});
  refuses("history_size is 0; expected 1 to 10000", {.history_size = 0});
  refuses("tolerance_grad is -1", {.tolerance_grad = -1});
}

TEST_CASE("optimizers that were moved from say so, and others count the bytes of their state") {
  const std::vector<Parameter<float>> w{Parameter<float>(ones({6, 4})), Parameter<float>(ones({3, 2}))};
  const auto says_so = [](auto optimizer, const auto& step) {
    const auto taken = std::move(optimizer);
    CHECK_THROWS_WITH(step(optimizer), doctest::Contains("moved"));
    CHECK_THROWS_WITH((void)optim::state_dict(optimizer), doctest::Contains("moved"));
    return taken.states();
  };
  says_so(optim::Muon{w}, [](auto& o) { o.step(); });
  says_so(optim::Adafactor{w}, [](auto& o) { o.step(); });
  says_so(optim::LBFGS{w}, [](auto& o) { (void)o.step([] { return 0; }); });
  CHECK(optim::Adafactor{w}.state_bytes() == 4 * (6 + 4 + 3 + 2));
  CHECK(optim::LBFGS{w, {.history_size = 2}}.state_bytes() == 4 * 7 * (32 + 16));
}

LOCUS_DEVICE_TEST("SAM steps by the gradients of the worst point nearby", D) {
  const auto follows = [](const std::string& name, const optim::SAMOptions& options) {
    CAPTURE(name);
    const Run<double, D> run({"vector", "tall"});
    optim::Sgd sgd{run.parameters, {.lr = 0.01, .momentum = 0.9}};
    optim::SAM sam{sgd, options};
    for (int step = 0; step < 8; ++step) {
      CAPTURE(step);
      const auto loss = sam.step([&] {
        sam.zero_grad();
        const auto of = [&](std::size_t i) {
          const auto x = trace(run.parameters[i]);
          return sum(square(square(x)) + x * numbers<double, D>("gradients_" + run.shapes[i]).select(0, step));
        };
        const auto both = of(0) + of(1);
        both.backward();
        return both;
      });
      CHECK(loss.item() == loss.item());
      const auto all = concat(0, run.parameters[0].value(), run.parameters[1].value().reshape({12}));
      CHECK_CLOSE(all, reference(numbers<double, D>(name).select(0, step)), 1e-9);
    }
  };
  follows("sam", {.rho = 0.1});
  follows("asam", {.rho = 0.8, .adaptive = true});
}

TEST_CASE("SAM restores the weights if the closure throws, and refuses steps out of order") {
  const Parameter<float> w(ones({3}));
  optim::Sgd sgd{std::vector{w}, {.lr = 0.1}};
  optim::SAM sam{sgd};
  int calls = 0;
  CHECK_THROWS_AS((void)sam.step([&] {
    give(w, 1.f);
    if (++calls == 2) throw std::runtime_error("no data");
    return 0;
  }),
                  std::runtime_error);
  CHECK_CLOSE(w.value(), {1, 1, 1});
  CHECK_THROWS_WITH_AS(sam.second_step(), doctest::Contains("without first_step()"), GraphError);
  sam.first_step();
  CHECK(w.value().data()[0] > 1);
  CHECK_THROWS_WITH_AS(sam.first_step(), doctest::Contains("first_step() twice"), GraphError);
  sam.second_step();
  CHECK_CLOSE(w.value(), {0.9, 0.9, 0.9}, 1e-6);
  CHECK_THROWS_WITH_AS((optim::SAM{sgd, {.rho = -1}}), doctest::Contains("rho is -1"), ArgumentError);
  CHECK(sam.lr() == 0.1);
  CHECK(&sam.optimizer() == &sgd);
}
