// Reducing a traced tensor in place.
// because: nothing would record it, and the gradient would be wrong
// expect-error: collective_of_a_traced_tensor_or_parameter|records gradients, which would be lost
// expect-error: take_its_value_x_value|take its value, x\.value\(\)
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

void mistake(const dist::Communicator<Cpu>& comm, const Traced<float, Cpu>& x) {
#ifdef LOCUS_MUST_FAIL
  comm.all_reduce(x);
#else
  comm.all_reduce(x.value());
#endif
}
