// expect-error: left.*Cuda.*right.*Cpu
// expect-error: move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\) or \.to<Cuda>\(\)
#include LESSON

#include <locus/tensor/from.hpp>

#include <cstdio>

namespace on_host {  // the same function with Cuda as an alias of Cpu, so that it runs on the host
#define Cuda Cpu
#include LESSON
#undef Cuda
}  // namespace on_host

static_assert(
    std::is_same_v<decltype(&::blend), Tensor<float, Cuda> (*)(const Tensor<float, Cuda>&, const Tensor<float, Cuda>&,
                                                               const Tensor<float, Cpu>&)>,
    "blend takes two tensors on Cuda and a bias on Cpu, and returns a tensor on Cuda");

int main() {
  const Tensor<float> blended = on_host::blend(from({2, -8}), from({4, 4}), from({1, -5}));
  if (blended.shape() == Shape{2} && blended(0) == 5 && blended(1) == -5) return 0;
  std::puts("blend(a, b, bias) is not relu(a / 2 + b / 4) * 2 + bias");
  return 1;
}
