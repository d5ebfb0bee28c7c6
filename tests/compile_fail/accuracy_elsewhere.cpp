// Accuracy against labels on another device.
// because: the comparison runs where the logits are
// expect-error: input_is_on<locus::Cuda>.*labels_are_on<locus::Cpu>|the logits are on Cuda, the labels are on Cpu
// expect-error: accuracy.*(move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float, Cuda>& logits, const Tensor<std::int64_t>& labels) {
#ifdef LOCUS_MUST_FAIL
  (void)accuracy(logits, labels);
#else
  (void)accuracy(logits, labels.to<Cuda>());
#endif
}
