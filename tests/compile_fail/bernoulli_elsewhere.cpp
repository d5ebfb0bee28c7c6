// Random zeros and ones for a tensor on a GPU from a generator of the host.
// because: a generator counts the numbers that were drawn on its own device
// expect-error: tensor_is_on.*Cuda.*generator_is_on.*Cpu|the tensor is on Cuda, the generator is on Cpu
// expect-error: make_the_generator_for_the_device_of_the_tensor|Generator<Cuda>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Generator<Cpu>& host, Generator<Cuda>& gpu) {
#ifdef LOCUS_MUST_FAIL
  return (void)gpu, bernoulli<float, Cuda>(0.5, {2, 3}, host);
#else
  return (void)host, bernoulli<float, Cuda>(0.5, {2, 3}, gpu);
#endif
}
