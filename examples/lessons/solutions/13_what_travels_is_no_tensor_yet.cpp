// Lesson 13: what travels is no tensor yet
//
// Goal: brightened() doubles the pixels of a batch that was sent to the GPU a moment ago. The host does not wait for
// the batch to arrive; the GPU does.
//
// In PyTorch batch.to("cuda", non_blocking=True) is a tensor at once. In the same stream that is right. But sent in a
// stream of its own, so that it travels beside the work, it can be used before it is there, and then the numbers are
// sometimes wrong, and nothing says so. Here what is being copied is a Pending, and no tensor until somebody says what
// comes after it: ordered() the thread's next work on the GPU, wait() the host.
//
// hint: A Pending is used up when it becomes a tensor, so it is moved from: std::move(batch), then one of the two.
#include <locus/expr/operators.hpp>
#include <locus/tensor/copy_async.hpp>

using namespace locus;

Tensor<float, Cuda> brightened(Pending<Tensor<float, Cuda>> batch) { return std::move(batch).ordered() * 2.f; }
