// Runs on: host, cuda (training).
#include <locus/training/update_bn.hpp>

#include <locus/data/sets/tensor_dataset.hpp>
#include <locus/nn/averaged_model.hpp>
#include <locus/nn/conv.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/nn/state_dict.hpp>
#include <locus/ops/norm.hpp>
#include <locus/tensor/random.hpp>

#include <golden/golden.hpp>
#include <support/device_list.hpp>

#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace locus;
using namespace locus_test;

/// A layer that notes whether gradients of what it returns can be asked for.
struct NotesRecording {
  using value_type = float;
  using device_type = Cpu;
  nn::Linear<float, Cpu> linear{2, 2};
  nn::BatchNorm1d<float, Cpu> norm{2};
  bool* recorded;
  bool* traced;

  template <class X>
  auto forward(const X& x) const {
    const auto y = norm(linear(x)).eval();
    if constexpr (std::remove_cvref_t<decltype(y)>::role == Role::traced) {
      *traced = true;
      *recorded = *recorded || y.requires_gradient();
    }
    return y;
  }
  void members(const auto& visit) const {
    visit("linear", linear);
    visit("norm", norm);
  }
};

namespace {

/// The network of make_averages.py, before update_bn.
template <class D>
auto golden_network() {
  const nn::Sequential<double, D> inner{nn::Linear<double, D>{3, 2},
                                        nn::BatchNorm1d<double, D>{2, {.momentum = std::nullopt}}};
  nn::Sequential<double, D> model{nn::Linear<double, D>{4, 3}, nn::BatchNorm1d<double, D>{3, {.momentum = 0.3}},
                                  nn::ReLU{}, inner};
  const auto state = nn::state_dict(model);
  for (const auto& entry : state) {
    const auto before = golden::tensor<double, D>("update_bn_before_" + entry.name);
    if (entry.name.ends_with("num_batches_tracked"))
      state.template get<std::int64_t>(entry.name).copy_(before.template as<std::int64_t>());
    else state.template get<double>(entry.name).copy_(before);
  }
  return model;
}
template <class D>
std::vector<Tensor<double, D>> golden_batches() {
  std::vector<Tensor<double, D>> batches;
  for (int i = 0; i < 3; ++i) batches.push_back(golden::tensor<double, D>("update_bn_x" + std::to_string(i)));
  return batches;
}
template <class D>
void check_statistics(const nn::Sequential<double, D>& model, const std::string& when) {
  CAPTURE(when);
  const auto state = nn::state_dict(model);
  for (const std::string layer : {"1", "3.1"}) {
    CAPTURE(layer);
    const auto expected = [&](const std::string& name) {
      return golden::reference("update_bn_" + when + "_" + layer + name);
    };
    CHECK_CLOSE(state.template get<double>(layer + ".running_mean"), expected(".running_mean"), 1e-10);
    CHECK_CLOSE(state.template get<double>(layer + ".running_var"), expected(".running_var"), 1e-10);
    CHECK_CLOSE(state.template get<std::int64_t>(layer + ".num_batches_tracked"), expected(".num_batches_tracked"));
  }
}

/// Blocks of a linear layer, a batch norm and ReLU. Running statistics follow within a few steps.
template <class D>
auto deep_network(std::int64_t width, int blocks) {
  nn::Sequential<float, D> model;
  for (int i = 0; i < blocks; ++i) {
    model.push_back(nn::Linear<float, D>{width, width, false});
    model.push_back(nn::BatchNorm1d<float, D>{width, {.momentum = 0.5}});
    model.push_back(nn::ReLU{});
  }
  return model;
}

template <class D>
double distance(const Tensor<float, D>& x, const Tensor<float, D>& expected) {
  return static_cast<double>(host(norm(x - expected)).item()) / static_cast<double>(host(norm(expected)).item());
}

}  // namespace

LOCUS_DEVICE_TEST("update_bn gives PyTorch's statistics, in nested layers, whatever the momentum", D) {
  const auto model = golden_network<D>();
  check_statistics(model, "before");
  CHECK(nn::update_bn(model, golden_batches<D>()) == 2);
  check_statistics(model, "after");
}

