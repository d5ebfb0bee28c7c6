// Lesson 21: ranks meet on one device
//
// INTENDED TO FAIL. This file does not compile until you have solved the lesson; read the compiler's first error line.
//
// Goal: mean_loss() returns the mean of the losses of all ranks, each of which trains on a GPU of its own, as a number
// to print. Every rank calls it, and all get the same.
//
// In PyTorch dist.all_reduce(loss.cpu()) is an error when the program runs, hours later perhaps: the backend "nccl"
// reduces on GPUs alone, and raises "No backend type associated with device type cpu". The mistake is common, because a
// number to print is copied to the CPU first. Here a Communicator<Cuda> only accepts tensors on Cuda: reduce first,
// then copy the result.
#include <locus/cuda/backend.hpp>
#include <locus/distributed/communicator/communicator.hpp>
#include <locus/tensor/copy.hpp>

using namespace locus;

float mean_loss(const dist::Communicator<Cuda>& comm, const Tensor<float, Cuda>& loss) {
  const Tensor<float, Cpu> of_all = loss.to<Cpu>().clone();
  comm.all_reduce(of_all, dist::mean);  // <- mend this
  return of_all.item();
}
