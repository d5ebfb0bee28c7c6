// Freezing what is not traced.
// because: layers act as in inference on plain tensors anyway
// expect-error: frozen_of_a_plain_tensor|x is not traced
// expect-error: trace_it_with_trace_x|trace it first, with trace\(x\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)frozen(x);
#else
  (void)frozen(trace(x));
#endif
}
