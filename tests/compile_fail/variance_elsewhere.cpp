// A likelihood whose predicted variance lives on another device.
// because: the loss of each element is computed on one device
// expect-error(gcc): left_is_on<locus::Cuda>.*right_is_on<locus::Cpu>
// expect-error(clang): gaussian_nll_loss.*is on Cuda, .*is on Cpu
// expect-error(nvcc): right_is_on<locus::Cpu>
#include <locus/locus.hpp>
#include <locus/nn/likelihood_loss.hpp>

using namespace locus;

auto mistake(const Tensor<float, Cuda>& mean, const Tensor<float, Cuda>& target, const Tensor<float>& variance) {
#ifdef LOCUS_MUST_FAIL
  return nn::gaussian_nll_loss(mean, target, variance);
#else
  return nn::gaussian_nll_loss(mean, target, variance.to<Cuda>());
#endif
}
