// Lesson 15: choose at run time
//
// Goal: product() computes w * x on the device that is named when the program runs, such as "cpu" or "cuda:1". The
// weights w are on Cpu, the batch x is in pinned memory, and the result is copied to Cpu. product_on() does the work,
// for each device that can be named.
//
// In PyTorch a device chosen at run time is a value like any other, and w and x are both CPU tensors. The line below
// runs without an error: the product is silently computed on the CPU, for any device, and then copied. Here
// with_device() turns the name into a type, and an operand on another device does not compile.
//
// hint: The compiler offers .to<Cpu>() or .to<Cuda>(). Neither is the device that was chosen.
// hint: Every operand goes to the chosen device with .to(device); then the product is already there.
#include <locus/cuda/pinned.hpp>
#include <locus/expr/operators.hpp>
#include <locus/select.hpp>

using namespace locus;

template <Device D>
Tensor<float, D> product_on(D device, const Tensor<float, Cpu>& w, const Tensor<float, Pinned>& x) {
  return w.to(device) * x.to(device);
}

Tensor<float, Cpu> product(std::string_view device_name, const Tensor<float, Cpu>& w, const Tensor<float, Pinned>& x) {
  return with_device(parse_device(device_name), [&]<Device D>(D device) { return product_on(device, w, x).to(Cpu{}); });
}
