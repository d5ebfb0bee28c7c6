// A loss of three operands, of which the last is in another place.
// because: distances are measured where the vectors are
// expect-error: left_is_on<locus::Cuda>.*right_is_on<locus::Cpu>|left operand is on Cuda, right operand is on Cpu
// expect-error: triplet_margin_loss.*(move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\) or \.to<Cuda>\(\))
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Traced<float, Cuda>& anchor, const Tensor<float, Cuda>& positive, const Tensor<float>& negative) {
#ifdef LOCUS_MUST_FAIL
  (void)nn::triplet_margin_loss(anchor, positive, negative);
#else
  (void)nn::triplet_margin_loss(anchor, positive, negative.to<Cuda>());
#endif
}
