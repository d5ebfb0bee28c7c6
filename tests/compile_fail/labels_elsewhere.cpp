// Labels that stayed on the host, while the network computes on the GPU.
// because: the loss reads logits and labels in one launch; forgetting the labels is the classic mistake
// expect-error(gcc): input_is_on<locus::Cuda>.*labels_are_on<locus::Cpu>.*move_one_with_to_Cpu_or_to_Cuda
// expect-error(clang): logits are on Cuda, the labels are on Cpu; move one with \.to<Cpu>\(\) or \.to<Cuda>\(\)
// expect-error(nvcc): labels_are_on<locus::Cpu>
#include <locus/cuda/backend.hpp>
#include <locus/ops/cross_entropy.hpp>

using namespace locus;

auto loss(const Tensor<float, Cuda>& logits, const Tensor<std::int64_t, Cpu>& labels) {
#ifdef LOCUS_MUST_FAIL
  return cross_entropy(logits, labels, {.label_smoothing = 0.1});
#else
  return cross_entropy(logits, labels.to<Cuda>(), {.label_smoothing = 0.1});
#endif
}
