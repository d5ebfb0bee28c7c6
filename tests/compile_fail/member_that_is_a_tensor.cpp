// A plain tensor among the members of a layer.
// because: only parameters are trained, and only parameters and buffers are saved and moved
// expect-error: member_is_a_tensor|the member is a tensor
// expect-error: make_it_a_Parameter_or_an_nn_Buffer|make it a Parameter, which is trained, or an nn::Buffer
#include <locus/locus.hpp>

using namespace locus;

struct Scaled : nn::Layer<Scaled, float, Cpu> {
#ifdef LOCUS_MUST_FAIL
  Tensor<float> scale = ones({4});
#else
  Parameter<float> scale{ones({4})};
#endif
  auto forward(const auto& x) const { return x * scale; }
  void members(const auto& visit) const { visit("scale", scale); }
};

auto mistake(const Scaled& layer) { return layer.named_parameters(); }
