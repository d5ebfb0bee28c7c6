// expect-error: source_records_gradients|the source records gradients, which would be lost
// expect-error: take_its_value_x_value|take its value, x\.value\(\)
#include LESSON

#include <locus/nn/batch_norm.hpp>
#include <locus/nn/dropout.hpp>
#include <locus/nn/linear.hpp>
#include <locus/tensor/random.hpp>

#include <cstdio>

namespace on_host {  // the same function with Cuda as an alias of Cpu, so that it runs on the host
#define Cuda Cpu
#include LESSON
#undef Cuda
}  // namespace on_host

static_assert(std::is_same_v<decltype(&::probabilities),
                             Tensor<float, Cuda> (*)(const nn::Sequential<float, Cuda>&, const Tensor<float, Cuda>&)>,
              "probabilities() takes a model and images on Cuda, and returns a tensor there");

int main() try {
  const nn::BatchNorm1d<float, Cpu> norm{4};
  const nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{3, 4}, norm, nn::Dropout{0.5}};
  const Tensor<float> images = randn({8, 3}) + 5.f;
  const Tensor<float> first = on_host::probabilities(model, images), second = on_host::probabilities(model, images);
  if (norm.num_batches_tracked.value().item() != 0) {
    std::puts("the running statistics learned from the images; expected none to change in an evaluation");
    return 1;
  }
  for (int i = 0; i < 32; ++i) {
    if (first(i / 4, i % 4) == second(i / 4, i % 4)) continue;
    std::puts("two evaluations of the same images differ: dropout dropped");
    return 1;
  }
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += first(0, i);
  if (sum < 0.999f || sum > 1.001f) {
    std::printf("the probabilities of an image add up to %g\n", sum);
    return 1;
  }
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
