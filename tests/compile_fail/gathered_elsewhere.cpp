// Gathering tensors of a GPU on a communicator of the host.
// because: an engine of the host reads memory of the host
// expect-error: tensor_is_on.*Cuda.*communicator_is_on.*Cpu|the tensor is on Cuda, the communicator is on Cpu
// expect-error: move_the_tensor_or_make_the_communicator_for_its_device|or make a Communicator<Cuda>
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const dist::Communicator<Cpu>& comm, const Tensor<float, Cuda>& x) {
#ifdef LOCUS_MUST_FAIL
  return comm.all_gather(x);
#else
  return comm.all_gather(x.to<Cpu>());
#endif
}
