// `model.load_state_dict(state)`
// group: Names of PyTorch's models
// because: operations are functions
// expect-error(gcc): say_nn_load_state_dict_model_state
// expect-error(nvcc): say_nn_load_state_dict_model_state
// expect-error(clang): say nn::load_state_dict\(model, state\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model, const nn::StateDict<Cpu>& state) {
#ifdef LOCUS_MUST_FAIL
  model.load_state_dict(state);
#else
  nn::load_state_dict(model, state);
#endif
}
