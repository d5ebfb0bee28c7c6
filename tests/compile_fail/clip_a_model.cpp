// Clipping the gradients of a model.
// because: it is the gradients of parameters that are clipped
// expect-error: a_model_was_given_instead_of_its_parameters|a model was given instead of its parameters
// expect-error: pass_model_parameters|pass model\.parameters\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  optim::clip_grad_norm_(model, 1.0);
#else
  optim::clip_grad_norm_(model.parameters(), 1.0);
#endif
}
