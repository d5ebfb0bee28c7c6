// Moving a model to another device, and keeping it.
// because: its parameters, and optimizers made of them, would be without memory and yet look alive
// expect-error: to_D_of_a_model_which_would_stay_without_parameters|a model, which would stay without parameters
// expect-error: say_std_move_model_to_D|say std::move\(model\).to<D>\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(nn::Linear<float, Cpu>& model) {
#ifdef LOCUS_MUST_FAIL
  return model.to<Cuda>();
#else
  return std::move(model).to<Cuda>();
#endif
}
