// Training steps of a model in float, bfloat16 and half, asked for by benchmarks/types_accuracy.py line by line:
//
//   THREADS CLOCK MODEL BATCH STEPS TYPE  ->  milliseconds of the fastest of so many steps
//
// forward, cross-entropy in float, backward and SGD with momentum, in half with a scaler, by the wall's or the
// processor's clock. MODEL is the width of a perceptron, 784-WIDTH-WIDTH-10, or "resnet" and the width of a ResNet-18
// for images of 32 x 32.

#include "support/fastest.hpp"

#include <locus/locus.hpp>
#include <locus/models/resnet.hpp>

#include <iostream>
#include <string>

using namespace locus;

namespace {

template <class T, class M>
double fastest_of(const M& model, const Shape& batch, int steps, clockid_t clock) {
  optim::Sgd optimizer{model.parameters(), {.lr = 0.01, .momentum = 0.9}};
  optim::GradScaler scaler;
  auto&& stepped = [&]() -> decltype(auto) {
    if constexpr (std::is_same_v<T, half>) return scaler.with(optimizer);
    else return (optimizer);
  }();
  const data::Batch<T, Cpu> samples{randn<float>(batch).as<T>().eval(), randint(0, 10, {batch[0]})};
  double best = 1e9;
  for (int i = 0; i <= steps; ++i) {  // the first is no measurement
    const double begin = bench::seconds(clock);
    (void)train_step(model, stepped, samples);
    const double taken = bench::seconds(clock) - begin;
    if (i > 0 && taken < best) best = taken;
  }
  return 1e3 * best;
}

template <class T>
double fastest_of(const std::string& model, std::int64_t batch, int steps, clockid_t clock) {
  if (model.starts_with("resnet")) {
    const auto net = models::resnet18<T>({.classes = 10, .small_images = true, .width = std::stoll(model.substr(6))});
    return fastest_of<T>(net, {batch, 3, 32, 32}, steps, clock);
  }
  const std::int64_t width = std::stoll(model);
  const nn::Sequential<T, Cpu> net{nn::Flatten{}, nn::Linear<T, Cpu>{784, width},
                                   nn::ReLU{},    nn::Linear<T, Cpu>{width, width},
                                   nn::ReLU{},    nn::Linear<T, Cpu>{width, 10}};
  return fastest_of<T>(net, {batch, 1, 28, 28}, steps, clock);
}

}  // namespace

int main() {
  int threads = 0, steps = 0;
  std::string clock_name, model, type;
  std::int64_t batch = 0;
  while (std::cin >> threads >> clock_name >> model >> batch >> steps >> type) {
    cpu::set_max_threads(threads);
    const clockid_t clock = bench::clock_called(clock_name);
    const double taken = type == "half"       ? fastest_of<half>(model, batch, steps, clock)
                         : type == "bfloat16" ? fastest_of<bfloat16>(model, batch, steps, clock)
                                              : fastest_of<float>(model, batch, steps, clock);
    std::cout << taken << std::endl;
  }
}
