// Lesson 21: ranks meet on one device
//
// Goal: mean_loss() returns the mean of the losses of all ranks, each of which trains on a GPU of its own, as a number
// to print. Every rank calls it, and all get the same.
//
// In PyTorch dist.all_reduce(loss.cpu()) is an error when the program runs, hours later perhaps: the backend "nccl"
// reduces on GPUs alone, and raises "No backend type associated with device type cpu". The mistake is common, because a
// number to print is copied to the CPU first. Here a Communicator<Cuda> only accepts tensors on Cuda: reduce first,
// then copy the result.
//
// hint: The loss is on Cuda, where the ranks meet. The copy to Cpu has to move.
// hint: comm.all_reduced(loss, dist::mean) is a new tensor on Cuda; .to<Cpu>() copies it to the host.
#include <locus/cuda/backend.hpp>
#include <locus/distributed/communicator/communicator.hpp>
#include <locus/tensor/copy.hpp>

using namespace locus;

float mean_loss(const dist::Communicator<Cuda>& comm, const Tensor<float, Cuda>& loss) {
  return comm.all_reduced(loss, dist::mean).to<Cpu>().item();
}
