// Adding a tensor of the host to one of the GPU.
// both: Cpu.*Cuda|Cuda.*Cpu
// remedy: to_(Cpu|Cuda)|\.to<(Cpu|Cuda)>
#include <locus/locus.hpp>

using namespace locus;

auto add(const Tensor<float, Cpu>& x, const Tensor<float, Cuda>& w) {
#ifdef MISTAKE
  return x + w;
#else
  return x.to<Cuda>() + w;
#endif
}
