// expect-error(gcc): left_is_on<locus::Cuda>.*right_is_on<locus::Cpu>.*move_one_with_to_Cpu_or_to_Cuda
// expect-error(clang): left operand is on Cuda, right operand is on Cpu; move one with \.to<Cpu>\(\) or \.to<Cuda>\(\)
// expect-error(nvcc): right_is_on<locus::Cpu>
// lines: 13
#include LESSON

#include <cstdio>

static_assert(std::is_same_v<decltype(Positioned<Cuda>::positions), Tensor<float, Cuda>> &&
                  std::is_same_v<decltype(Positioned<Cpu>::positions), Tensor<float, Cpu>>,
              "positions is a tensor of floats where the layer is, so that no batch copies it");
static_assert(
    std::is_same_v<decltype(&predict), Tensor<float, Cuda> (*)(const Positioned<Cuda>&, const Tensor<float, Cuda>&)>,
    "predict() calls a layer on Cuda with an input on Cuda");

int main() try {
  const Positioned<Cpu> layer{3};
  if (layer.parameters().size() != 2) {
    std::printf("the layer has %d parameters; expected the weight and the bias of inner, and no others\n",
                static_cast<int>(layer.parameters().size()));
    return 1;
  }
  const Tensor<float, Cpu> x = ones({2, 3}), plain = layer.inner(x), shifted = layer(x);
  for (int i = 0; i < 6; ++i) {
    const float wanted = plain(i / 3, i % 3) + static_cast<float>(i % 3);
    if (shifted(i / 3, i % 3) == wanted) continue;
    std::printf("output (%d, %d) is %g; expected %g\n", i / 3, i % 3, shifted(i / 3, i % 3), wanted);
    return 1;
  }
  if (!layer(trace(x)).requires_gradient()) {
    std::puts("no gradient comes back to the layer from what it computes in training");
    return 1;
  }
  try {
    const Positioned<Cuda> there{3};  // Without CUDA, allocating GPU memory throws.
    std::puts("a layer on Cuda needs no memory there");
    return 1;
  } catch (const CudaUnavailable&) {}
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
