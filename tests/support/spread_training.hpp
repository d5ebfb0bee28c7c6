#pragma once
// Training of layers that are divided among ranks, beside one process that has all of them. Independent of the test
// framework: errors are thrown.

#include <locus/distributed/distributed.hpp>
#include <locus/distributed/spread.hpp>
#include <locus/locus.hpp>

#include <support/collectives.hpp>

#include <cmath>
#include <utility>
#include <vector>

namespace locus_test {

struct Grid;
struct Data : Along<Grid> {};
struct Model : Along<Grid> {};
template <class X, class A>
constexpr Spread spread_of = dist::detail::along_of<A, X>;

template <class D>
[[nodiscard]] double distance(const Tensor<float, D>& a, const Tensor<float, D>& b) {
  return static_cast<double>(max(abs(a - b)).item());
}

/// Two layers and their data, the same on all ranks and devices.
template <class D>
struct Problem {
  static constexpr int samples = 24;
  nn::Linear<float, D> first, second;
  Tensor<float, D> x, y;
  explicit Problem(D device = {}) : first(12, 12, true, device), second(12, 4, true, device) {
    Generator<Cpu> numbers{2};
    const auto drawn = [&](const Shape& shape) { return randn<float>(shape, numbers).template to<D>(device); };
    for (const auto& p : parameters()) p.value().copy_(drawn(p.value().shape()) * 0.3f);
    x = drawn({samples, 12}), y = drawn({samples, 4});
  }
  [[nodiscard]] std::vector<Parameter<float, D>> parameters() const {
    return {first.weight, first.bias, second.weight, second.bias};
  }
  [[nodiscard]] auto loss() const {
    return mean(square(second(first.forward_with(trace(x), nn::Activation::relu)) - y)).eval();
  }
};

/// Weights after steps of one process, its losses, and the norm of the first gradient.
template <class D>
struct Wanted {
  std::vector<Tensor<float, D>> weights;
  std::vector<float> losses;
  float norm = 0;
};
template <class D>
[[nodiscard]] Wanted<D> trained(int steps, D device = {}) {
  const Problem<D> problem(device);
  optim::Sgd sgd{problem.parameters(), {.lr = 0.1, .momentum = 0.9}};
  Wanted<D> result;
  for (int i = 0; i < steps; ++i) {
    const auto loss = problem.loss();
    sgd.zero_grad();
    loss.backward();
    const float norm = optim::clip_grad_norm_(problem.parameters(), 0.5).item();
    if (i == 0) result.norm = norm;
    sgd.step();
    result.losses.push_back(loss.item());
  }
  for (const auto& p : problem.parameters()) result.weights.push_back(p.value().clone());
  return result;
}
inline void require_close(const char* what, double found, double expected) {
  if (!(std::fabs(found - expected) < 1e-6)) wrong(join(what, " is ", found, ", expected ", expected));
}

/// Layers divided along Model, the same on all ranks along Data.
template <class D>
struct Divided {
  dist::ColumnLinear<float, D, Model, Replicated<Data>> first;
  dist::RowLinear<float, D, Model, Replicated<Data>> second;
  void members(const auto& visit) const { visit("first", first), visit("second", second); }
};

/// A mesh of rows along Data and columns along Model trains as one process does.
template <class D>
void check_divided_training(const dist::Communicator<D>& comm, int rows, int columns) {
  const Wanted<D> expected = trained<D>(5, comm.device());
  const dist::Mesh<D, Data, Model> mesh(comm, {rows, columns});
  const auto& data = mesh.template along<Data>();
  const auto& model = mesh.template along<Model>();
  const Problem<D> problem(comm.device());
  const Divided<D> net{{problem.first, model}, {problem.second, model}};
  const auto part = [&](const Tensor<float, D>& of) {
    return data.part(mesh.template label<Replicated<Data>, Invariant<Model>>(of), 0);
  };
  const auto x = part(problem.x), y = part(problem.y);
  dist::Optimizer<optim::Sgd<float, D>, Data, Model> sgd(net, optim::SgdOptions{.lr = 0.1, .momentum = 0.9});
  for (std::size_t i = 0; i < 5; ++i) {
    const auto h = net.first.forward(model, trace(x), functor::Relu{});
    static_assert(spread_of<decltype(h), Model> == Spread::varying && spread_of<decltype(h), Data> == Spread::varying);
    const auto loss = mean(square(net.second.forward(model, h) - y));
    static_assert(spread_of<decltype(loss), Model> == Spread::invariant);
    const auto total = data.partial(loss / static_cast<float>(data.size())).eval();
    sgd.zero_grad();
    total.backward();
    const float norm = sgd.clip_and_step(0.5, data, model).item();
    if (i == 0) require_close("the norm", norm, expected.norm);
    require_close("the loss", data.all_reduce(total.value()).item(), expected.losses[i]);
  }
  const auto state = dist::state_dict(net, model);
  std::size_t i = 0;
  for (const char* name : {"first.weight", "first.bias", "second.weight", "second.bias"})
    require_close(name, distance(state.template get<float>(name), expected.weights[i++]), 0);
}

/// A model of which each rank has a copy trains as one process does, from the loss of each rank, or from their sum.
template <class D>
void check_model_of_ranks(const dist::Communicator<D>& comm, bool from_sum) {
  const Wanted<D> expected = trained<D>(4, comm.device());
  const dist::Mesh<D, Data> mesh(comm, {comm.size()});
  const auto& data = mesh.template along<Data>();
  const Problem<D> problem(comm.device());
  const auto parallel = dist::distributed(nn::Sequential<float, D>{problem.first, nn::ReLU{}, problem.second}, data);
  const auto x = data.part(mesh.template label<Replicated<Data>>(problem.x), 0),
             y = data.part(mesh.template label<Replicated<Data>>(problem.y), 0);
  optim::Sgd sgd{parallel.parameters(), {.lr = 0.1, .momentum = 0.9}};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto loss = mean(square(parallel(trace(x)) - y)).eval();
    static_assert(spread_of<decltype(loss), Data> == Spread::varying);
    const auto total = data.partial(loss / static_cast<float>(data.size())).eval();
    sgd.zero_grad();
    if (from_sum) total.backward();
    else parallel.backward(loss);
    const float norm = optim::clip_grad_norm_(parallel.parameters(), 0.5).item();
    if (i == 0) require_close("the norm", norm, expected.norm);
    sgd.step();
    require_close("the loss", data.all_reduce(total.value()).item(), expected.losses[i]);
  }
  const auto parameters = problem.parameters();
  for (std::size_t i = 0; i < 4; ++i) {
    require_close("the distance of weights", distance(parameters[i].value(), expected.weights[i]), 0);
    require_same_bits("weights", comm, parameters[i].value());
  }
}

}  // namespace locus_test
