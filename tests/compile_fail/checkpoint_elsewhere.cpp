// A checkpoint of a layer whose input is on another device.
// because: a checkpoint calls the layer on its input, where that is
// expect-error(gcc): model_is_on<locus::Cuda>.*input_is_on<locus::Cpu>
// expect-error(clang): the model is on Cuda, the input is on Cpu
// expect-error(nvcc): input_is_on<locus::Cpu>
#include <locus/locus.hpp>

using namespace locus;

auto forward(const nn::Linear<float, Cuda>& layer, const Traced<float, Cpu>& x) {
#ifdef LOCUS_MUST_FAIL
  return checkpoint(layer, x);
#else
  return checkpoint(layer, x.to<Cuda>());
#endif
}
