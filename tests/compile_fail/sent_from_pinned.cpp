// Sending page-locked memory.
// because: an engine of GPUs reads memory of GPUs
// expect-error: tensor_is_on.*Pinned.*communicator_is_on.*Cuda|the tensor is on Pinned, the communicator is on Cuda
// expect-error: move_the_tensor_or_make_the_communicator_for_its_device|move the tensor with \.to<Cuda>\(\)
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

void mistake(const dist::Communicator<Cuda>& comm, const Tensor<float, Pinned>& x) {
#ifdef LOCUS_MUST_FAIL
  comm.send(x, 1);
#else
  comm.send(x.to<Cuda>(), 1);
#endif
}
