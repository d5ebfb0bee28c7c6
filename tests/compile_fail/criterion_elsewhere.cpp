// Targets of a loss object on another device than the prediction.
// because: prediction and target are subtracted element by element
// expect-error: left.*Cuda.*right.*Cpu
// expect-error: to_Cpu_or_to_Cuda|\.to<Cpu>\(\) or \.to<Cuda>\(\)
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Traced<float, Cuda> prediction, Tensor<float, Cpu> target) {
  const nn::MSELoss loss;
#ifdef LOCUS_MUST_FAIL
  return loss(prediction, target);
#else
  return loss(prediction, target.to<Cuda>());
#endif
}
