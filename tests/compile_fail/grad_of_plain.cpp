// grad() of a result that was not traced.
// because: only computations on a traced tensor are recorded
// expect-error: nothing_was_recorded|nothing was recorded
// expect-error: compute_y_from_a_variable_x|compute y from a variable\(x\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float, Cuda>& x, const Parameter<float, Cuda>& w) {
#ifdef LOCUS_MUST_FAIL
  (void)grad(sum(x * w), w);
#else
  (void)grad(sum(trace(x) * w), w);
#endif
}
