// Saving the part that a rank has of a sharded model as if it were the model.
// because: a rank has ranges of elements of each parameter
// expect-error: of_a_sharded_model_of_which_this_rank_has_parts|nn::state_dict.model. of a sharded model, of which this rank has parts
// expect-error: dist_save_parts|save the parts of all ranks with parts.add
#include <locus/distributed/checkpoint.hpp>
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

void mistake(const dist::Sharded<nn::Sequential<float, Cpu>>& model, const dist::Communicator<Cpu>& comm) {
#ifdef LOCUS_MUST_FAIL
  dist::on_rank_zero(comm, [&] { (void)nn::state_dict(model); });
#else
  dist::save_parts("step-1", comm, dist::Parts().add("model", model));
#endif
}
