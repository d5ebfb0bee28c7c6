// A network with a layer of another element type.
// because: each layer would need a conversion before it
// expect-error: left_holds<double>.*right_holds<float>|a layer holds another element type than the network
// expect-error: convert_one_with_as_T|make all layers of one
#include <locus/locus.hpp>

using namespace locus;

void mistake() {
#ifdef LOCUS_MUST_FAIL
  nn::Sequential<double, Cpu> model{nn::Linear<float, Cpu>{4, 2}};
#else
  nn::Sequential<double, Cpu> model{nn::Linear<double, Cpu>{4, 2}};
#endif
}
