// `model.state_dict()`
// group: Names of PyTorch's models
// because: operations are functions
// expect-error(gcc): say_nn_state_dict_model
// expect-error(nvcc): say_nn_state_dict_model
// expect-error(clang): say nn::state_dict\(model\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const nn::Sequential<float, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  return model.state_dict();
#else
  return nn::state_dict(model);
#endif
}
