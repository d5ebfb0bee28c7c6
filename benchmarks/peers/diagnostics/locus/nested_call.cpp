// A tensor of the host, given to a function template that hands it on to another one, which computes on the GPU.
// both: Cpu.*Cuda|Cuda.*Cpu
// remedy: to_(Cpu|Cuda)|\.to<(Cpu|Cuda)>
#include <locus/locus.hpp>

using namespace locus;

template <class X, class M>
auto centered(const X& x, const M& mean) {
  return x - mean;
}

template <class X, class M, class S>
auto standardized(const X& x, const M& mean, const S& deviation) {
  return centered(x, mean) / deviation;
}

auto prepared(const Tensor<float, Cuda>& x, const Tensor<float, Cpu>& mean, const Tensor<float, Cuda>& deviation) {
#ifdef MISTAKE
  return standardized(x, mean, deviation);
#else
  return standardized(x, mean.to<Cuda>(), deviation);
#endif
}
