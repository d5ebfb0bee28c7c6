// A checkpoint of a function of plain tensors, on a traced one.
// because: the function is recorded when it is computed again
// expect-error: f_does_not_take_these_tensors|f does not take these tensors
// expect-error: it_is_called_as_f_x_with_a_Traced_where_an_operand_is_traced|with a Traced where an operand is traced
#include <locus/locus.hpp>

using namespace locus;

auto forward(const Traced<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return checkpoint([](const Tensor<float>& h) { return tanh(h); }, x);
#else
  return checkpoint([](const auto& h) { return tanh(h); }, x);
#endif
}
