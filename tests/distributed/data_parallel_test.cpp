// Runs on: host; race.
// A model on several places of one process. The host is one place, but has several replicas if it is named several
// times.

#include <locus/distributed/model/data_parallel.hpp>

#include <locus/autograd/checkpoint.hpp>
#include <locus/distributed/distributed.hpp>
#include <locus/nn/conv.hpp>
#include <locus/nn/dropout.hpp>
#include <locus/nn/embedding.hpp>
#include <locus/training/fit.hpp>

#include <doctest/doctest.h>

#include <support/data_parallel.hpp>
#include <support/thrown.hpp>

using namespace locus;
using namespace locus_test;

namespace {

const std::vector<Cpu> two(2), three(3);

/// Throws for a part that holds a negative number, and counts its calls.
struct Picky : nn::Layer<Picky, float, Cpu> {
  nn::Linear<float, Cpu> linear{4, 3};
  auto forward(const auto& x) const {
    if (min(x.value()).item() < 0) throw std::runtime_error("a negative number");
    return linear(x);
  }
  void members(const auto& visit) const { visit("linear", linear); }
};
/// Has a layer that no part uses, and one that only parts beginning with a positive number use.
struct Sparse : nn::Layer<Sparse, float, Cpu> {
  nn::Linear<float, Cpu> used{2, 2}, unused{2, 2};
  template <class X>
  auto forward(const X& x) const {
    if (x.value()(0, 0) > 0) return X(used(x));
    return X(x);
  }
  void members(const auto& visit) const { visit("used", used), visit("unused", unused); }
};
struct ToScalar : nn::Layer<ToScalar, float, Cpu> {
  nn::Linear<float, Cpu> linear{4, 3};
  auto forward(const auto& x) const { return sum(linear(x)); }
  void members(const auto& visit) const { visit("linear", linear); }
};

[[nodiscard]] Tensor<float> batch(std::int64_t rows) { return of_rank<float, Cpu>(1, {rows, 4}, Cpu{}); }

}  // namespace

TEST_CASE("results, gradients and training are those of the model alone") {
  for (const std::size_t places : {1u, 2u, 3u, 4u, 9u}) CHECK_NOTHROW(check_data_parallel(std::vector<Cpu>(places)));
}

TEST_CASE("the host is one place, and the model there is itself") {
  const auto model = perceptron(Cpu{});
  const dist::DataParallel parallel(model);
  CHECK(parallel.places().size() == 1);
  const auto named = parallel.named_parameters();
  CHECK(named[0].name == "0.weight");
  CHECK(named[0].parameter == model.parameters()[0]);
  CHECK(parallel(batch(3)).shape() == Shape{3, 3});
}

TEST_CASE("replicas keep weights channels-last; their values and gradients arrive in that order") {
  const nn::Conv2d<float, Cpu> model{3, 4, 2}, rows = model.clone();
  model.weight.channels_last_();
  const dist::DataParallel parallel(model, two);
  const auto images = of_rank<float, Cpu>(1, {4, 3, 5, 6}, Cpu{});
  optim::Sgd optimizer(parallel.parameters(), {.lr = 0.1}), other(rows.parameters(), {.lr = 0.1});
  for (int step = 0; step < 2; ++step) {
    optimizer.zero_grad(), other.zero_grad();
    sum(square(parallel(trace(images)))).backward();
    sum(square(rows(trace(images)))).backward();
    CHECK(model.weight.grad().is_channels_last());
    CHECK_NOTHROW(require_near("gradient", model.weight.grad(), rows.weight.grad(), 1e-4));
    optimizer.step(), other.step();
    CHECK_NOTHROW(require_near("prediction", parallel(images), rows(images), 1e-4));
  }
}

TEST_CASE("a list of integers goes through an embedding") {
  const nn::Sequential model{nn::Embedding<float, Cpu>{5, 3}, nn::Flatten{}, nn::Linear<float, Cpu>{6, 2}};
  const auto alone = model.clone();
  const dist::DataParallel parallel(model, two);
  const auto x = from<std::int64_t>({{0, 1}, {2, 3}, {4, 0}, {1, 1}, {0, 2}});
  const auto y = parallel(trace(x)), z = alone(trace(x));
  require_near("result", y.value(), z.value(), 1e-6);
  sum(square(y)).backward();
  sum(square(z)).backward();
  for (std::size_t i = 0; i < alone.parameters().size(); ++i)
    require_near("gradient", model.parameters()[i].grad(), alone.parameters()[i].grad(), 1e-5);
}

TEST_CASE("gradients add up over passes, and a graph that is retained goes back again") {
  const auto model = perceptron(Cpu{}), alone = model.clone();
  const dist::DataParallel parallel(model, three);
  const auto first = batch(5), second = batch(7);
  const auto loss = (sum(square(parallel(trace(first)))) + sum(parallel(trace(second)))).eval();
  loss.backward({.retain_graph = true});
  loss.backward();
  const auto wanted = (sum(square(alone(trace(first)))) + sum(alone(trace(second)))).eval();
  wanted.backward({.retain_graph = true});
  wanted.backward();
  for (std::size_t i = 0; i < alone.parameters().size(); ++i)
    require_near("gradient", model.parameters()[i].grad(), alone.parameters()[i].grad(), 1e-5);
  CHECK_THROWS_AS(loss.backward(), GraphError);
}

