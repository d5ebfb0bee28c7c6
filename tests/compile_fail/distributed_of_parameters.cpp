// Distributing parameters rather than a model.
// because: buffers are kept the same, too, and names are compared
// expect-error: distributed_model_comm_of_something_else_than_a|something else than a model that lists its members
// expect-error: pass_the_model_itself_and_write_void_members_const_auto_visit_const_where_it_is|pass the model itself
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const nn::Linear<float, Cpu>& model, const dist::Communicator<Cpu>& comm) {
#ifdef LOCUS_MUST_FAIL
  return dist::distributed(model.parameters(), comm);
#else
  return dist::distributed(model, comm);
#endif
}
