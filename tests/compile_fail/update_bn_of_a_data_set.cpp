// Running statistics from a data set.
// because: statistics are those of batches, whose size a loader knows
// expect-error: on_something_else_than_batches|on something else than batches
// expect-error: pass_a_loader_or_a_range_of_inputs|pass a loader, or a range of inputs
#include <locus/locus.hpp>
#include <locus/training/update_bn.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model, const data::LabelledImages& digits) {
#ifdef LOCUS_MUST_FAIL
  nn::update_bn(model, digits);
#else
  nn::update_bn(model, data::loader<Cpu>(digits));
#endif
}
