// Adding a loss to a number.
// because: reading the number waits for the device, which is worth a word
// expect-error: number_changed_by_a_tensor|the target is a number, the operand a tensor
// expect-error: take_its_only_element_with_item|take its only element, b\.item\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(double& total, const Tensor<float, Cuda>& loss) {
#ifdef LOCUS_MUST_FAIL
  total += loss;
#else
  total += static_cast<double>(loss.item());
#endif
}
