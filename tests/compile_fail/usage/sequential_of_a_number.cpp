// A number in a network.
// group: Arguments
// because: a network is made of layers
// expect-error(gcc): layer_without_forward, locus::error::write_auto_forward
// expect-error(nvcc): layer_without_forward, locus::error::write_auto_forward
// expect-error(clang): a layer has no forward
#include <locus/locus.hpp>

using namespace locus;

auto mistake() {
#ifdef LOCUS_MUST_FAIL
  return nn::Sequential<float, Cpu>{nn::Linear<float, Cpu>{2, 3}, 5};
#else
  return nn::Sequential<float, Cpu>{nn::Linear<float, Cpu>{2, 3}, nn::ReLU{}};
#endif
}