LOCUS_DEVICE_TEST("update_bn leaves momenta, weights and inference as they were", D) {
  const nn::BatchNorm1d<double, D> norm{1, {.momentum = 0.25}};
  const auto copy = norm;
  const std::vector batches{tensor<double, D>({2, 1}, {-1, 3}), tensor<double, D>({2, 1}, {3, 3})};
  CHECK(nn::update_bn(norm, batches) == 1);
  CHECK_CLOSE(norm.running_mean, {2});                    // the mean of 1 and 3
  CHECK_CLOSE(norm.running_var, {4});                     // of 8 and 0
  (void)copy(trace(tensor<double, D>({2, 1}, {6, 10})));  // mean 8, variance 8
  CHECK_CLOSE(norm.running_mean, {0.75 * 2 + 0.25 * 8}, 1e-12);
  CHECK_CLOSE(norm.running_var, {0.75 * 4 + 0.25 * 8}, 1e-12);
  CHECK_CLOSE(norm.num_batches_tracked, Reference(Shape{}, {3}));
  CHECK_CLOSE(norm.weight.value(), {1});
  CHECK_CLOSE(norm.bias.value(), {0});
  (void)norm(batches[0]);
  CHECK_CLOSE(norm.num_batches_tracked, Reference(Shape{}, {3}));
}

// The weights fall by 0.4 % in a step, as by weight decay, which 100 steps of the average remember. So the average of
// their squares is larger than the square of their average, and averaged variances belong to larger weights: each batch
// norm makes its output smaller, and the factors multiply.
LOCUS_DEVICE_TEST("averaged weights that shrank need update_bn", D) {
  constexpr int blocks = 6;
  manual_seed(7);
  const auto model = deep_network<D>(8, blocks);
  const nn::AveragedModel average{model, {.decay = 0.99, .average_buffers = true}};
  const Tensor<float, D> x = randn<float>({64, 8}, D{});
  for (int step = 0; step < 400; ++step) {
    (void)model(trace(x));
    average.update();
    for (const auto& parameter : model.parameters())
      if (parameter.value().rank() == 2) parameter.value() *= 0.996f;
  }
  const auto& averaged = average.module();
  const auto by_own_statistics = [&](const auto& m) { return Tensor<float, D>(m.clone()(trace(x)).value()); };
  CHECK(distance<D>(model(x), by_own_statistics(model)) < 0.2);
  CHECK(distance<D>(averaged(x), by_own_statistics(averaged)) > 0.7);
  CHECK(nn::update_bn(averaged, std::vector{x}) == blocks);
  CHECK(distance<D>(averaged(x), by_own_statistics(averaged)) < 0.1);
}

