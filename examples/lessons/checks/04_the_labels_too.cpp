// expect-error(gcc): input_is_on<locus::Cuda>.*labels_are_on<locus::Cpu>.*move_one_with_to_Cpu_or_to_Cuda
// expect-error(clang): logits are on Cuda, the labels are on Cpu; move one with \.to<Cpu>\(\) or \.to<Cuda>\(\)
// expect-error(nvcc): labels_are_on<locus::Cpu>
#include LESSON

#include <locus/tensor/random.hpp>

#include <cmath>
#include <cstdio>

namespace on_host {  // the same function with Cuda as an alias of Cpu, so that it runs on the host
#define Cuda Cpu
#include LESSON
#undef Cuda
}  // namespace on_host

using Model = nn::Linear<float, Cuda>;
using Labels = Tensor<std::int64_t, Cpu>;
static_assert(std::is_same_v<decltype(&::training_loss),
                             Traced<float, Cuda> (*)(const Model&, const Tensor<float, Cuda>&, const Labels&)>,
              "training_loss takes a model and images on Cuda and labels on Cpu, and returns what can go backward");

int main() {
  const nn::Linear<float, Cpu> model{4, 3};
  const Tensor<float> images = randn({2, 4});
  const Labels labels = from<std::int64_t>({2, 0});
  const Tensor<float> right = nn::cross_entropy(model(images), labels);
  const auto loss = on_host::training_loss(model, images, labels);
  if (loss.value().shape() == Shape{} && std::abs(loss.value().item() - right.item()) < 1e-5f) {
    loss.backward();
    if (model.weight.has_grad()) return 0;
  }
  std::puts("training_loss(model, images, labels) is not the recorded cross-entropy of the labels");
  return 1;
}
