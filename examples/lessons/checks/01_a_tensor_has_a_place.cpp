// expect-error: source.*Cpu.*target.*Cuda
// expect-error: copy_with_to_Cpu_or_to_Cuda|copy with \.to<Cuda>\(\)
#include LESSON

#include <locus/tensor/from.hpp>

#include <cstdio>

namespace on_host {  // the same function with Cuda as an alias of Cpu, so that it runs on the host
#define Cuda Cpu
#include LESSON
#undef Cuda
}  // namespace on_host

static_assert(std::is_same_v<decltype(&::on_the_gpu), Tensor<float, Cuda> (*)(const Tensor<float, Cpu>&)>,
              "on_the_gpu takes an image on Cpu and returns one on Cuda");

int main() {
  const Tensor<float> copy = on_host::on_the_gpu(from({1, 2, 3}));
  if (copy.shape() == Shape{3} && copy(0) == 1 && copy(1) == 2 && copy(2) == 3) return 0;
  std::puts("on_the_gpu(image) does not hold the elements of the image");
  return 1;
}
