// expect-error: optimizer_is_on<locus::Cpu>.*parameters_are_on<locus::Cuda>|is on Cpu, the parameters are on Cuda
// expect-error: make_the_optimizer_for|make the optimizer for the device of the parameters
#include LESSON

#include <locus/tensor/from.hpp>

#include <cmath>
#include <cstdio>

namespace on_host {  // the same function with Cuda as an alias of Cpu, so that it runs on the host
#define Cuda Cpu
#include LESSON
#undef Cuda
}  // namespace on_host

using Model = nn::Linear<float, Cuda>;
using Input = Tensor<float, Cuda>;
static_assert(std::is_same_v<decltype(&::descend), void (*)(const Model&, const Input&, const Input&)>,
              "descend takes a model and two tensors on Cuda");

int main() {
  const nn::Linear<float, Cpu> model{1, 1};
  on_host::descend(model, from({{-1}, {0}, {1}}), from({{-1}, {1}, {3}}));  // target = 2 x + 1
  if (std::abs(model.weight.value().item() - 2) < 0.01f && std::abs(model.bias.value().item() - 1) < 0.01f) return 0;
  std::puts("descend(model, x, target) does not make 100 steps with learning rate 0.1");
  return 1;
}
