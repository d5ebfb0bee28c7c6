// A group of an optimizer made of a model.
// because: a group holds parameters, of one model, of several, or of a part
// expect-error: a_model_instead_of_its_parameters|a model was given instead of its parameters
// expect-error: pass_model_parameters|pass model\.parameters\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  const optim::Group group{model, {.lr = 0.1}};
#else
  const optim::Group group{model.parameters(), {.lr = 0.1}};
#endif
  (void)group;
}
