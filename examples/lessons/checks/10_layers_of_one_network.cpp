// expect-error(gcc): network_is_on<locus::Cpu>.*layer_is_on<locus::Cuda>.*make_all_layers_on_one_device
// expect-error(clang): the network is on Cpu, a layer is on Cuda; make all layers on one device
// expect-error(nvcc): layer_is_on<locus::Cuda>
#include LESSON

#include <locus/tensor/factory.hpp>

#include <cstdio>

static_assert(std::is_same_v<decltype(&perceptron), nn::Sequential<float, Cpu> (*)()>,
              "perceptron() returns a network on Cpu and takes nothing");

int main() try {
  const nn::Sequential<float, Cpu> model = perceptron();
  std::string found;
  for (const auto& [name, parameter] : model.named_parameters()) found += name + to_string(parameter.shape()) + " ";
  const std::string wanted = "1.weight(32, 784) 1.bias(32,) 3.weight(10, 32) 3.bias(10,) ";
  if (found != wanted) {
    std::printf("the parameters are %s; expected %s\n", found.c_str(), wanted.c_str());
    return 1;
  }
  if (model[2].activation() != nn::Activation::relu || !(model(ones({5, 28, 28})).shape() == Shape{5, 10})) {
    std::puts("five digits of 28 x 28 pixels do not become five rows of ten scores, through a ReLU");
    return 1;
  }
  return 0;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
