// expect-error(gcc): source_is_on<locus::Cpu>.*copy_to_pinned_first_with_to_Pinned
// expect-error(clang): pageable memory.*say x\.to<Pinned>\(\) first
// expect-error(nvcc): copy_to_pinned_first_with_to_Pinned
#include LESSON

#include <cstdio>
#include <string_view>

static_assert(std::is_same_v<decltype(&start_sending), Pending<Tensor<float, Cuda>> (*)(const Tensor<float, Cpu>&)>,
              "start_sending() takes a batch on Cpu and returns what is being copied to Cuda");

int main() try {
  const Tensor<float, Cpu> batch({2, 2});
  for (int i = 0; i < 4; ++i) batch(i / 2, i % 2) = static_cast<float>(i);
  auto sent = start_sending(batch);
  if (!sent.started()) {
    std::puts("nothing is being copied");
    return 1;
  }
  const auto back = std::move(sent).wait().to<Cpu>();
  for (int i = 0; i < 4; ++i) {
    if (back(i / 2, i % 2) == static_cast<float>(i)) continue;
    std::puts("another batch arrived on the GPU");
    return 1;
  }
  return 0;
} catch (const CudaUnavailable& error) {
  // Without a GPU, the allocation of page-locked memory throws.
  if (std::string_view(error.what()).starts_with("page-locked memory")) return 0;
  std::printf("the batch did not go through page-locked memory: %s\n", error.what());
  return 1;
}
