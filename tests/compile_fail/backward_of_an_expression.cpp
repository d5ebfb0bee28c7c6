// Differentiating an expression of plain tensors.
// because: nothing was recorded
// expect-error: backward_of_a_plain_expression_nothing_was_recorded|backward\(\) of a plain expression
// expect-error: trace_the_input_first_with_trace_x|trace the input first, with trace\(x\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  (x * x).backward(ones({3}));
#else
  const auto v = variable(x);
  (v * v).backward(ones({3}));
#endif
}