LOCUS_DEVICE_TEST("update_bn takes loaders, ranges of inputs and of batches, and functions", D) {
  const nn::BatchNorm1d<float, D> norm{1};
  const auto x = tensor<float, D>({2, 1}, {-1, 3}), y = tensor<float, D>({2, 1}, {4, 8});
  const auto labels = tensor<std::int64_t, D>({2}, {0, 1});
  const auto check = [&](const char* what, auto&& batches) {
    CAPTURE(what);
    norm.running_mean.value().fill_(77);
    CHECK(nn::update_bn(norm, batches) == 1);
    CHECK_CLOSE(norm.running_mean, {3.5}, 1e-6);
    CHECK_CLOSE(norm.running_var, {8}, 1e-6);
    CHECK_CLOSE(norm.num_batches_tracked, Reference(Shape{}, {2}));
  };
  check("inputs", std::vector{x, y});
  check("a list", std::list{x, y});
  const Tensor<float, D> array[]{x, y};
  check("an array", array);
  check("tuples", std::vector{Tuple(x, labels), Tuple(y, labels)});
  check("pairs", std::vector{std::pair(x, labels), std::pair(y, labels)});
  check("pairs of an input and something else", std::vector{std::pair(x, 'a'), std::pair(y, 'b')});
  check("batches of images", std::vector{data::Batch<float, D>{x, labels}, data::Batch<float, D>{y, labels}});
  int calls = 0;
  check("a function", [&]() -> std::optional<Tensor<float, D>> {
    if (++calls > 2) return std::nullopt;
    return calls == 1 ? x : y;
  });
  CHECK(calls == 3);
  const data::TensorDataset with_labels{tensor<float, Cpu>({4, 1}, {-1, 3, 4, 8}),
                                        tensor<std::int64_t, Cpu>({4}, {0, 1, 0, 1})};
  auto loader = data::loader<D>(with_labels, {.batch_size = 2});
  check("a loader", loader);
  CHECK(loader.epoch() == 1);
  check("a temporary loader",
        data::loader<D>(data::TensorDataset{tensor<float, Cpu>({4, 1}, {-1, 3, 4, 8})}, {.batch_size = 2}));
  CHECK(nn::update_bn(norm, std::vector{x, y}, {.batches = 1}) == 1);
  CHECK_CLOSE(norm.running_mean, {1}, 1e-6);
  CHECK(nn::update_bn(norm, loader, {.batches = 1}) == 1);
  CHECK_CLOSE(norm.num_batches_tracked, Reference(Shape{}, {1}));
}

TEST_CASE("update_bn runs a model as in training and records nothing") {
  bool recorded = false, traced = false;
  const NotesRecording model{.recorded = &recorded, .traced = &traced};
  const std::vector batches{tensor<float, Cpu>({2, 2}, {1, 2, 3, 5})};
  CHECK(nn::update_bn(model, batches) == 1);
  CHECK(traced);
  CHECK(!recorded);
  (void)model.forward(trace(batches[0]));
  CHECK(recorded);
}

TEST_CASE("update_bn of images, and of layers that keep no statistics") {
  const nn::BatchNorm2d<float, Cpu> norm{3};
  const nn::Sequential<float, Cpu> model{nn::Conv2d<float, Cpu>{2, 3, 3}, norm,
                                         nn::BatchNorm2d<float, Cpu>{3, {.track_running_stats = false}}};
  CHECK(nn::update_bn(model, std::vector{randn<float>({4, 2, 5, 5})}) == 1);
  CHECK_CLOSE(norm.num_batches_tracked, Reference(Shape{}, {1}));
  int calls = 0;
  const auto next = [&]() -> std::optional<Tensor<float>> {
    ++calls;
    return std::nullopt;
  };
  CHECK(nn::update_bn(nn::Sequential<float, Cpu>{nn::Linear<float, Cpu>{2, 2}}, next) == 0);
  CHECK(calls == 0);
}

TEST_CASE("update_bn leaves statistics as they were if there is no batch, or one does not fit") {
  const nn::BatchNorm1d<float, Cpu> norm{2, {.momentum = 0.5}};
  const auto x = tensor<float, Cpu>({2, 2}, {1, 2, 3, 5});
  (void)norm(trace(x));
  const auto is_as_before = [&] {
    CHECK_CLOSE(norm.running_mean, {1, 1.75});
    CHECK_CLOSE(norm.running_var, {1.5, 2.75});
    CHECK_CLOSE(norm.num_batches_tracked, Reference(Shape{}, {1}));
  };
  CHECK_THROWS_WITH_AS((void)nn::update_bn(norm, std::vector<Tensor<float>>{}),
                       "update_bn: there are no batches; expected at least one", ArgumentError);
  is_as_before();
  CHECK_THROWS_AS((void)nn::update_bn(norm, std::vector{x, randn<float>({2, 3})}), ShapeError);
  is_as_before();
  CHECK_THROWS_WITH_AS((void)nn::update_bn(norm, std::vector{x}, {.batches = -1}), doctest::Contains("batches is -1"),
                       ArgumentError);
  is_as_before();
  (void)norm(trace(x));
  CHECK_CLOSE(norm.running_mean, {1.5, 2.625});  // by its own momentum
}
