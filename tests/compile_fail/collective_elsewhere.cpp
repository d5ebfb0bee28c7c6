// A tensor of the host on a communicator of GPUs.
// because: an engine of GPUs reads memory of GPUs
// expect-error: tensor_is_on.*Cpu.*communicator_is_on.*Cuda|the tensor is on Cpu, the communicator is on Cuda
// expect-error: move_the_tensor_or_make_the_communicator_for_its_device|move the tensor with \.to<Cuda>\(\)
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

void mistake(const dist::Communicator<Cuda>& comm, const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  comm.all_reduce(x, dist::mean);
#else
  comm.all_reduce(x.to<Cuda>(), dist::mean);
#endif
}
