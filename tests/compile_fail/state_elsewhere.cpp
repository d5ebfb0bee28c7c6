// Weights of another place than the model's.
// because: a file has no place; the weights get one when they are loaded
// expect-error: model_is_on<locus::Cuda>.*state_is_on<locus::Cpu>|the model is on Cuda, the state is on Cpu
// expect-error: load_it_where_the_model_is_or_move_it_with_to_D|load it there, io::load<Cuda>\(path\), or move it with
#include <locus/locus.hpp>
#include <locus/nn/state_dict.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cuda>& model, const nn::Linear<float, Cpu>& trained) {
#ifdef LOCUS_MUST_FAIL
  load_state_dict(model, state_dict(trained));
#else
  load_state_dict(model, state_dict(trained).to<Cuda>());
#endif
}
