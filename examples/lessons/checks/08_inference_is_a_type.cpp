// expect-error: backward
// expect-error: trace_the_input_first_with_trace_x|trace the input first, with trace\(x\)
#include LESSON

#include <locus/ops/reduce.hpp>
#include <locus/tensor/factory.hpp>
#include <locus/tensor/random.hpp>

#include <cstdio>

namespace on_host {  // the same function with Cuda as an alias of Cpu, so that it runs on the host
#define Cuda Cpu
#include LESSON
#undef Cuda
}  // namespace on_host

using Model = nn::Linear<float, Cuda>;
using Optimizer = optim::Sgd<float, Cuda>;
using Input = Tensor<float, Cuda>;
static_assert(std::is_same_v<decltype(&::one_step), void (*)(const Model&, Optimizer&, const Input&, const Input&)>,
              "one_step takes a model, an optimizer and two tensors on Cuda");

int main() {
  const nn::Linear<float, Cpu> model{2, 1};
  optim::Sgd optimizer{model.parameters(), {.lr = 0.1}};
  const Tensor<float> x = randn({8, 2});
  const Tensor<float> target = zeros({8, 1});
  const Tensor<float> before = model.weight.value().clone();
  on_host::one_step(model, optimizer, x, target);
  const Tensor<float> moved = before - model.weight.value();
  if (model.weight.has_grad()) {
    const Tensor<float> gradient = model.weight.grad();
    const float norm = sum(abs(gradient)).item();
    if (norm > 0 && sum(abs(moved - 0.1f * gradient)).item() < 1e-5f * (1 + norm)) return 0;
  }
  std::puts("one_step(...) does not step against the gradient of the loss");
  return 1;
}