TEST_CASE("one model within another, and results that are not used") {
  const auto model = perceptron(Cpu{}), alone = model.clone();
  const nn::Linear<float, Cpu> head(3, 4);
  const nn::Linear<float, Cpu> other = head.clone();
  const dist::DataParallel parallel(model, two);
  (void)parallel(trace(batch(4)));  // a graph without a backward pass
  sum(parallel(head(parallel(trace(batch(4)))))).backward();
  sum(alone(other(alone(trace(batch(4)))))).backward();
  for (std::size_t i = 0; i < alone.parameters().size(); ++i)
    require_near("gradient", model.parameters()[i].grad(), alone.parameters()[i].grad(), 1e-5);
  require_near("gradient between", head.weight.grad(), other.weight.grad(), 1e-5);
}

TEST_CASE("parameters that are frozen in the model are frozen in its replicas") {
  const auto model = perceptron(Cpu{}), alone = model.clone();
  const dist::DataParallel parallel(model, three);
  for (const auto& [wanted, names] : {std::pair{false, "0"}, {true, "0.weight"}, {false, "2"}, {false, "*"}}) {
    model.requires_grad_(wanted, names), alone.requires_grad_(wanted, names);
    model.zero_grad(), alone.zero_grad();
    const auto result = sum(square(parallel(trace(batch(7))))).eval(),
               of_one = sum(square(alone(trace(batch(7))))).eval();
    CHECK(result.requires_gradient() == of_one.requires_gradient());
    if (!result.requires_gradient()) continue;
    result.backward();
    of_one.backward();
    for (std::size_t i = 0; i < alone.parameters().size(); ++i) {
      CHECK(model.parameters()[i].has_grad() == alone.parameters()[i].has_grad());
      if (alone.parameters()[i].has_grad())
        require_near("gradient", model.parameters()[i].grad(), alone.parameters()[i].grad(), 1e-5);
    }
  }
}

TEST_CASE("hooks are called once, with the gradient of all replicas") {
  const auto model = perceptron(Cpu{}), alone = model.clone();
  const dist::DataParallel parallel(model, three);
  int calls = 0;
  Tensor<float> seen;
  const auto hook = model.parameters()[2].on_gradient([&](const Tensor<float>& g) {
    ++calls;
    seen = g.clone();
  });
  sum(square(parallel(trace(batch(8))))).backward();
  sum(square(alone(trace(batch(8))))).backward();
  CHECK(calls == 1);
  require_near("seen", seen, alone.parameters()[2].grad(), 1e-5);
}

TEST_CASE("a parameter that some replicas use gets their gradients, and one that none uses gets none") {
  const Sparse model, alone = model.clone();
  const dist::DataParallel parallel(model, two);
  for (const bool is_first : {true, false}) {
    const auto x = from({{is_first ? 1.f : -1.f, 2.f}, {is_first ? -3.f : 3.f, 4.f}});
    parallel.zero_grad();
    alone.zero_grad();
    sum(parallel(variable(x))).backward();
    sum(alone(variable(x.slice(0, is_first ? 0 : 1, is_first ? 1 : 2)))).backward();
    require_near("gradient", model.used.weight.grad(), alone.used.weight.grad(), 1e-6);
    CHECK_FALSE(model.unused.weight.has_grad());
  }
}

TEST_CASE("a replica whose result needs no gradient does not take those of the replicas after it") {
  const Sparse model, alone = model.clone();
  const dist::DataParallel parallel(model, three);
  const auto x = from({{1.f, 2.f}, {-3.f, 4.f}, {5.f, 6.f}});
  sum(parallel(trace(x))).backward();
  (sum(alone(trace(x.slice(0, 0, 1)))) + sum(alone(trace(x.slice(0, 2, 3))))).eval().backward();
  require_near("gradient", model.used.weight.grad(), alone.used.weight.grad(), 1e-6);
}

TEST_CASE("what a replica throws arrives, and the next pass is sound") {
  const Picky model;
  const dist::DataParallel parallel(model, three);
  for (const std::int64_t row : {0, 3, 5}) {
    const Tensor<float> x = ones({6, 4});
    x.select(0, row).fill_(-1);
    CHECK(message_of<std::runtime_error>([&] { (void)parallel(trace(x)); }) == "a negative number");
    CHECK(message_of<std::runtime_error>([&] { (void)parallel(x); }) == "a negative number");
    CHECK(parallel(ones({6, 4})).shape() == Shape{6, 3});
  }
  auto y = parallel(trace(ones({6, 4})));
  model.linear.weight.value().fill_(0);
  CHECK_THROWS_AS(sum(y).backward(), StaleError);
  CHECK_FALSE(model.linear.weight.has_grad());
  sum(parallel(trace(ones({6, 4})))).backward();
  CHECK(model.linear.bias.grad()(0) == 6);
}

