// Adding a loss to a number.
// because: reading the number waits for the device, which is worth a word
// expect-error: the_target_is_a_number_the_operand_a_tensor|the target is a number, the operand a tensor
// expect-error: take_its_only_element_b_item|take its only element, b\.item\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(double& total, const Tensor<float, Cuda>& loss) {
#ifdef LOCUS_MUST_FAIL
  total += loss;
#else
  total += static_cast<double>(loss.item());
#endif
}
