// A checkpoint of a function of plain tensors, on a traced one.
// because: the function is recorded when it is computed again
// expect-error: function_does_not_take_these_tensors|f does not take these tensors
// expect-error: write_const_auto_x_for_each|with a Traced where an operand is traced
#include <locus/locus.hpp>

using namespace locus;

auto forward(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return checkpoint([](const Tensor<float>& h) { return tanh(h); }, x);
#else
  return checkpoint([](const auto& h) { return tanh(h); }, x);
#endif
}
