// A norm as the flag that says whether a step is skipped.
// because: a flag is a bool; which numbers are meant to skip a step?
// expect-error: condition_holds<float>|the condition holds no bool
// expect-error: compare_first_as_in_x_greater_0|compare first, as in x > 0
#include <locus/locus.hpp>

using namespace locus;

void mistake(optim::Sgd<float, Cpu>& optimizer, const Tensor<float, Cpu>& norm) {
#ifdef LOCUS_MUST_FAIL
  optimizer.step(norm);
#else
  optimizer.step(norm > 100);
#endif
}
