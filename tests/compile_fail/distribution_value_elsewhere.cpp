// The density of values that are on the host, of a distribution on a GPU.
// because: a density reads the value and the parameters in one launch
// expect-error: distribution_is_on<.*Cuda>.*value_is_on<.*Cpu>|the distribution is on Cuda, the value is on Cpu
// expect-error: move_one_with_to_Cpu_or_to_Cuda|move one with \.to<Cpu>\(\) or \.to<Cuda>\(\)
#include <locus/locus.hpp>

#include <locus/distributions/normal.hpp>

using namespace locus;

void mistake(const distributions::Normal<Tensor<float, Cuda>>& noise, const Tensor<float>& measured) {
#ifdef LOCUS_MUST_FAIL
  (void)noise.log_prob(measured);
#else
  (void)noise.log_prob(measured.to<Cuda>());
#endif
}
