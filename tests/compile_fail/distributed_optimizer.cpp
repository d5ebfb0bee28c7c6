// An optimizer made of a distributed model.
// because: an optimizer takes parameters, of one model, of several, or of a part
// expect-error: a_model_instead_of_its_parameters|a model was given instead of its parameters
// expect-error: pass_model_parameters|pass model\.parameters\(\)
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

void mistake(const dist::Distributed<nn::Sequential<float, Cuda>>& parallel) {
#ifdef LOCUS_MUST_FAIL
  optim::Sgd<float, Cuda> optimizer(parallel, {.lr = 0.1});
#else
  optim::Sgd<float, Cuda> optimizer(parallel.parameters(), {.lr = 0.1});
#endif
}
