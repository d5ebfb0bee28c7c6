// Loading a path in place of a state.
// group: Arguments
// because: reading a file and filling a model are two steps
// expect-error(gcc): say_nn_load_state_dict_model_io_load_Cpu_path
// expect-error(nvcc): say_nn_load_state_dict_model_io_load_Cpu_path
// expect-error(clang): say nn::load_state_dict\(model, io::load<Cpu>\(path\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Sequential<float, Cpu>& model, const nn::StateDict<Cpu>& state) {
#ifdef LOCUS_MUST_FAIL
  (void)state, nn::load_state_dict(model, "weights.safetensors");
#else
  nn::load_state_dict(model, state);
#endif
}
