// expect-error: model.*Cuda.*input.*Cpu
// expect-error: move_the_input_with_to_D|move the input with \.to<Cuda>\(\)
#include LESSON

#include <locus/nn/linear.hpp>
#include <locus/ops/reduce.hpp>
#include <locus/tensor/random.hpp>

#include <cstdio>

namespace on_host {  // the same function with Cuda as an alias of Cpu, so that it runs on the host
#define Cuda Cpu
#include LESSON
#undef Cuda
}  // namespace on_host

static_assert(std::is_same_v<decltype(&::predict),
                             Tensor<float, Cuda> (*)(const nn::Sequential<float, Cuda>&, const Tensor<float, Cpu>&)>,
              "predict takes a model on Cuda and a batch on Cpu, and returns a tensor on Cuda");

int main() {
  const nn::Sequential<float, Cpu> model{nn::Linear<float, Cpu>{4, 3}};
  const Tensor<float> batch = randn({5, 4});
  const Tensor<float> right = softmax(model(batch), 1);
  const Tensor<float> given = on_host::predict(model, batch);
  if (given.shape() == right.shape() && sum(abs(given - right)).item() < 1e-5f) return 0;
  std::puts("predict(model, batch) is not softmax(model(batch), 1)");
  return 1;
}
