// Labels are int64, as in PyTorch.
// because: labels are int64, as PyTorch's cross_entropy wants them
// expect-error(gcc): labels_hold<int>.*convert_with_as_std_int64_t
// expect-error(clang): the labels are not int64; convert with \.as<std::int64_t>\(\)
// expect-error(nvcc): convert_with_as_std_int64_t
#include <locus/cuda/backend.hpp>
#include <locus/ops/cross_entropy.hpp>

using namespace locus;

auto loss(const Tensor<float>& logits, const Tensor<std::int32_t>& labels) {
#ifdef LOCUS_MUST_FAIL
  return cross_entropy(logits, labels);
#else
  return cross_entropy(logits, labels.as<std::int64_t>());
#endif
}
