// Freezing a plain tensor.
// because: layers act as in inference on plain tensors anyway
// expect-error: x_is_not_traced_so_layers_act_as_in_inference_anyway|x is not traced
// expect-error: trace_it_first_with_trace_x_to_record|trace it first, with trace\(x\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)frozen(x);
#else
  (void)frozen(trace(x));
#endif
}
