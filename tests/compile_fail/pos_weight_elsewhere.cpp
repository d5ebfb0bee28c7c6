// Weights of positive targets that stayed on the host.
// because: weights are read beside the logits, for every element
// expect-error: weights_are_on<locus::Cpu>|the logits are on Cuda, the weights are on Cpu
// expect-error: move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\) or \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float, Cuda>& logits, const Tensor<float, Cuda>& targets, const Tensor<float>& weights) {
#ifdef LOCUS_MUST_FAIL
  const nn::BCEWithLogitsLoss loss{nn::PosWeight{weights}};
#else
  const nn::BCEWithLogitsLoss loss{nn::PosWeight{weights.to<Cuda>()}};
#endif
  return loss(logits, targets);
}
