// A buffer made of a tensor on another device.
// because: it would hide a copy between devices
// expect-error: source_is_on<locus::Cpu>.*target_is_on<locus::Cuda>|the source is on Cpu, the buffer is on Cuda
// expect-error: copy_with_to_Cpu_or_to_Cuda|copy with .to<Cuda>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Tensor<float>& x) {
#ifdef LOCUS_MUST_FAIL
  return nn::Buffer<float, Cuda>(x);
#else
  return nn::Buffer<float, Cuda>(x.to<Cuda>());
#endif
}
