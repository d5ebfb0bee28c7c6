// Broadcasting a parameter.
// because: a collective records nothing; it changes the parameter's value
// expect-error: collective_of_a_traced_tensor_or_parameter|records gradients, which would be lost
// expect-error: take_its_value_x_value|take its value, x\.value\(\)
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

void mistake(const dist::Communicator<Cpu>& comm, const Parameter<float, Cpu>& w) {
#ifdef LOCUS_MUST_FAIL
  comm.broadcast(w);
#else
  comm.broadcast(w.value());
#endif
}
