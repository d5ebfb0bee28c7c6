// Lesson 12: pinned or not asynchronous
//
// Goal: start_sending() starts copying a batch to the GPU and returns at once, so that the program can prepare the next
// batch while this one travels.
//
// In PyTorch batch.to("cuda", non_blocking=True) is the same line for every tensor on the CPU. But a GPU reads ordinary
// memory only while the driver stands by, so unless somebody said pin_memory() before, the call silently waits, and
// nothing runs beside anything. Here the place says it: an asynchronous copy begins in pinned memory.
//
// hint: Copy the batch to memory that the GPU can read by itself; the error says which. That copy is made by the host.
#include <locus/tensor/copy_async.hpp>

using namespace locus;

Pending<Tensor<float, Cuda>> start_sending(const Tensor<float, Cpu>& batch) {
  return copy_async(batch.to<Pinned>(), Cuda{});
}
