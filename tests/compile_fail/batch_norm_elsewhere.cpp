// Batch normalization of an input on another device.
// because: the running statistics lie where the layer is, and learn from its inputs
// expect-error: model_is_on<locus::Cuda>.*input_is_on<locus::Cpu>|the model is on Cuda, the input is on Cpu
// expect-error: move_the_input_with_to_D|move the input with .to<Cuda>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const nn::BatchNorm1d<float, Cuda>& layer, const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return layer(x);
#else
  return layer(x.to<Cuda>());
#endif
}
