// Evaluating a function, which has no device, on images.
// because: nothing says where the batches are to be
// expect-error: evaluate_model_data_of_a_model_without_a_device|evaluate\(model, data\) of a model without a device
// expect-error: pass_a_loader_for_its_device|pass a loader for its device, data::loader<D>\(data\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const data::LabelledImages& digits) {
  const auto model = [](const auto& images) { return sum(images, {2, 3}).reshape({-1, 1}); };
#ifdef LOCUS_MUST_FAIL
  (void)evaluate(model, digits);
#else
  (void)evaluate(model, data::loader<Cpu>(digits));
#endif
}
