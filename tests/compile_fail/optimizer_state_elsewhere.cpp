// The state of an optimizer of another place.
// because: a step reads state that lies beside the parameters
// expect-error: optimizer_is_on<locus::Cuda>.*state_is_on<locus::Cpu>|the optimizer is on Cuda, the state is on Cpu
// expect-error: load_it_where_the_optimizer_is_or|load it there, io::load<Cuda>\(path\), or move it with
#include <locus/locus.hpp>

using namespace locus;

void mistake(optim::Adam<float, Cuda>& optimizer, const nn::StateDict<Cpu>& saved) {
#ifdef LOCUS_MUST_FAIL
  load_state_dict(optimizer, saved);
#else
  load_state_dict(optimizer, saved.to<Cuda>());
#endif
}
