// A layer that holds layers of another device.
// because: its parameters lie in one place, as the model they are part of does
// expect-error: layer_is_on<locus::Cpu>.*member_is_on<locus::Cuda>|the layer is on Cpu, the member is on Cuda
// expect-error: make_all_layers_on_one_device|make all layers on one device
#include <locus/locus.hpp>

using namespace locus;

struct Stack : nn::Layer<Stack, float, Cpu> {
#ifdef LOCUS_MUST_FAIL
  std::vector<nn::Linear<float, Cuda>> layers;
#else
  std::vector<nn::Linear<float, Cpu>> layers;
#endif
  auto forward(const auto& x) const { return x * 2.f; }
  void members(const auto& visit) const { visit("layers", layers); }
};

auto mistake(const Stack& model) { return model.parameters(); }
