// Lesson 11: pinned memory only waits
//
// Goal: to_show() returns the pixels of a batch, divided by 255, on Cpu, where a window can show them. The batch
// stays as it is: it waits in pinned memory, which the GPU can read directly, for its copy to the GPU.
//
// In PyTorch pixels / 255 works, since a pinned tensor is a CPU tensor there. The result is in ordinary memory: pinning
// is silently lost, and a later .to("cuda", non_blocking=True) from it silently blocks the program. Here Pinned is a
// place of its own. It holds tensors for copying, and computes nothing.
//
// hint: Pinned memory can be filled and copied. Copy the batch to a device that computes, then compute there.
#include <locus/cuda/pinned.hpp>
#include <locus/expr/operators.hpp>

using namespace locus;

Tensor<float, Cpu> to_show(const Tensor<float, Pinned>& pixels) { return pixels.to<Cpu>() / 255; }
