// Loading a state of the host into a distributed model on a GPU.
// because: parameters are copied within one device
// expect-error: model_is_on<locus::Cuda>.*state_is_on<locus::Cpu>|the model is on Cuda, the state is on Cpu
// expect-error: load_it_where_the_model_is_or_move_it_with_to_D|load it there, io::load<Cuda>
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

void mistake(const dist::Distributed<nn::Sequential<float, Cuda>>& parallel, const nn::StateDict<Cpu>& state) {
#ifdef LOCUS_MUST_FAIL
  nn::load_state_dict(parallel, state);
#else
  nn::load_state_dict(parallel, state.to<Cuda>());
#endif
}
