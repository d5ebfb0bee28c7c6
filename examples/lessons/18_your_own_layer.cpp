// Lesson 18: your own layer
//
// INTENDED TO FAIL. This file does not compile until you have solved the lesson; read the compiler's first error line.
//
// Goal: Positioned is a layer of your own, for every device D: a linear layer that adds 0 to its first output, 1 to the
// second, and so on. These positions are made once, with the layer and on its device, so that no batch copies them.
// They are not trained and need not be saved, so members() does not list them. (An nn::Buffer in members() would be
// saved, copied and moved with the layer.)
//
// In PyTorch this is an attribute that was not registered: self.positions = torch.arange(width) stays on the CPU when
// model.to("cuda") moves the parameters, and the first batch on the GPU fails with "RuntimeError: Expected all tensors
// to be on the same device, but found at least two devices, cuda:0 and cpu!" register_buffer() is the remedy there, as
// nn::Buffer is here. But here the type of every tensor member names its device.
#include <locus/expr/operators.hpp>

#include <locus/cuda/backend.hpp>
#include <locus/nn/linear.hpp>
#include <locus/tensor/factory.hpp>

using namespace locus;

template <Device D>
struct Positioned : nn::Layer<Positioned<D>, float, D> {
  nn::Linear<float, D> inner;
  Tensor<float, Cpu> positions;  // <- mend this

  explicit Positioned(std::int64_t width, D device = {})
      : inner{width, width, true, device}, positions{arange(width)} {}  // <- and this

  template <class X> X forward(const X& x) const { return inner(x) + positions; }
  void members(const auto& visit) const { visit("inner", inner); }
};

Tensor<float, Cuda> predict(const Positioned<Cuda>& layer, const Tensor<float, Cuda>& x) { return layer(x); }
