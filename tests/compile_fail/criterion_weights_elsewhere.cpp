// A loss object with class weights that stayed on the host.
// because: class weights are read beside the labels, for every example
// expect-error: weights_are_on<locus::Cpu>|the logits are on Cuda, the class weights are on Cpu
// expect-error: move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\) or \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float, Cuda>& logits, const Tensor<std::int64_t, Cuda>& labels,
             const Tensor<float>& weights) {
#ifdef LOCUS_MUST_FAIL
  const nn::CrossEntropyLoss loss{weights};
#else
  const nn::CrossEntropyLoss loss{weights.to<Cuda>()};
#endif
  return loss(logits, labels);
}
