// A network whose layers lie on two devices.
// expect-error(gcc): network_is_on<locus::Cuda>.*layer_is_on<locus::Cpu>
// expect-error(clang): deleted constructor.*Sequential<float, (locus::)?Cuda>
// compilers: gcc clang
#include <locus/locus.hpp>

using namespace locus;

void mistake() {
#ifdef LOCUS_MUST_FAIL
  nn::Sequential<float, Cuda> model{nn::Linear<float, Cuda>{4, 4}, nn::Linear<float, Cpu>{4, 2}};
#else
  nn::Sequential<float, Cuda> model{nn::Linear<float, Cuda>{4, 4}, nn::Linear<float, Cuda>{4, 2}};
#endif
}
