// A network whose layers lie on two devices.
// because: a layer would get its input from a layer on another device
// expect-error: network_is_on<locus::Cuda>.*layer_is_on<locus::Cpu>|network is on Cuda, a layer is on Cpu
// expect-error: make_all_layers_on_one_device|make all layers on one device
#include <locus/locus.hpp>

using namespace locus;

void mistake() {
#ifdef LOCUS_MUST_FAIL
  nn::Sequential<float, Cuda> model{nn::Linear<float, Cuda>{4, 4}, nn::Linear<float, Cpu>{4, 2}};
#else
  nn::Sequential<float, Cuda> model{nn::Linear<float, Cuda>{4, 4}, nn::Linear<float, Cuda>{4, 2}};
#endif
}
