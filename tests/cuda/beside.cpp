// A file of a CUDA program for a plain C++ compiler: holds tensors on the GPU, and copies them there and back.
#include <locus/tensor/copy.hpp>

#include <locus/cuda/backend.hpp>

using namespace locus;

Tensor<float, Cuda> there(const Tensor<float>& tensor);
Tensor<float> and_back(const Tensor<float, Cuda>& tensor);

Tensor<float, Cuda> there(const Tensor<float>& tensor) { return tensor.to<Cuda>(); }
Tensor<float> and_back(const Tensor<float, Cuda>& tensor) { return tensor.to<Cpu>(); }
