// Lesson 12: pinned or not asynchronous
//
// Goal: start_sending() starts copying a batch to the GPU and returns at once, so that the program can prepare the next
// batch while this copy is in flight.
//
// In PyTorch batch.to("cuda", non_blocking=True) is the same line for every tensor on the CPU. But the driver must take
// part when a GPU reads pageable memory, so without an earlier pin_memory() the call silently waits, and nothing
// overlaps. Here the type decides: an asynchronous copy begins in pinned memory.
//
// hint: Copy the batch to memory that the GPU can read by itself; the error says which. That copy is made by the host.
#include <locus/tensor/copy_async.hpp>

using namespace locus;

Pending<Tensor<float, Cuda>> start_sending(const Tensor<float, Cpu>& batch) {
  return copy_async(batch.to<Pinned>(), Cuda{});
}
