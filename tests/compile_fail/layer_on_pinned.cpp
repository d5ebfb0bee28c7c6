// Calling a layer with a batch in pinned memory.
// because: pinned memory only waits for a copy
// expect-error: model_is_on<locus::Cuda>.*input_is_on<locus::Pinned>|the model is on Cuda, the input is on Pinned
// expect-error: move_the_input_with_to_D|move the input with \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

void mistake(const nn::Linear<float, Cuda>& layer, const Tensor<float, Pinned>& x) {
#ifdef LOCUS_MUST_FAIL
  (void)layer(x);
#else
  (void)layer(x.to<Cuda>());
#endif
}