TEST_CASE("buffers of the model are those of replica 0, and replicas begin with them") {
  const nn::Sequential<float, Cpu> model{nn::BatchNorm1d<float, Cpu>{4}};
  const auto alone = model.clone();
  const dist::DataParallel parallel(model, two);
  const auto x = batch(6);
  for (int step = 0; step < 2; ++step) {
    (void)parallel(trace(x));
    (void)alone(trace(x.slice(0, 0, 3)));
    for (std::size_t i = 0; i < 2; ++i)
      require_near("buffer", model.buffers()[i].value<float>(), alone.buffers()[i].value<float>(), 1e-6);
    require_near("prediction", parallel(x), alone(x), 1e-5);
  }
}

TEST_CASE("random numbers of replicas follow from the seed, and differ") {
  const nn::Sequential<float, Cpu> model{nn::Dropout{0.5}};
  const dist::DataParallel parallel(model, two);
  const Tensor<float> x = ones({2, 200});
  const auto drawn = [&] {
    manual_seed(5);
    return parallel(trace(x)).value();
  };
  const Tensor<float> a = drawn(), b = drawn(), c = parallel(trace(x)).value();
  const auto equal = [](const Tensor<float>& p, const Tensor<float>& q) { return max(abs(p - q)).item() == 0; };
  CHECK(equal(a, b));
  CHECK_FALSE(equal(a, c));
  CHECK_FALSE(equal(a.select(0, 0), a.select(0, 1)));
}

TEST_CASE("a checkpoint computes replicas again, with the same random numbers") {
  manual_seed(1);
  const nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{4, 50}, nn::Dropout{0.5},
                                         nn::Linear<float, Cpu>{50, 3}};
  const auto other = model.clone();
  const dist::DataParallel a(model, two), b(other, two);
  const auto x = variable(batch(6)), y = variable(batch(6));
  manual_seed(2);
  sum(square(checkpoint(a, x))).backward();
  manual_seed(2);
  sum(square(b(y))).backward();
  require_near("gradient of the input", x.grad(), y.grad(), 1e-5);
  for (std::size_t i = 0; i < other.parameters().size(); ++i)
    require_near("gradient", model.parameters()[i].grad(), other.parameters()[i].grad(), 1e-5);
}

TEST_CASE("what cannot run says so") {
  const auto model = perceptron(Cpu{});
  CHECK_THROWS_AS((dist::DataParallel(model, std::vector<Cpu>{})), ArgumentError);
  CHECK(message_of<ShapeError>([&] { (void)dist::DataParallel(ToScalar{}, two)(batch(4)); }).find("a scalar") !=
        std::string::npos);
  const dist::DataParallel parallel(model, two);
  CHECK_THROWS_AS((void)parallel(ones({4, 5})), ShapeError);
  dist::spawn<Cpu>(2, [](dist::Communicator<Cpu> comm) {
    const nn::Sequential<float, Cpu> norm{nn::BatchNorm1d<float, Cpu>{4}};
    dist::synchronize_batch_norm(norm, comm);
    CHECK_THROWS_AS((dist::DataParallel(norm, two)), ArgumentError);
  });
  const nn::Sequential<float, Cpu> around{parallel};
  CHECK_THROWS_AS((void)around.clone(), ArgumentError);
  const auto copy = parallel.clone();
  CHECK(copy.places().size() == 2);
  require_near("copy", copy(batch(5)), parallel(batch(5)), 0);
}

TEST_CASE("a rank may run its model on several places") {
  std::vector<Tensor<float>> weights(2);
  dist::spawn<Cpu>(2, [&](dist::Communicator<Cpu> comm) {
    const auto model = perceptron(Cpu{});
    const auto parallel = dist::distributed(dist::DataParallel(model, two), comm);
    optim::Sgd optimizer(parallel.parameters(), {.lr = 0.1});
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      mean(square(parallel(trace(of_rank<float, Cpu>(comm.rank() + 2 * step, {6, 4}, Cpu{}))))).backward();
      optimizer.step();
    }
    weights[static_cast<std::size_t>(comm.rank())] = model.parameters()[0].value().clone();
  });
  const auto alone = perceptron(Cpu{});
  optim::Sgd optimizer(alone.parameters(), {.lr = 0.1});
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    const auto x =
        concat({of_rank<float, Cpu>(2 * step, {6, 4}, Cpu{}), of_rank<float, Cpu>(2 * step + 1, {6, 4}, Cpu{})});
    mean(square(alone(trace(x)))).backward();
    optimizer.step();
  }
  for (const auto& weight : weights) require_near("weights", weight, alone.parameters()[0].value(), 1e-5);
}
