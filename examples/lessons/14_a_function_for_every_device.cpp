// Lesson 14: a function for every device
//
// INTENDED TO FAIL. This file does not compile until you have solved the lesson; read the compiler's first error line.
//
// Goal: normalized() subtracts the mean color from rows of red, green and blue, on the rows' device D. It is one
// function for all devices: it makes the mean color on the device of the rows. Factories take a device as their last
// argument, and x.device() is the device of a tensor.
//
// In PyTorch a constant such as torch.tensor([0.5, 0.25, 0.125]) is made on the CPU unless told otherwise. The function
// works in every test on a laptop and fails on the first GPU, with "RuntimeError: Expected all tensors to be on the
// same device, but found at least two devices, cuda:0 and cpu!" Here the compiler checks every device that the program
// uses, even on a machine without a GPU.
#include <locus/cuda/backend.hpp>
#include <locus/expr/operators.hpp>
#include <locus/tensor/factory.hpp>

using namespace locus;

template <Device D>
Tensor<float, D> normalized(const Tensor<float, D>& colors) {
  const Tensor<float, Cpu> mean = from({0.5, 0.25, 0.125});  // <- mend this
  return colors - mean;
}

Tensor<float, Cuda> normalized_on_gpu(const Tensor<float, Cuda>& colors) { return normalized(colors); }
