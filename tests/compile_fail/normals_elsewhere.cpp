// Normal random numbers for a GPU from a generator of the host, with the device as the last argument.
// because: a generator counts the numbers that were drawn on its own device
// expect-error: tensor_is_on.*Cuda.*generator_is_on.*Cpu|the tensor is on Cuda, the generator is on Cpu
// expect-error: make_the_generator_for_the_device_of_the_tensor|Generator<Cuda>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(Generator<Cpu>& host, Generator<Cuda>& gpu) {
#ifdef LOCUS_MUST_FAIL
  return (void)gpu, randn({2, 3}, host, Cuda{1});
#else
  return (void)host, randn({2, 3}, gpu, Cuda{1});
#endif
}
