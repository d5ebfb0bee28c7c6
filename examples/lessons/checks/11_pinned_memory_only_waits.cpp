// expect-error(gcc): tensor_is_on<locus::Pinned>.*pinned_memory_cannot_compute_move_with_to_Cpu_or_to_Cuda
// expect-error(clang): [Pp]inned.*move .*with \.to<Cpu>
// expect-error(nvcc): pinned_memory_cannot_compute_move_with_to_Cpu_or_to_Cuda
#include LESSON

#include <cstdio>

static_assert(std::is_same_v<decltype(&to_show), Tensor<float, Cpu> (*)(const Tensor<float, Pinned>&)>,
              "to_show() takes a batch in pinned memory and returns a tensor on Cpu");

int main() try {
  // Without CUDA there is no page-locked memory; ordinary memory stands in for it.
  float memory[] = {0, 51, 102, 255};
  const Tensor<float, Pinned> pixels({}, memory, {2, 2}, row_major({2, 2}));
  const Tensor<float, Cpu> shown = to_show(pixels);
  if (!(shown.shape() == Shape{2, 2})) {
    std::printf("pixels of shape (2, 2) became a tensor of shape %s\n", to_string(shown.shape()).c_str());
    return 1;
  }
  for (int i = 0; i < 4; ++i) {
    const float difference = shown(i / 2, i % 2) * 255 - memory[i];
    if (difference > 1e-4f || difference < -1e-4f) {
      std::printf("a pixel of %g became %g; expected it divided by 255\n", memory[i], shown(i / 2, i % 2));
      return 1;
    }
  }
  if (memory[0] != 0 || memory[1] != 51 || memory[2] != 102 || memory[3] != 255) {
    std::puts("the batch itself was changed");
    return 1;
  }
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
