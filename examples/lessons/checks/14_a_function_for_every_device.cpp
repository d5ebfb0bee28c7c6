// expect-error(gcc): left_is_on<locus::Cuda>.*right_is_on<locus::Cpu>.*move_one_with_to_Cpu_or_to_Cuda
// expect-error(clang): left operand is on Cuda, right operand is on Cpu; move one with \.to<Cpu>\(\) or \.to<Cuda>\(\)
// expect-error(nvcc): right_is_on<locus::Cpu>
// lines: 13
#include LESSON

#include <cstdio>

template <class D>
using Normalize = Tensor<float, D> (*)(const Tensor<float, D>&);
static_assert(std::is_same_v<decltype(&normalized<Cpu>), Normalize<Cpu>>, "normalized() works on Cpu and stays there");
static_assert(std::is_same_v<decltype(&normalized<Cuda>), Normalize<Cuda>>, "normalized() works on Cuda, too");
static_assert(std::is_same_v<decltype(&normalized_on_gpu), Normalize<Cuda>>, "normalized_on_gpu() stays on Cuda");

int main() try {
  const Tensor<float, Cpu> result = normalized(from({{1, 1, 1}, {0.5, 0.25, 0.125}}));
  const float wanted[] = {0.5f, 0.75f, 0.875f, 0, 0, 0};
  if (!(result.shape() == Shape{2, 3})) {
    std::printf("colors of shape (2, 3) became a tensor of shape %s\n", to_string(result.shape()).c_str());
    return 1;
  }
  for (int i = 0; i < 6; ++i) {
    if (result(i / 3, i % 3) == wanted[i]) continue;
    std::printf("element (%d, %d) is %g; expected %g\n", i / 3, i % 3, result(i / 3, i % 3), wanted[i]);
    return 1;
  }
  try {
    const auto there = normalized_on_gpu({});  // Without CUDA, a computation on a GPU throws.
    std::puts("normalized_on_gpu() computes nothing");
    return 1;
  } catch (const CudaUnavailable&) {}
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
