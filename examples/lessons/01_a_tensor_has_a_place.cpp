// Lesson 1: a tensor has a place
//
// INTENDED TO FAIL. This file does not compile until you have solved the lesson; read the compiler's first error line.
//
// Goal: on_the_gpu() returns a copy of the image that lives on the GPU.
//
// In PyTorch this would be no error at all: the tensor stays on the CPU under a second name. The first operation that
// meets a tensor of the GPU raises the error, perhaps in another file. Here the place is part of the type, so the line
// that forgot the copy is the one that does not compile.
//
// How to read the error: clang says it in a sentence. g++ prints one long line; the answer stands after "why =": the
// places of the operands, and then the remedy. copy_with_to_Cpu_or_to_Cuda means .to<Cpu>() or .to<Cuda>(), for a name
// can hold neither dots nor brackets. cpu_only_generic only says how the program is built.
#include <locus/cuda/backend.hpp>
#include <locus/tensor/copy.hpp>

using namespace locus;

Tensor<float, Cuda> on_the_gpu(const Tensor<float, Cpu>& image) {
  Tensor<float, Cuda> copy = image;  // <- mend this
  return copy;
}
