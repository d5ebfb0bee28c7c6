// Lesson 10: the layers of one network
//
// Goal: perceptron() returns a network for a computer without a GPU. It flattens digits of 28 x 28 pixels, has 32
// hidden units and gives 10 scores for each digit. All of its layers compute on Cpu.
//
// In PyTorch nn.Sequential silently accepts layers of different devices. The mistake shows with the first batch, as
// "RuntimeError: Expected all tensors to be on the same device, ...", raised inside the layer on the other device.
// model.to("cpu") would move all layers at once. Here std::move(layer).to<Cpu>() gives a layer of another type; it is
// simpler to make each layer on its final device.
//
// hint: A network has one device, and takes only layers whose parameters live there.
// hint: Activations and Flatten have no parameters, so they have no device.
#include <locus/cuda/backend.hpp>
#include <locus/nn/linear.hpp>
#include <locus/nn/sequential.hpp>

using namespace locus;

nn::Sequential<float, Cpu> perceptron() {
  nn::Linear<float, Cpu> hidden{784, 32};
  nn::Linear<float, Cpu> scores{32, 10};
  return {nn::Flatten{}, hidden, nn::ReLU{}, scores};
}
