// Weights of positive targets of another element type than the logits.
// because: element types never convert on their own
// expect-error(gcc): dtype_mismatch.*convert_one_with_as_T
// expect-error(clang): different element types, float and double; convert one with \.as<T>\(\)
// expect-error(nvcc): dtype_mismatch.*convert_one_with_as_T
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float>& logits, const Tensor<float>& targets, const Tensor<double>& weights) {
#ifdef LOCUS_MUST_FAIL
  return nn::binary_cross_entropy_with_logits(logits, targets, nn::PosWeight{weights});
#else
  return nn::binary_cross_entropy_with_logits(logits, targets, nn::PosWeight{weights.as<float>()});
#endif
}
