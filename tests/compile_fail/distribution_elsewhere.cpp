// A distribution whose scale stayed on the host.
// because: a draw and its density read all parameters in one launch
// expect-error: left_is_on<.*Cuda>.*right_is_on<.*Cpu>
// expect-error: move_one_with_to_Cpu_or_to_Cuda
#include <locus/locus.hpp>

#include <locus/distributions/normal.hpp>

using namespace locus;

auto mistake(const Traced<float, Cuda>& mean, const Tensor<float>& deviation) {
#ifdef LOCUS_MUST_FAIL
  const distributions::Normal posterior(mean, deviation);
#else
  const distributions::Normal posterior(mean, deviation.to<Cuda>());
#endif
  return posterior.rsample();
}
