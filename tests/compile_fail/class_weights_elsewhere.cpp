// Class weights on another device than the logits.
// because: class weights are read beside the labels, for every example
// expect-error(gcc): input_is_on<locus::Cpu>.*weights_are_on<locus::Cuda>
// expect-error(clang): logits are on Cpu, the class weights are on Cuda
// expect-error(nvcc): weights_are_on<locus::Cuda>
#include <locus/cuda/backend.hpp>
#include <locus/ops/cross_entropy.hpp>

using namespace locus;

auto loss(const Tensor<float>& logits, const Tensor<std::int64_t>& labels, const Tensor<float, Cuda>& weights) {
#ifdef LOCUS_MUST_FAIL
  return cross_entropy(logits, labels, weights);
#else
  return cross_entropy(logits, labels, weights.to<Cpu>());
#endif
}
