// Lesson 21: ranks meet on one device
//
// Goal: mean_loss() returns the mean of the losses of all ranks, each of which trains on a GPU of its own, as a number
// to print. Every rank calls it, and all get the same.
//
// In PyTorch dist.all_reduce(loss.cpu()) is an error when the program runs, hours later perhaps: with the backend
// "nccl" ranks meet on their GPUs, and "No backend type associated with device type cpu". It is easily written, since
// what is to be printed comes home first. Here a Communicator<Cuda> moves tensors on Cuda, and takes no others: let
// ranks meet first, and the result come home.
//
// hint: The loss is on Cuda, where the ranks meet. What has to change places is the copy to Cpu.
// hint: comm.all_reduced(loss, dist::mean) is a new tensor on Cuda; .to<Cpu>() of that comes home.
#include <locus/cuda/backend.hpp>
#include <locus/distributed/communicator/communicator.hpp>
#include <locus/tensor/copy.hpp>

using namespace locus;

float mean_loss(const dist::Communicator<Cuda>& comm, const Tensor<float, Cuda>& loss) {
  return comm.all_reduced(loss, dist::mean).to<Cpu>().item();
}
