// Loading a file of a whole model into a sharded one.
// because: a rank has ranges of elements of each parameter
// expect-error: of_a_sharded_model_of_which_this_rank_has_parts|nn::load_state_dict.model, state. of a sharded model, of which this rank has parts
// expect-error: load_the_state_before|load the state before dist::sharded
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;
using Net = nn::Sequential<float, Cpu>;

auto mistake(const Net& net, const nn::StateDict<Cpu>& state, const dist::Communicator<Cpu>& comm) {
#ifdef LOCUS_MUST_FAIL
  auto model = dist::sharded(net, comm);
  nn::load_state_dict(model, state);
#else
  nn::load_state_dict(net, state);
  auto model = dist::sharded(net, comm);
#endif
  return model;
}
