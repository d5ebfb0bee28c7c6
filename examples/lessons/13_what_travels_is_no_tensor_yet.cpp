// Lesson 13: what travels is no tensor yet
//
// INTENDED TO FAIL. This file does not compile until you have solved the lesson; read the compiler's first error line.
//
// Goal: brightened() doubles the pixels of a batch whose copy to the GPU is in flight. The host does not wait for the
// batch to arrive; the GPU does.
//
// In PyTorch batch.to("cuda", non_blocking=True) is a tensor at once. In the same stream this is correct. But if a
// stream of its own overlaps the copy with other work, the tensor can be used before the copy is done; then the numbers
// are sometimes wrong, without an error. Here a copy in flight is a Pending, which becomes a tensor by ordered(), after
// which the thread's next work on the GPU waits, or by wait(), which makes the host wait.
#include <locus/expr/operators.hpp>
#include <locus/tensor/copy_async.hpp>

using namespace locus;

Tensor<float, Cuda> brightened(Pending<Tensor<float, Cuda>> batch) {
  return batch * 2.f;  // <- mend this
}
