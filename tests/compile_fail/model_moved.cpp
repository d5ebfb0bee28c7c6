// Moving a model to another device, and keeping it.
// because: its parameters, and optimizers made of them, would be without memory and yet look alive
// expect-error: model_moved_without_std_move|a model, which would stay without parameters
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
