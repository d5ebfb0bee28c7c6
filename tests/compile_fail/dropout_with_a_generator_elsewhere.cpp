// Dropout on a GPU with numbers from a generator of the host.
// because: a generator counts the numbers that were drawn on its own device
// expect-error: tensor_is_on.*Cuda.*generator_is_on.*Cpu|the tensor is on Cuda, the generator is on Cpu
// expect-error: make_the_generator_for_the_device_of_the_tensor|Generator<Cuda>
#include <locus/locus.hpp>

using namespace locus;

auto mistake(const Traced<float, Cuda>& x, Generator<Cpu>& host, Generator<Cuda>& gpu) {
#ifdef LOCUS_MUST_FAIL
  return (void)gpu, dropout(x, 0.1, host);
#else
  return (void)host, dropout(x, 0.1, gpu);
#endif
}
