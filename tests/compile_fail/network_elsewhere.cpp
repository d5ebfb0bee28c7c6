// A network fed from another device.
// because: in a training loop it is the batch that was forgotten; PyTorch says so in the first iteration
// expect-error: model.*Cpu.*input.*Cuda
// expect-error: move_the_input_with_to_D|move the input with \.to<Cpu>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const nn::Sequential<float, Cpu>& model, Tensor<float, Cuda> x) {
#ifdef LOCUS_MUST_FAIL
  return model(trace(x));
#else
  return model(trace(x.to<Cpu>()));
#endif
}
