// Reading an element of a GPU's tensor on the host.
// both: Cuda.*host|host.*Cuda|Cpu.*Cuda|Cuda.*Cpu
// remedy: to_Cpu|\.to<Cpu>
#include <locus/locus.hpp>

using namespace locus;

float first(const Tensor<float, Cuda>& w) {
#ifdef MISTAKE
  return w(0);
#else
  return w.to<Cpu>()(0);
#endif
}
