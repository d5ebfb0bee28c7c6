#pragma once
// Steps of training a network of two convolutions on Cuda, launched one by one or captured and replayed.

#include <locus/autograd/expression.hpp>
#include <locus/cuda/step_runner.hpp>
#include <locus/device/capture.hpp>
#include <locus/ops/conv.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <vector>

namespace locus_test {

/// The losses of the steps. The images are square.
inline std::vector<float> losses_of_convolution_steps(bool captured, std::int64_t images, std::int64_t channels,
                                                      std::int64_t side) {
  using namespace locus;
  manual_seed(6);
  const auto v = variable(randn<float, Cuda>({channels, 3, 3, 3}) * 0.2f);
  const auto w = variable(randn<float, Cuda>({channels / 2, channels, 3, 3}) * 0.1f);
  const auto x = randn<float, Cuda>({images, 3, side, side});
  const auto loss = zeros<float, Cuda>({});
  const auto step = [&] {
    const auto value = mean(square(conv2d(relu(conv2d(x, v, {.padding = 1})), w, {.stride = 2})));
    value.backward();
    for (const auto& weights : {v, w}) {
      weights.value() -= weights.grad() * 0.01f;
      weights.zero_grad();
    }
    loss.copy_(value.value());
  };
  std::vector<float> losses;
  const auto note = [&] { losses.push_back(loss.item()); };
  if (captured) {
    auto replayed = capture<Cuda>(step);
    for (int i = 0; i < 5; ++i) replayed(), note();
  } else {
    for (int i = 0; i < 5; ++i) step(), note();
  }
  return losses;
}

}  // namespace locus_test
