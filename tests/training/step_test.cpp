// Runs on: host, cuda (models).
// Cost of one step of training, in counted launches and memory; and the same results as PyTorch.
#include <locus/data/sets/mnist.hpp>
#include <locus/device/trace/launch_log.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>
#include <locus/optim/sgd.hpp>
#include <locus/training/fit.hpp>

#include <golden/golden.hpp>
#include <memory>
#include <support/device_list.hpp>

using namespace locus;
using namespace locus_test;

namespace {

struct InputsAndTargets {
  Tensor<float> x, y;
};
struct Inputs {
  Tensor<float> x;
};
struct Derived : Inputs {
  Tensor<float> y;
};
struct Both {
  Tensor<float> tensors[2];
};
struct Referring {
  Tensor<float> x;
  Tensor<float>& y;
};
struct Owning {
  Tensor<float> x;
  std::unique_ptr<Tensor<float>> y;
};
/// Whether train_step takes a batch of this type, without an error where it does not.
template <class Batch>
constexpr bool trains_on = requires(nn::Linear<float, Cpu> model, optim::Sgd<float, Cpu> optimizer,
                                    const Batch& batch) { train_step(model, optimizer, nn::MSELoss{}, batch); };
static_assert(trains_on<InputsAndTargets> && trains_on<std::pair<Tensor<float>, Tensor<float>>>);
static_assert(!trains_on<Derived> && !trains_on<Both> && !trains_on<Referring> && !trains_on<Owning>);

template <class D>
nn::Sequential<float, D> perceptron() {
  return {nn::Flatten{}, nn::Linear<float, D>{784, 32}, nn::ReLU{}, nn::Linear<float, D>{32, 10}};
}

data::LabelledImages random_images(std::int64_t count) {
  const Tensor<std::uint8_t> images({count, 1, 28, 28});
  const Tensor<std::int64_t> labels({count});
  Philox engine(5);
  for (std::int64_t i = 0; i < images.elements(); ++i)
    images.data()[i] = static_cast<std::uint8_t>(engine.bounded(256));
  for (std::int64_t i = 0; i < count; ++i) labels(i) = engine.bounded(10);
  return {images, labels, 10};
}

/// A batch as the loader would deliver it.
template <class D>
data::Batch<float, D> random_batch(std::int64_t count) {
  const auto images = random_images(count);
  std::vector<std::int64_t> positions(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) positions[static_cast<std::size_t>(i)] = i;
  const Tensor<float> pixels({count, 1, 28, 28});
  const Tensor<std::int64_t> labels({count});
  images.gather<float>(positions, 1.0f / 255, pixels.data(), labels.data());
  return {pixels.to<D>(), labels.to<D>()};
}

std::int64_t system_allocations() { return Backend<Cpu>::memory_stats({}).system_allocations; }

}  // namespace

LOCUS_DEVICE_TEST("a training step of 784-32-10 takes at most 12 launches", D) {
  const auto model = perceptron<D>();
  optim::Sgd optimizer{model.parameters(), {.lr = 0.1}};
  const auto batch = random_batch<D>(100);
  for (int step = 0; step < 2; ++step) {
    const LaunchLog log;
    const RequestLog asked;
    (void)train_step(model, optimizer, batch);
    const auto counts = log.counts();
    CAPTURE(counts.map);
    CAPTURE(counts.rows);
    CAPTURE(counts.reduce);
    CAPTURE(counts.gemm);
    CHECK(log.launches() <= 12);
    CHECK(counts.gemm == 5);  // forward two, backward three: the images want no gradient
    if constexpr (std::is_same_v<D, Counting>) CHECK(asked.launches() == log.launches());
  }
}

LOCUS_DEVICE_TEST("after its first step training takes no memory from the system", D) {
  const auto model = perceptron<D>();
  optim::Sgd optimizer{model.parameters(), {.lr = 0.1, .momentum = 0.9}};
  const auto batch = random_batch<D>(100);
  (void)train_step(model, optimizer, batch);
  const auto allocations = system_allocations();  // Counting takes its memory from the same pool
  for (int step = 0; step < 10; ++step) (void)train_step(model, optimizer, batch);
  CHECK(system_allocations() == allocations);
}

TEST_CASE("after its first step training takes no memory from the system, the loader included") {
  const auto model = perceptron<Cpu>();
  optim::Sgd optimizer{model.parameters(), {.lr = 0.1}};
  auto loader = data::loader<Cpu>(random_images(3000), {.batch_size = 100, .shuffle = true});
  std::int64_t allocations = -1;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const auto& batch : loader) {
      (void)train_step(model, optimizer, batch);
      if (allocations < 0) allocations = system_allocations();
      CHECK(system_allocations() == allocations);
    }
  }
}

TEST_CASE("between two steps nothing more stays allocated") {
  const auto model = perceptron<Counting>();
  optim::Sgd optimizer{model.parameters(), {.lr = 0.1}};
  const auto batch = random_batch<Counting>(100);
  (void)train_step(model, optimizer, batch);
  const auto bytes = counting_bytes.load();
  for (int step = 0; step < 3; ++step) (void)train_step(model, optimizer, batch);
  CHECK(counting_bytes.load() == bytes);
}

LOCUS_DEVICE_TEST("twenty steps follow PyTorch's", D) {
  const nn::Linear<double, D> first{6, 5}, second{5, 3};
  const nn::Sequential<double, D> model{first, nn::ReLU{}, second};
  for (const auto& [name, parameter] : model.named_parameters()) {
    parameter.value().copy_(golden::tensor<double, D>("run_" + name));
  }
  optim::Sgd optimizer{model.parameters(), {.lr = 0.2, .momentum = 0.9}};
  const data::Batch<double, D> batch{golden::tensor<double, D>("run_x"), golden::tensor<std::int64_t, D>("run_labels")};
  const auto& losses = golden::reference("run_losses").values;
  for (const double expected : losses) CHECK_CLOSE(train_step(model, optimizer, batch), expected, 1e-9);
  for (const auto& [name, parameter] : model.named_parameters()) {
    const std::string& trained = name;  // clang 14 cannot capture a structured binding
    CAPTURE(trained);
    CHECK_CLOSE(parameter.value(), golden::reference("run_trained_" + name), 1e-9);
  }
}

LOCUS_DEVICE_TEST("correct() takes two launches, also for strided labels where the host cannot read them", D) {
  const auto logits = tensor<float, D>({2, 3}, {0, 1, 2, 2, 1, 0});
  const auto labels = tensor<std::int64_t, D>({2, 2}, {2, 9, 1, 9}).select(1, 0);
  const LaunchLog log;
  CHECK(correct(logits, labels).item() == 1);
  CHECK(log.launches() == 2 + HostAccessible<D>);  // a copy, to check them
}
