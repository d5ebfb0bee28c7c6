// A batch on the host for a model on several GPUs.
// because: parts of the batch are copied from the GPU of the model to the others
// expect-error: model_is_on.*Cuda.*input_is_on.*Cpu|the model is on Cuda, the input is on Cpu
// expect-error: move_the_input_with_to_D|\.to<Cuda>\(\)
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const dist::DataParallel<nn::Sequential<float, Cuda>>& parallel, const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return parallel(trace(x));
#else
  return parallel(trace(x.to<Cuda>()));
#endif
}
