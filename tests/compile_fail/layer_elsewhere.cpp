// A layer fed from another device.
// because: the weights of a layer lie on one device, and its input must lie there, too
// expect-error: model.*Cuda.*input.*Cpu
// expect-error: move_the_input_with_to_D|move the input with \.to<Cuda>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const nn::Linear<float, Cuda>& layer, Tensor<float, Cpu> x) {
#ifdef LOCUS_MUST_FAIL
  return layer(x);
#else
  return layer(x.to<Cuda>());
#endif
}
