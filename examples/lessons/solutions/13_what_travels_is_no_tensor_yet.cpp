// Lesson 13: what travels is no tensor yet
//
// Goal: brightened() doubles the pixels of a batch whose copy to the GPU is in flight. The host does not wait for the
// batch to arrive; the GPU does.
//
// In PyTorch batch.to("cuda", non_blocking=True) is a tensor at once. In the same stream this is correct. But if a
// stream of its own overlaps the copy with other work, the tensor can be used before the copy is done; then the numbers
// are sometimes wrong, without an error. Here a copy in flight is a Pending, which becomes a tensor by ordered(), after
// which the thread's next work on the GPU waits, or by wait(), which makes the host wait.
//
// hint: A Pending is used up when it becomes a tensor, so it is moved from: std::move(batch), then one of the two.
#include <locus/expr/operators.hpp>
#include <locus/tensor/copy_async.hpp>

using namespace locus;

Tensor<float, Cuda> brightened(Pending<Tensor<float, Cuda>> batch) { return std::move(batch).ordered() * 2.f; }
