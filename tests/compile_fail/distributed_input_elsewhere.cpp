// A distributed model fed from the host.
// because: it is the model, whose weights lie on one device
// expect-error: model.*Cuda.*input.*Cpu
// expect-error: move_the_input_with_to_D|move the input with \.to<Cuda>
#include <locus/distributed/distributed.hpp>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const dist::Distributed<nn::Sequential<float, Cuda>>& parallel, const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return parallel(trace(x));
#else
  return parallel(trace(x.to<Cuda>()));
#endif
}
